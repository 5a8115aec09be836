"""Compute the elements of a local buffer that a loop needs in that loop, each iteration its own region.

Requires a local buffer that a single op stores to, in a statement without other effects, before the loop in the same block. Its
inputs must not be written in between. Elements needed by several iterations are computed by each of them.

    before                                         after, buffer=t at=i
    %t = loop.alloc scratch : memref<64x32xf32>    loop.for seq %i = 1 to 63 {
    loop.for seq %r = 0 to 64 {                      %t = loop.alloc scratch : memref<3x32xf32>
      loop.for seq %c = 0 to 32 {                    loop.for seq %r = %i - 1 to %i + 2 {
        ...                                            loop.for seq %c = 0 to 32 {
        loop.store %v, %t[%r, %c]                        ...
      }                                                  loop.store %v, %t[%r - %i + 1, %c]
    }                                                  }
    loop.for seq %i = 1 to 63 {                      }
      loop.for seq %j = 0 to 32 {                    loop.for seq %j = 0 to 32 {
        ... %t[%i - 1, %j], %t[%i + 1, %j] ...         ... %t[0, %j], %t[2, %j] ...

A dim shrinks to the range of the reads in an iteration when its length is constant; other dims stay whole. When ops outside the
loop read the buffer too, the statement stays there, and the loop gets a copy. Returns the loops of the statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.loop.gather import GatherOp, ScatterOp
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import AllocOp, LoadOp, PrefetchOp, StoreOp
from ...dialects.types import memref
from ..analysis.accesses import Access
from ..analysis.affine import Affine, as_map, show
from ..analysis.bounds import simplify_bounds
from ..analysis.dependence import CannotDecide
from ..analysis.facts import planned
from ..analysis.nests import around, find, fresh, is_inside, loops, name_of, ops_in, place, walk
from ..analysis.producers import Producer, Unfit, may_change, outside_of, producer, written_before
from ..analysis.regions import conditional_in, extent, find_buffer, lowers, private_in, uppers
from .base import Primitive
from .cloning import Copier, discard, is_vector, redirect, remove, subscripts
from .rewriting import start_at_zero


@dataclass(frozen=True)
class _Span:
    """The elements of a dim that an iteration needs: `count` elements from `low` on."""

    low: Affine
    count: int


@dataclass
class _Plan:
    """The statement of `found` that moves into `loop`, for `readers`; `others` read the buffer elsewhere."""

    found: Producer
    loop: ForOp
    readers: list[LoadOp | GatherOp]
    others: list[Operation]
    spans: list[_Span | None] = field(default_factory=list)


@dataclass(frozen=True)
class ComputeAt(Primitive):
    """Compute a local buffer where it is needed.

    Attributes:
        buffer: the local buffer.
        at: the loop that reads it, in which it is computed.
    """

    name = "loop-compute-at"

    buffer: str
    at: str

    def check(self, kernel: KernelOp) -> None:
        plan, block = self._plan(kernel), Block()
        if not may_change(kernel, plan.found, plan.loop):
            return
        _, statement = self._copy(kernel, plan, block)
        outside = (*around(plan.loop), plan.loop)
        try:
            for op in walk(statement):
                if isinstance(op, LoadOp | GatherOp) and not _made_in(op.buffer, statement):
                    read = Access(op, op.buffer, False, (*outside, *around(op)))
                    conflict = written_before(kernel, plan.found, read, plan.loop)
                    if conflict is not None:
                        reason = f"what {self.buffer} is computed from changes before loop {self.at} reads it"
                        raise self.refuse(f"{reason}: {conflict}", conflict)
        except CannotDecide as error:
            raise self.refuse(f"cannot decide: {error}") from None
        finally:
            discard(block)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        plan, block = self._plan(kernel), Block()
        alloc, statement = self._copy(kernel, plan, block) if plan.others else self._moved(plan, block)
        home = plan.loop.body.block
        before = home.first_op
        assert before is not None
        for op in (alloc, statement):
            op.detach()
            home.insert_op_before(op, before)
        for reader in plan.readers:
            if isinstance(reader, LoadOp):
                redirect(reader, alloc.buffer, _shifted(subscripts(reader), plan.spans))
            else:
                reader.operands[0] = alloc.buffer
        if not plan.others:
            remove(plan.found.alloc)
        for loop in loops(statement).values():
            simplify_bounds(loop)
            counts = [(high - low).number for low in lowers(loop) for high in uppers(loop)]
            if len(counts) == 1 and (counts[0] or 0) > 1:
                start_at_zero(loop)
        return tuple(name_of(op) for op in ops_in(statement, ForOp))

    def _moved(self, plan: _Plan, block: Block) -> tuple[AllocOp, Operation]:
        """Put the buffer of an iteration and the statement itself into a block."""
        found = plan.found
        for use in list(found.alloc.buffer.uses):
            if isinstance(use.operation, PrefetchOp):
                remove(use.operation)
        alloc = self._alloc(plan, self.buffer)
        found.outer.detach()
        block.add_ops([alloc, found.outer])
        self._narrow(plan, alloc, found.loops, found.store)
        assert block.last_op is not None  # the statement, even if it was only the store
        return alloc, block.last_op

    def _copy(self, kernel: KernelOp, plan: _Plan, block: Block) -> tuple[AllocOp, Operation]:
        """Put the buffer of an iteration and a copy of the statement into a block."""
        name, found = fresh(kernel, self.buffer), plan.found
        alloc = self._alloc(plan, name)
        block.add_op(alloc)
        statement = Copier(kernel, {}, {}, [name]).copy(found.outer, block)
        copies = {old: new for old, new in zip(walk(found.outer), walk(statement), strict=True)}
        store = copies[found.store]
        assert isinstance(store, StoreOp)
        self._narrow(plan, alloc, [copies[loop] for loop in found.loops], store)
        assert block.last_op is not None
        return alloc, block.last_op

    def _alloc(self, plan: _Plan, name: str) -> AllocOp:
        """The buffer of an iteration."""
        old = plan.found.alloc
        given = iter(old.sizes)
        shape, sizes = list[int](), list[SSAValue]()
        for size, span in zip(old.buffer.type.get_shape(), plan.spans, strict=True):
            value = next(given) if size == DYNAMIC_INDEX else None
            if span is not None:
                shape.append(span.count)
            else:
                shape.append(size)
                sizes += [] if value is None else [value]
        alloc = AllocOp.build_alloc(old.space.data, memref(old.buffer.type.element_type, shape), sizes, name)
        alloc.location = old.location
        return alloc

    def _narrow(self, plan: _Plan, alloc: AllocOp, loops: Sequence[Operation], store: StoreOp) -> None:
        """Bound the loops of a statement by the elements that an iteration needs, and redirect its stores."""
        at = subscripts(store)
        for form, span in zip(plan.found.at, plan.spans, strict=True):
            if span is not None:
                _narrow(next(new for old, new in zip(plan.found.loops, loops, strict=True) if old.index is form.value), span)
        redirect(store, alloc.buffer, _shifted(at, plan.spans))

    # # -- the statement, and its legality

    @planned
    def _plan(self, kernel: KernelOp) -> _Plan:
        loop, buffer = find(kernel, self.at, self.name), find_buffer(kernel, self.buffer, self.name)
        every = [op for op in ops_in(kernel, LoadOp, GatherOp) if op.buffer is buffer]
        inside = [op for op in every if loop in around(op)]
        if private_in(buffer, loop):
            raise self.refuse(f"{self.buffer} is local to an iteration of {self.at} already")
        if any(loop in around(use.operation) for use in buffer.uses if isinstance(use.operation, StoreOp | ScatterOp)):
            raise self.refuse(f"{self.buffer} is computed in loop {self.at} already")
        if not inside:
            raise self.refuse(f"nothing in loop {self.at} reads {self.buffer}")
        try:
            found = producer(buffer, [loop])
        except Unfit as error:
            raise self.refuse(str(error)) from None
        plan = _Plan(found, loop, inside, [op for op in every if op not in inside])
        plan.spans = self._spans(plan)
        self._check_current(plan)
        return plan

    def _check_current(self, plan: _Plan) -> None:
        """Check that the reads belong to the same iteration of the loops around both the statement and the loop."""
        found = plan.found
        if found.alloc.parent_block() is found.block:
            return
        known, inside, holder = {form.value for form in found.at}, {x.index for x in found.loops}, found.block.parent_op()
        whole = inside <= known and len(known) == len(found.at) and holder and not conditional_in(found.store, holder)
        for reader in plan.readers:
            where = f" ({place(reader)})" if place(reader) else ""
            if not whole or not isinstance(reader, LoadOp) or is_vector(reader):
                raise self.refuse(f"cannot decide: a read of {self.buffer}{where} may be of an earlier iteration")
            at = subscripts(reader)
            if any(mine.value not in inside and mine != theirs for mine, theirs in zip(found.at, at, strict=True)):
                raise self.refuse(f"{self.buffer}{show(at)}{where} may be of an earlier iteration")
            if (miss := outside_of(found, at, around(reader))) is not None:
                shown = ", ".join(f"{k}={v}" for k, v in miss.items())
                raise self.refuse(f"{self.buffer}{show(at)}{where} may be of an earlier iteration: at {shown}", miss)

    def _spans(self, plan: _Plan) -> list[_Span | None]:
        """The elements of each dim that an iteration of the loop needs; None: all of them."""
        reads = {reader: subscripts(reader) for reader in plan.readers if isinstance(reader, LoadOp)}
        if len(reads) < len(plan.readers):
            return [None] * len(plan.found.at)
        dims = range(len(plan.found.at))
        return [_span(reads, dim, plan.loop) if self._narrows(plan.found, dim) else None for dim in dims]

    @staticmethod
    def _narrows(found: Producer, dim: int) -> bool:
        """Whether a part of a dim can be computed alone: a loop runs along it, and its iterations are independent."""
        loop = next((loop for loop in found.loops if loop.index is found.at[dim].value), None)
        if loop is None or loop.results or loop.step.value.data != 1:
            return False
        if is_vector(found.store) and found.store.lane_dim() == dim:
            return False
        if sum(loop.index in form.values() for form in found.at) > 1:
            return False
        stores = [op for op in ops_in(loop, StoreOp, ScatterOp) if op is not found.store]
        return all(_made_in(op.buffer, loop) for op in stores)


def _made_in(buffer: SSAValue, op: Operation) -> bool:
    """Whether a buffer is local to an op."""
    return isinstance(buffer.owner, AllocOp) and op.is_ancestor(buffer.owner)


def _span(reads: Mapping[LoadOp, Sequence[Affine]], dim: int, loop: ForOp) -> _Span | None:
    """The smallest range that holds the subscripts of a dim in one iteration of a loop, when its length is constant."""
    lows: list[Affine] = []
    highs: list[Affine] = []
    for op, at in reads.items():
        low = high = at[dim]
        if is_vector(op) and op.lane_dim() == dim:
            reach = (op.lanes - 1) * op.lane_step()
            low, high = low + min(reach, 0), high + max(reach, 0)
        for one in reversed(around(op)):
            if one is loop:
                break
            if one.index not in {*low.values(), *high.values()}:
                continue
            size = extent(one)
            if size is None or not (low.is_linear and high.is_linear):
                return None
            last = size.end - (size.step if len(lowers(one)) == 1 else 1)
            low, high = (
                form.substitute({one.index: size.base if (form.terms.get(one.index, 0) > 0) == least else last})
                for form, least in ((low, True), (high, False))
            )
        lows.append(low)
        highs.append(high)
    first = lows[0]
    if any(is_inside(value, loop) and value is not loop.index for value in first.values()):
        return None
    distances = [(form - first).number for form in (*lows, *highs)]
    known = [d for d in distances if d is not None]
    if len(known) != len(distances):
        return None
    return _Span(first + min(known), max(known) - min(known) + 1)


def _narrow(loop: Operation, span: _Span) -> None:
    """Bound a loop to a range."""
    assert isinstance(loop, ForOp)
    low, low_values = as_map([*lowers(loop), span.low])
    high, high_values = as_map([*uppers(loop), span.low + span.count])
    new = ForOp.build_loop((low, low_values), (high, high_values), kind="seq")
    loop.operands = [*low_values, *high_values, *loop.inits]
    for name in ("lower", "upper", "operandSegmentSizes"):
        loop.properties[name] = new.properties[name]
    new.erase()


def _shifted(at: Sequence[Affine], spans: Sequence[_Span | None]) -> list[Affine]:
    """Subscripts in a region."""
    return [form if span is None else form - span.low for form, span in zip(at, spans, strict=True)]

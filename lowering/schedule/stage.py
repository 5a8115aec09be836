"""Pack the elements of a buffer that a loop's body reads into local memory first, in the order in which they are read.

Requires that all reads of the buffer in the loop have one subscript, and that no iteration writes the elements that it reads.

    before                                         after, buffer=A at=io order=k,ii pad=ii
    loop.for seq %io = 0 to %M step 6 {            loop.for seq %io = 0 to %M step 6 {
      loop.for seq %k = 0 to 256 {                   %A_packed = loop.alloc scratch : memref<256x6xf32>
        loop.for seq %ii = 0 to min(6, %M - %io) {   loop.for seq %k_a = 0 to 256 {
          %a = loop.load %A[%io + %ii, %k]             loop.for seq %ii_a = 0 to min(6, %M - %io) {
                                                         ... %A[%io + %ii_a, %k_a] to %A_packed[%k_a, %ii_a] ...
                                                       }
                                                       loop.for seq %ii_a_z = %M - %io to 6 {
                                                         loop.store %zero, %A_packed[%k_a, %ii_a_z]
                                                       }
                                                     }
                                                     loop.for seq %k = 0 to 256 {
                                                       loop.for seq %ii = 0 to min(6, %M - %io) {
                                                         %a = loop.load %A_packed[%k, %ii]

The copy `<buffer>_packed` has one dim for each loop in `order`, as long as its greatest extent; it is indexed by the number of
the iteration. Loops in `pad` get zeros where they do not run, so that the packed tile is complete; where `multiples` are given,
up to the next multiple. Returns the loops of the copy, `<v>_<buffer>`, then the filling loops, `<v>_<buffer>_z`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xdsl.ir import Operation, SSAValue

from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import AllocOp, CheckOp, LoadOp
from ...dialects.types import element_of, memref
from ..analysis.accesses import Access, accesses
from ..analysis.affine import Affine, as_map, show
from ..analysis.dependence import CannotDecide, find_conflict
from ..analysis.facts import planned
from ..analysis.nests import around, find, fresh, holds, is_inside, name_of, place
from ..analysis.regions import (
    Domain,
    Extent,
    all_run,
    conditional_in,
    extent,
    find_buffer,
    in_bounds,
    lowers,
    private_in,
    statement_in,
    uppers,
)
from .base import Primitive
from .cloning import Values, fill, is_vector, load_of, loop_like, redirect, store_of, subscripts, zero


@dataclass
class _Plan:
    """The reads `uses` of `buffer[at]` in `loop`, which the loops `order` move, in a copy nested as in `nest`."""

    kernel: KernelOp
    loop: ForOp
    buffer: SSAValue
    at: list[Affine]
    uses: list[Access]
    order: list[ForOp]
    nest: list[ForOp]
    extents: dict[ForOp, Extent]
    copies: list[str] = field(default_factory=list)
    fills: list[str] = field(default_factory=list)

    @property
    def numbers(self) -> list[Affine]:
        return [self.extents[loop].number(Affine.of(loop.index)) for loop in self.order]

    def outside(self) -> tuple[ForOp, ...]:
        """The loops around the copy."""
        loops = self.uses[0].loops
        return loops[: loops.index(self.loop) + 1]


@dataclass(frozen=True)
class Stage(Primitive):
    """Pack the elements that a loop's body reads.

    Attributes:
        buffer: the buffer that is read.
        at: the loop, each of whose iterations makes a copy.
        order: the inner loops that move the reads, in the order of the dims of the copy.
        pad: those whose missing iterations are filled with zeros.
        multiples: the padded extents are multiples of these, one for each loop of `pad`.
        space: the memory space: `scratch`, `stack` or `register`.
    """

    name = "loop-stage"

    buffer: str
    at: str
    order: tuple[str, ...]
    pad: tuple[str, ...] = ()
    multiples: tuple[int, ...] = ()
    space: str = "scratch"

    def check(self, kernel: KernelOp) -> None:
        self._plan(kernel)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        plan = self._plan(kernel)
        like = plan.uses[0].op
        type = element_of(plan.buffer)
        shape = [max(1, plan.extents[loop].count) for loop in plan.order]
        packed = AllocOp.build_alloc(self.space, memref(type, shape), name=fresh(kernel, f"{self.buffer}_packed"))
        packed.location = like.location
        body = plan.loop.body.block
        readers = [statement_in(body, use.op) for use in plan.uses]
        first = next(op for op in body.ops if op in readers)
        body.insert_ops_before([packed, *self._copy(plan, packed.buffer, plan.nest, {})], first)
        for use in plan.uses:
            assert isinstance(use.op, LoadOp)
            redirect(use.op, packed.buffer, plan.numbers)
        return (*plan.copies, *plan.fills)

    # -- the copy

    def _copy(self, plan: _Plan, packed: SSAValue, nest: list[ForOp], values: Values) -> list[Operation]:
        """The ops that copy the elements read in the loops of `nest`; loops before them are replaced as in `values`."""
        like = plan.uses[0].op
        if not nest:
            assert isinstance(like, LoadOp)
            load = load_of(like, plan.buffer, [form.substitute(values) for form in plan.at], like.value.name_hint)
            return [load, store_of(like, load.value, packed, [form.substitute(values) for form in plan.numbers])]
        loop, rest = nest[0], nest[1:]
        inner = dict(values)
        new = loop_like(loop, self._fresh(plan, plan.copies, loop, ""), inner, like)
        ops: list[Operation] = [fill(new, self._copy(plan, packed, rest, inner))]
        if name_of(loop) in self.pad:
            for missing in self._missing(plan, loop):
                ops.append(self._fill(plan, packed, nest, values, missing))
        return ops

    def _missing(self, plan: _Plan, loop: ForOp) -> list[Affine]:
        """Where a loop may end before its full extent: one expression for each upper bound that may be less."""
        found, size = [], plan.extents[loop]
        for upper in uppers(loop):
            length = (upper - size.base).number
            if length is None or length < size.count * size.step:
                found.append(size.base + (upper - size.base).ceildiv(size.step) * size.step)
        return found

    def _fill(self, plan: _Plan, packed: SSAValue, nest: list[ForOp], values: Values, start: Affine | None) -> ForOp:
        """Loops that store zeros, the first one from `start`; to the end of the extent where they are padded."""
        loop, like, inner = nest[0], plan.uses[0].op, dict(values)
        name = self._fresh(plan, plan.fills, loop, "_z")
        size = plan.extents[loop]
        if start is None and name_of(loop) not in self.pad:
            new = loop_like(loop, name, inner, like)
        else:
            begin = [size.base]
            if start is not None:
                around = [*plan.outside(), *plan.nest[: plan.nest.index(loop)]]
                begin = [start] if Domain(around).never(size.base - start - 1) else [size.base, start]
            new = ForOp.build_loop(
                as_map([form.substitute(values) for form in begin]),
                as_map([size.end.substitute(values)]),
                step=size.step,
                name=name,
            )
            new.location = like.location
            inner[loop.index] = Affine.of(new.index)
        if len(nest) > 1:
            return fill(new, [self._fill(plan, packed, nest[1:], inner, None)])
        nothing = zero(plan.kernel, element_of(plan.buffer))
        return fill(new, [store_of(like, nothing, packed, [form.substitute(inner) for form in plan.numbers])])

    def _fresh(self, plan: _Plan, names: list[str], loop: ForOp, suffix: str) -> str:
        name = fresh(plan.kernel, f"{name_of(loop)}_{self.buffer.lower()}{suffix}", plan.copies + plan.fills)
        names.append(name)
        return name

    # # -- the reads, and their legality

    @planned
    def _plan(self, kernel: KernelOp) -> _Plan:
        if self.space not in ("scratch", "stack", "register"):
            raise self.refuse(f"space must be scratch, stack or register, got {self.space}")
        if self.multiples and (len(self.multiples) != len(self.pad) or min(self.multiples) < 1):
            raise self.refuse(f"give one multiple of 1 or more for each loop of pad, got {len(self.multiples)}")
        loop, buffer = find(kernel, self.at, self.name), find_buffer(kernel, self.buffer, self.name)
        order = [find(kernel, name, self.name) for name in self.order]
        found = [a for a in accesses(loop) if a.buffer is buffer]
        uses = [a for a in found if not a.writes]
        if private_in(buffer, loop):
            raise self.refuse(f"{self.buffer} is local to an iteration of {self.at}")
        if not uses:
            raise self.refuse(f"nothing in loop {self.at} reads {self.buffer}")
        for use in uses:
            if not isinstance(use.op, LoadOp) or is_vector(use.op):
                raise self.refuse(f"a read of {self.buffer}{self._where(use)} moves a vector: stage before you vectorize")
        all_at = {tuple(subscripts(use.op)): use for use in uses if isinstance(use.op, LoadOp)}
        if len(all_at) > 1:
            shown = ", ".join(f"{self.buffer}{show(at)}{self._where(use)}" for at, use in all_at.items())
            raise self.refuse(f"the reads in loop {self.at} are of different elements: {shown}")
        at = list(next(iter(all_at)))
        self._check_order(loop, at, uses[0], order)
        extents: dict[ForOp, Extent] = {}
        for inner in order:
            size = extent(inner, [*around(loop), loop, *(other for other in around(inner) if other in order)])
            if size is None:
                raise self.refuse(f"loop {name_of(inner)} has no constant upper bound on its extent: split it first")
            if name_of(inner) in self.pad and len(lowers(inner)) > 1:
                raise self.refuse(f"loop {name_of(inner)} has several lower bounds: it cannot be padded")
            extents[inner] = self._padded(inner, size)
        plan = _Plan(kernel, loop, buffer, at, uses, order, self._nest(order), extents)
        self._check_memory(plan, [a for a in found if a.writes])
        return plan

    def _padded(self, loop: ForOp, size: Extent) -> Extent:
        """The number of iterations for which the copy has room."""
        if not self.multiples or name_of(loop) not in self.pad:
            return size
        multiple = self.multiples[self.pad.index(name_of(loop))]
        return replace(size, count=-(-size.count // multiple) * multiple)

    def _check_order(self, loop: ForOp, at: list[Affine], use: Access, order: list[ForOp]) -> None:
        """Check that `order` names the inner loops that move the reads, and that their bounds are defined before the copy."""
        inside = use.loops[use.loops.index(loop) + 1 :]
        used = {value for form in at for value in form.values()}
        moving = [inner for inner in inside if inner.index in used]
        if sorted(map(name_of, order)) != sorted(map(name_of, moving)):
            named = ", ".join(map(name_of, moving)) or "none"
            raise self.refuse(f"order must name the loops in {self.at} that move {self.buffer}{show(at)}: {named}")
        if unknown := [name for name in self.pad if name not in self.order]:
            raise self.refuse(f"pad must name loops of order, got {', '.join(unknown)}")
        known = {inner.index for inner in moving}
        for value in used - known:
            if not self._before(value, loop):
                raise self.refuse(f"{self.buffer}{show(at)} is at {value.name_hint or 'a value'}, computed in loop {self.at}")
        for inner in moving:
            for value in {value for form in (*lowers(inner), *uppers(inner)) for value in form.values()} - known:
                if not self._before(value, loop):
                    raise self.refuse(f"the bounds of loop {name_of(inner)} change with {value.name_hint or 'a value'}")

    @staticmethod
    def _before(value: SSAValue, loop: ForOp) -> bool:
        """Whether a value is defined before the first reader in the body of a loop, as far as its uses there need it."""
        owner = value.owner
        block = owner.parent if isinstance(owner, Operation) else owner
        return block is loop.body.block or not is_inside(value, loop)

    @staticmethod
    def _nest(order: list[ForOp]) -> list[ForOp]:
        """The loops in the order of the dims, unless bounds depend on other loops."""
        left, nest = list(order), list[ForOp]()
        while left:
            open_ = {loop.index for loop in left}
            ready = next(
                loop
                for loop in left
                if not open_ & {value for form in (*lowers(loop), *uppers(loop)) for value in form.values()}
            )
            nest.append(ready)
            left.remove(ready)
        return nest

    def _check_memory(self, plan: _Plan, writes: list[Access]) -> None:
        """Check that no op of that iteration writes the copied elements, and that the copy reads those that the loop reads."""
        around = plan.outside()
        copied = Access(plan.uses[0].op, plan.buffer, False, (*around, *plan.nest))
        try:
            for write in writes:
                relations = {loop: "*" for loop in plan.nest if loop in write.loops}
                if (conflict := find_conflict(write, copied, relations)) is not None:
                    raise self.refuse(f"loop {self.at} writes what it reads: {conflict}", conflict)
        except CannotDecide as error:
            raise self.refuse(f"cannot decide: {error}") from None
        checked = holds(plan.loop, CheckOp)
        for use in plan.uses:
            others = [loop for loop in use.loops[len(around) :] if loop not in plan.order]
            if not checked and not conditional_in(use.op, plan.loop) and all_run(use.loops, others):
                return
        if not in_bounds(plan.kernel, plan.buffer, plan.at, copied.loops):
            raise self.refuse(
                f"cannot decide: an iteration of {self.at} may not read {self.buffer}{show(plan.at)}, "
                "which may then be out of bounds"
            )

    @staticmethod
    def _where(use: Access) -> str:
        return f" ({place(use.op)})" if place(use.op) else ""

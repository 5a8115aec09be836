"""Prefetch elements that a loop reads some iterations later through gather indices.

Requires that nothing in the loop writes the operands of the gather indices, and that each iteration reads them. The indices are
loaded early, from existing iterations; the prefetched elements need not exist.

    before                                         after, buffer=T at=k distance=8
    loop.for seq %k = 0 to %K {                    loop.for seq %k = 0 to %K {
      %0 = loop.load %I[%k]                          %next = %k + 8 < %K ? %k + 8 : %k
      %1 = arith.index_cast %0                       %0 = loop.load %I[%next]
      %a = loop.load %T[%1, %j]                      loop.prefetch %T[%0, %j]
      ...                                            ...

With `around`, a loop around `at`, the iterations after the last one of `at` are the first ones of its next run: then the first
rows of short loops are prefetched, too. A vector is prefetched line by line. Returns no names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Block, Operation, SSAValue

from ...codegen.targets.base import LINE_BYTES
from ...dialects.loop.gather import ScatterOp
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LoadOp, PrefetchOp, StoreOp
from ...dialects.scalar import ScalarBuilder
from ...errors import CompileError
from ..analysis.affine import Affine, as_map
from ..analysis.nests import around as loops_around
from ..analysis.nests import find, is_inside, name_of, ops_in
from ..analysis.regions import conditional_in, find_buffer, lowers, uppers
from ..index_arith import IndexArith
from .base import Primitive
from .cloning import Copier, is_vector, subscripts


@dataclass(frozen=True)
class PrefetchRows(Primitive):
    """Prefetch elements that are accessed through gather indices.

    Attributes:
        buffer: the buffer of these elements.
        at: the loop whose later iterations read them.
        distance: the number of iterations by which the prefetch precedes the read.
        around: a loop around `at` whose next iteration follows the last one of `at`; none: nothing does.
    """

    name = "loop-prefetch-rows"

    buffer: str
    at: str
    distance: int
    around: str = ""

    def check(self, kernel: KernelOp) -> None:
        self._reads(kernel)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        reads = self._reads(kernel)
        loop = find(kernel, self.at, self.name)
        ahead = self._ahead(kernel, loop)
        for read, chain in reads:
            found = Block()
            copier = Copier(kernel, {index: Affine.of(value) for index, value in ahead.items()})
            for op in chain:
                copier.copy(op, found)
            for at in _lines(read, [form.substitute(copier.indices) for form in subscripts(read)]):
                hint = PrefetchOp.build_prefetch(read.buffer, *as_map(at))
                hint.location = read.location
                found.add_op(hint)
            _move(found, read)
        return ()

    def _reads(self, kernel: KernelOp) -> list[tuple[LoadOp, list[Operation]]]:
        """The reads to prefetch, each with the ops that compute its gather index from the index of the loop."""
        loop, buffer = find(kernel, self.at, self.name), find_buffer(kernel, self.buffer, self.name)
        outer = self._outer(kernel, loop)
        if self.distance < 1:
            raise self.refuse(f"distance must be at least 1, got {self.distance}")
        if is_inside(buffer, outer):
            raise self.refuse(f"{self.buffer} is local to an iteration of {name_of(outer)}")
        found: list[tuple[LoadOp, list[Operation]]] = []
        for read in [op for op in ops_in(loop, LoadOp) if op.buffer is buffer]:
            chain = self._chain(read, outer)
            if _moves(chain, loop):
                self._certain(chain, outer)
                found.append((read, chain))
        if not found:
            raise self.refuse(f"no subscript of {self.buffer} is loaded from memory along {self.at}")
        return found

    def _outer(self, kernel: KernelOp, loop: ForOp) -> ForOp:
        """The outermost loop whose index advances with another one's."""
        if not self.around:
            return loop
        outer = find(kernel, self.around, self.name)
        if outer is loop or outer not in loops_around(loop):
            raise self.refuse(f"{self.around} is not around {self.at}")
        if loop.step.value.data != 1 or len(lowers(loop)) > 1 or len(uppers(loop)) > 1:
            raise self.refuse(f"{self.at} does not go step by step between two bounds")
        return outer

    def _chain(self, read: LoadOp, outer: ForOp) -> list[Operation]:
        """The ops in a loop that compute the subscripts of a read, in order."""
        ops: dict[Operation, None] = {}
        written = {op.buffer for op in ops_in(outer, StoreOp, ScatterOp)}

        def visit(value: SSAValue) -> None:
            if not is_inside(value, outer) or value is outer.index:
                return
            op = value.owner
            if isinstance(op, Block):
                if not isinstance(inner := op.parent_op(), ForOp) or value is not inner.index:
                    raise self.refuse(f"a subscript of {self.buffer} is carried from iteration to iteration")
                return
            if op in ops:
                return
            known = isinstance(op, LoadOp) and op.buffer not in written and op.mask is None
            if not (known or op.name.startswith("arith.")) or isinstance(op.results[0].type, VectorType):
                raise self.refuse(f"a subscript of {self.buffer} comes from '{op.name}', which cannot be computed ahead")
            for operand in op.operands:
                visit(operand)
            ops[op] = None

        for value in read.indices:
            visit(value)
        return list(ops)

    def _certain(self, chain: Sequence[Operation], outer: ForOp) -> None:
        """Refuse early loads of elements that the other iteration may not load."""
        for read in [op for op in chain if isinstance(op, LoadOp)]:
            if conditional_in(read, outer):
                raise self.refuse(f"subscripts of {self.buffer} are loaded under a condition")
            path = loops_around(read)
            for inner in path[path.index(outer) + 1 :]:
                if any(is_inside(value, outer) for value in (*inner.lower_operands, *inner.upper_operands)):
                    raise self.refuse(f"the bounds of {name_of(inner)} change from iteration to iteration of {name_of(outer)}")

    def _ahead(self, kernel: KernelOp, loop: ForOp) -> dict[SSAValue, SSAValue]:
        """The indices of the iteration to prefetch for, computed in the current one; its own where there is no later one."""
        block = Block()
        b, number = ScalarBuilder(block, loop.location), IndexArith(block, block)

        def value(form: Affine) -> SSAValue:
            map, operands = as_map([form])
            return number.value(map.results[0], operands)

        def before_end(x: SSAValue, of: ForOp) -> SSAValue:
            inside: SSAValue | None = None
            for bound in uppers(of):
                test = b.cmp("lt", x, value(bound))
                inside = test if inside is None else b.binary("and", inside, test)
            assert inside is not None
            return inside

        index = loop.index
        then = value(Affine.of(index) + self.distance * loop.step.value.data)
        inside = before_end(then, loop)
        found = {index: b.select(inside, then, index)}
        if self.around:
            outer = find(kernel, self.around, self.name)
            following = value(Affine.of(outer.index) + outer.step.value.data)
            later = value(Affine.of(then) - uppers(loop)[0] + lowers(loop)[0])
            there = b.binary("and", before_end(following, outer), before_end(later, loop))
            found[outer.index] = b.select(b.binary("or", inside, b.invert(there)), outer.index, following)
            found[index] = b.select(inside, then, b.select(there, later, index))
        first = loop.body.block.first_op
        assert first is not None
        _move(block, first)
        return found


def _moves(chain: Sequence[Operation], loop: ForOp) -> bool:
    """Whether a subscript is computed from an element loaded at the index of a loop."""
    moving: set[SSAValue] = {loop.index}
    reads = False
    for op in chain:
        if any(operand in moving for operand in op.operands):
            moving.update(op.results)
            reads = reads or isinstance(op, LoadOp)
    return reads


def _lines(read: LoadOp, at: list[Affine]) -> list[list[Affine]]:
    """The subscripts of a read, for a vector those of each line."""
    type = read.buffer.type
    assert isinstance(type, MemRefType)
    if not is_vector(read) or read.lane_dim() != type.get_num_dims() - 1 or read.lane_step() != 1:
        return [at]
    size = max(8, getattr(type.element_type, "bitwidth", 64)) // 8
    return [[*at[:-1], at[-1] + start] for start in range(0, read.lanes, max(1, LINE_BYTES // size))]


def _move(block: Block, before: Operation) -> None:
    """Insert the ops of a block before another op."""
    home = before.parent_block()
    if home is None:
        raise CompileError("an op that stands nowhere")
    for op in list(block.ops):
        op.detach()
        home.insert_op_before(op, before)

"""Ask for the elements of a buffer that a loop reads some iterations on.

Requires reads whose subscripts change with the loop. It is a hint: what is asked for need not exist.

    before                                         after, buffer=A at=k distance=8
    loop.for seq %k = 0 to %K {                    loop.for seq %k = 0 to %K {
      %a = loop.load %A[%k, %i]                      loop.prefetch %A[%k + 8, %i]
      ...                                            %a = loop.load %A[%k, %i]

One hint for each subscript, before the first read; of vectors the first lane is asked for. Inner loops that do not leave the
cache line share a hint before them, for their first iteration. Returns no names.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation

from ...dialects.loop.memory import LoadOp, PrefetchOp
from ...dialects.loop.structure import ForOp, KernelOp
from ..analysis.accesses import is_inside
from ..analysis.affine import Affine, as_map, show
from ..analysis.nests import find
from ..analysis.regions import extent, find_buffer, lowers
from .base import Primitive
from .cloning import subscripts

_LINE = 64
"""Bytes of a cache line."""


@dataclass(frozen=True)
class Prefetch(Primitive):
    """Ask for elements ahead.

    Attributes:
        buffer: whose elements.
        at: the loop whose later iterations read them.
        distance: how many iterations ahead.
    """

    name = "loop-prefetch"

    buffer: str
    at: str
    distance: int

    def check(self, kernel: KernelOp) -> None:
        self._ahead(kernel)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        buffer = find_buffer(kernel, self.buffer, self.name)
        for read, before, at in self._ahead(kernel):
            new = PrefetchOp.build_prefetch(buffer, *as_map(at))
            new.location = read.location
            block = before.parent_block()
            assert block is not None
            block.insert_op_before(new, before)
        return ()

    def _ahead(self, kernel: KernelOp) -> list[tuple[LoadOp, Operation, list[Affine]]]:
        """Reads, the ops to put their hints before, and what each is to ask for."""
        loop, buffer = find(kernel, self.at, self.name), find_buffer(kernel, self.buffer, self.name)
        if self.distance < 1:
            raise self.refuse(f"distance must be at least 1, got {self.distance}")
        if is_inside(buffer, loop):
            raise self.refuse(f"{self.buffer} is local to an iteration of {self.at}")
        reads = [op for op in loop.walk() if isinstance(op, LoadOp) and op.buffer is buffer]
        if not reads:
            raise self.refuse(f"nothing in loop {self.at} reads {self.buffer}")
        moved = {loop.index: Affine.of(loop.index) + self.distance * loop.step.value.data}
        found: dict[tuple[Block | None, tuple[Affine, ...]], tuple[LoadOp, Operation]] = {}
        for op in reads:
            at = [form.substitute(moved) for form in subscripts(op)]
            if at != subscripts(op):
                before, at = self._outwards(op, at, loop)
                found.setdefault((before.parent_block(), tuple(at)), (op, before))
        if not found:
            every = ", ".join(dict.fromkeys(f"{self.buffer}{show(subscripts(op))}" for op in reads))
            raise self.refuse(f"what is read does not change with {self.at}: {every}")
        return [(read, before, list(at)) for (_, at), (read, before) in found.items()]

    @staticmethod
    def _outwards(op: LoadOp, at: list[Affine], loop: ForOp) -> tuple[Operation, list[Affine]]:
        """The op before which a hint for a read stands: the outermost loop inside `loop` that stays in the cache line."""
        type = op.buffer.type
        assert isinstance(type, MemRefType)
        size = max(8, getattr(type.element_type, "bitwidth", 64)) // 8
        before: Operation = op
        while isinstance(inner := before.parent_op(), ForOp) and inner is not loop:
            index, length = inner.index, extent(inner)
            steps = [form.terms.get(index, 0) for form in at]
            moves = [index in form.values() for form in at]
            if any(moves):
                alone = moves == [bool(step) for step in steps] and not any(moves[:-1]) and len(lowers(inner)) == 1
                if not alone or length is None or length.count * length.step * abs(steps[-1]) * size > _LINE:
                    break
            outside = [form.substitute({index: lowers(inner)[0]}) for form in at] if any(moves) else at
            if any(is_inside(value, inner) for form in outside for value in form.values()):
                break
            before, at = inner, outside
        return before, at

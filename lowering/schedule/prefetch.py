"""Prefetch the elements of a buffer that a loop reads some iterations later.

Requires reads whose subscripts change with the loop. It is a hint: the prefetched elements need not exist.

    before                                         after, buffer=A at=k distance=8
    loop.for seq %k = 0 to %K {                    loop.for seq %k = 0 to %K {
      %a = loop.load %A[%k, %i]                      loop.prefetch %A[%k + 8, %i]
      ...                                            %a = loop.load %A[%k, %i]

One prefetch for each subscript, before the first read, and for each cache line of a vector. Inner loops that stay in the cache
line share a prefetch before them, for their first iteration. Returns no names.

Where all iterations of a loop in between read the same elements, for example a tile, `over` names it: each of its iterations
prefetches its share of the cache lines that the loops inside read, which spreads the requests evenly.

    before                                         after, buffer=A at=k distance=1 over=i
    loop.for seq %k = 0 to %K step 4 {             loop.for seq %k = 0 to %K step 4 {
      loop.for parallel %i = 0 to 8 {                loop.for parallel %i = 0 to 8 {
        loop.for seq %t = 0 to 4 {                     loop.prefetch %A[%k + %i mod 4 + 4, (%i floordiv 4) * 16]
          loop.for seq %j = 0 to 32 {                  loop.for seq %t = 0 to 4 {
            %a = loop.load %A[%k + %t, %j]               loop.for seq %j = 0 to 32 {
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation

from ...codegen.targets.base import LINE_BYTES
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LoadOp, PrefetchOp
from ..analysis.affine import Affine, as_map, show
from ..analysis.nests import around, find, is_inside, ops_in
from ..analysis.regions import extent, find_buffer, lowers
from .base import Primitive
from .cloning import Values, subscripts

_Hint = tuple[LoadOp, Operation, list[Affine]]
"""A read, the op before which its prefetch is inserted, and the prefetched subscripts."""


def _lines_of(loop: ForOp, read: LoadOp) -> tuple[int, int] | None:
    """The number of lines, or rows of lines, that a loop makes a read touch, and the loop's advance from one to the next."""
    length, at = extent(loop), subscripts(read)
    if length is None or not length.count or len(lowers(loop)) > 1:
        return None
    along = abs(at[-1].terms.get(loop.index, 0)) * length.step
    alone = all(loop.index not in form.values() for form in at[:-1])
    together = max(1, LINE_BYTES // (_size(read) * along)) if along and alone else 1
    return -(-length.count // together), together * length.step


def _size(read: LoadOp) -> int:
    """The size of an element, in bytes."""
    type = read.buffer.type
    assert isinstance(type, MemRefType)
    return max(8, getattr(type.element_type, "bitwidth", 64)) // 8


def _firsts(read: LoadOp) -> range:
    """Offsets along a row at which the lines of a vector begin; 0 alone: the read is of one element, or strided."""
    type = read.buffer.type
    assert isinstance(type, MemRefType)
    apart = read.stride is not None and read.stride.value.data != 1
    if read.lanes == 1 or read.lane_dim() != type.get_num_dims() - 1 or apart:
        return range(1)
    return range(0, read.lanes, max(1, LINE_BYTES * 8 // max(8, getattr(type.element_type, "bitwidth", 64))))


@dataclass(frozen=True)
class Prefetch(Primitive):
    """Prefetch elements.

    Attributes:
        buffer: the buffer of these elements.
        at: the loop whose later iterations read them.
        distance: the number of iterations by which the prefetch precedes the read.
        over: an inner loop whose iterations share the prefetches; none: all of them are before the first read.
    """

    name = "loop-prefetch"

    buffer: str
    at: str
    distance: int
    over: str = ""

    def check(self, kernel: KernelOp) -> None:
        self._ahead(kernel)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        buffer = find_buffer(kernel, self.buffer, self.name)
        for read, before, at in self._ahead(kernel):
            block = before.parent_block()
            assert block is not None
            for first in _firsts(read):
                new = PrefetchOp.build_prefetch(buffer, *as_map([*at[:-1], at[-1] + first] if first else at))
                new.location = read.location
                block.insert_op_before(new, before)
        return ()

    def _ahead(self, kernel: KernelOp) -> list[_Hint]:
        """Reads, the ops before which their prefetches are inserted, and the subscripts of each."""
        loop, buffer = find(kernel, self.at, self.name), find_buffer(kernel, self.buffer, self.name)
        if self.distance < 1:
            raise self.refuse(f"distance must be at least 1, got {self.distance}")
        if is_inside(buffer, loop):
            raise self.refuse(f"{self.buffer} is local to an iteration of {self.at}")
        reads = [op for op in ops_in(loop, LoadOp) if op.buffer is buffer]
        if not reads:
            raise self.refuse(f"nothing in loop {self.at} reads {self.buffer}")
        moved = {loop.index: Affine.of(loop.index) + self.distance * loop.step.value.data}
        if self.over:
            return self._shared(kernel, loop, reads, moved)
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

    def _shared(self, kernel: KernelOp, loop: ForOp, reads: list[LoadOp], moved: Values) -> list[_Hint]:
        """Prefetches at the start of an iteration of `over`, for its share of the lines that the loops inside it read."""
        over, read = find(kernel, self.over, self.name), reads[0]
        at, path = subscripts(read), around(read)
        if over not in path or loop not in around(over):
            raise self.refuse(f"loop {self.over} is not between {self.at} and the reads of {self.buffer}")
        if any(subscripts(op) != at or over not in around(op) for op in reads):
            raise self.refuse(f"the reads of {self.buffer} in {self.at} are of different elements")
        used = {value for form in at for value in form.values()}
        inside = [inner for inner in path[path.index(over) + 1 :] if inner.index in used]
        lines, trips = [_lines_of(inner, read) for inner in inside], extent(over)
        if over.index in used or loop.index not in used or trips is None or None in lines:
            raise self.refuse(f"the iterations of {self.over} do not read one tile of {self.buffer} that moves with {self.at}")
        tile = [(inner, *found) for inner, found in zip(inside, lines, strict=True) if found is not None]
        share = -(-math.prod(count for _, count, _ in tile) // trips.count)
        first = next(iter(over.body.block.ops))
        hints: list[_Hint] = []
        for k in range(share):
            number, where = trips.number(Affine.of(over.index)) * share + k, dict(moved)
            for inner, count, step in tile:
                last = inner is inside[-1]  # shares that do not divide evenly reach beyond the tile
                where[inner.index] = lowers(inner)[0] + (number if last else number.mod(count)) * step
                number = number // count
            hints.append((read, first, [form.substitute(where) for form in at]))
        return hints

    @staticmethod
    def _outwards(op: LoadOp, at: list[Affine], loop: ForOp) -> tuple[Operation, list[Affine]]:
        """The op before which the prefetch of a read goes: the outermost loop inside `loop` that stays in the cache line."""
        size, before = _size(op), cast(Operation, op)
        while isinstance(inner := before.parent_op(), ForOp) and inner is not loop:
            index, length = inner.index, extent(inner)
            steps = [form.terms.get(index, 0) for form in at]
            moves = [index in form.values() for form in at]
            if any(moves):
                alone = moves == [bool(step) for step in steps] and not any(moves[:-1]) and len(lowers(inner)) == 1
                if not alone or length is None or length.count * length.step * abs(steps[-1]) * size > LINE_BYTES:
                    break
            outside = [form.substitute({index: lowers(inner)[0]}) for form in at] if any(moves) else at
            if any(is_inside(value, inner) for form in outside for value in form.values()):
                break
            before, at = inner, outside
        return before, at

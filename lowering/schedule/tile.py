"""Split perfectly nested loops and run tile by tile: the outer parts of all around the inner parts of all.

    before                                  after loop-tile{loops=i,j sizes=6,16}
    loop.for parallel %i = 0 to %M {        loop.for parallel %io = 0 to %M step 6 {
      loop.for parallel %j = 0 to %N {        loop.for parallel %jo = 0 to %N step 16 {
        ...                                     loop.for parallel %ii = 0 to min(6, %M - %io) {
      }                                           loop.for parallel %ji = 0 to min(16, %N - %jo) {
    }                                               ...

The outer parts, in the order given, fill the first of the levels that all have after the splits, the inner parts the others.
Legal as `loop-reorder` is: when no two iterations that touch one element, one of them writing, are interchanged. Returns the
outer loops, then the inner ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.loop.loops import ForOp, KernelOp
from ..analysis.nests import find, name_of
from .base import Primitive
from .reorder import CHANGED, band_of, objection, rearrange, reordered
from .rewriting import on_original
from .split import split_loop


@dataclass(frozen=True)
class Tile(Primitive):
    """`loops` are split by `sizes`, one each, and run tile by tile."""

    name = "loop-tile"
    loops: tuple[str, ...]
    sizes: tuple[int, ...]

    def check(self, kernel: KernelOp) -> None:
        band_of(self, [find(kernel, name, self.name) for name in self.loops])
        if len(self.sizes) != len(self.loops) or min(self.sizes) < 1:
            raise self.refuse(f"give one size of 1 or more a loop, got {len(self.sizes)} for {len(self.loops)} loops")
        copy = kernel.clone()
        names = self._split(copy)
        found = objection(*self._bands(copy, names))
        if found is None:
            return
        reason, conflict = found
        if conflict is not None:
            count = len(self.loops)
            parts = dict(zip(self.loops, zip(names[:count], names[count:], strict=True), strict=True))
            conflict = on_original(conflict, copy, kernel, parts)
            reason = f"{CHANGED}{conflict}"
        raise self.refuse(reason, conflict)

    def _split(self, kernel: KernelOp) -> list[str]:
        """The names of the outer, then the inner parts."""
        made = []
        for loop, size in zip(self.loops, self.sizes, strict=True):
            made.append(split_loop(kernel, find(kernel, loop, self.name), loop, size))
        return [name_of(outer) for outer, _ in made] + [name_of(inner) for _, inner in made]

    def _bands(self, kernel: KernelOp, names: Sequence[str]) -> tuple[list[ForOp], list[ForOp]]:
        """The nest of the parts after the splits, before and after the interchange."""
        named = [find(kernel, name, self.name) for name in names]
        band = band_of(self, named)
        return band, reordered(band, named)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        names = self._split(kernel)
        rearrange(*self._bands(kernel, names))
        return tuple(names)

"""Outline the body of a loop: move it into a separate function.

    before                                  after loop-outline{loop=i}
    loop.for parallel %i = 0 to 64 {        loop.for parallel %i = 0 to 64 outlined {

Code generation keeps the constants of polynomials in registers throughout a function. In a separate function they take none
from sums that a neighbouring loop keeps. A call costs a few nanoseconds.

Requires a loop without carried values that is neither vectorized, nor unrolled, nor divided among threads. A hint: always
legal. Returns the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import UnitAttr

from ...dialects.loop.loops import ForOp, KernelOp
from ..analysis.nests import around, find, ops_in
from ..analysis.placement import region_of
from .base import Primitive


@dataclass(frozen=True)
class Outline(Primitive):
    """The body of `loop` becomes a function that is called."""

    name = "loop-outline"
    keeps_lines = True
    places = True
    loop: str

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.name)
        if loop.kind.data not in ("seq", "parallel") or loop.results:
            raise self.refuse("only a seq or parallel loop without carried values can be a function")
        divided = [other for outer in (loop, *around(loop)) if outer.threads is not None for other in region_of(outer).loops]
        if loop in divided or any(other.threads is not None for other in ops_in(loop, ForOp)):
            raise self.refuse("threads divide the loop, or one in it")

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        find(kernel, self.loop, self.name).outlined = UnitAttr()
        return (self.loop,)

"""Let a loop run ahead by a multiple of the index of a loop around it.

    before                                  after loop-skew{loop=j by=i}
    loop.for seq %i = 1 to %N {             loop.for seq %i = 1 to %N {
      loop.for seq %j = 1 to %M {             loop.for seq %j = %i + 1 to %M + %i {
        %a = loop.load %x[%i - 1, %j]           %a = loop.load %x[%i - 1, %j - %i]
        %b = loop.load %x[%i, %j - 1]           %b = loop.load %x[%i, %j - %i - 1]
        ...                                     ...

Always legal: each iteration gets another number, and their order stays. Dependences that point back along `loop`, as those of
a stencil from one time step to the next, point forward then, so that the loops may be interchanged
(`loop-reorder{triangular=true}`), tiled, and the inner one of a wavefront run in parallel. Returns the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.loop.loops import ForOp, KernelOp
from ..analysis.affine import Affine, as_map
from ..analysis.bounds import set_bounds
from ..analysis.nests import around, find
from ..analysis.regions import has_linear_bounds, lowers, uppers
from .base import Primitive
from .rewriting import replace_index


def move(loop: ForOp, offset: Affine) -> None:
    """Add an expression to the numbers of a loop's iterations."""
    low, high = lowers(loop), uppers(loop)
    map, values = as_map([Affine.of(loop.index) - offset])
    replace_index(loop.index, map.results[0], values, loop.body.block, loop.location)
    new = [as_map([form + offset for form in bounds]) for bounds in (low, high)]
    set_bounds(loop, *((map.results, values) for map, values in new))


def obstacle(loop: ForOp) -> str | None:
    """Why the iterations of a loop cannot get other numbers."""
    if loop.kind.data in ("vector", "unroll"):
        return f"the loop is {loop.kind.data}: skew and shift loops before they are vectorized or unrolled"
    if not has_linear_bounds(loop):
        return "the bounds of the loop are not linear"
    return None


@dataclass(frozen=True)
class Skew(Primitive):
    """`factor` times the index of the loop `by` is added to that of `loop`, which stands in it."""

    name = "loop-skew"
    keeps_lines = True
    loop: str
    by: str
    factor: int = 1

    def check(self, kernel: KernelOp) -> None:
        loop, outer = find(kernel, self.loop, self.name), find(kernel, self.by, self.name)
        if outer not in around(loop):
            raise self.refuse(f"'{self.by}' is no loop around '{self.loop}'")
        if outer.kind.data in ("vector", "unroll"):
            raise self.refuse(f"'{self.by}' is {outer.kind.data}: its index is no number at run time")
        if self.factor == 0:
            raise self.refuse("the factor must not be 0")
        if (reason := obstacle(loop)) is not None:
            raise self.refuse(reason)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop, outer = find(kernel, self.loop, self.name), find(kernel, self.by, self.name)
        move(loop, Affine.of(outer.index) * self.factor)
        return (self.loop,)

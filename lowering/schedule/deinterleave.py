"""Run each residue class of a loop's iterations in a separate loop: the first, third, fifth ..., then the second, fourth ...

    before                                  after loop-deinterleave{loop=i ways=2}
    loop.for parallel %i = 0 to 9 {         loop.for parallel %i = 0 to 5 {
      %a = loop.load %x[%i]                   %a = loop.load %x[%i * 2]
      loop.store %a, %y[%i]                   loop.store %a, %y[%i * 2]
    }                                       }
                                            loop.for parallel %i2 = 0 to 4 {
                                              %b = loop.load %x[%i2 * 2 + 1]
                                              loop.store %b, %y[%i2 * 2 + 1]
                                            }

Where subscripts contained the remainder of the index modulo `ways`, it is constant in each loop: `loop-split-dim` can then put
each class into a separate row.

Requires constant bounds with at least `ways` iterations. Legal where the iterations are independent; a reduction combines its
elements in another order. Returns one loop a class, the first of which keeps the name.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ...dialects.loop.loops import PAIR_MONOIDS, ForOp, KernelOp
from ..analysis.bounds import set_bounds
from ..analysis.dependence import CannotDecide, carried_conflict
from ..analysis.nests import find, name_of
from .base import Primitive
from .rewriting import copied, replace_index


@dataclass(frozen=True)
class Deinterleave(Primitive):
    """`loop` becomes `ways` loops; number `k` runs every `ways`-th iteration from `k` on."""

    name = "loop-deinterleave"
    loop: str
    ways: int

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.name)
        if loop.kind.data not in ("seq", "parallel", "reduce"):
            raise self.refuse(f"only a seq, parallel or reduce loop can be deinterleaved, this one is {loop.kind.data}")
        trips = loop.trip_count()
        if loop.constant_bounds() is None or trips is None:
            raise self.refuse("the loop needs constant bounds")
        if not 2 <= self.ways <= trips:
            raise self.refuse(f"ways must be 2 or more and at most the {trips} iterations of {self.loop}, got {self.ways}")
        if loop.results and (loop.monoid is None or loop.monoid.data in PAIR_MONOIDS):
            raise self.refuse("the loop carries values whose order matters")
        if loop.kind.data == "parallel":
            return
        try:
            conflict = carried_conflict(loop)
        except CannotDecide as error:
            raise self.refuse(f"cannot decide: {error}") from None
        if conflict is not None:
            raise self.refuse(f"two dependent iterations would be reordered: {conflict}", conflict)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        first = find(kernel, self.loop, self.name)
        bounds, trips, step = first.constant_bounds(), first.trip_count(), first.step.value.data
        assert bounds is not None and trips is not None
        made = [first]
        for _ in range(1, self.ways):
            made.append(_after(made[-1], copied(first, kernel, "")))
        for k, loop in enumerate(made):
            index = AffineExpr.dimension(0) * (self.ways * step) + (bounds[0] + k * step)
            replace_index(loop.index, index, [loop.index], loop.body.block, loop.location)
            count = -(-(trips - k) // self.ways)
            loop.properties["step"] = IntegerAttr(1, loop.step.type)
            set_bounds(loop, ([AffineConstantExpr(0)], []), ([AffineConstantExpr(count)], []))
        return tuple(map(name_of, made))


def _after(loop: ForOp, copy: ForOp) -> ForOp:
    """Put a copy of a loop after it; a reduction continues from the result of the first."""
    block = loop.parent
    assert block is not None
    block.insert_op_after(copy, loop)
    start = len(copy.operands) - len(copy.inits)
    for k, (old, new) in enumerate(zip(loop.results, copy.results, strict=True)):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
        copy.operands[start + k] = old
    return copy

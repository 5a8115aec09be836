"""Run two neighbouring loops of equal bounds strip by strip: the second reads each strip while it is in the cache.

    before                                  after loop-interleave{first=i second=j size=32 halo=1}
    loop.for seq %i = 0 to %N {             loop.for seq %io = 0 to %N step 32 {
      ... %y[%i]                              loop.for seq %ii = 0 to min(32, %N - %io) {
    }                                           ... %y[%io + %ii]
    loop.for seq %j = 0 to %N {               loop.for seq %ji = 1 to min(31, %N - %io) {
      ... %y[%j - 1], %y[%j + 1]                ... %y[%io + %ji - 1], %y[%io + %ji + 1]
    }                                       }
                                            loop.for seq %j_edges = 0 to %N + 1 step 32 {
                                              loop.for seq %j_edge = max(-1, -%j_edges) to min(1, %N - %j_edges) {
                                                ... %y[%j_edges + %j_edge - 1], ...

In a strip the second loop leaves out `halo` iterations on both sides, which may need elements of another strip; all of these
run at the end. So strips may be independent of each other, for `parallelize`. Ops between the loops move before both.

Requires loops of step 1 without carried values, and strips of at least two halos. Legal when the iterations of the second loop
are independent, and none of them touches an element that the first loop touches more than `halo` iterations later, one of them
writing. Returns the loop over strips, the two loops in it, the loop over edges and the loop inside that.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ...dialects.loop.loops import ForOp, KernelOp, YieldOp
from ..analysis.accesses import accesses
from ..analysis.bounds import affine_map, set_bounds, simplify_bounds
from ..analysis.dependence import CannotDecide, Conflict, carried_conflict, find_conflict, first_conflict, pairs
from ..analysis.nests import find, fresh, name_of
from .base import Primitive
from .fuse import check_neighbours, fused, same_bounds
from .rewriting import copied, rebased, replace_index, take_body
from .split import split_loop


@dataclass(frozen=True)
class Interleave(Primitive):
    """`first` and `second` run in strips of `size` iterations; `halo` bounds the distance of dependences between them."""

    name = "loop-interleave"
    first: str
    second: str
    size: int
    halo: int

    def check(self, kernel: KernelOp) -> None:
        first, second = (find(kernel, name, self.name) for name in (self.first, self.second))
        check_neighbours(self, first, second)
        for loop in (first, second):
            if loop.results or loop.kind.data not in ("seq", "parallel"):
                raise self.refuse(f"only seq and parallel loops that carry nothing run in strips, {name_of(loop)} is another")
        if first.step.value.data != 1 or second.step.value.data != 1:
            raise self.refuse("both loops must have step 1")
        if not same_bounds(first, second):
            raise self.refuse("their bounds are not the same")
        if self.halo < 0 or self.size < max(1, 2 * self.halo):
            raise self.refuse(f"a strip of {self.size} iterations has no room for two halos of {self.halo}")
        try:
            carried = None if second.kind.data == "parallel" else carried_conflict(second)
            early = self._early(first, second)
        except CannotDecide as error:
            raise self.refuse(f"cannot decide: {error}") from None
        if carried is not None:
            raise self.refuse(f"iterations of {self.second} would be reordered: {carried}", carried)
        if early is not None:
            raise self.refuse(f"{self.second} would touch an element too early: {early}", early)

    def _early(self, first: ForOp, second: ForOp) -> Conflict | None:
        """Iterations of the first loop, and of the second loop more than a halo before, that touch one element."""
        return first_conflict(
            pairs(accesses(first), accesses(second)),
            lambda one, two: find_conflict(one, two, {}, ahead=(first, second, self.halo + 1)),
        )

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        first, second = (find(kernel, name, self.name) for name in (self.first, self.second))
        edges, edge = self._edges(kernel, second)
        strips, one = split_loop(kernel, first, self.first, self.size)
        other, two = split_loop(kernel, second, self.second, self.size)
        values = list(two.upper_operands)
        inside = [AffineConstantExpr(self.size - self.halo), *two.upper.data.results]  # the last strip goes to the end
        set_bounds(two, ([AffineConstantExpr(self.halo)], []), (inside, values))
        strips = fused(strips, other, "seq")
        for loop in (two, edges, edge):
            simplify_bounds(loop)
        return tuple(name_of(loop) for loop in (strips, one, two, edges, edge))

    def _edges(self, kernel: KernelOp, second: ForOp) -> tuple[ForOp, ForOp]:
        """The loop over the edges of strips, and inside it the loop over the iterations on both sides of one."""
        names = fresh(kernel, f"{self.second}_edges"), fresh(kernel, f"{self.second}_edge")
        copy = copied(second, kernel, "_edge")
        body = take_body(copy)
        values: list = []
        lowers = rebased(copy.lower.data.results, copy.lower_operands, values)
        uppers = rebased(copy.upper.data.results, copy.upper_operands, values)
        outer = ForOp.build_loop(
            affine_map(lowers, values),
            affine_map([end + self.halo for end in uppers], values),
            step=self.size,
            kind="seq",
            body=Block(arg_types=[IndexType()]),
            name=names[0],
        )
        here = rebased([AffineExpr.dimension(0)], [outer.index], values)[0]
        inner = ForOp.build_loop(
            affine_map([AffineConstantExpr(-self.halo), *(low - here for low in lowers)], values),
            affine_map([AffineConstantExpr(self.halo), *(high - here for high in uppers)], values),
            kind=second.kind.data,
            body=body,
        )
        sum_ = AffineExpr.dimension(0) + AffineExpr.dimension(1)
        replace_index(inner.index, sum_, [outer.index, inner.index], body, second.location)
        inner.index.name_hint = names[1]
        outer.body.block.add_ops([inner, YieldOp.create()])
        for loop in (outer, inner):
            loop.location = second.location
        block = second.parent
        assert block is not None
        block.insert_op_after(outer, second)
        return outer, inner

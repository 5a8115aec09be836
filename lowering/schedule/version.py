"""Give a loop with few iterations a specialized nest, chosen by a condition on its bound at run time.

    before                                  after loop-version{loop=i most=32}
    loop.for parallel %i = 0 to %N {        %few = arith.cmpi sle, %N, %c32
      loop.for parallel %j = 0 to 64 {      loop.if %few {
        ...                                   loop.for parallel %i_few = 0 to %N {
                                                loop.for parallel %j_few = 0 to 64 {
                                                  ...
                                            } else {
                                              loop.for parallel %i = 0 to %N {
                                                loop.for parallel %j = 0 to 64 {
                                                  ...

The nest around the loop is copied as far out as its trip count is defined. In the copy the loop runs at most `most` times, as
the condition says, which analyses see (`conditions.py`); with `exact` exactly that often, and if that is once, its body
replaces it. With more iterations, the original nest runs. Always legal.

Requires a loop from 0 by steps of 1 to one expression, without carried values, in a nest without any. Returns the loops of the
copy, in the order of the text.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, Region
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ...dialects.loop.loops import ForOp, IfOp, KernelOp, YieldOp
from ...dialects.loop.subscripts import linear_form
from ...dialects.scalar import ScalarBuilder
from ..analysis.bounds import set_bounds
from ..analysis.nests import around, find, is_inside, name_of, ops_in
from .base import Primitive
from .rewriting import computed, copied, put_instead, replace_index, take_body


def bound_of(loop: ForOp) -> AffineExpr | None:
    """The upper bound of a loop without carried values from 0 by steps of 1, if it is one symbolic expression."""
    (low, *lows), (high, *highs) = loop.lower.data.results, loop.upper.data.results
    known = loop.trip_count() is not None or lows or highs or loop.results or loop.step.value.data != 1
    plain = isinstance(low, AffineConstantExpr) and low.value == 0 and linear_form(high, len(loop.upper_operands)) is not None
    return high if plain and not known else None


def nest_of(loop: ForOp) -> ForOp | None:
    """The outermost loop around a loop in which its bound is invariant; None where one in between carries values."""
    nest = loop
    for outer in reversed(around(loop)):
        if any(value is outer.index or is_inside(value, outer) for value in loop.upper_operands):
            break
        nest = outer
    return None if nest.results else nest


@dataclass(frozen=True)
class Version(Primitive):
    """The nest of `loop` gets a copy for at most, or exactly, `most` iterations."""

    name = "loop-version"
    keeps_lines = True
    loop: str
    most: int
    exact: bool = False

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.name)
        if self.most < 1:
            raise self.refuse(f"most is at least 1, got {self.most}")
        if bound_of(loop) is None:
            raise self.refuse(f"{self.loop} does not run from 0 by steps of 1 to one symbolic expression")
        if nest_of(loop) is None:
            raise self.refuse(f"a loop around {self.loop}, or that loop, carries values")

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop = find(kernel, self.loop, self.name)
        bound, nest = bound_of(loop), nest_of(loop)
        assert bound is not None and nest is not None and nest.parent is not None
        values = list(loop.upper_operands)
        copy = copied(nest, kernel, "_few")
        few = ops_in(copy, ForOp)[ops_in(nest, ForOp).index(loop)]
        if self.exact:
            set_bounds(few, ([AffineConstantExpr(0)], []), ([AffineConstantExpr(self.most)], []))
        block = Block()
        count, ops = computed(bound, values, loop.location)
        block.add_ops(ops)
        builder = ScalarBuilder(block, loop.location)
        condition = builder.cmp("eq" if self.exact else "le", count, builder.const(self.most, IndexType()))
        chosen = IfOp.create(operands=[condition], regions=[Region(Block()), Region(Block())])
        chosen.location = nest.location
        block.add_op(chosen)
        nest.parent.insert_ops_before(_detached(block), nest)
        nest.detach()
        for region, inner in zip(chosen.regions, (copy, nest), strict=True):
            region.block.add_ops([inner, YieldOp.create()])
        if self.exact and self.most == 1:
            _take_once(few)
        return tuple(name_of(op) for op in ops_in(chosen.then.block, ForOp))


def _detached(block: Block) -> list[Operation]:
    ops = list(block.ops)
    for op in ops:
        op.detach()
    return ops


def _take_once(loop: ForOp) -> None:
    """Replace a loop that runs once, from 0, by its body."""
    replace_index(loop.index, AffineConstantExpr(0), [], loop.body.block, loop.location)
    body = take_body(loop)
    if isinstance(body.last_op, YieldOp):
        body.last_op.detach()
    put_instead(loop, _detached(body), [])

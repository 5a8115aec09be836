"""Unroll a loop at emission: all of its iterations, or `factor` of them at a time.

    before                                  after loop-unroll{loop=i factor=4}
    loop.for seq %i = 0 to %N {             loop.for seq %io = 0 to %N step 4 {
      %a = loop.load %x[%i]                   loop.for unroll %ii = 0 to min(4, %N - %io) {
      loop.store %a, %y[%i]                     %a = loop.load %x[%io + %ii]
    }                                           loop.store %a, %y[%io + %ii]

Without a factor the loop itself becomes `unroll`; it needs a constant greatest trip count, and iterations that do not happen
are skipped at run time. Always legal: the order of the iterations stays. An unrolled reduction carries its value through loops
of one iteration, so that it is combined as before. Returns the unrolled loop, after the outer one if there is one.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, StringAttr
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap

from ...dialects.loop.loops import ForOp, KernelOp, YieldOp
from ...dialects.loop.subscripts import linear_form
from ..analysis.bounds import constant_extent, set_bounds, simplify_bounds, too_much_code
from ..analysis.nests import find, fresh, name_of
from .base import Primitive
from .rewriting import put_instead, rebased, replace_index, take_body
from .split import split_loop


def _starts_anywhere(loop: ForOp) -> bool:
    return not all(isinstance(e, AffineConstantExpr) for e in loop.lower.data.results)


def _start_at_zero(loop: ForOp) -> None:
    """Count the iterations from 0, since the index of an unrolled loop becomes a constant."""
    start, starts = loop.lower.data.results[0], list(loop.lower_operands)
    values = list(loop.upper_operands)
    begin = rebased([start], starts, values)[0]
    ends = rebased(loop.upper.data.results, loop.upper_operands, values)
    home: list[SSAValue] = []
    shifted = rebased([start], starts, home)[0] + rebased([AffineExpr.dimension(0)], [loop.index], home)[0]
    replace_index(loop.index, shifted, home, loop.body.block, loop.location)
    set_bounds(loop, ([AffineConstantExpr(0)], []), ([end - begin for end in ends], values))


def _carry(kernel: KernelOp, loop: ForOp) -> ForOp:
    """A reduction as a loop that carries the combinations of reductions of one iteration."""
    name, inner_name = name_of(loop), fresh(kernel, name_of(loop) + "i")
    body = Block(arg_types=[IndexType(), *(v.type for v in loop.inits)])
    outer = ForOp.build_loop(
        (loop.lower.data, list(loop.lower_operands)),
        (loop.upper.data, list(loop.upper_operands)),
        step=loop.step.value.data,
        inits=list(loop.inits),
        body=body,
        name=name,
    )
    for argument, result in zip(body.args[1:], loop.results, strict=True):
        argument.name_hint = result.name_hint
    dim = AffineExpr.dimension(0)
    once = ForOp.build_loop(
        (AffineMap(1, 0, (dim,)), [outer.index]),
        (AffineMap(1, 0, (dim + 1,)), [outer.index]),
        kind="reduce",
        monoid=loop.monoid.data if loop.monoid is not None else None,
        inits=list(body.args[1:]),
        body=take_body(loop),
        name=inner_name,
    )
    body.add_ops([once, YieldOp.create(operands=once.results)])
    outer.location = once.location = loop.location
    put_instead(loop, [outer], outer.results)
    return outer


def unroll_loop(kernel: KernelOp, loop: ForOp) -> ForOp:
    """Make a loop of bounded trip count one of kind `unroll`."""
    if _starts_anywhere(loop):
        _start_at_zero(loop)
    simplify_bounds(loop)
    extent = constant_extent(loop)
    uppers = loop.upper.data.results
    if extent is not None and not any(isinstance(e, AffineConstantExpr) for e in uppers):
        start = loop.lower.data.results[0]
        assert isinstance(start, AffineConstantExpr)
        end = AffineConstantExpr(start.value + extent * loop.step.value.data)
        set_bounds(loop, (loop.lower.data.results, list(loop.lower_operands)), ([end, *uppers], list(loop.upper_operands)))
    if loop.kind.data == "reduce":
        loop = _carry(kernel, loop)
    loop.properties["kind"], loop.dynamic = StringAttr("unroll"), None
    return loop


@dataclass(frozen=True)
class Unroll(Primitive):
    """`loop` is unrolled at emission: as a whole, or `factor` iterations at a time."""

    name = "loop-unroll"
    keeps_lines = True
    loop: str
    factor: int = 0

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.name)
        if self.factor < 0 or self.factor == 1:
            raise self.refuse(f"the factor must be 2 or more, or 0 for all iterations, got {self.factor}")
        if self.factor:
            self._check_size(loop, self.factor)
            return
        extent = constant_extent(loop)
        if extent is None:
            raise self.refuse(f"the trip count of {self.loop} has no limit that is a number; give a factor")
        self._check_size(loop, extent)
        if _starts_anywhere(loop):
            start, *more = loop.lower.data.results
            if more or linear_form(start, len(loop.lower_operands)) is None:
                raise self.refuse(f"the first iteration of {self.loop} is no linear expression; give a factor")

    def _check_size(self, loop: ForOp, copies: int) -> None:
        if copies > 1 and (reason := too_much_code(loop, copies)) is not None:
            raise self.refuse(f"{reason}; split {self.loop} and unroll the inner loop, or give a factor")

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop = find(kernel, self.loop, self.name)
        if not self.factor:
            return (name_of(unroll_loop(kernel, loop)),)
        outer, inner = split_loop(kernel, loop, self.loop, self.factor)
        return name_of(outer), name_of(unroll_loop(kernel, inner))

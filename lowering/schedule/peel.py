"""Run the first or last iterations of a loop, or its partial tile, in a separate loop.

    before                                  after loop-peel{loop=io}
    loop.for seq %io = 0 to %N step 8 {     loop.for seq %io = 0 to (%N floordiv 8) * 8 step 8 {
      loop.for seq %ii                        loop.for seq %ii = 0 to 8 {
          = 0 to min(8, %N - %io) {             loop.load %x[%io + %ii]
        loop.load %x[%io + %ii]             loop.for seq %io_rest = (%N floordiv 8) * 8 to %N step 8 {
                                              loop.for seq %ii_rest = 0 to %N - %io_rest {
                                                loop.load %x[%io_rest + %ii_rest]

`count` iterations are peeled off the front, or off the end if it is negative. 0 peels the partial step at the end, as the last
tile of a split loop. Inner bounds are simplified: in full tiles the `min` is gone. Always legal, but a bound that is a maximum
or minimum of several expressions can only be cut where the new bounds are such too: a partial tile if all ends but one are the
end of a tile. Returns the main loop, which keeps its name, and the remainder loop; the main loop alone where there is never a
remainder.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr

from ...dialects.loop.loops import LARGEST_STEP, ForOp, KernelOp
from ...dialects.loop.subscripts import canonical
from ..analysis.affine import Affine
from ..analysis.bounds import constant_extent, is_multiple, set_bounds, simplify_bounds
from ..analysis.nests import find, kernel_of, name_of, walk
from .base import Primitive
from .rewriting import copied, rebased

Bounds = tuple[list[AffineExpr], list[AffineExpr]]
"""The lower and the upper expressions of a loop."""


def _divided(expr: AffineExpr, by: int, kind: AffineBinaryOpKind, n_dims: int) -> AffineExpr:
    expr = canonical(expr, n_dims)
    if isinstance(expr, AffineConstantExpr):
        return AffineExpr.binary(kind, expr, AffineConstantExpr(by))
    return AffineBinaryOpExpr(kind, expr, AffineConstantExpr(by))


def _cut(
    lowers: list[AffineExpr], uppers: list[AffineExpr], step: int, count: int, values: list[SSAValue]
) -> tuple[Bounds, Bounds] | None:
    """The bounds of the parts before and after the cut; None when one would be a min where only a max can be expressed."""
    n = len(values)
    if count > 0:
        if len(lowers) > 1:
            return None
        cut = lowers[0] + count * step
        return (lowers, [*uppers, cut]), ([cut], uppers)
    if len(lowers) > 1:
        return None
    start = lowers[0]
    if count == 0:
        odd = [upper for upper in uppers if not is_multiple(Affine.parse(upper - start, values), step)]
        if len(odd) > 1:
            return None
        cut = start + _divided(odd[0] - start, step, AffineBinaryOpKind.FloorDiv, n) * step if odd else uppers[0]
        return (lowers, [cut if upper in odd else upper for upper in uppers]), ([start, cut], uppers)
    if len(uppers) > 1:
        return None
    span = uppers[0] - start
    ends = uppers[0] + count * step
    if step > 1:
        ends = start + _divided(span, step, AffineBinaryOpKind.CeilDiv, n) * step + count * step
    return (lowers, [ends]), ([start, ends], uppers)


def _parts(loop: ForOp, count: int, step: int) -> tuple[list[SSAValue], Bounds, Bounds] | None:
    """Index values, and over them the bounds of the part before and the part after the cut."""
    values: list[SSAValue] = []
    lowers = rebased(loop.lower.data.results, loop.lower_operands, values)
    uppers = rebased(loop.upper.data.results, loop.upper_operands, values)
    parts = _cut(lowers, uppers, step, count, values)
    return None if parts is None else (values, *parts)


def can_peel(loop: ForOp, count: int = 0, size: int = 1) -> bool:
    """Whether the bounds of a loop can be cut, split into tiles of `size` iterations."""
    return _parts(loop, count, loop.step.value.data * size) is not None


def peel_loop(loop: ForOp, count: int = 0) -> tuple[ForOp, ForOp | None]:
    """The main loop, and the remainder loop if it may ever run, of a loop whose bounds can be cut."""
    parts = _parts(loop, count, loop.step.value.data)
    assert parts is not None
    values, *bounds = parts
    names = [result.name_hint for result in loop.results]
    rest = copied(loop, kernel_of(loop))
    before, after = (rest, loop) if count > 0 else (loop, rest)
    block = loop.parent
    assert block is not None
    if count > 0:
        block.insert_op_before(rest, loop)
    else:
        block.insert_op_after(rest, loop)
        for old, new in zip(loop.results, rest.results, strict=True):
            old.replace_all_uses_with(new)
    for part, (low, high) in zip((before, after), bounds, strict=True):
        set_bounds(part, (low, values), (high, values))
    n = len(after.operands) - len(after.inits)
    for k, result in enumerate(before.results):
        after.operands[n + k] = result
    left = None if constant_extent(rest) == 0 else rest
    if left is None:
        for result, init in zip(rest.results, list(rest.inits), strict=True):
            result.replace_all_uses_with(init)
        rest.detach()
        rest.erase()
        after = loop
    for result in before.results if left is not None else ():
        result.name_hint = None
    for result, name in zip(after.results, names, strict=True):
        result.name_hint = name
    for part in (loop, left):
        for op in walk(part) if part is not None else ():
            if isinstance(op, ForOp):
                simplify_bounds(op)
    return loop, left


@dataclass(frozen=True)
class Peel(Primitive):
    """Give `count` iterations at the front (at the end, if negative) or, for 0, the partial tile a separate loop."""

    name = "loop-peel"
    keeps_lines = True
    loop: str
    count: int = 0

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.name)
        if self.count == 0 and loop.step.value.data == 1:
            raise self.refuse(f"{self.loop} has step 1: all its iterations are full tiles; say how many to peel: count=<n>")
        if abs(self.count) * loop.step.value.data > LARGEST_STEP:
            raise self.refuse(f"the cut would be {abs(self.count) * loop.step.value.data} from an end, above {LARGEST_STEP}")
        if not can_peel(loop, self.count):
            raise self.refuse(f"the bounds of {self.loop} are several expressions: they cannot be cut there")

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop, rest = peel_loop(find(kernel, self.loop, self.name), self.count)
        return (name_of(loop),) if rest is None else (name_of(loop), name_of(rest))

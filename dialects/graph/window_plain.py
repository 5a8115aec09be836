"""The loop forms of convolutions and windows as they are defined: no blocks, no copies, padding by tests of bounds.

They are built where the blocked forms (`conv_loops.py`, `conv_winograd.py`, `window_loops.py`) cannot be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ..scalar import identity_value
from ..types import i64, index
from .base import GraphOp, word
from .conv import Convolution, dilated, pick, placed
from .window_loops import Axis, Index, Values, over, repeat

if TYPE_CHECKING:
    from .conv import ConvOp
    from .window import ExtremeOp, ReduceWindowOp, Slide

Tap = Sequence[Index]


def write_conv(op: ConvOp, b: Any) -> None:
    """`y[n, o, p]` is the sum of `x[n, group(o) * depth + i, p * stride + k * dilation - low] * w[o, i, k]` over i and k."""
    c, element = Convolution.of(op.properties), _element(op)
    (batch, _, *sizes), (filters, depth, *window) = pick(op.shape(0), c.x_dims), pick(op.shape(1), c.w_dims)
    points, of_group = pick(op.result_shape(), c.y_dims[2:]), filters // c.groups
    holes = map(dilated, sizes, c.base_dilation)
    axes = [Axis(*row) for row in zip(holes, window, c.stride, c.dilation, c.low, points, strict=True)]
    zero = b.scalar.const(0, element)
    with over(b, (batch, c.groups, of_group, *points)) as (n, group, o, *p):

        def product(at: Tap) -> SSAValue:
            i, *k = at
            place, filter_ = _places(axes, p, k), group * of_group + o

            def value() -> Values:
                found = [_divided(b, q, by) for q, by in zip(place, c.base_dilation, strict=True)]
                x = b.read(0, placed((n, group * depth + i, *found), c.x_dims))
                return [b.scalar.mul(x, b.read(1, placed((filter_, i, *k), c.w_dims)))]

            return b.either(_is_inside(b, axes, place, c.base_dilation), value, [zero])[0]

        b.write(_reduced(b, "add", (depth, *window), zero, product), placed((n, group * of_group + o, *p), c.y_dims))


def write_reduction(op: ReduceWindowOp, slide: Slide, b: Any) -> None:
    """`y[p]` combines `x[p * stride + k * dilation - low]` over k."""
    axes, kind, element = _axes(slide, op.shape()), word(op.kind), _element(op)
    neutral = b.scalar.const(identity_value(kind, element), element)
    with over(b, op.result_shape()) as p:

        def value(k: Tap) -> SSAValue:
            place = _places(axes, p, k)
            return b.either(_is_inside(b, axes, place), lambda: [b.read(0, place)], [neutral])[0]

        b.write(_reduced(b, kind, slide.window, neutral, value), p)


def write_pick(op: ExtremeOp, slide: Slide, b: Any) -> None:
    """`y[p]` is the element of t where x has the first extreme of window p, or 0."""
    axes = _axes(slide, op.shape())
    neutral, zero = op.neutral(b), b.scalar.const(0, _element(op))
    with over(b, op.result_shape()) as p:

        def step(so_far: Values, place: Sequence[AffineExpr]) -> Values:
            x, t = b.read(0, place), b.read(1, place)
            found = op.is_beyond(b, x, so_far[0])
            return [b.scalar.select(found, x, so_far[0]), b.scalar.select(found, t, so_far[1])]

        b.write(_folded(b, axes, p, [neutral, zero], step)[1], p)


def write_put(op: ExtremeOp, slide: Slide, b: Any) -> None:
    """Zeros; then each `t[p]`, one after the other, is added where x has the first extreme of window p."""
    axes, (y,) = _axes(slide, op.shape()), b.results
    neutral, zero, first = op.neutral(b), b.scalar.const(0, _element(op)), b.scalar.const(0, i64)
    with over(b, op.result_shape()) as at:
        b.store(zero, y, at)
    with over(b, slide.result(op.shape()), "seq") as p:

        def step(so_far: Values, place: Sequence[AffineExpr]) -> Values:
            x = b.read(0, place)
            found = op.is_beyond(b, x, so_far[0])
            here = [x, *(b.scalar.convert(b.position(q), i64) for q in place)]
            return [b.scalar.select(found, new, old) for new, old in zip(here, so_far, strict=True)]

        best, *where = _folded(b, axes, p, [neutral, *[first] * len(axes)], step)
        given = b.scalar.select(b.scalar.cmp("ne", best, neutral), b.read(1, p), zero)
        place = [b.index_of(b.scalar.convert(q, index)) for q in where]
        b.store(b.scalar.add(b.load(y, place), given), y, place)


# --------------------------------------------------------------------------------------------------------------------
# Elements of windows


def _element(op: GraphOp) -> Attribute:
    return op.results[0].type.element_type  # pyright: ignore[reportAttributeAccessIssue]


def _axes(slide: Slide, shape: Sequence[int]) -> list[Axis]:
    rows = zip(shape, slide.window, slide.stride, slide.dilation, slide.low, slide.result(shape), strict=True)
    return [Axis(*row) for row in rows]


def _places(axes: Sequence[Axis], point: Sequence[AffineExpr], tap: Tap) -> list[AffineExpr]:
    """Which element of the operand element `tap` of a window is, if it is inside."""
    return [p * axis.stride + k * axis.dilation + -axis.low for axis, p, k in zip(axes, point, tap, strict=True)]


def _is_inside(
    b: Any, axes: Sequence[Axis], place: Sequence[AffineExpr], holes: Sequence[int] | None = None
) -> SSAValue | None:
    """Whether an element of a window is one of the operand, not padding or a hole; None: it always is."""
    tests: list[SSAValue] = []
    for axis, q, by in zip(axes, place, holes or [1] * len(axes), strict=True):
        if axis.low > 0:
            tests.append(b.scalar.cmp("ge", b.position(q), b.position(0)))
        if axis.positions - axis.low > axis.size:
            tests.append(b.scalar.cmp("lt", b.position(q), b.position(axis.size)))
        if by > 1:
            tests.append(b.scalar.cmp("eq", b.scalar.binary("rem", b.position(q), b.position(by)), b.position(0)))
    found: SSAValue | None = None
    for test in tests:
        found = test if found is None else b.scalar.binary("and", found, test)
    return found


def _divided(b: Any, place: AffineExpr, by: int) -> AffineExpr:
    return place if by == 1 else b.index_of(b.scalar.div(b.position(place), b.position(by)))


# --------------------------------------------------------------------------------------------------------------------
# Loops over the elements of a window


def _reduced(b: Any, monoid: str, sizes: Sequence[int], neutral: SSAValue, value: Callable[[Tap], SSAValue]) -> SSAValue:
    """What a monoid makes of `value(tap)` for all taps: a `reduce` loop a dim."""

    def along(tap: list[Index]) -> SSAValue:
        if len(tap) == len(sizes):
            return value(tap)
        if sizes[len(tap)] == 1:
            return along([*tap, AffineConstantExpr(0)])
        with b.loop(sizes[len(tap)], "reduce", monoid=monoid, inits=[neutral]) as loop:
            loop.give(along([*tap, loop.index]))
        return loop.results[0]

    return along([])


def _folded(
    b: Any, axes: Sequence[Axis], point: Sequence[AffineExpr], start: Values, step: Callable[[Values, list[AffineExpr]], Values]
) -> Values:
    """`step(so far, place)` for the elements of a window that are elements of the operand, in order."""

    def along(values: Values, tap: list[Index]) -> Values:
        if len(tap) < len(axes):
            return repeat(b, axes[len(tap)].window, values, lambda v, k: along(v, [*tap, k]), unroll=False)
        place = _places(axes, point, tap)
        return b.either(_is_inside(b, axes, place), lambda: step(values, place), values)

    return along(start, [])

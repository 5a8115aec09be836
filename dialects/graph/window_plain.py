"""The plain loop forms of windows and convolutions: the operand with its padding, then a sum over each window.

They do not depend on the target; `lowering/strategies/depthwise_and_pooling.py` schedules them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ..scalar import identity_value
from ..types import element_of, i64, index
from .base import GraphOp, word
from .convolution import Convolution, dilated, pick, placed
from .window_loops import Axis, Index, clipped, over, within

if TYPE_CHECKING:
    from .conv import ConvolutionOp
    from .nest_writer import NestWriter
    from .window import ExtremeOp, ReduceWindowOp, Slide

Tap = Sequence[Index]
"""An element of a window: one index for each dim."""
Read = Callable[[list[AffineExpr]], SSAValue]
"""Reads an operand at a position."""
Values = Sequence[SSAValue]


def write_conv(op: ConvolutionOp, b: NestWriter) -> None:
    """`y[n, o, p]` is the sum of `x[n, group(o) * depth + i, p * stride + k * dilation - low] * w[o, i, k]` over i and k."""
    c = Convolution.of(op.properties)
    (batch, features, *sizes), (filters, depth, *window) = pick(op.shape(0), c.x_dims), pick(op.shape(1), c.w_dims)
    points, of_group = pick(op.result_shape(), c.y_dims[2:]), filters // c.groups
    holes = map(dilated, sizes, c.base_dilation)
    moving = [Axis(*row) for row in zip(holes, window, c.stride, c.dilation, c.low, points, strict=True)]
    still = [Axis(n, 1, count=n) for n in (batch, features)]
    zero, blank = (b.scalar.const(0, element_of(value)) for value in (op.y, op.x))
    read = _spread(op, b, blank) if set(c.base_dilation) != {1} else lambda at: b.read(0, at)
    x = with_padding(b, read, placed([*still, *moving], c.x_dims), blank)
    w = _filters(op, b, of_group)
    # one loop for each dim of the result, in order, but two for its features: the group, and the feature within it
    order = sorted(range(len(c.y_dims)), key=c.y_dims.__getitem__)
    loops = [n for role in order for n in ((c.groups, of_group) if role == 1 else ((batch, 0, *points)[role],))]
    with over(b, loops) as at:
        k = order.index(1)
        group, o = at[k : k + 2]
        n, _, *p = placed([*at[:k], o, *at[k + 2 :]], order)

        def product(tap: Tap) -> SSAValue:
            *k, i = tap
            value = b.load(x, placed([n, i if c.groups == 1 else group * depth + i, *_places(moving, p, k)], c.x_dims))
            return op.term(b.scalar, w(group, o, i, k), value)

        b.write(
            reduced(b, "add", (*window, depth), zero, product),
            placed([n, o if c.groups == 1 else group * of_group + o, *p], c.y_dims),
        )


def write_reduction(op: ReduceWindowOp, slide: Slide, b: NestWriter) -> None:
    """`y[p]` combines `x[p * stride + k * dilation - low]` over k."""
    axes, kind, element = slide.axes(op.shape()), word(op.kind), _element(op)
    neutral = b.scalar.const(identity_value(kind, element), element)
    x = with_padding(b, lambda at: b.read(0, at), axes, neutral)
    with over(b, op.result_shape()) as p:
        b.write(reduced(b, kind, slide.window, neutral, lambda k: b.load(x, _places(axes, p, k))), p)


def write_pick(op: ExtremeOp, slide: Slide, b: NestWriter) -> None:
    """`y[p]` is the element of t where x has the first extreme of window p, or 0."""
    axes = slide.axes(op.shape())
    neutral, zero = op.neutral(b), b.scalar.const(0, _element(op))
    x, t = with_padding(b, lambda at: b.read(0, at), axes, neutral), with_padding(b, lambda at: b.read(1, at), axes, zero)
    with over(b, op.result_shape()) as p:

        def step(so_far: Values, k: Tap) -> Values:
            place = _places(axes, p, k)
            here = [b.load(x, place), b.load(t, place)]
            found = op.is_beyond(b, here[0], so_far[0])
            return [b.scalar.select(found, new, old) for new, old in zip(here, so_far, strict=True)]

        b.write(_folded(b, slide.window, [neutral, zero], step)[1], p)


def write_put(op: ExtremeOp, slide: Slide, b: NestWriter) -> None:
    """Zeros, padded as x, to which each `t[p]` is added where x has the first extreme of window p; the padding is then cut.

    Windows overlap: along dims with several windows the loops are sequential.
    """
    shape, points = op.shape(), slide.result(op.shape())
    neutral, zero, first = op.neutral(b), b.scalar.const(0, _element(op)), b.scalar.const(0, i64)
    with over(b, shape) as at:
        b.store(zero, b.results[0], at)
    if 0 in points:
        return
    axes = slide.axes(shape)
    x = with_padding(b, lambda at: b.read(0, at), axes, neutral)
    moving = [d for d in range(len(shape)) if slide.moves(d)] or [len(shape) - 1]
    outer = [d for d in range(moving[-1]) if d not in moving]
    inner = range(moving[-1] + 1, len(shape))

    def sizes(dims: Sequence[int]) -> list[int]:
        return [shape[d] for d in dims]

    def point(*parts: Sequence[Index]) -> list[Any]:
        return placed([e for part in parts for e in part], [*outer, *moving, *inner])

    def number(at: Sequence[Index]) -> AffineExpr:
        """The row-major number of a position among the padded elements of the dims along which windows move."""
        total: AffineExpr = AffineConstantExpr(0)
        for d, q in zip(moving, at, strict=True):
            total = total * axes[d].positions + q
        return total

    with over(b, sizes(outer)) as rows:
        padded = (prod(axes[d].positions for d in moving), *sizes(inner))
        sums = b.local(padded, zero.type, "scratch", name="sums")
        with over(b, padded) as at:
            b.store(zero, sums, at)
        with over(b, [points[d] for d in moving], "seq") as window, over(b, sizes(inner)) as lanes:
            p = point(rows, window, lanes)

            def step(so_far: Values, k: Tap) -> Values:
                place = _places(axes, p, k)
                value = b.load(x, place)
                found = op.is_beyond(b, value, so_far[0])
                here = b.scalar.convert(b.position(number([place[d] for d in moving])), i64)
                return [b.scalar.select(found, new, old) for new, old in zip([value, here], so_far, strict=True)]

            best, where = _folded(b, slide.window, [neutral, first], step)
            given = b.scalar.select(b.scalar.cmp("ne", best, neutral), b.read(1, p), zero)
            place = [b.index_of(b.scalar.convert(where, index)), *lanes]
            b.store(b.scalar.add(b.load(sums, place), given), sums, place)
        bounds = [clipped((-axes[d].low, axes[d].positions - axes[d].low), shape[d]) for d in moving]
        with within(b, bounds) as at, over(b, sizes(inner)) as lanes:
            place = [q + axes[d].low for d, q in zip(moving, at, strict=True)]
            b.store(b.load(sums, [number(place), *lanes]), b.results[0], point(rows, at, lanes))


# --------------------------------------------------------------------------------------------------------------------
# Elements of windows


def _element(op: GraphOp) -> Attribute:
    return element_of(op.results[0])


def _places(axes: Sequence[Axis], point: Sequence[Index], tap: Tap) -> list[Index]:
    """Which padded element of the operand element `tap` of a window is."""
    return [p * axis.stride + k * axis.dilation for axis, p, k in zip(axes, point, tap, strict=True)]


def with_padding(b: NestWriter, read: Read, axes: Sequence[Axis], fill: SSAValue) -> SSAValue:
    """A local buffer of the positions that windows span, one axis for each dim: elements of the operand, or `fill` outside."""
    sizes = [axis.positions for axis in axes]
    buffer = b.local(sizes, fill.type, "scratch", name="padded")
    with over(b, sizes) as at:
        place = [q + -axis.low for axis, q in zip(axes, at, strict=True)]
        (value,) = b.either(_is_inside(b, axes, place), lambda: [read(place)], [fill])
        b.store(value, buffer, at)
    return buffer


def _is_inside(b: NestWriter, axes: Sequence[Axis], place: Sequence[AffineExpr]) -> SSAValue | None:
    """Whether a position lies in the operand, not in its padding; None: it always does."""
    found: SSAValue | None = None
    for axis, q in zip(axes, place, strict=True):
        tests = [("ge", 0)] if axis.low > 0 else []
        tests += [("lt", axis.size)] if axis.positions - axis.low > axis.size else []
        for predicate, end in tests:
            test = b.scalar.cmp(predicate, b.position(q), b.position(end))
            found = test if found is None else b.scalar.binary("and", found, test)
    return found


def _filters(op: ConvolutionOp, b: NestWriter, of_group: int) -> Callable[[Index, Index, Index, Tap], SSAValue]:
    """How to read the filters: group, feature of the result in it, feature, tap.

    Where features of the result are contiguous and those of the filters are not, the filters are read from such a copy.
    """
    c = Convolution.of(op.properties)
    last = len(c.w_dims) - 1
    if c.y_dims[1] != last or c.w_dims[0] == last:
        return lambda group, o, i, k: b.read(1, placed([group * of_group + o, i, *k], c.w_dims))
    _, depth, *window = pick(op.shape(1), c.w_dims)
    sizes = [*window, depth, c.groups, of_group]
    packed = b.local(sizes, element_of(op.w), "scratch", name="filters")
    with over(b, sizes) as at:
        *k, i, group, o = at
        b.store(b.read(1, placed([group * of_group + o, i, *k], c.w_dims)), packed, at)
    return lambda group, o, i, k: b.load(packed, [*k, i, group, o])


def _spread(op: ConvolutionOp, b: NestWriter, zero: SSAValue) -> Read:
    """How to read the operand with the holes that a base dilation puts between its elements: from a local buffer."""
    c, shape = Convolution.of(op.properties), op.shape(0)
    by = placed([1, 1, *c.base_dilation], c.x_dims)
    sizes = list(map(dilated, shape, by))
    spread = b.local(sizes, zero.type, "scratch", name="spread")
    with over(b, sizes) as at:
        b.store(zero, spread, at)
    with over(b, shape) as at:
        b.store(b.read(0, at), spread, [q * n for q, n in zip(at, by, strict=True)])
    return lambda at: b.load(spread, at)


# --------------------------------------------------------------------------------------------------------------------
# Loops over the elements of a window


def reduced(
    b: NestWriter,
    monoid: str,
    sizes: Sequence[Any],
    neutral: SSAValue,
    value: Callable[[Tap], SSAValue],
    start: SSAValue | None = None,
) -> SSAValue:
    """The reduction of `value(tap)` over all taps: a `reduce` loop for each dim. A sum may continue from `start`."""
    if start is not None and all(size == 1 for size in sizes):
        return b.scalar.add(start, value([AffineConstantExpr(0)] * len(sizes)))

    def along(tap: list[Index], init: SSAValue) -> SSAValue:
        if len(tap) == len(sizes):
            return value(tap)
        if sizes[len(tap)] == 1:
            return along([*tap, AffineConstantExpr(0)], init)
        with b.loop(sizes[len(tap)], "reduce", monoid=monoid, inits=[init]) as loop:
            loop.give(along([*tap, loop.index], neutral))
        return loop.results[0]

    return along([], neutral if start is None else start)


def _folded(b: NestWriter, sizes: Sequence[int], start: Values, step: Callable[[Values, Tap], Values]) -> Values:
    """`step(so far, tap)` for all taps in order: a loop for each dim that carries the values."""

    def along(values: Values, tap: list[Index]) -> Values:
        if len(tap) == len(sizes):
            return step(values, tap)
        if sizes[len(tap)] == 1:
            return along(values, [*tap, AffineConstantExpr(0)])
        with b.loop(sizes[len(tap)], "seq", inits=values) as loop:
            loop.give(*along(loop.carried, [*tap, loop.index]))
        return loop.results

    return along(start, [])

"""Reductions over sliding windows (pooling), and what their derivatives need: the element where a window has its extreme."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, StringAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr
from xdsl.irdl import operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ...errors import DifferentiationError, DTypeError, ShapeError
from ..scalar import identity_value
from ..types import DYNAMIC, compatible, index, is_bool, is_float, show_shape, tensor
from .base import Custom, GraphOp, Linear, Props, graph_op, ints, require_same_shape, word
from .conv import dilated, every_window, pad_with, windows
from .reduce import others_product
from .window_loops import Axis, Element, Index, Planes, Values, clipped, over, within

_INTS = DenseArrayBase.constr(i64)
_NUMPY = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
_LISTS = ("window", "stride", "low", "high", "dilation")


def _shape(value: SSAValue) -> tuple[int, ...]:
    return value.type.get_shape()  # pyright: ignore[reportAttributeAccessIssue]


@dataclass(frozen=True)
class Slide:
    """How windows slide, one entry a dim."""

    window: tuple[int, ...]
    stride: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    dilation: tuple[int, ...]

    @staticmethod
    def of(props: Props) -> Slide:
        return Slide(*(ints(props[name]) for name in _LISTS))

    def properties(self) -> dict[str, Any]:
        """As `GraphBuilder` takes them."""
        return {name: getattr(self, name) for name in _LISTS}

    def result(self, shape: Sequence[int]) -> tuple[int, ...]:
        """How many windows there are along each dim."""
        rows = zip(shape, self.window, self.stride, self.low, self.high, self.dilation, strict=True)
        return tuple(DYNAMIC if n == DYNAMIC else windows(n + lo + hi, k, s, d) for n, k, s, lo, hi, d in rows)

    def moves(self, dim: int) -> bool:
        """Whether windows along a dim are more than its elements one by one."""
        rest = (self.window[dim], self.stride[dim], self.low[dim], self.high[dim])
        return rest != (1, 1, 0, 0)

    def batched(self) -> Slide:
        """With a dim in front that windows do not slide along."""
        return Slide((1, *self.window), (1, *self.stride), (0, *self.low), (0, *self.high), (1, *self.dilation))

    def check(self, shape: Sequence[int]) -> None:
        """Raise ShapeError unless the windows fit the shape."""
        if not shape or any(len(getattr(self, name)) != len(shape) for name in _LISTS):  # C2
            raise ShapeError(f"window, stride, low, high and dilation need one entry a dim of {show_shape(shape)}")
        if any(n < 1 for n in (*self.window, *self.stride, *self.dilation)):  # C2
            shown = ", ".join(str(list(v)) for v in (self.window, self.stride, self.dilation))
            raise ShapeError(f"windows, strides and dilations must be at least 1, got {shown}")
        padded = [n if n == DYNAMIC else n + lo + hi for n, lo, hi in zip(shape, self.low, self.high, strict=True)]
        if any(n < 0 and n != DYNAMIC for n in padded):  # C3
            raise ShapeError(f"padded sizes must not be negative, got {padded}")

    def every(self, x: np.ndarray, fill: Any) -> np.ndarray:
        """`[..., p, k]`: element `k` of window `p`, padding filled."""
        return every_window(pad_with(x, fill, self.low, self.high), self.window, self.stride, self.dilation)


def _identity(kind: str, type: TensorType) -> float | int:
    return identity_value(kind, type.element_type)


# --------------------------------------------------------------------------------------------------------------------
# Loops


class _Windows:
    """Loops over the windows of a shape: dims that windows do not slide along are outside, or innermost as in memory."""

    def __init__(self, b: Any, slide: Slide, shape: Sequence[int]):
        self.b, self.slide, self.shape, self.points = b, slide, tuple(shape), slide.result(shape)
        self.sliding = [d for d in range(len(shape)) if slide.moves(d)] or [len(shape) - 1]
        self.outer = [d for d in range(self.sliding[-1]) if d not in self.sliding]
        self.inner = [d for d in range(self.sliding[-1] + 1, len(shape))]
        self.axes = [
            Axis(shape[d], slide.window[d], slide.stride[d], slide.dilation[d], slide.low[d], self.points[d])
            for d in self.sliding
        ]

    @property
    def counts(self) -> list[int]:
        """How many windows there are along each sliding dim."""
        return [axis.count for axis in self.axes]

    @property
    def positions(self) -> int:
        """Padded elements of the sliding dims."""
        return prod(axis.positions for axis in self.axes)

    def sizes(self, dims: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.shape[d] for d in dims)

    def planes(self, operand: int, outer: Sequence[AffineExpr], fill: SSAValue) -> Planes:
        """A padded copy of what the windows of one outer point read."""
        planes = Planes(self.b, self.axes, fill.type, fill, self.sizes(self.inner))
        planes.copy(lambda at, inner: self.b.read(operand, self.point(outer, at, inner)))
        return planes

    def point(self, outer: Sequence[Index], at: Sequence[Index], inner: Sequence[Index]) -> list[Index]:
        """A point of all dims."""
        found: list[Index] = [0] * len(self.shape)
        for d, value in zip((*self.outer, *self.sliding, *self.inner), (*outer, *at, *inner), strict=True):
            found[d] = value
        return found

    def place(self, at: Sequence[AffineExpr], tap: Sequence[Index]) -> AffineExpr:
        """Which padded element of the sliding dims, counted in order, element `tap` of a window is."""
        total: AffineExpr = AffineConstantExpr(0)
        for axis, p, k in zip(self.axes, at, tap, strict=True):
            total = total * axis.positions + p * axis.stride + k * axis.dilation
        return total


# --------------------------------------------------------------------------------------------------------------------
# reduce_window


def _jvp_window(b: Any, op: GraphOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    (dx,) = tangents
    kind, slide, x = word(op.properties["kind"]), Slide.of(op.properties), op.operands[0]
    if kind == "add":
        return [b.reduce_window(dx, kind="add", **slide.properties())]
    if kind in ("max", "min"):
        return [b.window_pick(x, dx, kind=kind, **slide.properties())]
    elements, tangents_of = _stacked(b, x, 1, slide), _stacked(b, dx, 0, slide)
    return [b.reduce(b.mul(tangents_of, others_product(b, elements, (0,))), kind="add", dims=(0,))]


def _stacked(b: Any, x: SSAValue, fill: int, slide: Slide) -> SSAValue:
    """`[k, p]`: element `k` of window `p`."""
    none = (0,) * len(slide.window)
    padded = b.pad(x, b.const(fill, x.type.element_type), low=slide.low, high=slide.high, interior=none)  # pyright: ignore
    points = slide.result(_shape(x))
    rows = []
    for tap in product(*map(range, slide.window)):
        start = [k * d for k, d in zip(tap, slide.dilation, strict=True)]
        stop = [first + (n - 1) * s + 1 if n else first for first, n, s in zip(start, points, slide.stride, strict=True)]
        row = b.slice(padded, start=start, stop=stop, step=slide.stride)
        rows.append(b.reshape(row, (1, *points)))
    return b.concat(*rows, dim=0) if len(rows) > 1 else rows[0]


def _transpose_window(b: Any, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    """Each element gets the cotangents of the windows that read it: windows again, over cotangents `stride` apart."""
    if word(op.properties["kind"]) != "add":
        raise DifferentiationError(f"'{op.name}' op of kind {word(op.properties['kind'])} is not linear")
    slide, shape = Slide.of(op.properties), op.shape()
    if 0 in _shape(ct):
        return b.zeros_like(op.operands[0])
    spans = [dilated(n, d) for n, d in zip(slide.window, slide.dilation, strict=True)]
    low = [span - 1 - lo for span, lo in zip(spans, slide.low, strict=True)]
    high = [
        n + span - 1 - dilated(m, s) - lo for n, span, m, s, lo in zip(shape, spans, _shape(ct), slide.stride, low, strict=True)
    ]
    zero = b.const(0, ct.type.element_type)  # pyright: ignore[reportAttributeAccessIssue]
    spread = b.pad(ct, zero, low=low, high=high, interior=[s - 1 for s in slide.stride])
    none, ones = (0,) * len(shape), (1,) * len(shape)
    return b.reduce_window(spread, kind="add", **Slide(slide.window, ones, none, none, slide.dilation).properties())


def _batch_window(b: Any, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    slide = Slide.of(op.properties).batched()
    return [b.reduce_window(operands[0], kind=word(op.properties["kind"]), **slide.properties())]


@graph_op
class ReduceWindowOp(GraphOp):
    """Combine the elements of every window: `add mul max min`. max and min give NaN if any is NaN.

    Window `p` holds the elements `p * stride + k * dilation - low`; outside of the operand they are the neutral element.

    ```mlir
    %y = graph.reduce_window max %x window [1, 2] stride [1, 2] low [0, 0] high [0, 0] dilation [1, 1]
      : tensor<3x8xf32> -> tensor<3x4xf32>
    ```

    (C1) The kind is one of add, mul, max, min; not of i1.
    (C2) Windows, strides, padding and dilations have one entry a dim; windows, strides and dilations are at least 1.
    (C3) No padded size is negative.
    """

    name = "graph.reduce_window"
    x = operand_def(TensorType)
    kind = prop_def(StringAttr)
    window = prop_def(_INTS)
    stride = prop_def(_INTS)
    low = prop_def(_INTS)
    high = prop_def(_INTS)
    dilation = prop_def(_INTS)
    y = result_def(TensorType)
    traits = traits_def(Pure())
    syntax = "<kind> $x window [window] stride [stride] low [low] high [high] dilation [dilation]"
    derivative = Custom(_jvp_window, transpose=_transpose_window, linear=(0,))
    writes_once = True
    batching = _batch_window

    @classmethod
    def infer_types(
        cls, operands: Sequence[TensorType], props: Props, results: Sequence[TensorType] | None = None
    ) -> tuple[TensorType, ...]:
        kind, shape, element = word(props["kind"]), operands[0].get_shape(), operands[0].element_type
        if kind not in _NUMPY:  # C1
            raise DTypeError(f"kind must be one of {', '.join(_NUMPY)}, got {kind}")
        if is_bool(element):  # C1
            raise DTypeError("operand element type must be f32, f64, i32 or i64, got i1")
        slide = Slide.of(props)
        slide.check(shape)
        return (tensor(element, slide.result(shape)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,), kind, slide = operands, word(self.kind), Slide.of(self.properties)
        points = slide.result(x.shape)
        if 0 in points:
            return (np.zeros(points, x.dtype),)
        at = slide.every(x, _identity(kind, self.operands[0].type))  # pyright: ignore[reportArgumentType]
        at = at.reshape(*points, prod(slide.window))
        with np.errstate(all="ignore"):
            return (np.asarray(_NUMPY[kind].reduce(at, axis=-1, dtype=x.dtype)),)

    def nest(self, b: Any) -> None:
        points, kind = self.result_shape(), word(self.kind)
        if 0 in points:
            return
        element = self.results[0].type.element_type  # pyright: ignore[reportAttributeAccessIssue]
        neutral = b.scalar.const(identity_value(kind, element), element)
        loops = _Windows(b, Slide.of(self.properties), self.shape())
        with over(b, loops.sizes(loops.outer)) as outer:
            planes = loops.planes(0, outer, neutral)
            with over(b, loops.counts) as at, over(b, loops.sizes(loops.inner)) as inner:
                (value,) = planes.fold([neutral], at, inner, lambda so_far, x, _: [b.scalar.combine(kind, so_far[0], x)])
                b.write(value, loops.point(outer, at, inner))

    def plain_nest(self, b: Any) -> None:
        from .window_plain import write_reduction

        write_reduction(self, Slide.of(self.properties), b)


# --------------------------------------------------------------------------------------------------------------------
# window_pick, window_put


class ExtremeOp(GraphOp, ABC):
    """What `window_pick` and `window_put` share: windows of `x`, and where each has its extreme."""

    x = operand_def(TensorType)
    t = operand_def(TensorType)
    kind = prop_def(StringAttr)
    window = prop_def(_INTS)
    stride = prop_def(_INTS)
    low = prop_def(_INTS)
    high = prop_def(_INTS)
    dilation = prop_def(_INTS)
    y = result_def(TensorType)
    traits = traits_def(Pure())
    syntax = "<kind> $x, $t window [window] stride [stride] low [low] high [high] dilation [dilation]"

    @classmethod
    def _slide(cls, operands: Sequence[TensorType], props: Props) -> Slide:
        kind, slide = word(props["kind"]), Slide.of(props)
        if kind not in ("max", "min"):  # C1
            raise DTypeError(f"kind must be one of max, min, got {kind}")
        if not all(is_float(operand.element_type) for operand in operands):  # C1
            raise DTypeError(
                f"operand element types must be f32 or f64, got {', '.join(str(o.element_type) for o in operands)}"
            )
        slide.check(operands[0].get_shape())
        return slide

    def _first(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of each window the place of its extreme among the window's elements, and whether it has one."""
        slide, kind = Slide.of(self.properties), word(self.kind)
        fill = _identity(kind, self.operands[0].type)  # pyright: ignore[reportArgumentType]
        at = slide.every(x, fill).reshape(*slide.result(x.shape), prod(slide.window))
        best = _NUMPY[kind].reduce(at, axis=-1, keepdims=True)
        hit = (at == best) | (np.isnan(at) & np.isnan(best))
        return hit.argmax(-1), best[..., 0] != fill

    def neutral(self, b: Any) -> SSAValue:
        """What no element is beyond."""
        element = self.operands[0].type.element_type  # pyright: ignore[reportAttributeAccessIssue]
        return b.scalar.const(identity_value(word(self.kind), element), element)

    def is_beyond(self, b: Any, x: SSAValue, best: SSAValue) -> SSAValue:
        """Whether an element is the extreme so far: what comes first stays, a NaN is beyond all."""
        s = b.scalar
        missing = s.binary("and", s.cmp("ne", x, x), s.cmp("eq", best, best))
        return s.binary("or", s.cmp("gt" if word(self.kind) == "max" else "lt", x, best), missing)


def _transpose_pick(b: Any, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    return b.window_put(op.operands[0], ct, kind=word(op.properties["kind"]), **Slide.of(op.properties).properties())


def _transpose_put(b: Any, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    return b.window_pick(op.operands[0], ct, kind=word(op.properties["kind"]), **Slide.of(op.properties).properties())


def _batch_extreme(b: Any, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    size = next(_shape(o)[0] for o, flag in zip(operands, batched, strict=True) if flag)
    full = [
        o if flag else b.broadcast(o, tuple(range(1, len(_shape(o)) + 1)), (size, *_shape(o)))
        for o, flag in zip(operands, batched, strict=True)
    ]
    props = {"kind": word(op.properties["kind"]), **Slide.of(op.properties).batched().properties()}
    return [getattr(b, op.name.removeprefix("graph."))(*full, **props)]


@graph_op
class WindowPickOp(ExtremeOp):
    """Of every window of `x` the element of `t` at the place where `x` has its first maximum (or minimum).

    A NaN is beyond all numbers. Where a window holds nothing beyond infinity the result is 0. This is the derivative of
    `graph.reduce_window max`, in direction `t`.

    ```mlir
    %y = graph.window_pick max %x, %t window [2] stride [2] low [0] high [0] dilation [1]
      : (tensor<8xf32>, tensor<8xf32>) -> tensor<4xf32>
    ```

    (C1) The kind is max or min, element types are floats.
    (C2) Operands have one shape; windows as in `graph.reduce_window`.
    """

    name = "graph.window_pick"
    derivative = Linear(_transpose_pick, operands=(1,))
    batching = _batch_extreme

    @classmethod
    def infer_types(
        cls, operands: Sequence[TensorType], props: Props, results: Sequence[TensorType] | None = None
    ) -> tuple[TensorType, ...]:
        require_same_shape(operands, ("x", "t"))  # C2
        slide = cls._slide(operands, props)
        return (tensor(operands[1].element_type, slide.result(operands[0].get_shape())),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x, t), slide = operands, Slide.of(self.properties)
        points = slide.result(x.shape)
        if 0 in points:
            return (np.zeros(points, t.dtype),)
        place, has = self._first(x)
        elements = slide.every(t, 0).reshape(*points, prod(slide.window))
        picked = np.take_along_axis(elements, place[..., None], -1)[..., 0]
        return (np.asarray(np.where(has, picked, 0), t.dtype),)

    def nest(self, b: Any) -> None:
        points = self.result_shape()
        if 0 in points:
            return
        loops = _Windows(b, Slide.of(self.properties), self.shape())
        neutral = self.neutral(b)
        zero = b.scalar.const(0, self.results[0].type.element_type)  # pyright: ignore[reportAttributeAccessIssue]
        with over(b, loops.sizes(loops.outer)) as outer:
            planes, tangents = loops.planes(0, outer, neutral), loops.planes(1, outer, zero)

            def pick(so_far: Values, x: SSAValue, element: Element) -> Values:
                found, tangent = self.is_beyond(b, x, so_far[0]), b.load(tangents.buffer, element.at)
                return [b.scalar.select(found, x, so_far[0]), b.scalar.select(found, tangent, so_far[1])]

            with over(b, loops.counts) as at, over(b, loops.sizes(loops.inner)) as inner:
                _, value = planes.fold([neutral, zero], at, inner, pick)
                b.write(value, loops.point(outer, at, inner))

    def plain_nest(self, b: Any) -> None:
        from .window_plain import write_pick

        write_pick(self, Slide.of(self.properties), b)


@graph_op
class WindowPutOp(ExtremeOp):
    """Add every element of `t` to a zero of the shape of `x`, at the place where its window of `x` has its first extreme.

    A NaN is beyond all numbers. What belongs to windows that hold nothing beyond infinity is left out. This is the transpose of
    `graph.window_pick`, the gradient of `graph.reduce_window max`.

    ```mlir
    %y = graph.window_put max %x, %t window [2] stride [2] low [0] high [0] dilation [1]
      : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
    ```

    (C1) The kind is max or min, element types are floats.
    (C2) Windows are as in `graph.reduce_window`, `t` has an element for each.
    """

    name = "graph.window_put"
    derivative = Linear(_transpose_put, operands=(1,))
    batching = _batch_extreme

    @classmethod
    def infer_types(
        cls, operands: Sequence[TensorType], props: Props, results: Sequence[TensorType] | None = None
    ) -> tuple[TensorType, ...]:
        slide = cls._slide(operands, props)
        points = slide.result(operands[0].get_shape())
        if not all(compatible(n, m) for n, m in zip(points, operands[1].get_shape(), strict=False)) or len(points) != len(
            operands[1].get_shape()
        ):  # C2
            raise ShapeError(f"t needs an element a window, {show_shape(points)}, got {show_shape(operands[1].get_shape())}")
        return (tensor(operands[1].element_type, operands[0].get_shape()),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x, t), slide = operands, Slide.of(self.properties)
        y = np.zeros(x.shape, t.dtype)
        if 0 in t.shape:
            return (y,)
        place, has = self._first(x)
        padded = np.arange(x.size).reshape(x.shape)
        sources = slide.every(padded, -1).reshape(*t.shape, prod(slide.window))
        source = np.take_along_axis(sources, place[..., None], -1)[..., 0]
        with np.errstate(all="ignore"):
            np.add.at(y.reshape(-1), source[has], t[has])
        return (y,)

    def nest(self, b: Any) -> None:
        loops = _Windows(b, Slide.of(self.properties), self.shape())
        zero = b.scalar.const(0, self.results[0].type.element_type)  # pyright: ignore[reportAttributeAccessIssue]
        if 0 in self.result_shape():
            return
        with over(b, self.result_shape()) as at:
            b.store(zero, b.results[0], at)
        if 0 in loops.points:
            return
        neutral, first = self.neutral(b), b.scalar.const(0, i64)
        with over(b, loops.sizes(loops.outer)) as outer:
            planes = loops.planes(0, outer, neutral)
            sums = b.local((loops.positions, *loops.sizes(loops.inner)), zero.type, "scratch", name="sums")
            with over(b, (loops.positions, *loops.sizes(loops.inner))) as at:
                b.store(zero, sums, at)
            # windows overlap: one after the other
            with over(b, loops.counts, "seq") as at, over(b, loops.sizes(loops.inner)) as inner:

                def find(so_far: Values, x: SSAValue, place: Element, at: Any = at) -> Values:
                    found = self.is_beyond(b, x, so_far[0])
                    here = b.scalar.convert(b.position(loops.place(at, place.tap)), i64)
                    return [b.scalar.select(found, x, so_far[0]), b.scalar.select(found, here, so_far[1])]

                best, where = planes.fold([neutral, first], at, inner, find)
                given = b.read(1, loops.point(outer, at, inner))
                given = b.scalar.select(b.scalar.cmp("ne", best, neutral), given, zero)
                place = [b.index_of(b.scalar.convert(where, index)), *inner]
                b.store(b.scalar.add(b.load(sums, place), given), sums, place)
            self._copy_back(b, loops, sums, outer)

    def plain_nest(self, b: Any) -> None:
        from .window_plain import write_put

        write_put(self, Slide.of(self.properties), b)

    def _copy_back(self, b: Any, loops: _Windows, sums: SSAValue, outer: Sequence[AffineExpr]) -> None:
        """What windows have given to the elements of the operand; padding goes."""
        bounds = [clipped((-axis.low, axis.positions - axis.low), axis.size) for axis in loops.axes]
        with within(b, bounds) as at, over(b, loops.sizes(loops.inner)) as inner:
            place: AffineExpr = AffineConstantExpr(0)
            for axis, q in zip(loops.axes, at, strict=True):
                place = place * axis.positions + q + axis.low
            b.write(b.load(sums, [place, *inner]), loops.point(outer, at, inner))

"""Reductions over sliding windows (pooling), and what their derivatives need: the element where a window has its extreme."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, StringAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def

from ...errors import DifferentiationError, DTypeError, ShapeError
from ..facts import OpFacts, Rounding, rounding_by
from ..scalar import identity_value
from ..text_defaults import each_dim
from ..types import DYNAMIC, compatible, element_of, is_bool, is_float, shape_of, show_shape, tensor
from .base import Custom, GraphOp, Linear, Props, Types, graph_op, ints, one_of, require_same_shape, word
from .batching import all_batched
from .conv import every_window, pad_with
from .convolution import dilated, windows
from .reduce import others_product
from .window_loops import Axis

if TYPE_CHECKING:
    from .builder import GraphBuilder
    from .nest_writer import NestWriter

_INTS = DenseArrayBase.constr(i64)
_NUMPY = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
_LISTS = ("window", "stride", "low", "high", "dilation")


@dataclass(frozen=True)
class Slide:
    """How windows slide, one entry for each dim."""

    window: tuple[int, ...]
    stride: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    dilation: tuple[int, ...]

    @staticmethod
    def of(props: Props) -> Slide:
        return Slide(*(ints(props[name]) for name in _LISTS))

    def properties(self) -> dict[str, Any]:
        """The properties as `GraphBuilder` takes them."""
        return {name: getattr(self, name) for name in _LISTS}

    def result(self, shape: Sequence[int]) -> tuple[int, ...]:
        """How many windows there are along each dim."""
        rows = zip(shape, self.window, self.stride, self.low, self.high, self.dilation, strict=True)
        return tuple(DYNAMIC if n == DYNAMIC else windows(n + lo + hi, k, s, d) for n, k, s, lo, hi, d in rows)

    def moves(self, dim: int) -> bool:
        """Whether windows along a dim are other than its single elements."""
        rest = (self.window[dim], self.stride[dim], self.low[dim], self.high[dim])
        return rest != (1, 1, 0, 0)

    def axes(self, shape: Sequence[int]) -> list[Axis]:
        """The dims of a shape with the windows that move along them."""
        rows = zip(shape, self.window, self.stride, self.dilation, self.low, self.result(shape), strict=True)
        return [Axis(*row) for row in rows]

    def batched(self) -> Slide:
        """The windows with a leading dim, along which they do not slide."""
        return Slide((1, *self.window), (1, *self.stride), (0, *self.low), (0, *self.high), (1, *self.dilation))

    def check(self, shape: Sequence[int]) -> None:
        """Raise ShapeError unless the windows fit the shape."""
        if not shape or any(len(getattr(self, name)) != len(shape) for name in _LISTS):  # C2
            raise ShapeError(f"window, stride, low, high and dilation need one entry for each dim of {show_shape(shape)}")
        if any(n < 1 for n in (*self.window, *self.stride, *self.dilation)):  # C2
            shown = ", ".join(str(list(v)) for v in (self.window, self.stride, self.dilation))
            raise ShapeError(f"windows, strides and dilations must be at least 1, got {shown}")
        padded = [n if n == DYNAMIC else n + lo + hi for n, lo, hi in zip(shape, self.low, self.high, strict=True)]
        if any(n < 0 and n != DYNAMIC for n in padded):  # C3
            raise ShapeError(f"padded sizes must not be negative, got {padded}")

    def every(self, x: np.ndarray, fill: Any) -> np.ndarray:
        """`[..., p, k]`: element `k` of window `p`, padding filled."""
        return every_window(pad_with(x, fill, self.low, self.high), self.window, self.stride, self.dilation)


def _identity(kind: str, of: SSAValue) -> float | int:
    return identity_value(kind, element_of(of))


_SLIDE_DEFAULTS = {"stride": each_dim(1), "low": each_dim(0), "high": each_dim(0), "dilation": each_dim(1)}


class WindowOp(GraphOp, ABC):
    """Base of ops over windows."""

    kind = prop_def(StringAttr)
    window = prop_def(_INTS)
    stride = prop_def(_INTS)
    low = prop_def(_INTS)
    high = prop_def(_INTS)
    dilation = prop_def(_INTS)
    y = result_def(TensorType)


# --------------------------------------------------------------------------------------------------------------------
# reduce_window


def _jvp_window(b: GraphBuilder, op: GraphOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    (dx,) = tangents
    kind, slide, x = word(op.properties["kind"]), Slide.of(op.properties), op.operands[0]
    if kind == "add":
        return [b.reduce_window(dx, kind="add", **slide.properties())]
    if kind in ("max", "min"):
        return [b.window_pick(x, dx, kind=kind, **slide.properties())]
    elements, tangents_of = _stacked(b, x, 1, slide), _stacked(b, dx, 0, slide)
    return [b.reduce(b.mul(tangents_of, others_product(b, elements, (0,))), kind="add", dims=(0,))]


def _stacked(b: GraphBuilder, x: SSAValue, fill: int, slide: Slide) -> SSAValue:
    """`[k, p]`: element `k` of window `p`."""
    none = (0,) * len(slide.window)
    padded = b.pad(x, b.const(fill, element_of(x)), low=slide.low, high=slide.high, interior=none)
    points = slide.result(shape_of(x))
    rows = []
    for tap in product(*map(range, slide.window)):
        # without windows, the padded operand may be smaller than a window
        start = [k * d if n else 0 for k, d, n in zip(tap, slide.dilation, points, strict=True)]
        stop = [first + (n - 1) * s + 1 if n else 0 for first, n, s in zip(start, points, slide.stride, strict=True)]
        row = b.slice(padded, start=start, stop=stop, step=slide.stride)
        rows.append(b.reshape(row, (1, *points)))
    return b.concat(*rows, dim=0) if len(rows) > 1 else rows[0]


def _transpose_window(b: GraphBuilder, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    """Each element gets the cotangents of the windows that read it: windows again, over cotangents `stride` apart."""
    if word(op.properties["kind"]) != "add":
        raise DifferentiationError(f"'{op.name}' op of kind {word(op.properties['kind'])} is not linear")
    slide, shape = Slide.of(op.properties), op.shape()
    spans = [dilated(n, d) for n, d in zip(slide.window, slide.dilation, strict=True)]
    low = [span - 1 - lo for span, lo in zip(spans, slide.low, strict=True)]
    high = [
        n + span - 1 - dilated(m, s) - lo
        for n, span, m, s, lo in zip(shape, spans, shape_of(ct), slide.stride, low, strict=True)
    ]
    zero = b.const(0, element_of(ct))
    spread = b.pad(ct, zero, low=low, high=high, interior=[s - 1 for s in slide.stride])
    none, ones = (0,) * len(shape), (1,) * len(shape)
    return b.reduce_window(spread, kind="add", **Slide(slide.window, ones, none, none, slide.dilation).properties())


def _batch_window(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    slide = Slide.of(op.properties).batched()
    return [b.reduce_window(operands[0], kind=word(op.properties["kind"]), **slide.properties())]


@graph_op
class ReduceWindowOp(WindowOp):
    """Combine the elements of every window: `add mul max min`. max and min give NaN if any is NaN.

    Window `p` holds the elements `p * stride + k * dilation - low`; outside of the operand they are the neutral element.

    ```mlir
    %y = graph.reduce_window max %x window [1, 2] stride [1, 2] low [0, 0] high [0, 0] dilation [1, 1]
      : tensor<3x8xf32> -> tensor<3x4xf32>
    ```

    (C1) The kind is one of add, mul, max, min; not of i1.
    (C2) Windows, strides, padding and dilations have one entry for each dim; windows, strides and dilations are at least 1.
    (C3) No padded size is negative.
    """

    name = "graph.reduce_window"
    facts = OpFacts(writes_once=True)
    x = operand_def(TensorType)
    syntax = "<kind> $x window [window] (stride [stride])? (low [low])? (high [high])? (dilation [dilation])?"
    text_defaults = _SLIDE_DEFAULTS
    derivative = Custom(_jvp_window, transpose=_transpose_window, linear=(0,))
    batching = _batch_window

    @property
    def rounding(self) -> Rounding:
        return rounding_by(self.kind.data)

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        one_of(props, "kind", _NUMPY)  # C1
        shape, element = operands[0].get_shape(), operands[0].element_type
        if is_bool(element):  # C1
            raise DTypeError("operand element type must be an integer or a float, got i1")
        slide = Slide.of(props)
        slide.check(shape)
        return (tensor(element, slide.result(shape)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,), kind, slide = operands, word(self.kind), Slide.of(self.properties)
        points = slide.result(x.shape)
        if 0 in points:
            return (np.zeros(points, x.dtype),)
        at = slide.every(x, _identity(kind, self.operands[0]))
        at = at.reshape(*points, prod(slide.window))
        with np.errstate(all="ignore"):
            return (np.asarray(_NUMPY[kind].reduce(at, axis=-1, dtype=x.dtype)),)

    def nest(self, b: NestWriter) -> None:
        from .window_plain import write_reduction

        if 0 not in self.result_shape():
            write_reduction(self, Slide.of(self.properties), b)


# --------------------------------------------------------------------------------------------------------------------
# window_pick, window_put


class ExtremeOp(WindowOp, ABC):
    """Base of `window_pick` and `window_put`: windows of `x`, and where each has its extreme."""

    x = operand_def(TensorType)
    t = operand_def(TensorType)
    syntax = "<kind> $x, $t window [window] (stride [stride])? (low [low])? (high [high])? (dilation [dilation])?"
    text_defaults = _SLIDE_DEFAULTS

    @classmethod
    def _slide(cls, operands: Sequence[TensorType], props: Props) -> Slide:
        slide = Slide.of(props)
        one_of(props, "kind", ("max", "min"))  # C1
        if not all(is_float(operand.element_type) for operand in operands):  # C1
            raise DTypeError(
                f"operand element types must be f32 or f64, got {', '.join(str(o.element_type) for o in operands)}"
            )
        slide.check(operands[0].get_shape())
        return slide

    def _first(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each window the index of its extreme among the window's elements, and whether it has one."""
        slide, kind = Slide.of(self.properties), word(self.kind)
        fill = _identity(kind, self.operands[0])
        at = slide.every(x, fill).reshape(*slide.result(x.shape), prod(slide.window))
        best = _NUMPY[kind].reduce(at, axis=-1, keepdims=True)
        hit = (at == best) | (np.isnan(at) & np.isnan(best))
        return hit.argmax(-1), best[..., 0] != fill

    def neutral(self, b: NestWriter) -> SSAValue:
        """The initial extreme, which no element exceeds."""
        element = element_of(self.operands[0])
        return b.scalar.const(identity_value(word(self.kind), element), element)

    def is_beyond(self, b: NestWriter, x: SSAValue, best: SSAValue) -> SSAValue:
        """Whether an element replaces the extreme so far: the first of equal ones stays, and NaN exceeds all."""
        s = b.scalar
        missing = s.binary("and", s.cmp("ne", x, x), s.cmp("eq", best, best))
        return s.binary("or", s.cmp("gt" if word(self.kind) == "max" else "lt", x, best), missing)


def _transpose_to(other: str) -> Linear:
    """Both are linear in the second operand, each the transpose of the other one."""

    def transpose(b: GraphBuilder, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
        return getattr(b, other)(op.operands[0], ct, kind=op.properties["kind"], **Slide.of(op.properties).properties())

    return Linear(transpose, operands=(1,))


def _batch_extreme(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    props = {"kind": word(op.properties["kind"]), **Slide.of(op.properties).batched().properties()}
    return [getattr(b, op.name.removeprefix("graph."))(*all_batched(b, operands, batched), **props)]


@graph_op
class WindowPickOp(ExtremeOp):
    """For every window of `x` the element of `t` where `x` has its first maximum (or minimum).

    NaN exceeds all numbers. Where a window holds nothing but the initial infinity the result is 0. This is the derivative of
    `graph.reduce_window max`, in direction `t`.

    ```mlir
    %y = graph.window_pick max %x, %t window [2] stride [2] low [0] high [0] dilation [1]
      : (tensor<8xf32>, tensor<8xf32>) -> tensor<4xf32>
    ```

    (C1) The kind is max or min, element types are floats.
    (C2) Operands have one shape; windows as in `graph.reduce_window`.
    """

    name = "graph.window_pick"
    facts = OpFacts(rounding=Rounding.NONE)
    derivative = _transpose_to("window_put")
    batching = _batch_extreme

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
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

    def nest(self, b: NestWriter) -> None:
        from .window_plain import write_pick

        if 0 not in self.result_shape():
            write_pick(self, Slide.of(self.properties), b)


@graph_op
class WindowPutOp(ExtremeOp):
    """Add every element of `t` to a zero of the shape of `x`, where its window of `x` has its first extreme.

    NaN exceeds all numbers. Elements of windows that hold nothing but the initial infinity are left out. This is the transpose
    of `graph.window_pick`, the gradient of `graph.reduce_window max`.

    ```mlir
    %y = graph.window_put max %x, %t window [2] stride [2] low [0] high [0] dilation [1]
      : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
    ```

    (C1) The kind is max or min, element types are floats.
    (C2) Windows are as in `graph.reduce_window`, `t` has an element for each.
    """

    name = "graph.window_put"
    derivative = _transpose_to("window_pick")
    batching = _batch_extreme

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        slide = cls._slide(operands, props)
        points = slide.result(operands[0].get_shape())
        if not all(compatible(n, m) for n, m in zip(points, operands[1].get_shape(), strict=False)) or len(points) != len(
            operands[1].get_shape()
        ):  # C2
            raise ShapeError(
                f"t needs an element for each window, {show_shape(points)}, got {show_shape(operands[1].get_shape())}"
            )
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

    def nest(self, b: NestWriter) -> None:
        from .window_plain import write_put

        if 0 not in self.result_shape():
            write_put(self, Slide.of(self.properties), b)

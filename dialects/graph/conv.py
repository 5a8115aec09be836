"""Convolutions: sums of products over sliding windows."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def

from ...errors import DTypeError, ShapeError
from ..facts import OpFacts, Rounding
from ..text_defaults import constant, each_dim
from ..types import DYNAMIC, compatible, is_bool, shape_of, show_shape, tensor
from .base import Bilinear, GraphOp, Props, Types, graph_op, require_same_element
from .convolution import NONE, Convolution, dilated, pick, placed

if TYPE_CHECKING:
    from ..scalar import ScalarBuilder
    from .builder import GraphBuilder
    from .nest_writer import NestWriter

_INTS = DenseArrayBase.constr(i64)
TILES = ((2, 2), (4, 4))
"""Tiles of results that Winograd's algorithm computes at once."""


# --------------------------------------------------------------------------------------------------------------------
# Derivative: a convolution again, for each operand


def transposed(b: GraphBuilder, x: SSAValue, perm: Sequence[int]) -> SSAValue:
    """A transpose, where it changes the order."""
    return x if tuple(perm) == tuple(range(len(perm))) else b.transpose(x, perm=tuple(perm))


def _transpose_conv(b: GraphBuilder, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    if 0 in op.result_shape():  # the sizes of the convolutions below may be negative
        return b.zeros_like(op.operands[k])
    conv = Convolution.of(op.properties)
    return _cotangent_of_x(b, op, conv, ct) if k == 0 else _cotangent_of_w(b, op, conv, ct)


def _cotangent_of_x(b: GraphBuilder, op: GraphOp, c: Convolution, ct: SSAValue) -> SSAValue:
    """Windows of the cotangent, `stride - 1` holes between its elements, with the mirrored filters."""
    w = b.reverse(op.operands[1], dims=tuple(sorted(c.w_dims[2:])))
    sizes, window = pick(op.shape(0), c.x_dims[2:]), pick(op.shape(1), c.w_dims[2:])
    spans = [dilated(n, by) for n, by in zip(window, c.dilation, strict=True)]
    low = [span - 1 - lo for span, lo in zip(spans, c.low, strict=True)]
    out = pick(op.result_shape(), c.y_dims[2:])
    high = [
        dilated(n, by) + span - 1 - dilated(m, stride) - lo
        for n, by, span, m, stride, lo in zip(sizes, c.base_dilation, spans, out, c.stride, low, strict=True)
    ]
    w_dims = (c.w_dims[1], c.w_dims[0], *c.w_dims[2:])
    if c.groups > 1:  # [groups * out, in, ...] -> [groups * in, out, ...]
        w = transposed(b, w, c.w_dims)
        features, depth, *rest = shape_of(w)
        w = b.reshape(w, (c.groups, features // c.groups, depth, *rest))
        w = transposed(b, w, (0, 2, 1, *range(3, 3 + len(rest))))
        w = b.reshape(w, (c.groups * depth, features // c.groups, *rest))
        w_dims = tuple(range(len(c.w_dims)))
    mirrored = Convolution(
        c.base_dilation, tuple(low), tuple(high), c.stride, c.dilation, c.y_dims, w_dims, c.x_dims, c.groups, c.direct
    )
    return b.conv(ct, w, **mirrored.properties())


def _cotangent_of_w(b: GraphBuilder, op: GraphOp, c: Convolution, ct: SSAValue) -> SSAValue:
    """`x` convolved with the cotangent as the filter, batch and features exchanged: the sum is over the batch."""
    x, x_dims = op.operands[0], (c.x_dims[1], c.x_dims[0], *c.x_dims[2:])
    sizes, window = pick(op.shape(0), c.x_dims[2:]), pick(op.shape(1), c.w_dims[2:])
    out = pick(op.result_shape(), c.y_dims[2:])
    high = [
        (n - 1) * by + dilated(m, stride) - dilated(size, base) - lo
        for n, by, m, stride, size, base, lo in zip(
            window, c.dilation, out, c.stride, sizes, c.base_dilation, c.low, strict=True
        )
    ]
    if c.groups > 1:  # [batch, groups * in, ...] -> [in, groups * batch, ...]
        x = transposed(b, x, c.x_dims)
        batch, features, *rest = shape_of(x)
        x = b.reshape(x, (batch, c.groups, features // c.groups, *rest))
        x = transposed(b, x, (2, 1, 0, *range(3, 3 + len(rest))))
        x = b.reshape(x, (features // c.groups, c.groups * batch, *rest))
        x_dims = tuple(range(len(x_dims)))
    ct_dims = (c.y_dims[1], c.y_dims[0], *c.y_dims[2:])
    y_dims = (c.w_dims[1], c.w_dims[0], *c.w_dims[2:])
    swapped = Convolution(
        c.dilation, c.low, tuple(high), c.base_dilation, c.stride, x_dims, ct_dims, y_dims, c.groups, c.direct
    )
    return b.conv(x, ct, **swapped.properties())


# --------------------------------------------------------------------------------------------------------------------
# Batching: more images, more filters, or more groups


def _merge(b: GraphBuilder, x: SSAValue, dim: int) -> SSAValue:
    """Dim 0 moved in front of dim `dim` of the others, and both merged."""
    rank = len(shape_of(x))
    x = transposed(b, x, (*range(1, dim + 1), 0, *range(dim + 1, rank)))
    shape = shape_of(x)
    return b.reshape(x, (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]))


def _split(b: GraphBuilder, y: SSAValue, dim: int, sizes: Sequence[int]) -> SSAValue:
    shape = shape_of(y)
    return b.reshape(y, (*shape[:dim], *sizes, *shape[dim + 1 :]))


def _to_front(b: GraphBuilder, y: SSAValue, dim: int) -> SSAValue:
    return transposed(b, y, (dim, *(d for d in range(len(shape_of(y))) if d != dim)))


def _batch_conv(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    x, w = operands
    c = Convolution.of(op.properties)
    size = shape_of(x)[0] if batched[0] else shape_of(w)[0]
    groups, dim = c.groups, c.y_dims[1]
    features = op.shape(1)[c.w_dims[0]]

    def made(x: SSAValue, w: SSAValue, c: Convolution) -> SSAValue:
        return b.build(op.name.removeprefix("graph."), (x, w), {**op.properties, **c.properties()})

    if not batched[1]:
        dim = c.y_dims[0]
        y = made(_merge(b, x, c.x_dims[0]), w, c)
        return [_to_front(b, _split(b, y, dim, (size, op.shape(0)[c.x_dims[0]])), dim)]
    if batched[0]:
        c = replace(c, groups=size * groups, tile=c.direct)
        y = made(_merge(b, x, c.x_dims[1]), _merge(b, w, c.w_dims[0]), c)
        return [_to_front(b, _split(b, y, dim, (size, features)), dim)]
    # the features of a result: of each group those of all filters of the batch
    at = c.w_dims[0]
    each = features // groups
    w = _split(b, w, at + 1, (groups, each))
    rank = len(shape_of(w))
    w = transposed(b, w, (*range(1, at + 2), 0, *range(at + 2, rank)))
    shape = shape_of(w)
    y = made(x, b.reshape(w, (*shape[:at], features * size, *shape[at + 3 :])), c)
    y = _to_front(b, _split(b, y, dim, (groups, size, each)), dim + 1)
    shape = shape_of(y)
    return [b.reshape(y, (*shape[: dim + 1], features, *shape[dim + 3 :]))]


# --------------------------------------------------------------------------------------------------------------------
# The op


class ConvolutionOp(GraphOp, ABC):
    """Base of sums of products over windows (`graph.conv`)."""

    facts = OpFacts(rounding=Rounding.NORM, writes_once=True)
    x = operand_def(TensorType)
    w = operand_def(TensorType)
    stride = prop_def(_INTS)
    low = prop_def(_INTS)
    high = prop_def(_INTS)
    base_dilation = prop_def(_INTS, default_value=NONE)
    dilation = prop_def(_INTS, default_value=NONE)
    x_dims = prop_def(_INTS, default_value=NONE)
    w_dims = prop_def(_INTS, default_value=NONE)
    y_dims = prop_def(_INTS, default_value=NONE)
    groups = prop_def(IntegerAttr)
    tile = prop_def(_INTS, default_value=NONE)
    y = result_def(TensorType)
    syntax = (
        "$x, $w (stride [stride])? (low [low])? (high [high])? (base_dilation [base_dilation])? (dilation [dilation])? "
        "(x_dims [x_dims])? (w_dims [w_dims])? (y_dims [y_dims])? (groups #groups)? (tile [tile])?"
    )
    text_defaults = {"stride": each_dim(1, 2), "low": each_dim(0, 2), "high": each_dim(0, 2), "groups": constant(1)}
    batching = _batch_conv

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        require_same_element(operands, ("x", "w"))  # C1
        if is_bool(operands[0].element_type):  # C1
            raise DTypeError("operand element type must be an integer or a float, got i1")
        x, w = operands[0].get_shape(), operands[1].get_shape()
        c = Convolution.of(props)
        n = len(c.stride)
        if not len(x) == len(w) == n + 2 or n < 1:  # C2
            raise ShapeError(f"needs operands of rank {max(1, n) + 2} for {n} strides, got {show_shape(x)} and {show_shape(w)}")
        if not n == len(c.low) == len(c.high) == len(c.dilation) == len(c.base_dilation):  # C3
            raise ShapeError(f"low, high and dilations need one entry for each of {n} spatial dims")
        if min(*c.stride, *c.dilation, *c.base_dilation) < 1:  # C3
            shown = ", ".join(str(list(v)) for v in (c.stride, c.dilation, c.base_dilation))
            raise ShapeError(f"strides and dilations must be at least 1, got {shown}")
        for name, dims in (("x_dims", c.x_dims), ("w_dims", c.w_dims), ("y_dims", c.y_dims)):
            if sorted(dims) != list(range(n + 2)):  # C4
                raise ShapeError(f"{name} must be a permutation of {list(range(n + 2))}, got {list(dims)}")
        batch, features, *sizes = pick(x, c.x_dims)
        filters, depth, *window = pick(w, c.w_dims)
        if c.groups < 1 or any(m != DYNAMIC and m % c.groups for m in (features, filters)):  # C5
            raise ShapeError(f"groups must divide the features of x and the result, got {c.groups}, {features} and {filters}")
        if DYNAMIC not in (features, depth) and not compatible(features, c.groups * depth):  # C5
            raise ShapeError(f"a filter must have the features of one group, x has {features} in {c.groups}, a filter {depth}")
        if c.tile and c.tile != (1,) * n and not (c.tile in TILES and c.has_tiles(operands[0].element_type, window)):  # C7
            rule = "tile must be of ones, or [2, 2] or [4, 4] for 3x3 filters of f32 in one group, strides and dilations 1"
            raise ShapeError(f"{rule}, got {list(c.tile)} for stride {list(c.stride)} and filters of {show_shape(window)}")
        spatial = [DYNAMIC] * n
        if DYNAMIC not in (*sizes, *window):
            if any(size < 0 for size in c.padded(sizes)):  # C6
                raise ShapeError(f"padded sizes must not be negative, got {list(c.padded(sizes))}")
            spatial = c.result(sizes, window)
        return (tensor(operands[0].element_type, placed((batch, filters, *spatial), c.y_dims)),)

    def term(self, b: ScalarBuilder, w: SSAValue, x: SSAValue) -> SSAValue:
        """The term of the sum, from an element of a filter and one of the image."""
        return b.mul(w, x)

    def copied(self) -> tuple[int, ...]:
        c = Convolution.of(self.properties)
        features_last = c.y_dims[1] == len(c.y_dims) - 1
        return (0,) if not features_last or max(c.low) > 0 else ()  # pixels without padding are read in place

    def nest(self, b: NestWriter) -> None:
        from .conv_loops import write_conv

        write_conv(self, b)

    def plain_nest(self, b: NestWriter) -> None:
        from .window_plain import write_conv

        write_conv(self, b)


@graph_op
class ConvOp(ConvolutionOp):
    """Convolution (without mirroring): each element of the result is a sum of products over a window of `x`.

    With batch, features and spatial dims in this order, `I` features of `x` in a group, and `x` zero outside of itself:

        y[n, o, p] = sum over i, k of x[n, group(o) * I + i, (p * stride + k * dilation - low) / base_dilation] * w[o, i, k]

    where terms whose division is not exact are zero. `low` and `high` pad before and after; negative padding cuts.
    `x_dims`, `w_dims` and `y_dims` say which dims of each tensor are batch (result features for `w`), features and spatial.
    Cost: `2 * elements of y * elements of a filter`.

    `tile` has one entry a spatial dim: how many results Winograd's algorithm computes at once; ones are the direct form, and
    where it is left out `graph-winograd` chooses. It changes how sums are rounded (`winograd_transforms.py`), nothing else.

    ```mlir
    %y = graph.conv %x, %w stride [2, 2] low [1, 1] high [1, 1] groups 1
      : (tensor<1x3x8x8xf32>, tensor<16x3x3x3xf32>) -> tensor<1x16x4x4xf32>
    %z = graph.conv %p, %q stride [1] low [0] high [0] dilation [2] x_dims [0, 2, 1] w_dims [2, 1, 0] y_dims [0, 2, 1] groups 2
      : (tensor<1x8x4xf32>, tensor<3x2x6xf32>) -> tensor<1x4x6xf32>
    ```

    (C1) Operands have one element type, not i1.
    (C2) Operands have one rank: two more than there are strides, at least 3.
    (C3) Low, high and dilations have one entry a spatial dim; strides and dilations are at least 1.
    (C4) Dims are a permutation.
    (C5) Groups divide the features of `x` and of the result; a filter has the features of one group.
    (C6) No padded size is negative.
    (C7) A tile is of ones; or [2, 2] or [4, 4], for 3x3 filters of f32 in one group, strides and dilations 1.
    """

    name = "graph.conv"
    derivative = Bilinear(_transpose_conv)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        x, w = operands
        return (convolve(x, w, Convolution.of(self.properties)),)

    def nest(self, b: NestWriter) -> None:
        tile = Convolution.of(self.properties).tile
        if tile in TILES and 0 not in (*self.shape(0), *self.result_shape()):
            from .conv_winograd import write_winograd

            write_winograd(self, b, tile[0])
        else:
            super().nest(b)


def convolve(x: np.ndarray, w: np.ndarray, c: Convolution) -> np.ndarray:
    """A convolution of arrays, in the dtype of both."""
    n, dtype = len(c.stride), x.dtype
    x, w = x.transpose(c.x_dims), w.transpose(c.w_dims)
    shape = (len(x), len(w), *c.result(x.shape[2:], w.shape[2:]))
    x = pad_with(x, 0, c.low, c.high, c.base_dilation)
    y = np.zeros(shape, dtype)
    if prod(shape) and prod(w.shape):
        at = every_window(x, w.shape[2:], c.stride, c.dilation)
        at = at.reshape(len(x), c.groups, w.shape[1], *at.shape[2:])
        filters = w.reshape(c.groups, len(w) // c.groups, *w.shape[1:])
        p, k = list(range(10, 10 + n)), list(range(20, 20 + n))
        with np.errstate(all="ignore"):
            y = np.einsum(at, [0, 1, 3, *p, *k], filters, [1, 2, 3, *k], [0, 1, 2, *p], dtype=dtype, optimize=True)
        y = y.reshape(shape)
    return np.ascontiguousarray(y.transpose(np.argsort(c.y_dims)), dtype)


def pad_with(
    x: np.ndarray, value: Any, low: Sequence[int], high: Sequence[int], base_dilation: Sequence[int] | None = None
) -> np.ndarray:
    """The last dims with holes between their elements, and padding, which cuts where it is negative."""
    n = len(low)
    sizes = x.shape[-n:]
    holes = base_dilation or (1,) * n
    whole = np.full((*x.shape[:-n], *map(dilated, sizes, holes)), value, x.dtype)
    whole[(..., *(slice(None, None, by) for by in holes))] = x
    before = [(0, 0)] * (x.ndim - n)
    whole = np.pad(
        whole, [*before, *((max(0, lo), max(0, hi)) for lo, hi in zip(low, high, strict=True))], constant_values=value
    )
    cut = (slice(max(0, -lo), size - max(0, -hi)) for lo, hi, size in zip(low, high, whole.shape[-n:], strict=True))
    return whole[(..., *cut)]


def every_window(x: np.ndarray, window: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> np.ndarray:
    """`[..., p, k]`: element `k` of window `p` along the last dims; a view."""
    n = len(window)
    spans = tuple(map(dilated, window, dilation))
    found = np.lib.stride_tricks.sliding_window_view(x, spans, axis=tuple(range(x.ndim - n, x.ndim)))
    return found[(..., *(slice(None, None, s) for s in stride), *(slice(None, None, d) for d in dilation))]

"""Normalizations: to mean 0 and variance 1 along dims, to mean square 1, or by given statistics of channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def

from ...errors import DTypeError, ShapeError
from ..text_defaults import LAST_DIM, constant
from ..types import compatible, is_float, shape_of, show_shape
from .base import CompositeOp, Custom, GraphOp, Props, Types, graph_op, integer, ints, number, require_same_element
from .batching import all_batched
from .composite import AlongDims
from .reduce import restore

if TYPE_CHECKING:
    from .builder import GraphBuilder


def _mean(b: GraphBuilder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    total = b.reduce(x, kind="add", dims=dims)
    return b.div(total, b.full_like(total, math.prod(shape_of(x)[d] for d in dims)))


def _inverse_root(b: GraphBuilder, square: SSAValue, epsilon: float) -> SSAValue:
    return b.rsqrt(b.add(square, b.full_like(square, epsilon)))


def _layer_parts(b: GraphBuilder, x: SSAValue, props: Props) -> tuple[SSAValue, SSAValue]:
    """The distances from the mean, and the factor that each row of them is multiplied by, repeated along it."""
    dims, shape = ints(props["dims"]), shape_of(x)
    distance = b.sub(x, restore(b, _mean(b, x, dims), dims, shape))
    factor = _inverse_root(b, _mean(b, b.mul(distance, distance), dims), number(props["epsilon"]))
    return distance, restore(b, factor, dims, shape)


def _jvp_layer_norm(b: GraphBuilder, op: GraphOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    (dx,) = tangents
    x, y, dims = op.operands[0], op.results[0], ints(op.properties["dims"])
    _, factor = _layer_parts(b, x, op.properties)
    # the components that change the mean or the variance are projected out: (dx - mean(dx) - y mean(y dx)) / deviation
    along = b.mul(y, restore(b, _mean(b, b.mul(y, dx), dims), dims, shape_of(x)))
    centered = b.sub(dx, restore(b, _mean(b, dx, dims), dims, shape_of(x)))
    return [b.mul(b.sub(centered, along), factor)]


@graph_op
class LayerNormOp(AlongDims):
    """`(x - mean(x)) / sqrt(var(x) + epsilon)`, mean and variance taken over some dims.

    Ba, Kiros and Hinton, Layer Normalization, 2016.

    ```mlir
    %y = graph.layer_norm %x over [1] epsilon 1.0e-05 : f64 : tensor<2x3xf32>
    ```

    (C1) The element type is f32 or f64.
    (C2) Dims are distinct and within the rank.
    """

    name = "graph.layer_norm"
    epsilon = prop_def(FloatAttr)
    syntax = "$x (over [dims])? (epsilon !epsilon)?"
    text_defaults = {"dims": LAST_DIM, "epsilon": constant(1e-5)}
    derivative = Custom(_jvp_layer_norm)

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        return b.mul(*_layer_parts(b, operands[0], props))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,), dims = operands, ints(self.dims)
        count = x.dtype.type(math.prod(x.shape[d] for d in dims))
        with np.errstate(all="ignore"):
            distance = x - np.add.reduce(x, axis=dims, keepdims=True) / count
            square = np.add.reduce(distance * distance, axis=dims, keepdims=True) / count
            return (distance / np.sqrt(square + x.dtype.type(number(self.epsilon))),)


def _rms_factor(b: GraphBuilder, x: SSAValue, props: Props) -> SSAValue:
    dims = ints(props["dims"])
    factor = _inverse_root(b, _mean(b, b.mul(x, x), dims), number(props["epsilon"]))
    return restore(b, factor, dims, shape_of(x))


def _jvp_rms_norm(b: GraphBuilder, op: GraphOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    (dx,) = tangents
    x, y, dims = op.operands[0], op.results[0], ints(op.properties["dims"])
    along = b.mul(y, restore(b, _mean(b, b.mul(y, dx), dims), dims, shape_of(x)))
    return [b.mul(b.sub(dx, along), _rms_factor(b, x, op.properties))]


@graph_op
class RmsNormOp(AlongDims):
    """`x / sqrt(mean(x * x) + epsilon)`, the mean taken over some dims.

    Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.

    ```mlir
    %y = graph.rms_norm %x over [1] epsilon 1.0e-06 : f64 : tensor<2x3xf32>
    ```

    (C1) The element type is f32 or f64.
    (C2) Dims are distinct and within the rank.
    """

    name = "graph.rms_norm"
    epsilon = prop_def(FloatAttr)
    syntax = "$x (over [dims])? (epsilon !epsilon)?"
    text_defaults = {"dims": LAST_DIM, "epsilon": constant(1e-5)}
    derivative = Custom(_jvp_rms_norm)

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        return b.mul(operands[0], _rms_factor(b, operands[0], props))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,), dims = operands, ints(self.dims)
        count = x.dtype.type(math.prod(x.shape[d] for d in dims))
        with np.errstate(all="ignore"):
            square = np.add.reduce(x * x, axis=dims, keepdims=True) / count
            return (x / np.sqrt(square + x.dtype.type(number(self.epsilon))),)


def _scaled(b: GraphBuilder, operands: Sequence[SSAValue], dims: Sequence[int], epsilon: float) -> SSAValue:
    """`(x - mean) * (weight / sqrt(variance + epsilon)) + bias`, the statistics having the dims `dims` of x."""
    x, mean, variance, weight, bias = operands
    factor = b.mul(weight, _inverse_root(b, variance, epsilon))
    mean, factor, bias = (b.broadcast(value, dims, shape_of(x)) for value in (mean, factor, bias))
    return b.add(b.mul(b.sub(x, mean), factor), bias)


def _batch_channels(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    dim, epsilon = integer(op.properties["dim"]), op.properties["epsilon"]
    if not any(batched[1:]):
        return [b.batch_norm(*operands, dim=dim + 1, epsilon=epsilon)]
    return [_scaled(b, all_batched(b, operands, batched), (0, dim + 1), number(epsilon))]


@graph_op
class BatchNormOp(CompositeOp):
    """`(x - mean) / sqrt(variance + epsilon) * weight + bias` of every channel, by given statistics.

    Ioffe and Szegedy, Batch Normalization, 2015.

    ```mlir
    %y = graph.batch_norm %x, %mean, %variance, %weight, %bias along 1 epsilon 1.0e-05 : f64
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
    ```

    (C1) All have one element type, f32 or f64.
    (C2) The dim is within the rank.
    (C3) Statistics, weight and bias are of rank 1, a number for each channel.
    """

    name = "graph.batch_norm"
    x = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = operand_def(TensorType)
    dim = prop_def(IntegerAttr)
    epsilon = prop_def(FloatAttr)
    y = result_def(TensorType)
    syntax = "$x, $mean, $variance, $weight, $bias (along #dim)? (epsilon !epsilon)?"
    text_defaults = {"dim": constant(1), "epsilon": constant(1e-5)}
    batching = _batch_channels

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        x, names = operands[0], ("x", "mean", "variance", "weight", "bias")
        require_same_element(operands, names)  # C1
        if not is_float(x.element_type):  # C1
            raise DTypeError(f"element type must be f32 or f64, got {x.element_type}")
        dim, shape = integer(props["dim"]), x.get_shape()
        if not 0 <= dim < len(shape):  # C2
            raise ShapeError(f"dim must be within the rank, got {dim} for {show_shape(shape)}")
        for name, other in zip(names[1:], operands[1:], strict=True):
            if len(other.get_shape()) != 1 or not compatible(other.get_shape()[0], shape[dim]):  # C3
                raise ShapeError(
                    f"needs a number for each channel, x is {show_shape(shape)}, {name} {show_shape(other.get_shape())}"
                )
        return (x,)

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        return _scaled(b, operands, (integer(props["dim"]),), number(props["epsilon"]))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        x, dim = operands[0], self.dim.value.data
        shape = [n if d == dim else 1 for d, n in enumerate(x.shape)]
        mean, variance, weight, bias = (operand.reshape(shape) for operand in operands[1:])
        with np.errstate(all="ignore"):
            return ((x - mean) * (weight / np.sqrt(variance + x.dtype.type(number(self.epsilon)))) + bias,)

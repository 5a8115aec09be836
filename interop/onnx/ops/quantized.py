"""Quantized ops: integers with a scale and a zero point."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....api import lift
from ....api.tracing import current
from ....library.numpy import namespace as lnp
from ..model import dtype_of
from ..nodes import Node, normalized, op
from ..values import lifted, operands
from .elementwise import cast_to
from .windows import _convolve

LIMITS = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}


def limits(dtype: Any) -> tuple[int, int]:
    """The least and the greatest number of an integer type."""
    kind = np.dtype(dtype)
    return LIMITS[kind.name] if kind.name in LIMITS else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))


def _per_axis(node: Node, x: Any, parameter: Any) -> Any:
    """A scale or zero point in the shape of x: of the whole, of each element along an axis, or of blocks along it."""
    if parameter is None or parameter.ndim == 0 or (parameter.ndim == 1 and parameter.shape[0] == 1):
        return None if parameter is None else parameter.reshape(())
    axis = normalized(node.get("axis", 1), x.ndim)
    block = node.get("block_size", 0)
    if parameter.ndim == 1 and not block:
        return parameter.reshape(tuple(-1 if d == axis else 1 for d in range(x.ndim)))
    if not block:
        return parameter
    repeated = lnp.repeat(lifted(parameter), block, axis)
    return repeated[(*[slice(None)] * axis, slice(0, x.shape[axis]))]


def quantized(x: Any, scale: Any, zero: Any, dtype: Any, saturate: bool = True) -> Any:
    """`x / scale` rounded to even, plus the zero point, within the limits of the type."""
    kind = np.dtype(dtype)
    xp, x, scale = operands(x, scale)
    ratio = x / scale
    if kind.name.startswith("float"):
        return cast_to(ratio if zero is None else ratio + zero.astype(ratio.dtype), kind, saturate)
    rounded = xp.rint(ratio)
    rounded = rounded if zero is None else rounded + zero.astype(rounded.dtype)
    low, high = limits(kind)
    clipped = xp.clip(rounded, low, high)
    return (clipped.astype(np.int32) if kind.itemsize < 4 else clipped).astype(kind)


@op("QuantizeLinear")
def quantize_linear(node: Node, x: Any, scale: Any, zero: Any = None) -> Any:
    code = node.get("output_dtype", 0)
    dtype = zero.dtype if zero is not None else dtype_of(code, "the result") if code else np.dtype(np.uint8)
    x = x.astype(np.float32) if np.dtype(x.dtype).kind in "iu" else x
    return quantized(x, _per_axis(node, x, scale), _per_axis(node, x, zero), dtype, bool(node.get("saturate", 1)))


@op("DequantizeLinear")
def dequantize_linear(node: Node, x: Any, scale: Any, zero: Any = None) -> Any:
    code = node.get("output_dtype", 0)
    dtype = dtype_of(code, "the result") if code else scale.dtype
    x = _bytes(x)
    wide = np.dtype(np.float32)
    if np.dtype(x.dtype).kind in "iu" or np.dtype(x.dtype).name in LIMITS:
        wide = np.dtype(np.int32) if np.dtype(x.dtype).itemsize < 4 else np.dtype(np.int64)
    zero = _per_axis(node, x, zero)
    shifted = x.astype(wide) if zero is None else x.astype(wide) - zero.astype(wide)
    scale = _per_axis(node, x, scale)
    compute = np.dtype(np.float32) if np.dtype(scale.dtype).itemsize < 4 else scale.dtype
    return (shifted.astype(compute) * scale.astype(compute)).astype(dtype)


def _bytes(x: Any) -> Any:
    """Weights of bytes as such in the program, where products can be of integers; other values as they are."""
    is_weight = isinstance(x, np.ndarray) and x.dtype in (np.int8, np.uint8) and x.ndim > 1
    return lift(x) if is_weight and current() is not None else x


def _shifted(x: Any, zero: Any, rows: bool = False) -> Any:
    """Integers without their zero point, in 32 bits; a vector of zero points is one for each row."""
    x = _bytes(x).astype(np.int32)
    if zero is None:
        return x
    zero = zero.astype(np.int32)
    return x - (zero[..., None] if rows and zero.ndim and zero.ndim < x.ndim else zero.reshape(()) if zero.size == 1 else zero)


@op("MatMulInteger")
def matmul_integer(node: Node, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    return lnp.matmul(_shifted(a, a_zero, rows=True), _shifted(b, b_zero))


@op("QLinearMatMul")
def qlinear_matmul(
    node: Node, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any
) -> Any:
    sums = lnp.matmul(_shifted(a, a_zero, rows=True), _shifted(b, b_zero))
    of_rows = a_scale[..., None] if a_scale.ndim and a_scale.size > 1 and a_scale.ndim < a.ndim else a_scale
    scale = (of_rows * b_scale / y_scale).astype(np.float32)
    return requantized(sums, scale.reshape(()) if scale.size == 1 else scale, y_zero)


def requantized(sums: Any, scale: Any, zero: Any) -> Any:
    """Sums of products times a scale, as numbers of the zero point's type."""
    low, high = limits(zero.dtype)
    zero = zero.reshape(()) if zero.size == 1 else zero
    scaled = lnp.rint(sums.astype(np.float32) * scale) + zero.astype(np.float32)
    return lnp.clip(scaled, low, high).astype(np.int32).astype(zero.dtype)


def _filters_shifted(w: Any, zero: Any) -> Any:
    if zero is None or zero.ndim == 0 or zero.size == 1:
        return _shifted(w, zero)
    return _bytes(w).astype(np.int32) - zero.astype(np.int32).reshape((-1, *[1] * (w.ndim - 1)))


@op("ConvInteger")
def conv_integer(node: Node, x: Any, w: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
    return _convolve(node, _shifted(x, x_zero), _filters_shifted(w, w_zero), None)


@op("QLinearConv")
def qlinear_conv(
    node: Node,
    x: Any,
    x_scale: Any,
    x_zero: Any,
    w: Any,
    w_scale: Any,
    w_zero: Any,
    y_scale: Any,
    y_zero: Any,
    bias: Any = None,
) -> Any:
    sums = _convolve(node, _shifted(x, x_zero), _filters_shifted(w, w_zero), bias)
    scale = (x_scale * w_scale / y_scale).astype(np.float32)
    scale = scale.reshape(()) if scale.size == 1 else scale.reshape((-1, *[1] * (x.ndim - 2)))
    return requantized(sums, scale, y_zero)

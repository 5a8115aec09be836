"""Ops on quantized types: the arrays of the program are their integers, and an op computes with what these stand for.

By StableHLO's specification (`dequantize_op_quantize`) the result of an op is that of the floats, quantized to the type of the
result. `graph-integer-products` brings products of them back to integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType

from ...api import lift
from ...api.dtypes import numpy_dtype
from ...library.numpy import namespace as lnp
from .faults import UnsupportedError


@dataclass(frozen=True)
class Quantized:
    """A value of a quantized type: its integers."""

    integers: Any
    type: Any


def is_quantized(type: Any) -> bool:
    """Whether a type is a tensor of quantized numbers."""
    return type.name == "tensor" and type.element_type.name == "quant.uniform"


def storage_dtype(type: Any) -> Any:
    """The dtype of the integers."""
    return numpy_dtype(type.element_type.quantization.storage)


def expressed(type: Any) -> Any:
    """The tensor type of the numbers."""
    return TensorType(type.element_type.quantization.expressed, type.get_shape()) if is_quantized(type) else type


def _along(values: Sequence[Any], type: Any, dtype: Any) -> Any:
    """Scales or zero points in the shape in which they meet the elements."""
    axis, rank = type.element_type.quantization.axis, len(type.get_shape())
    if axis is None:
        return np.asarray(values[0], dtype)
    size = type.get_shape()[axis] if axis < rank else -1
    if len(values) != size:
        raise UnsupportedError(f"has {len(values)} scales along axis {axis} of {type}")
    return np.asarray(values, dtype).reshape([-1 if d == axis else 1 for d in range(rank)])


def integers_of(value: Any) -> Any:
    """The integers of a quantized value, which functions take and return; others as they are."""
    return value.integers if isinstance(value, Quantized) else value


def dequantized(value: Any) -> Any:
    """The numbers of a quantized value; others as they are."""
    if not isinstance(value, Quantized):
        return value
    found = value.type.element_type.quantization
    dtype = numpy_dtype(found.expressed)
    wide = lift(value.integers).astype(np.int32)
    if any(found.zeros):
        wide = wide - _along(found.zeros, value.type, np.int32)
    return (wide.astype(np.float32) * _along(found.scales, value.type, np.float32)).astype(dtype)


def quantized(value: Any, type: Any) -> Any:
    """A number rounded to a quantized type, to even and within its bounds; values of other types as they are."""
    if not is_quantized(type) or isinstance(value, Quantized):
        return value
    found = type.element_type.quantization
    wide = np.float32 if found.storage.width.data <= 16 else np.float64
    ratio = lnp.rint(lift(value).astype(np.float32) / _along(found.scales, type, np.float32)).astype(wide)
    moved = ratio + _along(found.zeros, type, wide) if any(found.zeros) else ratio
    integers = lnp.clip(moved, wide(found.low), wide(found.high)).astype(np.int32 if wide == np.float32 else np.int64)
    return Quantized(integers.astype(storage_dtype(type)), type)


def quantize(site: Any, operands: Sequence[Any]) -> Any:
    """`uniform_quantize`: numbers, whose quantization follows from the type of the result."""
    return operands[0]


def dequantize(site: Any, operands: Sequence[Any]) -> Any:
    """`uniform_dequantize`: numbers already."""
    return operands[0]

"""Element types, shapes and cached type constructors shared by the dialects.

Building a `TensorType` costs 13 us and a `MemRefType` 43 us in xDSL, so both go through caches; attributes compare by value.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute

from ..errors import DTypeError

DYNAMIC = DYNAMIC_INDEX
"""The size of a `?` dimension in a type."""

i1, i32, i64 = IntegerType(1), IntegerType(32), IntegerType(64)
f32, f64 = Float32Type(), Float64Type()
f16, bf16 = Float16Type(), BFloat16Type()
index = IndexType()

_NUMPY_OF_TYPE: dict[Attribute, np.dtype] = {
    f32: np.dtype(np.float32),
    f64: np.dtype(np.float64),
    i32: np.dtype(np.int32),
    i64: np.dtype(np.int64),
    i1: np.dtype(np.bool_),
    f16: np.dtype(np.float16),
    bf16: np.dtype(ml_dtypes.bfloat16),
}
_INTERPRETED: dict[Attribute, np.dtype] = {
    **_NUMPY_OF_TYPE,
    IntegerType(8): np.dtype(np.int8),
    IntegerType(16): np.dtype(np.int16),
    index: np.dtype(np.int64),
}
_TYPE_OF_NUMPY: dict[np.dtype, Attribute] = {dtype: type for type, dtype in _NUMPY_OF_TYPE.items()}

HALVES = (f16, bf16)
"""Element types that are only stored: arithmetic is done in f32."""
SUPPORTED = tuple(type for type in _NUMPY_OF_TYPE if type not in HALVES)
"""Element types that ops of the graph dialect compute with."""


class NoDTypeError(DTypeError, KeyError):
    """An element type that no NumPy dtype holds."""

    __str__ = Exception.__str__


def numpy_dtype(element_type: Attribute) -> np.dtype:
    """The NumPy dtype that holds values of an element type; a KeyError when there is none."""
    try:
        return _INTERPRETED[element_type]
    except KeyError:
        raise NoDTypeError(f"nothing is computed with elements of type {element_type}") from None


def element_type(dtype: np.typing.DTypeLike) -> Attribute:
    """The element type of a NumPy dtype; KeyError when the graph dialect has none."""
    return _TYPE_OF_NUMPY[np.dtype(dtype)]


@lru_cache(maxsize=4096)
def _tensor(element: Attribute, shape: tuple[int, ...]) -> TensorType:
    return TensorType(element, shape)


def tensor(element: Attribute, shape: Sequence[int]) -> TensorType:
    """`tensor<shape x element>`, cached; `DYNAMIC` stands for `?`."""
    return _tensor(element, tuple(shape))


@lru_cache(maxsize=4096)
def _memref(element: Attribute, shape: tuple[int, ...]) -> MemRefType:
    return MemRefType(element, shape)


def memref(element: Attribute, shape: Sequence[int]) -> MemRefType:
    """A contiguous row-major `memref<shape x element>`, cached."""
    return _memref(element, tuple(shape))


@lru_cache(maxsize=512)
def vector(element: Attribute, lanes: int) -> VectorType:
    """`vector<lanes x element>`, cached."""
    return VectorType(element, (lanes,))


def is_float(element: Attribute) -> bool:
    return isinstance(element, Float32Type | Float64Type | Float16Type | BFloat16Type)


def is_half(element: Attribute) -> bool:
    """Whether an element type is only stored: f16 or bf16."""
    return isinstance(element, Float16Type | BFloat16Type)


def is_integer(element: Attribute) -> bool:
    """Whether an element type is an integer of more than one bit."""
    return isinstance(element, IntegerType) and element.width.data > 1


def is_bool(element: Attribute) -> bool:
    return isinstance(element, IntegerType) and element.width.data == 1


def scalar_of(type: Attribute) -> Attribute:
    """The element type of a vector type, or the type itself."""
    return type.element_type if isinstance(type, VectorType) else type


def show_shape(shape: Sequence[int]) -> str:
    """`[2,?,3]`, as messages print shapes."""
    return "[" + ",".join("?" if size == DYNAMIC else str(size) for size in shape) + "]"


def compatible(a: int, b: int) -> bool:
    """Whether two sizes can be the same size at run time."""
    return a == b or a == DYNAMIC or b == DYNAMIC


def unify(a: int, b: int) -> int:
    """The more precise of two compatible sizes."""
    return b if a == DYNAMIC else a

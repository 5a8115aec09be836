"""Shapes, predicates of element types and cached type constructors shared by the dialects; `element_types.py` has the table.

Building a `TensorType` costs 13 us and a `MemRefType` 43 us in xDSL, so both go through caches; attributes compare by value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ComplexType,
    IntAttr,
    IntegerType,
    MemRefType,
    Signedness,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, SSAValue

from .element_types import COMPLEX as COMPLEX
from .element_types import FLOATS as FLOATS
from .element_types import STORED as STORED
from .element_types import SUPPORTED as SUPPORTED
from .element_types import Kind as Kind
from .element_types import bf16 as bf16
from .element_types import computed_in as computed_in
from .element_types import element_type as element_type
from .element_types import f16 as f16
from .element_types import f32 as f32
from .element_types import f64 as f64
from .element_types import i1 as i1
from .element_types import i32 as i32
from .element_types import i64 as i64
from .element_types import index as index
from .element_types import numpy_dtype as numpy_dtype
from .element_types import spelled as spelled
from .sizes.equations import assumed_equal
from .sizes.polynomial import TYPICAL as TYPICAL
from .sizes.polynomial import Size, expected_size

DYNAMIC = DYNAMIC_INDEX
"""The size of a `?` dimension in a type."""

MOST_LANES = 4096
"""Largest vector, in bits: sixty-four registers of 512 bits. LLVM needs memory and time per lane, and aborts on far more."""

INDICES = (i32, i64)
"""Element types of data-dependent indices."""


@lru_cache(maxsize=4096)
def _tensor(element: Attribute, shape: tuple[int, ...]) -> TensorType:
    return TensorType(element, [IntAttr(size) for size in shape])


def tensor(element: Attribute, shape: Sequence[int]) -> TensorType:
    """`tensor<shape x element>`, cached; `DYNAMIC` stands for `?`."""
    return _tensor(element, tuple(shape))


@lru_cache(maxsize=4096)
def _memref(element: Attribute, shape: tuple[int, ...]) -> MemRefType:
    return MemRefType(element, [size if isinstance(size, int) else DYNAMIC for size in shape])


def memref(element: Attribute, shape: Sequence[int]) -> MemRefType:
    """A contiguous row-major `memref<shape x element>`, cached."""
    return _memref(element, tuple(shape))


@lru_cache(maxsize=512)
def vector(element: Attribute, lanes: int) -> VectorType:
    """`vector<lanes x element>`, cached."""
    return VectorType(element, (lanes,))


def sizes_of(type: TensorType | MemRefType | VectorType) -> tuple[int, ...]:
    """The sizes that a type has, kept in it: `get_shape` makes them anew from its attributes."""
    known: Any = type.__dict__
    found = known.get("_sizes")
    if found is None:
        found = known["_sizes"] = tuple(type.get_shape())
    return found


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor, a memref or a vector."""
    return sizes_of(value._type)  # pyright: ignore[reportArgumentType]


def has_symbols(value: SSAValue) -> bool:
    """Whether a value has a symbolic size."""
    return isinstance(value.type, TensorType) and any(isinstance(size, Size) for size in shape_of(value))


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor, a memref or a vector."""
    type = value._type
    assert isinstance(type, TensorType | MemRefType | VectorType)
    return type.element_type


def tensor_of(value: SSAValue) -> TensorType:
    """The type of a tensor."""
    assert isinstance(value.type, TensorType)
    return value.type


def tensors_of(values: Iterable[SSAValue]) -> list[TensorType]:
    """The types of tensors."""
    return [tensor_of(value) for value in values]


def set_type(value: SSAValue, type: Attribute) -> None:
    """Change the type of a value in place."""
    value._type = type


def width_of(element: Attribute) -> int:
    """The bits of a float or an integer."""
    assert isinstance(element, AnyFloat | IntegerType)
    return element.bitwidth


def is_float(element: Attribute) -> bool:
    return element in FLOATS


def is_complex(element: Attribute) -> bool:
    return isinstance(element, ComplexType)


def part_of(element: Attribute) -> Attribute:
    """The type of the real and the imaginary part of a complex type; any other type itself."""
    return element.element_type if isinstance(element, ComplexType) else element


def complex_of(element: Attribute) -> ComplexType:
    """The complex type with parts of a type, f32 or f64."""
    return ComplexType(element)  # pyright: ignore[reportArgumentType]


def is_stored(element: Attribute) -> bool:
    """Whether an element type is storage-only."""
    return element in STORED


def is_integer(element: Attribute) -> bool:
    """Whether an element type is an integer of more than one bit."""
    return isinstance(element, IntegerType) and element.width.data > 1


def is_unsigned(element: Attribute) -> bool:
    return isinstance(element, IntegerType) and element.signedness.data is Signedness.UNSIGNED


def is_bool(element: Attribute) -> bool:
    return isinstance(element, IntegerType) and element.width.data == 1


def kind_of(element: Attribute) -> Kind:
    """What the values of an element type are; indices are signed."""
    if is_float(element):
        return Kind.FLOAT
    if is_complex(element):
        return Kind.COMPLEX
    return Kind.BOOL if is_bool(element) else Kind.UNSIGNED if is_unsigned(element) else Kind.SIGNED


def integer_range(element: Attribute) -> tuple[int, int]:
    """The least and the greatest number of an integer type, of i1 or of `index`."""
    bits = element.width.data if isinstance(element, IntegerType) else 64
    if kind_of(element) is Kind.SIGNED:
        return -(1 << bits - 1), (1 << bits - 1) - 1
    return 0, (1 << bits) - 1


def scalar_of(type: Attribute) -> Attribute:
    """The element type of a vector type, or the type itself."""
    return type.element_type if isinstance(type, VectorType) else type


def show_shape(shape: Sequence[int]) -> str:
    """`[2,?,3]`, as messages print shapes."""
    return "[" + ",".join("?" if size == DYNAMIC else str(size) for size in shape) + "]"


def expected(size: int) -> int:
    """A size for cost models: a symbolic one counts as `TYPICAL`."""
    if isinstance(size, int):
        return TYPICAL if size == DYNAMIC else size
    return expected_size(size)


def compatible(a: int, b: int) -> bool:
    """Whether two sizes can be the same size at run time; within `equations` also symbolic ones, which then must be."""
    return a == b or a == DYNAMIC or b == DYNAMIC or assumed_equal(a, b)


def unify(a: int, b: int) -> int:
    """The more precise of two compatible sizes."""
    return b if a == DYNAMIC else a

"""The element types: the compiler and the runtime know of one only what its row in `TABLE` says.

A row names the type in MLIR, NumPy, LLVM and C. The rest follows from its kind and its size: arithmetic
(`dialects/scalar.py`), promotion, which is NumPy's own (`frontend/trace/promotion.py`), and how a call passes a scalar
(`codegen/entry_arguments.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import (
    BFloat16Type,
    ComplexType,
    Float8E4M3B11FNUZType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute

from ..errors import DTypeError

if TYPE_CHECKING:
    import numpy as np


class Kind(Enum):
    """What the values of an element type are."""

    FLOAT = auto()
    SIGNED = auto()
    UNSIGNED = auto()
    BOOL = auto()
    COMPLEX = auto()


@dataclass(frozen=True)
class ElementType:
    """An element type.

    Attributes:
        type: as the IR has it; its text is the name.
        dtype_name: of its NumPy dtype.
        kind: what its values are.
        llvm: LLVM's type of a value.
        c: the type in C headers.
        computed_in: for a storage-only type, the type in which its arithmetic is done.
    """

    type: Attribute
    dtype_name: str
    kind: Kind
    llvm: str
    c: str
    computed_in: Attribute | None = None

    @property
    def dtype(self) -> np.dtype:
        """NumPy's own descriptor object. NumPy and ml_dtypes are imported now, which parsers and printers do not need."""
        return numpy_dtype(self.type)

    @property
    def name(self) -> str:
        """MLIR's name."""
        return str(self.type)

    @property
    def is_stored(self) -> bool:
        """Whether the type is storage-only: arithmetic is done in `computed_in`."""
        return self.computed_in is not None

    @property
    def is_narrow_float(self) -> bool:
        """Whether it is a float of 8 bits."""
        return self.kind is Kind.FLOAT and self.llvm == "i8"


def _signed(width: int) -> ElementType:
    """A signed integer, which is signless in MLIR."""
    return ElementType(IntegerType(width), f"i{width // 8}", Kind.SIGNED, f"i{width}", f"int{width}_t")


def _unsigned(width: int) -> ElementType:
    type = IntegerType(width, Signedness.UNSIGNED)
    return ElementType(type, f"u{width // 8}", Kind.UNSIGNED, f"i{width}", f"uint{width}_t")


def _narrow_float(type: Attribute, dtype: str) -> ElementType:
    """A float of 8 bits; LLVM IR holds its bits as an integer."""
    return ElementType(type, dtype, Kind.FLOAT, "i8", "uint8_t", f32)


def _nibble(signedness: Signedness, dtype: str, kind: Kind) -> ElementType:
    """An integer of 4 bits in a byte of its own, as ml_dtypes has it: a call copies nothing, and elements have addresses."""
    integer = IntegerType(8, signedness)
    c = "int8_t" if kind is Kind.SIGNED else "uint8_t"
    return ElementType(IntegerType(4, signedness), dtype, kind, "i8", c, integer)


def _complex(part: ElementType, name: str) -> ElementType:
    """Complex numbers: the real part, then the imaginary one. No value of LLVM IR is complex: `llvm` is the type of a part."""
    return ElementType(ComplexType(part.type), name, Kind.COMPLEX, part.llvm, f"{part.c} _Complex")  # pyright: ignore[reportArgumentType]


i1, i32, i64 = IntegerType(1), IntegerType(32), IntegerType(64)
f32, f64 = Float32Type(), Float64Type()
f16, bf16 = Float16Type(), BFloat16Type()
index = IndexType()

_F32 = ElementType(f32, "float32", Kind.FLOAT, "float", "float")
_F64 = ElementType(f64, "float64", Kind.FLOAT, "double", "double")

TABLE = (
    _F32,
    _F64,
    _signed(32),
    _signed(64),
    _signed(8),
    _unsigned(8),
    _signed(16),
    _unsigned(16),
    _unsigned(32),
    _unsigned(64),
    ElementType(i1, "bool", Kind.BOOL, "i1", "bool"),
    ElementType(f16, "float16", Kind.FLOAT, "i16", "uint16_t", f32),
    ElementType(bf16, "bfloat16", Kind.FLOAT, "i16", "uint16_t", f32),
    _narrow_float(Float8E4M3FNType(), "float8_e4m3fn"),
    _narrow_float(Float8E5M2Type(), "float8_e5m2"),
    _narrow_float(Float8E4M3FNUZType(), "float8_e4m3fnuz"),
    _narrow_float(Float8E5M2FNUZType(), "float8_e5m2fnuz"),
    _narrow_float(Float8E4M3B11FNUZType(), "float8_e4m3b11fnuz"),
    _nibble(Signedness.SIGNLESS, "int4", Kind.SIGNED),
    _nibble(Signedness.UNSIGNED, "uint4", Kind.UNSIGNED),
    _complex(_F32, "complex64"),
    _complex(_F64, "complex128"),
)

STORED = tuple(row.type for row in TABLE if row.is_stored)
"""The storage-only element types: arithmetic is done in another one (`computed_in`)."""
COMPLEX = tuple(row.type for row in TABLE if row.kind is Kind.COMPLEX)
"""The complex element types. Only the graph level has them; below it are their parts (`transforms/graph_split_complex.py`)."""
FLOATS = tuple(row.type for row in TABLE if row.kind is Kind.FLOAT)
"""The element types of floats, including the storage-only ones."""
SUPPORTED = tuple(row.type for row in TABLE if not row.is_stored and row.kind is not Kind.COMPLEX)
"""Element types that ops of the graph dialect compute with, and so do loops."""

_BY_TYPE: dict[Attribute, ElementType] = {row.type: row for row in TABLE}


@cache
def _dtypes() -> dict[Attribute, np.dtype]:
    """The dtype of each element type, and of `index`."""
    import ml_dtypes
    import numpy as np

    def dtype(name: str) -> np.dtype:
        return np.dtype(getattr(ml_dtypes, name, name))

    return {**{row.type: dtype(row.dtype_name) for row in TABLE}, index: np.dtype(np.int64)}


@cache
def _by_dtype() -> dict[np.dtype, ElementType]:
    return {row.dtype: row for row in TABLE}


class NoDTypeError(DTypeError, KeyError):
    """An element type that no NumPy dtype holds."""

    __str__ = Exception.__str__


def numpy_dtype(type: Attribute) -> np.dtype:
    """The NumPy dtype that holds values of an element type or of `index`.

    Raises:
        NoDTypeError: there is none.
    """
    try:
        return _dtypes()[type]
    except KeyError:
        raise NoDTypeError(f"nothing is computed with elements of type {type}") from None


def element_type(dtype: np.typing.DTypeLike) -> Attribute:
    """The element type of a NumPy dtype; KeyError if there is none."""
    import numpy as np

    return _by_dtype()[np.dtype(dtype)].type


def computed_in(type: Attribute) -> Attribute:
    """The element type in which arithmetic on values of a type is done: the type itself unless it is storage-only."""
    row = _BY_TYPE.get(type)
    return type if row is None else row.computed_in or type


def row_of(type: Attribute) -> ElementType | None:
    """The row of an element type; None if there is none."""
    return _BY_TYPE.get(type)


def spelled(types: Iterable[Attribute | str]) -> str:
    """Element types in messages: `f32, f64 or i1`."""
    *most, last = map(str, types)
    return f"{', '.join(most)} or {last}" if most else last

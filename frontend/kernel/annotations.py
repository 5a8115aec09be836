"""Annotations of a kernel's parameters, `lm.f32["M", "N"]`, `lm.i64`; functions that its body may call besides Python's own.

All of them work in plain Python too, so that the function can be run without being compiled.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute

from ...dialects import types
from ...dialects.types import numpy_dtype

_DIM = re.compile(r"\s*(?P<symbol>[A-Za-z_]\w*)?\s*(?:(?P<sign>[+-])\s*)?(?P<constant>\d+)?\s*")


@dataclass(frozen=True)
class Size:
    """A size or stride: a symbol plus a number, or a number."""

    symbol: str | None
    constant: int = 0

    @staticmethod
    def read(spelled: object) -> Size | LinearSize:
        """From `"N"`, `"N + 1"` or a number; `"2*N"` and `"N + M"` are sums.

        >>> Size.read("N + 1"), Size.read(16)
        (Size(symbol='N', constant=1), Size(symbol=None, constant=16))
        """
        if isinstance(spelled, int | np.integer) and not isinstance(spelled, bool):
            if spelled < 0:
                raise ValueError(f"a size is not negative, got {spelled}")
            return Size(None, int(spelled))
        found = _DIM.fullmatch(spelled) if isinstance(spelled, str) else None
        if found is None or (found["symbol"] is None and found["constant"] is None):
            return LinearSize.read(spelled)
        if (found["sign"] is None) != (found["symbol"] is None or found["constant"] is None):
            return LinearSize.read(spelled)
        constant = int(found["constant"] or 0)
        return Size(found["symbol"], -constant if found["sign"] == "-" else constant)

    def __str__(self) -> str:
        if self.symbol is None:
            return str(self.constant)
        return self.symbol + (f" {'+' if self.constant > 0 else '-'} {abs(self.constant)}" if self.constant else "")


@dataclass(frozen=True)
class LinearSize:
    """A size that follows from others: `2*N`, `N + M - 1`."""

    terms: tuple[tuple[str, int], ...]
    constant: int
    spelled: str

    @staticmethod
    def read(spelled: object) -> LinearSize:
        """From a sum of names, multiples of names and numbers.

        >>> LinearSize.read("2*N + M - 1").terms
        (('N', 2), ('M', 1))
        """
        rule = f"a size must be a number, a name, or a sum of names and multiples of names as in '2*N + M - 1', got {spelled!r}"
        if not isinstance(spelled, str):
            raise ValueError(rule)
        terms: dict[str, int] = {}
        constant = 0

        def add(node: ast.expr, factor: int) -> None:
            nonlocal constant
            match node:
                case ast.Constant(value=int(value)):
                    constant += factor * value
                case ast.Name(id=name):
                    terms[name] = terms.get(name, 0) + factor
                case ast.BinOp(left, ast.Add(), right):
                    add(left, factor)
                    add(right, factor)
                case ast.BinOp(left, ast.Sub(), right):
                    add(left, factor)
                    add(right, -factor)
                case ast.BinOp(ast.Constant(value=int(value)), ast.Mult(), other):
                    add(other, factor * value)
                case ast.BinOp(other, ast.Mult(), ast.Constant(value=int(value))):
                    add(other, factor * value)
                case _:
                    raise ValueError(rule)

        try:
            add(ast.parse(spelled.strip(), mode="eval").body, 1)
        except SyntaxError:
            raise ValueError(rule) from None
        if not any(terms.values()):
            raise ValueError(rule)
        return LinearSize(tuple((name, c) for name, c in terms.items() if c), constant, spelled)

    def __str__(self) -> str:
        return self.spelled


@dataclass(frozen=True)
class ArrayType:
    """An array parameter: element type, sizes, and strides in elements when it need not be contiguous."""

    element: ScalarType
    sizes: tuple[Any, ...]  # of Size or LinearSize
    strides: tuple[Size | None, ...] | None = None

    def strided(self, *strides: str | int | None) -> ArrayType:
        """The same with strides: names, numbers, or None for unknown; no arguments: all unknown.

        >>> f32["M", "N"].strided("lda", 1).strides
        (Size(symbol='lda', constant=0), Size(symbol=None, constant=1))
        """
        given = strides or (None,) * len(self.sizes)
        if len(given) != len(self.sizes):
            raise ValueError(f"{len(self.sizes)} sizes need as many strides, got {len(given)}")
        read = [None if s is None else Size.read(s) for s in given]
        if any(isinstance(s, LinearSize) for s in read):
            raise ValueError(f"a stride is a number, a name, or a name and a number, got {given}")
        return ArrayType(self.element, self.sizes, tuple(read))  # pyright: ignore[reportArgumentType]

    def __str__(self) -> str:
        return f"{self.element.name}[{', '.join(map(str, self.sizes))}]"


class ScalarType:
    """A scalar parameter: an element type, array types by subscription, a conversion when called."""

    def __init__(self, name: str, type: Attribute):
        self.name, self.type = name, type

    @property
    def dtype(self) -> np.dtype:
        """NumPy's type; that of bf16 is in ml_dtypes, which is imported on first use."""
        return numpy_dtype(self.type)

    @property
    def real(self) -> ScalarType:
        """The type of the real and imaginary parts; of a real type itself.

        >>> complex64.real, f64.real
        (lamina.f32, lamina.f64)
        """
        return next((part for part in (f32, f64) if types.complex_of(part.type) == self.type), self)

    def __getitem__(self, sizes: object) -> ArrayType:
        spelled = sizes if isinstance(sizes, tuple) else (sizes,)
        return ArrayType(self, tuple(Size.read(s) for s in spelled))

    def __call__(self, value: Any) -> Any:
        return self.dtype.type(value)

    def __repr__(self) -> str:
        return f"lamina.{self.name}"


class TypeVariable(ScalarType):
    """An element type that the arrays of each call decide; made by `dtype`."""

    def __init__(self, name: str, choices: Sequence[ScalarType]):
        self.name, self.choices = name, tuple(choices)

    @property
    def type(self) -> Attribute:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise TypeError(f"{self.name} is a type variable: specialize(...) the kernel")

    @property
    def real(self) -> RealPart:  # pyright: ignore[reportIncompatibleVariableOverride]
        return RealPart(self)

    def __call__(self, value: Any) -> Any:
        return value

    def __repr__(self) -> str:
        return f"lamina.dtype({self.name!r})"


class RealPart(TypeVariable):
    """The type of the parts of a type variable's elements, `T.real`."""

    def __init__(self, whole: TypeVariable):
        super().__init__(f"{whole.name}.real", ())
        self.whole = whole

    @property
    def real(self) -> RealPart:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self

    def __repr__(self) -> str:
        return f"{self.whole!r}.real"


def dtype(name: str, *choices: ScalarType) -> TypeVariable:
    """A type variable of kernels, `T = lm.dtype("T")`: `T["N"]` and `T` have the element type of the call's arrays.

    `T.real` is the type of their real parts, `np.finfo(T)` has the limits of it.

    Args:
        choices: the types that it may be; all of them if none is given.
    """
    return TypeVariable(name, choices)


f16 = ScalarType("f16", types.f16)
bf16 = ScalarType("bf16", types.bf16)
f32 = ScalarType("f32", types.f32)
f64 = ScalarType("f64", types.f64)
i8 = ScalarType("i8", IntegerType(8))
i16 = ScalarType("i16", IntegerType(16))
i32 = ScalarType("i32", IntegerType(32))
i64 = ScalarType("i64", IntegerType(64))
ui8 = ScalarType("ui8", IntegerType(8, Signedness.UNSIGNED))
ui16 = ScalarType("ui16", IntegerType(16, Signedness.UNSIGNED))
ui32 = ScalarType("ui32", IntegerType(32, Signedness.UNSIGNED))
ui64 = ScalarType("ui64", IntegerType(64, Signedness.UNSIGNED))
bool_ = ScalarType("bool_", types.i1)

ELEMENTS = (f32, f64, i8, i16, i32, i64, ui8, ui16, ui32, ui64, bool_, f16, bf16)
NAMES = {element.type: element.name for element in ELEMENTS}
"""Element types as Python spells them."""


complex64 = ScalarType("complex64", types.complex_of(types.f32))
complex128 = ScalarType("complex128", types.complex_of(types.f64))
COMPLEX = (complex64, complex128)


def spelled() -> str:
    """All of them in messages: `lm.f32, lm.f64 or lm.bool_`."""
    *most, last = [f"lm.{element.name}" for element in ELEMENTS]
    return f"{', '.join(most)} or {last}"


def parallel(*bounds: int) -> range:
    """`range` of iterations that may run in any order or at once: `for i in lm.parallel(M)`."""
    return range(*bounds)


def grid(*sizes: int | Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Nested loops from 0, the last innermost: `for i, j in lm.grid(M, N)` or `lm.grid(C.shape)`."""
    spelled: Any = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], tuple | list) else sizes
    return itertools.product(*map(range, spelled))


def empty(shape: int | Sequence[int], dtype: ScalarType = f32) -> np.ndarray:
    """A local array of a kernel; its contents start undefined."""
    return np.empty(shape, dtype.dtype)


def zeros(shape: int | Sequence[int], dtype: ScalarType = f32) -> np.ndarray:
    """A local array of a kernel, of zeros."""
    return np.zeros(shape, dtype.dtype)

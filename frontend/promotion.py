"""Dtypes: which are supported, and what operations on them give. The rules are NumPy's own (NEP 50), asked from NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..dialects.element_types import TABLE, bf16, numpy_dtype
from ..errors import DTypeError

Token = np.dtype[Any] | type
"""What promotion sees of an operand: a dtype, or `int`, `float` or `complex` for a weakly typed Python number."""

FLOAT32, FLOAT64, INT32, INT64, BOOL = (np.dtype(n) for n in ("float32", "float64", "int32", "int64", "bool"))
COMPLEX64, COMPLEX128 = np.dtype("complex64"), np.dtype("complex128")
BFLOAT16 = numpy_dtype(bf16)
HALVES = tuple(row.dtype for row in TABLE if row.is_stored)
"""Dtypes that are only stored: what is computed from such arrays is computed in float32."""
_OWN = {row.dtype: row.dtype for row in TABLE}
NAMES = f"{', '.join(str(d) for d in _OWN if d not in HALVES)}, and for storage {' and '.join(map(str, HALVES))}"


def canonical(dtype: Any) -> np.dtype[Any]:
    """A supported dtype from anything NumPy takes for one.

    Raises:
        DTypeError: NumPy knows the dtype, the graph dialect does not.
    """
    try:
        result = np.dtype(dtype)
    except TypeError:
        raise DTypeError(f"{dtype!r} is not a dtype; supported are {NAMES}") from None
    # NumPy's own object of the dtype: native code compares by identity
    found = _OWN.get(result) or _OWN.get(result.newbyteorder("="))
    if found is None:
        raise DTypeError(f"dtype {result} is not supported; supported are {NAMES}: convert with .astype(...)")
    return found


def is_float_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether a supported dtype is one of floats, stored or computed with."""
    return dtype.kind == "f" or dtype == BFLOAT16


def is_complex_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of complex numbers."""
    return dtype.kind == "c"


def is_inexact_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether a supported dtype is one of floats or of complex numbers: what has derivatives."""
    return is_float_dtype(dtype) or is_complex_dtype(dtype)


def part_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of complex numbers; any other dtype itself."""
    return (FLOAT32 if dtype.itemsize == 8 else FLOAT64) if is_complex_dtype(dtype) else dtype


def is_integer_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of integers, signed or not; bool is none."""
    return dtype.kind in "iu"


def dtype_of(token: Token) -> np.dtype[Any]:
    """The dtype that holds values of a token."""
    return token if isinstance(token, np.dtype) else np.dtype(token)


@lru_cache(maxsize=4096)
def ufunc_dtypes(ufunc: np.ufunc, tokens: tuple[Token, ...]) -> tuple[tuple[np.dtype[Any], ...], np.dtype[Any]]:
    """Operand dtypes in which a NumPy ufunc computes, and its result dtype.

    >>> ufunc_dtypes(np.add, (np.dtype("float32"), float))
    ((dtype('float32'), dtype('float32')), dtype('float32'))
    """
    asked = tokens = tuple(map(_computed, tokens))
    if all(not isinstance(token, np.dtype) for token in tokens):
        asked = tuple(dtype_of(token) for token in tokens)  # NumPy: only Python numbers are the default dtypes
    try:
        *operands, result = ufunc.resolve_dtypes((*asked, *(None,) * ufunc.nout))[: ufunc.nin + 1]
    except TypeError:
        names = ", ".join(_name(token) for token in tokens)
        raise DTypeError(f"{ufunc.__name__} has no meaning for {names}, as in NumPy") from None
    return tuple(FLOAT32 if d in HALVES else d for d in operands), FLOAT32 if result in HALVES else result


def _name(token: Token) -> str:
    return str(token) if isinstance(token, np.dtype) else f"a Python {token.__name__}"


def _computed(token: Token) -> Token:
    """What an operand is computed in."""
    return FLOAT32 if token in HALVES else token


@lru_cache(maxsize=4096)
def _result_type(tokens: tuple[Token, ...]) -> np.dtype[Any]:
    samples = [token if isinstance(token, np.dtype) else token(1) for token in map(_computed, tokens)]
    return np.result_type(*samples)


def result_type(tokens: Sequence[Token]) -> np.dtype[Any]:
    """The common dtype of operands, as `np.result_type`."""
    return _result_type(tuple(tokens))

"""Dtypes: which are supported, and what operations on them give. The rules are NumPy's own (NEP 50), asked from NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from ..errors import DTypeError

Token = np.dtype[Any] | type
"""What promotion sees of an operand: a dtype, or `int` or `float` for a weakly typed Python number."""

FLOAT32, FLOAT64, INT32, INT64, BOOL = (np.dtype(n) for n in ("float32", "float64", "int32", "int64", "bool"))
FLOAT16, BFLOAT16 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
HALVES = (FLOAT16, BFLOAT16)
"""Dtypes that are only stored: what is computed from such arrays is computed in float32."""
SUPPORTED = (FLOAT32, FLOAT64, INT32, INT64, BOOL, *HALVES)
NAMES = "float32, float64, int32, int64, bool, and for storage float16 and bfloat16"
_OWN = {dtype: dtype for dtype in SUPPORTED}

# what NumPy answers with where it goes below the supported types: the next wider one
_WIDER = {
    np.dtype(np.float16): FLOAT32,
    np.dtype(np.int8): INT32,
    np.dtype(np.int16): INT32,
    np.dtype(np.uint8): INT32,
    np.dtype(np.uint64): INT64,
}


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
        *operands, result = ufunc.resolve_dtypes((*asked, *(None,) * ufunc.nout))[: ufunc.nin + 1]  # pyright: ignore
    except TypeError:
        names = ", ".join(_name(token) for token in tokens)
        raise DTypeError(f"{ufunc.__name__} has no meaning for {names}, as in NumPy") from None
    return tuple(_WIDER.get(d, d) for d in operands), _WIDER.get(result, result)


def _name(token: Token) -> str:
    return str(token) if isinstance(token, np.dtype) else f"a Python {token.__name__}"


def _computed(token: Token) -> Token:
    """What an operand is computed in."""
    return FLOAT32 if token in HALVES else token


@lru_cache(maxsize=4096)
def _result_type(tokens: tuple[Token, ...]) -> np.dtype[Any]:
    samples = [token if isinstance(token, np.dtype) else token(1) for token in map(_computed, tokens)]
    result = np.result_type(*samples)
    return _WIDER.get(result, result)


def result_type(tokens: Sequence[Token]) -> np.dtype[Any]:
    """The common dtype of operands, as `np.result_type`."""
    return _result_type(tuple(tokens))

"""Dtypes: which are supported, and the result dtypes of operations on them.

By default the rules are NumPy's own (NEP 50), and NumPy is called for them. `lm.config(promotion=)` chooses jax's lattice, or
the strict one (`promotion_lattice.py`). Dtypes that NumPy does not have, as bfloat16, are promoted by jax's lattice where NumPy
has no rule. Storage-only dtypes are computed in another dtype (`computed`); `stored_result` says to which one results are
rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...dialects.element_types import TABLE, Kind, numpy_dtype
from ...errors import DTypeError
from .config import Options, config
from .promotion_lattice import least_above

Token = np.dtype[Any] | type
"""The type of an operand for promotion: a dtype, or `int`, `float` or `complex` for a weakly typed Python number."""

FLOAT32, FLOAT64, INT32, INT64, BOOL = (np.dtype(n) for n in ("float32", "float64", "int32", "int64", "bool"))
COMPLEX64, COMPLEX128 = np.dtype("complex64"), np.dtype("complex128")
float0 = np.dtype([("float0", np.void, 0)])
"""Of tangents and gradients of integers, which have no elements."""
FLOAT16 = np.dtype(np.float16)
STORED = tuple(row.dtype for row in TABLE if row.is_stored)
"""Storage-only dtypes: arithmetic is done in another one."""
_COMPUTED = {row.dtype: numpy_dtype(row.computed_in) for row in TABLE if row.computed_in is not None}
_NARROWED = {
    np.dtype(f"{kind}{2 * size}"): np.dtype(f"{kind}{size}") for kind, size in (("i", 4), ("u", 4), ("f", 4), ("c", 8))
}
"""The replacements of dtypes of 64 bits where these are off."""
_WEAK = {int: INT64, float: FLOAT64, complex: COMPLEX128}
_OWN = {row.dtype: row.dtype for row in TABLE}
_INTEGERS = frozenset(row.dtype for row in TABLE if row.kind in (Kind.SIGNED, Kind.UNSIGNED))
_FLOATS = frozenset(row.dtype for row in TABLE if row.kind is Kind.FLOAT)
NAMES = f"{', '.join(str(d) for d in _OWN if d not in STORED)}, and for storage {' and '.join(map(str, STORED))}"


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
    return narrowed(found)


def is_float_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether a supported dtype is one of floats, stored or computed with."""
    return dtype in _FLOATS


def is_complex_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of complex numbers."""
    return dtype.kind == "c"


def is_inexact_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether a supported dtype is one of floats or of complex numbers, which have derivatives."""
    return is_float_dtype(dtype) or is_complex_dtype(dtype)


def part_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of complex numbers; any other dtype itself."""
    return (FLOAT32 if dtype.itemsize == 8 else FLOAT64) if is_complex_dtype(dtype) else dtype


def is_integer_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of integers, signed or not; bool is none."""
    return dtype in _INTEGERS


def dtype_of(token: Token) -> np.dtype[Any]:
    """The dtype that holds values of a token."""
    return token if isinstance(token, np.dtype) else np.dtype(token)


def computed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which arithmetic is done on values of one: itself, but for storage-only dtypes."""
    return _COMPUTED.get(dtype, dtype)


def narrowed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that stands for one: that of 32 bits where `config.x64` is off."""
    return dtype if config.x64 else _NARROWED.get(dtype, dtype)


def inexact(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which functions with float results are computed: of integers float64, in jax float32 for most."""
    if is_inexact_dtype(dtype):
        return computed(dtype)
    return FLOAT32 if config.promotion == "jax" and dtype.itemsize < 8 else narrowed(FLOAT64)


# --------------------------------------------------------------------------------------------------------------------
# Common dtypes


@lru_cache(maxsize=4096)
def _common(tokens: tuple[Token, ...], options: Options) -> Token:
    """The common dtype of operands, which may be storage-only; of Python numbers alone a Python type.

    Raises:
        DTypeError: there is none.
    """
    if options.promotion == "numpy":
        found = _common_as_numpy(tokens)
    else:
        found = _least(tokens, options)
    if found is None:
        shown = " and ".join(dict.fromkeys(_name(token) for token in tokens))
        rule = (
            "strict promotion takes no operands of several dtypes" if options.promotion == "strict" else "there is none above"
        )
        raise DTypeError(f"{shown} have no common dtype, {rule}: convert with .astype(...)")
    return found


def _least(tokens: Sequence[Token], options: Options) -> Token | None:
    """By the lattices."""
    names = tuple(token.name if isinstance(token, np.dtype) else token.__name__ for token in tokens)
    found = least_above(names, options.promotion == "strict", options.x64)
    return None if found is None else _BY_NAME[found]


def _common_as_numpy(tokens: Sequence[Token]) -> Token | None:
    """As NumPy; of dtypes that it does not have by jax's lattice, where it says nothing, and beside Python numbers."""
    dtypes = [token for token in tokens if isinstance(token, np.dtype)]
    weak = [token for token in tokens if not isinstance(token, np.dtype)]
    if not dtypes:
        return max(weak, key=list(_WEAK).index)
    if all(dtype not in _FOREIGN for dtype in dtypes):
        return np.result_type(*dtypes, *(token(1) for token in weak))
    try:
        return np.result_type(*dtypes) if not weak else _least((np.result_type(*dtypes), *weak), Options("jax"))
    except TypeError:
        return _least(tokens, Options("jax"))


_FOREIGN = frozenset(dtype for dtype in STORED if dtype.isbuiltin != 1)
"""Dtypes that NumPy does not have."""
_BY_NAME: dict[str, Token] = {**{row.dtype.name: row.dtype for row in TABLE}, **{kind.__name__: kind for kind in _WEAK}}


def result_type(tokens: Sequence[Token]) -> np.dtype[Any]:
    """The common dtype in which operands are computed: as `np.result_type`, where the promotion is NumPy's."""
    return computed(common_dtype(tokens))


def common_dtype(tokens: Sequence[Token]) -> np.dtype[Any]:
    """The common dtype of operands, which may be storage-only."""
    return _narrowed_of(tuple(tokens), config.options)


def _narrowed_of(tokens: tuple[Token, ...], options: Options) -> np.dtype[Any]:
    """The common dtype; without dtypes of 64 bits one of 32, unless functions of ours have computed in 64 themselves."""
    found = dtype_of(_common(tokens, options))
    return found if options.x64 or any(token in _NARROWED for token in tokens) else _NARROWED.get(found, found)


def weak_result(tokens: Sequence[Token]) -> bool:
    """Whether a result of these operands is weakly typed: they are Python numbers all, or, in jax, the common type is one."""
    options = config.options
    if options.promotion == "jax":
        return not isinstance(_common(tuple(tokens), options), np.dtype)
    for token in tokens:
        if isinstance(token, np.dtype):
            return False
    return True


# --------------------------------------------------------------------------------------------------------------------
# Universal functions


def ufunc_dtypes(ufunc: np.ufunc, tokens: tuple[Token, ...]) -> tuple[tuple[np.dtype[Any], ...], np.dtype[Any]]:
    """Operand dtypes in which a ufunc computes, and its result dtype, none of them storage-only.

    >>> ufunc_dtypes(np.add, (np.dtype("float32"), float))
    ((dtype('float32'), dtype('float32')), dtype('float32'))
    """
    return _ufunc_dtypes(ufunc, tokens, config.options)


@lru_cache(maxsize=4096)
def _ufunc_dtypes(
    ufunc: np.ufunc, tokens: tuple[Token, ...], options: Options
) -> tuple[tuple[np.dtype[Any], ...], np.dtype[Any]]:
    asked = tokens
    if options.promotion != "numpy" or any(token in _FOREIGN for token in tokens):
        asked = (computed(_narrowed_of(tokens, options)),) * len(tokens)
    elif all(not isinstance(token, np.dtype) for token in tokens):
        asked = tuple(dtype_of(token) for token in tokens)  # NumPy: only Python numbers are the default dtypes
    asked = tuple(FLOAT32 if token == FLOAT16 else token for token in asked)
    operands, result = _resolved(ufunc, asked)
    if options.promotion == "jax" and not is_inexact_dtype(dtype_of(asked[0])) and is_float_dtype(operands[0]):
        operands, result = _resolved(ufunc, (inexact(dtype_of(asked[0])),) * len(asked))
    if options.x64 or any(token in _NARROWED for token in tokens):
        return operands, result
    return tuple(_NARROWED.get(dtype, dtype) for dtype in operands), _NARROWED.get(result, result)


def _resolved(ufunc: np.ufunc, tokens: tuple[Token, ...]) -> tuple[tuple[np.dtype[Any], ...], np.dtype[Any]]:
    """NumPy's dtypes of computation and result; float32 instead of float16."""
    try:
        *operands, result = ufunc.resolve_dtypes((*tokens, *(None,) * ufunc.nout))[: ufunc.nin + 1]
    except TypeError:
        names = ", ".join(_name(token) for token in tokens)
        raise DTypeError(f"{ufunc.__name__} has no meaning for {names}, as in NumPy") from None
    return tuple(map(computed, operands)), computed(result)


def _name(token: Token) -> str:
    return str(token) if isinstance(token, np.dtype) else f"a Python {token.__name__}"


# --------------------------------------------------------------------------------------------------------------------
# Results of storage-only dtypes


def stored_result(tokens: Sequence[Token], promotes: bool) -> np.dtype[Any] | None:
    """The storage-only dtype to which results of a function are rounded; None: they are not.

    Args:
        tokens: of all arguments of the function.
        promotes: whether all of them are operands. Integers of other functions may be indices: only their floats decide, if
            they have any.
    """
    if not any(token in STORED for token in tokens):
        return None
    if not promotes and any(isinstance(token, np.dtype) and is_inexact_dtype(token) for token in tokens):
        tokens = [token for token in tokens if isinstance(token, np.dtype) and is_inexact_dtype(token)]
    elif not promotes:
        tokens = [token for token in tokens if token in STORED]
    dtype = common_dtype(tokens)
    return dtype if dtype in STORED else None

"""NumPy's casts with one rounding.

ml_dtypes converts float64 and integers to its floats through float32, so that numbers which float32 rounds to a tie are rounded
twice.
"""

from __future__ import annotations

import numpy as np

_EXACT_BITS = 53
"""Width of the integers that float64 represents exactly, in bits."""


def cast(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`x.astype(dtype)`, rounded once, to nearest even, whatever the dtypes.

    >>> import ml_dtypes
    >>> tie, above = 1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-40
    >>> cast(np.array([tie, above]), np.dtype(ml_dtypes.bfloat16)).tolist()
    [1.0, 1.0078125]
    """
    if dtype.isbuiltin != 1 and not _is_integer(dtype):
        if x.dtype.kind in "iu" and x.dtype.isbuiltin == 1:
            x = _whole(x)
        if x.dtype == np.float64:
            x = to_odd(x)
    return np.asarray(x.astype(dtype))


def _is_integer(dtype: np.dtype) -> bool:
    """Whether a dtype that is not NumPy's is one of integers, whose kind is the same as that of floats."""
    return "int" in dtype.name


def to_odd(values: np.ndarray) -> np.ndarray:
    """Numbers of float64 in float32, rounded to odd: toward zero, and the last bit says whether anything was lost.

    What is then rounded to nearest in a format with at least two bits less is what one rounding gives (S. Boldo, G. Melquiond,
    "When double rounding is odd", 2005).
    """
    with np.errstate(all="ignore"):
        near = values.astype(np.float32)
        back = near.astype(np.float64)
        words = np.atleast_1d(near).view(np.uint32).reshape(near.shape)
        lost = (back != values) & ~np.isnan(values)
        words = np.where(lost, (words - (np.abs(back) > np.abs(values)).astype(np.uint32)) | np.uint32(1), words)
        return np.asarray(words, np.uint32).view(np.float32)


def _whole(x: np.ndarray) -> np.ndarray:
    """Integers in float64, rounded to odd: bits of long ones that do not fit are 0, but the last bit says if any was set."""
    if x.dtype.itemsize == 8:
        long = x >= 1 << _EXACT_BITS if x.dtype.kind == "u" else (x >= 1 << _EXACT_BITS) | (x <= -1 << _EXACT_BITS)
        low = x & x.dtype.type(0x7FF)
        x = np.where(long, (x ^ low) | np.where(low != 0, x.dtype.type(0x400), x.dtype.type(0)), x)
    return x.astype(np.float64)

"""`packbits` and `unpackbits`: eight truth values in a byte."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api import array_function, lift, lift_as
from ...api.dtypes import is_integer_dtype
from ...api.errors import DTypeError, ShapeError
from .axes_and_shapes import normalize_axis, slice_axis, static_int
from .bits import left_shift, right_shift
from .create import full
from .join import concatenate
from .pad import pad
from .reduce import sum as sum_of
from .shape import expand_dims, moveaxis, ravel, reshape
from .ufuncs import not_equal


def _shifts(bitorder: str) -> Any:
    if bitorder not in ("big", "little"):
        raise ShapeError(f"bitorder must be 'big' or 'little', got {bitorder!r}")
    return np.arange(8, dtype=np.uint8)[:: -1 if bitorder == "big" else 1]


@array_function
def packbits(a: Any, /, axis: int | None = None, bitorder: str = "big") -> Any:
    """`np.packbits`: eight truth values of an axis in one uint8, zeros behind the last."""
    x = lift(a)
    if not (is_integer_dtype(x.dtype) or x.dtype.kind == "b"):
        raise DTypeError(f"packbits takes integers or bools, got {x.dtype}")
    x, dim = (ravel(x), 0) if axis is None else (x, normalize_axis(axis, x.ndim))
    bits = lift_as(not_equal(moveaxis(x, dim, -1), 0), np.dtype(np.uint8))
    bits = concatenate([bits, full((*bits.shape[:-1], -bits.shape[-1] % 8), 0, bits.dtype)], -1)
    groups = reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    return moveaxis(sum_of(left_shift(groups, _shifts(bitorder)), -1, np.uint8), -1, dim)


@array_function
def unpackbits(a: Any, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Any:
    """`np.unpackbits`: the bits of each uint8 along an axis; `count` of them, zeros where there are fewer."""
    x = lift(a)
    if x.dtype != np.uint8:
        raise DTypeError(f"unpackbits takes uint8, got {x.dtype}")
    x, dim = (ravel(x), 0) if axis is None else (x, normalize_axis(axis, x.ndim))
    x = moveaxis(x, dim, -1)
    bits = right_shift(expand_dims(x, -1), _shifts(bitorder)) & np.uint8(1)
    bits = reshape(bits, (*x.shape[:-1], 8 * x.shape[-1]))
    have = bits.shape[-1]
    wanted = have if count is None else static_int(count, "count")
    wanted = max(0, have + wanted) if wanted < 0 else wanted
    bits = slice_axis(bits, bits.ndim - 1, 0, min(wanted, have))
    return moveaxis(pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, max(0, wanted - have))]), -1, dim)

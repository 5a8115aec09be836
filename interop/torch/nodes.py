"""Calls of ops in a graph of torch, the table of functions that compute them, and the arguments that they share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...api import Tracer
from ...api.dtypes import COMPLEX64, COMPLEX128, FLOAT32, INT64, is_complex_dtype, is_inexact_dtype
from ...api.sizes import Size
from ...library.numpy import namespace as lnp
from .errors import NeedsSize, TorchError, UnsupportedOp

Dtype = np.dtype[Any]


@dataclass(frozen=True)
class Call:
    """One call of an op.

    Attributes:
        op: its name without namespace and overload.
        overload: the name of the overload, "default" if it has none.
        dtypes: the element types of its results, None for a result that is no array.
        strides: where torch places the elements of the array arguments, by their position.
    """

    op: str
    overload: str
    dtypes: tuple[Dtype | None, ...]
    strides: dict[int, tuple[Any, ...]]

    @property
    def dtype(self) -> Dtype:
        """The element type of the only result, or of the first."""
        found = self.dtypes[0] if self.dtypes else None
        if found is None:
            raise UnsupportedOp("torch does not say of which element type the result is")
        return found


HANDLERS: dict[str, Callable[..., Any]] = {}
"""By `name.overload`, or by name for all overloads: functions of the call and the arguments of ATen's schema."""


def op(*names: str) -> Any:
    """Make a function the one that computes ops of these names."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            HANDLERS[name] = function
        return function

    return register


# --------------------------------------------------------------------------------------------------------------------
# Element types


def _category(dtype: Dtype) -> int:
    """bool, integers, floats, complex numbers."""
    if dtype.kind == "b":
        return 0
    return 3 if is_complex_dtype(dtype) else 2 if is_inexact_dtype(dtype) else 1


def _promoted(x: Dtype, y: Dtype) -> Dtype:
    """torch.promote_types: of two categories the higher one, whatever the widths."""
    if x == y:
        return x
    low, high = sorted((x, y), key=_category)
    if _category(high) == 3:
        wide = high == COMPLEX128 or low in (np.dtype(np.float64), COMPLEX128)
        return COMPLEX128 if wide else COMPLEX64
    if _category(low) != _category(high):
        return high
    if {low.name, high.name} == {"float16", "bfloat16"}:
        return FLOAT32
    return np.promote_types(low, high)


def promoted(*values: Any) -> Dtype:
    """The element type in which torch computes with these: arrays of dims decide, then those of none, then Python's numbers,
    unless a later kind is of a higher category."""
    found: list[Dtype | None] = [None, None, None]
    for x in values:
        if isinstance(x, bool | np.bool_):
            rank, dtype = 2, np.dtype(bool)
        elif isinstance(x, int | Size):
            rank, dtype = 2, INT64
        elif isinstance(x, float):
            rank, dtype = 2, FLOAT32
        elif isinstance(x, complex):
            rank, dtype = 2, COMPLEX64
        else:
            rank, dtype = int(x.ndim == 0), np.dtype(x.dtype)
        have = found[rank]
        found[rank] = dtype if have is None else _promoted(have, dtype)
    result: Dtype | None = None
    for dtype in found:
        if result is None or (dtype is not None and _category(dtype) > _category(result)):
            if result is not None and dtype is not None and _category(dtype) == 3:
                dtype = _promoted(result, dtype)
            result = dtype or result
    if result is None:
        raise TorchError("no operands")
    return result


def is_constant(x: Any) -> bool:
    """Whether a value is an array that is known while the program is traced: tracers pass for arrays, too."""
    return isinstance(x, np.ndarray) and not isinstance(x, Tracer)


def array(x: Any, dtype: Any = None) -> Any:
    """An array, a number or a size as an array of an element type."""
    if isinstance(x, Size):
        return lnp.asarray(x, dtype=INT64).astype(dtype or INT64)
    if isinstance(x, bool | int | float | complex):
        dtype = promoted(x) if dtype is None else dtype
        return np.asarray(x).astype(dtype)
    return x if dtype is None or x.dtype == dtype else x.astype(dtype)


def common(*values: Any) -> list[Any]:
    """Values as arrays of the element type in which torch computes with them."""
    dtype = promoted(*values)
    return [array(x, dtype) for x in values]


# --------------------------------------------------------------------------------------------------------------------
# Sizes and axes


def known(*sizes: Any) -> bool:
    """Whether all of these are numbers, none a symbolic size."""
    return not any(isinstance(n, Size) for n in sizes)


def need_known(what: str, *sizes: Any) -> None:
    """
    Raises:
        NeedsSize: one is symbolic.
    """
    for n in sizes:
        if not known(n):
            raise NeedsSize(f"{what} needs a known size, got {n}")


def axis_of(dim: int, rank: int) -> int:
    """A dim counted from the front.

    Raises:
        TorchError: it is none of the array's.
    """
    if not -max(rank, 1) <= dim < max(rank, 1):
        raise TorchError(f"dim {dim} is none of an array of {rank} dims")
    return int(dim) % rank if rank else 0


def axes_of(dims: Any, rank: int) -> tuple[int, ...]:
    """Dims counted from the front; None and an empty list are all of them."""
    if dims is None or (isinstance(dims, Sequence) and not dims):
        return tuple(range(rank))
    chosen = [dims] if isinstance(dims, int) else dims
    return tuple(axis_of(d, rank) for d in chosen) if rank else ()


def spread(value: Any, rank: int) -> tuple[Any, ...]:
    """A number for each spatial dim, of a list that may have one for all."""
    values = tuple(value) if isinstance(value, Sequence) else (value,)
    if len(values) == 1:
        values *= rank
    if len(values) != rank:
        raise TorchError(f"{list(values)} for {rank} spatial dims")
    return values


def along(rank: int, axis: int, index: Any) -> tuple[Any, ...]:
    """The index that chooses along one axis."""
    return (*[slice(None)] * axis, index, *[slice(None)] * (rank - axis - 1))


def vector(x: Any, axis: int, rank: int) -> Any:
    """A vector as an array whose other dims have size 1."""
    return x.reshape(tuple(-1 if d == axis else 1 for d in range(rank)))


def lowest(dtype: Any) -> Any:
    """The least number of an element type: the identity of a maximum."""
    return _limit(dtype, -1)


def highest(dtype: Any) -> Any:
    """The greatest number of an element type: the identity of a minimum."""
    return _limit(dtype, 1)


def _limit(dtype: Any, sign: int) -> Any:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.asarray(sign > 0)
    if is_inexact_dtype(kind):
        return np.asarray(sign * math.inf).astype(kind)
    return np.asarray(np.iinfo(kind).max if sign > 0 else np.iinfo(kind).min, kind)

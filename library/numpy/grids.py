"""lamina.numpy: grids of coordinates, and conversions of indices. Results of sizes alone are known while tracing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api import array_function, concrete_array, is_traced, lift, lift_as
from ...api.dtypes import INT64, canonical
from ...api.errors import ShapeError, TracingError
from ...api.sizes import Size
from .axes_and_shapes import reshape_tracer, static_shape
from .complex import iscomplexobj
from .create import arange, linspace, meshgrid
from .delegated import ours
from .join import concatenate, stack
from .logic import astype, clip, where
from .math import log10, power
from .shape import atleast_1d, broadcast_arrays, moveaxis, shape
from .ufuncs import absolute, sign


def _points(part: slice) -> Any:
    """The numbers that a slice names; an imaginary step is how many there are, the limits included."""
    start = 0 if part.start is None else part.start
    if isinstance(part.step, complex):
        return linspace(start, part.stop, int(abs(part.step)))
    return arange(start, part.stop, 1 if part.step is None else part.step)


class _Grid:
    """`mgrid` and `ogrid`: coordinates of a grid that slices describe."""

    def __init__(self, sparse: bool):
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _points(key)
        return _coordinates([_points(part) for part in key], self.sparse)


def _coordinates(axes: Sequence[Any], sparse: bool) -> Any:
    if not axes:
        return () if sparse else np.zeros((0,), int)
    if sparse:
        return tuple(x.reshape([-1 if k == d else 1 for k in range(len(axes))]) for d, x in enumerate(axes))
    return stack(meshgrid(*axes, indexing="ij"))


mgrid, ogrid = _Grid(sparse=False), _Grid(sparse=True)


class _Joined:
    """`r_` and `c_`: arrays, numbers and slices joined along an axis."""

    def __init__(self, columns: bool):
        self.columns = columns

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, str) for part in parts):
            raise ShapeError(f"words in an index of {'c_' if self.columns else 'r_'} are not available: use concatenate")
        arrays = [atleast_1d(_points(part) if isinstance(part, slice) else part) for part in parts]
        if not self.columns:
            return concatenate(arrays)
        return concatenate([x.reshape(-1, 1) if x.ndim == 1 else x for x in arrays], -1)


r_, c_ = _Joined(columns=False), _Joined(columns=True)


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """`np.indices`: the index along each dim of each element."""
    return _coordinates([arange(n, dtype=dtype) for n in static_shape(dimensions)], sparse)


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """`np.fromfunction`: the value of a function of the index along each dim."""
    coordinates = indices(shape, dtype)
    return function(*(coordinates[d] for d in range(len(coordinates))), **kwargs)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """`np.geomspace`: numbers whose quotients are equal, between limits of one sign; the limits are exact."""
    start, stop = broadcast_arrays(start, stop)
    is_complex = iscomplexobj(start) or iscomplexobj(stop)
    wide = canonical(np.complex128 if is_complex else np.float64)
    start, stop = astype(start, wide), astype(stop, wide)
    phase = sign(start)
    first, last = (start / phase, stop / phase) if is_complex else (absolute(start), absolute(stop))
    y = phase * power(10.0, linspace(log10(first), log10(last), num, endpoint))
    place = arange(num).reshape((num,) + (1,) * (y.ndim - 1))
    y = where(place == 0, start, y)
    if endpoint and num > 1:
        y = where(place == num - 1, stop, y)
    return moveaxis(astype(y, wide if dtype is None else canonical(dtype)), 0, axis)


# --------------------------------------------------------------------------------------------------------------------
# Indices that are known


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """`np.tril_indices`."""
    return ours(np.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """`np.triu_indices`."""
    return ours(np.triu_indices(n, k, m))


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """`np.diag_indices`, each an array of its own."""
    return ours(tuple(np.arange(n) for _ in range(ndim)))


def _matrix(arr: Any, what: str) -> tuple[int, ...]:
    sizes = shape(arr)
    if len(sizes) != 2:
        raise ShapeError(f"{what} needs two dims, got shape {list(sizes)}")
    return sizes


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """`np.tril_indices_from`."""
    rows, columns = _matrix(arr, "tril_indices_from")
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """`np.triu_indices_from`."""
    rows, columns = _matrix(arr, "triu_indices_from")
    return triu_indices(rows, k, columns)


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """`np.diag_indices_from`."""
    sizes = shape(arr)
    if len(sizes) < 2 or len(set(sizes)) != 1:
        raise ShapeError(f"diag_indices_from needs two or more dims of one size, got shape {list(sizes)}")
    return (arange(sizes[0]),) * len(sizes) if isinstance(sizes[0], Size) else diag_indices(sizes[0], len(sizes))


def ix_(*args: Any) -> tuple[Any, ...]:
    """`np.ix_`: index arrays for the product of lists of indices."""
    if not is_traced(args):
        return tuple(map(np.array, np.ix_(*args)))
    return tuple(x.reshape([-1 if k == d else 1 for k in range(len(args))]) for d, x in enumerate(map(atleast_1d, args)))


# --------------------------------------------------------------------------------------------------------------------
# Indices in flat arrays


@array_function
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """`np.unravel_index`; traced indices out of range count as the first or the last one.

    Args:
        order: "C", or "F" where the first index changes fastest.

    Raises:
        ShapeError: a known index is out of range, or the order is none of these.
    """
    _check_order(order)
    sizes = static_shape(shape)
    count = math.prod(sizes)
    if not is_traced((indices,)):
        known = concrete_array(indices)
        if ((known < 0) | (known >= count)).any():
            raise ShapeError(f"unravel_index: an index of {indices!r:.40} is out of range for {count} elements")
    rest = clip(lift_as(indices, INT64), 0, max(count - 1, 0))
    found: list[Any] = []
    for n in sizes if order == "F" else reversed(sizes):
        found.append(rest % n)
        rest = rest // n
    return tuple(found if order == "F" else reversed(found))


def _check_order(order: str) -> None:
    if order not in ("C", "F"):
        raise ShapeError(f"order must be 'C' or 'F', got {order!r}")


@array_function
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """`np.ravel_multi_index`, with mode "raise" for known indices alone, "clip" or "wrap", or one of these a dim.

    Raises:
        ShapeError: a known index is out of range, or there is not one for each dim.
        TracingError: mode "raise" with traced indices.
    """
    sizes = static_shape(dims)
    if len(multi_index) != len(sizes):
        raise ShapeError(f"ravel_multi_index needs an index for each dim of {list(sizes)}, got {len(multi_index)}")
    _check_order(order)
    modes = [mode] * len(sizes) if isinstance(mode, str) else list(mode)
    if len(modes) != len(sizes) or not {*modes} <= {"raise", "clip", "wrap"}:
        raise ShapeError(f"mode must be one of raise, clip, wrap, or one of them a dim, got {mode!r}")
    for k, (n, how) in enumerate(zip(sizes, modes, strict=True)):
        if how == "raise":
            if is_traced((multi_index[k],)):
                raise TracingError("traced indices cannot be checked: use mode='clip' or mode='wrap'")
            known = concrete_array(multi_index[k])
            if ((known < 0) | (known >= n)).any():
                raise ShapeError(f"ravel_multi_index: index {k}, {multi_index[k]!r:.40}, is out of range for size {n}")
    total: Any = reshape_tracer(lift(np.int64(0)), ())
    for k in reversed(range(len(sizes))) if order == "F" else range(len(sizes)):
        n, index = sizes[k], lift_as(multi_index[k], INT64)
        total = total * n + (index % n if modes[k] == "wrap" else clip(index, 0, n - 1))
    return total

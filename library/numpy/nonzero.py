"""lamina.numpy: which elements are not zero. The size of a result that depends on values is given as `size=` while tracing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...api import Tracer, array_function, broadcast_tracer, concrete_array, is_traced, lift, lift_as, located
from ...api.dtypes import INT64
from ...api.errors import ShapeError, TracingError
from .at import At
from .axes_and_shapes import iota, normalize_axis, static_int
from .create import zeros
from .delegated import ours
from .elementwise import compare
from .grids import unravel_index
from .index import take
from .join import stack
from .logic import as_bool, where
from .reduce import sum as sum_of
from .scan import cumsum
from .shape import ravel, shape


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`np.nonzero`: the index along each dim of the nonzero elements.

    Args:
        a: an array.
        size: how many indices are returned; needed where `a` is traced.
        fill_value: the rest of the result if there are fewer, 0 by default; one number, or one a dim.

    Raises:
        TracingError: `a` is traced and there is no size.
    """
    if size is not None:
        return _nonzero(a, static_int(size, "size"), fill_value)
    if is_traced((a,)):
        rule = "the number of elements that are not zero depends on values: give size=, or use where(mask, x, y)"
        raise located(TracingError(rule))
    return ours(np.nonzero(concrete_array(a)))


def _flat_places(a: Any, size: int) -> tuple[Tracer, Tracer]:
    """The indices of the first `size` nonzero elements of the flat array (0 where there are none left), and which there are."""
    mask = ravel(as_bool(a))
    if mask.size == 0 or size <= 0:
        return broadcast_tracer(lift_as(0, INT64), (max(size, 0),)), broadcast_tracer(lift(np.False_), (max(size, 0),))
    order = lift_as(cumsum(mask), INT64)
    target = where(mask, order - 1, size)  # beyond the end: left out
    places = At(broadcast_tracer(lift_as(0, INT64), (size,)))[target].set(iota(mask.shape, 0, INT64), mode="drop")
    return places, compare("lt", iota((size,), 0, INT64), broadcast_tracer(lift_as(sum_of(mask), INT64), (size,)))


@array_function
def _nonzero(a: Any, size: int, fill_value: Any) -> Any:
    x = lift(a)
    if x.ndim == 0:
        raise ShapeError("nonzero needs at least one dim: use atleast_1d")
    places, there = _flat_places(x, size)
    fills = fill_value if isinstance(fill_value, tuple | list) else [0 if fill_value is None else fill_value] * x.ndim
    found = unravel_index(places, x.shape) if x.size else [places] * x.ndim
    return tuple(where(there, index, fill) for index, fill in zip(found, fills, strict=True))


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`np.flatnonzero`: the indices of nonzero elements in the flat array; `size` and `fill_value` as for `nonzero`."""
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`np.argwhere`: a row of indices for each element that is not zero; `size` and `fill_value` as for `nonzero`."""
    if not shape(a):  # a row without indices, or none
        return zeros((int(bool(a)) if size is None else static_int(size, "size"), 0), INT64)
    return stack(nonzero(a, size=size, fill_value=fill_value), -1)


@array_function
def compress(condition: Any, a: Any, axis: int | None = None, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """`np.compress`: the slices along an axis where a condition holds.

    With `size`, that many: `fill_value` stands for the rest. A traced condition needs a size.

    Raises:
        ShapeError: the condition is no vector, or longer than the axis.
        TracingError: the condition is traced and there is no size.
    """
    x = lift(a)
    if axis is None:
        x, axis = ravel(x), 0
    dim, chosen = normalize_axis(axis, x.ndim), lift(condition)
    if chosen.ndim != 1 or chosen.size > x.shape[dim]:
        raise ShapeError(f"compress needs a vector of at most {x.shape[dim]} conditions, got shape {list(chosen.shape)}")
    if size is None:
        if is_traced((condition,)):
            raise TracingError("the number of elements where a condition holds depends on values: give size=")
        return take(x, np.flatnonzero(concrete_array(condition)), dim)
    places, there = _flat_places(chosen, static_int(size, "size"))
    there = there.reshape([-1 if k == dim else 1 for k in range(x.ndim)])
    return where(there, take(x, places, dim), lift_as(fill_value, x.dtype))


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """`np.extract`: the elements where a condition holds; `size` and `fill_value` as for `compress`.

    The longer one of the condition and the array is cut.
    """
    return compress(ravel(condition)[: math.prod(shape(arr))], arr, size=size, fill_value=fill_value)

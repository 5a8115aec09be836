"""lamina.numpy: arrays with elements inserted, deleted or replaced, and choices between arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api import (
    Tracer,
    array_function,
    broadcast_tracer,
    changing,
    concrete_array,
    edit,
    is_traced,
    lift,
    lift_as,
    lift_into,
    operand,
    token,
)
from ...api.dtypes import INT64, is_integer_dtype, result_type
from ...api.errors import DTypeError, ShapeError, SizeError, TracingError
from ...api.sizes import Size
from .at import At
from .axes_and_shapes import concat_tracers, nonnegative, normalize_axis, reshape_tracer, slice_axis, static_shape
from .create import arange, diag
from .elementwise import broadcast_shapes
from .index import counted, index_array, take, within
from .join import concatenate, tile
from .logic import as_bool, clip, where
from .nonzero import compress
from .scan import cumsum
from .shape import moveaxis, ravel
from .sort import searchsorted
from .ufuncs import remainder


@array_function
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """`np.unstack`: the slices along an axis."""
    x = lift(x)
    dim = normalize_axis(axis, x.ndim)
    rest = x.shape[:dim] + x.shape[dim + 1 :]
    return tuple(reshape_tracer(slice_axis(x, dim, k, k + 1), rest) for k in range(x.shape[dim]))


@array_function
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """`np.append`."""
    return concatenate([arr, values], axis)


@array_function
def resize(a: Any, new_shape: Any) -> Any:
    """`np.resize`: the elements in their order, again and again."""
    x, sizes = ravel(a), nonnegative(static_shape(new_shape))
    count = math.prod(sizes)
    if x.size == 0:
        return broadcast_tracer(lift_as(0, x.dtype), sizes)
    if isinstance(x.size, Size):
        return reshape_tracer(take(x, arange(count) % x.size, 0), sizes)
    return reshape_tracer(slice_axis(tile(x, -(-count // x.size)), 0, 0, count), sizes)


@array_function
def block(arrays: Any) -> Any:
    """`np.block`: arrays from nested lists of blocks."""

    def depth(x: Any) -> int:
        return 1 + max(map(depth, x)) if isinstance(x, list) else 0

    def rank(x: Any) -> int:
        return max(map(rank, x)) if isinstance(x, list) else lift(x).ndim

    def join(x: Any, level: int) -> Any:
        if isinstance(x, list):
            if not x:
                raise ShapeError("block needs at least one array in each list")
            return concatenate([join(item, level - 1) for item in x], -level)
        x = operand(x)
        traced = lift(x)
        # a number keeps its weak type
        return traced if traced.ndim == dims else reshape_tracer(traced, (1,) * (dims - traced.ndim) + traced.shape)

    dims = max(depth(arrays), rank(arrays))
    return join(arrays, depth(arrays))


@array_function
def diagflat(v: Any, k: int = 0) -> Any:
    """`np.diagflat`: a matrix with the elements in its diagonal `k`."""
    return diag(ravel(v), k)


# --------------------------------------------------------------------------------------------------------------------
# At static indices


def _places(function: Callable[[], Any], what: str) -> Any:
    """NumPy's result for the numbers of elements; its errors as ours."""
    try:
        return function()
    except (IndexError, ValueError) as error:
        raise ShapeError(f"{what}: {error}") from None


def _known(obj: Any, what: str) -> Any:
    if is_traced((obj,)):
        raise TracingError(f"{what} needs indices that are known while tracing, since the size of its result depends on them")
    return obj


@array_function
def delete(arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False) -> Any:
    """`np.delete`: without the elements at some indices.

    Args:
        assume_unique_indices: the indices may be traced: as many elements are left out as there are indices.

    Raises:
        ShapeError: a static index is out of range.
        TracingError: an index is traced, and indices may be equal.
    """
    x = lift(arr)
    if axis is None:
        x, axis = ravel(x), 0
    dim = normalize_axis(axis, x.ndim)
    if assume_unique_indices and is_traced((obj,)):
        gone = ravel(lift(index_array(obj)))
        mask = At(broadcast_tracer(lift(np.True_), (x.shape[dim],)))[gone].set(False)
        return compress(mask, x, dim, size=x.shape[dim] - gone.size)
    if isinstance(x.shape[dim], Size):
        return _without(x, _known(obj, "delete"), dim)
    kept = _places(lambda: np.delete(np.arange(x.shape[dim]), _known(obj, "delete")), "delete")
    return take(x, kept, dim)


def _without(x: Tracer, gone: Any, dim: int) -> Tracer:
    """An array without some indices of a dim of symbolic size."""
    if not np.issubdtype(np.asarray(gone).dtype, np.integer):
        raise SizeError(f"delete along a dim of size {x.shape[dim]} takes integers: index by what is left")
    positions = sorted({int(k) for k in np.ravel(gone)}, key=lambda k: (k < 0, k))
    if positions and positions[0] >= 0 > positions[-1]:
        raise SizeError(f"delete along a dim of size {x.shape[dim]} takes indices that all count from one end")
    cuts = [within(k, x.shape[dim], dim) for k in positions]
    edges = zip([0, *(k + 1 for k in cuts)], [*cuts, x.shape[dim]], strict=True)
    return concatenate([slice_axis(x, dim, start, stop) for start, stop in edges], dim)


@edit
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """`np.insert`: with values in front of static indices.

    Raises:
        ShapeError: an index is out of range, or the values do not fit.
        TracingError: an index is traced.
    """
    x = lift(arr)
    if axis is None:
        x, axis = ravel(x), 0
    dim, positions = normalize_axis(axis, x.ndim), _known(obj, "insert")
    n, v = x.shape[dim], lift_into(values, arr, x.dtype)
    count = _places(lambda: np.insert(np.arange(n), positions, 0), "insert").size - n
    if count == 1:  # of any number of values
        v = reshape_tracer(v, (1,) * (x.ndim - v.ndim) + v.shape)
        v = moveaxis(v, 0, dim) if not isinstance(positions, slice) and np.ndim(positions) == 0 else v
        count = v.shape[dim]
    v = broadcast_tracer(v, (*x.shape[:dim], count, *x.shape[dim + 1 :]))
    order = _places(lambda: np.insert(np.arange(n), positions, np.arange(n, n + count)), "insert")
    return take(concat_tracers([x, v], dim), order, dim)


# --------------------------------------------------------------------------------------------------------------------
# Replaced elements


@changing
@edit
def put(a: Any, ind: Any, v: Any, mode: str | None = None) -> Any:
    """`np.put`, or with `inplace=False` as a new array: values, again and again, at indices of the flat array.

    Raises:
        TracingError: the array cannot change, and `inplace` is not False.
    """
    x = lift(a)
    index = ravel(lift(index_array(ind))) if is_traced((ind,)) else concrete_array(ind).ravel()
    if mode == "wrap":
        index, mode = index % x.size, None
    flat = At(ravel(x))[index].set(resize(lift_into(v, a, x.dtype), index.size), mode=mode)
    return reshape_tracer(flat, x.shape)


@changing
@edit
def place(arr: Any, mask: Any, vals: Any) -> Any:
    """`np.place`, or with `inplace=False` as a new array: values, again and again, where a mask holds.

    Raises:
        ShapeError: the mask has another size, or there are no values.
        TracingError: the array cannot change, and `inplace` is not False.
    """
    x, chosen = lift(arr), as_bool(mask)
    values = ravel(lift_into(vals, arr, x.dtype))
    if chosen.size != x.size or (x.size and not values.size):
        raise ShapeError(
            f"place needs a mask of {x.size} elements and values, got shapes {list(chosen.shape)} and {list(values.shape)}"
        )
    flat, chosen = ravel(x), ravel(chosen)
    if not x.size:
        return x
    number = cumsum(lift_as(chosen, INT64)) - 1
    return reshape_tracer(lift(where(chosen, take(values, number % values.size), flat)), x.shape)


@changing
@edit
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> Any:
    """`np.put_along_axis`, or with `inplace=False` as a new array.

    Raises:
        ShapeError: array and indices do not have as many dims.
        TracingError: the array cannot change, and `inplace` is not False.
    """
    x, index = lift(arr), index_array(indices, checked=axis is not None)
    if axis is None:
        flat = put_along_axis(ravel(x), index.reshape(-1), ravel(lift_into(values, arr, x.dtype)), 0, inplace=False)
        return reshape_tracer(flat, x.shape)
    axis = normalize_axis(axis, x.ndim)
    if index.ndim != x.ndim:
        raise ShapeError(f"put_along_axis needs indices of {x.ndim} dims, got {index.ndim}")
    others = [n for d, n in enumerate(x.shape) if d != axis]
    positions = np.ix_(*map(np.arange, others))
    grid: list[Any] = [np.expand_dims(place, axis) for place in positions]
    grid.insert(axis, counted(index, x.shape[axis], axis))
    return At(x)[tuple(grid)].set(lift_into(values, arr, x.dtype))


@changing
@edit
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> Any:
    """`np.fill_diagonal`, or with `inplace=False` as a new array.

    Raises:
        ShapeError: fewer than two dims, or more of several sizes.
        TracingError: the array cannot change, and `inplace` is not False.
    """
    x = lift(a)
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) != 1):
        raise ShapeError(f"fill_diagonal needs two dims, or more of one size, got shape {list(x.shape)}")
    rows, columns = x.shape[0], math.prod(x.shape[1:])
    step = sum(math.prod(x.shape[d + 1 :]) for d in range(x.ndim))
    end = x.size if wrap or rows <= columns or x.ndim > 2 else columns * columns
    positions = np.arange(0, end, step)
    flat = At(ravel(x))[positions].set(resize(lift_into(val, a, x.dtype), positions.size))
    return reshape_tracer(flat, x.shape)


# --------------------------------------------------------------------------------------------------------------------
# Choices


def _of_one_dtype(xs: Sequence[Any]) -> list[Tracer]:
    xs = [operand(x) for x in xs]
    dtype = result_type([token(x) for x in xs])
    return [lift_as(x, dtype) for x in xs]


@array_function
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """`np.choose`: at each index the element of the array that an integer names.

    Raises:
        ShapeError: a known integer names none with mode "raise", or shapes do not fit.
        TracingError: mode "raise" with traced integers; use "clip" or "wrap".
    """
    index, xs = lift(index_array(a)), _of_one_dtype(list(choices))
    last = len(xs) - 1
    if mode == "raise":
        if is_traced((a,)):
            raise TracingError("traced integers cannot be checked: use mode='clip' or mode='wrap'")
        if ((concrete_array(a) < 0) | (concrete_array(a) > last)).any():
            raise ShapeError(f"choose needs integers from 0 to {last}, got {a!r:.60}")
    index = remainder(index, last + 1) if mode == "wrap" else clip(index, 0, last)
    y: Any = xs[last]
    for k in range(last):
        y = where(index == k, xs[k], y)
    return broadcast_tracer(y, broadcast_shapes([index.shape, *(x.shape for x in xs)]))


@array_function
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """`np.select`: the choice of the first condition that holds, else `default`.

    Raises:
        ShapeError: the lists are empty or of different lengths.
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ShapeError(f"select needs a choice for each condition, got {len(condlist)} conditions, {len(choicelist)} choices")
    *choices, y = _of_one_dtype([*choicelist, default])
    for condition, x in zip(reversed(condlist), reversed(choices), strict=True):
        y = where(condition, x, y)
    return y


def _conditions(condlist: Any, functions: int, ndim: int) -> list[Any]:
    """A condition for each function but the default one: NumPy also takes a condition without a list around it."""
    rows: list[Any] = list(condlist)
    of_elements = bool(rows) and lift(rows[0]).ndim == 0 and ndim > 0
    in_a_list = isinstance(condlist, list | tuple) and bool(rows) and isinstance(rows[0], Tracer | np.ndarray)
    return [condlist] if of_elements and not in_a_list and functions in (1, 2) else rows


@array_function
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """`np.piecewise`: each function, or number, where its condition is the last that holds.

    Every function is evaluated on all of `x`, since which elements it is for depends on values.

    Raises:
        ShapeError: there is not a function for each condition, or one more.
    """
    x = lift(x)
    functions = list(funclist)
    conditions = _conditions(condlist, len(functions), x.ndim)
    extra = len(functions) - len(conditions)
    if extra not in (0, 1):
        raise ShapeError(f"piecewise needs one function per condition, or one more, got {len(functions)} for {len(conditions)}")
    default = functions.pop() if extra else 0

    def value(function: Any) -> Any:
        return broadcast_tracer(lift_as(function(x, *args, **kw) if callable(function) else function, x.dtype), x.shape)

    y = value(default)
    for condition, function in zip(conditions, functions, strict=True):
        y = where(as_bool(condition), value(function), y)
    return y


@array_function
def repeat(a: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None) -> Any:
    """`np.repeat`: each element a number of times along an axis.

    With `total_repeat_length`, jax's name, that many elements: the last one again if there are fewer. Counts may be traced
    then.
    """
    x = lift(a)
    if axis is None:
        x, axis = reshape_tracer(x, (x.size,)), 0
    dim = normalize_axis(axis, x.ndim)
    if isinstance(repeats, Tracer):
        if total_repeat_length is None:
            raise TracingError("repeat of counts that are traced needs total_repeat_length=: it is the size of the result")
        ends = cumsum(broadcast_tracer(repeats, (x.shape[dim],)))
        return take(x, searchsorted(ends, np.arange(total_repeat_length), side="right"), dim, mode="clip")
    size, counts = x.shape[dim], concrete_array(repeats)
    if not (is_integer_dtype(counts.dtype) or counts.size == 0) or (counts < 0).any():
        raise DTypeError(f"repeat counts must be integers that are not negative, got {repeats!r:.40}")
    if counts.size != 1 and counts.shape != (size,):
        raise ShapeError(f"repeat needs {size} counts for axis {dim}, got shape {list(counts.shape)}")
    if counts.size == 1 and total_repeat_length is None:
        n = int(counts.reshape(()))
        wide = (*x.shape[: dim + 1], n, *x.shape[dim + 1 :])
        y = broadcast_tracer(reshape_tracer(x, (*x.shape[: dim + 1], 1, *x.shape[dim + 1 :])), wide)
        return reshape_tracer(y, (*x.shape[:dim], size * n, *x.shape[dim + 1 :]))
    positions = np.arange(size).repeat(counts.astype(np.int64).reshape(-1))
    if total_repeat_length is not None:
        kept = positions[:total_repeat_length]
        positions = np.concatenate([kept, np.full(total_repeat_length - kept.size, size - 1)])
    return take(x, positions.astype(np.int64), dim)

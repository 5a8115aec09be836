"""`lamina.lax`: shapes, slices and blocks of arrays under jax's names."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....api import Tracer, array_function, broadcast_tracer, build, lift, lift_as
from ....api.errors import ShapeError
from ....library.numpy import namespace as lnp
from ....library.numpy.axes_and_shapes import (
    nonnegative,
    normalize_axis,
    reshape_tracer,
    reverse_tracer,
    slice_axis,
    slice_tracer,
    static_shape,
    transpose_tracer,
)
from ....library.numpy.create import arange


def expand_dims(array: Any, dimensions: int | Sequence[int]) -> Any:
    """`array` with dims of size 1 at these positions of the result."""
    return lnp.expand_dims(array, dimensions)


def squeeze(array: Any, dimensions: int | Sequence[int]) -> Any:
    """`array` without these dims, which have size 1."""
    return lnp.squeeze(array, dimensions)


def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """`operand` with dim `permutation[k]` as dim `k`."""
    return lnp.transpose(operand, permutation)


def reshape(operand: Any, new_sizes: int | Sequence[int], dimensions: Sequence[int] | None = None) -> Any:
    """`operand` with another shape; its elements are read in the order of `dimensions`, where these are given."""
    return lnp.reshape(operand if dimensions is None else transpose(operand, dimensions), new_sizes)


def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """Arrays one after the other along a dim."""
    return lnp.concatenate(operands, dimension)


def dynamic_slice(
    operand: Any, start_indices: Any, slice_sizes: Any, *, allow_negative_indices: bool | Sequence[bool] = True
) -> Any:
    """A block of `operand`, one start and size a dim; starts may be traced, and are moved so that the block is inside.

    A negative start counts from the end, unless `allow_negative_indices` (of its dim) is false: then it is moved to 0.

    >>> import numpy as np, lamina as lm
    >>> lm.lax.dynamic_slice(np.arange(10), [8], [4])
    array([6, 7, 8, 9])
    >>> lm.lax.dynamic_slice(np.arange(10), [np.array(-8)], [4], allow_negative_indices=False)
    array([0, 1, 2, 3])
    """
    return lnp.dynamic_slice(operand, start_indices, slice_sizes, allow_negative_indices)


def dynamic_update_slice(
    operand: Any, update: Any, start_indices: Any, *, allow_negative_indices: bool | Sequence[bool] = True
) -> Any:
    """`operand` with a block replaced; starts may be traced, and are moved so that the block is inside."""
    return lnp.dynamic_update_slice(operand, update, start_indices, allow_negative_indices)


@array_function
def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """`operand` with the dims from `start_dimension` up to `stop_dimension` as one."""
    shape = lnp.shape(operand)
    first, last, _ = builtins.slice(start_dimension, stop_dimension).indices(len(shape))
    return reshape(operand, (*shape[:first], int(np.prod(shape[first:last], dtype=int)), *shape[last:]))


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """Parts of given sizes along a dim."""
    if sum(sizes) != lnp.shape(operand)[axis]:
        raise ShapeError(f"split sizes {list(sizes)} must add up to the size of dim {axis}, {lnp.shape(operand)[axis]}")
    return lnp.split(operand, np.cumsum(sizes)[:-1].tolist(), axis)


@array_function
def broadcast(operand: Any, sizes: Any) -> Any:
    """`operand` repeated along new dims in front."""
    x = lift(operand)
    return broadcast_tracer(x, (*nonnegative(static_shape(sizes)), *x.shape))


@array_function
def broadcast_to_rank(x: Any, rank: int) -> Any:
    """`x` with dims of size 1 in front, so that it has `rank` dims."""
    y = lift(x)
    return reshape_tracer(y, (*(1,) * (rank - y.ndim), *y.shape))


def shape_as_value(shape: Any) -> Any:
    """Sizes as an array."""
    return lnp.array(static_shape(shape), np.int64)


def empty(shape: Any, dtype: Any) -> Any:
    """An array of a shape, whose elements are not to be read."""
    return lnp.empty(shape, dtype)


@array_function
def index_take(src: Any, idxs: Any, axes: Any) -> Any:
    """`src` at indices of several dims, which are indexed together and stand first; clamped."""
    x, dims = lift(src), [normalize_axis(d, lnp.ndim(src)) for d in axes]
    points = [lift_as(i, np.dtype(np.int64)) for i in idxs]
    return build("gather", x, *points, at=tuple(dims))


@array_function
def broadcast_in_dim(operand: Any, shape: Any, broadcast_dimensions: Any) -> Any:
    """`operand` repeated to a shape, in which its dims stand at `broadcast_dimensions`.

    Raises:
        ShapeError: there is not one position for each dim, or a size fits no dim.
    """
    x, sizes, places = lift(operand), nonnegative(static_shape(shape)), static_shape(broadcast_dimensions)
    if len(places) != x.ndim or len(set(places)) != len(places):
        raise ShapeError(f"broadcast_in_dim needs a distinct result dim for each of {x.ndim} dims, got {list(places)}")
    x = transpose_tracer(x, sorted(range(x.ndim), key=lambda k: places[k]))
    places = sorted(places)
    own = {place: n for place, n in zip(places, x.shape, strict=True)}
    return broadcast_tracer(reshape_tracer(x, tuple(own.get(k, 1) for k in range(len(sizes)))), sizes)


@array_function
def rev(operand: Any, dimensions: Any) -> Any:
    """`operand` reversed along dims."""
    x = lift(operand)
    return reverse_tracer(x, [normalize_axis(d, x.ndim) for d in dimensions])


@array_function
def slice(operand: Any, start_indices: Any, limit_indices: Any, strides: Any = None) -> Any:
    """`operand[start:limit:stride]` along all dims.

    Raises:
        ShapeError: not one number for each dim, or a limit beyond the end.
    """
    x, start, limit = lift(operand), static_shape(start_indices), static_shape(limit_indices)
    steps = (1,) * x.ndim if strides is None else static_shape(strides)
    if not len(start) == len(limit) == len(steps) == x.ndim:
        raise ShapeError(f"slice needs a start, a limit and a stride for each of {x.ndim} dims")
    for d, n in enumerate(x.shape):
        if not 0 <= start[d] <= limit[d] <= n or steps[d] < 1:
            raise ShapeError(f"slice [{start[d]}:{limit[d]}:{steps[d]}] does not fit dim {d} of {list(x.shape)}")
    return slice_tracer(x, start, limit, steps)


@array_function
def slice_in_dim(operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0) -> Any:
    """`operand[start:limit:stride]` along one dim; negative limits count from the end."""
    x = lift(operand)
    dim = normalize_axis(axis, x.ndim)
    start, stop, step = builtins.slice(start_index, limit_index, stride).indices(x.shape[dim])
    return slice_axis(x, dim, start, builtins.max(start, stop), step)


@array_function
def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The slice at a known index of a dim."""
    x = lift(operand)
    dim = normalize_axis(axis, x.ndim)
    k = normalize_axis(index, x.shape[dim])
    y = slice_axis(x, dim, k, k + 1)
    return y if keepdims else squeeze(y, dim)


def _block(operand: Any, axis: int, start: Any) -> tuple[Tracer, int, list[Any]]:
    x = lift(operand)
    dim = normalize_axis(axis, x.ndim)
    return x, dim, [start if d == dim else 0 for d in range(x.ndim)]


@array_function
def dynamic_slice_in_dim(
    operand: Any, start_index: Any, slice_size: int, axis: int = 0, *, allow_negative_indices: bool = True
) -> Any:
    """`slice_size` elements along a dim from a start on that may be traced, moved so that they are inside."""
    x, dim, starts = _block(operand, axis, start_index)
    sizes = [slice_size if d == dim else n for d, n in enumerate(x.shape)]
    return lnp.dynamic_slice(x, starts, sizes, allow_negative_indices)


@array_function
def dynamic_index_in_dim(
    operand: Any, index: Any, axis: int = 0, keepdims: bool = True, *, allow_negative_indices: bool = True
) -> Any:
    """The slice at an index of a dim that may be traced."""
    y = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return y if keepdims else squeeze(y, axis)


@array_function
def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """`operand` with a block along a dim replaced, from a start on that may be traced."""
    x, _, starts = _block(operand, axis, start_index)
    return lnp.dynamic_update_slice(x, update, starts, allow_negative_indices)


@array_function
def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """`operand` with the slice at an index of a dim replaced."""
    x, u = lift(operand), lift(update)
    u = u if u.ndim == x.ndim else expand_dims(u, axis)
    return dynamic_update_slice_in_dim(x, u, index, axis, allow_negative_indices=allow_negative_indices)


@array_function
def pad(operand: Any, padding_value: Any, padding_config: Any) -> Any:
    """`operand` with elements before, after and between its own along each dim: triples `(low, high, interior)`.

    Negative `low` and `high` take elements away.
    """
    x = lift(operand)
    if len(padding_config) != x.ndim:
        raise ShapeError(f"pad needs a triple for each of {x.ndim} dims, got {len(padding_config)}")
    low, high, interior = ([int(triple[k]) for triple in padding_config] for k in range(3))
    return build("pad", x, reshape_tracer(lift_as(padding_value, x.dtype), ()), low=low, high=high, interior=interior)


def iota(dtype: Any, size: int) -> Any:
    """The numbers from 0 to `size - 1`."""
    return arange(size, dtype=dtype)


def broadcasted_iota(dtype: Any, shape: Any, dimension: int) -> Any:
    """The index along a dim of each element."""
    sizes = static_shape(shape)
    return broadcast_in_dim(arange(sizes[dimension], dtype=dtype), sizes, (dimension,))

"""lamina.numpy: shapes and the order of dims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...api import Tracer, array_function, broadcast_tracer, lift
from ...api.errors import ShapeError
from .axes_and_shapes import nonnegative, normalize_axes, normalize_axis, reshape_tracer, static_shape, transpose_tracer
from .elementwise import broadcast_shapes


@array_function
def reshape(a: Any, shape: Any, *, order: str = "C", copy: Any = None) -> Any:
    """`np.reshape`; one size may be -1. With order "F" the first index counts fastest, on both sides."""
    x = lift(a)
    if order not in ("C", "A", "F"):
        raise ShapeError(f"reshape order must be 'C', 'A' or 'F', got {order!r}")
    sizes = static_shape(shape)
    if sizes.count(-1) > 1:
        raise ShapeError(f"reshape can infer only one size, got {list(sizes)}")
    if -1 in sizes:
        known = math.prod(n for n in sizes if n != -1)
        if known == 0 or x.size % known:
            raise ShapeError(f"cannot reshape {list(x.shape)} ({x.size} elements) into {list(sizes)}")
        sizes = tuple(x.size // known if n == -1 else n for n in sizes)
    if math.prod(nonnegative(sizes)) != x.size:
        known = (
            "" if isinstance(x.size, int) else ", as far as is known while tracing: say more, as with lm.dim(..., multiple_of=)"
        )
        raise ShapeError(f"cannot reshape {list(x.shape)} ({x.size} elements) into {list(sizes)}{known}")
    return transpose(reshape_tracer(transpose(x), sizes[::-1])) if order == "F" else reshape_tracer(x, sizes)


@array_function
def ravel(a: Any, order: str = "C") -> Any:
    """`np.ravel`: all elements in one dim."""
    return reshape(a, -1, order=order)


@array_function
def transpose(a: Any, axes: Any = None) -> Any:
    """`np.transpose`; without `axes` the order of all dims is reversed."""
    x = lift(a)
    if axes is None:
        return transpose_tracer(x, range(x.ndim - 1, -1, -1))
    perm = [normalize_axis(a, x.ndim) for a in axes]
    if sorted(perm) != list(range(x.ndim)):
        raise ShapeError(f"axes {list(axes)} are no permutation of the {x.ndim} dims")
    return transpose_tracer(x, perm)


permute_dims = transpose


@array_function
def matrix_transpose(x: Any, /) -> Any:
    """`np.matrix_transpose`: the last two dims exchanged."""
    x = lift(x)
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose needs two dims, got shape {list(x.shape)}")
    return swapaxes(x, -1, -2)


@array_function
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """`np.swapaxes`."""
    x = lift(a)
    perm = list(range(x.ndim))
    i, k = normalize_axis(axis1, x.ndim), normalize_axis(axis2, x.ndim)
    perm[i], perm[k] = perm[k], perm[i]
    return transpose_tracer(x, perm)


@array_function
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """`np.moveaxis`."""
    x = lift(a)
    froms = [normalize_axis(s, x.ndim) for s in (source if isinstance(source, tuple | list) else (source,))]
    tos = [normalize_axis(d, x.ndim) for d in (destination if isinstance(destination, tuple | list) else (destination,))]
    if len(froms) != len(tos) or len(set(froms)) != len(froms) or len(set(tos)) != len(tos):
        raise ShapeError(f"moveaxis source {source} and destination {destination} must pair distinct axes")
    perm = [k for k in range(x.ndim) if k not in froms]
    for to, source_axis in sorted(zip(tos, froms, strict=True)):
        perm.insert(to, source_axis)
    return transpose_tracer(x, perm)


@array_function
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """`np.rollaxis`."""
    x = lift(a)
    source = normalize_axis(axis, x.ndim)
    target = start + x.ndim if start < 0 else start
    return moveaxis(x, source, target - 1 if target > source else target)


@array_function
def expand_dims(a: Any, axis: Any) -> Any:
    """`np.expand_dims`: new dims of size 1 at the positions `axis` of the result."""
    x = lift(a)
    places = axis if isinstance(axis, tuple | list) else (axis,)
    axes = normalize_axes(tuple(places), x.ndim + len(places))
    sizes = iter(x.shape)
    return reshape_tracer(x, tuple(1 if k in axes else next(sizes) for k in range(x.ndim + len(axes))))


@array_function
def squeeze(a: Any, axis: Any = None) -> Any:
    """`np.squeeze`: without the dims of size 1, or the given ones."""
    x = lift(a)
    axes = [k for k, n in enumerate(x.shape) if n == 1] if axis is None else normalize_axes(axis, x.ndim)
    for k in axes:
        if x.shape[k] != 1:
            raise ShapeError(f"cannot squeeze axis {k} of size {x.shape[k]}")
    return reshape_tracer(x, tuple(n for k, n in enumerate(x.shape) if k not in axes))


@array_function
def broadcast_to(array: Any, shape: Any) -> Any:
    """`np.broadcast_to`."""
    return broadcast_tracer(lift(array), nonnegative(static_shape(shape)))


@array_function
def broadcast_arrays(*args: Any) -> Any:
    """`np.broadcast_arrays`."""
    xs = [lift(a) for a in args]
    try:
        common = broadcast_shapes([x.shape for x in xs])
    except ValueError:
        raise ShapeError(f"shapes {', '.join(str(list(x.shape)) for x in xs)} do not broadcast") from None
    return tuple(broadcast_tracer(x, common) for x in xs)


def shape(a: Any) -> tuple[int, ...]:
    """`np.shape`."""
    return a.shape if isinstance(a, Tracer) else np.shape(a)


def ndim(a: Any) -> int:
    """`np.ndim`."""
    return len(shape(a))


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """`np.size`; of several axes their product."""
    sizes = shape(a)
    return math.prod(sizes[k] for k in normalize_axes(axis, len(sizes)))


def _at_least(n: int) -> Any:
    def function(*arys: Any) -> Any:
        results = []
        for a in arys:
            x = lift(a)
            sizes = x.shape
            if n == 3 and len(sizes) == 2:
                sizes = (*sizes, 1)
            elif n == 3 and len(sizes) == 1:
                sizes = (1, *sizes, 1)
            results.append(reshape_tracer(x, (1,) * (n - len(sizes)) + sizes))
        return results[0] if len(results) == 1 else tuple(results)

    function.__name__ = f"atleast_{n}d"
    function.__doc__ = f"`np.atleast_{n}d`."
    return array_function(function)


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)

"""Static axes and sizes, and the ops that move elements, on tracers."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dialects.sizes.polynomial import Size
from ...errors import BoundsError, ShapeError, TracingError
from ...runtime.scalars import is_a
from .tracer import Tracer
from .tracing import build, here, lift_as


def static_int(value: Any, what: str) -> int:
    """A Python int that must be known while tracing, or a symbolic size."""
    if isinstance(value, Size):
        return value  # pyright: ignore[reportReturnType]
    try:
        return operator.index(value)
    except TracingError:
        raise
    except TypeError:
        raise TypeError(f"{what} must be an integer, got {type(value).__name__}: {value!r:.40}") from None


def normalize_axis(axis: Any, ndim: int) -> int:
    """An axis within [0, ndim)."""
    k = static_int(axis, "axis")
    if not -ndim <= k < ndim:
        raise BoundsError(f"axis {k} is out of bounds for an array of {ndim} dims")
    return k % ndim


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Distinct axes within [0, ndim), sorted; None is all."""
    if axis is None:
        return tuple(range(ndim))
    axes = [normalize_axis(a, ndim) for a in (axis if isinstance(axis, tuple | list) else (axis,))]
    if len(set(axes)) != len(axes):
        raise ShapeError(f"duplicate value in axis {axis}")
    return tuple(sorted(axes))


def static_shape(shape: Any) -> tuple[int, ...]:
    """A shape from an int or a sequence of ints."""
    if is_a(shape, np.ndarray):
        shape = shape.tolist()
    sizes = shape if hasattr(shape, "__iter__") and not isinstance(shape, Tracer) else (shape,)
    return tuple(static_int(n, "a size") for n in sizes)


def nonnegative(shape: tuple[int, ...]) -> tuple[int, ...]:
    if any(n < 0 for n in shape):
        raise ShapeError(f"sizes must not be negative, got {list(shape)}")
    return shape


def reshape_tracer(x: Tracer, shape: tuple[int, ...]) -> Tracer:
    if x.shape == shape:
        return x
    trace, value = here(x)
    return trace.wrap(trace.builder.reshape(value, shape), x.weak)


def broadcast_tracer(x: Tracer, shape: tuple[int, ...]) -> Tracer:
    """`x` repeated along new leading dims and dims of size 1, which must fit."""
    if x.shape == shape:
        return x
    offset = len(shape) - len(x.shape)
    if offset < 0 or any(a not in (1, b) for a, b in zip(x.shape, shape[offset:], strict=True)):
        raise ShapeError(f"cannot broadcast shape {list(x.shape)} to {list(shape)}")
    trace, value = here(x)
    return trace.wrap(trace.builder.broadcast(value, range(offset, len(shape)), shape), x.weak)


def filled(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tracer:
    """A traced array of one value."""
    if any(n < 0 for n in shape):
        raise ShapeError(f"sizes must not be negative, got {list(shape)}")
    return broadcast_tracer(lift_as(value, dtype), shape)


def full_like_tracer(x: Tracer, value: complex) -> Tracer:
    """A tensor of one value with the type of `x`."""
    return broadcast_tracer(lift_as(value, x.dtype), x.shape)


def transpose_tracer(x: Tracer, perm: Sequence[int]) -> Tracer:
    if list(perm) == list(range(x.ndim)):
        return x
    return build("transpose", x, perm=tuple(perm), weak=x.weak)


def slice_tracer(x: Tracer, start: Sequence[int], stop: Sequence[int], step: Sequence[int]) -> Tracer:
    if all(a == 0 and b == n and s == 1 for a, b, s, n in zip(start, stop, step, x.shape, strict=True)):
        return x
    return build("slice", x, start=tuple(start), stop=tuple(stop), step=tuple(step), weak=x.weak)


def slice_axis(x: Tracer, axis: int, start: int, stop: int, step: int = 1) -> Tracer:
    starts, stops, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis], stops[axis], steps[axis] = start, stop, step
    return slice_tracer(x, starts, stops, steps)


def reverse_tracer(x: Tracer, dims: Sequence[int]) -> Tracer:
    return build("reverse", x, dims=tuple(dims), weak=x.weak) if dims else x


def concat_tracers(xs: Sequence[Tracer], dim: int) -> Tracer:
    return xs[0] if len(xs) == 1 else build("concat", *xs, dim=dim)

"""Static axes and sizes, and the ops that move elements, on tracers."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...api import Tracer, build
from ...api.dtypes import element_type
from ...api.dtypes import tensor_type as tensor_type
from ...api.errors import BoundsError, ShapeError, TracingError
from ...api.sizes import Size
from ...api.tracing import current, here, is_a


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


def iota(shape: tuple[Any, ...], dim: int, dtype: np.dtype[Any]) -> Tracer:
    """The index along a dim of each element."""
    trace = current()
    assert trace is not None
    return trace.wrap(trace.builder.iota(dim=dim, result=tensor_type(element_type(dtype), shape)))

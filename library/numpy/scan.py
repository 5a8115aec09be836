"""lamina.numpy: running sums, products and extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...api import Tracer, array_function, broadcast_tracer, build, lift, lift_as
from ...api.dtypes import BOOL
from ...api.errors import ShapeError
from .axes_and_shapes import normalize_axis, reshape_tracer
from .join import concatenate
from .reduce import accumulated, without_nan


def _scan(x: Tracer, kind: str, axis: int | None, reverse: bool) -> Tracer:
    if axis is None:
        x, axis = reshape_tracer(x, (x.size,)), 0
    direction = "reverse" if reverse else "forward"
    return build("scan", x, kind=kind, dim=normalize_axis(axis, x.ndim), direction=direction, bound="inclusive")


@array_function
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, *, reverse: bool = False) -> Any:
    """`np.cumsum`: the sums of the elements up to each one; bools and int32 are summed in int64.

    Args:
        a: an array; without `axis` its elements in one dim.
        reverse: sum from the end.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.cumsum(np.array([1., 2., 4.]))
    array([1., 3., 7.])
    >>> lm.numpy.cumsum(np.array([1., 2., 4.]), reverse=True)
    array([7., 6., 4.])
    """
    x = accumulated(lift(a), dtype)
    return _scan(x, "max" if x.dtype == BOOL else "add", axis, reverse)


@array_function
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, *, reverse: bool = False) -> Any:
    """`np.cumprod`; its derivative is right where elements are 0, too."""
    x = accumulated(lift(a), dtype)
    return _scan(x, "min" if x.dtype == BOOL else "mul", axis, reverse)


@array_function
def cummax(a: Any, axis: int | None = None, *, reverse: bool = False) -> Any:
    """`np.maximum.accumulate`: the greatest of the elements up to each one; NaN from the first NaN on.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.cummax(np.array([1, 3, 2, 5]))
    array([1, 3, 3, 5])
    """
    return _scan(lift(a), "max", axis, reverse)


@array_function
def cummin(a: Any, axis: int | None = None, *, reverse: bool = False) -> Any:
    """`np.minimum.accumulate`: the least of the elements up to each one; NaN from the first NaN on."""
    return _scan(lift(a), "min", axis, reverse)


@array_function
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """`np.nancumsum`: NaN counts as 0."""
    return cumsum(without_nan(a, 0), axis, dtype)


@array_function
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """`np.nancumprod`: NaN counts as 1."""
    return cumprod(without_nan(a, 1), axis, dtype)


def _cumulative(scan: Callable[..., Any], start: int, x: Any, axis: int | None, dtype: Any, include_initial: bool) -> Tracer:
    x = lift(x)
    if axis is None:
        if x.ndim != 1:
            raise ShapeError(f"an axis is needed for an array of {x.ndim} dims")
        axis = 0
    y = scan(x, axis, dtype)
    if not include_initial:
        return y
    axis = normalize_axis(axis, x.ndim)
    first = tuple(1 if k == axis else n for k, n in enumerate(x.shape))
    return concatenate([broadcast_tracer(lift_as(start, y.dtype), first), y], axis)


@array_function
def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """`np.cumulative_sum`: as `cumsum`, with the empty sum in front if requested."""
    return _cumulative(cumsum, 0, x, axis, dtype, include_initial)


@array_function
def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """`np.cumulative_prod`: as `cumprod`, with the empty product in front if requested."""
    return _cumulative(cumprod, 1, x, axis, dtype, include_initial)

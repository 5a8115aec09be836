"""lamina.numpy: running sums, products and extremes."""

from __future__ import annotations

from typing import Any

from .eager import api
from .lnp_reduce import accumulated
from .moves import normalize_axis, reshape_tracer
from .promotion import BOOL
from .tracer import Tracer
from .tracing import build, lift

__all__ = ["cummax", "cummin", "cumprod", "cumsum"]


def _scan(x: Tracer, kind: str, axis: int | None, reverse: bool) -> Tracer:
    if axis is None:
        x, axis = reshape_tracer(x, (x.size,)), 0
    direction = "reverse" if reverse else "forward"
    return build("scan", x, kind=kind, dim=normalize_axis(axis, x.ndim), direction=direction, bound="inclusive")


@api
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


@api
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, *, reverse: bool = False) -> Any:
    """`np.cumprod`; its derivative is right where elements are 0, too."""
    x = accumulated(lift(a), dtype)
    return _scan(x, "min" if x.dtype == BOOL else "mul", axis, reverse)


@api
def cummax(a: Any, axis: int | None = None, *, reverse: bool = False) -> Any:
    """`np.maximum.accumulate`: the greatest of the elements up to each one; NaN from the first NaN on.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.cummax(np.array([1, 3, 2, 5]))
    array([1, 3, 3, 5])
    """
    return _scan(lift(a), "max", axis, reverse)


@api
def cummin(a: Any, axis: int | None = None, *, reverse: bool = False) -> Any:
    """`np.minimum.accumulate`: the least of the elements up to each one; NaN from the first NaN on."""
    return _scan(lift(a), "min", axis, reverse)

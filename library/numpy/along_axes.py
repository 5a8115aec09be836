"""`unwrap`, `apply_over_axes` and `spacing`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api import array_function, lift, lift_as
from ...api.dtypes import BOOL, is_integer_dtype
from .axes_and_shapes import normalize_axis, slice_axis
from .bits import nextafter, require_computed
from .create import full_like
from .elementwise import prepare
from .join import concatenate
from .logic import where
from .poly import diff
from .scan import cumsum
from .shape import expand_dims, ndim
from .ufuncs import absolute, copysign
from .ufuncs import remainder as mod


@array_function
def spacing(x: Any, /) -> Any:
    """`np.spacing`: the distance to the next float away from zero, with the sign of `x`."""
    require_computed("spacing", x)
    (x,), _, _ = prepare(np.spacing, (x,))
    size = absolute(x)
    return copysign(nextafter(size, full_like(size, np.inf)) - size, x)


@array_function
def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * np.pi) -> Any:
    """`np.unwrap`: jumps of more than half a period (or `discont`) along an axis made shorter by whole periods."""
    given = x = lift(p)
    if x.dtype == BOOL or (is_integer_dtype(x.dtype) and isinstance(period, float)):
        x = lift_as(x, np.dtype(float))
    dim = normalize_axis(axis, x.ndim)
    if x.shape[dim] < 2:
        return x
    step = lift_as(diff(given, axis=dim), x.dtype)  # as in NumPy, integers of 8 bits wrap here
    if is_integer_dtype(x.dtype):
        half, rest = divmod(period, 2)
        on_border = rest == 0
    else:
        half, on_border = period / 2, True
    wrapped = mod(step + half, period) - half
    if on_border:
        wrapped = where((wrapped == -half) & (step > 0), half, wrapped)
    change = where(absolute(step) < max(half, half if discont is None else discont), 0, wrapped - step)
    first = slice_axis(x, dim, 0, 1)
    return concatenate([first, slice_axis(x, dim, 1, x.shape[dim]) + cumsum(change, dim)], dim)


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: int | Sequence[int]) -> Any:
    """`np.apply_over_axes`: a reduction along one axis after the other, which stay as dims of 1."""
    for axis in [axes] if isinstance(axes, int) else axes:
        result = func(a, axis)
        a = result if ndim(result) == ndim(a) else expand_dims(result, axis)
    return a

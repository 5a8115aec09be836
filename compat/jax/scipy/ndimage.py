"""`lamina.scipy.ndimage`: values between the elements of an array."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....api.errors import ShapeError
from ....library.numpy import namespace as lnp
from ....names import public

__all__ = list(public("scipy.ndimage"))


def _mirrored(index: Any, size: int) -> Any:
    """About the centers of the first and the last element."""
    period = max(2 * (size - 1), 1)
    place = lnp.mod(index, period)
    return lnp.minimum(place, period - place) if size > 1 else place * 0


_FIXED: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda index, size: index,
    "nearest": lambda index, size: lnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: lnp.mod(index, size),
    "mirror": _mirrored,
    "reflect": lambda index, size: lnp.floor_divide(_mirrored(2 * index + 1, 2 * size + 1), 2),
}
"""Which element stands for an index outside of an array."""


def map_coordinates(input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0) -> Any:
    """`scipy.ndimage.map_coordinates`: the values of an array at points between its elements.

    Args:
        input: an array of any rank.
        coordinates: an array of indices for each dim, all of one shape, that of the result.
        order: 0, the nearest element, or 1, linear interpolation.
        mode: the values outside: "constant" (`cval`), "nearest", "wrap" (SciPy's "grid-wrap"), "mirror" or "reflect".

    Raises:
        ShapeError: another order or mode, or another number of coordinates than dims.

    >>> import numpy as np, lamina as lm
    >>> lm.scipy.ndimage.map_coordinates(np.array([0.0, 10.0]), [np.array([0.25, 1.0])], order=1)
    array([ 2.5, 10. ])
    """
    input = lnp.asarray(input)
    if order not in (0, 1):
        raise ShapeError(f"map_coordinates has order 0 or 1, got {order}")
    if mode not in _FIXED:
        raise ShapeError(f"map_coordinates has the modes {', '.join(_FIXED)}, got {mode!r}")
    points = [lnp.asarray(c) for c in coordinates]
    if len(points) != input.ndim:
        raise ShapeError(f"map_coordinates needs an array of coordinates for each of {input.ndim} dims, got {len(points)}")
    is_whole = not lnp.issubdtype(input.dtype, lnp.inexact)
    values = input.astype(float) if is_whole else input
    if order == 0:
        corners = [[(lnp.floor(c + 0.5).astype(np.int64), None)] for c in points]
    else:
        corners = [_neighbours(c) for c in points]
    total: Any = 0.0
    for corner in itertools.product(*corners):
        part = _picked(values, [index for index, _ in corner], mode, cval)
        for _, weight in corner:
            part = part if weight is None else part * weight.astype(values.dtype)
        total = total + part
    return lnp.rint(total).astype(input.dtype) if is_whole else total


def _neighbours(points: Any) -> list[tuple[Any, Any]]:
    """The elements below and above points, and the weights of both."""
    below = lnp.floor(points)
    index = below.astype(np.int64)
    return [(index, 1 - (points - below)), (index + 1, points - below)]


def _picked(values: Any, indices: Sequence[Any], mode: str, cval: Any) -> Any:
    inside: Any = True
    if mode == "constant":
        for index, size in zip(indices, values.shape, strict=True):
            inside = inside & (index >= 0) & (index < size)
    at = tuple(lnp.clip(_FIXED[mode](i, size), 0, size - 1) for i, size in zip(indices, values.shape, strict=True))
    return values[at] if inside is True else lnp.where(inside, values[at], lnp.asarray(cval, values.dtype))

"""lamina.numpy: sorting, and what follows from order.

All sorts are stable; NaN come last, and zeros of either sign are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dialects.graph.sort import position_type
from ..dialects.types import numpy_dtype
from ..errors import ShapeError
from .eager import api
from .lnp_create import iota
from .moves import normalize_axis, reshape_tracer, reverse_tracer, transpose_tracer
from .promotion import INT64
from .tracer import Tracer
from .tracing import current, lift, lift_as

__all__ = ["argpartition", "argsort", "lexsort", "partition", "sort"]


def _rows(x: Tracer, axis: int | None) -> tuple[Tracer, list[int]]:
    """`x` with an axis last, and the order of dims that undoes this; without an axis its elements in one row."""
    if axis is None:
        x, axis = reshape_tracer(x, (x.size,)), 0
    axis = normalize_axis(axis, x.ndim)
    perm = [*(d for d in range(x.ndim) if d != axis), axis]
    return transpose_tracer(x, perm), [perm.index(d) for d in range(x.ndim)]


def _sorted(keys: Sequence[Tracer], *others: Tracer) -> Sequence[Tracer]:
    """Rows in the order of some keys, the first of which decides; then others moved along."""
    trace = current()
    assert trace is not None
    operands = (*keys, *others)
    values = [x.value if x.trace is trace else trace.lift(x).value for x in operands]
    found = trace.builder.build("sort", values, {"keys": len(keys)})
    return [trace.wrap(value) for value in (found if len(operands) > 1 else (found,))]


def _order(keys: Sequence[Tracer]) -> Tracer:
    """The positions of the elements of rows in their order."""
    shape = keys[0].shape
    return _sorted(keys, iota(shape, len(shape) - 1, numpy_dtype(position_type(shape[-1]))))[-1]


@api
def sort(
    a: Any, axis: int | None = -1, kind: str | None = None, *, stable: bool | None = None, descending: bool = False
) -> Any:
    """`np.sort`: the elements along an axis in ascending order, NaN last; `descending` from the other end.

    Args:
        a: an array; with `axis=None` its elements in one dim.
        kind, stable: accepted as NumPy's; every sort is stable.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.sort(np.array([3, 1, 2]))
    array([1, 2, 3])
    >>> lm.numpy.sort(np.array([[3., 1.], [np.nan, 2.]]), axis=1, descending=True)
    array([[ 3.,  1.],
           [nan,  2.]])
    """
    x, back = _rows(lift(a), axis)
    (y,) = _sorted([x])
    return transpose_tracer(reverse_tracer(y, [y.ndim - 1]) if descending else y, back)


@api
def argsort(
    a: Any, axis: int | None = -1, kind: str | None = None, *, stable: bool | None = None, descending: bool = False
) -> Any:
    """`np.argsort`: the indices that sort along an axis, int64; equal elements keep their order, also where they descend.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.argsort(np.array([30, 10, 20, 10]))
    array([1, 3, 2, 0])
    >>> lm.numpy.argsort(np.array([30, 10, 20, 10]), descending=True)
    array([0, 2, 1, 3])
    """
    x, back = _rows(lift(a), axis)
    last = [x.ndim - 1]
    found = _order([reverse_tracer(x, last) if descending else x])
    places = lift_as(found, INT64)
    if descending:
        places = lift_as(x.shape[-1] - 1, INT64) - reverse_tracer(places, last)
    return transpose_tracer(places, back)


@api
def lexsort(keys: Any, axis: int = -1) -> Any:
    """`np.lexsort`: the indices that sort by several keys, of which the last one decides, int64.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.lexsort((np.array([9, 4, 0, 4]), np.array([1, 5, 1, 4])))
    array([2, 0, 3, 1])
    """
    given = [lift(key) for key in keys]
    if not given or any(x.shape != given[0].shape for x in given):
        raise ShapeError(f"lexsort needs keys of one shape, got {', '.join(str(list(x.shape)) for x in given) or 'none'}")
    rows = [_rows(x, axis) for x in reversed(given)]
    return transpose_tracer(lift_as(_order([x for x, _ in rows]), INT64), rows[0][1])


@api
def partition(a: Any, kth: int, axis: int | None = -1) -> Any:
    """`np.partition`: element `kth` where it is when sorted, no greater ones before it. The others are sorted, too."""
    return sort(_checked(lift(a), kth, axis), axis)


@api
def argpartition(a: Any, kth: int, axis: int | None = -1) -> Any:
    """`np.argpartition`: the indices of `partition`, int64."""
    return argsort(_checked(lift(a), kth, axis), axis)


def _checked(x: Tracer, kth: int, axis: int | None) -> Tracer:
    size = x.size if axis is None else x.shape[normalize_axis(axis, x.ndim)]
    if not -size <= kth < size:
        raise ShapeError(f"kth {kth} is out of bounds for {size} elements")
    return x

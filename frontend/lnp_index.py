"""lamina.numpy: indexing by ints, slices, None and Ellipsis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError, ShapeError, TracingError
from .moves import reshape_tracer, reverse_tracer, slice_tracer, static_int
from .promotion import BOOL
from .tracer import Tracer
from .tracing import api, lift

__all__ = ["getitem"]


@api
def getitem(x: Any, index: Any) -> Any:
    """`x[index]` with ints, slices, None and Ellipsis."""
    return _getitem(lift(x), index if isinstance(index, tuple) else (index,))


def _getitem(x: Tracer, index: Sequence[Any]) -> Tracer:
    parts = _expand(x, index)
    start, stop, step, reverse, shape = [], [], [], [], []
    dim = 0
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        n = x.shape[dim]
        if isinstance(part, slice):
            a, b, s = _static_slice(part).indices(n)
            count = len(range(a, b, s))
            if count == 0:
                a, b, s = 0, 0, 1
            elif s < 0:
                reverse.append(dim)
                a, s = a + (count - 1) * s, -s
            start.append(a)
            stop.append(a + (count - 1) * s + 1 if count else a)
            step.append(s)
            shape.append(count)
        else:
            k = part
            if not -n <= k < n:
                raise ShapeError(f"index {k} is out of bounds for dim {dim} of size {n}")
            start.append(k % n)
            stop.append(k % n + 1)
            step.append(1)
        dim += 1
    y = reverse_tracer(slice_tracer(x, start, stop, step), reverse)
    return reshape_tracer(y, tuple(shape))


def _expand(x: Tracer, index: Sequence[Any]) -> list[Any]:
    """One entry for each dim and None: ints and slices, the Ellipsis written out."""
    parts = [_entry(part) for part in index]
    used = sum(part is not None and part is not Ellipsis for part in parts)
    ellipses = [k for k, part in enumerate(parts) if part is Ellipsis]
    if len(ellipses) > 1:
        raise ShapeError("an index can hold only one ellipsis ('...')")
    if used > x.ndim:
        raise ShapeError(f"too many indices: {used} for an array of {x.ndim} dims, shape {list(x.shape)}")
    k = ellipses[0] if ellipses else len(parts)
    return [*parts[:k], *[slice(None)] * (x.ndim - used), *parts[k + 1 :]]


def _entry(part: Any) -> Any:
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if isinstance(part, Tracer):
        if part.dtype == BOOL:
            raise TracingError(
                "indexing by a boolean mask has a result whose size depends on values: use lnp.where(mask, x, other)"
            )
        raise TracingError(
            f"indexing by the traced {part!r} is not available: make the index static with static_argnums, or use "
            "lm.nn.one_hot(index, size) @ x"
        )
    if isinstance(part, bool | np.bool_):
        raise TracingError("indexing by a bool is not available")
    if isinstance(part, list | np.ndarray) and np.ndim(part) > 0:
        kind = "a boolean mask" if np.asarray(part).dtype == bool else "an array of indices"
        raise TracingError(f"indexing by {kind} is not available on traced arrays: use slices, lnp.where or lnp.stack")
    try:
        return static_int(part, "an index")
    except TypeError:
        raise DTypeError(
            f"an index must be an integer, a slice, None or '...', got {type(part).__name__}: {part!r:.40}"
        ) from None


def _static_slice(part: slice) -> slice:
    limits = (None if v is None else static_int(v, "a slice limit") for v in (part.start, part.stop, part.step))
    result = slice(*limits)
    if result.step == 0:
        raise ShapeError("slice step must not be 0")
    return result

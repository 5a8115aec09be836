"""Traced arrays that are repeated values of others, or one value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ShapeError
from .tracer import Tracer
from .tracing import here, lift_as


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

"""What special functions are made of: operands that are floats, polynomials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .elementwise import full_like_tracer, prepare
from .looped import is_differentiable
from .tracer import Tracer
from .tracing import build


def as_float(x: Any) -> Tracer:
    return prepare(np.sqrt, (x,))[0][0]


def floats(x: Any, y: Any) -> list[Tracer]:
    return prepare(np.arctan2, (x, y))[0]


def chebyshev(x: Tracer, coefficients: tuple[float, ...]) -> Tracer:
    """`sum(c[k] * T_k(x))` by Clenshaw's recurrence, without the coefficients that the dtype does not see."""
    eps = float(np.finfo(x.dtype).eps) / 64
    while abs(coefficients[-1]) < eps:
        coefficients = coefficients[:-1]
    high = low = full_like_tracer(x, 0)
    twice = x + x
    for c in reversed(coefficients[1:]):
        high, low = twice * high - low + c, high
    return x * high - low + coefficients[0]


def polynomial(x: Tracer, coefficients: tuple[float, ...]) -> Tracer:
    y = full_like_tracer(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        y = y * x + c
    return y


def with_slope(y: Tracer, *slopes: tuple[Tracer, Callable[[], Tracer]]) -> Tracer:
    """`y` with slopes, each what a function gives after its operand, added to its own."""
    if not is_differentiable():
        return y
    for x, slope in slopes:
        y = build("with_slope", y, x, slope())
    return y

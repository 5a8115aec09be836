"""lamina.special: the digamma function and its derivatives, the polygamma functions of known orders."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...api import Tracer, build, full_like_tracer, operation
from ...api.functions import with_slopes
from ..numpy.elementwise import compare, select
from ..numpy.ufuncs import tan
from .parts import as_float, polynomial

SHIFT = 8
# Stirling's series: bernoulli(2 * k) / (2 * k * (2 * k - 1))
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)


def shifted(x: Tracer) -> tuple[Tracer, Tracer, Tracer]:
    """Where a positive number is small, it (1 elsewhere), and the number, moved up where it is."""
    small = compare("lt", x, full_like_tracer(x, SHIFT))
    return small, select(small, x, full_like_tracer(x, 1)), select(small, x + float(SHIFT), x)


TERMS = 9
EULER_MACLAURIN = tuple(
    numerator / denominator / math.factorial(2 * k)
    for k, (numerator, denominator) in enumerate(
        (
            *((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798)),
            *((-174611, 330), (854513, 138), (-236364091, 2730)),
        ),
        1,
    )
)
"""`bernoulli(2 k) / (2 k)!`."""


def stirling_slope(x: Tracer) -> Tracer:
    """`log(x) - 1 / (2 x) - digamma(x)` where `x` is large."""
    back = 1.0 / x
    square = back * back
    return square * polynomial(square, tuple((2 * k + 1) * c for k, c in enumerate(STIRLING)))


def _digamma_of_positive(x: Tracer) -> Tracer:
    small, low, z = shifted(x)
    terms = 1.0 / low
    for k in range(1, SHIFT):
        terms = terms + 1.0 / (low + float(k))
    y = build("log", z) - 0.5 / z - stirling_slope(z)
    return y - select(small, terms, full_like_tracer(x, 0))


def _moved(x: Tracer) -> tuple[Tracer, Tracer, Tracer, Tracer]:
    """Where a number is near 0, where it is below that; one of 0.5 or more to compute at; where it is below, its cotangent."""
    near = compare("lt", build("abs", x), full_like_tracer(x, 0.5))
    below = compare("le", x, full_like_tracer(x, -0.5))
    rest = select(below, x - build("rint", x), full_like_tracer(x, 0.25))
    return near, below, select(near, x + 1.0, select(below, 1.0 - x, x)), 1.0 / tan(rest * math.pi)


def digamma_everywhere(x: Tracer) -> Tracer:
    near, below, z, cotangent = _moved(x)
    y = _digamma_of_positive(z)
    y = select(near, y - 1.0 / select(near, x, full_like_tracer(x, 1)), y)
    y = select(below, y - math.pi * cotangent, y)
    pole = build("and", below, compare("eq", x, build("rint", x)))
    return select(pole, full_like_tracer(x, math.nan), y)


def _slope_of_positive(x: Tracer, order: int) -> Tracer:
    """`order! zeta(order + 1, x)` for x >= 0.5, by the formula of Euler and Maclaurin."""
    terms = [(1.0 / (x + float(k))) ** (order + 1) for k in range(TERMS)]
    back = 1.0 / (x + float(TERMS))
    square = back * back
    series = square * polynomial(square, tuple(math.factorial(order + 2 * k + 1) * c for k, c in enumerate(EULER_MACLAURIN)))
    tail = back**order * (float(math.factorial(order - 1)) + 0.5 * math.factorial(order) * back + series)
    return sum(terms[1:], terms[0]) * float(math.factorial(order)) + tail


def _cotangent_slope(order: int) -> tuple[float, ...]:
    """The derivative of the cotangent, as a polynomial of the cotangent."""
    powers = [0, 1]
    for _ in range(order):
        slope = [k * c for k, c in enumerate(powers)][1:]
        powers = [-(low + high) for low, high in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return tuple(map(float, powers))


@functools.cache
def digamma_slope(order: int) -> Callable[[Tracer], Tracer]:
    """The derivative of an order of 1 or more; at negative whole numbers the limits from the right."""
    sign, size = float((-1) ** order), float(math.factorial(order))

    def value(x: Tracer) -> Tracer:
        near, below, z, cotangent = _moved(x)
        y = -sign * _slope_of_positive(z, order)
        by_recurrence = y - sign * size * (1.0 / select(near, x, full_like_tracer(x, 1))) ** (order + 1)
        by_reflection = sign * y - math.pi ** (order + 1) * polynomial(cotangent, _cotangent_slope(order))
        return select(near, by_recurrence, select(below, by_reflection, y))

    return with_slopes(value, lambda y, x: digamma_slope(order + 1)(x))


_digamma = with_slopes(digamma_everywhere, lambda y, x: digamma_slope(1)(x))


@operation
def digamma(x: Any, /) -> Any:
    """The derivative of `gammaln`; infinite at 0, by the sign of that, and NaN at negative whole numbers."""
    return _digamma(as_float(x))

"""Complete elliptic integrals, by arithmetic-geometric means."""

from __future__ import annotations

import math
from typing import Any

from ...api import build, full_like_tracer, lift, operation
from ...api.functions import with_slopes
from ..numpy import namespace as lnp
from .parts import as_float, floats

_MEANS = 14
"""Steps after which the means agree, from ratios up to 10^150: they halve its exponent, and then double the right digits."""


def _means(x: Any, y: Any) -> tuple[Any, Any]:
    """The arithmetic-geometric mean of positive numbers, and the weighted squares of halved differences of all steps."""
    total = 0.5 * (x - y) * (x + y)
    for k in range(_MEANS):
        half = 0.5 * (x - y)
        x, y = 0.5 * (x + y), lnp.sqrt(x) * lnp.sqrt(y)
        total = total + 2.0**k * half * half
    return x, total


def _endless_mean_slope(k: int) -> Any:
    def slope(_: Any, *operands: Any) -> Any:
        endless = operands[k] == math.inf
        return lnp.where(endless, 0.0, math.inf / lnp.where(endless, 1.0, operands[k]))

    return slope


# of an infinite number: that by it falls as 1 / log(x), that by the other one grows
_endless_mean = with_slopes(lambda x, y: full_like_tracer(x, math.inf), _endless_mean_slope(0), _endless_mean_slope(1))


@operation
def agm(a: Any, b: Any, /) -> Any:
    """The arithmetic-geometric mean; of numbers of different signs NaN, 0 where one is."""
    a, b = floats(a, b)
    zero, opposite = (a == 0) | (b == 0), a * lnp.sign(b) < 0
    x, y = (lnp.where(zero | opposite, 1.0, lnp.abs(v)) for v in (a, b))
    endless = (x == math.inf) | (y == math.inf)
    mean = _means(*(lnp.where(endless, 1.0, v) for v in (x, y)))[0]
    y = lnp.where(endless, _endless_mean(*(lnp.where(endless, v, 1.0) for v in (x, y))), mean) * lnp.sign(a)
    return lnp.where(opposite, math.nan, lnp.where(zero, 0.0, y))


def _first_kind(p: Any) -> Any:
    inside = (p > 0) & (p < math.inf)
    y = 0.5 * math.pi / _means(1.0, lnp.sqrt(lnp.where(inside, p, 1.0)))[0]
    end = -0.5 * lnp.log(lnp.where(p == 0, p, 1.0))  # and its slopes, too
    return lnp.where(inside, y, lnp.where(p == 0, end, lnp.where(p == math.inf, 0.0, math.nan)))


@operation
def ellipkm1(p: Any, /) -> Any:
    """The complete elliptic integral of the first kind of the parameter `1 - p`, accurate near `p = 0`."""
    return _first_kind(as_float(p))


@operation
def ellipk(m: Any, /) -> Any:
    """The complete elliptic integral of the first kind of the parameter `m`: infinite at 1, NaN beyond."""
    return _first_kind(1.0 - as_float(m))


# 1 + p (log(16 / p) - 1) / 4 for a parameter 1 - p near 1: at p = 0 it is 1, and its slopes are infinite
_end_of_second_kind = with_slopes(lambda p: full_like_tracer(p, 1), lambda y, p: -0.25 * build("log", p))


@operation
def ellipe(m: Any, /) -> Any:
    """The complete elliptic integral of the second kind of the parameter `m`: 1 at 1, NaN beyond."""
    m = as_float(m)
    inside = (m < 1) & (m > -math.inf)
    p = lnp.where(inside, m, 0.0)
    mean, total = _means(1.0, lnp.sqrt(1.0 - p))
    y = 0.5 * math.pi / mean * (1.0 - total)
    end = _end_of_second_kind(lift(lnp.where(m == 1, 1.0 - m, 1.0)))
    return lnp.where(inside, y, lnp.where(m == 1, end, lnp.where(m == -math.inf, math.inf, math.nan)))

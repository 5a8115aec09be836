"""lamina.special: the transformations of Box and Cox, and their inverses."""

from __future__ import annotations

import math
from typing import Any

from ...api import Tracer, build, full_like_tracer, operation
from ...api.functions import with_slopes
from ..numpy.elementwise import compare, select
from .parts import EXP_RATIO, LOG_RATIO, NEAR_LOG, floats, polynomial, with_products

_EXP_RATIO_SLOPE = tuple(k * c for k, c in enumerate(EXP_RATIO))[1:]
_LOG_RATIO_SLOPE = tuple(k * c for k, c in enumerate(LOG_RATIO))[1:]
_DECAYED = -800.0
"""Where an exponential is 0."""


def _is(predicate: str, x: Tracer, value: float) -> Tracer:
    return compare(predicate, x, full_like_tracer(x, value))


def _where(condition: Tracer, x: Tracer, value: float) -> Tracer:
    """`x` where a condition holds, a harmless number elsewhere."""
    return select(condition, x, full_like_tracer(x, value))


def _unless(condition: Tracer, x: Tracer, value: float) -> Tracer:
    return select(condition, full_like_tracer(x, value), x)


def _both(x: Tracer, y: Tracer) -> Tracer:
    return build("and", x, y)


def _either(x: Tracer, y: Tracer) -> Tracer:
    return build("or", x, y)


def _endless(x: Tracer) -> Tracer:
    return _is("eq", build("abs", x), math.inf)


def _value(log: Tracer, power: Tracer) -> Tracer:
    """`log r(z)`, where `r(z) = expm1(z) / z` and `z = power log`."""
    z = _unless(_both(_is("eq", log, 0), _endless(power)), power * log, 0)
    small = _is("lt", build("abs", z), 1)
    near = _either(small, _is("eq", power, 0))
    # by the power, too, smooth at 0
    series = log * polynomial(_where(small, z, 0), EXP_RATIO)
    return select(near, series, build("expm1", _unless(near, z, 1)) / _unless(near, power, 1))


# of infinite logarithms
_grows = with_slopes(lambda log, power: full_like_tracer(log, math.inf), None, lambda y, log, power: log)


def _slope_by_power(log: Tracer, power: Tracer) -> Tracer:
    """`log**2 r'(z)`; where the logarithm is infinite, of the limits `-1 / power` and infinity."""
    endless = _endless(log)
    finite = _unless(endless, log, 1)
    z = _unless(_both(_is("eq", finite, 0), _endless(power)), power * finite, 0)
    near, over = _is("lt", build("abs", z), 1), _is("eq", z, math.inf)
    w = build("max", _unless(_either(near, over), z, 1), full_like_tracer(z, _DECAYED))
    far = (build("exp", w) * (w - 1.0) + 1.0) * _square(1.0 / _unless(near, power, 1))
    slope = select(near, finite * finite * polynomial(_where(near, z, 0), _EXP_RATIO_SLOPE), _unless(over, far, math.inf))
    decays = _both(endless, select(_is("lt", log, 0), _is("gt", power, 0), _is("lt", power, 0)))
    limit = select(decays, _square(1.0 / _where(decays, power, 1)), _grows(log, power))
    return select(endless, limit, slope)


def _square(x: Tracer) -> Tracer:
    return x * x


_boxcox = with_slopes(
    lambda x, power: _value(build("log", x), power),
    lambda y, x, power: build("pow", x, power - 1.0),
    lambda y, x, power: with_products(lambda x, p: _slope_by_power(build("log", x), p), 2)(x, power),
)
_boxcox1p = with_slopes(
    lambda x, power: _value(build("log1p", x), power),
    lambda y, x, power: build("pow", 1.0 + x, power - 1.0),
    lambda y, x, power: with_products(lambda x, p: _slope_by_power(build("log1p", x), p), 2)(x, power),
)


@operation
def boxcox(x: Any, lmbda: Any, /) -> Any:
    """`(x**lmbda - 1) / lmbda`, and its limit `log(x)` where `lmbda` is 0."""
    return _boxcox(*floats(x, lmbda))


@operation
def boxcox1p(x: Any, lmbda: Any, /) -> Any:
    """`boxcox(1 + x, lmbda)`, accurate near 0."""
    return _boxcox1p(*floats(x, lmbda))


# --------------------------------------------------------------------------------------------------------------------
# Inverses: exponentials of `y s(z)`, where `s(z) = log1p(z) / z` and `z = power y`


def _product(y: Tracer, power: Tracer) -> Tracer:
    none = _either(_both(_is("eq", y, 0), _endless(power)), _both(_is("eq", power, 0), _endless(y)))
    return _unless(none, power * y, 0)


def _log(y: Tracer, power: Tracer) -> Tracer:
    z = _product(y, power)
    near = _either(_is("lt", build("abs", z), NEAR_LOG), _is("eq", power, 0))
    far = build("log1p", _unless(near, z, 1)) / _unless(near, power, 1)
    log = select(near, y * polynomial(_where(near, z, 0), LOG_RATIO), far)
    return _unless(_both(_is("eq", z, math.inf), _endless(power)), log, 0)


def _mixed_at_end(y: Tracer, power: Tracer) -> Tracer:
    """The second slope by both operands where `1 + z` is 0 or infinite."""
    w, q = 1.0 + power * y, 1.0 / power
    one = _is("eq", q, 1)
    return select(one, -build("log", w), (q - 1.0) * y * build("pow", w, _unless(one, q, 3) - 2.0))


def _second_at_end(y: Tracer, power: Tracer) -> Tracer:
    none = _either(_endless(power), _is("eq", power, 1))
    return _unless(none, (1.0 - power) * build("pow", 1.0 + power * y, 1.0 / power - 2.0), 0)


def _second_by_power_at_end(y: Tracer, power: Tracer) -> Tracer:
    w, q = 1.0 + power * y, 1.0 / power
    return _unless(_is("eq", q, 1), q * (q - 1.0) * y * y * build("pow", w, q - 2.0), -math.inf)


_slope_at_end = with_slopes(
    lambda y, power: build("pow", 1.0 + power * y, 1.0 / power - 1.0),
    lambda x, y, power: _second_at_end(y, power),
    lambda x, y, power: _mixed_at_end(y, power),
)
_slope_by_power_at_end = with_slopes(
    lambda y, power: y / power * build("pow", 1.0 + power * y, 1.0 / power - 1.0),
    lambda x, y, power: _mixed_at_end(y, power),
    lambda x, y, power: _second_by_power_at_end(y, power),
)
# of infinite y
_exponential = with_slopes(lambda y: build("exp", y), lambda x, y: x)
_falls = with_slopes(lambda y, power: full_like_tracer(y, -math.inf), lambda x, y, power: x, lambda x, y, power: -x)


def _inverse_slope(y: Tracer, power: Tracer) -> Tracer:
    """By `y`: `(1 + z)**(1 / power - 1)`, at the ends as such."""
    z = _product(y, power)
    end = _either(_is("eq", z, -1), _is("eq", z, math.inf))
    exponential = _both(_is("eq", power, 0), _endless(y))
    left_out = _either(end, exponential)
    u = _unless(left_out, y, 0)
    inside = build("exp", _log(u, power)) / (_unless(left_out, z, 0) + 1.0)
    inside = select(exponential, _exponential(_where(exponential, y, 0)), inside)
    return select(end, _slope_at_end(_where(end, y, 0), _where(end, power, 1)), inside)


def _inverse_slope_by_power(y: Tracer, power: Tracer) -> Tracer:
    """`exp(y s(z)) y**2 s'(z)`."""
    falls = _both(_is("eq", y, math.inf), _is("ge", power, 0))
    flat = _either(_both(_is("eq", y, -math.inf), _is("le", power, 0)), _endless(power))
    left_out = _either(falls, flat)
    u, p = _unless(left_out, y, 0), _unless(left_out, power, 1)
    z = p * u
    end, near = _is("eq", z, -1), _is("lt", build("abs", z), NEAR_LOG)
    log = _log(_unless(end, u, 0), p)
    far = (u / _unless(end, 1.0 + z, 1) - log) / _unless(near, p, 1)
    slope = build("exp", log) * select(near, u * u * polynomial(_where(near, z, 0), _LOG_RATIO_SLOPE), far)
    slope = select(end, _slope_by_power_at_end(_where(end, u, 0), _where(end, p, 1)), slope)
    return select(falls, _falls(y, power), _unless(flat, slope, 0))


_inverse, _inverse1p = (
    with_slopes(
        lambda y, power, of=of: build(of, _log(y, power)),
        lambda x, y, power: with_products(_inverse_slope, 2)(y, power),
        lambda x, y, power: with_products(_inverse_slope_by_power, 2)(y, power),
    )
    for of in ("exp", "expm1")
)


@operation
def inv_boxcox(y: Any, lmbda: Any, /) -> Any:
    """The inverse of `boxcox`: `(1 + lmbda y)**(1 / lmbda)`, `exp(y)` where `lmbda` is 0."""
    return _inverse(*floats(y, lmbda))


@operation
def inv_boxcox1p(y: Any, lmbda: Any, /) -> Any:
    """The inverse of `boxcox1p`: `inv_boxcox(y, lmbda) - 1`."""
    return _inverse1p(*floats(y, lmbda))

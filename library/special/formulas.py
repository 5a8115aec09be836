"""Functions that are short formulas of others."""

from __future__ import annotations

import math
from typing import Any

from ...api import Tracer, build, lift, operation
from ...api.functions import with_slopes
from ..numpy import namespace as lnp
from .integrals import dawsn
from .parts import EXP_RATIO, as_float, floats, polynomial, square_exp
from .polygammas import digamma

cbrt, exp2, expm1, log1p, sinc, psi = lnp.cbrt, lnp.exp2, lnp.expm1, lnp.log1p, lnp.sinc, digamma


def exp10(x: Any, /) -> Any:
    """`10**x`; the relative error is about `|x|` units in the last place."""
    return lnp.power(10.0, x)


@operation
def exprel(x: Any, /) -> Any:
    """`(exp(x) - 1) / x`, 1 at 0."""
    x = as_float(x)
    near = lnp.abs(x) < 1
    # a quotient at 0 has no slope, and one near it loses digits with each derivative
    series = polynomial(lift(lnp.where(near, x, 0.0)), EXP_RATIO)
    over = build("expm1", x) == math.inf  # where slopes are infinite, too, and not differences of infinite terms
    safe = lnp.where(near | over, 1.0, x)
    far = lnp.where(over, build("exp", lift(lnp.where(over, x, 0.0))), build("expm1", lift(safe)) / safe)
    return lnp.where(near, series, far)


@operation
def cosm1(x: Any, /) -> Any:
    """`cos(x) - 1`, accurate near 0."""
    half = build("sin", 0.5 * as_float(x))
    return -2.0 * half * half


@operation
def softplus(x: Any, /) -> Any:
    """`log(1 + exp(x))`, which neither overflows nor loses small values."""
    return lnp.logaddexp(as_float(x), 0.0)


@operation
def log_expit(x: Any, /) -> Any:
    """`log(1 / (1 + exp(-x)))`."""
    return -lnp.logaddexp(-as_float(x), 0.0)


def _huber_value(delta: Tracer, r: Tracer) -> Any:
    size = lnp.abs(r)
    return lnp.where(delta < 0, math.inf, lnp.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta)))


_huber = with_slopes(
    _huber_value,
    lambda y, delta, r: lnp.where((delta < 0) | (lnp.abs(r) <= delta), 0.0, lnp.abs(r) - delta),
    lambda y, delta, r: lnp.where(delta < 0, 0.0, lnp.where(lnp.abs(r) <= delta, r, delta * lnp.sign(r))),
)


@operation
def huber(delta: Any, r: Any, /) -> Any:
    """Huber's loss: `r**2 / 2` up to `delta`, `delta * (|r| - delta / 2)` beyond; infinite for a negative `delta`."""
    return _huber(*floats(delta, r))


def _sides(delta: Tracer, r: Tracer) -> tuple[Any, Any]:
    """Both numbers over their hypotenuse, which may be infinite; 0 at the origin."""
    size = lnp.hypot(delta, r)
    endless = size == math.inf
    over = lnp.where((size == 0) | endless, 1.0, size)
    c, s = (lnp.where(endless, lnp.where(lnp.abs(x) == math.inf, lnp.sign(x), 0.0), x / over) for x in (delta, r))
    return c, s


def _pseudo_huber_by_r(delta: Tracer, r: Tracer) -> Any:
    """`r delta / hypot(delta, r)`; the larger one is divided."""
    c, s = _sides(delta, r)
    inside = lnp.abs(r) <= delta
    return lnp.where(inside, lnp.where(inside, r, 0.0) * c, lnp.where(inside, 0.0, delta) * s)


def _cube(x: Any) -> Any:
    return x * x * x


def _pseudo_huber_by_delta(delta: Tracer, r: Tracer) -> Any:
    c, s = _sides(delta, r)
    return r * s * (s / (1.0 + c)) * (s / (1.0 + c))


def _pseudo_huber_second(delta: Tracer, r: Tracer) -> Any:
    """Twice by `delta`: `-(1 - c)**2 (2 + c)` without cancellation."""
    c, s = _sides(delta, r)
    rest = s * s / (1.0 + c)
    return -rest * rest * (2.0 + c)


# second derivatives as they are, since those of the first ones are differences of infinite terms
_by_r = with_slopes(
    _pseudo_huber_by_r, lambda y, delta, r: _cube(_sides(delta, r)[1]), lambda y, delta, r: _cube(_sides(delta, r)[0])
)
_by_delta = with_slopes(
    _pseudo_huber_by_delta,
    lambda y, delta, r: _pseudo_huber_second(delta, r),
    lambda y, delta, r: _cube(_sides(delta, r)[1]),
)
_pseudo_huber = with_slopes(
    lambda delta, r: r * _pseudo_huber_by_r(delta, r) / (1.0 + _sides(delta, r)[0]),
    lambda y, delta, r: _by_delta(delta, r),
    lambda y, delta, r: _by_r(delta, r),
)


@operation
def pseudo_huber(delta: Any, r: Any, /) -> Any:
    """`delta**2 * (sqrt(1 + (r / delta)**2) - 1)`, 0 where either is 0; infinite for a negative `delta`."""
    delta, r = floats(delta, r)
    return lnp.where(delta < 0, math.inf, _pseudo_huber(lnp.where(delta < 0, 0.0, delta), r))


_erfi = with_slopes(
    lambda x: dawsn(x) / build("gauss", x) * (2 / math.sqrt(math.pi)), lambda y, x: square_exp(x) * (2 / math.sqrt(math.pi))
)


@operation
def erfi(x: Any, /) -> Any:
    """The imaginary error function, `-1j * erf(1j * x)`: from Dawson's integral."""
    return _erfi(as_float(x))

"""Functions that are short formulas of others."""

from __future__ import annotations

import math
from typing import Any

from ...api import build, lift, operation
from ..numpy import namespace as lnp
from .gammas import digamma
from .integrals import dawsn
from .parts import EXP_RATIO, LOG_RATIO, NEAR_LOG, as_float, floats, polynomial

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
    safe = lnp.where(near | (x == math.inf), 1.0, x)
    return lnp.where(near, series, lnp.where(x == math.inf, math.inf, build("expm1", lift(safe)) / safe))


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


@operation
def inv_boxcox(y: Any, lmbda: Any, /) -> Any:
    """The inverse of `boxcox`: `(1 + lmbda y)**(1 / lmbda)`, `exp(y)` where `lmbda` is 0."""
    return lnp.exp(_log_of_box_cox(y, lmbda))


@operation
def inv_boxcox1p(y: Any, lmbda: Any, /) -> Any:
    """The inverse of `boxcox1p`: `inv_boxcox(y, lmbda) - 1`."""
    return lnp.expm1(_log_of_box_cox(y, lmbda))


def _log_of_box_cox(y: Any, power: Any) -> Any:
    y, power = floats(y, power)
    z = power * y
    near = (lnp.abs(z) < NEAR_LOG) | (power == 0)
    series = y * polynomial(lift(lnp.where(near & (lnp.abs(z) < 1), z, 0.0)), LOG_RATIO)
    return lnp.where(near, series, lnp.log1p(lnp.where(near, 1.0, z)) / lnp.where(near, 1.0, power))


@operation
def huber(delta: Any, r: Any, /) -> Any:
    """Huber's loss: `r**2 / 2` up to `delta`, `delta * (|r| - delta / 2)` beyond; infinite for a negative `delta`."""
    delta, r = floats(delta, r)
    size = lnp.abs(r)
    return lnp.where(delta < 0, math.inf, lnp.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta)))


@operation
def pseudo_huber(delta: Any, r: Any, /) -> Any:
    """`delta**2 * (sqrt(1 + (r / delta)**2) - 1)`, 0 where either is 0; infinite for a negative `delta`."""
    delta, r = floats(delta, r)
    u = r / lnp.where(delta == 0, 1.0, delta)
    root = lnp.sqrt(1.0 + u * u)
    return lnp.where(delta < 0, math.inf, lnp.where(delta == 0, 0.0, delta * r * (u / (root + 1.0))))


@operation
def erfi(x: Any, /) -> Any:
    """The imaginary error function, `-1j * erf(1j * x)`: from Dawson's integral."""
    x = as_float(x)
    return dawsn(x) / build("gauss", x) * (2 / math.sqrt(math.pi))

"""The logarithm of the gamma function of complex numbers."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...api import array_function, lift, lift_as, token
from ...api.dtypes import result_type
from ..numpy import namespace as lnp
from .gammas import gammaln
from .parts import as_float
from .polygammas import STIRLING


def as_complex(x: Any) -> Any:
    return lift_as(x, np.result_type(result_type([token(x)]), np.complex64))


_SHIFT = 8


def _loggamma_right(z: Any) -> Any:
    """For numbers with a real part of 0 or more: Stirling's series at `z + 8`, less the logarithms on the way."""
    near = lnp.abs(z) < 16.0
    total = sum((lnp.log(lnp.where(near, z, 1.0) + float(k)) for k in range(1, _SHIFT)), lnp.log(lnp.where(near, z, 1.0)))
    high = lnp.where(near, z + float(_SHIFT), z)
    back = 1.0 / high
    square = back * back
    series = functools.reduce(lambda y, c: y * square + c, reversed(STIRLING[:-1]), STIRLING[-1] + 0 * square)
    y = (high - 0.5) * (lnp.log(high) - 1.0) + (0.5 * math.log(2 * math.pi) - 0.5) + back * series
    return y - lnp.where(near, total, 0.0)


def _loggamma(z: Any) -> Any:
    left = z.real < 0
    up = z.imag >= 0
    folded = lnp.where(up, z, lnp.conj(z))
    # log(sin(pi z)) without overflow: a function that is analytic above the real axis, as the result is
    wave = lnp.expm1(2j * math.pi * (folded - lnp.rint(folded.real)))
    sine = -1j * math.pi * folded + lnp.log(-wave) + complex(-math.log(2), math.pi / 2)
    whole = _loggamma_right(lnp.where(left, 1.0 - folded, folded))
    y = lnp.where(left, math.log(math.pi) - sine - whole, whole)
    return lnp.where(up, y, lnp.conj(y))


@array_function
def loggamma(x: Any) -> Any:
    """The principal branch of the logarithm of the gamma function, of real and complex numbers.

    The result is NaN for real numbers below 0, where it would be complex. The error is up to 40 units in the last place of the
    result, or of 1 near its zeros at 1 and 2.

    >>> import lamina as lm
    >>> lm.special.loggamma(0.5 + 1j).round(6)
    np.complex128(-0.652791-0.955008j)
    """
    x = lift(x)
    if x.dtype.kind == "c":
        return _loggamma(x)
    x = as_float(x)
    return lnp.where(x < 0, math.nan, gammaln(lnp.where(x < 0, 1.0, x)))

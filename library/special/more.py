"""lamina.special: combinations, elliptic integrals, functions of complex numbers, and formulas of the other functions."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...api import array_function, build, fori_loop, jit, lift, lift_as, operation, result_type, static_int, token, with_slopes
from ..numpy import namespace as lnp
from .gamma_products import beta, gamma_size, poch
from .gammas import STIRLING, digamma, gammaln, gammasgn
from .integrals import dawsn
from .parts import EXP_RATIO, LOG_RATIO, NEAR_LOG, as_float, float_operands, floats, polynomial

__all__ = [
    "agm", "cbrt", "comb", "cosm1", "ellipe", "ellipk", "ellipkm1", "erfi", "exp2", "exp10", "expm1", "exprel", "huber",
    "inv_boxcox", "inv_boxcox1p", "log1p", "log_expit", "loggamma", "perm", "pseudo_huber", "psi", "rgamma", "sinc", "softplus",
    "sph_harm_y", "wofz",
]  # fmt: skip

cbrt, exp2, expm1, log1p, sinc, psi = lnp.cbrt, lnp.exp2, lnp.expm1, lnp.log1p, lnp.sinc, digamma


# --------------------------------------------------------------------------------------------------------------------
# Formulas


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
def rgamma(x: Any, /) -> Any:
    """`1 / gamma(x)`, 0 at 0 and at negative whole numbers."""
    x = as_float(x)
    pole = (x <= 0) & (x == lnp.floor(x))
    safe = lnp.where(pole, 1.0, x)
    return lnp.where(pole, 0.0, gammasgn(safe) / gamma_size(safe))


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


# --------------------------------------------------------------------------------------------------------------------
# Combinations


@operation
def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """The number of ways to choose `k` of `N` things, as a float; 0 where there are none. With `repetition` each any often.

    Whole numbers are rounded to one, so that results are exact up to about 10^13.
    """
    n, k = float_operands(N, k)
    if repetition:
        none = (k == 0) & (n == 0)
        n = lnp.where(none, 0.0, n + k - 1.0)
    inside = (k >= 0) & (n >= 0) & (k <= n)
    a, b = lnp.where(inside, n, 1.0), lnp.where(inside, k, 0.0)
    few = b < 1.0  # else the other form, whose factors do not vanish before the result overflows
    y = 1.0 / (beta(1.0 + a - b, b + lnp.where(few, 1.0, 0.0)) * lnp.where(few, a + 1.0, b))
    whole = (a == lnp.floor(a)) & (b == lnp.floor(b))
    # the slope is that of the smooth function
    y = y + lnp.where(whole, lift(build("stop_gradient", lift(lnp.rint(y) - y))), 0.0)
    return lnp.where(inside, y, 0.0)


@operation
def perm(N: Any, k: Any) -> Any:
    """The number of ways to choose `k` of `N` things in an order, as a float; 0 where there are none."""
    n, k = float_operands(N, k)
    inside = (k >= 0) & (n >= 0) & (k <= n)
    a, b = lnp.where(inside, n, 1.0), lnp.where(inside, k, 0.0)
    y = poch(a - b + 1.0, b)
    whole = (a == lnp.floor(a)) & (b == lnp.floor(b))
    return lnp.where(inside, y + lnp.where(whole, build("stop_gradient", lift(lnp.rint(y) - y)), 0.0), 0.0)


# --------------------------------------------------------------------------------------------------------------------
# Elliptic integrals, by the means of Gauss

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


@operation
def agm(a: Any, b: Any, /) -> Any:
    """The arithmetic-geometric mean; of numbers of different signs NaN, 0 where one is."""
    a, b = floats(a, b)
    zero, apart = (a == 0) | (b == 0), a * lnp.sign(b) < 0
    x, y = (lnp.where(zero | apart, 1.0, lnp.abs(v)) for v in (a, b))
    y = _means(x, y)[0] * lnp.sign(a)
    return lnp.where(apart, math.nan, lnp.where(zero, 0.0, y))


def _first_kind(p: Any) -> Any:
    inside = (p > 0) & (p < math.inf)
    y = 0.5 * math.pi / _means(1.0, lnp.sqrt(lnp.where(inside, p, 1.0)))[0]
    return lnp.where(inside, y, lnp.where(p == 0, math.inf, lnp.where(p == math.inf, 0.0, math.nan)))


@operation
def ellipkm1(p: Any, /) -> Any:
    """The complete elliptic integral of the first kind of the parameter `1 - p`, accurate near `p = 0`."""
    return _first_kind(as_float(p))


@operation
def ellipk(m: Any, /) -> Any:
    """The complete elliptic integral of the first kind of the parameter `m`: infinite at 1, NaN beyond."""
    return _first_kind(1.0 - as_float(m))


@operation
def ellipe(m: Any, /) -> Any:
    """The complete elliptic integral of the second kind of the parameter `m`: 1 at 1, NaN beyond."""
    m = as_float(m)
    inside = (m < 1) & (m > -math.inf)
    p = lnp.where(inside, m, 0.0)
    mean, total = _means(1.0, lnp.sqrt(1.0 - p))
    y = 0.5 * math.pi / mean * (1.0 - total)
    return lnp.where(inside, y, lnp.where(m == 1, 1.0, lnp.where(m == -math.inf, math.inf, math.nan)))


# --------------------------------------------------------------------------------------------------------------------
# Of complex numbers


def _complex(x: Any) -> Any:
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
    return lnp.where(x < 0, math.nan, gammaln(x))


_TERMS = 64


@functools.cache
def _weideman() -> tuple[float, np.ndarray]:
    """The scale and coefficients of Weideman's expansion of the Faddeeva function (1994), from a Fourier transform."""
    m = 4 * _TERMS
    scale = math.sqrt(_TERMS / math.sqrt(2))
    t = scale * np.tan(np.arange(-m + 1, m) * math.pi / m / 2)
    f = np.concatenate([[0.0], np.exp(-t * t) * (scale * scale + t * t)])
    found = np.real(np.fft.fft(np.fft.fftshift(f))) / (2 * m)
    return scale, found[1 : _TERMS + 1]


def _faddeeva(z: Any) -> Any:
    """`exp(-z**2) * erfc(-1j * z)` above the real axis; by its continued fraction where `z` is large."""
    scale, terms = _weideman()
    far = lnp.abs(z) > 12.0
    inner = lnp.where(far, 1.0, z)
    down = 1.0 / (scale - 1j * inner)
    turned = (scale + 1j * inner) * down
    total = functools.reduce(lambda y, c: y * turned + c, map(float, terms[-2::-1]), float(terms[-1]) + 0 * turned)
    near = 2.0 * total * down * down + down / math.sqrt(math.pi)
    outer = lnp.where(far, z, 12.0)
    fraction = outer
    for k in range(9, 0, -1):
        fraction = outer - (k / 2) / fraction
    return lnp.where(far, 1j / math.sqrt(math.pi) / fraction, near)


def _wofz(z: Any) -> Any:
    below = z.imag < 0
    y = _faddeeva(lnp.where(below, -z, z))
    inner = lnp.where(below, z, 0.0)
    return lnp.where(below, 2.0 * lnp.exp(-inner * inner) - y, y)


_wofz_with_slope = with_slopes(_wofz, lambda y, z: 2j / math.sqrt(math.pi) - 2.0 * z * y)


@array_function
def wofz(z: Any) -> Any:
    """The Faddeeva function `exp(-z**2) * erfc(-1j * z)` of complex numbers.

    By Weideman's expansion (SIAM J. Numer. Anal. 31, 1994), and a continued fraction far from 0. The error is up to 50 units in
    the last place of the magnitude, below the real axis `|z|**2` units of `exp(-z**2)`.

    >>> import lamina as lm
    >>> lm.special.wofz(1j).round(6)
    np.complex128(0.427584+0j)
    """
    return _wofz_with_slope(_complex(z))


# --------------------------------------------------------------------------------------------------------------------
# Spherical harmonics


@functools.partial(jit, static_argnums=3)
def _legendre(n: Any, m: Any, theta: Any, most: int) -> Any:
    """Associated Legendre functions of `cos(theta)` with the factor that makes spherical harmonics orthonormal, by recurrences
    in `n`."""
    x, root = lnp.cos(theta), lnp.sin(theta)  # which the cosine does not tell near the poles
    root = lnp.where(root < 0, -root, root)
    n, m = n.astype(x.dtype), m.astype(x.dtype)

    def raise_order(k: Any, y: Any) -> Any:
        k = k.astype(x.dtype)
        factor = -lnp.sqrt((2.0 * k + 3.0) / (2.0 * k + 2.0)) * root
        return lnp.where(k < m, y * factor, y)

    first = fori_loop(0, most, raise_order, lnp.full_like(x, math.sqrt(0.25 / math.pi)))

    def raise_degree(k: Any, both: Any) -> Any:
        (y, before), k = both, k.astype(x.dtype)
        upper = lnp.where(k > m, k, m + 1)
        scale = (upper - m) * (upper + m)
        b = lnp.sqrt((upper - 1 - m) * (upper - 1 + m) * (2 * upper + 1) / (lnp.where(upper > 1, 2 * upper - 3, 1.0) * scale))
        a = lnp.sqrt((4 * upper * upper - 1) / scale)
        active = (k > m) & (k <= n)
        return lnp.where(active, a * x * y - b * before, y), lnp.where(active, y, before)

    return fori_loop(1, most + 1, raise_degree, (first, lnp.zeros_like(first)))[0]


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, diff_n: int | None = None, n_max: int | None = None) -> Any:
    """`scipy.special.sph_harm_y`: the spherical harmonic of degree `n` and order `m`, with the phase of Condon and Shortley.

    Args:
        n, m: whole numbers, `|m| <= n`; all are 0 where `|m| > n`.
        theta: the polar angle, from 0 to pi.
        phi: the azimuthal angle.
        diff_n: None; derivatives are those of `lm.jvp`.
        n_max: the largest degree, needed where `n` is traced.

    Returns:
        Complex numbers of the broadcast shape; about `12 * n_max` flops each.

    >>> import lamina as lm, numpy as np
    >>> lm.special.sph_harm_y(1, 0, 0.0, 0.0).real.round(6)
    np.float64(0.488603)
    """
    if diff_n is not None:
        raise ValueError("sph_harm_y has no diff_n: differentiate it with lm.jvp")
    most = static_int(np.max(np.asarray(n), initial=0) if n_max is None else n_max, "n_max")
    degree, order, polar, azimuth = lnp.broadcast_arrays(n, m, theta, phi)
    dtype = lnp.result_type(polar.dtype, azimuth.dtype)
    polar, azimuth = (x.astype(dtype if dtype.kind == "f" else float) for x in (polar, azimuth))
    size = lnp.abs(order)
    y = lnp.where(size <= degree, _legendre(degree, size, polar, most), 0.0)
    odd = lnp.where((order < 0) & (size % 2 == 1), -1.0, 1.0).astype(y.dtype)
    angle = order.astype(azimuth.dtype) * azimuth
    return odd * y * (lnp.cos(angle) + 1j * lnp.sin(angle))

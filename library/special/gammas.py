"""lamina.special: the logarithm of the gamma function and its relatives, the zeta function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...api import Tracer, as_array, build, full_like_tracer, operation
from ...api.functions import with_slopes
from ..numpy.elementwise import compare, select
from ..numpy.math import power
from ..numpy.ufuncs import floor
from .parts import as_float, chebyshev, floats, polynomial, slope_along, with_products
from .polygammas import EULER_MACLAURIN, SHIFT, STIRLING, TERMS, digamma, shifted, stirling_slope

# of log(gamma(x)) / ((x - 1) * (x - 2)) in x - 2, from 1 to 3
_GAMMALN = (
    0.44148902545501423, -0.11119580321752523, 0.01951044826068884, -0.003922461463025264, 0.0008478989895953857,
    -0.00019153855341365593, 4.454470184975607e-05, -1.05728743735943e-05, 2.5474336873408417e-06, -6.208535880776316e-07,
    1.5268677399071546e-07, -3.782637660291326e-08, 9.428100823624284e-09, -2.361999702184645e-09, 5.943541905817546e-10,
    -1.501312977072867e-10, 3.8050196458110534e-11, -9.672485299656325e-12, 2.465348198355661e-12, -6.298868140791711e-13,
    1.6128460030283787e-13, -4.137949206814042e-14, 1.0635701227757898e-14, -2.7382420786652826e-15,
    7.060670507214892e-16, -1.8232177141662118e-16, 4.714169006756272e-17, -1.2204107319639856e-17,
    3.1630451661790255e-18,
)  # fmt: skip


def gammaln_near_zeros(x: Tracer) -> Tracer:
    """For x in [0.5, 3], accurate where the result is near 0, at 1 and 2."""
    below = compare("lt", x, full_like_tracer(x, 1))
    z = select(below, x + 1.0, x)
    y = (z - 1.0) * (z - 2.0) * chebyshev(z - 2.0, _GAMMALN)
    return y - build("log", select(below, x, full_like_tracer(x, 1)))


def _gammaln_of_positive(x: Tracer) -> Tracer:
    """For x >= 0.5."""
    near = compare("lt", x, full_like_tracer(x, 3))
    low, high = select(near, x, full_like_tracer(x, 1)), select(near, full_like_tracer(x, 3), x)
    return select(near, gammaln_near_zeros(low), _gammaln_far(high))


def _gammaln_far(x: Tracer) -> Tracer:
    small, low, z = shifted(x)
    product = low
    for k in range(1, SHIFT):
        product = product * (low + float(k))
    back = 1.0 / z
    y = (z - 0.5) * (build("log", z) - 1.0) + (0.5 * math.log(2 * math.pi) - 0.5) + back * polynomial(back * back, STIRLING)
    infinite = compare("eq", x, full_like_tracer(x, math.inf))
    return select(infinite, x, y - select(small, build("log", product), full_like_tracer(x, 0)))


def _reflected(x: Tracer) -> tuple[Tracer, Tracer, Tracer]:
    """Where a number is below a half; the positive one to compute at; its distance to a whole number where it is."""
    below = compare("lt", x, full_like_tracer(x, 0.5))
    return below, select(below, 1.0 - x, x), select(below, x - build("rint", x), full_like_tracer(x, 0.25))


@operation
def gammaln(x: Any, /) -> Any:
    """The logarithm of the magnitude of the gamma function; infinite at 0 and negative whole numbers.

    Where it is near 0 below 0 the absolute error is some units in the last place of 1.
    """
    return _gammaln(as_float(x))


def _gammaln_everywhere(x: Tracer) -> Tracer:
    below, z, rest = _reflected(x)
    y = _gammaln_of_positive(z)
    sine = build("abs", build("sin", rest * math.pi))
    return select(below, math.log(math.pi) - build("log", sine) - y, y)


_gammaln = with_slopes(_gammaln_everywhere, lambda y, x: digamma(x))


LARGE = 8


def is_large(x: Tracer) -> Tracer:
    return build("and", compare("ge", x, full_like_tracer(x, LARGE)), compare("lt", x, full_like_tracer(x, math.inf)))


def _log_gamma_step(x: Tracer, step: Tracer) -> Tracer:
    """`gammaln(x + step) - gammaln(x)` where both arguments are `LARGE` or more: the difference of Stirling's series, whose
    large terms are subtracted before they are computed.
    """
    y = x + step
    tails = [polynomial(1.0 / (z * z), STIRLING) / z for z in (y, x)]
    return step * (build("log", x) - 1.0) + (y - 0.5) * build("log1p", step / x) + (tails[0] - tails[1])


def is_pole(x: Tracer) -> Tracer:
    """Where the gamma function has a pole."""
    finite = compare("gt", x, full_like_tracer(x, -math.inf))
    return build("and", build("and", finite, compare("le", x, full_like_tracer(x, 0))), compare("eq", x, floor(x)))


def _is_finite_pole(a: Tracer, b: Tracer) -> Tracer:
    """Where `gamma(a)` and `gamma(a + b)` have poles, and `b` is a positive whole number."""
    whole = build("and", compare("eq", b, floor(b)), compare("ge", b, full_like_tracer(b, 1)))
    return build("and", whole, build("and", is_pole(a), is_pole(a + b)))


def at_beta_poles(a: Tracer, b: Tracer) -> tuple[Tracer, Tracer, Tracer]:
    """Arguments where the beta function has the same value but for a sign, and that. A quotient of two poles is the limit
    beside a negative whole number: `beta(a, n) = (-1)**n beta(1 - a - n, n)`.
    """
    swaps = compare("lt", b, a)
    a, b = select(swaps, b, a), select(swaps, a, b)
    finite = _is_finite_pole(a, b)
    odd = compare("ne", floor(b * 0.5) + floor(b * 0.5), b)
    one = full_like_tracer(a, 1)
    return select(finite, 1.0 - b - a, a), b, select(build("and", finite, odd), -one, one)


def betaln_everywhere(a: Tracer, b: Tracer) -> Tracer:
    """`betaln` after `at_beta_poles`, by its formula alone."""
    ordered = compare("ge", a, b)
    high, low = select(ordered, a, b), select(ordered, b, a)
    large = build("and", is_large(high), compare("gt", low, full_like_tracer(low, 0)))
    step = _log_gamma_step(select(large, high, full_like_tracer(high, LARGE)), select(large, low, full_like_tracer(low, 1)))
    one = full_like_tracer(high, 1)
    other = _gammaln_everywhere(select(large, one, high)) - _gammaln_everywhere(select(large, one, a + b))
    y = _gammaln_everywhere(low) + select(large, -step, other)
    inf = full_like_tracer(high, math.inf)
    endless = compare("eq", high, inf)
    positive = compare("gt", low, full_like_tracer(low, 0))
    y = select(build("and", endless, compare("gt", low, -inf)), select(positive, -inf, inf), y)
    return select(build("and", compare("ne", y, y), build("or", is_pole(a), is_pole(b))), inf, y)


def _digamma_step(x: Tracer, step: Tracer) -> Tracer:
    """`digamma(x + step) - digamma(x)` where both arguments are `LARGE` or more."""
    y = x + step
    return build("log1p", step / x) + (0.5 * step) / x / y - (stirling_slope(y) - stirling_slope(x))


def log_slope_of_quotient(a: Tracer, b: Tracer, vanishes: Tracer | None = None) -> Tracer:
    """The slope of `betaln` by `a` where neither operand is 0 or infinite.

    Where `vanishes` holds, that of `gamma(a) gamma(b) gamma(1 - a - b)`.
    """
    # of the function that `at_beta_poles` takes instead: digamma(x) - digamma(x + step)
    low = build("and", _is_finite_pole(a, b), compare("lt", a, b))
    high = build("and", _is_finite_pole(b, a), compare("lt", b, a))
    rest = 1.0 - a - b
    x, step = select(low, 1.0 - a, a), select(low, -b, select(high, rest - a, b))
    end = x + step
    large = build("and", is_large(x), is_large(end))
    by_series = _digamma_step(select(large, x, full_like_tracer(x, LARGE)), select(large, step, full_like_tracer(x, 0)))
    if vanishes is not None:
        end = select(vanishes, rest, end)
    one = full_like_tracer(x, 1)
    return select(large, -by_series, digamma(select(large, one, x)) - digamma(select(large, one, end)))


def log_beta_slope(a: Tracer, b: Tracer) -> Tracer:
    """The slope of `betaln` by `a`."""
    zero, inf, one = (full_like_tracer(a, v) for v in (0, math.inf, 1))
    pole, flat = compare("eq", a, zero), build("or", compare("eq", b, zero), compare("eq", a, inf))
    endless = build("and", compare("eq", b, inf), build("not", flat))
    regular = build("not", build("or", endless, build("or", pole, flat)))
    y = log_slope_of_quotient(select(regular, a, one), select(regular, b, one))
    y = select(endless, -inf, select(flat, zero, y))
    return select(pole, -build("div", one, select(pole, a, one)), y)  # as gammaln at zero of either sign


_betaln = with_slopes(
    lambda a, b: betaln_everywhere(*at_beta_poles(a, b)[:2]),
    lambda y, a, b: with_products(log_beta_slope, 2)(a, b),
    lambda y, a, b: with_products(lambda a, b: log_beta_slope(b, a), 2)(a, b),
)


@operation
def betaln(a: Any, b: Any, /) -> Any:
    """The logarithm of the beta function, `gammaln(a) + gammaln(b) - gammaln(a + b)`."""
    return _betaln(*floats(a, b))


@operation
def gammasgn(x: Any, /) -> Any:
    """The sign of the gamma function; NaN at negative whole numbers, where it has none, 1 or -1 at 0 by the sign of that."""
    x = as_float(x)
    whole = floor(x)
    odd = build("cmp", whole * 0.5, floor(whole * 0.5), predicate="ne")
    sign = select(build("and", compare("lt", x, full_like_tracer(x, 0)), odd), full_like_tracer(x, -1), full_like_tracer(x, 1))
    pole = build("and", compare("eq", whole, x), compare("lt", x, full_like_tracer(x, 0)))
    zero = compare("eq", x, full_like_tracer(x, 0))
    sign = select(zero, build("sign", 1.0 / x), sign)
    return select(build("or", pole, compare("ne", x, x)), full_like_tracer(x, math.nan), sign)


def log_gamma_ratio(z: Tracer, m: Tracer) -> Tracer:
    """`gammaln(z + m) - gammaln(z)`."""
    end = z + m
    large = build("and", is_large(z), is_large(end))
    one = full_like_tracer(z, 1)
    step = _log_gamma_step(select(large, z, full_like_tracer(z, LARGE)), select(large, m, one))
    other = gammaln(select(large, one, end)) - gammaln(select(large, one, z))
    return select(large, step, other)


@operation
def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the gamma function of `d` dims."""
    a = as_float(a)
    total = full_like_tracer(a, d * (d - 1) / 4 * math.log(math.pi))
    for k in range(d):
        total = total + gammaln(a - k / 2)
    return total


def _zeta_everywhere(x: Tracer, q: Tracer) -> Tracer:
    inf = full_like_tracer(x, math.inf)
    endless = build("or", compare("eq", x, inf), build("and", compare("gt", x, full_like_tracer(x, 1)), compare("eq", q, inf)))
    inside = build("and", compare("gt", x, full_like_tracer(x, 1)), compare("gt", q, full_like_tracer(q, 0)))
    inside = build("and", inside, build("not", endless))
    s, a = select(inside, x, full_like_tracer(x, 2)), select(inside, q, full_like_tracer(q, 1))
    total = power(a, -s)
    for k in range(1, TERMS):
        total = total + power(a + float(k), -s)
    z = a + float(TERMS)
    last = power(z, -s)
    total = total + last * z / (s - 1.0) + 0.5 * last
    factor = s * (last / z)
    back = 1.0 / (z * z)
    for k, c in enumerate(EULER_MACLAURIN):
        total = total + factor * c
        factor = factor * (s + (2.0 * k + 1)) * (s + (2.0 * k + 2)) * back
    pole = compare("eq", x, full_like_tracer(x, 1))
    beside = 1.0 / (select(pole, x, full_like_tracer(x, 2)) - 1.0)
    far = power(q, -select(endless, x, full_like_tracer(x, 1)))
    return select(inside, total, select(pole, beside, select(endless, far, full_like_tracer(x, math.nan))))


def _zeta_slope_by_x(y: Tracer, x: Tracer, q: Tracer) -> Tracer:
    endless = compare("eq", q, full_like_tracer(q, math.inf))
    s, a = select(endless, full_like_tracer(x, 2), x), select(endless, full_like_tracer(q, 1), q)
    slope = with_products(slope_along(_zeta_everywhere, 0), 2)(s, a)
    return select(endless, full_like_tracer(x, 0), slope)


def _zeta_slope_by_q(y: Tracer, x: Tracer, q: Tracer) -> Tracer:
    one = full_like_tracer(x, 1)
    flat = build("and", compare("eq", x, full_like_tracer(x, math.inf)), compare("gt", q, one))
    s = select(flat, one, x)
    return select(flat, full_like_tracer(x, 0), -s * _zeta(s + 1.0, q))


_zeta = with_slopes(_zeta_everywhere, _zeta_slope_by_x, _zeta_slope_by_q)


@operation
def zeta(x: Any, q: Any = 1.0, /) -> Any:
    """Hurwitz's zeta function, the sum of `(q + k)**-x`, for x > 1 and q > 0; Riemann's with q = 1.

    By the formula of Euler and Maclaurin: nine terms, an integral, twelve corrections. Infinite at x = 1, NaN elsewhere.
    """
    return _zeta(*floats(x, q))


def bernoulli(n: int) -> Any:
    """Bernoulli's numbers from 0 to `n`, by Python's exact fractions."""
    from fractions import Fraction

    numbers = [Fraction(1)]
    for m in range(1, n + 1):
        numbers.append(-sum((math.comb(m + 1, k) * numbers[k] for k in range(m)), Fraction(0)) / (m + 1))
    return as_array(np.array([float(b) for b in numbers]))

"""lamina.special: incomplete gamma and beta functions, `expn` and hypergeometric functions, by series and continued fractions.

These are loops over whole arrays, which end when all elements have converged. Derivatives by arguments of integrals are their
integrands; those by parameters are forward derivatives of the loops, which run until they have converged as well. Loops have
no gradient, so derivatives of such derivatives are computed in forward mode, too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import Tracer, broadcast_tracer, build, full_like_tracer, lift, lift_as
from ...api.functions import jvp, while_loop, with_slopes
from ..numpy.elementwise import compare, select
from ..numpy.looped import looped
from ..numpy.reduce import any as any_of
from .gammas import betaln, gammaln, gammasgn
from .parts import float_operands, floats, log1p_less, polynomial
from .polygammas import STIRLING, digamma

_LIMIT = 100_000
"""Iterations of a loop at most."""

_BEYOND = 1 / 64
"""How far below an ulp terms go: their derivatives by parameters, which are some times as large, have then converged."""


def _full(x: Tracer, value: float) -> Tracer:
    return full_like_tracer(x, value)


def _where(condition: Tracer, x: Tracer, value: float) -> Tracer:
    """`x` where a condition holds, a harmless number elsewhere."""
    return select(condition, x, _full(x, value))


def _both(*conditions: Tracer) -> Tracer:
    found = conditions[0]
    for other in conditions[1:]:
        found = build("and", found, other)
    return found


def _either(*conditions: Tracer) -> Tracer:
    found = conditions[0]
    for other in conditions[1:]:
        found = build("or", found, other)
    return found


def _is(predicate: str, x: Tracer, value: float) -> Tracer:
    return compare(predicate, x, _full(x, value))


def _until_converged(step: Callable[..., Any], carry: tuple[Tracer, ...]) -> tuple[Tracer, ...]:
    """`carry = step(k, *carry)` for k = 1, 2, ...; a step returns the next carry and where it is not final."""

    def body(state: Any) -> Any:
        k, _, carry = state
        following, going = step(k, *carry)
        return k + 1.0, going, following

    def test(state: Any) -> Any:
        k, going, _ = state
        return (k < _LIMIT) & any_of(going)

    one = lift_as(1.0, carry[0].dtype)
    return while_loop(test, body, (one, compare("eq", carry[0], carry[0]), carry))[2]


def _tolerance(x: Tracer) -> float:
    return float(np.finfo(x.dtype).eps) * _BEYOND


def _positive_series(ratio: Callable[..., Tracer], *operands: Tracer) -> Tracer:
    """`1 + r(1) + r(1) r(2) + ...`, where `ratio(k, *operands)` is a term over the one before it."""
    one = _full(operands[0], 1)
    tolerance = _tolerance(one)

    def step(k: Tracer, term: Tracer, total: Tracer) -> Any:
        term = term * ratio(broadcast_tracer(k, term.shape), *operands)
        following = total + term
        going = compare("gt", build("abs", term), build("abs", following) * tolerance)
        return (term, following), _both(going, _is("lt", build("abs", following), math.inf))

    return _until_converged(step, (one, one))[1]


def _fraction(first: Tracer, terms: Callable[..., tuple[Tracer, Tracer]], *operands: Tracer) -> Tracer:
    """`1 / (first + a(1) / (b(1) + a(2) / (b(2) + ...)))`, with `terms(k, *operands)` = `a(k), b(k)`: Lentz's algorithm.

    The last operand is the argument. It takes some steps in any case: where an `a(k)` is 0 the value is found, but slopes by
    what makes it so are not.
    """
    tiny = float(np.finfo(first.dtype).tiny) / float(np.finfo(first.dtype).eps)
    tolerance = float(np.finfo(first.dtype).eps)
    *parameters, _ = operands
    largest = parameters[0]
    for parameter in parameters[1:]:
        largest = build("max", largest, parameter)
    least = 24.0 + 6.0 * build("sqrt", build("min", largest, _full(largest, _LIMIT)))

    def away(x: Tracer) -> Tracer:
        return select(_is("lt", build("abs", x), tiny), _full(x, tiny), x)

    def step(k: Tracer, c: Tracer, d: Tracer, h: Tracer) -> Any:
        a, b = terms(broadcast_tracer(k, h.shape), *operands)
        d = 1.0 / away(a * d + b)
        c = away(b + a / c)
        factor = c * d
        going = _either(_is("gt", build("abs", factor - 1.0), tolerance), compare("lt", broadcast_tracer(k, h.shape), least))
        return (c, d, h * factor), going

    d = 1.0 / away(first)
    return _until_converged(step, (_full(first, 1 / tiny), d, d))[2]


def _stirling(x: Tracer) -> Tracer:
    """`log(gamma(x))` less `(x - 1/2) log(x) - x + log(2 pi) / 2`, for x >= 8."""
    back = 1.0 / x
    return back * polynomial(back * back, STIRLING)


# --------------------------------------------------------------------------------------------------------------------
# Gamma


def _gamma_weight(a: Tracer, x: Tracer) -> Tracer:
    """`x^a exp(-x) / gamma(a)` for positive numbers, by the distance from its greatest value where `a` is large."""
    large = _is("ge", a, 8)
    big = _where(large, a, 8)
    mu = (x - big) / big
    far = 0.5 * build("log", big * (0.5 / math.pi)) + big * log1p_less(mu, x / big) - _stirling(big)
    small = select(large, _full(a, 1), a)
    near = small * build("log", x) - x - gammaln(small)
    return build("exp", select(large, far, near))


def _incomplete_gamma(a: Tracer, x: Tracer) -> tuple[Tracer, Tracer]:
    """The lower and the upper part, regularized, for positive numbers."""
    below = compare("lt", x, a + 1.0)
    sa, sx = select(below, a, _full(a, 1)), _where(below, x, 0)
    series = _positive_series(lambda k, a, x: x / (a + k), sa, sx) / sa
    fa, fx = select(below, _full(a, 1), a), select(below, _full(x, 4), x)
    fraction = _fraction(fx + 1.0 - fa, lambda k, a, x: (k * (a - k), x + 1.0 - a + 2.0 * k), fa, fx)
    weight = _gamma_weight(a, x)
    low, high = weight * series, weight * fraction
    return select(below, low, 1.0 - high), select(below, 1.0 - low, high)


def _lower_or_upper(part: int) -> Callable[[Tracer, Tracer], Tracer]:
    """The regularized lower (0) or upper (1) part, everywhere."""
    ends = ((1, 0), (0, 1))[part]
    sign = (1.0, -1.0)[part]

    def value(a: Tracer, x: Tracer) -> Tracer:
        usable = _both(_is("gt", a, 0), _is("gt", x, 0), _is("lt", a, math.inf), _is("lt", x, math.inf))
        y = _incomplete_gamma(_where(usable, a, 1), _where(usable, x, 1))[part]
        at_end = _either(_is("eq", x, math.inf), _is("eq", a, 0))
        y = select(usable, y, select(at_end, _full(y, ends[0]), _full(y, ends[1])))
        both = _either(_both(_is("eq", a, 0), _is("eq", x, 0)), _both(_is("eq", a, math.inf), _is("eq", x, math.inf)))
        wrong = _either(_is("lt", a, 0), _is("lt", x, 0), compare("ne", a, a), compare("ne", x, x), both)
        return select(wrong, _full(y, math.nan), y)

    def slope(y: Tracer, a: Tracer, x: Tracer) -> Tracer:
        usable = _both(_is("gt", a, 0), _is("gt", x, 0), _is("lt", x, math.inf))
        density = _gamma_weight(_where(usable, a, 1), _where(usable, x, 1)) / _where(usable, x, 1)
        at_zero = select(_is("lt", a, 1), _full(a, math.inf), select(_is("eq", a, 1), _full(a, 1), _full(a, 0)))
        return sign * select(usable, density, select(_is("eq", x, 0), at_zero, _full(x, 0)))

    return with_slopes(value, _slope_of_loop(value, 0), slope)


def _slope_of_loop(function: Callable[..., Tracer], k: int) -> Callable[..., Tracer]:
    """The slope of a function by its operand `k`, in forward mode through its loops; and so are the slopes of that slope."""

    def value(*operands: Tracer) -> Tracer:
        def along(v: Any) -> Any:
            return function(*operands[:k], v, *operands[k + 1 :])

        return lift(jvp(along, (operands[k],), (_full(operands[k], 1),))[1])

    @functools.cache
    def of(count: int) -> Callable[..., Tracer]:
        return with_slopes(value, *(_slope_of_loop(value, j) for j in range(count)))

    return lambda y, *operands: of(len(operands))(*operands)


_lower, _upper = map(_lower_or_upper, (0, 1))


@looped()
def gammainc(a: Any, x: Any, /) -> Any:
    """The regularized lower incomplete gamma function, the probability that a gamma number of parameter `a` is below `x`.

    By its series where `x < a + 1`, else from the continued fraction of the upper one; both take a number of steps that grows
    as `sqrt(a)`.

    >>> import numpy as np, lamina as lm
    >>> lm.special.gammainc(np.array([1.0, 2.0]), np.array([1.0, 0.0])).round(6)
    array([0.632121, 0.      ])
    """
    return _lower(*floats(a, x))


@looped()
def gammaincc(a: Any, x: Any, /) -> Any:
    """The regularized upper incomplete gamma function, `1 - gammainc(a, x)`, accurate where that is near 1."""
    return _upper(*floats(a, x))


@looped()
def gamma_sample_slope(a: Any, sample: Any, /) -> Any:
    """The slope of a gamma number by its parameter with its probability kept: `jax.lax.random_gamma_grad`."""
    a, x = floats(a, sample)
    return -lift(gammainc_slope(a, x)) * x / _gamma_weight(a, x)


@looped()
def gammainc_slope(a: Any, x: Any, /) -> Any:
    """The slope of `gammainc` by `a`."""
    a, x = floats(a, x)
    return jvp(lambda v: _incomplete_gamma(v, x)[0], (a,), (_full(a, 1),))[1]


# --------------------------------------------------------------------------------------------------------------------
# Beta


def _beta_weight(a: Tracer, b: Tracer, x: Tracer) -> Tracer:
    """`x^a (1 - x)^b / beta(a, b)`, by the distance from its greatest value where `a` and `b` are large."""
    large = _both(_is("ge", a, 8), _is("ge", b, 8))
    p, q = _where(large, a, 8), _where(large, b, 8)
    s = p + q
    off = x * s - p
    far = (
        0.5 * build("log", p * (q / s) * (0.5 / math.pi))
        + p * log1p_less(off / p, x * s / p)
        + q * log1p_less(-off / q, (1.0 - x) * s / q)
    )
    far = far + _stirling(s) - _stirling(p) - _stirling(q)
    u, v = select(large, _full(a, 1), a), select(large, _full(b, 1), b)
    near = u * build("log", x) + v * build("log1p", -x) - betaln(u, v)
    return build("exp", select(large, far, near))


def _beta_terms(k: Tracer, a: Tracer, b: Tracer, x: Tracer) -> tuple[Tracer, Tracer]:
    """The terms of the continued fraction, those of even and odd number (Abramowitz and Stegun 26.5.8)."""
    m = build("floor", k * 0.5)
    even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
    odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
    return select(compare("eq", m + m, k), even, odd), _full(k, 1)


def _incomplete_beta(a: Tracer, b: Tracer, x: Tracer) -> Tracer:
    swap = compare("gt", x * (a + b + 2.0), a + 1.0)
    p, q, z = select(swap, b, a), select(swap, a, b), select(swap, 1.0 - x, x)
    y = _beta_weight(p, q, z) / p * _fraction(_full(z, 1), _beta_terms, p, q, z)
    return select(swap, 1.0 - y, y)


def _beta_everywhere(a: Tracer, b: Tracer, x: Tracer) -> Tracer:
    usable = _both(_is("gt", a, 0), _is("gt", b, 0), _is("gt", x, 0), _is("lt", x, 1))
    y = _incomplete_beta(_where(usable, a, 1), _where(usable, b, 1), _where(usable, x, 0.5))
    y = select(usable, y, _where(_is("eq", x, 1), _full(y, 1), 0))
    positive = _both(_is("gt", a, 0), _is("gt", b, 0), _is("ge", x, 0), _is("le", x, 1))
    return select(positive, y, _full(y, math.nan))


def _beta_density(y: Tracer, a: Tracer, b: Tracer, x: Tracer) -> Tracer:
    z = _where(_both(_is("gt", x, 0), _is("lt", x, 1)), x, 0.5)
    density = _beta_weight(a, b, z) / (z * (1.0 - z))
    one, zero = _full(x, 1), _full(x, 0)
    # at an end the density is infinite, 0, or the other parameter
    ends = [select(_is("lt", p, 1), _full(x, math.inf), select(_is("eq", p, 1), q, zero)) for p, q in ((a, b), (b, a))]
    return select(compare("eq", x, zero), ends[0], select(compare("eq", x, one), ends[1], density))


_beta = with_slopes(_beta_everywhere, _slope_of_loop(_beta_everywhere, 0), _slope_of_loop(_beta_everywhere, 1), _beta_density)


@looped()
def betainc(a: Any, b: Any, x: Any, /) -> Any:
    """The regularized incomplete beta function, the probability that a beta number of parameters `a, b` is below `x`.

    By its continued fraction, in a number of steps that grows as the root of the parameters. NaN for parameters that are not
    positive, and for x outside of [0, 1].

    >>> import numpy as np, lamina as lm
    >>> lm.special.betainc(2.0, 3.0, np.array([0.0, 0.5, 1.0]))
    array([0.    , 0.6875, 1.    ])
    """
    return _beta(*float_operands(a, b, x))


# --------------------------------------------------------------------------------------------------------------------
# Exponential integrals of any order

_EXPN_TERMS = 20


def _expn(n: Tracer, x: Tracer) -> Tracer:
    """For orders from -1 on and positive numbers."""
    inside = _is("le", x, 1)
    order = build("max", n, _full(n, 1))
    fx = select(inside, _full(x, 2), x)
    fraction = build("exp", -fx) * _fraction(fx + order, lambda k, n, x: (-k * (n + k - 1.0), x + n + 2.0 * k), order, fx)
    z = select(inside, x, _full(x, 1))
    log = build("log", z)
    # the series has a logarithm in the term of number n - 1 (Abramowitz and Stegun 5.1.12)
    power, total = _full(z, 1), _full(z, 0)
    for m in range(_EXPN_TERMS):
        off = order - (m + 1.0)
        special = _is("eq", off, 0)
        plain = power / select(special, _full(off, 1), off)
        total = total + select(special, power * (digamma(order) - log), plain)
        power = power * (-z / (m + 1.0))
    y = select(inside, total, fraction)
    ratio = build("exp", -x) / x
    return select(_is("eq", n, 0), ratio, select(_is("lt", n, 0), ratio * (1.0 + 1.0 / x), y))


def _expn_everywhere(n: Tracer, x: Tracer) -> Tracer:
    usable = _both(_is("ge", n, -1), compare("eq", n, build("floor", n)), _is("gt", x, 0), _is("lt", x, math.inf))
    y = _expn(_where(usable, n, 1), _where(usable, x, 1))
    at_zero = select(_is("le", n, 1), _full(n, math.inf), 1.0 / (select(_is("le", n, 1), _full(n, 2), n) - 1.0))
    y = select(usable, y, select(_is("eq", x, 0), at_zero, _full(y, 0)))
    wrong = _either(_is("lt", n, -1), compare("ne", n, build("floor", n)), _is("lt", x, 0), compare("ne", x, x))
    return select(wrong, _full(y, math.nan), y)


_expn_with_slope = with_slopes(_expn_everywhere, None, lambda y, n, x: -_expn_with_slope(n - 1.0, x))


@looped()
def expn(n: Any, x: Any, /) -> Any:
    """The exponential integral of order `n`, of `exp(-x t) / t^n` from 1 on, for whole numbers `n >= 0` and `x >= 0`.

    NaN elsewhere. By its series up to 1, by a continued fraction beyond. It has no slope by `n`.
    """
    n, x = floats(n, x)
    y = _expn_with_slope(n, x)
    return select(_is("lt", n, 0), _full(y, math.nan), y)


# --------------------------------------------------------------------------------------------------------------------
# Hypergeometric functions


def _kummer(a: Tracer, b: Tracer, x: Tracer) -> Tracer:
    """By the series, of `exp(x) 1F1(b - a, b, -x)` below 0."""
    negative = _is("lt", x, 0)
    p, z = select(negative, b - a, a), build("abs", x)
    total = _positive_series(lambda k, p, b, z: (p + (k - 1.0)) / (b + (k - 1.0)) * (z / k), p, b, z)
    return select(negative, build("exp", _where(negative, x, 0)) * total, total)


_kummer_with_slopes = with_slopes(
    _kummer,
    _slope_of_loop(_kummer, 0),
    _slope_of_loop(_kummer, 1),
    lambda y, a, b, x: a / b * _kummer_with_slopes(a + 1.0, b + 1.0, x),
)


@looped()
def hyp1f1(a: Any, b: Any, x: Any, /) -> Any:
    """Kummer's confluent hypergeometric function `1F1(a; b; x)` of real numbers, by its series.

    Accurate where its terms have one sign: `a` and `b` positive and `x >= 0`, or `b - a` and `b` and `x <= 0`. Elsewhere an
    error is that of the largest term. Infinite or NaN at poles in `b`.
    """
    return _kummer_with_slopes(*float_operands(a, b, x))


def _gauss(a: Tracer, b: Tracer, c: Tracer, x: Tracer) -> Tracer:
    """By the series, below 0 of `(1 - x)^-a 2F1(a, c - b; c; x / (x - 1))` (Pfaff); at 1 by Gauss's theorem."""
    negative, one = _is("lt", x, 0), _is("eq", x, 1)
    inside = _both(_is("ge", x, -math.inf), _is("lt", x, 1))
    z = select(negative, x / select(negative, x - 1.0, _full(x, 1)), x)
    z = _where(inside, z, 0)
    q = select(negative, c - b, b)

    def ratio(k: Tracer, a: Tracer, b: Tracer, c: Tracer, z: Tracer) -> Tracer:
        m = k - 1.0
        return (a + m) / (c + m) * ((b + m) / k) * z

    total = _positive_series(ratio, a, q, c, z)
    total = select(negative, build("exp", -a * build("log1p", -_where(negative, x, 0))) * total, total)
    rest = c - a - b
    signs = gammasgn(c) * gammasgn(rest) * gammasgn(c - a) * gammasgn(c - b)
    at_one = signs * build("exp", gammaln(c) + gammaln(rest) - gammaln(c - a) - gammaln(c - b))
    at_one = select(_is("gt", rest, 0), at_one, _full(x, math.inf))
    return select(inside, total, select(one, at_one, _full(x, math.nan)))


_gauss_with_slopes = with_slopes(
    _gauss,
    *(_slope_of_loop(_gauss, k) for k in range(3)),
    lambda y, a, b, c, x: a * b / c * _gauss_with_slopes(a + 1.0, b + 1.0, c + 1.0, x),
)


@looped()
def hyp2f1(a: Any, b: Any, c: Any, x: Any, /) -> Any:
    """Gauss's hypergeometric function `2F1(a, b; c; x)` of real numbers up to 1, by its series; NaN beyond 1.

    The number of terms grows as `1 / (1 - x)`. Accurate where terms have one sign, as those of positive parameters have.
    """
    return _gauss_with_slopes(*float_operands(a, b, c, x))

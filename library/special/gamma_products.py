"""lamina.special: the gamma function and quotients of it, as products of powers.

Exponentials of `gammaln` lose as many units in the last place as the logarithm is large. By Stirling's formula the large
factors are powers, which are accurate for any exponent, of bases that are exact or whose rounding error is known and put
right: `(x + e)**y` is `x**y exp(y e / x)`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...api import Tracer, build, full_like_tracer, operation
from ...api.functions import with_slopes
from ..numpy.elementwise import compare, select
from ..numpy.ufuncs import floor
from .gammas import (
    LARGE,
    at_beta_poles,
    betaln_everywhere,
    gammaln,
    gammaln_near_zeros,
    gammasgn,
    is_large,
    is_pole,
    log_gamma_ratio,
    log_slope_of_quotient,
    zeta,
)
from .parts import as_float, floats, polynomial, slope_along, with_total_slopes
from .polygammas import STIRLING, digamma, digamma_everywhere, digamma_slope

_STIRLING_FROM = 11
_OVERFLOWS = {4: 36.0, 8: 172.0}
"""Where the gamma function is infinite, by the bytes of a number."""
_FAR_OVERFLOW = {4: 45.0, 8: 200.0}
"""Where it is infinite also times the least distance of a number there to a whole one."""
_SPLIT = {4: 4097.0, 8: 134217729.0}
"""The product by these, rounded, tells the higher half of the digits (Veltkamp)."""
_LARGEST_EXPONENT = {4: 80.0, 8: 700.0}


def _is(predicate: str, x: Tracer, value: float) -> Tracer:
    return compare(predicate, x, full_like_tracer(x, value))


def _where(condition: Tracer, x: Tracer, value: float) -> Tracer:
    """`x` where a condition holds, a harmless number elsewhere."""
    return select(condition, x, full_like_tracer(x, value))


def _both(x: Tracer, y: Tracer) -> Tracer:
    return build("and", x, y)


def _tail(x: Tracer) -> Tracer:
    """The remainder of Stirling's formula for `gammaln`."""
    back = 1.0 / x
    return back * polynomial(back * back, STIRLING)


# --------------------------------------------------------------------------------------------------------------------
# The gamma function


def _gamma_of_positive(x: Tracer) -> Tracer:
    """For x >= 0.5; small arguments move down to [2, 3) by differences, which are exact."""
    near = _is("lt", x, _STIRLING_FROM)
    z, product = _where(near, x, 1), full_like_tracer(x, 1)
    for _ in range(_STIRLING_FROM - 2):
        above = _is("ge", z, 3)
        z = select(above, z - 1.0, z)
        product = select(above, product * z, product)
    small = product * build("exp", gammaln_near_zeros(z))
    large = select(
        near, full_like_tracer(x, _STIRLING_FROM), build("min", x, full_like_tracer(x, _OVERFLOWS[x.dtype.itemsize]))
    )
    half = build("pow", large, 0.5 * large - 0.25)  # half of the exponent: no overflow before that of the result
    rest = math.sqrt(2 * math.pi) * build("exp", _tail(large)) * build("exp", -large)
    return select(near, small, half * rest * half)


def gamma_size(x: Tracer) -> Tracer:
    """The magnitude: near 0 by the recurrence, below it by the reflection; neither rounds an argument where that matters."""
    size = build("abs", x)
    far = _is("ge", size, 0.5)
    y = _gamma_of_positive(select(far, size, x + 1.0))
    reflects = _both(far, _is("lt", x, 0))
    rest = _where(reflects, x - build("rint", _where(reflects, x, 1)), 0.5)
    reflected = math.pi / (size * build("abs", build("sin", rest * math.pi)) * y)
    return select(reflects, reflected, select(far, y, y / size))


def _gamma_value(x: Tracer) -> Tracer:
    return gammasgn(x) * gamma_size(x)


def _gamma_slope(y: Tracer, x: Tracer) -> Tracer:
    infinite = _is("eq", x, math.inf)  # where digamma's slope is 0, and the product of that and y NaN
    regular = build("not", infinite)
    return select(infinite, y, _where(regular, y, 1) * digamma(_where(regular, x, 1)))


_gamma = with_total_slopes(_gamma_value, _gamma_slope)


@operation
def gamma(x: Any, /) -> Any:
    """The gamma function: infinite at 0, NaN at negative whole numbers."""
    return _gamma(as_float(x))


_rgamma_right = with_slopes(
    lambda x: gammasgn(x) / gamma_size(x),  # below 0 only near it
    lambda y, x: -y * digamma(_where(_is("ne", y, 0), x, 1)),
)


def _height_times(size: Tracer, factor: Tracer) -> Tracer:
    """`gamma(size) * factor` for size >= 0.5: it overflows where the product does, and is 0 where the factor is."""
    near = _is("lt", size, _STIRLING_FROM)
    small = _gamma_of_positive(_where(near, size, 1)) * factor
    # no number beside a whole one is nearer to it than what makes up for this
    large = build(
        "min", _where(build("not", near), size, _STIRLING_FROM), full_like_tracer(size, _FAR_OVERFLOW[size.dtype.itemsize])
    )
    half = build("pow", large, 0.5 * large - 0.25)
    rest = math.sqrt(2 * math.pi) * build("exp", _tail(large)) * build("exp", -large)
    return select(near, small, select(_is("eq", factor, 0), factor, half * (rest * factor) * half))


@functools.cache
def _rgamma_left(order: int) -> Callable[[Tracer], Tracer]:
    """The derivative of an order of `sin(pi x) gamma(1 - x) / pi`, which is `1 / gamma(x)`, for x <= -0.5.

    The derivatives of `gamma(1 - x)` are polynomials of its logarithmic ones times itself. So all terms have one factor that
    overflows, and their sum meets it once: at whole numbers, where the sine is 0, they stay limits.
    """

    def value(x: Tracer) -> Tracer:
        endless = _is("eq", x, -math.inf)
        size = -_where(build("not", endless), x, -1)
        whole = build("rint", size)
        angle = (whole - size) * math.pi
        odd = compare("ne", floor(whole * 0.5) + floor(whole * 0.5), whole)
        sine, cosine = build("sin", angle), build("cos", angle)
        turns = [math.pi**k * (sine, cosine, -sine, -cosine)[k % 4] for k in range(order + 1)]
        end = size + 1.0
        logs = [-digamma(end)] if order else []
        logs += [(-1.0) ** k * digamma_slope(k - 1)(end) for k in range(2, order + 1)]
        powers = [full_like_tracer(x, 1)]
        for k in range(order):
            powers.append(_total([float(math.comb(k, j)) * powers[k - j] * logs[j] for j in range(k + 1)]))
        terms = [float(math.comb(order, k)) * turns[order - k] * powers[k] for k in range(order + 1)]
        factor = _total(terms) * (size * (1 / math.pi))  # gamma(1 - x) = size gamma(size): the size is exact
        return select(endless, full_like_tracer(x, 0), _height_times(size, select(odd, -factor, factor)))

    return with_slopes(value, lambda y, x: _rgamma_left(order + 1)(x))


def _total(terms: list[Tracer]) -> Tracer:
    return sum(terms[1:], terms[0])


@operation
def rgamma(x: Any, /) -> Any:
    """`1 / gamma(x)`, 0 at 0, at negative whole numbers and at both infinities."""
    x = as_float(x)
    near, below = _is("lt", build("abs", x), 0.5), _is("le", x, -0.5)
    right = _rgamma_right(select(near, x + 1.0, _where(build("not", below), x, 1)))
    right = right * _where(near, x, 1)
    return select(below, _rgamma_left(0)(_where(below, x, -1)), right)


@operation
def factorial(n: Any, exact: bool = False) -> Any:
    """`gamma(n + 1)`, 0 for negative numbers; `exact` is not available."""
    if exact:
        raise ValueError("factorial has no exact integers: use math.factorial")
    n = as_float(n)
    negative, above = _is("lt", n, 0), _is("ge", n, 1)
    n = select(negative, full_like_tracer(n, 0), n)
    below = select(above, full_like_tracer(n, 0), n)
    y = select(above, n, full_like_tracer(n, 1)) * _gamma(select(above, n, below + 1.0))  # n + 1 would be rounded
    return select(negative, full_like_tracer(n, 0), y)


# --------------------------------------------------------------------------------------------------------------------
# Quotients


def _sum(x: Tracer, y: Tracer) -> tuple[Tracer, Tracer]:
    """The rounded sum and its rounding error (Knuth)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _halves(x: Tracer) -> tuple[Tracer, Tracer]:
    scaled = x * _SPLIT[x.dtype.itemsize]
    high = scaled - (scaled - x)
    return high, x - high


def _quotient(x: Tracer, y: Tracer, low_x: Tracer, low_y: Tracer) -> tuple[Tracer, Tracer]:
    """`(x + low_x) / (y + low_y)` rounded, and the rest relative to it, of the exact product (Dekker)."""
    q = x / y
    product = q * y
    (q_high, q_low), (y_high, y_low) = _halves(q), _halves(y)
    lost = ((q_high * y_high - product) + q_high * y_low + q_low * y_high) + q_low * y_low
    return q, (((x - product) - lost) + low_x - q * low_y) / product


def _power(base: tuple[Tracer, Tracer], exponent: Tracer) -> Tracer:
    """`base**exponent` of a number with its relative error."""
    return build("pow", base[0], exponent) * build("exp", exponent * base[1])


def _moderate(x: Tracer, *others: Tracer) -> list[Tracer]:
    """Numbers of one scale, scaled down where the first one is so large that parts of products would overflow."""
    huge = _is("gt", x, 2.0**60)
    factor = _where(huge, full_like_tracer(x, 2.0**-40 if x.dtype.itemsize == 4 else 2.0**-100), 1)
    return [v * factor for v in (x, *others)]


def _beta_of_large(high: Tracer, low: Tracer) -> Tracer:
    """For `high >= LARGE` and `high >= low > 0`, both finite."""
    total, lost = _sum(high, low)
    zero = full_like_tracer(high, 0)
    scaled_total, scaled_high, scaled_low, scaled_lost = _moderate(total, high, low, lost)
    high_part = _quotient(scaled_high, scaled_total, zero, scaled_lost)
    # both large: (high / total)**high (low / total)**low (2 pi total / (high low))**(1 / 2)
    large = _is("ge", low, LARGE)
    bounded = _where(large, low, LARGE)
    low_part = _quotient(_where(large, scaled_low, 1), scaled_total, zero, scaled_lost)
    root = build("sqrt", 2 * math.pi / bounded / high_part[0])
    both = _power(low_part, bounded) * root * build("exp", _tail(bounded)) * _power(high_part, high)
    # one: gamma(low) (high / total)**(high - 1 / 2) (e / total)**low
    small = select(large, full_like_tracer(low, 1), low)
    one = _power((total, lost / total), -small) * build("exp", small) * gamma_size(small) * _power(high_part, high - 0.5)
    return select(large, both, one) * build("exp", _tail(high) - _tail(total))


def _fits(*xs: Tracer) -> Tracer:
    """Where the gamma function is finite, and not below its least normal number."""
    found = None
    for x in xs:
        one = _is("lt", build("abs", x), _OVERFLOWS[x.dtype.itemsize] - 2)
        found = one if found is None else _both(found, one)
    assert found is not None
    return found


def _put_right(x: Tracer, lost: Tracer) -> Tracer:
    """The factor of `gamma(x)` where the argument is `x + lost`."""
    exact = _is("eq", lost, 0)
    return 1.0 + select(exact, lost, lost * digamma_everywhere(_where(build("not", exact), x, 1)))


def _beta_value(a: Tracer, b: Tracer) -> Tracer:
    first = _at_zeros(a, b)
    a, b, turned = at_beta_poles(a, b)
    ordered = compare("ge", a, b)
    high, low = select(ordered, a, b), select(ordered, b, a)
    positive = _is("gt", low, 0)
    large = _both(is_large(high), positive)
    products = _beta_of_large(_where(large, high, LARGE), _where(large, low, 1))
    total, lost = _sum(a, b)
    few = _both(_fits(a, b, total), build("not", large))
    x, y, z = (_where(few, v, 1) for v in (low, high, total))
    direct = gamma_size(x) / gamma_size(z) * gamma_size(y) / _put_right(z, _where(few, lost, 0))
    logarithm = build("exp", betaln_everywhere(a, b))
    sign = gammasgn(a) * gammasgn(b) * gammasgn(total)
    sign = select(_is("eq", high, math.inf), gammasgn(low), sign)
    y = turned * sign * select(large, products, select(few, direct, logarithm))
    y = select(is_pole(total), full_like_tracer(y, 0), y)
    return select(build("or", is_pole(a), is_pole(b)), first, y)


def _at_zeros(a: Tracer, b: Tracer) -> Tracer:
    """The beta function is infinite as `1 / a + 1 / b` beside 0, and elsewhere as if poles were approached from one side."""
    parts = [select(_is("eq", x, 0), 1.0 / x, full_like_tracer(x, 0)) for x in (a, b)]
    total = parts[0] + parts[1]
    return select(_is("eq", total, 0), full_like_tracer(a, math.inf), total)


def _times_slope(logarithm: Callable[..., Any], k: int) -> Callable[..., Tracer]:
    """The slope of a function by its operand `k` from that of its logarithm."""
    along = slope_along(logarithm, k)
    return lambda y, *operands: y * along(*operands)


def _vanishing_beta_slope(a: Tracer, b: Tracer, logarithmic: Tracer) -> Tracer:
    """The slope of the beta function where it is 0: `a + b` is a pole of the gamma function, and neither operand is.

    That of `size sin(pi (a + b)) / pi`, `size = gamma(a) gamma(b) gamma(1 - a - b)`, from the logarithmic slope of the size.
    """
    total = a + b
    size = gammasgn(a) * gammasgn(b) * build("exp", gammaln(a) + gammaln(b) + gammaln(1.0 - total))
    whole = build("rint", total)
    angle = (total - whole) * math.pi
    odd = compare("ne", floor(whole * 0.5) + floor(whole * 0.5), whole)
    return select(odd, -size, size) * (build("cos", angle) + build("sin", angle) * (logarithmic * (1 / math.pi)))


def _beta_slope(k: int) -> Callable[..., Tracer]:
    def slope(y: Tracer, *operands: Tracer) -> Tracer:
        mine, other = operands[k], operands[1 - k]
        zero, beside = _is("eq", mine, 0), _is("eq", other, 0)
        vanishes = _both(is_pole(mine + other), build("not", build("or", is_pole(mine), is_pole(other))))
        endless, end = _is("eq", mine, math.inf), _is("eq", other, math.inf)
        regular = build("not", build("or", build("or", zero, beside), build("or", endless, end)))
        x, z = (_where(regular, v, 1) for v in (mine, other))
        logarithmic = log_slope_of_quotient(x, z, vanishes)
        a, b = (_where(vanishes, v, -0.5) for v in operands)
        vanishing = _vanishing_beta_slope(a, b, logarithmic)
        slope = select(vanishes, vanishing, _where(regular, y, 1) * logarithmic)
        # as gamma(other) * mine**-other
        flat = full_like_tracer(y, 0)
        slope = select(endless, select(_is("gt", other, -1), flat, -other * y), slope)
        slope = select(_both(end, build("not", endless)), select(_is("gt", mine, 0), flat, -y), slope)
        # the slope of 1 / mine, or that of the next term, digamma(1) - digamma(mine), where 1 / other does not depend on it
        back = 1.0 / _where(zero, mine, 1)
        limit = -digamma_slope(1)(_where(beside, mine, 1))
        return select(zero, -back * back, select(beside, limit, slope))

    return slope


_beta = with_total_slopes(_beta_value, _beta_slope(0), _beta_slope(1))


@operation
def beta(a: Any, b: Any, /) -> Any:
    """The beta function, `gamma(a) gamma(b) / gamma(a + b)`."""
    return _beta(*floats(a, b))


def _poch_of_large(z: Tracer, m: Tracer) -> Tracer:
    """For `z >= LARGE` and `z + m >= LARGE`: `(end / z)**(z - 1 / 2) (end / e)**m`."""
    end, lost = _sum(z, m)
    scaled_z, scaled_end, scaled_lost = _moderate(z, end, lost)
    part = _power(_quotient(scaled_end, scaled_z, scaled_lost, full_like_tracer(z, 0)), z - 0.5)
    limit = full_like_tracer(m, _LARGEST_EXPONENT[m.dtype.itemsize])
    half = 0.5 * m  # no overflow before that of the result
    power = _power((end, lost / end), half) * build("exp", build("max", build("min", -half, limit), -limit))
    return part * power * build("exp", _tail(end) - _tail(z)) * power


def _poch_value(z: Tracer, m: Tracer) -> Tracer:
    end, lost = _sum(z, m)
    large = _both(is_large(z), is_large(end))
    products = _poch_of_large(_where(large, z, LARGE), _where(large, m, 1))
    few = _both(_fits(z, end), build("not", large))
    direct = (
        gamma_size(_where(few, end, 1)) / gamma_size(_where(few, z, 1)) * _put_right(_where(few, end, 1), _where(few, lost, 0))
    )
    logarithm = build("exp", log_gamma_ratio(z, m))
    y = gammasgn(end) * gammasgn(z) * select(large, products, select(few, direct, logarithm))
    return select(_is("eq", m, 0), full_like_tracer(y, 1), y)


_poch = with_slopes(_poch_value, _times_slope(log_gamma_ratio, 0), _times_slope(log_gamma_ratio, 1))


@operation
def poch(z: Any, m: Any) -> Any:
    """Pochhammer's symbol, `gamma(z + m) / gamma(z)`; 1 where `m` is 0."""
    return _poch(*floats(z, m))


@operation
def polygamma(n: Any, x: Any, /) -> Any:
    """The derivative of order `n` of `digamma`, for x > 0; of order 0 `digamma` itself."""
    order, x = floats(n, x)
    first = _is("eq", order, 0)
    s = select(first, full_like_tracer(order, 1), order) + 1.0
    odd = compare("ne", floor(s * 0.5) + floor(s * 0.5), s)
    size = gamma(s) * zeta(s, x)
    return select(first, digamma(x), select(odd, -size, size))

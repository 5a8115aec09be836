"""lamina.special: logarithms with limits at 0, the normal distribution, and the complement of the error function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...api import Tracer, build, full_like_tracer, operation
from ...api.functions import with_slopes
from ..nn.activations import erf, sigmoid
from ..numpy.elementwise import compare, select
from ..numpy.math import sign_factor
from .parts import as_float, chebyshev, floats, log1p_less, polynomial, square_exp

# --------------------------------------------------------------------------------------------------------------------
# Logarithms with limits at 0


def _zero_times(x: Tracer, y: Tracer, bound: float) -> Tracer:
    """Where `x * log(y)` counts as 0 though the logarithm does not exist. At other zeros of `x` its slope is the logarithm."""
    infinite = compare("eq", y, full_like_tracer(y, math.inf))
    outside = build("or", compare("le", y, full_like_tracer(y, bound)), infinite)
    return build("and", compare("eq", x, full_like_tracer(x, 0)), outside)


@operation
def xlogy(x: Any, y: Any, /) -> Any:
    """`x * log(y)`, 0 where `x` is."""
    x, y = floats(x, y)
    return x * build("log", select(_zero_times(x, y, 0), full_like_tracer(y, 1), y))


@operation
def xlog1py(x: Any, y: Any, /) -> Any:
    """`x * log1p(y)`, 0 where `x` is."""
    x, y = floats(x, y)
    return x * build("log1p", select(_zero_times(x, y, -1), full_like_tracer(y, 0), y))


_entropy = with_slopes(lambda x: xlogy(x, x), lambda y, x: build("log", x) + 1.0)


@operation
def entr(x: Any, /) -> Any:
    """`-x * log(x)`; 0 at 0, minus infinity below."""
    x = as_float(x)
    below = compare("lt", x, full_like_tracer(x, 0))
    return select(below, full_like_tracer(x, -math.inf), -_entropy(select(below, full_like_tracer(x, 1), x)))


_rel_entr = with_slopes(
    lambda x, y: x * (build("log", x) - build("log", y)),
    lambda z, x, y: build("log", x) - build("log", y) + 1.0,
    lambda z, x, y: -x / y,
)


@operation
def rel_entr(x: Any, y: Any, /) -> Any:
    """`x * log(x / y)` of positive numbers; 0 where `x` is 0 and `y` is not negative, infinite elsewhere."""
    x, y = floats(x, y)
    zero, one = full_like_tracer(x, 0), full_like_tracer(x, 1)
    both = build("and", compare("gt", x, zero), compare("gt", y, zero))
    none = build("and", compare("eq", x, zero), compare("ge", y, zero))
    nan = build("or", compare("ne", x, x), compare("ne", y, y))
    u, v = select(both, x, one), select(both, y, one)
    y = select(both, _rel_entr(u, v), select(none, zero, full_like_tracer(x, math.inf)))
    return select(nan, full_like_tracer(x, math.nan), y)


@operation
def kl_div(x: Any, y: Any, /) -> Any:
    """`x * log(x / y) - x + y` of positive numbers; `y` where `x` is 0, infinite elsewhere."""
    x, y = floats(x, y)
    change, one = y - x, full_like_tracer(x, 1)
    near = compare("lt", build("abs", change), 0.3 * x)  # where the sum cancels
    u = select(near, change, full_like_tracer(x, 0)) / select(near, x, one)
    far = rel_entr(select(near, one, x), select(near, one, y)) - x + y
    return select(near, -x * log1p_less(u, one), far)


@operation
def expit(x: Any, /) -> Any:
    """`1 / (1 + exp(-x))`, which is `lamina.nn.sigmoid`."""
    return sigmoid(x)


def _logit(p: Tracer) -> Tracer:
    t = p + p - 1.0
    near = compare("lt", build("abs", t), full_like_tracer(p, 0.5))
    t, q = select(near, t, full_like_tracer(p, 0)), select(near, full_like_tracer(p, 0.5), p)
    return select(near, build("log1p", t) - build("log1p", -t), build("log", q / (1.0 - q)))


_logit_with_slope = with_slopes(_logit, lambda y, p: 1.0 / p + 1.0 / (1.0 - p))


@operation
def logit(p: Any, /) -> Any:
    """`log(p / (1 - p))`, accurate near a half, too."""
    return _logit_with_slope(as_float(p))


# --------------------------------------------------------------------------------------------------------------------
# The complement of the error function, the normal distribution

# of log(erfc(z) * exp(z * z) / t) in 2 * t - 1, where t = 2 / (2 + z): z from 0 to infinity
_ERFC = (
    -0.6513268598908547, 0.6419697923564902, 0.019476473204185836, -0.009561514786808632, -0.0009465953444820369,
    0.00036683949785276145, 4.252332480690777e-05, -2.0278578112534242e-05, -1.6242900046470256e-06,
    1.3036558355805232e-06, 1.5626441722066142e-08, -8.523809591492654e-08, 6.5290544390988515e-09, 5.059343495551469e-09,
    -9.91364156493033e-10, -2.273651222931836e-10, 9.646791102015527e-11, 2.3940380830391146e-12, -6.886027526497553e-12,
    8.944879273090725e-13, 3.130921399342958e-13, -1.1270822361367252e-13, 3.810905255189232e-16, 7.106097613609237e-15,
    -1.5230282014571043e-15, -9.457494571291233e-17, 1.210237189224279e-16, -2.816663087747177e-17,
)  # fmt: skip


def _log_scaled_erfc(z: Tracer) -> Tracer:
    """`log(erfc(z) * exp(z * z))` for z >= 0."""
    t, series = _scaled_erfc(z)
    return build("log", t) + series


def _scaled_erfc(z: Tracer) -> tuple[Tracer, Tracer]:
    """A factor of `erfc(z) * exp(z * z)`, and the logarithm of the other one, which is small."""
    t = 2.0 / (2.0 + z)
    return t, chebyshev(t + t - 1.0, _ERFC)


@operation
def erfinv(x: Any, /) -> Any:
    """The inverse of `erf`; infinite at 1 and -1, NaN beyond."""
    return build("erf_inv", as_float(x))


@operation
def erfcx(x: Any, /) -> Any:
    """`exp(x * x) * erfc(x)`, which does not vanish."""
    x = as_float(x)
    size = x * sign_factor(x)
    t, series = _scaled_erfc(size)
    y = t * build("exp", series)
    negative = compare("lt", x, full_like_tracer(x, 0))
    below = select(negative, x, full_like_tracer(x, 0))
    return select(negative, 2.0 * square_exp(below) - y, y)


@operation
def ndtr(x: Any, /) -> Any:
    """The normal distribution: the probability of less than `x`."""
    return _ndtr(as_float(x))


def _normal_density(x: Tracer) -> Tracer:
    root = build("gauss", 0.5 * x)  # x / 2 is exact
    return 1 / math.sqrt(2 * math.pi) * root * root


_ndtr = with_slopes(lambda x: 0.5 * build("erfc", x * -math.sqrt(0.5)), lambda y, x: _normal_density(x))


@operation
def log_ndtr(x: Any, /) -> Any:
    """`log(ndtr(x))`, accurate where `ndtr` is near 0 or 1."""
    x = as_float(x)
    low, end = compare("lt", x, full_like_tracer(x, -1)), compare("eq", x, full_like_tracer(x, -math.inf))
    z = select(build("and", low, build("not", end)), x, full_like_tracer(x, -1)) * -math.sqrt(0.5)
    far = select(end, x, full_like_tracer(x, 0))
    tail = select(end, -0.5 * far * far, _log_scaled_erfc(z) - z * z - math.log(2))
    return select(low, tail, build("log1p", -ndtr(-select(low, full_like_tracer(x, 0), x))))


# -ndtri(p) for p < 0.075 as quotients of polynomials, with r = sqrt(-log(p)): in r - 1.6 up to 5, in r - 5 beyond (Wichura,
# "Algorithm AS 241", Applied Statistics 1988)
_NEAR_TAIL = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
     1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
_FAR_TAIL = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
     1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip


def _ndtri(p: Tracer) -> Tracer:
    half = compare("gt", p, full_like_tracer(p, 0.5))
    small = select(half, 1.0 - p, p)
    inside = build("and", compare("gt", small, full_like_tracer(p, 0)), compare("lt", small, full_like_tracer(p, 0.075)))
    r = build("sqrt", -build("log", select(inside, small, full_like_tracer(p, 0.05))))
    near = compare("le", r, full_like_tracer(r, 5))
    low, high = select(near, r, full_like_tracer(r, 5)) - 1.6, select(near, full_like_tracer(r, 5), r) - 5.0
    x = [polynomial(at, above) / polynomial(at, below) for at, (above, below) in ((low, _NEAR_TAIL), (high, _FAR_TAIL))]
    tail = select(near, *x)
    middle = math.sqrt(2) * build("erf_inv", 2.0 * select(inside, full_like_tracer(p, 0.5), p) - 1.0)
    return select(inside, select(half, tail, -tail), middle)


_inverse = with_slopes(_ndtri, lambda y, p: math.sqrt(2 * math.pi) * build("exp", 0.5 * y * y))


@operation
def ndtri(p: Any, /) -> Any:
    """The inverse of `ndtr`: where the normal distribution reaches `p`."""
    return _inverse(as_float(p))


@operation
def erfcinv(y: Any, /) -> Any:
    """The inverse of `erfc`: infinite at 0, minus infinity at 2, NaN beyond."""
    return ndtri(0.5 * as_float(y)) * -math.sqrt(0.5)


_NODES = 24
_WIDTH = 8.3
"""Where the integrand of Owen's T, a normal density in `h t`, has become less than 1e-15 of its value at 0."""


def _owens_t_value(h: Tracer, a: Tracer) -> Tracer:
    size, slope = build("abs", h), build("abs", a)
    large = compare("gt", slope, full_like_tracer(slope, 1))
    infinite = compare("eq", slope, full_like_tracer(slope, math.inf))
    inner = select(large, 1.0 / select(large, slope, full_like_tracer(slope, 2)), slope)
    moved = size * select(infinite, full_like_tracer(slope, 0), slope)
    at = select(large, moved, size)
    steep = compare("gt", at * inner, full_like_tracer(at, _WIDTH))
    end = select(steep, _WIDTH / select(steep, at, full_like_tracer(at, 1)), inner)
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    total = full_like_tracer(at, 0)
    for point, weight in zip(0.5 * (points + 1), 0.5 * weights, strict=True):
        t = end * float(point)
        total = total + float(weight) * build("exp", -0.5 * (at * t) * (at * t)) / (1.0 + t * t)
    total = total * end * (0.5 / math.pi) * build("exp", -0.5 * at * at)
    p, q = ndtr(-size), ndtr(-moved)
    # half the sum less the product, in terms that do not cancel where both are small
    y = select(large, 0.5 * (p + q) - p * q - total, total)
    y = select(infinite, 0.5 * ndtr(-size), y)
    return y * build("sign", a)


def _product(h: Tracer, a: Tracer) -> Tracer:
    """`h * a`, 0 where `h` is, for infinite `a` too."""
    return h * select(compare("eq", h, full_like_tracer(h, 0)), full_like_tracer(a, 0), a)


_owens_t = with_slopes(
    _owens_t_value,
    lambda y, h, a: -0.5 / math.sqrt(2 * math.pi) * build("exp", -0.5 * h * h) * erf(_product(h, a) * math.sqrt(0.5)),
    lambda y, h, a: (0.5 / math.pi) * build("exp", -0.5 * (h * h + _product(h, a) * _product(h, a))) / (1.0 + a * a),
)


@operation
def owens_t(h: Any, a: Any, /) -> Any:
    """Owen's T: of two independent normal numbers, the probability of `X > h` and `0 < Y < a X`.

    By Gauss and Legendre's rule of 24 points over the part of the integrand that matters; where `|a| > 1` from the
    function at `1 / a` (Owen 1956).
    """
    return _owens_t(*floats(h, a))

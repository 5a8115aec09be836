"""`lamina.special`: special functions under scipy's names, composed of graph ops.

Each is accurate to some units in the last place over its whole domain, and so are its derivatives, which are those of the
formulas: branches that a `select` leaves out are computed at harmless points.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import lnp  # noqa: F401  operators of tracers call it
from .eager import api
from .elementwise import compare, full_like_tracer, prepare, select
from .lnp_math import sign_factor
from .lnp_ufuncs import floor, tan
from .nn import erf, log_softmax, logsumexp, sigmoid, softmax
from .tracer import Tracer
from .tracing import build

__all__ = [
    "betaln", "digamma", "entr", "erf", "erfc", "expit", "gammaln", "i0", "i0e", "log_ndtr", "log_softmax", "logit",
    "logsumexp", "ndtr", "rel_entr", "softmax", "xlog1py", "xlogy",
]  # fmt: skip


def _float(x: Any) -> Tracer:
    return prepare(np.sqrt, (x,))[0][0]


def _floats(x: Any, y: Any) -> list[Tracer]:
    return prepare(np.arctan2, (x, y))[0]


def _chebyshev(x: Tracer, coefficients: tuple[float, ...]) -> Tracer:
    """`sum(c[k] * T_k(x))` by Clenshaw's recurrence, without the coefficients that the dtype does not see."""
    eps = float(np.finfo(x.dtype).eps) / 64
    while abs(coefficients[-1]) < eps:
        coefficients = coefficients[:-1]
    high = low = full_like_tracer(x, 0)
    twice = x + x
    for c in reversed(coefficients[1:]):
        high, low = twice * high - low + c, high
    return x * high - low + coefficients[0]


# --------------------------------------------------------------------------------------------------------------------
# Logarithms with limits at 0


def _zero_times(x: Tracer, y: Tracer, bound: float) -> Tracer:
    """Where `x * log(y)` counts as 0 though the logarithm does not exist. At other zeros of `x` its slope is the logarithm."""
    infinite = compare("eq", y, full_like_tracer(y, math.inf))
    outside = build("or", compare("le", y, full_like_tracer(y, bound)), infinite)
    return build("and", compare("eq", x, full_like_tracer(x, 0)), outside)


@api
def xlogy(x: Any, y: Any, /) -> Any:
    """`x * log(y)`, 0 where `x` is."""
    x, y = _floats(x, y)
    return x * build("log", select(_zero_times(x, y, 0), full_like_tracer(y, 1), y))


@api
def xlog1py(x: Any, y: Any, /) -> Any:
    """`x * log1p(y)`, 0 where `x` is."""
    x, y = _floats(x, y)
    return x * build("log1p", select(_zero_times(x, y, -1), full_like_tracer(y, 0), y))


@api
def entr(x: Any, /) -> Any:
    """`-x * log(x)`; 0 at 0, minus infinity below."""
    x = _float(x)
    return select(compare("lt", x, full_like_tracer(x, 0)), full_like_tracer(x, -math.inf), -xlogy(x, x))


@api
def rel_entr(x: Any, y: Any, /) -> Any:
    """`x * log(x / y)` of positive numbers; 0 where `x` is 0 and `y` is not negative, infinite elsewhere."""
    x, y = _floats(x, y)
    zero, one = full_like_tracer(x, 0), full_like_tracer(x, 1)
    both = build("and", compare("gt", x, zero), compare("gt", y, zero))
    none = build("and", compare("eq", x, zero), compare("ge", y, zero))
    nan = build("or", compare("ne", x, x), compare("ne", y, y))
    u, v = select(both, x, one), select(both, y, one)
    y = select(both, u * (build("log", u) - build("log", v)), select(none, zero, full_like_tracer(x, math.inf)))
    return select(nan, full_like_tracer(x, math.nan), y)


@api
def expit(x: Any, /) -> Any:
    """`1 / (1 + exp(-x))`, which is `lamina.nn.sigmoid`."""
    return sigmoid(x)


@api
def logit(p: Any, /) -> Any:
    """`log(p / (1 - p))`, accurate near a half, too."""
    p = _float(p)
    t = p + p - 1.0
    near = compare("lt", build("abs", t), full_like_tracer(p, 0.5))
    t, q = select(near, t, full_like_tracer(p, 0)), select(near, full_like_tracer(p, 0.5), p)
    return select(near, build("log1p", t) - build("log1p", -t), build("log", q / (1.0 - q)))


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
    t = 2.0 / (2.0 + z)
    return build("log", t) + _chebyshev(t + t - 1.0, _ERFC)


def _erfc_of_positive(z: Tracer) -> Tracer:
    # the square in two parts, the first of which is exact: its rounding would be an error of the result
    high = floor(z * 16.0) * 0.0625
    return build("exp", -(high * high)) * build("exp", _log_scaled_erfc(z) - (z - high) * (z + high))


@api
def erfc(x: Any, /) -> Any:
    """`1 - erf(x)`, accurate where it is near 0."""
    x = _float(x)
    far = compare("gt", x, full_like_tracer(x, 0.5))
    limit = 30.0  # all is 0 there
    z = build("min", select(far, x, full_like_tracer(x, 1)), full_like_tracer(x, limit))
    return select(far, _erfc_of_positive(z), 1.0 - build("erf", select(far, full_like_tracer(x, 0), x)))


@api
def ndtr(x: Any, /) -> Any:
    """The normal distribution: the probability of less than `x`."""
    return 0.5 * erfc(_float(x) * -math.sqrt(0.5))


@api
def log_ndtr(x: Any, /) -> Any:
    """`log(ndtr(x))`, accurate where `ndtr` is near 0 or 1."""
    x = _float(x)
    low = compare("lt", x, full_like_tracer(x, -1))
    z = select(low, x, full_like_tracer(x, -1)) * -math.sqrt(0.5)
    tail = _log_scaled_erfc(z) - z * z - math.log(2)
    return select(low, tail, build("log1p", -ndtr(-select(low, full_like_tracer(x, 0), x))))


# --------------------------------------------------------------------------------------------------------------------
# The gamma function

_SHIFT = 8
# Stirling's series: bernoulli(2 * k) / (2 * k * (2 * k - 1))
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)


def _polynomial(x: Tracer, coefficients: tuple[float, ...]) -> Tracer:
    y = full_like_tracer(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        y = y * x + c
    return y


def _shifted(x: Tracer) -> tuple[Tracer, Tracer, Tracer]:
    """Where a positive number is small, it (1 elsewhere), and the number, moved up where it is."""
    small = compare("lt", x, full_like_tracer(x, _SHIFT))
    return small, select(small, x, full_like_tracer(x, 1)), select(small, x + float(_SHIFT), x)


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


def _gammaln_near_zeros(x: Tracer) -> Tracer:
    """For x in [0.5, 3], accurate where the result is near 0, at 1 and 2."""
    below = compare("lt", x, full_like_tracer(x, 1))
    z = select(below, x + 1.0, x)
    y = (z - 1.0) * (z - 2.0) * _chebyshev(z - 2.0, _GAMMALN)
    return y - build("log", select(below, x, full_like_tracer(x, 1)))


def _gammaln_of_positive(x: Tracer) -> Tracer:
    """For x >= 0.5."""
    near = compare("lt", x, full_like_tracer(x, 3))
    low, high = select(near, x, full_like_tracer(x, 1)), select(near, full_like_tracer(x, 3), x)
    return select(near, _gammaln_near_zeros(low), _gammaln_far(high))


def _gammaln_far(x: Tracer) -> Tracer:
    small, low, z = _shifted(x)
    product = low
    for k in range(1, _SHIFT):
        product = product * (low + float(k))
    back = 1.0 / z
    y = (z - 0.5) * (build("log", z) - 1.0) + (0.5 * math.log(2 * math.pi) - 0.5) + back * _polynomial(back * back, _STIRLING)
    infinite = compare("eq", x, full_like_tracer(x, math.inf))
    return select(infinite, x, y - select(small, build("log", product), full_like_tracer(x, 0)))


def _digamma_of_positive(x: Tracer) -> Tracer:
    small, low, z = _shifted(x)
    terms = 1.0 / low
    for k in range(1, _SHIFT):
        terms = terms + 1.0 / (low + float(k))
    back = 1.0 / z
    series = _polynomial(back * back, tuple((2 * k + 1) * c for k, c in enumerate(_STIRLING)))
    return build("log", z) - 0.5 * back - back * back * series - select(small, terms, full_like_tracer(x, 0))


def _reflected(x: Tracer) -> tuple[Tracer, Tracer, Tracer]:
    """Where a number is below a half; the positive one to compute at; its distance to a whole number where it is."""
    below = compare("lt", x, full_like_tracer(x, 0.5))
    return below, select(below, 1.0 - x, x), select(below, x - build("rint", x), full_like_tracer(x, 0.25))


@api
def gammaln(x: Any, /) -> Any:
    """The logarithm of the magnitude of the gamma function; infinite at 0 and negative whole numbers.

    Where it is near 0 below 0 the absolute error is some units in the last place of 1.
    """
    x = _float(x)
    below, z, rest = _reflected(x)
    y = _gammaln_of_positive(z)
    sine = build("abs", build("sin", rest * math.pi))
    return select(below, math.log(math.pi) - build("log", sine) - y, y)


@api
def digamma(x: Any, /) -> Any:
    """The derivative of `gammaln`; NaN at 0 and negative whole numbers."""
    x = _float(x)
    below, z, rest = _reflected(x)
    pole = compare("eq", rest, full_like_tracer(x, 0))
    y = _digamma_of_positive(z)
    y = select(below, y - math.pi / tan(select(pole, full_like_tracer(x, 0.25), rest) * math.pi), y)
    return select(pole, full_like_tracer(x, math.nan), y)


@api
def betaln(a: Any, b: Any, /) -> Any:
    """The logarithm of the beta function, `gammaln(a) + gammaln(b) - gammaln(a + b)`."""
    a, b = _floats(a, b)
    return gammaln(a) + gammaln(b) - gammaln(a + b)


# --------------------------------------------------------------------------------------------------------------------
# Bessel functions

# Cephes: exp(-x) * I0(x) in x / 4 - 1 for x in [0, 8], times sqrt(x) in 16 / x - 1 beyond; from the highest power down, the
# first term of the sum counts half
_I0_NEAR = (
    -4.4153416464793395e-18, 3.3307945188222384e-17, -2.431279846547955e-16, 1.715391285555133e-15,
    -1.1685332877993451e-14, 7.676185498604936e-14, -4.856446783111929e-13, 2.95505266312964e-12, -1.726826291441556e-11,
    9.675809035373237e-11, -5.189795601635263e-10, 2.6598237246823866e-09, -1.300025009986248e-08, 6.046995022541919e-08,
    -2.670793853940612e-07, 1.1173875391201037e-06, -4.4167383584587505e-06, 1.6448448070728896e-05,
    -5.754195010082104e-05, 0.00018850288509584165, -0.0005763755745385824, 0.0016394756169413357, -0.004324309995050576,
    0.010546460394594998, -0.02373741480589947, 0.04930528423967071, -0.09490109704804764, 0.17162090152220877,
    -0.3046826723431984, 0.6767952744094761,
)  # fmt: skip
_I0_FAR = (
    -7.233180487874754e-18, -4.830504485944182e-18, 4.46562142029676e-17, 3.461222867697461e-17, -2.8276239805165836e-16,
    -3.425485619677219e-16, 1.7725601330565263e-15, 3.8116806693526224e-15, -9.554846698828307e-15,
    -4.150569347287222e-14, 1.54008621752141e-14, 3.8527783827421426e-13, 7.180124451383666e-13, -1.7941785315068062e-12,
    -1.3215811840447713e-11, -3.1499165279632416e-11, 1.1889147107846439e-11, 4.94060238822497e-10,
    3.3962320257083865e-09, 2.266668990498178e-08, 2.0489185894690638e-07, 2.8913705208347567e-06, 6.889758346916825e-05,
    0.0033691164782556943, 0.8044904110141088,
)  # fmt: skip


def _halved(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    return (coefficients[-1] / 2, *coefficients[-2::-1])


def _scaled_i0(x: Tracer) -> Tracer:
    """`exp(-x) * I0(x)` for x >= 0."""
    near = compare("le", x, full_like_tracer(x, 8))
    low, high = select(near, x, full_like_tracer(x, 1)), select(near, full_like_tracer(x, 8), x)
    far = _chebyshev(16.0 / high - 1.0, _halved(_I0_FAR)) / build("sqrt", high)
    return select(near, _chebyshev(low * 0.25 - 1.0, _halved(_I0_NEAR)), far)


@api
def i0e(x: Any, /) -> Any:
    """`exp(-|x|)` times the modified Bessel function of order 0."""
    x = _float(x)
    return _scaled_i0(x * sign_factor(x))


@api
def i0(x: Any, /) -> Any:
    """`np.i0`: the modified Bessel function of the first kind, order 0."""
    x = _float(x)
    size = x * sign_factor(x)
    return build("exp", size) * _scaled_i0(size)

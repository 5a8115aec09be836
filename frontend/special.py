"""`lamina.special`: special functions under scipy's names, composed of graph ops.

Each is accurate to some units in the last place over its whole domain, and so are its derivatives, which are those of the
formulas: branches that a `select` leaves out are computed at harmless points.
"""

from __future__ import annotations

import math
from typing import Any

from . import lnp  # noqa: F401  operators of tracers call it
from .eager import operation
from .elementwise import compare, full_like_tracer, select
from .lnp_math import sign_factor
from .lnp_ufuncs import floor
from .nn import erf, log_softmax, logsumexp, sigmoid, softmax
from .special_gammas import (
    bernoulli,
    beta,
    betaln,
    digamma,
    factorial,
    gamma,
    gammaln,
    gammasgn,
    multigammaln,
    poch,
    polygamma,
    zeta,
)
from .special_parts import as_float, chebyshev, floats
from .tracer import Tracer
from .tracing import build

__all__ = [
    "bernoulli", "beta", "betaln", "boxcox", "boxcox1p", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "expit",
    "factorial", "gamma", "gammaln", "gammasgn", "i0", "i0e", "i1", "i1e", "kl_div", "log_ndtr", "log_softmax", "logit",
    "logsumexp", "multigammaln", "ndtr", "ndtri", "poch", "polygamma", "rel_entr", "softmax", "xlog1py", "xlogy", "zeta",
]  # fmt: skip


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


@operation
def entr(x: Any, /) -> Any:
    """`-x * log(x)`; 0 at 0, minus infinity below."""
    x = as_float(x)
    return select(compare("lt", x, full_like_tracer(x, 0)), full_like_tracer(x, -math.inf), -xlogy(x, x))


@operation
def rel_entr(x: Any, y: Any, /) -> Any:
    """`x * log(x / y)` of positive numbers; 0 where `x` is 0 and `y` is not negative, infinite elsewhere."""
    x, y = floats(x, y)
    zero, one = full_like_tracer(x, 0), full_like_tracer(x, 1)
    both = build("and", compare("gt", x, zero), compare("gt", y, zero))
    none = build("and", compare("eq", x, zero), compare("ge", y, zero))
    nan = build("or", compare("ne", x, x), compare("ne", y, y))
    u, v = select(both, x, one), select(both, y, one)
    y = select(both, u * (build("log", u) - build("log", v)), select(none, zero, full_like_tracer(x, math.inf)))
    return select(nan, full_like_tracer(x, math.nan), y)


@operation
def kl_div(x: Any, y: Any, /) -> Any:
    """`x * log(x / y) - x + y` of positive numbers; `y` where `x` is 0, infinite elsewhere."""
    x, y = floats(x, y)
    return rel_entr(x, y) - x + y


def _box_cox(of: str, x: Any, lmbda: Any) -> Any:
    x, power = floats(x, lmbda)
    zero = compare("eq", power, full_like_tracer(power, 0))
    log = build(of, x)
    scale = select(zero, full_like_tracer(power, 1), power)
    return select(zero, log, build("expm1", scale * log) / scale)


@operation
def boxcox(x: Any, lmbda: Any, /) -> Any:
    """`(x**lmbda - 1) / lmbda`, and its limit `log(x)` where `lmbda` is 0."""
    return _box_cox("log", x, lmbda)


@operation
def boxcox1p(x: Any, lmbda: Any, /) -> Any:
    """`boxcox(1 + x, lmbda)`, accurate near 0."""
    return _box_cox("log1p", x, lmbda)


@operation
def expit(x: Any, /) -> Any:
    """`1 / (1 + exp(-x))`, which is `lamina.nn.sigmoid`."""
    return sigmoid(x)


@operation
def logit(p: Any, /) -> Any:
    """`log(p / (1 - p))`, accurate near a half, too."""
    p = as_float(p)
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
    return build("log", t) + chebyshev(t + t - 1.0, _ERFC)


def _erfc_of_positive(z: Tracer) -> Tracer:
    # the square in two parts, the first of which is exact: its rounding would be an error of the result
    high = floor(z * 16.0) * 0.0625
    return build("exp", -(high * high)) * build("exp", _log_scaled_erfc(z) - (z - high) * (z + high))


@operation
def erfinv(x: Any, /) -> Any:
    """The inverse of `erf`; infinite at 1 and -1, NaN beyond."""
    return build("erf_inv", as_float(x))


@operation
def erfcx(x: Any, /) -> Any:
    """`exp(x * x) * erfc(x)`, which does not vanish."""
    x = as_float(x)
    size = x * sign_factor(x)
    y = build("exp", _log_scaled_erfc(size))
    negative = compare("lt", x, full_like_tracer(x, 0))
    below = select(negative, x, full_like_tracer(x, 0))
    return select(negative, 2.0 * build("exp", below * below) - y, y)


@operation
def erfc(x: Any, /) -> Any:
    """`1 - erf(x)`, accurate where it is near 0."""
    x = as_float(x)
    far = compare("gt", x, full_like_tracer(x, 0.5))
    limit = 30.0  # all is 0 there
    z = build("min", select(far, x, full_like_tracer(x, 1)), full_like_tracer(x, limit))
    return select(far, _erfc_of_positive(z), 1.0 - build("erf", select(far, full_like_tracer(x, 0), x)))


@operation
def ndtr(x: Any, /) -> Any:
    """The normal distribution: the probability of less than `x`."""
    return 0.5 * erfc(as_float(x) * -math.sqrt(0.5))


@operation
def log_ndtr(x: Any, /) -> Any:
    """`log(ndtr(x))`, accurate where `ndtr` is near 0 or 1."""
    x = as_float(x)
    low = compare("lt", x, full_like_tracer(x, -1))
    z = select(low, x, full_like_tracer(x, -1)) * -math.sqrt(0.5)
    tail = _log_scaled_erfc(z) - z * z - math.log(2)
    return select(low, tail, build("log1p", -ndtr(-select(low, full_like_tracer(x, 0), x))))


_NEWTON_STEPS = 4


@operation
def ndtri(p: Any, /) -> Any:
    """The inverse of `ndtr`: where the normal distribution reaches `p`.

    From `erf_inv` in the middle. In the tails Newton's method on the logarithm of `ndtr`, from its asymptotic form.
    """
    p = as_float(p)
    half = compare("gt", p, full_like_tracer(p, 0.5))
    small = select(half, 1.0 - p, p)
    inside = build("and", compare("gt", small, full_like_tracer(p, 0)), compare("lt", small, full_like_tracer(p, 0.1)))
    wanted = build("log", select(inside, small, full_like_tracer(p, 0.05)))
    twice = -2.0 * wanted
    x = -build("sqrt", twice - build("log", twice * (2 * math.pi) + (-8.0)))
    for _ in range(_NEWTON_STEPS):
        found = log_ndtr(x)
        x = x - (found - wanted) * build("exp", found + 0.5 * x * x + 0.5 * math.log(2 * math.pi))
    middle = math.sqrt(2) * build("erf_inv", 2.0 * select(inside, full_like_tracer(p, 0.5), p) - 1.0)
    return select(inside, select(half, -x, x), middle)


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
    far = chebyshev(16.0 / high - 1.0, _halved(_I0_FAR)) / build("sqrt", high)
    return select(near, chebyshev(low * 0.25 - 1.0, _halved(_I0_NEAR)), far)


@operation
def i0e(x: Any, /) -> Any:
    """`exp(-|x|)` times the modified Bessel function of order 0."""
    x = as_float(x)
    return _scaled_i0(x * sign_factor(x))


@operation
def i0(x: Any, /) -> Any:
    """`np.i0`: the modified Bessel function of the first kind, order 0."""
    x = as_float(x)
    size = x * sign_factor(x)
    return build("exp", size) * _scaled_i0(size)


# exp(-x) * I1(x) / x in x / 4 - 1 for x in [0, 8], exp(-x) * sqrt(x) * I1(x) in 16 / x - 1 beyond: Chebyshev's polynomials
# through 80 of their points, computed with 40 digits
_I1_NEAR = (
     0.12629359322181682, -0.17641651835783406, 0.1026436586898471, -0.05294598120809499, 0.024726449030626516,
    -0.010564084894626197, 0.004156422944312888, -0.0015135724506312532, 0.0005122859561685758, -0.00016176081582589674,
    4.781565107550054e-05, -1.3273163656039436e-05, 3.4702513081376785e-06, -8.568720264695455e-07,
    2.0032947535521353e-07, -4.445059128796328e-08, 9.381537386495773e-09, -1.8872497517228294e-09,
    3.625590281552117e-10, -6.663489723502027e-11, 1.1736186298890901e-11, -1.9839743977649436e-12,
    3.223793365945575e-13, -5.042185504727912e-14, 7.600684294735408e-15, -1.1055969477353862e-15,
    1.5536319577362005e-16, -2.111421214358166e-17,
)  # fmt: skip
_I1_FAR = (
     0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06,
    -2.512236237870209e-07, -2.6314688468895196e-08, -3.835380385964237e-09, -5.589743462196584e-10,
    -1.8974958123505413e-11, 3.2526035830154884e-11, 1.4125807436613782e-11, 2.0356285441470896e-12,
    -7.198551776245908e-13, -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
    1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15, 3.3082023109209285e-16,
    2.96262899764595e-16, -3.209525921993424e-17, -4.6503053684893586e-17, 4.414348323071708e-18, 7.517296310842105e-18,
)  # fmt: skip


@operation
def i1e(x: Any, /) -> Any:
    """`exp(-|x|)` times the modified Bessel function of order 1."""
    x = as_float(x)
    size = x * sign_factor(x)
    near = compare("le", size, full_like_tracer(x, 8))
    low, high = select(near, size, full_like_tracer(x, 1)), select(near, full_like_tracer(x, 8), size)
    far = chebyshev(16.0 / high - 1.0, _I1_FAR) / build("sqrt", high) * sign_factor(x)
    return select(near, chebyshev(low * 0.25 - 1.0, _I1_NEAR) * x, far)


@operation
def i1(x: Any, /) -> Any:
    """The modified Bessel function of the first kind, order 1."""
    x = as_float(x)
    return build("exp", x * sign_factor(x)) * i1e(x)

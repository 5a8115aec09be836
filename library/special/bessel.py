"""lamina.special: Bessel functions of the first kind."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import Tracer, build, full_like_tracer, operation
from ...api.functions import with_slopes
from ..numpy.axes_and_shapes import static_int
from ..numpy.elementwise import compare, select
from ..numpy.join import stack
from ..numpy.math import sign_factor
from .parts import as_float, chebyshev

# --------------------------------------------------------------------------------------------------------------------
# Of an imaginary argument

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
    origin = compare("eq", x, full_like_tracer(x, 0))
    z = select(origin, x, full_like_tracer(x, 0))
    # at the kink the mean of both slopes
    return select(origin, 1.0 + 0.25 * z * z, _scaled_i0(x * sign_factor(x)))


@operation
def i0(x: Any, /) -> Any:
    """`np.i0`: the modified Bessel function of the first kind, order 0."""
    return _i0(as_float(x))


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
    return select(compare("eq", x, full_like_tracer(x, 0)), 0.5 * x, _scaled_i1(x))


def _scaled_i1(x: Tracer) -> Tracer:
    size = x * sign_factor(x)
    near = compare("le", size, full_like_tracer(x, 8))
    low, high = select(near, size, full_like_tracer(x, 1)), select(near, full_like_tracer(x, 8), size)
    far = chebyshev(16.0 / high - 1.0, _I1_FAR) / build("sqrt", high) * sign_factor(x)
    return select(near, chebyshev(low * 0.25 - 1.0, _I1_NEAR) * x, far)


@operation
def i1(x: Any, /) -> Any:
    """The modified Bessel function of the first kind, order 1."""
    return _i1(as_float(x))


def _grown(x: Tracer, scaled: Tracer) -> Tracer:
    return build("exp", x * sign_factor(x)) * scaled


def _over(y: Tracer, x: Tracer, at_zero: float) -> Tracer:
    """`y / x`, which is known at 0."""
    origin = compare("eq", x, full_like_tracer(x, 0))
    return select(origin, full_like_tracer(x, at_zero), y / select(origin, full_like_tracer(x, 1), x))


def _second_i1(x: Tracer) -> Tracer:
    """`I1''(x) = I1(x) - I2(x) / x`, for which `I2 = I0 - 2 I1 / x`; near 0 of its series."""
    near = compare("lt", x * sign_factor(x), full_like_tracer(x, 0.25))
    far = select(near, full_like_tracer(x, 1), x)
    i1 = _scaled_i1(far)
    z = select(near, x, full_like_tracer(x, 0))
    zz = z * z
    series = z * (0.375 + zz * (5 / 96 + zz * (7 / 3072 + zz * (1 / 20480 + zz * (11 / 17694720 + zz * (13 / 2477260800))))))
    return select(near, series, _grown(far, i1 - (_scaled_i0(far * sign_factor(far)) - 2.0 * i1 / far) / far))


# where the functions overflow, so do their slopes: the scaled ones meet before the exponential
_slope_of_i1 = with_slopes(
    lambda x: _grown(x, _scaled_i0(x * sign_factor(x)) - _over(_scaled_i1(x), x, 0.5)), lambda y, x: _second_i1(x)
)
_i1 = with_slopes(lambda x: _grown(x, _scaled_i1(x)), lambda y, x: _slope_of_i1(x))
_i0 = with_slopes(lambda x: _grown(x, _scaled_i0(x * sign_factor(x))), lambda y, x: _i1(x))


# --------------------------------------------------------------------------------------------------------------------
# Of a real argument

# of J0(x) and J1(x) / x in x^2 / 32 - 1, x up to 8; beyond of P and x Q / 8 in 2 (8 / x)^2 - 1, where with
# w = x - n pi / 2 - pi / 4 the function is sqrt(2 / (pi x)) (P cos(w) - Q sin(w))
_J0_NEAR = (
    0.15772797147489012, -0.008723442352852221, 0.2651786132033368, -0.37009499387264977, 0.15806710233209725,
    -0.034893769411408884, 0.004819180069467605, -0.00046062616620627504, 3.246032882100508e-05, -1.7619469077621507e-06,
    7.608163592418782e-08, -2.679253530557673e-09, 7.848696314479465e-11, -1.9438346867370164e-12, 4.125320595634374e-14,
    -7.588508125447546e-16, 1.2218515873961411e-17,
)  # fmt: skip
_J1_NEAR = (
    0.08104484632565812, -0.1489751450676521, 0.1609992623572097, -0.08268049176681791, 0.022213639654966037,
    -0.003646940600769276, 0.0004050337728354822, -3.255554866857259e-05, 1.9858774049915165e-06, -9.521984756750436e-08,
    3.687133759097148e-09, -1.178026622695885e-10, 3.160154580348003e-12, -7.221755239651773e-14, 1.4232144003513942e-15,
    -2.4441972916190464e-17,
)  # fmt: skip
_P0 = (
    0.9994603493475187, -0.0005365220468132117, 3.0751847875194745e-06, -5.1705945376060975e-08, 1.6306464635151382e-09,
    -7.86409137723707e-11, 5.168262387349193e-12, -4.3045788699253914e-13, 4.3265957431549404e-14, -5.069034095935236e-15,
    6.748072215733873e-16, -1.0011513723467786e-16, 1.6305919233744186e-17,
)  # fmt: skip
_Q0 = (
    -0.015555854605337009, 6.838519942611649e-05, -7.414498411060647e-07, 1.7972457247968992e-08, -7.27191593686632e-10,
    4.2201219046687385e-11, -3.206747420996635e-12, 3.006145125351706e-13, -3.336328185322427e-14, 4.255225040245461e-15,
    -6.09993013164005e-16, 9.662128970303257e-17, -1.6686065214378146e-17, 3.1082440486738143e-18, -6.191115787358145e-19,
    1.3091448717220122e-19,
)  # fmt: skip
_P1 = (
    1.0009030408600137, 0.0008989898330859408, -3.987284300488908e-06, 6.177633960644299e-08, -1.8718907491063067e-09,
    8.816898659582339e-11, -5.704863640395645e-12, 4.699195515230542e-13, -4.6842237839904895e-14, 5.452674896044717e-15,
    -7.221180842274018e-16, 1.0667689114335412e-16, -1.7312313216116335e-17,
)  # fmt: skip
_Q1 = (
    0.04677778706953532, -9.62772354915708e-05, 9.138615257955454e-07, -2.0959781384083424e-08, 8.229193327650554e-10,
    -4.686363688176945e-11, 3.5152187949686082e-12, -3.2643156743279e-13, 3.5967765829165294e-14, -4.5612523950772974e-15,
    6.508282957783384e-16, -1.0269147531823243e-16, 1.767635548776479e-17, -3.2834519872981614e-18, 6.524081149589261e-19,
)  # fmt: skip


def _far(size: Tracer, order: int) -> Tracer:
    back = 8.0 / size
    t = 2.0 * back * back - 1.0
    p, q = (chebyshev(t, c) for c in ((_P0, _Q0), (_P1, _Q1))[order])
    q = back * q
    sine, cosine = build("sin", size), build("cos", size)
    # cos(w) and sin(w), both times sqrt(2), by sin and cos of x, which needs no rounding of x - pi / 4
    turned = (cosine + sine, sine - cosine) if order == 0 else (sine - cosine, -(sine + cosine))
    return (p * turned[0] - q * turned[1]) / build("sqrt", math.pi * size)


def _first_kind(x: Tracer, order: int) -> Tracer:
    size = build("abs", x)
    limit = 1e15 if x.dtype == np.float64 else 1e7  # the phase of larger arguments is not known
    near = build("min", size, full_like_tracer(x, 8))
    t = near * near * (1 / 32) - 1.0
    inside = chebyshev(t, _J0_NEAR) if order == 0 else near * chebyshev(t, _J1_NEAR)
    high = build("min", build("max", size, full_like_tracer(x, 8)), full_like_tracer(x, limit))
    y = select(compare("lt", size, full_like_tracer(x, 8)), inside, _far(high, order))
    y = select(compare("gt", size, full_like_tracer(x, limit)), full_like_tracer(x, 0), y)
    y = select(compare("ne", x, x), x, y)
    return y * sign_factor(x) if order else y


_SERIES = 22
"""Terms of the series of `J_k(x) / x^k`, up to x = k + 2."""


def _over_power(x: Tracer, k: int) -> Tracer:
    """`J_k(x) / x^k` for `k` of at least 1: an even function without a zero at 0."""
    size = build("abs", x)
    limit = 8 if k == 1 else k + 2
    near = compare("lt", size, full_like_tracer(x, limit))
    inner, outer = select(near, x, full_like_tracer(x, 0)), select(near, full_like_tracer(x, limit), x)
    square = inner * inner
    if k == 1:
        inside = chebyshev(square * (1 / 32) - 1.0, _J1_NEAR)
        return select(near, inside, _j1(outer) / outer)
    terms = [(-0.25) ** m / (math.factorial(m) * math.factorial(m + k) * 2.0**k) for m in range(_SERIES)]
    inside = functools.reduce(lambda y, c: y * square + c, reversed(terms[:-1]), full_like_tracer(x, terms[-1]))
    before, here = _j0(outer), _j1(outer) / outer
    for j in range(1, k):
        before, here = here, (2.0 * j * here - before) / (outer * outer)
    return select(near, inside, here)


@functools.cache
def _ratio(k: int) -> Callable[..., Tracer]:
    """`J_k(x) / x^k`, whose slope is `-x J_{k+1}(x) / x^(k+1)`: derivatives of all orders, without a division by 0."""
    return with_slopes(lambda x: _over_power(x, k), lambda y, x: -x * _ratio(k + 1)(x))


_j0 = with_slopes(lambda x: _first_kind(x, 0), lambda y, x: -_j1(x))
_j1 = with_slopes(lambda x: _first_kind(x, 1), lambda y, x: _j0(x) - _ratio(1)(x))


@operation
def j0(x: Any, /) -> Any:
    """The Bessel function of the first kind, order 0; 0 where `x` is so large that its phase is not known.

    Near its zeros the error is some units in the last place of the function around.
    """
    return _j0(as_float(x))


@operation
def j1(x: Any, /) -> Any:
    """The Bessel function of the first kind, order 1; as `j0` otherwise."""
    return _j1(as_float(x))


@operation
def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """`jax.scipy.special.bessel_jn`: the Bessel functions of the first kind of the orders 0 to `v`, along a new first dim.

    By Miller's algorithm: the recurrence from order `n_iter` down, then scaled by `J0 + 2 (J2 + J4 + ...) = 1`. All digits of
    float64 need an `n_iter` above `|z| + 12 * |z|**(1/3)` and above `v` by some 20: 50 serves `|z|` up to 20.

    Raises:
        ValueError: `v` is negative or above `n_iter`.
    """
    z, last, steps = as_float(z), static_int(v, "v"), static_int(n_iter, "n_iter")
    if not 0 <= last <= steps:
        raise ValueError(f"bessel_jn needs 0 <= v <= n_iter, got v={last}, n_iter={steps}")
    zero = compare("eq", z, full_like_tracer(z, 0))
    factor = 2.0 / select(zero, full_like_tracer(z, 1), z)
    large = math.sqrt(float(np.finfo(z.dtype).max)) / 1e3
    above, here = full_like_tracer(z, 0), full_like_tracer(z, 1)
    total = full_like_tracer(z, 0)
    found: list[Tracer] = []
    for k in range(steps, -1, -1):  # `here` is of order k
        # terms that have grown too large are scaled down, with all that they are compared with
        overflowing = compare("gt", build("abs", here), full_like_tracer(z, large))
        scale = select(overflowing, full_like_tracer(z, 1 / large), full_like_tracer(z, 1))
        above, here, total = above * scale, here * scale, total * scale
        found = [y * scale for y in found]
        if k <= last:
            found.insert(0, here)
        if k % 2 == 0:
            total = total + (here if k == 0 else here + here)
        above, here = here, (k * factor) * here - above
    rows = [select(zero, full_like_tracer(z, float(k == 0)), y / total) for k, y in enumerate(found)]
    return stack(rows)

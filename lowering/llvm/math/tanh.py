"""tanh and erf: an odd polynomial near zero, `1 - (something with exp)` beyond, chosen by a select.

The form of erf away from zero, `erfc(x) = exp(-x - x p(x))` with one polynomial up to where erf rounds to 1, follows
N. Juffa's `erff` (public forum posts on CUDA's implementation, 2015-2020). The polynomials come from `derive.py`.
"""

from __future__ import annotations

from ..text import Builder, Ty
from .common import BIAS, at_most, copysign, fabs, horner, power_of_two, replace_where
from .exp import exp_of_small, reduce_ln2

# tanh(x) = x + x^3 p(x^2), |x| <= 0.55
_TANH = {
    "float": (
        -0.33333316445350647,
        0.13332541286945343,
        -0.05384696647524834,
        0.021047433838248253,
        -0.006237165071070194,
    ),
    "double": (
        -0.3333333333333227,
        0.13333333333162095,
        -0.05396825387259576,
        0.021869485886542788,
        -0.008863193258056061,
        0.003591709201464291,
        -0.0014531628295378913,
        0.0005789714469984864,
        -0.00021002346882988875,
        5.0823219706208926e-05,
    ),
}
_TANH_IS_ONE = {"float": 9.02, "double": 19.1}

# erf(x) = x + x p(x^2), |x| <= 1
_ERF_SMALL = {
    "float": (
        0.12837916612625122,
        -0.3761262893676758,
        0.11283618211746216,
        -0.02685512602329254,
        0.005190733820199966,
        -0.0008030763710848987,
        7.920403004391119e-05,
    ),
    "double": (
        0.1283791670955126,
        -0.3761263890318411,
        0.11283791670972064,
        -0.026866170648279057,
        0.005223977655631742,
        -0.0008548328729717235,
        0.00012055394023867534,
        -1.4927084873746058e-05,
        1.6484527870632097e-06,
        -1.6595757136430407e-07,
        1.628365365969754e-08,
        -1.754515283501023e-09,
        1.622227798451534e-10,
    ),
}
# erfc(x) = exp(-x - x p(x)), 0.9 <= x
_ERF_LARGE = {
    "float": (
        0.12864094972610474,
        0.6351814866065979,
        0.10618776082992554,
        -0.02372044324874878,
        0.0036231076810508966,
        -0.0003181241045240313,
        1.0771504094009288e-05,
    ),
    "double": (
        0.12837916023486806,
        0.6366197921706372,
        0.10277281970609121,
        -0.019130276334178627,
        -0.00020226897828992893,
        0.0016794613985628573,
        -0.0005612493661935697,
        -1.1560715562732842e-05,
        0.00010203410789151229,
        -5.922939589297069e-05,
        2.1576529724438096e-05,
        -5.753755318984921e-06,
        1.1638963736794634e-06,
        -1.781461840323483e-07,
        2.008144378756322e-08,
        -1.5759102619053124e-09,
        7.694652145267863e-11,
        -1.7599568487298417e-12,
    ),
}
_ERF_IS_ONE = {"float": 4.0, "double": 6.0}


def tanh(b: Builder, x: str, ty: Ty) -> str:
    """`1 - 2 / (exp(2 |x|) + 1)` beyond 0.55."""
    magnitude = fabs(b, x, ty)
    y = at_most(b, magnitude, _TANH_IS_ONE[ty.elem], ty)
    rounded, _, r = reduce_ln2(b, y, BIAS[ty.elem], ty, times=2.0)
    p = exp_of_small(b, r, ty, times=2.0)
    one = b.const(1.0, ty)
    quotient = b.fdiv(b.const(2.0, ty), b.fma(p, power_of_two(b, rounded, ty), one, ty), ty)
    large = b.fsub(one, quotient, ty)
    square = b.fmul(y, y, ty)
    small = b.fma(b.fmul(y, square, ty), horner(b, square, _TANH[ty.elem], ty), y, ty)
    return copysign(b, replace_where(b, "olt", magnitude, 0.55, small, large, ty), x, ty)


def erf(b: Builder, x: str, ty: Ty) -> str:
    """The error function."""
    magnitude = fabs(b, x, ty)
    y = at_most(b, magnitude, _ERF_IS_ONE[ty.elem], ty)
    logarithm = b.fma(y, horner(b, y, [-c for c in _ERF_LARGE[ty.elem]], ty), b.fneg(y, ty), ty)
    # the bit above the exponent makes the power of two negative: large = 1 - exp(logarithm)
    rounded, _, r = reduce_ln2(b, logarithm, BIAS[ty.elem] + 2 * (BIAS[ty.elem] + 1), ty)
    large = b.fma(exp_of_small(b, r, ty), power_of_two(b, rounded, ty), b.const(1.0, ty), ty)
    square = b.fmul(y, y, ty)
    small = b.fma(y, horner(b, square, _ERF_SMALL[ty.elem], ty), y, ty)
    return copysign(b, replace_where(b, "olt", magnitude, 1.0, small, large, ty), x, ty)

"""tanh: an odd polynomial near zero, `1 - 2 / (exp(2 x) + 1)` beyond, chosen by a select. erf: one formula everywhere.

sech2, the derivative of tanh, is `q (2 - q)` of the same `q = 2 / (exp(2 |x|) + 1)`: nothing cancels where tanh rounds to 1.
Its first instructions are textually those of tanh, and LLVM computes them once where both are used.

The form of erf, `erfc(x) = exp(-x - x p(x))` with one polynomial up to where erf rounds to 1, follows N. Juffa's `erff` (public
forum posts on CUDA's implementation, 2015-2020), who uses it away from zero. It serves near zero, too, when `1 - erfc(x)` is
computed without cancellation: with `exp(y) = 2^n exp(r)` it is `2^n (1 - exp(r)) + (1 - 2^n)`, and `n` is 0 there. (For tanh,
`e / (e + 2)` of such a difference errs by 2.5 ulp.) The polynomials come from `tests/lowering/llvm/derive.py`.
"""

from __future__ import annotations

from ....codegen.text import Builder, Ty
from .common import BIAS, at_most, copysign, fabs, horner, power_of_two, replace_where, writer
from .exp import exp_of_small, expm1_of_small, reduce_ln2

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
_SECH2_VANISHES = {"float": 44.36142, "double": 354.8913564}
"""From this argument on the square of the hyperbolic secant is no normal number."""

# erfc(x) = exp(-x - x p(x)), 0 <= x until erf rounds to 1
_ERF = {
    "float": (
        0.12837916612625122,
        0.6366195678710938,
        0.10277629643678665,
        -0.019147774204611778,
        -0.00016961117216851562,
        0.0016757861012592912,
        -0.0006374213262461126,
        0.00011887699656654149,
        -9.389756996824872e-06,
    ),
    "double": (
        0.12837916709551256,
        0.6366197723675875,
        0.10277260330153738,
        -0.01912844699866857,
        -0.0002091947804790739,
        0.0016962070829704648,
        -0.0005901293244257249,
        2.5892962811960356e-05,
        6.445181199091965e-05,
        -2.9639798549383918e-05,
        3.2707164760970267e-06,
        3.0083736849567145e-06,
        -1.915548909935005e-06,
        4.7582902969351274e-07,
        4.756257048762762e-08,
        -9.551251922402753e-08,
        4.6592399096738583e-08,
        -1.4640400939218573e-08,
        3.3462193429048007e-09,
        -5.720312837122267e-10,
        7.271376440304914e-11,
        -6.673041677906927e-12,
        4.1667964987851365e-13,
        -1.5749990279840985e-14,
        2.6927932199344745e-16,
    ),
}
_ERF_IS_ONE = {"float": 3.93, "double": 5.93}


@writer
def tanh(b: Builder, x: str, ty: Ty) -> str:
    """`1 - 2 / (exp(2 |x|) + 1)` beyond 0.55."""
    magnitude, y, twice = _twice_complement(b, x, ty)
    large = b.fma(b.const(-0.5, ty), twice, b.const(1.0, ty), ty)
    square = b.fmul(y, y, ty)
    small = b.fma(b.fmul(y, square, ty), horner(b, square, _TANH[ty.elem], ty), y, ty)
    return copysign(b, replace_where(b, "olt", magnitude, 0.55, small, large, ty), x, ty)


@writer
def sech2(b: Builder, x: str, ty: Ty) -> str:
    """`1 / cosh(x)^2`, 0 where that is no normal number."""
    magnitude, _, twice = _twice_complement(b, x, ty)
    slope = b.fma(b.fmul(twice, b.const(-0.25, ty), ty), twice, twice, ty)
    return replace_where(b, "ogt", magnitude, _SECH2_VANISHES[ty.elem], 0.0, slope, ty)


def _twice_complement(b: Builder, x: str, ty: Ty) -> tuple[str, str, str]:
    """`|x|`, the same up to where sech2 vanishes, and `2 (1 - tanh(|x|))` of that: twice, which is a normal number."""
    magnitude = fabs(b, x, ty)
    y = at_most(b, magnitude, _SECH2_VANISHES[ty.elem], ty)
    rounded, _, r = reduce_ln2(b, y, BIAS[ty.elem] - 1, ty, times=2.0)  # half of exp(2 y) is finite
    half = b.fma(exp_of_small(b, r, ty, times=2.0), power_of_two(b, rounded, ty), b.const(0.5, ty), ty)
    return magnitude, y, b.fdiv(b.const(2.0, ty), half, ty)


@writer
def erf(b: Builder, x: str, ty: Ty) -> str:
    """`1 - exp(log(1 - erf(x)))`, the polynomial being the logarithm."""
    y = at_most(b, fabs(b, x, ty), _ERF_IS_ONE[ty.elem], ty)
    logarithm = b.fma(y, horner(b, y, [-c for c in _ERF[ty.elem]], ty), b.fneg(y, ty), ty)
    rounded, _, r = reduce_ln2(b, logarithm, BIAS[ty.elem], ty)
    e, scale = expm1_of_small(b, r, ty), power_of_two(b, rounded, ty)
    return copysign(b, b.fma(scale, e, b.fsub(scale, b.const(1.0, ty), ty), ty), x, ty)

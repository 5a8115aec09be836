"""erfc, relatively accurate until it vanishes.

`exp(-x^2) p((x - k) / (x + k)) / (1 + 2 x)` of the magnitude, `2 -` that of negatives;
`1 - erf(x)` near zero.

`(1 + 2 x) exp(x^2) erfc(x)` is smooth between 1 and `2 / sqrt(pi)`, and the quotient maps all of `x >= 0` to a short interval
(Shepherd & Laframboise, "Chebyshev approximation of (1 + 2 x) exp(x^2) erfc(x)", Math. Comp. 1981). The square is taken with
its rounding error, since exp multiplies an absolute error of up to `x^2` ulp. The polynomials come from
`tests/lowering/llvm/derive.py`.
"""

from __future__ import annotations

from ....codegen.text import Builder, Ty
from .common import BIAS, at_most, fabs, fast_two_sum, fma_exact, horner, replace_where, writer
from .exp import expm1_of_small, reduce_ln2, scaled

CENTER = {"float": 2.0, "double": 4.0}
# (1 + 2 x) exp(x^2) erfc(x) = p((x - CENTER) / (x + CENTER)), 0 <= x until erfc is 0
_ERFC = {
    "float": (
        1.2769783735275269,
        -0.09276385605335236,
        -0.1660308539867401,
        0.16405263543128967,
        -0.05420887470245361,
        -0.008043225854635239,
        0.008649060502648354,
        0.0012743041152134538,
        -0.0012643835507333279,
        -0.0003687166317831725,
        2.78314073511865e-05,
    ),
    "double": (
        1.2329951186255526,
        -0.13962111684056258,
        0.015379652102606127,
        0.0680970542547007,
        -0.10103906603563599,
        0.09373283499806709,
        -0.06633036582520765,
        0.03716751554158308,
        -0.01619773392650797,
        0.005031969949522666,
        -0.0007577740728335771,
        -0.00019925659796795394,
        0.00015062464353898406,
        -2.4399315889085432e-05,
        -1.1229414428576999e-05,
        5.70933267044899e-06,
        3.060377796527038e-07,
        -8.23616813231409e-07,
        6.143076036961763e-08,
        1.06719394878039e-07,
        -9.359555004005676e-09,
        -1.0938329797546496e-08,
        -7.196926703235145e-10,
    ),
}
# erf(x) = x p(x^2), |x| <= 1/2
_ERF_NEAR_0 = {
    "float": (1.1283791065216064, -0.3761231601238251, 0.11278785020112991, -0.0265479888767004, 0.004354087635874748),
    "double": (
        1.1283791670955126,
        -0.37612638903183,
        0.1128379167089281,
        -0.026866170623913978,
        0.00522397724694504,
        -0.0008548287893957513,
        0.00012052900493746227,
        -1.4835746208839014e-05,
        1.4629550594496923e-06,
    ),
}
VANISHES = {"float": 10.1, "double": 27.3}


@writer
def erfc(b: Builder, x: str, ty: Ty) -> str:
    """1 - erf(x)."""
    y = at_most(b, fabs(b, x, ty), VANISHES[ty.elem], ty)
    one, center = b.const(1.0, ty), b.const(CENTER[ty.elem], ty)
    quotient = b.fdiv(b.fsub(y, center, ty), b.fadd(y, center, ty), ty)
    first, *others = _ERFC[ty.elem]
    rest = b.fmul(quotient, horner(b, quotient, others, ty), ty)
    square = b.fmul(y, y, ty)
    lost = fma_exact(b, y, y, b.fneg(square, ty), ty)
    rounded, n, r = reduce_ln2(b, b.fneg(square, ty), 2 * BIAS[ty.elem], ty)
    # p (1 + u) with one rounding at its size, by 1 + 2 x with what its rounding lost (2 x is the greater, see below)
    u, first = expm1_of_small(b, b.fsub(r, lost, ty), ty), b.const(first, ty)
    product = b.fadd(first, b.fma(b.fadd(first, rest, ty), u, rest, ty), ty)
    divisor, small = fast_two_sum(b, b.fadd(y, y, ty), one, ty)
    inverse = b.fdiv(one, divisor, ty)
    tail = b.fmul(product, inverse, ty)
    left = b.fsub(fma_exact(b, b.fneg(tail, ty), divisor, product, ty), b.fmul(tail, small, ty), ty)
    tail = b.fma(left, inverse, tail, ty)
    positive = scaled(b, tail, rounded, n, ty)
    whole = replace_where(b, "olt", x, 0.0, b.fsub(b.const(2.0, ty), positive, ty), positive, ty)
    # just below 1 units are half as large: there it is 1 - erf(x)
    near = b.fma(b.fneg(x, ty), horner(b, square, _ERF_NEAR_0[ty.elem], ty), one, ty)
    return replace_where(b, "olt", y, 0.5, near, whole, ty)

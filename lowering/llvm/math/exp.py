"""exp, exp2, expm1, its derivative, gauss.

Reduction after Cody & Waite, "Software Manual for the Elementary Functions" (1980): `x = n ln2 + r`, `|r| <= ln2 / 2`, with
`ln2` in two parts, the first so short that `n * LN2_HIGH` is exact with or without FMA; `n` is rounded by adding
`1.5 * 2^52`, which also leaves it as an integer in the low bits (Tang, "Table-driven implementation of the exponential
function", TOMS 1989, uses the same). The polynomials come from `tests/lowering/llvm/derive.py`.
"""

from __future__ import annotations

from ....codegen.text import Builder, Ty
from .common import BIAS, MANTISSA_BITS, ROUND, at_least, at_most, fabs, fma_exact, horner, power_of_two, replace_where, writer

LOG2_E = 1.4426950408889634
LN2 = {
    "float": (0.693145751953125, 1.428606765330187e-06),  # 16 bits, then the rest
    "double": (0.6931471803691238, 1.9082149292705877e-10),  # 33 bits, then the rest
}

# exp(r) = 1 + r + r^2 p(r), |r| <= 0.3466
EXP = {
    "float": (0.5, 0.1666652113199234, 0.04166639596223831, 0.00836867094039917, 0.0013941098004579544),
    "double": (
        0.5000000000000012,
        0.16666666666666696,
        0.04166666666651883,
        0.00833333333330897,
        0.0013888888946273356,
        0.00019841269914094425,
        2.4801490613154166e-05,
        2.7557219020662725e-06,
        2.7631065045559106e-07,
        2.5116951995095792e-08,
    ),
}

# Beyond these exp is 0 or inf, and 2^n still fits the scaling below.
_LOW = {"float": -104.0, "double": -746.0}
_HIGH = {"float": 89.0, "double": 710.0}
# Half of 2^n is a normal number down to here; expm1 rounds to -1 long before.
_LOW_EXPM1 = {"float": -86.9, "double": -708.0}
# exp(-x^2) is 0 from here up, and -x^2 not far below the lowest argument of exp.
_GAUSS_VANISHES = {"float": 10.2, "double": 27.3}


def reduce_ln2(b: Builder, x: str, offset: int, ty: Ty, times: float = 1.0) -> tuple[str, str, str]:
    """`times * x = n ln2 + times * r`: the sum `ROUND + offset + n`, `n`, and `r`."""
    magic = b.const(ROUND[ty.elem] + offset, ty)
    rounded = b.fma(x, b.const(LOG2_E * times, ty), magic, ty)
    n = b.fsub(rounded, magic, ty)
    high, low = LN2[ty.elem]
    r = b.fma(n, b.const(-high / times, ty), x, ty)
    return rounded, n, b.fma(n, b.const(-low / times, ty), r, ty)


def exp_of_small(b: Builder, r: str, ty: Ty, times: float = 1.0) -> str:
    """`exp(times * r)` for `|times * r| <= 0.3466`; `times` is a power of two."""
    return horner(b, r, [c * times**k for k, c in enumerate((1.0, 1.0, *EXP[ty.elem]))], ty)


def expm1_of_small(b: Builder, r: str, ty: Ty) -> str:
    """`exp(r) - 1` for `|r| <= 0.3466`, exact to the last place near zero."""
    return b.fma(b.fmul(r, r, ty), horner(b, r, EXP[ty.elem], ty), r, ty)


def exp_of_sum(b: Builder, high: str, low: str | None, ty: Ty) -> str:
    """`exp(high + low)`, the small terms summed first: exact results come out exact."""
    tail = b.fmul(b.fmul(high, high, ty), horner(b, high, EXP[ty.elem], ty), ty)
    if low is not None:
        tail = b.fadd(tail, low, ty)
    return b.fadd(b.const(1.0, ty), b.fadd(high, tail, ty), ty)


def scale_twice(b: Builder, p: str, rounded: str, ty: Ty) -> str:
    """`p * 2^n` for any `n` that exp can have, rounded once, where `rounded` is `ROUND + 2 * BIAS + n`.

    The power is the product of two that are normal numbers; only the second multiplication can round.
    """
    bits = b.bitcast(rounded, ty, ty.int)
    first = b.lshr(bits, b.const(1, ty.int), ty.int)
    for exponent in (first, b.sub(bits, first, ty.int)):
        power = b.shl(exponent, b.const(MANTISSA_BITS[ty.elem], ty.int), ty.int)
        p = b.fmul(p, b.bitcast(power, ty.int, ty), ty)
    return p


def scaled(b: Builder, p: str, rounded: str, n: str, ty: Ty) -> str:
    """The same with one instruction where there is one; it takes any `n`."""
    return b.scale(p, n, ty) if _has_scale(b, ty) else scale_twice(b, p, rounded, ty)


def _has_scale(b: Builder, ty: Ty) -> bool:
    """Whether a type fills a power-of-two number of registers, on a target that has the scaling instruction."""
    return b.module.has_avx512 and ty.lanes * ty.bits >= 128 and ty.lanes & (ty.lanes - 1) == 0


@writer
def exp(b: Builder, x: str, ty: Ty) -> str:
    """e^x."""
    # 0 is selected, not computed: a result that underflows takes processors a hundred cycles, and exp(-inf) is common in masks
    zero, vanishes = b.const(0.0, ty), b.fcmp("olt", x, b.const(_LOW[ty.elem], ty), ty)
    x = at_most(b, x, _HIGH[ty.elem], ty)
    if not _has_scale(b, ty):  # whose masked lanes cost nothing
        x = b.select(vanishes, zero, x, ty)
    rounded, n, r = reduce_ln2(b, x, 2 * BIAS[ty.elem], ty)
    return b.select(vanishes, zero, scaled(b, exp_of_small(b, r, ty), rounded, n, ty), ty)


@writer
def exp2(b: Builder, x: str, ty: Ty) -> str:
    """2^x: the reduction is exact."""
    x = at_least(b, at_most(b, x, BIAS[ty.elem] + 2.0, ty), -(BIAS[ty.elem] + MANTISSA_BITS[ty.elem] + 2.0), ty)
    magic = b.const(ROUND[ty.elem] + 2 * BIAS[ty.elem], ty)
    rounded = b.fadd(x, magic, ty)
    n = b.fsub(rounded, magic, ty)
    r = b.fmul(b.fsub(x, n, ty), b.const(0.6931471805599453, ty), ty)
    return scaled(b, exp_of_small(b, r, ty), rounded, n, ty)


@writer
def expm1(b: Builder, x: str, ty: Ty) -> str:
    """e^x - 1 without cancellation: `2^n (exp(r) - 1) + (2^n - 1)`, computed at half size so that 2^n is finite.

    `h = x - n LN2_HIGH` is exact, and the rest of the reduction joins the small terms; so the leading sum
    `2^n h + (2^n - 1)` carries nearly the only rounding.
    """
    scale, h, small = _expm1_parts(b, x, ty)
    leading = b.fma(scale, h, b.fsub(scale, b.const(0.5, ty), ty), ty)
    half = b.fma(scale, small, leading, ty)
    result = b.fadd(half, half, ty)
    # halving loses a bit of a denormal, and 0 - 0 the sign of zero
    return replace_where(b, "olt", fabs(b, x, ty), 2.0**-60, x, result, ty)


@writer
def expm1_slope(b: Builder, x: str, ty: Ty) -> str:
    """e^x, and 0 below twice the least normal number: LLVM shares its computation with `expm1`."""
    scale, h, small = _expm1_parts(b, x, ty)
    half = b.fma(scale, small, b.fma(scale, h, scale, ty), ty)
    return replace_where(b, "olt", x, _LOW_EXPM1[ty.elem], 0.0, b.fadd(half, half, ty), ty)


def _expm1_parts(b: Builder, x: str, ty: Ty) -> tuple[str, str, str]:
    """Half of `2^n`, and two parts of `exp(r) - 1` of which the first is exact."""
    clamped = at_least(b, at_most(b, x, _HIGH[ty.elem], ty), _LOW_EXPM1[ty.elem], ty)
    magic = b.const(ROUND[ty.elem] + BIAS[ty.elem] - 1, ty)
    rounded = b.fma(clamped, b.const(LOG2_E, ty), magic, ty)
    n = b.fsub(rounded, magic, ty)
    high, low = (b.const(-part, ty) for part in LN2[ty.elem])
    h, rest = b.fma(n, high, clamped, ty), b.fmul(n, low, ty)
    r = b.fadd(h, rest, ty)
    return power_of_two(b, rounded, ty), h, b.fma(b.fmul(r, r, ty), horner(b, r, EXP[ty.elem], ty), rest, ty)


@writer
def gauss(b: Builder, x: str, ty: Ty) -> str:
    """e^(-x^2): the square is taken with its rounding error, since exp multiplies an absolute error of up to `x^2` ulp."""
    y = at_most(b, fabs(b, x, ty), _GAUSS_VANISHES[ty.elem], ty)
    square = b.fmul(y, y, ty)
    lost = fma_exact(b, y, y, b.fneg(square, ty), ty)
    rounded, n, r = reduce_ln2(b, b.fneg(square, ty), 2 * BIAS[ty.elem], ty)
    return scaled(b, exp_of_small(b, b.fsub(r, lost, ty), ty), rounded, n, ty)

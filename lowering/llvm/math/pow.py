"""powf: `2^(y log2|x|)`, with the logarithm and the product in twice the precision of the result.

f32 goes through f64. In f64 the logarithm is an unevaluated sum of two doubles (about 2^-65 relative error), as in Sun's
`e_pow.c`; here the series of `atanh((m - 1) / (m + 1))` takes the place of tables, with its two leading terms in
double-double arithmetic (Dekker 1971). Results that are representable come out exactly. Special values follow C99 Annex
F.9.4.4. Powers of 2 itself are `exp2`.
"""

from __future__ import annotations

from ....codegen.text import Builder, Ty
from .common import BIAS, INF, NAN, ROUND, at_least, at_most, fabs, fast_two_sum, fma_exact, horner, writer
from .exp import exp2, exp_of_sum, scale_twice
from .log import normalized

_LN2 = (0.6931471805599453, 2.3190468138462996e-17)

# log2(1 + f) = f p(f), sqrt(1/2) <= 1 + f <= sqrt(2)
_LOG2 = (
    1.4426950408667636,
    -0.7213475207606707,
    0.48089836245927803,
    -0.360673696729467,
    0.2885372051952406,
    -0.2404518906136062,
    0.2061774851370844,
    -0.1803318861595214,
    0.15876199645340655,
    -0.14281124867342193,
    0.14450693148325888,
    -0.1442531650000628,
    0.07928871426100859,
)
# log2((1 + s) / (1 - s)) = s (FIRST + s^2 (SECOND + s^2 p(s^2))), the constants being 2 / ln2 and 2 / (3 ln2)
_FIRST = (2.8853900817779268, 4.0710547481862066e-17)
_SECOND = (0.9617966939259756, 5.0577616648125907e-17)
_LOG2_ATANH = (
    0.577078016355618,
    0.41219858309193697,
    0.3205989022745757,
    0.26230770099473005,
    0.22198400551356479,
    0.19125494979367738,
    0.19038756450286987,
)
# Larger exponents make every power but that of 1 overflow or vanish just the same.
_LARGEST_EXPONENT = {"float": 2.0**40, "double": 2.0**65}


@writer
def powf(b: Builder, x: str, y: str, ty: Ty) -> str:
    """x^y; a negative `x` has powers for integers only, else NaN."""
    if x == b.const(2.0, ty):
        return exp2(b, y, ty)
    magnitude = fabs(b, x, ty)
    bound = _LARGEST_EXPONENT[ty.elem]
    limited = at_least(b, at_most(b, y, bound, ty), -bound, ty)
    power = (_power_f32 if ty.elem == "float" else _power_f64)(b, magnitude, limited, ty)
    return _special(b, x, y, magnitude, power, ty)


def _power_f32(b: Builder, x: str, y: str, ty: Ty) -> str:
    wide = ty.with_elem("double")
    f, e = (b.cast("fpext", part, ty, wide) for part in normalized(b, x, ty))
    logarithm = b.fma(f, horner(b, f, _LOG2, wide), e, wide)
    product = b.fmul(b.cast("fpext", y, ty, wide), logarithm, wide)
    product = at_least(b, at_most(b, product, 130.0, wide), -152.0, wide)
    magic = b.const(ROUND["double"], wide)
    n = b.fsub(b.fadd(product, magic, wide), magic, wide)
    r = b.cast("fptrunc", b.fmul(b.fsub(product, n, wide), b.const(_LN2[0], wide), wide), wide, ty)
    rounded = b.fadd(b.cast("fptrunc", n, wide, ty), b.const(ROUND["float"] + 2 * BIAS["float"], ty), ty)
    return scale_twice(b, exp_of_sum(b, r, None, ty), rounded, ty)


def _power_f64(b: Builder, x: str, y: str, ty: Ty) -> str:
    high, low = _log2_f64(b, x, ty)
    product, error = _two_product(b, y, high, ty)
    error = b.fma(y, low, error, ty)
    inside = b.fcmp("olt", fabs(b, product, ty), b.const(1100.0, ty), ty)
    error = b.select(inside, error, b.const(0.0, ty), ty)
    product = at_least(b, at_most(b, product, 1100.0, ty), -1100.0, ty)
    magic = b.const(ROUND["double"] + 2 * BIAS["double"], ty)
    rounded = b.fadd(product, magic, ty)
    r = b.fadd(b.fsub(product, b.fsub(rounded, magic, ty), ty), error, ty)
    power, power_low = _two_product(b, r, b.const(_LN2[0], ty), ty)
    power_low = b.fma(r, b.const(_LN2[1], ty), power_low, ty)
    return scale_twice(b, exp_of_sum(b, power, power_low, ty), rounded, ty)


def _log2_f64(b: Builder, x: str, ty: Ty) -> tuple[str, str]:
    """log2 of positive finite `x` as a sum of two."""
    f, e = normalized(b, x, ty)
    two = b.const(2.0, ty)
    # s = f / (2 + f)
    d = b.fadd(f, two, ty)
    d_low = b.fsub(f, b.fsub(d, two, ty), ty)
    inverse = b.fdiv(b.const(1.0, ty), d, ty)
    s = b.fmul(f, inverse, ty)
    minus_s = b.fneg(s, ty)
    rest = b.fma(minus_s, d_low, fma_exact(b, minus_s, d, f, ty), ty)
    s_low = b.fmul(rest, inverse, ty)
    # z = s^2
    z, z_low = _two_product(b, s, s, ty)
    z_low = b.fma(b.fadd(s, s, ty), s_low, z_low, ty)
    # v = SECOND + z p(z)
    tail = b.fmul(z, horner(b, z, _LOG2_ATANH, ty), ty)
    v, v_low = fast_two_sum(b, b.const(_SECOND[0], ty), tail, ty)
    v_low = b.fadd(v_low, b.const(_SECOND[1], ty), ty)
    # q = FIRST + z v, then s q
    w, w_low = _two_product(b, z, v, ty)
    w_low = b.fma(z, v_low, b.fma(z_low, v, w_low, ty), ty)
    q, q_low = fast_two_sum(b, b.const(_FIRST[0], ty), w, ty)
    q_low = b.fadd(q_low, b.fadd(w_low, b.const(_FIRST[1], ty), ty), ty)
    logarithm, low = _two_product(b, s, q, ty)
    low = b.fma(s, q_low, b.fma(s_low, q, low, ty), ty)
    total, lost = fast_two_sum(b, e, logarithm, ty)  # e is 0 or at least twice as large
    return total, b.fadd(lost, low, ty)


def _two_product(b: Builder, x: str, y: str, ty: Ty) -> tuple[str, str]:
    product = b.fmul(x, y, ty)
    return product, fma_exact(b, x, y, b.fneg(product, ty), ty)


def _special(b: Builder, x: str, y: str, magnitude: str, power: str, ty: Ty) -> str:
    it, zero, inf = ty.int, b.const(0.0, ty), b.const(INF, ty)
    # 0 and inf are not reached by the logarithm
    is_zero = b.fcmp("oeq", magnitude, zero, ty)
    extreme = b.or_(is_zero, b.fcmp("oeq", magnitude, inf, ty), ty.bool)
    grows = b.xor(is_zero, b.fcmp("ogt", y, zero, ty), ty.bool)
    power = b.select(extreme, b.select(grows, inf, zero, ty), power, ty)
    # odd powers keep the sign, powers that are no integer have none to give
    is_integer = b.fcmp("oeq", b.intrinsic("rint", ty, y), y, ty)
    half = b.fmul(y, b.const(0.5, ty), ty)
    half_is_none = b.fcmp("une", b.intrinsic("rint", ty, half), half, ty)
    sign = b.and_(b.bitcast(x, ty, it), b.const(1 << (it.bits - 1), it), it)
    sign = b.select(b.and_(is_integer, half_is_none, ty.bool), sign, b.const(0, it), it)
    power = b.bitcast(b.or_(b.bitcast(power, ty, it), sign, it), it, ty)
    negative = b.and_(b.fcmp("olt", x, zero, ty), b.fcmp("olt", magnitude, inf, ty), ty.bool)
    undefined = b.and_(negative, b.xor(is_integer, b.const(True, ty.bool), ty.bool), ty.bool)
    undefined = b.or_(undefined, b.fcmp("uno", x, y, ty), ty.bool)
    power = b.select(undefined, b.const(NAN, ty), power, ty)
    one = b.const(1.0, ty)
    is_one = b.or_(b.fcmp("oeq", x, one, ty), b.fcmp("oeq", y, zero, ty), ty.bool)
    return b.select(is_one, one, power, ty)

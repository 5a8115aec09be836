"""log, log1p.

`x = 2^e m`, `sqrt(1/2) <= m < sqrt(2)`, cut out of the bits by one addition (as in Sun's fdlibm, `e_log.c` and
`s_log1p.c`). In f32 `log(m)` is a polynomial in `f = m - 1`; in f64 the series of `2 atanh(f / (2 + f))`, which needs a
third of the terms for one division. The polynomials come from `tests/lowering/llvm/derive.py`.
"""

from __future__ import annotations

from ....codegen.text import Builder, Ty
from .common import BIAS, INF, MANTISSA_BITS, NAN, copysign, horner, replace_where, writer
from .exp import LN2

_SQRT_HALF = {"float": 0x3F3504F3, "double": 0x3FE6A09E667F3BCD}
_ONE = {"float": 0x3F800000, "double": 0x3FF0000000000000}
_MIN_NORMAL = {"float": 2.0**-126, "double": 2.0**-1022}

# log(1 + f) = f - f^2 / 2 + f^3 p(f), sqrt(1/2) <= 1 + f <= sqrt(2)
_LOG_F32 = (
    0.3333333134651184,
    -0.250008225440979,
    0.20001260936260223,
    -0.1662331074476242,
    0.14200879633426666,
    -0.1315985471010208,
    0.1276857852935791,
    -0.07644703984260559,
)
# log((1 + s) / (1 - s)) = s (2 + s^2 p(s^2))
_ATANH_F64 = (
    0.6666666666666735,
    0.3999999999940928,
    0.28571428743720995,
    0.22222198425073708,
    0.181835725265259,
    0.15313829042595772,
    0.1479827683682547,
)


def split(b: Builder, x: str, ty: Ty) -> tuple[str, str, str]:
    """The biased exponent of positive normal `x` as an integer, the same still in its bit position, and the mantissa `m`."""
    bits, it = MANTISSA_BITS[ty.elem], ty.int
    shifted = b.add(b.bitcast(x, ty, it), b.const(_ONE[ty.elem] - _SQRT_HALF[ty.elem], it), it)
    exponent = b.lshr(shifted, b.const(bits, it), it)
    fraction = b.and_(shifted, b.const((1 << bits) - 1, it), it)
    mantissa = b.add(fraction, b.const(_SQRT_HALF[ty.elem], it), it)
    return exponent, shifted, b.bitcast(mantissa, it, ty)


def exponent_to_float(b: Builder, exponent: str, offset: str, ty: Ty) -> str:
    """A small non-negative integer as a float, less `2^MANTISSA_BITS + offset`: no conversion instruction needed."""
    one_ulp = b.const((BIAS[ty.elem] + MANTISSA_BITS[ty.elem]) << MANTISSA_BITS[ty.elem], ty.int)
    return b.fsub(b.bitcast(b.or_(exponent, one_ulp, ty.int), ty.int, ty), offset, ty)


def log_of_one_plus(b: Builder, f: str, e: str, ty: Ty) -> str:
    """`e ln2 + log(1 + f)`."""
    high, low = LN2[ty.elem]
    if ty.elem == "float":
        square = b.fmul(f, f, ty)
        y = b.fmul(b.fmul(square, f, ty), horner(b, f, _LOG_F32, ty), ty)
        y = b.fma(e, b.const(low, ty), y, ty)
        y = b.fma(square, b.const(-0.5, ty), y, ty)
        y = b.fadd(f, y, ty)
    else:
        s = b.fdiv(f, b.fadd(f, b.const(2.0, ty), ty), ty)
        z = b.fmul(s, s, ty)
        rest = b.fmul(z, horner(b, z, _ATANH_F64, ty), ty)
        y = b.fmul(s, b.fsub(f, rest, ty), ty)  # log(1 + f) = 2 s + s rest = f - s (f - rest)
        y = b.fma(e, b.const(-low, ty), y, ty)
        y = b.fsub(f, y, ty)
    return b.fma(e, b.const(high, ty), y, ty)


def normalized(b: Builder, x: str, ty: Ty) -> tuple[str, str]:
    """`f` and `e` with `x = 2^e (1 + f)` for every positive finite `x`, denormal too."""
    tiny = b.fcmp("olt", x, b.const(_MIN_NORMAL[ty.elem], ty), ty)
    bits = MANTISSA_BITS[ty.elem]
    x = b.select(tiny, b.fmul(x, b.const(2.0**bits, ty), ty), x, ty)
    offset = 2.0**bits + BIAS[ty.elem]
    offset = b.select(tiny, b.const(offset + bits, ty), b.const(offset, ty), ty)
    exponent, _, m = split(b, x, ty)
    e = exponent_to_float(b, exponent, offset, ty)
    return b.fsub(m, b.const(1.0, ty), ty), e


@writer
def log(b: Builder, x: str, ty: Ty) -> str:
    """Natural logarithm: -inf at both zeros, NaN below."""
    f, e = normalized(b, x, ty)
    result = log_of_one_plus(b, f, e, ty)
    result = replace_where(b, "uge", x, INF, x, result, ty)  # inf and NaN
    result = replace_where(b, "olt", x, 0.0, NAN, result, ty)
    return replace_where(b, "oeq", x, 0.0, -INF, result, ty)


@writer
def log1p(b: Builder, x: str, ty: Ty) -> str:
    """log(1 + x) without cancellation: the rounding error of `u = 1 + x` (Knuth's two-sum) is scaled and added to `f`."""
    bits, it = MANTISSA_BITS[ty.elem], ty.int
    one = b.const(1.0, ty)
    u = b.fadd(one, x, ty)
    z = b.fsub(u, one, ty)
    lost = b.fadd(b.fsub(one, b.fsub(u, z, ty), ty), b.fsub(x, z, ty), ty)
    exponent, shifted, m = split(b, u, ty)
    e = exponent_to_float(b, exponent, b.const(2.0**bits + BIAS[ty.elem], ty), ty)
    inverse = b.sub(b.const(2 * BIAS[ty.elem] << bits, it), b.and_(shifted, b.const(-1 << bits, it), it), it)
    # 2^-e has no normal bits at the largest exponents, where nothing is lost that matters
    inverse = b.bitcast(b.intrinsic("smax", it, inverse, b.const(0, it)), it, ty)
    f = b.fma(lost, inverse, b.fsub(m, one, ty), ty)
    result = log_of_one_plus(b, f, e, ty)
    result = replace_where(b, "uge", x, INF, x, result, ty)
    result = replace_where(b, "olt", x, -1.0, NAN, result, ty)
    result = replace_where(b, "oeq", x, -1.0, -INF, result, ty)
    return copysign(b, result, x, ty)  # -0

"""sin, cos, tan for every finite argument.

Up to `_FAST` the multiple of the period is subtracted in three parts with FMA; the first step is exact, so only the last
ones round (Cody & Waite 1980). Beyond, the bits of 2/pi that matter are multiplied as integers (Payne & Hanek, "Radian
reduction for trigonometric functions", SIGNUM 1983) in a helper function, called when any lane is that large.
sin and cos reduce by pi, so one polynomial serves both and no choice between two is needed; tan reduces by pi / 2.
"""

from __future__ import annotations

from ....codegen.text import F64, I64, I128, Builder, Ty, const
from .common import BIAS, MANTISSA_BITS, NAN, ROUND, copysign, fabs, fast_two_sum, fma_exact, horner, two_sum, writer

_PI = {
    "float": (3.1415927410125732, -8.742277657347586e-08, -3.4302490200117637e-15),
    "double": (3.141592653589793, 1.2246467991473532e-16, -2.9947698097183397e-33),
}
_ONE_OVER_PI = 0.3183098861837907
# the quotient is still near enough to its integer for the polynomials' intervals
_FAST = {"float": 2.0**16, "double": 2.0**32}

# sin(r) = r + r^3 p(r^2), |r| <= 1.58
_SIN = {
    "float": (
        -0.1666666716337204,
        0.008333351463079453,
        -0.0001984327391255647,
        2.7637684070214164e-06,
        -2.5698517092109796e-08,
    ),
    "double": (
        -0.16666666666666666,
        0.008333333333333208,
        -0.00019841269841213203,
        2.7557319211676674e-06,
        -2.505210691143586e-08,
        1.6058941187566714e-10,
        -7.643019596991546e-13,
        2.7213732956094926e-15,
    ),
}
# tan(r) = r + r^3 p(r^2), |r| <= 0.788
_TAN = {
    "float": (
        0.3333335220813751,
        0.13332577049732208,
        0.05406969040632248,
        0.021232057362794876,
        0.010964682325720787,
        -7.250752241816372e-05,
        0.004455620888620615,
    ),
    "double": (
        0.3333333333333339,
        0.13333333333323671,
        0.05396825397378289,
        0.021869488375937995,
        0.008863238290408963,
        0.0035920971340802875,
        0.0014560715593559964,
        0.0005887374600411932,
        0.00024419594577265356,
        8.243945563907691e-05,
        6.923027578954195e-05,
        -2.8139630874795454e-05,
        5.0701616802715594e-05,
        -2.5285153839301913e-05,
        1.002161597167709e-05,
    ),
}

_SIN_KIND, _COS_KIND, _TAN_KIND = 0, 1, 2

# one word of zeros, then 1216 bits of 2/pi, most significant first
_TWO_OVER_PI = (
    0x0,
    0xA2F9836E4E441529,
    0xFC2757D1F534DDC0,
    0xDB6295993C439041,
    0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0,
    0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484,
    0xE99C7026B45F7E41,
    0x3991D639835339F4,
    0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F,
    0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA,
    0x6BFB5FB11F8D5D08,
    0x56033046FC7B6BAB,
)
_PI_WORD = 0xC90FDAA22168C235  # pi 2^62


@writer
def sin(b: Builder, x: str, ty: Ty) -> str:
    """Sine; NaN at infinity."""
    r, _, n = _reduce(b, fabs(b, x, ty), _SIN_KIND, ty)
    it = ty.int
    odd = b.shl(n, b.const(it.bits - 1, it), it)
    sign = b.and_(b.bitcast(x, ty, it), b.const(1 << (it.bits - 1), it), it)
    return _flip_sign(b, _sin_polynomial(b, r, ty), b.xor(odd, sign, it), ty)


@writer
def cos(b: Builder, x: str, ty: Ty) -> str:
    """Cosine; NaN at infinity."""
    r, _, n = _reduce(b, fabs(b, x, ty), _COS_KIND, ty)
    odd = b.shl(n, b.const(ty.bits - 1, ty.int), ty.int)
    return _flip_sign(b, _sin_polynomial(b, r, ty), odd, ty)


@writer
def tan(b: Builder, x: str, ty: Ty) -> str:
    """Tangent; NaN at infinity. Carries the reduced argument and the result in two parts, for the division's sake."""
    r, r_low, n = _reduce(b, fabs(b, x, ty), _TAN_KIND, ty)
    square = b.fmul(r, r, ty)
    small = b.fma(b.fmul(r, square, ty), horner(b, square, _TAN[ty.elem], ty), r_low, ty)
    high, low = fast_two_sum(b, r, small, ty)
    quotient = b.fdiv(b.const(-1.0, ty), high, ty)
    error = fma_exact(b, quotient, high, b.const(1.0, ty), ty)  # -1 / (high + low), one Newton step
    error = b.fma(quotient, low, error, ty)
    cotangent = b.fma(quotient, error, quotient, ty)
    odd = b.emit(f"trunc {ty.int} {n} to {ty.bool}")
    result = b.select(odd, cotangent, high, ty)
    sign = b.and_(b.bitcast(x, ty, ty.int), b.const(1 << (ty.bits - 1), ty.int), ty.int)
    return _flip_sign(b, result, sign, ty)


def _sin_polynomial(b: Builder, r: str, ty: Ty) -> str:
    """`r + r^3 p(r^2)`: the cubic term is up to 0.6, so its roundings count; one more (no FMA) would pass 2 ulp."""
    square = b.fmul(r, r, ty)
    return fma_exact(b, b.fmul(r, square, ty), horner(b, square, _SIN[ty.elem], ty), r, ty)


def _flip_sign(b: Builder, x: str, sign: str, ty: Ty) -> str:
    return b.bitcast(b.xor(b.bitcast(x, ty, ty.int), sign, ty.int), ty.int, ty)


def _reduce(b: Builder, x: str, kind: int, ty: Ty) -> tuple[str, str, str]:
    """For `x >= 0`: the remainder in two parts and an integer whose lowest bit is the parity of the multiple.

    `x = n pi + r` for sin, `x + pi / 2 = n pi + r` for cos, `x = n pi / 2 + r` for tan. Only tan has the second part.
    """
    magic = b.const(ROUND[ty.elem], ty)
    if kind == _COS_KIND:
        shifted = b.fma(x, b.const(_ONE_OVER_PI, ty), b.const(0.5, ty), ty)
        rounded = b.fadd(shifted, magic, ty)
        n = b.fsub(b.fsub(rounded, magic, ty), b.const(0.5, ty), ty)
    else:
        rounded = b.fma(x, b.const(_ONE_OVER_PI * (2 if kind == _TAN_KIND else 1), ty), magic, ty)
        n = b.fsub(rounded, magic, ty)
    first, second, third = (b.const(-part / (2 if kind == _TAN_KIND else 1), ty) for part in _PI[ty.elem])
    exact = fma_exact(b, n, first, x, ty)
    if kind == _TAN_KIND:
        product = b.fmul(n, second, ty)
        r, lost = two_sum(b, exact, product, ty)
        lost = b.fadd(lost, fma_exact(b, n, second, b.fneg(product, ty), ty), ty)
        low = b.fma(n, third, lost, ty)
    else:
        r, low = b.fma(n, third, fma_exact(b, n, second, exact, ty), ty), ""
    bits = b.bitcast(rounded, ty, ty.int)

    huge = b.fcmp("ogt", x, b.const(_FAST[ty.elem], ty), ty)
    rare, join, here = b.fresh_label("huge"), b.fresh_label("reduced"), b.block
    b.cond_br(b.any(huge, ty), rare, join)
    b.label(rare)
    result = f"{{ {ty}, {ty}, {ty.int} }}"
    callee = b.module.helper(f"lamina.reduce.{ty.mangled}", lambda inner: _reduce_lanes(inner, ty))
    parts = b.call(callee, result, (ty, x), ("i64", str(kind)))
    exact_r, exact_low, exact_n = (b.emit(f"extractvalue {result} {parts}, {i}") for i in range(3))
    chosen_r, chosen_n = b.select(huge, exact_r, r, ty), b.select(huge, exact_n, bits, ty.int)
    chosen_low = b.select(huge, exact_low, low, ty) if low else ""
    b.br(join)
    b.label(join)
    r = b.phi(ty, (r, here), (chosen_r, rare))
    n = b.phi(ty.int, (bits, here), (chosen_n, rare))
    return r, b.phi(ty, (low, here), (chosen_low, rare)) if low else "", n


def _reduce_lanes(b: Builder, ty: Ty) -> str:
    """The reduction lane by lane, in f64 whatever the type; lanes that are not huge get a finite number."""
    name = f"lamina.reduce.{ty.mangled}"
    one = b.module.helper("lamina.reduce", _payne_hanek)
    scalar, it = ty.scalar, ty.int
    result, wide = f"{{ {ty}, {ty}, {it} }}", "{ double, double, i64 }"
    b.br("lane")
    b.label("lane")
    index, following = b.name(), b.name()
    names = [b.name() for _ in range(6)]
    at = len(b.lines)
    x = b.extract("%x", index, ty) if ty.lanes > 1 else "%x"
    x = b.cast("fpext", x, scalar, F64) if ty.elem == "float" else x
    parts = b.call(one, wide, ("double", x), ("i64", "%kind"))
    high, low, n = (b.emit(f"extractvalue {wide} {parts}, {i}") for i in range(3))
    if ty.elem == "float":
        narrow = b.cast("fptrunc", high, F64, scalar)
        rest = b.fadd(b.fsub(high, b.cast("fpext", narrow, scalar, F64), F64), low, F64)
        high, low, n = narrow, b.cast("fptrunc", rest, F64, scalar), b.cast("trunc", n, I64, scalar.int)
    values = []
    for value, whole, old, new in zip((high, low, n), (ty, ty, it), names[:3], names[3:], strict=True):
        if ty.lanes == 1:
            values.append(value)
            continue
        b.lines.append(f"  {new} = insertelement {whole} {old}, {whole.elem} {value}, i64 {index}")
        b.lines.insert(at, f"  {old} = phi {whole} [ zeroinitializer, %entry ], [ {new}, %lane ]")
        values.append(new)
    b.lines.insert(at, f"  {index} = phi i64 [ 0, %entry ], [ {following}, %lane ]")
    b.lines.append(f"  {following} = add i64 {index}, 1")
    b.cond_br(b.icmp("ult", following, str(ty.lanes), I64), "lane", "done")
    b.label("done")
    whole = "poison"
    for i, (value, kind) in enumerate(zip(values, (ty, ty, it), strict=True)):
        whole = b.emit(f"insertvalue {result} {whole}, {kind} {value}, {i}")
    b.ret(whole, result)
    b.lines.insert(0, "entry:")
    return f"{result} @{name}({ty} %x, i64 %kind) noinline optnone cold nounwind"


def _payne_hanek(b: Builder) -> str:
    """`x * 2/pi` modulo 4 as a 128-bit fraction (two integer bits, 126 below), then the reduction for `kind`.

    With `x = m 2^k`, bits of 2/pi that weigh 4 or more after the multiplication are left out, the next 192 are multiplied
    by the 53 bits of `m`, and the middle of the product is what remains. No double comes nearer to a multiple of
    pi / 2 than 2^-62 (Kahan; Muller, "Elementary Functions", ch. 11), so at least 64 good bits are left.
    """
    table = b.module.table("lamina.two_over_pi", I64, _TWO_OVER_PI)
    bits = b.bitcast("%x", F64, I64)
    exponent = b.and_(b.lshr(bits, "52", I64), "2047", I64)
    m = b.or_(b.and_(bits, str((1 << 52) - 1), I64), str(1 << 52), I64)
    offset = b.intrinsic("smax", I64, b.sub(exponent, "1013", I64), "0")
    word, shift = b.lshr(offset, "6", I64), b.and_(offset, "63", I64)
    words = [b.load(b.gep(table, b.add(word, str(i), I64), I64), I64, align=8) for i in range(4)]
    window = [b.intrinsic("fshl", I64, words[i], words[i + 1], shift) for i in range(3)]
    factor = b.cast("zext", m, I64, I128)
    top, middle, bottom = (b.mul(b.cast("zext", w, I64, I128), factor, I128) for w in window)
    fraction = b.add(b.shl(top, "64", I128), b.add(middle, b.lshr(bottom, "64", I128), I128), I128)

    is_cos, is_tan = (b.icmp("eq", "%kind", str(kind), I64) for kind in (_COS_KIND, _TAN_KIND))
    fraction = b.add(fraction, b.select(is_cos, str(1 << 126), "0", I128), I128)
    fraction = b.select(is_tan, b.shl(fraction, "1", I128), fraction, I128)  # periods of pi or pi / 2: the top bit
    n = b.cast("trunc", b.lshr(b.add(fraction, str(1 << 126), I128), "127", I128), I128, I64)
    remainder = b.shl(fraction, "1", I128)  # signed: -1/2 to 1/2 period

    sign = b.ashr(remainder, "127", I128)
    size = b.sub(b.xor(remainder, sign, I128), sign, I128)
    callee = b.module.declare("llvm.ctlz.i128", "i128", ("i128", "i1"))
    zeros = b.emit(f"call i128 {callee}(i128 {size}, i1 false)")
    leading = b.lshr(b.shl(size, zeros, I128), "64", I128)
    product = b.mul(leading, str(_PI_WORD), I128)
    upper = b.cast("trunc", b.lshr(product, "64", I128), I128, I64)
    lower = b.cast("trunc", b.lshr(product, "11", I128), I128, I64)
    high = b.cast("uitofp", b.and_(upper, "-2048", I64), I64, F64)
    low = b.fmul(b.cast("uitofp", lower, I64, F64), const(2.0**-53, F64), F64)
    scale = b.sub(b.const(BIAS["double"] + 2 - 64, I64), b.cast("trunc", zeros, I128, I64), I64)
    scale = b.sub(scale, b.cast("zext", is_tan, Ty("i1"), I64), I64)
    scale = b.bitcast(b.shl(scale, str(MANTISSA_BITS["double"]), I64), I64, F64)
    scale = copysign(b, scale, b.cast("sitofp", b.cast("trunc", sign, I128, I64), I64, F64), F64)
    scale = b.select(b.icmp("eq", exponent, "2047", I64), const(NAN, F64), scale, F64)
    r, rest = fast_two_sum(b, b.fmul(high, scale, F64), b.fmul(low, scale, F64), F64)
    result = "{ double, double, i64 }"
    whole = "poison"
    for i, (value, kind) in enumerate(((r, "double"), (rest, "double"), (n, "i64"))):
        whole = b.emit(f"insertvalue {result} {whole}, {kind} {value}, {i}")
    b.ret(whole, result)
    return f"{result} @lamina.reduce(double %x, i64 %kind) noinline optnone cold nounwind"

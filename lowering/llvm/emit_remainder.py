"""`arith.remf`: the exact float remainder with the sign of the dividend, C's `fmod`.

Small quotients take one division and one fused multiply-subtract, which is exact; other ones call a helper that subtracts
shifted multiples on the bits, as in long division on paper.
"""

from __future__ import annotations

from ...codegen.text import Builder, Ty, const
from .math.common import BIAS, MANTISSA_BITS, copysign, fabs

# quotients below are integers of the type even when rounding made them one too large
_FAST = {"float": 2.0**22, "double": 2.0**50}


def float_remainder(b: Builder, x: str, y: str, ty: Ty) -> str:
    """`fmod(x, y)`; ends the current block."""
    if not b.has_fma:
        return _without_fma(b, x, y, ty)
    quotient = b.intrinsic("trunc", ty, b.fdiv(x, y, ty))
    small = b.fcmp("olt", fabs(b, x, ty), fabs(b, y, ty), ty)
    fast = _finish(b, x, y, b.fma(b.fneg(quotient, ty), y, x, ty), small, ty)
    # NaN quotients (NaN, infinite or zero operands) need no help: the remainder is NaN already
    large = b.fcmp("oge", fabs(b, quotient, ty), const(_FAST[ty.elem], ty), ty)
    return _with_helper(b, x, y, fast, b.any(large, ty), ty)


def _finish(b: Builder, x: str, y: str, rest: str, small: str, ty: Ty) -> str:
    """Undo a quotient that was rounded up to the next integer; `|x| < |y|` returns x; a zero has the sign of x."""
    signs = b.xor(b.bitcast(rest, ty, ty.int), b.bitcast(x, ty, ty.int), ty.int)
    differ = b.icmp("slt", signs, const(0, ty.int), ty.int)
    wrong = b.and_(differ, b.fcmp("one", rest, const(0.0, ty), ty), ty.bool)
    corrected = b.select(wrong, b.fadd(rest, copysign(b, y, x, ty), ty), rest, ty)
    return b.select(small, x, copysign(b, corrected, x, ty), ty)


def _without_fma(b: Builder, x: str, y: str, ty: Ty) -> str:
    if ty.elem == "double":
        return _each_lane(b, x, y, ty)
    # the product of a 24-bit and a 29-bit number fits a double
    double = ty.with_elem("double")
    wide_x, wide_y = b.cast("fpext", x, ty, double), b.cast("fpext", y, ty, double)
    quotient = b.intrinsic("trunc", double, b.fdiv(wide_x, wide_y, double))
    rest = b.fsub(wide_x, b.fmul(quotient, wide_y, double), double)
    small = b.fcmp("olt", fabs(b, x, ty), fabs(b, y, ty), ty)
    fast = _finish(b, x, y, b.cast("fptrunc", rest, double, ty), small, ty)
    large = b.fcmp("oge", fabs(b, quotient, double), const(2.0**28, double), double)
    return _with_helper(b, x, y, fast, b.any(large, double), ty)


def _with_helper(b: Builder, x: str, y: str, fast: str, any_large: str, ty: Ty) -> str:
    before, slow, done = b.block, b.fresh_label("rem.slow"), b.fresh_label("rem.done")
    b.cond_br(any_large, slow, done)
    b.label(slow)
    exact = _each_lane(b, x, y, ty)
    end = b.block
    b.br(done)
    b.label(done)
    return b.phi(ty, (fast, before), (exact, end))


def _each_lane(b: Builder, x: str, y: str, ty: Ty) -> str:
    if ty.lanes == 1:
        return _call(b, x, y, ty)
    result = "poison"
    for lane in range(ty.lanes):
        one = _call(b, b.extract(x, lane, ty), b.extract(y, lane, ty), ty.scalar)
        result = b.insert(result, one, lane, ty)
    return result


def _call(b: Builder, x: str, y: str, ty: Ty) -> str:
    name = f"lamina.fmod.{ty.mangled}"
    return b.call(b.module.helper(name, lambda inner: _long_division(inner, name, ty)), ty, (ty, x), (ty, y))


def _long_division(b: Builder, name: str, ty: Ty) -> str:
    """One quotient bit a step on the significands, at most as many steps as the difference of the exponents."""
    word, bits = ty.int, MANTISSA_BITS[ty.elem]
    zero, one = const(0, word), const(1, word)
    hidden = const(1 << bits, word)
    infinity = const((2 * BIAS[ty.elem] + 1) << bits, word)
    all_x, all_y = b.bitcast("%x", ty, word), b.bitcast("%y", ty, word)
    magnitude = const((1 << (word.bits - 1)) - 1, word)
    abs_x, abs_y = b.and_(all_x, magnitude, word), b.and_(all_y, magnitude, word)
    sign = b.xor(all_x, abs_x, word)
    # NaN unless x is finite and y neither zero nor NaN
    bad = b.or_(b.icmp("uge", abs_x, infinity, word), b.icmp("eq", abs_y, zero, word), word.bool)
    bad = b.or_(bad, b.icmp("ugt", abs_y, infinity, word), word.bool)
    b.cond_br(bad, "invalid", "compare")
    b.label("invalid")
    product = b.fmul("%x", "%y", ty)
    b.ret(b.fdiv(product, product, ty), ty)
    b.label("compare")
    b.cond_br(b.icmp("ult", abs_x, abs_y, word), "whole", "divide")
    b.label("whole")
    b.ret("%x", ty)
    b.label("divide")

    def unpack(value: str) -> tuple[str, str]:
        """Significand with its top bit at `bits`, and its exponent (below 1 for subnormals)."""
        exponent = b.lshr(value, const(bits, word), word)
        normal = b.icmp("ne", exponent, zero, word)
        fraction = b.and_(value, const((1 << bits) - 1, word), word)
        callee = b.module.declare(f"llvm.ctlz.{word.mangled}", word, (word, "i1"))
        leading = b.call(callee, word, (word, fraction), ("i1", "false"))
        shift = b.sub(leading, const(word.bits - 1 - bits, word), word)
        significand = b.select(normal, b.or_(fraction, hidden, word), b.shl(fraction, shift, word), word)
        return significand, b.select(normal, exponent, b.sub(one, shift, word), word)

    (top, exponent_x), (divisor, exponent_y) = unpack(abs_x), unpack(abs_y)
    steps = b.sub(exponent_x, exponent_y, word)
    b.br("step")
    b.label("step")
    rest, left, next_rest, next_left = b.name(), b.name(), b.name(), b.name()
    b.lines.append(f"  {rest} = phi {word} [ {top}, %divide ], [ {next_rest}, %again ]")
    b.lines.append(f"  {left} = phi {word} [ {steps}, %divide ], [ {next_left}, %again ]")
    fits = b.icmp("uge", rest, divisor, word)
    reduced = b.select(fits, b.sub(rest, divisor, word), rest, word)
    b.cond_br(b.icmp("sgt", left, zero, word), "again", "pack")
    b.label("again")
    b.lines.append(f"  {next_rest} = shl {word} {reduced}, 1")
    b.lines.append(f"  {next_left} = sub {word} {left}, 1")
    b.br("step")
    b.label("pack")
    callee = b.module.declare(f"llvm.ctlz.{word.mangled}", word, (word, "i1"))
    leading = b.call(callee, word, (word, reduced), ("i1", "false"))
    shift = b.sub(leading, const(word.bits - 1 - bits, word), word)
    exponent = b.sub(exponent_y, shift, word)
    is_normal = b.icmp("sgt", exponent, zero, word)
    # normal: shift up to the hidden bit, which adds one to the exponent field
    field = b.shl(b.sub(exponent, one, word), const(bits, word), word)
    normal = b.add(b.shl(reduced, b.and_(shift, const(word.bits - 1, word), word), word), field, word)
    # subnormal: the scale is that of exponent 1; the shift of a subnormal divisor is undone, exactly
    above = b.sub(exponent_y, one, word)
    up, down = b.intrinsic("smax", word, above, zero), b.intrinsic("smax", word, b.sub(zero, above, word), zero)
    subnormal = b.lshr(b.shl(reduced, b.intrinsic("umin", word, up, const(word.bits - 1, word)), word), down, word)
    packed = b.select(is_normal, normal, subnormal, word)
    packed = b.select(b.icmp("eq", reduced, zero, word), zero, packed, word)
    b.ret(b.bitcast(b.or_(packed, sign, word), word, ty), ty)
    return f"{ty} @{name}({ty} %x, {ty} %y) noinline cold nounwind"

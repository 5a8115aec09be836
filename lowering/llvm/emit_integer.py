"""Integer division, shifts and powers, defined for all operands.

Division by zero returns 0, the most negative number divided by -1 wraps, shifts by the width or more return what an infinitely
wide number would; powers wrap, and a negative exponent returns the quotient toward zero, 0 for 0.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ...codegen.text import I64, Builder, Ty, const
from .emit_core import FunctionEmitter, Pure


def is_number(x: str) -> bool:
    """Whether an integer operand is a literal."""
    return x[0] in "-0123456789" and x[:2] != "0x"


def _literal(y: str) -> int | None:
    """The constant value of an integer operand, also when every lane has it."""
    if y.startswith("splat (i"):
        y = y[y.rindex(" ") + 1 : -1]
    return int(y) if is_number(y) else None


def _is_harmless(y: str) -> bool:
    return _literal(y) not in (None, 0, -1)


_REAL = {8: "float", 16: "float", 32: "double"}
"""The float types that divide integers of a number of bits."""


def _divide(signed: bool) -> Pure:
    def write(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
        return divide(e.b, xs[0], xs[1], ty, signed)[0]

    return write


def _remainder(signed: bool) -> Pure:
    def write(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
        if ty is I64 and signed and is_number(xs[0]) and _is_harmless(xs[1]):
            x, y = int(xs[0]), int(xs[1])
            return str(x - y * (abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1))
        return divide(e.b, xs[0], xs[1], ty, signed)[1]

    return write


def divide(b: Builder, x: str, y: str, ty: Ty, signed: bool) -> tuple[str, str]:
    """Truncated quotient and remainder without branches; unused ones disappear in the optimizer."""
    zero, one, ones = const(0, ty), const(1, ty), const(-1, ty)
    div, rem = ("sdiv", "srem") if signed else ("udiv", "urem")
    if _is_harmless(y):
        quotient = b.binary(div, x, y, ty)
        return quotient, b.sub(x, b.mul(quotient, y, ty), ty)
    by_zero = b.icmp("eq", y, zero, ty)
    bad = by_zero
    by_minus_one = ""
    if signed:
        by_minus_one = b.icmp("eq", y, ones, ty)
        bad = b.or_(by_zero, by_minus_one, ty.bool)
    safe = b.select(bad, one, y, ty)
    if ty.lanes > 1 and ty.bits in _REAL:
        # no machine divides vectors of integers; a float twice as wide holds every quotient exactly enough to truncate it right
        real, sign = ty.with_elem(_REAL[ty.bits]), "si" if signed else "ui"
        wide = b.fdiv(b.cast(f"{sign}tofp", x, ty, real), b.cast(f"{sign}tofp", safe, ty, real), real)
        quotient = b.cast(f"fpto{sign}", wide, real, ty)
        remainder = b.sub(x, b.mul(quotient, safe, ty), ty)
    else:
        quotient, remainder = b.binary(div, x, safe, ty), b.binary(rem, x, safe, ty)
    if signed:
        quotient = b.select(by_minus_one, b.sub(zero, x, ty), quotient, ty)
    # a remainder by 1 is 0, which is the answer for 0 and -1 as well
    return b.select(by_zero, zero, quotient, ty), remainder


def _floor_divide(up: bool) -> Pure:
    def write(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
        b, (x, y) = e.b, xs
        number = _literal(y)
        if not up and number is not None and number > 0 and number & (number - 1) == 0:
            return b.ashr(x, const(number.bit_length() - 1, ty), ty)
        quotient, remainder = divide(b, x, y, ty, True)
        inexact = b.icmp("ne", remainder, const(0, ty), ty)
        apart = b.icmp("slt", b.xor(x, y, ty), const(0, ty), ty)
        if up:
            apart = b.xor(apart, const(1, ty.bool), ty.bool)
        off = b.and_(inexact, apart, ty.bool)
        return b.add(quotient, b.select(off, const(1 if up else -1, ty), const(0, ty), ty), ty)

    return write


def _shift(opcode: str) -> Pure:
    def write(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
        b, (x, y) = e.b, xs
        amount = _literal(y)
        if amount is not None and 0 <= amount < ty.bits:
            return b.binary(opcode, x, y, ty)
        if opcode == "ashr":  # the sign fills: as far as it goes
            return b.ashr(x, b.intrinsic("umin", ty, y, const(ty.bits - 1, ty)), ty)
        inside = b.icmp("ult", y, const(ty.bits, ty), ty)
        shifted = b.binary(opcode, x, b.select(inside, y, const(0, ty), ty), ty)
        return b.select(inside, shifted, const(0, ty), ty)

    return write


def power(b: Builder, x: str, y: str, ty: Ty) -> str:
    """`x` to the power of signed `y` by squaring, until no lane has bits of the exponent left. Ends the current block."""
    zero, one, minus_one = const(0, ty), const(1, ty), const(-1, ty)
    odd = b.icmp("ne", b.and_(y, one, ty), zero, ty)
    of_unit = b.select(b.and_(b.icmp("eq", x, minus_one, ty), odd, ty.bool), minus_one, one, ty)
    is_unit = b.icmp("ult", b.add(x, one, ty), const(3, ty), ty)  # -1, 0 or 1
    is_unit = b.and_(is_unit, b.icmp("ne", x, zero, ty), ty.bool)
    negative = b.icmp("slt", y, zero, ty)
    known = b.select(is_unit, of_unit, zero, ty)
    exponent = b.intrinsic("smax", ty, y, zero)
    before, step, done = b.block, b.fresh_label("power.step"), b.fresh_label("power.done")
    b.br(step)
    b.label(step)
    product, square, bits = b.name(), b.name(), b.name()
    position = len(b.lines)
    b.lines += [""] * 3
    odd = b.icmp("ne", b.and_(bits, one, ty), zero, ty)
    following = (
        b.select(odd, b.mul(product, square, ty), product, ty),
        b.mul(square, square, ty),
        b.lshr(bits, one, ty),
    )
    for k, (phi, first, after) in enumerate(zip((product, square, bits), (one, x, exponent), following, strict=True)):
        b.lines[position + k] = f"  {phi} = phi {ty} [ {first}, %{before} ], [ {after}, %{step} ]"
    b.cond_br(b.any(b.icmp("ne", following[2], zero, ty), ty), step, done)
    b.label(done)
    return b.select(negative, known, following[0], ty)


PURE: dict[str, Pure] = {
    "arith.divsi": _divide(True),
    "arith.divui": _divide(False),
    "arith.remsi": _remainder(True),
    "arith.remui": _remainder(False),
    "arith.floordivsi": _floor_divide(up=False),
    "arith.ceildivsi": _floor_divide(up=True),
    "arith.shli": _shift("shl"),
    "arith.shrsi": _shift("ashr"),
    "arith.shrui": _shift("lshr"),
}

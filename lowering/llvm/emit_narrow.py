"""Storage formats of a byte each: floats of 8 bits and integers of 4, converted from and to f32, i8 and ui8.

The formats of floats differ in the bits of the exponent, in its bias, and in the codes of infinities and NaN: as in IEEE 754
(f8E5M2), NaN alone as all ones (FN), or NaN alone as the bits of -0 (FNUZ). Conversions to f32 are exact; those from f32 round
to nearest, ties to even, and too large numbers become an infinity or, where there is none, NaN.
"""

from __future__ import annotations

from typing import Any

from ...codegen.text import Builder, Ty, const


class Format:
    """A format of 8 bits.

    Attributes:
        fraction: the bits of the fraction.
        bias: the bias of the exponent.
        negative_zero: whether the bits of -0 are -0, and not NaN.
        has_infinity: whether there are infinities.
    """

    def __init__(self, type: Any):
        facts = type.SEMANTICS
        self.fraction = facts.mantissa_bits
        self.bias = facts.exponent_bias
        self.has_infinity = facts.nonfinite.name == "IEEE"
        self.negative_zero = facts.nan_encoding.name != "NEGATIVE_ZERO"
        self.dropped = 23 - self.fraction

    @property
    def special(self) -> int:
        """The least magnitude that is no finite number."""
        if self.has_infinity:
            return 0x80 - (1 << self.fraction)
        return 0x7F if self.negative_zero else 0x80


def extend(b: Builder, x: str, given: Ty, single: Ty, format: Format) -> str:
    """A float of 8 bits in f32."""
    bits = single.int
    wide = b.cast("zext", x, given, bits)
    size = b.binary("and", wide, const(0x7F, bits), bits)
    # the exponent is that of a float 2**(127 - bias) times smaller; subnormals become normal by the product
    small = b.bitcast(b.binary("shl", size, const(format.dropped, bits), bits), bits, single)
    found = b.bitcast(b.binary("fmul", small, const(2.0 ** (127 - format.bias), single), single), single, bits)
    if format.has_infinity:
        is_special = b.icmp("uge", size, const(format.special, bits), bits)
        found = b.select(is_special, b.binary("or", found, const(0x7F800000, bits), bits), found, bits)
    else:
        nan, place = (0x7F, size) if format.negative_zero else (0x80, wide)
        found = b.select(b.icmp("eq", place, const(nan, bits), bits), const(0x7FC00000, bits), found, bits)
    sign = b.binary("shl", b.binary("and", wide, const(0x80, bits), bits), const(24, bits), bits)
    return b.bitcast(b.binary("or", found, sign, bits), bits, single)


def truncate(b: Builder, x: str, single: Ty, ty: Ty, format: Format) -> str:
    """f32 as a float of 8 bits."""
    bits = single.int
    given = b.bitcast(x, single, bits)
    size = b.binary("and", given, const(0x7FFFFFFF, bits), bits)
    sign = b.binary("lshr", b.binary("xor", given, size, bits), const(24, bits), bits)
    # adding a number whose last bit is the least subnormal lines those up at the end of the fraction, rounded by the addition
    aligned = 2.0 ** (24 - format.bias - format.fraction)
    shifted = b.bitcast(b.binary("fadd", b.bitcast(size, bits, single), const(aligned, single), single), single, bits)
    subnormal = b.sub(shifted, const((151 - format.bias - format.fraction) << 23, bits), bits)
    odd = b.binary("and", b.binary("lshr", size, const(format.dropped, bits), bits), const(1, bits), bits)
    half = ((format.bias - 127) << 23) + (1 << format.dropped - 1) - 1
    usual = b.binary("lshr", b.add(b.add(size, const(half, bits), bits), odd, bits), const(format.dropped, bits), bits)
    least = const((128 - format.bias) << 23, bits)
    found = b.select(b.icmp("ult", size, least, bits), subnormal, usual, bits)
    found = b.select(b.icmp("ult", found, const(format.special, bits), bits), found, const(format.special, bits), bits)
    if format.has_infinity:
        is_nan = b.icmp("ugt", size, const(0x7F800000, bits), bits)
        found = b.select(is_nan, const(0x7E, bits), found, bits)
    else:
        is_special = b.icmp("uge", size, const(0x7F800000, bits), bits)
        found = b.select(is_special, const(format.special, bits), found, bits)
    if not format.negative_zero:  # neither 0 nor NaN has a sign
        unsigned = b.icmp("eq", b.binary("and", found, const(0x7F, bits), bits), const(0, bits), bits)
        sign = b.select(unsigned, const(0, bits), sign, bits)
    return b.cast("trunc", b.binary("or", found, sign, bits), bits, ty)


def extend_nibble(b: Builder, x: str, ty: Ty, signed: bool) -> str:
    """A number of 4 bits as a byte, whatever the upper bits are: ml_dtypes does not sign-extend."""
    if not signed:
        return truncate_nibble(b, x, ty)
    return b.binary("ashr", b.binary("shl", x, const(4, ty), ty), const(4, ty), ty)


def truncate_nibble(b: Builder, x: str, ty: Ty) -> str:
    """The low 4 bits of a byte."""
    return b.binary("and", x, const(15, ty), ty)

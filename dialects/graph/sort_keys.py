"""Keys: unsigned integers that order as elements do, and their digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue

from ..sizes.polynomial import is_at_most
from ..types import element_type, index, is_bool, is_float, is_unsigned, shape_of, width_of

if TYPE_CHECKING:
    from ..scalar import ScalarBuilder
    from .builder import GraphBuilder


def position_type(n: int) -> Attribute:
    """The narrowest type of indices that holds the positions of `n` elements."""
    return i32 if is_at_most(n, 2**31 - 1) else i64


def take_in_rows(b: GraphBuilder, x: SSAValue, positions: SSAValue) -> SSAValue:
    """The elements of the rows of `x` at positions in their own rows."""
    last = len(shape_of(x)) - 1
    return b.gather(x, positions, at=(last,), batch=tuple(range(last)))


def key_type(element: Attribute) -> Any:
    return element_type(np.dtype(f"u{max(8, width_of(element)) // 8}"))


def ordered(b: ScalarBuilder, x: SSAValue) -> SSAValue:
    """An unsigned integer as wide as a scalar that orders as it does: zeros are equal, all NaN are equal and the greatest."""
    element = x.type
    key = key_type(element)
    if is_bool(element) or is_unsigned(element):
        return b.convert(x, key)
    bits, sign = b.bitcast(x, key), b.const(1 << (width_of(element) - 1), key)
    if not is_float(element):
        return b.binary("xor", bits, sign)
    above = b.binary("or", bits, sign)  # both zeros have the same key
    found = b.select(b.cmp("lt", x, b.const(0, element)), b.invert(bits), above)
    return b.select(b.cmp("ne", x, x), b.identity("and", key), found)


class Digit(NamedTuple):
    """The bits `[shift, shift + bits)` of a key."""

    operand: int
    shift: int
    bits: int

    def of(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        """The digit of a scalar, an index."""
        key = ordered(b, x)
        if self.shift:
            key = b.binary("shr", key, b.const(self.shift, key.type))
        if self.shift + self.bits < width_of(key.type):
            key = b.binary("and", key, b.const((1 << self.bits) - 1, key.type))
        return b.convert(key, index)


def digits_of(elements: Sequence[Attribute], most: int) -> list[Digit]:
    """The digits of all keys, from the least significant one on."""
    found: list[Digit] = []
    for operand, element in reversed(list(enumerate(elements))):
        width = width_of(element)
        each = -(-width // -(-width // most))
        found += [Digit(operand, shift, min(each, width - shift)) for shift in range(0, width, each)]
    return found


def total(b: ScalarBuilder, x: SSAValue) -> SSAValue:
    """An invertible unsigned integer that orders as a scalar does: -0.0 comes before 0.0, all NaN are positive."""
    element = x.type
    if not is_float(element):
        return ordered(b, x)
    key = key_type(element)
    bits, sign = b.bitcast(x, key), b.const(1 << (width_of(element) - 1), key)
    is_negative = b.cmp("gt", bits, b.bitcast(b.const(float("-inf"), element), key))  # NaN included
    is_negative = b.binary("xor", b.cmp("ge", bits, sign), is_negative)
    return b.select(is_negative, b.invert(bits), b.binary("or", bits, sign))


def element_of_key(b: ScalarBuilder, key: SSAValue, element: Attribute) -> SSAValue:
    """The inverse of `total`."""
    if is_bool(element) or is_unsigned(element):
        return b.convert(key, element)
    sign = b.const(1 << (width_of(element) - 1), key.type)
    flipped = b.binary("xor", key, sign)
    if is_float(element):
        flipped = b.select(b.cmp("ge", key, sign), flipped, b.invert(key))
    return b.bitcast(flipped, element)

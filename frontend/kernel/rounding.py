"""Arithmetic of f16 and bf16 in kernels as NumPy and ml_dtypes do it: each operation in f32, and its result rounded.

f32 has more than twice the bits of both types, so that sums, products, quotients and roots are rounded as if once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Attribute, SSAValue

from ...dialects.scalar import ScalarBuilder
from ...dialects.types import computed_in, is_float, is_stored, numpy_dtype, scalar_of


def is_rounded(type: Attribute) -> bool:
    """Whether values of a type are computed in f32 and rounded after each operation."""
    return is_float(type) and is_stored(type)


class RoundingBuilder(ScalarBuilder):
    """Writes arithmetic as `ScalarBuilder` does, that of the narrow floats in f32."""

    def wide(self, make: Callable[..., SSAValue], *operands: SSAValue) -> SSAValue:
        """The result of `make` for the operands in f32, rounded to their type; of other types as it is."""
        element = scalar_of(operands[0].type)
        if not is_rounded(element):
            return make(*operands)
        found = make(*(self.convert(x, computed_in(element)) for x in operands))
        return self.convert(found, element) if is_float(scalar_of(found.type)) else found

    def const(self, value: float | int | bool, type: Attribute) -> SSAValue:
        element = scalar_of(type)
        if not is_rounded(element):
            return super().const(value, type)
        rounded = float(numpy_dtype(element).type(value))
        return self.convert(super().const(rounded, computed_in(element)), element)

    def binary(self, name: str, x: SSAValue, y: SSAValue) -> SSAValue:
        plain = super().binary
        return self.wide(lambda u, v: plain(name, u, v), x, y)

    def unary(self, name: str, x: SSAValue) -> SSAValue:
        plain = super().unary
        return self.wide(lambda u: plain(name, u), x)

    def neg(self, x: SSAValue) -> SSAValue:
        return self.wide(super().neg, x)

    def abs(self, x: SSAValue) -> SSAValue:
        return self.wide(super().abs, x)

    def sign(self, x: SSAValue) -> SSAValue:
        return self.wide(super().sign, x)

    def cmp(self, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
        plain = super().cmp
        return self.wide(lambda u, v: plain(predicate, u, v), x, y)

    def convert(self, x: SSAValue, element: Attribute) -> SSAValue:
        """Between any two types; between two narrow floats, and from one to another type, by way of f32."""
        source: Any = scalar_of(x.type)
        if is_rounded(source) and source != element and element != computed_in(source):
            return self.convert(super().convert(x, computed_in(source)), element)
        return super().convert(x, element)


__all__ = ["RoundingBuilder", "is_rounded"]

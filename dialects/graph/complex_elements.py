"""Arithmetic in loops over real and complex matrices alike: an element is the tuple of its parts, one or two.

Complex matrices are planes there, so that vectors hold real or imaginary parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, SSAValue

if TYPE_CHECKING:
    from .nest_writer import NestWriter

Element = tuple[SSAValue, ...]


class Field:
    """Writes arithmetic of elements with a nest builder.

    Attributes:
        part: the element type of a part, f32 or f64.
        is_complex: whether elements have two parts.
    """

    def __init__(self, b: NestWriter, part: Attribute, is_complex: bool):
        self.b, self.part, self.is_complex = b, part, is_complex

    def number(self, value: float) -> SSAValue:
        """A constant part."""
        return self.b.scalar.const(value, self.part)

    def const(self, value: float) -> Element:
        return self.of_real(self.number(value))

    def of_real(self, x: SSAValue) -> Element:
        """The element with a real part alone."""
        return (x, self.number(0)) if self.is_complex else (x,)

    def divisor(self, largest: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The divisor that scales the largest magnitude to 1 (1 where that is 0 or not finite), and whether it is finite."""
        s = self.b.scalar
        is_finite = s.cmp("lt", largest, self.number(float("inf")))
        is_usual = s.binary("and", is_finite, s.cmp("gt", largest, self.number(0)))
        return s.select(is_usual, largest, self.number(1)), is_finite

    def add(self, x: Element, y: Element) -> Element:
        return tuple(self.b.scalar.add(p, q) for p, q in zip(x, y, strict=True))

    def sub(self, x: Element, y: Element) -> Element:
        return tuple(self.b.scalar.sub(p, q) for p, q in zip(x, y, strict=True))

    def neg(self, x: Element) -> Element:
        return tuple(self.b.scalar.neg(p) for p in x)

    def conj(self, x: Element) -> Element:
        """The complex conjugate; a real element itself."""
        return (x[0], self.b.scalar.neg(x[1])) if self.is_complex else x

    def mul(self, x: Element, y: Element) -> Element:
        s = self.b.scalar
        if not self.is_complex:
            return (s.mul(x[0], y[0]),)
        return s.sub(s.mul(x[0], y[0]), s.mul(x[1], y[1])), s.add(s.mul(x[0], y[1]), s.mul(x[1], y[0]))

    def conj_mul(self, x: Element, y: Element) -> Element:
        """The conjugate of `x` times `y`."""
        s = self.b.scalar
        if not self.is_complex:
            return (s.mul(x[0], y[0]),)
        return s.add(s.mul(x[0], y[0]), s.mul(x[1], y[1])), s.sub(s.mul(x[0], y[1]), s.mul(x[1], y[0]))

    def scale(self, x: Element, by: SSAValue) -> Element:
        """The product with a real number."""
        return tuple(self.b.scalar.mul(p, by) for p in x)

    def shrink(self, x: Element, by: SSAValue) -> Element:
        """The quotient by a real number."""
        return tuple(self.b.scalar.div(p, by) for p in x)

    def div(self, x: Element, y: Element) -> Element:
        """The quotient; of complex numbers by Smith's algorithm (1962)."""
        s = self.b.scalar
        if not self.is_complex:
            return (s.div(x[0], y[0]),)
        is_wide = s.cmp("ge", s.abs(y[0]), s.abs(y[1]))
        p, q = s.select(is_wide, y[0], y[1]), s.select(is_wide, y[1], y[0])
        u, v = s.select(is_wide, x[0], x[1]), s.select(is_wide, x[1], x[0])
        is_zero, zero = s.cmp("eq", p, self.number(0)), self.number(0)
        ratio = s.select(is_zero, zero, s.div(q, s.select(is_zero, self.number(1), p)))
        whole = s.add(p, s.mul(q, ratio))
        t = s.sub(v, s.mul(u, ratio))
        return s.div(s.add(u, s.mul(v, ratio)), whole), s.div(s.select(is_wide, t, s.neg(t)), whole)

    def select(self, condition: SSAValue, x: Element, y: Element) -> Element:
        return tuple(self.b.scalar.select(condition, p, q) for p, q in zip(x, y, strict=True))

    def size(self, x: Element) -> SSAValue:
        """The sum of the magnitudes of the parts, by which pivots and scales are chosen, as in LAPACK."""
        s = self.b.scalar
        return s.add(s.abs(x[0]), s.abs(x[1])) if self.is_complex else s.abs(x[0])

    def square(self, x: Element) -> SSAValue:
        """The squared magnitude."""
        s = self.b.scalar
        squares = [s.mul(p, p) for p in x]
        return s.add(*squares) if self.is_complex else squares[0]

    def magnitude(self, x: Element) -> SSAValue:
        """The magnitude, without overflow."""
        s = self.b.scalar
        if not self.is_complex:
            return s.abs(x[0])
        sizes = [s.abs(p) for p in x]
        high, low = s.max(*sizes), s.min(*sizes)
        is_zero = s.cmp("eq", high, self.number(0))
        ratio = s.div(low, s.select(is_zero, self.number(1), high))
        return s.mul(high, s.unary("sqrt", s.add(self.number(1), s.mul(ratio, ratio))))

    def sqrt(self, x: Element) -> Element:
        """The square root with a real part that is not negative; of real elements that are not negative."""
        s = self.b.scalar
        if not self.is_complex:
            return (s.unary("sqrt", x[0]),)
        zero, half = self.number(0), self.number(0.5)
        root = s.unary("sqrt", s.mul(half, s.add(self.magnitude(x), s.abs(x[0]))))
        none = s.cmp("eq", root, zero)
        other = s.div(s.mul(half, x[1]), s.select(none, self.number(1), root))
        is_left = s.cmp("lt", x[0], zero)
        signed = s.select(s.cmp("lt", x[1], zero), s.neg(root), root)
        return s.select(is_left, s.abs(other), root), s.select(is_left, signed, other)

    def is_zero(self, x: Element) -> SSAValue:
        return self.b.scalar.cmp("eq", self.size(x), self.number(0))

    # -- memory and loops

    def local(self, shape: Sequence[int], name: str) -> Element:
        """A local buffer for each part."""
        return tuple(self.b.local(shape, self.part, "scratch", name=n) for n in (name, f"{name}_imaginary")[: self.parts])

    @property
    def parts(self) -> int:
        return 2 if self.is_complex else 1

    def load(self, buffers: Sequence[SSAValue], point: Sequence[Any]) -> Element:
        return tuple(self.b.load(buffer, point) for buffer in buffers)

    def store(self, x: Element, buffers: Sequence[SSAValue], point: Sequence[Any]) -> None:
        for value, buffer in zip(x, buffers, strict=True):
            self.b.store(value, buffer, point)

    def sum(self, size: Any, term: Callable[[Any], Element], *, lower: Any = 0) -> Element:
        """The sum of `term(i)` over a range, its terms in any order: a loop for each part."""
        sums = []
        for k in range(self.parts):
            with self.b.loop(size, "reduce", lower=lower, monoid="add", inits=[self.number(0)]) as i:
                i.give(term(i.index)[k])
            sums.append(i.results[0])
        return tuple(sums)

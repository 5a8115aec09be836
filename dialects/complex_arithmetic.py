"""Functions of complex numbers in terms of their parts, for `graph-split-complex` (`OpFacts.on_parts`).

A complex value is a pair of values `(re, im)`. The functions are those of C99, Annex G: signs of zeros, branch cuts, infinities
and NaN included. Products and quotients follow the plain formulas, as in NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from xdsl.ir import SSAValue

from .facts import Parts
from .types import element_of, element_type, f64, numpy_dtype

if TYPE_CHECKING:
    from .graph.builder import GraphBuilder


def add(b: GraphBuilder, x: Parts, y: Parts) -> Parts:
    return b.add(x[0], y[0]), b.add(x[1], y[1])


def multiply(b: GraphBuilder, x: Parts, y: Parts) -> Parts:
    return b.sub(b.mul(x[0], y[0]), b.mul(x[1], y[1])), b.add(b.mul(x[0], y[1]), b.mul(x[1], y[0]))


def divide(b: GraphBuilder, x: Parts, y: Parts) -> Parts:
    """Smith's algorithm (1962): only the quotient itself can overflow."""
    wide = b.cmp(b.abs(y[0]), b.abs(y[1]), predicate="ge")
    p, q = b.select(wide, y[0], y[1]), b.select(wide, y[1], y[0])
    u, v = b.select(wide, x[0], x[1]), b.select(wide, x[1], x[0])
    zero = b.zeros_like(p)
    none = b.cmp(p, zero, predicate="eq")  # a division by zero divides by +0
    ratio = b.select(none, zero, b.div(q, p))
    whole = b.select(none, b.abs(p), b.add(p, b.mul(q, ratio)))
    t = b.sub(v, b.mul(u, ratio))
    return b.div(b.add(u, b.mul(v, ratio)), whole), b.div(b.select(wide, t, b.neg(t)), whole)


def exp(b: GraphBuilder, x: Parts) -> Parts:
    # where exp(re) overflows, its product by a cosine may not: 16 is subtracted exactly, and its factor restored at the end
    element = element_of(x[0])
    large = b.cmp(x[0], b.full_like(x[0], 700.0 if element == f64 else 80.0), predicate="gt")
    zero, one = b.zeros_like(x[0]), b.full_like(x[0], 1)
    size = b.exp(b.sub(x[0], b.select(large, b.full_like(x[0], 16), zero)))
    rest = b.select(large, b.full_like(x[0], float(np.exp(16.0))), one)
    real = b.cmp(x[1], zero, predicate="eq")
    angle = _angle(b, x[1], x[0])
    return b.mul(b.mul(size, b.cos(angle)), rest), b.select(real, x[1], b.mul(b.mul(size, b.sin(angle)), rest))


def _infinity(b: GraphBuilder, x: SSAValue) -> SSAValue:
    return b.full_like(x, np.inf)


def _angle(b: GraphBuilder, angle: SSAValue, size: SSAValue) -> SSAValue:
    """The angle, but 0 where it is not finite beside an infinite size: a cosine leaves the size, a sine of it is NaN."""
    inf = _infinity(b, angle)
    known = b.or_(b.cmp(b.abs(angle), inf, predicate="lt"), b.cmp(b.abs(size), inf, predicate="ne"))
    return b.select(known, angle, b.zeros_like(angle))


def _beside_zero(b: GraphBuilder, factor: SSAValue, angle: SSAValue, size: SSAValue) -> SSAValue:
    """A sine or cosine of the angle, but 1 where the angle is not finite and the size is 0: their product is 0."""
    finite = b.cmp(b.abs(angle), _infinity(b, angle), predicate="lt")
    return b.select(b.or_(finite, b.cmp(size, b.zeros_like(size), predicate="ne")), factor, b.full_like(factor, 1))


def log(b: GraphBuilder, x: Parts) -> Parts:
    return log_length(b, x), b.atan2(x[1], x[0])


def log_length(b: GraphBuilder, x: Parts) -> SSAValue:
    """`log |x|`: of large and small numbers by the larger part, near the unit circle by how far the square is from 1."""
    re, im = b.abs(x[0]), b.abs(x[1])
    high, low = b.max(re, im), b.min(re, im)
    one, half = b.full_like(high, 1), b.full_like(high, 0.5)
    near = b.and_(b.cmp(high, half, predicate="gt"), b.cmp(high, b.full_like(high, 2), predicate="lt"))
    ratio = b.select(b.cmp(high, low, predicate="eq"), one, b.div(low, high))
    beside = b.mul(b.sub(high, one), b.add(high, one))
    excess = b.select(near, b.add(beside, b.mul(low, low)), b.mul(ratio, ratio))
    found = b.add(b.select(near, b.zeros_like(high), b.log(high)), b.mul(half, b.log1p(excess)))
    inf = _infinity(b, high)
    infinite = b.or_(b.cmp(re, inf, predicate="eq"), b.cmp(im, inf, predicate="eq"))  # also beside NaN
    return b.select(infinite, inf, found)


def is_negative(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """Whether the sign bit of a float is set, also of -0."""
    bits = b.bitcast(x, element_type(np.dtype(f"i{numpy_dtype(element_of(x)).itemsize}")))
    return b.cmp(bits, b.zeros_like(bits), predicate="lt")


def with_sign(b: GraphBuilder, size: SSAValue, sign: SSAValue) -> SSAValue:
    """A nonnegative number, with the sign of another, also of -0."""
    return b.select(is_negative(b, sign), b.neg(size), size)


def length(b: GraphBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """`sqrt(x * x + y * y)` of real tensors, without overflow: the larger one is taken out of the squares."""
    zero, inf = b.zeros_like(x), b.full_like(x, np.inf)
    x, y = b.abs(x), b.abs(y)
    high, low = b.max(x, y), b.min(x, y)
    plain = b.or_(b.cmp(high, zero, predicate="eq"), b.cmp(high, inf, predicate="eq"))
    ratio = b.div(b.select(plain, zero, low), b.select(plain, b.full_like(x, 1), high))
    found = b.mul(high, b.sqrt(b.add(b.full_like(x, 1), b.mul(ratio, ratio))))
    infinite = b.or_(b.cmp(x, inf, predicate="eq"), b.cmp(y, inf, predicate="eq"))  # also beside NaN
    return b.select(infinite, inf, found)


def sqrt(b: GraphBuilder, x: Parts) -> Parts:
    half, zero = b.full_like(x[0], 0.5), b.zeros_like(x[0])
    # of halves: their length overflows for no number
    size = length(b, b.mul(half, x[0]), b.mul(half, x[1]))
    root = b.sqrt(b.add(b.mul(half, b.abs(x[0])), size))
    none = b.cmp(root, zero, predicate="eq")
    other = b.div(b.mul(half, b.abs(x[1])), b.select(none, b.full_like(root, 1), root))
    inf = _infinity(b, root)
    upward = b.cmp(b.abs(x[1]), inf, predicate="eq")
    root, other = b.select(upward, inf, root), b.select(upward, inf, other)
    right = b.cmp(x[0], zero, predicate="ge")
    return b.select(right, root, other), with_sign(b, b.select(right, other, root), x[1])


class _Hyperbolic:
    """The hyperbolic sine and cosine of a real tensor, and their products by a sine or a cosine.

    Products multiply by `exp(|x|)` in two halves: it overflows where they do not.
    """

    def __init__(self, b: GraphBuilder, x: SSAValue):
        one, half = b.full_like(x, 1), b.full_like(x, 0.5)
        size = b.abs(x)
        self._b, self._x = b, x
        self._root = b.exp(b.mul(half, size))
        self._half = b.mul(half, self._root)
        self._shrunk = b.mul(half, b.exp(b.neg(size)))
        self._near = b.cmp(size, one, predicate="lt")
        t = b.expm1(b.select(self._near, size, one))
        self._small = b.mul(half, b.add(t, b.div(t, b.add(t, one))))

    def sinh(self, factor: SSAValue | None = None) -> SSAValue:
        b = self._b
        small = self._small if factor is None else b.mul(self._small, factor)
        found = b.select(self._near, small, b.sub(*self._exponentials(factor)))
        return with_sign(b, found, self._x) if factor is None else b.select(self.negative, b.neg(found), found)

    def cosh(self, factor: SSAValue | None = None) -> SSAValue:
        return self._b.add(*self._exponentials(factor))

    @property
    def negative(self) -> SSAValue:
        return is_negative(self._b, self._x)

    def _exponentials(self, factor: SSAValue | None) -> Parts:
        b = self._b
        if factor is None:
            return b.mul(self._half, self._root), self._shrunk
        return b.mul(b.mul(self._half, factor), self._root), b.mul(self._shrunk, factor)


def sin(b: GraphBuilder, x: Parts) -> Parts:
    hyperbolic, angle = _Hyperbolic(b, x[1]), _angle(b, x[0], x[1])
    real = b.cmp(x[0], b.zeros_like(angle), predicate="eq")
    re = b.select(real, x[0], hyperbolic.cosh(b.sin(angle)))
    return re, hyperbolic.sinh(_beside_zero(b, b.cos(angle), x[0], x[1]))


def cos(b: GraphBuilder, x: Parts) -> Parts:
    hyperbolic, angle = _Hyperbolic(b, x[1]), _angle(b, x[0], x[1])
    real = b.cmp(x[0], b.zeros_like(angle), predicate="eq")
    im = hyperbolic.sinh(_beside_zero(b, b.sin(angle), x[0], x[1]))
    im = b.select(real, b.select(hyperbolic.negative, b.neg(x[0]), x[0]), im)
    return hyperbolic.cosh(b.cos(angle)), b.neg(im)


def tanh(b: GraphBuilder, x: Parts) -> Parts:
    """Kahan, Branch cuts for complex elementary functions, 1987."""
    one, four = b.full_like(x[0], 1), b.full_like(x[0], 4)
    size = b.abs(x[0])
    far = b.cmp(size, b.full_like(size, 20.0 if element_of(size) == f64 else 10.0), predicate="gt")
    hyperbolic = _Hyperbolic(b, b.select(far, b.zeros_like(size), x[0]))
    sinh, cosh = hyperbolic.sinh(), hyperbolic.cosh()
    t = b.tan(x[1])
    beta = b.add(one, b.mul(t, t))
    whole = b.add(one, b.mul(beta, b.mul(sinh, sinh)))
    re, im = b.div(b.mul(b.mul(beta, cosh), sinh), whole), b.div(t, whole)
    angle = _angle(b, x[1], x[0])
    small = b.mul(b.mul(four, b.mul(b.sin(angle), b.cos(angle))), b.exp(b.mul(b.full_like(size, -2), size)))
    # one part is 0 whatever the other one is
    re, im = (b.select(b.cmp(p, b.zeros_like(p), predicate="eq"), p, q) for p, q in zip(x, (re, im), strict=True))
    known = b.cmp(b.abs(angle), _infinity(b, angle), predicate="lt")
    limit = b.select(known, with_sign(b, one, x[0]), b.full_like(one, np.nan))
    return b.select(far, limit, re), b.select(far, small, im)


def power(b: GraphBuilder, x: Parts, y: Parts) -> Parts:
    """`exp(y log x)`; of 0 it is 1 if the exponent is 0, else 0."""
    zero, one = b.zeros_like(x[0]), b.full_like(x[0], 1)
    base, exponent = (_is_zero(b, parts) for parts in (x, y))
    found = exp(b, multiply(b, y, log(b, (b.select(base, one, x[0]), x[1]))))
    at_zero = b.select(exponent, one, zero)
    return b.select(base, at_zero, found[0]), b.select(base, zero, found[1])


def _is_zero(b: GraphBuilder, x: Parts) -> SSAValue:
    zero = b.zeros_like(x[0])
    return b.and_(b.cmp(x[0], zero, predicate="eq"), b.cmp(x[1], zero, predicate="eq"))

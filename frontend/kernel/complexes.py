"""Complex numbers in kernels: pairs of floats, by the formulas of C's and NumPy's products and quotients."""

from __future__ import annotations

from typing import Any

from .arithmetic import Arithmetic
from .values import Complex, Conjugate, Mismatch, Number, Value

_MOST_PRODUCTS = 16


def binary(b: Arithmetic, op: str, x: Any, y: Any) -> Complex:
    """An operator of two numbers, of which one is complex."""
    if op == "**":
        return _power(b, Complex.of(x), y)
    (p, q), (r, s) = Complex.of(x).items, Complex.of(y).items
    if op in "+-":
        return Complex((b.binary(op, p, r), b.binary(op, q, s)))
    if op == "*":
        if not isinstance(x, Complex):
            return Complex((b.binary("*", p, r), b.binary("*", p, s)))
        if not isinstance(y, Complex):
            return Complex((b.binary("*", p, r), b.binary("*", q, r)))
        if isinstance(x, Conjugate) != isinstance(y, Conjugate):
            if isinstance(y, Conjugate):
                (p, q), (r, s) = y.of_number.items, (p, q)
            else:
                assert isinstance(x, Conjugate)
                q = x.of_number.items[1]
            real = b.binary("+", b.binary("*", p, r), b.binary("*", q, s))
            return Complex((real, b.binary("-", b.binary("*", p, s), b.binary("*", q, r))))
        real = b.binary("-", b.binary("*", p, r), b.binary("*", q, s))
        return Complex((real, b.binary("+", b.binary("*", p, s), b.binary("*", q, r))))
    if op == "/":
        if not isinstance(y, Complex):
            return Complex((b.binary("/", p, r), b.binary("/", q, r)))
        return _quotient(b, (p, q), (r, s))
    raise Mismatch(f"complex numbers have no {op}, only + - * / and **")


def _quotient(b: Arithmetic, x: tuple[Value, Value], y: tuple[Value, Value]) -> Complex:
    """Smith's, as in NumPy: the smaller part of the divisor over the larger one, so that squares do not overflow."""
    (p, q), (r, s) = x, y
    is_first = b.compare("ge", b.magnitude(r), b.magnitude(s))
    large, small = b.chosen(is_first, r, s), b.chosen(is_first, s, r)
    one, other = b.chosen(is_first, p, q), b.chosen(is_first, q, p)
    is_zero = b.compare("eq", large, Number(0.0))
    ratio = b.binary("/", small, b.chosen(is_zero, Number(1.0), large))
    scale = b.binary("/", Number(1.0), b.binary("+", large, b.binary("*", small, ratio)))
    real = b.binary("*", b.binary("+", one, b.binary("*", other, ratio)), scale)
    imaginary = b.binary("*", b.binary("-", other, b.binary("*", one, ratio)), scale)
    return Complex((real, b.chosen(is_first, imaginary, b.negate(imaginary))))


def _power(b: Arithmetic, x: Complex, n: Any) -> Complex:
    """By repeated products."""
    assert takes(n)
    result = Complex((Number(1.0), Number(0.0)))
    for k in range(n.value):
        result = x if k == 0 else binary(b, "*", result, x)
    return result


def takes(n: Any) -> bool:
    """Whether a power is computed by repeated products."""
    return isinstance(n, Number) and isinstance(n.value, int) and 0 <= n.value <= _MOST_PRODUCTS


def negate(b: Arithmetic, x: Complex) -> Complex:
    return Complex(tuple(b.negate(part) for part in x.items))


def conjugate(b: Arithmetic, x: Complex) -> Complex:
    return Conjugate((x.items[0], b.negate(x.items[1])), x)


def equal(b: Arithmetic, x: Any, y: Any) -> Value:
    """Whether both parts are."""
    (p, q), (r, s) = Complex.of(x).items, Complex.of(y).items
    return b.both(b.compare("eq", p, r), b.compare("eq", q, s))

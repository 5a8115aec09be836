"""Python's operators on the values of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr

from ...dialects.loop.subscripts import canonical, from_linear, linear_form
from ...dialects.operations import create
from ...dialects.types import element_type, f64, i1, i64, index, integer_range, is_bool, is_float, numpy_dtype
from ...dialects.vocabulary import number_of
from ...lowering.analysis.inbounds import materialize
from .rounding import RoundingBuilder, is_rounded
from .values import (
    Choice,
    Extreme,
    Index,
    Kind,
    Mismatch,
    Number,
    Scalar,
    Unset,
    Value,
    default,
    held,
    kind_of,
    known,
    meet,
    spell,
    unify,
)

_AFFINE = {
    "+": AffineBinaryOpKind.Add,
    "*": AffineBinaryOpKind.Mul,
    "//": AffineBinaryOpKind.FloorDiv,
    "%": AffineBinaryOpKind.Mod,
}
_BITS = {"&": "and", "|": "or", "^": "xor", "<<": "shl", ">>": "shr"}
_RING = {"+": "add", "-": "sub", "*": "mul"}
OPERATORS_OF_NUMPY = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "bitwise_and": "&", "bitwise_or": "|",
    "bitwise_xor": "^", "left_shift": "<<", "right_shift": ">>", "equal": "eq", "not_equal": "ne", "less": "lt",
    "less_equal": "le", "greater": "gt", "greater_equal": "ge", "logical_and": "and", "logical_or": "or", "logical_xor": "xor",
    "positive": "+", "conjugate": "+", "negative": "-", "logical_not": "not", "invert": "~", "reciprocal": "1/",
}  # fmt: skip
"""Functions of NumPy that are operators."""
_MOST_SQUARINGS = 16
_LIMIT = 1 << 63


class Arithmetic:
    """Writes arithmetic into a block, at a location."""

    def __init__(self, block: Block, location: LocationAttr | None):
        self.builder = RoundingBuilder(block, location)

    # -- values as SSA values

    def scalar(self, value: Value, type: Attribute | None = None) -> SSAValue:
        """The value as an SSA scalar of a type (or of its own)."""
        type = type or default(kind_of(value))
        if isinstance(value, Number):
            return self._constant(value.value, type)
        if isinstance(value, Unset):
            return self.builder.const(0, type)
        if isinstance(value, Choice):
            yes, no = self.scalar(value.yes, type), self.scalar(value.no, type)
            return self.builder.select(value.condition, yes, no)
        if isinstance(value, Scalar):
            return self.builder.convert(value.ssa, type)
        return self.builder.convert(self.builder.convert(self.index(value), i64), type)

    def _constant(self, value: int | float | bool, type: Attribute) -> SSAValue:
        if is_float(type):
            return self.builder.const(float(value) if type == f64 or is_rounded(type) else rounded(value), type)
        if isinstance(value, float):
            raise Mismatch(f"{value} is no {spell(type)}: write int(...)")
        if is_bool(type):
            return self.builder.const(bool(value), type)
        low, high = integer_range(type)
        if not low <= value <= high:
            raise Mismatch(f"{value} does not fit {spell(type)}")
        return self.builder.const(int(value), type)

    def typed(self, value: Value) -> Scalar:
        """The value as a scalar, weak if it is."""
        return value if isinstance(value, Scalar) else held(self.scalar(value), kind_of(value))

    def index(self, value: Value) -> SSAValue:
        """The value as an SSA index."""
        if isinstance(value, Index):
            return materialize(self.builder, value.expr, value.dims)
        if isinstance(value, Unset):
            return self.builder.const(0, index)
        if isinstance(value, Extreme):
            result = self.index(value.items[0])
            for item in value.items[1:]:
                result = self.builder.binary(value.which, result, self.index(item))
            return result
        kind = kind_of(value)
        if kind in ("float", "bool") or is_float(default(kind)) or is_bool(default(kind)):
            raise Mismatch(f"an index must be an integer, got {spell(kind)}: write int(...)")
        if isinstance(value, Number):
            return self.builder.const(int(value.value), index)
        return self.builder.convert(self.scalar(value), index)

    def affine(self, value: Value) -> Index:
        """The value as an index expression; a scalar becomes one opaque index."""
        if isinstance(value, Index):
            return value
        if isinstance(value, Number) and type(value.value) is int:
            return _in_range(Index.number(value.value))
        return Index.of(self.index(value))

    def truth(self, value: Value) -> SSAValue:
        """The value as a condition."""
        if kind_of(value) in ("bool", i1):
            return self.scalar(value, i1)
        return self.truth(self.compare("ne", value, Number(0)))

    # -- operators

    def binary(self, op: str, x: Value, y: Value) -> Value:
        """A Python operator: + - * / // % ** & | ^ << >>."""
        if isinstance(x, Number) and isinstance(y, Number):
            return _fold(op, x, y)
        whole = self._affine(op, x, y) or self._extreme(op, x, y)
        if whole is not None:
            return whole
        if op == "**":
            return self.power(x, y)
        kind = meet(x, y)
        if op == "/" and not is_float(default(kind)):
            kind = f64 if isinstance(kind, Attribute) else "float"
        if is_bool(default(kind)) and op not in "&|^":
            kind = i64
        type = default(kind)
        if op in _BITS and is_float(type):
            raise Mismatch(f"{op} needs integers, got {spell(kind)}: convert with lm.i64(...)")
        return held(self._operator(op, self.scalar(x, type), self.scalar(y, type)), kind)

    def _operator(self, op: str, x: SSAValue, y: SSAValue) -> SSAValue:
        b = self.builder
        if is_rounded(x.type):
            return b.wide(lambda u, v: self._operator(op, u, v), x, y)
        if op in _BITS or op in _RING:
            return b.binary(_BITS.get(op) or _RING[op], x, y)
        if op == "/":
            return b.div(x, y)
        if is_float(x.type):
            return self._floor_divide(op, x, y)
        quotient = b.binary("floordiv", x, y)
        if op == "//":
            return quotient
        remainder = b.sub(x, b.mul(quotient, y))
        if number_of(y):
            return remainder
        zero = b.const(0, y.type)
        return b.select(b.cmp("eq", y, zero), zero, remainder)  # as in NumPy

    def _floor_divide(self, op: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """`x // y` or `x % y` of floats as Python computes them: exactly, the remainder with the sign of the divisor."""
        b, type = self.builder, x.type
        zero = b.const(0.0, type)
        remainder = b.binary("rem", x, y)  # has the sign of the dividend
        other = b.binary("xor", b.cmp("lt", remainder, zero), b.cmp("lt", y, zero))
        wrong = b.binary("and", b.cmp("ne", remainder, zero), other)
        if op == "%":
            signed = b.select(b.cmp("lt", y, zero), b.const(-0.0, y.type), zero)  # a zero has the sign of the divisor
            return b.select(wrong, b.add(remainder, y), b.select(b.cmp("eq", remainder, zero), signed, remainder))
        # x - remainder is a multiple of y but for rounding, so this quotient is whole or next to a whole number
        quotient = b.unary("rint", b.div(b.sub(x, remainder), y))
        quotient = b.select(wrong, b.sub(quotient, b.const(1.0, type)), quotient)
        return b.select(b.cmp("eq", y, zero), b.div(x, y), quotient)  # infinite, as in NumPy

    def _affine(self, op: str, x: Value, y: Value) -> Index | None:
        """An operator that keeps index expressions affine, else None."""
        if not (_whole(x) and _whole(y)) or op not in ("+", "-", *_AFFINE):
            return None
        (left, right), dims = unify(self.affine(x), self.affine(y))
        if op == "-":
            op, right = "+", AffineBinaryOpExpr(AffineBinaryOpKind.Mul, right, AffineConstantExpr(-1))
        elif op == "*" and self.affine(x).constant is None and self.affine(y).constant is None:
            return None
        elif op in ("//", "%"):
            over, under = self.affine(x).constant, self.affine(y).constant
            if under is None or under <= 0:
                return None
            if over is not None:
                return Index.number(over // under if op == "//" else over % under)
            left = _divided(op, left, under, len(dims))
            return _in_range(Index(left, dims))
        result = _in_range(Index(canonical(AffineBinaryOpExpr(_AFFINE[op], left, right), len(dims)), dims))
        return result if result.constant is None else Index.number(result.constant)

    def _extreme(self, op: str, x: Value, y: Value) -> Extreme | None:
        """`min(a, b) + c` as `min(a + c, b + c)`, and so on."""
        flipped = isinstance(y, Extreme) and _whole(x)
        if op not in ("+", "-") or not (flipped or (isinstance(x, Extreme) and _whole(y))):
            return None

        def each(one: Index, other: Value, flip: bool) -> Index:
            found = self._affine(op, other, one) if flip else self._affine(op, one, other)
            assert found is not None
            return found

        if isinstance(x, Extreme):
            return Extreme(x.which, tuple(each(item, y, False) for item in x.items))
        assert isinstance(y, Extreme)
        which = y.which if op == "+" else {"min": "max", "max": "min"}[y.which]
        return Extreme(which, tuple(each(item, x, True) for item in y.items))

    def fma(self, x: Value, y: Value, z: Value, kind: Kind) -> Scalar:
        """`x * y + z` with one rounding."""
        operands = [self.scalar(v, default(kind)) for v in (x, y, z)]
        op = create(
            math.FmaOp,
            operands=operands,
            result_types=[default(kind)],
            properties={"fastmath": arith.FastMathFlagsAttr("none")},
        )
        return held(self.builder.insert(op), kind)

    def power(self, x: Value, y: Value) -> Value:
        """`x ** y`: repeated products for small whole numbers, else the function."""
        kind = meet(x) if isinstance(y, Number) and isinstance(y.value, int) else meet(x, y)
        if isinstance(y, Number) and isinstance(y.value, int) and 0 <= y.value <= _MOST_SQUARINGS:
            kind = i64 if is_bool(default(kind)) else kind
            if y.value == 0:
                return held(self.builder.const(1, default(kind)), kind)
            exponent = y.value
            return held(self.builder.wide(lambda base: self._squarings(base, exponent), self.scalar(x, default(kind))), kind)
        if not is_float(default(kind)):
            raise Mismatch(f"integers take a number from 0 to {_MOST_SQUARINGS} as exponent: convert with lm.f64(...)")
        return held(self.builder.binary("pow", self.scalar(x, default(kind)), self.scalar(y, default(kind))), kind)

    def _squarings(self, base: SSAValue, exponent: int) -> SSAValue:
        """A power by repeated products, for an exponent of 1 or more."""
        result = base
        for bit in bin(exponent)[3:]:
            result = self.builder.mul(result, result)
            result = self.builder.mul(result, base) if bit == "1" else result
        return result

    def compare(self, predicate: str, x: Value, y: Value) -> Value:
        """A comparison by `eq ne lt le gt ge`."""
        if isinstance(x, Number) and isinstance(y, Number):
            a, b = x.value, y.value
            return Number({"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[predicate])
        if _whole(x) and _whole(y):
            return Scalar(self.builder.cmp(predicate, self.index(x), self.index(y)))
        type = default(meet(x, y))
        return Scalar(self.builder.cmp(predicate, self.scalar(x, type), self.scalar(y, type)))

    def magnitude(self, x: Value) -> Value:
        """The absolute value."""
        return known(abs, x) if isinstance(x, Number | Choice) else held(self.builder.abs(self.scalar(x)), kind_of(x))

    def chosen(self, condition: Value, x: Value, y: Value) -> Value:
        """One of two values, both of which are computed."""
        if isinstance(condition, Number):
            return x if condition.value else y
        kind = meet(x, y)
        type = default(kind)
        return held(self.builder.select(self.truth(condition), self.scalar(x, type), self.scalar(y, type)), kind)

    def both(self, x: Value, y: Value) -> Value:
        """Whether two conditions hold."""
        if isinstance(x, Number) and isinstance(y, Number):
            return Number(bool(x.value and y.value))
        return Scalar(self.builder.binary("and", self.truth(x), self.truth(y)))

    def either(self, x: Value, y: Value) -> Value:
        """Whether one of two conditions holds."""
        return Scalar(self.builder.binary("or", self.truth(x), self.truth(y)))

    def negate(self, x: Value) -> Value:
        if isinstance(x, Number | Choice):
            return known(lambda value: -value, x)
        if isinstance(x, Index | Extreme):
            return self.binary("-", Number(0), x)
        kind = i64 if is_bool(default(kind_of(x))) else kind_of(x)
        return held(self.builder.neg(self.scalar(x, default(kind))), kind)

    def extreme(self, which: str, x: Value, y: Value) -> Value:
        """`min` or `max`; NaN if one is."""
        if isinstance(x, Number) and isinstance(y, Number):
            return Number((min if which == "min" else max)(x.value, y.value))
        items = [v.items if isinstance(v, Extreme) and v.which == which else (v,) for v in (x, y)]
        if all(_whole(v) for v in (*items[0], *items[1])):
            return Extreme(which, tuple(self.affine(v) for part in items for v in part))
        kind = meet(x, y)
        return held(self.builder.binary(which, self.scalar(x, default(kind)), self.scalar(y, default(kind))), kind)


def _divided(op: str, expr: AffineExpr, by: int, n_dims: int) -> AffineExpr:
    """`expr // by` or `expr % by`; multiples of the divisor leave the quotient, so that `(4 * i + j) % 4` is `j % 4`."""
    form = linear_form(expr, n_dims)
    if form is None:
        return AffineBinaryOpExpr(_AFFINE[op], expr, AffineConstantExpr(by))
    multiple = from_linear([0 if c % by else c // by for c in form[0]], 0)
    rest = [c if c % by else 0 for c in form[0]]
    inner: AffineExpr = AffineConstantExpr(form[1] // by if op == "//" else form[1] % by)
    if any(rest):
        inner = AffineBinaryOpExpr(_AFFINE[op], from_linear(rest, form[1]), AffineConstantExpr(by))
    if op == "%" or not any(c and not c % by for c in form[0]):
        return inner
    return canonical(AffineBinaryOpExpr(AffineBinaryOpKind.Add, multiple, inner), n_dims)


def _in_range(index: Index) -> Index:
    """The index expression, if the numbers in it are of 64 bits."""
    form = linear_form(index.expr, len(index.dims))
    if form is not None and any(not -_LIMIT <= number < _LIMIT for number in (*form[0], form[1])):
        raise Mismatch("an index has 64 bits: a number is too large")
    return index


def _whole(value: Value) -> bool:
    """Whether a value is an integer that index expressions can have as an operand."""
    return isinstance(value, Index) or (isinstance(value, Number) and type(value.value) is int)


def rounded(value: float) -> float:
    """The nearest f32, as NumPy converts: infinite if that is too large."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


_FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "**": lambda x, y: x**y if abs(y) < 1024 else None,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
    "<<": lambda x, y: x << y if y < 64 else None,
    ">>": lambda x, y: x >> y,
}


def _fold(op: str, x: Number, y: Number) -> Number:
    """An operator on numbers, by Python's rules, or NumPy's where one has a type."""
    operands = [v.value if v.type is None else numpy_dtype(v.type).type(v.value) for v in (x, y)]
    try:
        with np.errstate(all="ignore"):
            result = _FOLDS[op](*operands)
    except (ZeroDivisionError, OverflowError, ValueError, TypeError) as error:
        raise Mismatch(str(error)) from None
    if isinstance(result, np.generic):
        return Number(result.item(), None if result.dtype == bool else element_type(result.dtype))
    if not isinstance(result, int | float):
        raise Mismatch(f"{operands[0]} {op} {operands[1]} is no number of a kernel")
    return Number(result)

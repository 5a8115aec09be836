"""Values of a kernel being read: numbers not typed yet, index expressions, scalars, arrays; and arithmetic on them.

Index expressions (loop variables, sizes; sums, multiples, `//` and `%` of them by numbers) stay affine, so that subscripts do.
Everything else is a scalar of an element type. A Python number takes the type of what it meets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, math
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.loop.subscripts import canonical, linear_form
from ...dialects.scalar import ScalarBuilder
from ...dialects.types import f32, f64, i1, i32, i64, index, is_bool, is_float
from ...lowering.analysis.inbounds import materialize

NAMES = {f32: "f32", f64: "f64", i32: "i32", i64: "i64", i1: "bool"}
_ORDER = (i1, i32, i64, f32, f64)


@dataclass(frozen=True)
class Number:
    """A Python number or bool without a type yet."""

    value: int | float | bool


@dataclass(frozen=True, eq=False)
class Index:
    """An affine expression over index values."""

    expr: AffineExpr
    dims: tuple[SSAValue, ...]

    @staticmethod
    def of(value: SSAValue) -> Index:
        return Index(AffineDimExpr(0), (value,))

    @property
    def constant(self) -> int | None:
        return self.expr.value if isinstance(self.expr, AffineConstantExpr) else None


@dataclass(frozen=True, eq=False)
class Scalar:
    """A scalar of an element type."""

    ssa: SSAValue

    @property
    def type(self) -> Attribute:
        return self.ssa.type


@dataclass(frozen=True, eq=False)
class Array:
    """A buffer and its sizes."""

    buffer: SSAValue
    sizes: tuple[Index, ...]

    @property
    def element(self) -> Attribute:
        return self.buffer.type.element_type  # pyright: ignore[reportAttributeAccessIssue]


Value = Number | Index | Scalar
Kind = Attribute | str
"""An element type, or `int`, `float`, `bool` for a number without one, or `index`."""


class Mismatch(Exception):
    """Operands that do not go together; the message says why and what to write."""


def kind_of(value: Value) -> Kind:
    """What a variable that holds the value is."""
    if isinstance(value, Number):
        return type(value.value).__name__
    return "index" if isinstance(value, Index) else value.type


def join(a: Kind, b: Kind) -> Kind:
    """What a variable is that holds one of two kinds; Mismatch if there is no such thing."""
    if a == b:
        return a
    for x, y in ((a, b), (b, a)):
        if x == "int" and (y in ("index", "float") or (isinstance(y, Attribute) and not is_bool(y))):
            return i64 if y == "index" else y
        if x == "float" and isinstance(y, Attribute) and is_float(y):
            return y
        if x == "bool" and y == i1:
            return i1
        if x == "index" and y == i64:
            return i64
    raise Mismatch(f"is {_spell(a)} on one way and {_spell(b)} on the other")


def _spell(kind: Kind) -> str:
    return NAMES.get(kind, str(kind)) if isinstance(kind, Attribute) else kind


def unify(x: Index, y: Index) -> tuple[AffineExpr, AffineExpr, tuple[SSAValue, ...]]:
    """Both expressions over common dims."""
    dims = list(x.dims)
    places: list[AffineExpr] = []
    for dim in y.dims:
        if dim not in dims:
            dims.append(dim)
        places.append(AffineDimExpr(dims.index(dim)))
    return x.expr, y.expr.replace_dims_and_symbols(places, []), tuple(dims)


class Arithmetic:
    """Writes arithmetic into a block; `default_float` is what a float number is that met no other type."""

    def __init__(self, block: Block, location: Attribute | None, default_float: Attribute):
        self.builder = ScalarBuilder(block, location)
        self.default_float = default_float

    # -- conversion

    def default(self, kind: Kind) -> Attribute:
        """The element type of a kind."""
        if isinstance(kind, Attribute):
            return kind
        return {"int": i64, "index": i64, "bool": i1, "float": self.default_float}[kind]

    def scalar(self, value: Value, type: Attribute | None = None) -> SSAValue:
        """The value as an SSA scalar of a type (or of its own)."""
        if isinstance(value, Number):
            type = type or self.default(kind_of(value))
            if isinstance(value.value, float) and not is_float(type):
                raise Mismatch(f"{value.value} is no {_spell(type)}; write int({value.value})")
            number = float(value.value) if is_float(type) else int(value.value)
            if not is_float(type) and not is_bool(type) and not -(1 << _bits(type) - 1) <= number < 1 << _bits(type) - 1:
                raise Mismatch(f"{number} does not fit {_spell(type)}")
            return self.builder.const(bool(number) if is_bool(type) else number, type)
        if isinstance(value, Index):
            whole = self.builder.convert(self.index(value), i64)
            return whole if type in (None, i64) else self.builder.convert(whole, type)
        return value.ssa if type is None or value.type == type else self.builder.convert(value.ssa, type)

    def index(self, value: Value) -> SSAValue:
        """The value as an SSA index."""
        if isinstance(value, Number):
            if not isinstance(value.value, int):
                raise Mismatch(f"an index must be an integer, got {value.value}")
            return self.builder.const(int(value.value), index)
        if isinstance(value, Index):
            return materialize(self.builder, value.expr, value.dims)
        if is_float(value.type) or is_bool(value.type):
            raise Mismatch(f"an index must be an integer, got {_spell(value.type)}; write int(...)")
        return self.builder.convert(value.ssa, index)

    def affine(self, value: Value) -> Index:
        """The value as an index expression; a scalar becomes one opaque index."""
        if isinstance(value, Index):
            return value
        if isinstance(value, Number):
            if isinstance(value.value, float):
                raise Mismatch(f"an index must be an integer, got {value.value}")
            return Index(AffineConstantExpr(int(value.value)), ())
        return Index.of(self.index(value))

    def truth(self, value: Value) -> SSAValue:
        """The value as a condition."""
        if isinstance(value, Scalar) and is_bool(value.type):
            return value.ssa
        if isinstance(value, Number) and isinstance(value.value, bool):
            return self.builder.const(value.value, i1)
        raise Mismatch(f"a condition must be a comparison or a bool, got {_spell(kind_of(value))}; write x != 0")

    def common(self, *values: Value) -> Attribute:
        """The element type in which values of several kinds meet."""
        kinds = [kind_of(v) for v in values]
        typed = [k for k in kinds if isinstance(k, Attribute)] + [i64 for k in kinds if k == "index"]
        if not typed:
            return self.default("float" if "float" in kinds else "bool" if set(kinds) == {"bool"} else "int")
        best = max(typed, key=_ORDER.index)
        if best == f32 and i64 in typed:
            best = f64 if "index" not in kinds or any(k == i64 for k in kinds) else f32
        if "float" in kinds and not is_float(best):
            return f64 if best != i1 else self.default_float
        return i64 if is_bool(best) and "int" in kinds else best

    # -- operators

    def binary(self, op: str, x: Value, y: Value) -> Value:
        """A Python operator: + - * / // % ** & | ^ << >>."""
        if isinstance(x, Number) and isinstance(y, Number):
            return _fold(op, x.value, y.value)
        affine = self._affine(op, x, y)
        if affine is not None:
            return affine
        b = self.builder
        if op == "/":
            type = self.common(x, y)
            type = type if is_float(type) else f64
            return Scalar(b.div(self.scalar(x, type), self.scalar(y, type)))
        if op == "**":
            return self.power(x, y)
        type = self.common(x, y)
        if is_bool(type) and op not in "&|^":
            type = i64
        if op in ("&", "|", "^", "<<", ">>"):
            if is_float(type):
                raise Mismatch(f"{op} needs integers, got {_spell(type)}")
            name = {"&": "and", "|": "or", "^": "xor", "<<": "shl", ">>": "shr"}[op]
            return Scalar(b.binary(name, self.scalar(x, type), self.scalar(y, type)))
        left, right = self.scalar(x, type), self.scalar(y, type)
        if op in ("+", "-", "*"):
            return Scalar(b.binary({"+": "add", "-": "sub", "*": "mul"}[op], left, right))
        if is_float(type):
            return Scalar(self._floor_divide(op, left, right))
        quotient = b.insert(arith.FloorDivSIOp.create(operands=[left, right], result_types=[type]))
        return Scalar(quotient if op == "//" else b.sub(left, b.mul(quotient, right)))

    def _floor_divide(self, op: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """`x // y` or `x % y` of floats as Python computes them: exactly, the remainder with the sign of the divisor."""
        b, type = self.builder, x.type
        zero = b.const(0.0, type)
        remainder = b.binary("rem", x, y)  # has the sign of the dividend
        other = b.binary("xor", b.cmp("lt", remainder, zero), b.cmp("lt", y, zero))
        wrong = b.binary("and", b.cmp("ne", remainder, zero), other)
        if op == "%":
            return b.select(wrong, b.add(remainder, y), remainder)
        # x - remainder is a multiple of y but for rounding, so this quotient is whole or next to a whole number
        quotient = b.unary("rint", b.div(b.sub(x, remainder), y))
        return b.select(wrong, b.sub(quotient, b.const(1.0, type)), quotient)

    def _affine(self, op: str, x: Value, y: Value) -> Index | None:
        """An operator that keeps index expressions affine, else None."""
        if not (isinstance(x, Index) or isinstance(y, Index)) or op not in ("+", "-", "*", "//", "%"):
            return None
        pair = [v if isinstance(v, Index) else self.affine(v) for v in (x, y) if _whole(v)]
        if len(pair) != 2:
            return None
        left, right, dims = unify(*pair)
        n = len(dims)
        kinds = {"+": AffineBinaryOpKind.Add, "*": AffineBinaryOpKind.Mul, "//": AffineBinaryOpKind.FloorDiv,
                 "%": AffineBinaryOpKind.Mod}  # fmt: skip
        if op == "-":
            op, right = "+", AffineBinaryOpExpr(AffineBinaryOpKind.Mul, right, AffineConstantExpr(-1))
        elif op == "*" and not (_constant(left) or _constant(right)):
            return None
        elif op in ("//", "%"):
            if not isinstance(right, AffineConstantExpr) or right.value <= 0:
                return None
            if isinstance(left, AffineConstantExpr):
                return Index(AffineConstantExpr(left.value // right.value if op == "//" else left.value % right.value), ())
        expr = canonical(AffineBinaryOpExpr(kinds[op], left, right), n)
        form = linear_form(expr, n)
        if form is not None and not any(form[0]):
            return Index(AffineConstantExpr(form[1]), ())
        return Index(expr, dims)

    def power(self, x: Value, y: Value) -> Value:
        """`x ** y`: repeated products for small whole numbers, else the function."""
        b = self.builder
        if isinstance(y, Number) and isinstance(y.value, int) and 0 <= y.value <= 16:
            type = self.common(x)
            base, result = self.scalar(x, type), None
            for bit in bin(y.value)[2:]:
                result = None if result is None else b.mul(result, result)
                if bit == "1":
                    result = base if result is None else b.mul(result, base)
            return Scalar(result) if result is not None else Scalar(b.const(1, type))
        type = self.common(x, y)
        if not is_float(type):
            raise Mismatch("a power of integers needs a number from 0 to 16 as exponent; convert with lm.f64(...)")
        return Scalar(b.binary("pow", self.scalar(x, type), self.scalar(y, type)))

    def compare(self, predicate: str, x: Value, y: Value) -> Value:
        """A comparison by `eq ne lt le gt ge`."""
        if isinstance(x, Number) and isinstance(y, Number):
            a, b = x.value, y.value
            return Number({"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[predicate])
        if all(isinstance(v, Index) or _whole(v) for v in (x, y)) and any(isinstance(v, Index) for v in (x, y)):
            if not any(isinstance(v, Scalar) for v in (x, y)):
                return Scalar(self.builder.cmp(predicate, self.index(x), self.index(y)))
        type = self.common(x, y)
        return Scalar(self.builder.cmp(predicate, self.scalar(x, type), self.scalar(y, type)))

    def fma(self, x: Value, y: Value, z: Value, type: Attribute) -> SSAValue:
        """`x * y + z` with one rounding."""
        operands = [self.scalar(v, type) for v in (x, y, z)]
        return self.builder.insert(
            math.FmaOp.create(operands=operands, result_types=[type], properties={"fastmath": arith.FastMathFlagsAttr("none")})
        )

    def negate(self, x: Value) -> Value:
        if isinstance(x, Number):
            return Number(-x.value)
        if isinstance(x, Index):
            return self.binary("*", x, Number(-1))
        if is_bool(x.type):
            return Scalar(self.builder.neg(self.scalar(x, i64)))
        return Scalar(self.builder.neg(x.ssa))


def _whole(value: Value) -> bool:
    """Whether a value is an integer that need not stay a typed scalar."""
    return isinstance(value, Index) or (isinstance(value, Number) and isinstance(value.value, int))


def _constant(expr: AffineExpr) -> bool:
    return isinstance(expr, AffineConstantExpr)


def _bits(type: Attribute) -> int:
    return type.bitwidth  # pyright: ignore[reportAttributeAccessIssue]


def _fold(op: str, x: Any, y: Any) -> Number:
    try:
        result = {
            "+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: x / y, "//": lambda: x // y,
            "%": lambda: x % y, "**": lambda: x**y if abs(y) < 1024 else None, "&": lambda: x & y, "|": lambda: x | y,
            "^": lambda: x ^ y, "<<": lambda: x << y if y < 64 else None, ">>": lambda: x >> y,
        }[op]()  # fmt: skip
    except (ZeroDivisionError, OverflowError, ValueError, TypeError) as error:
        raise Mismatch(str(error)) from None
    if not isinstance(result, int | float):
        raise Mismatch(f"{x} {op} {y} is no number of a kernel")
    return Number(result)

"""Affine expressions of index values as arithmetic: on scalars, on vectors, and on both mixed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, VectorType
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from ..dialects.loop.subscripts import linear_form
from ..dialects.operations import create
from ..dialects.scalar import ScalarBuilder
from ..errors import CompileError

_INDEX = IndexType()
Number = SSAValue | int


class IndexArith:
    """Appends ops to a block; numbers become constants in another.

    Args:
        spread: broadcasts a scalar to a vector, when there are vectors.
    """

    def __init__(self, block: Block, constants: Block, spread: Callable[[SSAValue], SSAValue] | None = None):
        self.builder = ScalarBuilder(block)
        self.constants = ScalarBuilder(constants)
        self.spread = spread

    def value(self, expr: AffineExpr, dims: Sequence[SSAValue]) -> SSAValue:
        """The value of an expression: a scalar, unless a dim is a vector."""
        found = self._value(expr, dims)
        return self.constants.const(found, _INDEX) if isinstance(found, int) else found

    def _value(self, expr: AffineExpr, dims: Sequence[SSAValue]) -> Number:
        form = linear_form(expr, len(dims))
        if form is not None:
            total: Number = 0
            terms = list(zip(dims, *form[:1], strict=True))
            vectors = [term for term in terms if isinstance(term[0].type, VectorType)]
            scalars = [term for term in terms if term not in vectors]
            offset = form[1]
            for value, c in scalars:
                total = self.add(total, self.mul(value, c))
            if not isinstance(total, int):  # a sum of vectors takes several registers
                total, offset = self.add(total, offset), 0
            for value, c in vectors:
                total = self.add(total, self.mul(value, c))
            return self.add(total, offset)
        if isinstance(expr, AffineConstantExpr):
            return expr.value
        if isinstance(expr, AffineDimExpr):
            return dims[expr.position]
        assert isinstance(expr, AffineBinaryOpExpr)
        x, y = self._value(expr.lhs, dims), self._value(expr.rhs, dims)
        if expr.kind == AffineBinaryOpKind.Add:
            return self.add(x, y)
        if expr.kind == AffineBinaryOpKind.Mul:
            return self.mul(x, y)
        if not isinstance(y, int) or y <= 0:
            raise CompileError(f"a divisor in a subscript or bound must be a positive number, got {y} in {expr}")
        if expr.kind == AffineBinaryOpKind.FloorDiv:
            return self.floordiv(x, y)
        if expr.kind == AffineBinaryOpKind.CeilDiv:
            return self.floordiv(self.add(x, y - 1), y)
        return self.mod(x, y)

    def add(self, x: Number, y: Number) -> Number:
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        return x if y == 0 else y if x == 0 else self._binary("add", x, y)

    def sub(self, x: Number, y: Number) -> Number:
        if isinstance(x, int) and isinstance(y, int):
            return x - y
        return x if y == 0 else self._binary("sub", x, y)

    def mul(self, x: Number, y: Number) -> Number:
        if isinstance(x, int) and isinstance(y, int):
            return x * y
        if 0 in (x, y):
            return 0
        return x if y == 1 else y if x == 1 else self._binary("mul", x, y)

    def floordiv(self, x: Number, y: int) -> Number:
        """The quotient by a positive number, rounded down."""
        if isinstance(x, int):
            return x // y
        if y & (y - 1) == 0:
            return x if y == 1 else self._binary("shr", x, y.bit_length() - 1)
        divisor = self._like(y, x)
        return self.builder.insert(create(arith.FloorDivSIOp, operands=[x, divisor], result_types=[x.type]))

    def mod(self, x: Number, y: int) -> Number:
        """The nonnegative remainder by a positive number."""
        if isinstance(x, int):
            return x % y
        if y & (y - 1) == 0:
            return self._binary("and", x, y - 1)
        return self.sub(x, self.mul(self.floordiv(x, y), y))

    def extreme(self, which: str, values: Sequence[Number]) -> Number:
        """The `min` or `max` of some values."""
        result = values[0]
        for value in values[1:]:
            if isinstance(result, int) and isinstance(value, int):
                result = (min if which == "min" else max)(result, value)
            else:
                result = self._binary(which, result, value)
        return result

    def _binary(self, name: str, x: Number, y: Number) -> SSAValue:
        if isinstance(x, int):
            assert not isinstance(y, int)
            x = self._like(x, y)
        elif isinstance(y, int):
            y = self._like(y, x)
        elif isinstance(x.type, VectorType) != isinstance(y.type, VectorType):
            assert self.spread is not None
            x, y = (v if isinstance(v.type, VectorType) else self.spread(v) for v in (x, y))
        return self.builder.binary(name, x, y)

    def _like(self, value: int, other: SSAValue) -> SSAValue:
        return self.constants.const(value, other.type)

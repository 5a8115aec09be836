"""Elementwise ops: unary, binary, compare, select, convert. One result element depends on one element of each operand."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import operand_def, prop_def, result_def, traits_def
from xdsl.traits import Commutative, Pure

from ...errors import DTypeError
from ..types import i1, is_bool, is_float, tensor, unify
from .base import (
    Bilinear,
    Custom,
    Elementwise,
    Equation,
    GraphOp,
    Linear,
    Props,
    Read,
    Zero,
    graph_op,
    require_same_element,
    require_same_shape,
)

if TYPE_CHECKING:
    from ..scalar import ScalarBuilder


def _joined_shape(operands: Sequence[TensorType]) -> tuple[int, ...]:
    shape = operands[0].get_shape()
    for other in operands[1:]:
        shape = tuple(unify(a, b) for a, b in zip(shape, other.get_shape(), strict=True))
    return shape


class ElementwiseOp(GraphOp, ABC):
    """Base: `scalar` is the body of the one equation; every operand and the result have one shape."""

    batching = "elementwise"

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        """The scalar expression; it must also be valid on vectors."""
        raise NotImplementedError(self.name)

    def equations(self) -> tuple[Equation, ...]:
        shape = self.result_shape()
        identity = AffineMap.identity(len(shape))
        return (Equation(shape, tuple(Read(k, identity) for k in range(len(self.operands))), self.scalar),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            return (np.asarray(self.numpy(*operands), dtype=self.result_dtype()),)  # pyright: ignore[reportAttributeAccessIssue]


_DOMAINS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "float": (is_float, "f32 or f64"),
    "number": (lambda t: not is_bool(t), "f32, f64, i32 or i64"),
    "integer": (lambda t: not is_float(t), "i32, i64 or i1"),
    "any": (lambda t: True, "any supported type"),
}


def require_domain(domain: str, operand: TensorType) -> None:
    """Raise DTypeError unless the element type belongs to `float`, `number`, `integer` or `any`."""
    accepts, words = _DOMAINS[domain]
    if not accepts(operand.element_type):
        raise DTypeError(f"operand element type must be {words}, got {operand.element_type}")


# --------------------------------------------------------------------------------------------------------------------
# Unary


class UnaryOp(ElementwiseOp, ABC):
    """Base of `y[i] = f(x[i])` with the operand's type."""

    domain = "float"

    x = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure())
    syntax = "$x"
    types = "same"

    @classmethod
    def infer_types(
        cls, operands: Sequence[TensorType], props: Props, results: Sequence[TensorType] | None = None
    ) -> tuple[TensorType, ...]:
        require_domain(cls.domain, operands[0])  # C1
        return (operands[0],)

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.unary(self.name.removeprefix("graph."), operands[0])


def _rsqrt(x: np.ndarray) -> np.ndarray:
    return (1 / np.sqrt(x.astype(np.longdouble))).astype(x.dtype)


_ERF = np.frompyfunc(math.erf, 1, 1)


def erf(x: np.ndarray) -> np.ndarray:
    return np.asarray(_ERF(x.astype(np.float64)), dtype=x.dtype)


def _erf_derivative(b: Any, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.mul(b.full_like(x, 2 / math.sqrt(math.pi)), b.exp(b.neg(b.mul(x, x))))


@graph_op
class NegOp(UnaryOp):
    """Negation: `y[i] = -x[i]`; integers wrap.

    ```mlir
    %y = graph.neg %x : tensor<4xf32>
    ```

    (C1) The element type is f32, f64, i32 or i64.
    """

    name = "graph.neg"
    domain = "number"
    numpy = np.negative
    derivative = Linear(lambda b, op, k, ct: b.neg(ct))

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.neg(operands[0])


@graph_op
class AbsOp(UnaryOp):
    """Absolute value; the derivative at 0 is 0 (`sign`).

    ```mlir
    %y = graph.abs %x : tensor<4xf32>
    ```

    (C1) The element type is f32, f64, i32 or i64.
    """

    name = "graph.abs"
    domain = "number"
    numpy = np.abs
    derivative = Elementwise(lambda b, x, y: b.sign(x))

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.abs(operands[0])


@graph_op
class SignOp(UnaryOp):
    """-1, 0 or 1; NaN for NaN.

    ```mlir
    %y = graph.sign %x : tensor<4xf32>
    ```

    (C1) The element type is f32, f64, i32 or i64.
    """

    name = "graph.sign"
    domain = "number"
    numpy = np.sign
    derivative = Zero()

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.sign(operands[0])


@graph_op
class FloorOp(UnaryOp):
    """Greatest integer not above `x[i]`.

    ```mlir
    %y = graph.floor %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.floor"
    numpy = np.floor
    derivative = Zero()


@graph_op
class CeilOp(UnaryOp):
    """Least integer not below `x[i]`.

    ```mlir
    %y = graph.ceil %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.ceil"
    numpy = np.ceil
    derivative = Zero()


@graph_op
class RintOp(UnaryOp):
    """Nearest integer, ties to even.

    ```mlir
    %y = graph.rint %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.rint"
    numpy = np.rint
    derivative = Zero()


@graph_op
class ExpOp(UnaryOp):
    """Exponential.

    ```mlir
    %y = graph.exp %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.exp"
    numpy = np.exp
    derivative = Elementwise(lambda b, x, y: y)


@graph_op
class Expm1Op(UnaryOp):
    """`exp(x) - 1`, accurate near 0.

    ```mlir
    %y = graph.expm1 %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.expm1"
    numpy = np.expm1
    derivative = Elementwise(lambda b, x, y: b.add(y, b.full_like(y, 1)))


@graph_op
class LogOp(UnaryOp):
    """Natural logarithm; -inf at 0, NaN below.

    ```mlir
    %y = graph.log %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.log"
    numpy = np.log
    derivative = Elementwise(lambda b, x, y: b.div(b.full_like(x, 1), x))


@graph_op
class Log1pOp(UnaryOp):
    """`log(1 + x)`, accurate near 0.

    ```mlir
    %y = graph.log1p %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.log1p"
    numpy = np.log1p
    derivative = Elementwise(lambda b, x, y: b.div(b.full_like(x, 1), b.add(x, b.full_like(x, 1))))


@graph_op
class SqrtOp(UnaryOp):
    """Square root, correctly rounded; the derivative at 0 is inf.

    ```mlir
    %y = graph.sqrt %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.sqrt"
    numpy = np.sqrt
    derivative = Elementwise(lambda b, x, y: b.div(b.full_like(x, 0.5), y))


@graph_op
class RsqrtOp(UnaryOp):
    """`1 / sqrt(x)`; inf at 0.

    ```mlir
    %y = graph.rsqrt %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.rsqrt"
    numpy = _rsqrt
    derivative = Elementwise(lambda b, x, y: b.mul(b.full_like(x, -0.5), b.div(y, x)))


@graph_op
class SinOp(UnaryOp):
    """Sine, of radians.

    ```mlir
    %y = graph.sin %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.sin"
    numpy = np.sin
    derivative = Elementwise(lambda b, x, y: b.cos(x))


@graph_op
class CosOp(UnaryOp):
    """Cosine, of radians.

    ```mlir
    %y = graph.cos %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.cos"
    numpy = np.cos
    derivative = Elementwise(lambda b, x, y: b.neg(b.sin(x)))


@graph_op
class TanOp(UnaryOp):
    """Tangent, of radians.

    ```mlir
    %y = graph.tan %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.tan"
    numpy = np.tan
    derivative = Elementwise(lambda b, x, y: b.add(b.full_like(y, 1), b.mul(y, y)))


@graph_op
class TanhOp(UnaryOp):
    """Hyperbolic tangent.

    ```mlir
    %y = graph.tanh %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.tanh"
    numpy = np.tanh
    derivative = Elementwise(lambda b, x, y: b.sub(b.full_like(y, 1), b.mul(y, y)))


@graph_op
class ErfOp(UnaryOp):
    """Error function.

    ```mlir
    %y = graph.erf %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.erf"
    numpy = erf
    derivative = Elementwise(_erf_derivative)


@graph_op
class NotOp(UnaryOp):
    """Bitwise complement; logical not for i1.

    ```mlir
    %y = graph.not %x : tensor<4xf32>
    ```

    (C1) The element type is i32, i64 or i1.
    """

    name = "graph.not"
    domain = "integer"
    numpy = np.invert
    derivative = Zero()

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.invert(operands[0])


# --------------------------------------------------------------------------------------------------------------------
# Binary


class BinaryOp(ElementwiseOp, ABC):
    """Base of `y[i] = f(lhs[i], rhs[i])`; both operands and the result have one type."""

    domain = "number"

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure())
    syntax = "$lhs, $rhs"
    types = "same"

    @classmethod
    def infer_types(
        cls, operands: Sequence[TensorType], props: Props, results: Sequence[TensorType] | None = None
    ) -> tuple[TensorType, ...]:
        require_same_element(operands)  # C1
        require_same_shape(operands)  # C2
        require_domain(cls.domain, operands[0])  # C3
        return (tensor(operands[0].element_type, _joined_shape(operands)),)

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.binary(self.name.removeprefix("graph."), *operands)


def _divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """True division of floats; integers truncate toward zero, wrap at the minimum, and give 0 over 0."""
    if x.dtype.kind == "f":
        return np.divide(x, y)
    quotient = np.floor_divide(x, y)  # 0 where y is 0, the minimum for minimum / -1
    inexact = (quotient * y != x) & (y != 0)
    return quotient + (inexact & ((x < 0) != (y < 0))).astype(x.dtype)


def _remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`x - trunc(x / y) * y` with the sign of `x`, exact; integers give 0 over 0."""
    return np.fmod(x, y)


def _pow_factor_x(b: Any, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    # d/dx x**y = y * x**(y-1), and 0 where y is 0, so that x = 0 gives 0 and not 0 * inf
    one, zero = b.full_like(y, 1), b.full_like(y, 0)
    slope = b.mul(y, b.pow(x, b.sub(y, one)))
    return b.select(b.cmp(y, zero, predicate="eq"), zero, slope)


def _pow_factor_y(b: Any, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    # d/dy x**y = log(x) * x**y, and 0 at x = 0 (where y > 0 this is the limit)
    zero, one = b.full_like(x, 0), b.full_like(x, 1)
    at_zero = b.cmp(x, zero, predicate="eq")
    return b.mul(b.log(b.select(at_zero, one, x)), z)


def _tie_factor(predicate: str) -> Callable[..., SSAValue]:
    # max and min: the slope of the chosen operand; a tie splits evenly, as the subgradient of least norm
    def factor(b: Any, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
        one, half, zero = b.full_like(x, 1), b.full_like(x, 0.5), b.full_like(x, 0)
        chosen = b.select(b.cmp(x, y, predicate=predicate), one, zero)
        return b.select(b.cmp(x, y, predicate="eq"), half, chosen)

    return factor


def _transpose_sub(b: Any, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    return ct if k == 0 else b.neg(ct)


def _transpose_div(b: Any, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    return b.div(ct, op.operands[1])


def _jvp_div(b: Any, op: GraphOp, tangents: Sequence[SSAValue | None]) -> Sequence[SSAValue | None]:
    # linear in the numerator; d(x/y) = (dx - (x/y) dy) / y
    dx, dy = tangents
    change = None if dy is None else b.neg(b.mul(dy, op.results[0]))
    if dx is not None:
        change = dx if change is None else b.add(dx, change)
    return [None if change is None else b.div(change, op.operands[1])]


def _transpose_mul(b: Any, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    return b.mul(ct, op.operands[1 - k])


@graph_op
class AddOp(BinaryOp):
    """Sum; integers wrap.

    ```mlir
    %y = graph.add %a, %b : tensor<4xf32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is f32, f64, i32 or i64.
    """

    name = "graph.add"
    numpy = np.add
    derivative = Linear(lambda b, op, k, ct: ct)
    traits = traits_def(Pure(), Commutative())


@graph_op
class SubOp(BinaryOp):
    """Difference; integers wrap.

    ```mlir
    %y = graph.sub %a, %b : tensor<4xf32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is f32, f64, i32 or i64.
    """

    name = "graph.sub"
    numpy = np.subtract
    derivative = Linear(_transpose_sub)


@graph_op
class MulOp(BinaryOp):
    """Product; integers wrap.

    ```mlir
    %y = graph.mul %a, %b : tensor<4xf32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is f32, f64, i32 or i64.
    """

    name = "graph.mul"
    numpy = np.multiply
    derivative = Bilinear(_transpose_mul)
    traits = traits_def(Pure(), Commutative())


@graph_op
class DivOp(BinaryOp):
    """Quotient. Integers truncate toward zero; `x / 0` is 0 and `minimum / -1` wraps.

    ```mlir
    %y = graph.div %a, %b : tensor<4xf32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is f32, f64, i32 or i64.
    """

    name = "graph.div"
    numpy = _divide
    derivative = Custom(_jvp_div, transpose=_transpose_div, linear=(0,))


@graph_op
class RemOp(BinaryOp):
    """`x - trunc(x / y) * y`, exact, with the sign of `x`; integers give 0 over 0.

    ```mlir
    %y = graph.rem %a, %b : tensor<4xf32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is f32, f64, i32 or i64.
    """

    name = "graph.rem"
    numpy = _remainder
    derivative = Elementwise(lambda b, x, y, z: b.full_like(x, 1), lambda b, x, y, z: b.neg(b.trunc(b.div(x, y))))


@graph_op
class PowOp(BinaryOp):
    """`lhs ** rhs` with the special cases of C99 `pow`.

    ```mlir
    %y = graph.pow %a, %b : tensor<4xf32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is f32 or f64.
    """

    name = "graph.pow"
    domain = "float"
    numpy = np.power
    derivative = Elementwise(_pow_factor_x, _pow_factor_y)


@graph_op
class MaxOp(BinaryOp):
    """Maximum; NaN if either is NaN. The derivative of a tie is split evenly.

    ```mlir
    %y = graph.max %a, %b : tensor<4xf32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is any supported type.
    """

    name = "graph.max"
    domain = "any"
    numpy = np.maximum
    derivative = Elementwise(_tie_factor("gt"), _tie_factor("lt"))
    traits = traits_def(Pure(), Commutative())


@graph_op
class MinOp(BinaryOp):
    """Minimum; NaN if either is NaN. The derivative of a tie is split evenly.

    ```mlir
    %y = graph.min %a, %b : tensor<4xf32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is any supported type.
    """

    name = "graph.min"
    domain = "any"
    numpy = np.minimum
    derivative = Elementwise(_tie_factor("lt"), _tie_factor("gt"))
    traits = traits_def(Pure(), Commutative())


@graph_op
class AndOp(BinaryOp):
    """Bitwise and; logical for i1.

    ```mlir
    %y = graph.and %a, %b : tensor<4xi32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is i32, i64 or i1.
    """

    name = "graph.and"
    domain = "integer"
    numpy = np.bitwise_and
    derivative = Zero()
    traits = traits_def(Pure(), Commutative())


@graph_op
class OrOp(BinaryOp):
    """Bitwise or; logical for i1.

    ```mlir
    %y = graph.or %a, %b : tensor<4xi32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is i32, i64 or i1.
    """

    name = "graph.or"
    domain = "integer"
    numpy = np.bitwise_or
    derivative = Zero()
    traits = traits_def(Pure(), Commutative())


@graph_op
class XorOp(BinaryOp):
    """Bitwise exclusive or; logical for i1.

    ```mlir
    %y = graph.xor %a, %b : tensor<4xi32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is i32, i64 or i1.
    """

    name = "graph.xor"
    domain = "integer"
    numpy = np.bitwise_xor
    derivative = Zero()
    traits = traits_def(Pure(), Commutative())


# --------------------------------------------------------------------------------------------------------------------
# Compare, select, convert

_COMPARE: dict[str, Callable[..., np.ndarray]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@graph_op
class CmpOp(ElementwiseOp):
    """Comparison `eq ne lt le gt ge`; with NaN only `ne` holds. i1 orders false before true.

    ```mlir
    %y = graph.cmp lt %a, %b : tensor<4xf32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The predicate is one of eq, ne, lt, le, gt, ge.
    """

    name = "graph.cmp"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    predicate = prop_def(StringAttr)
    y = result_def(TensorType)
    traits = traits_def(Pure())
    syntax = "<predicate> $lhs, $rhs"
    types = "same"
    derivative = Zero()

    @classmethod
    def infer_types(
        cls, operands: Sequence[TensorType], props: Props, results: Sequence[TensorType] | None = None
    ) -> tuple[TensorType, ...]:
        require_same_element(operands)  # C1
        require_same_shape(operands)  # C2
        predicate = props["predicate"]
        if not isinstance(predicate, StringAttr) or predicate.data not in _COMPARE:  # C3
            raise DTypeError(f"predicate must be one of eq, ne, lt, le, gt, ge, got {predicate}")
        return (tensor(i1, _joined_shape(operands)),)

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.cmp(self.predicate.data, *operands)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (_COMPARE[self.predicate.data](*operands),)


@graph_op
class SelectOp(ElementwiseOp):
    """`y[i] = on_true[i] if condition[i] else on_false[i]`.

    ```mlir
    %y = graph.select %c, %a, %b : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```

    (C1) The condition's element type is i1.
    (C2) The choices have one element type.
    (C3) All operands have one shape.
    """

    name = "graph.select"
    condition = operand_def(TensorType)
    on_true = operand_def(TensorType)
    on_false = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure())
    syntax = "$condition, $on_true, $on_false"
    numpy = np.where
    derivative = Linear(lambda b, op, k, ct: _transpose_select(b, op, k, ct), operands=(1, 2))

    @classmethod
    def infer_types(
        cls, operands: Sequence[TensorType], props: Props, results: Sequence[TensorType] | None = None
    ) -> tuple[TensorType, ...]:
        if not is_bool(operands[0].element_type):  # C1
            raise DTypeError(f"condition must be i1, got {operands[0].element_type}")
        require_same_element(operands[1:], ("on_true", "on_false"))  # C2
        require_same_shape(operands, ("condition", "on_true", "on_false"))  # C3
        return (tensor(operands[1].element_type, _joined_shape(operands)),)

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.select(*operands)


def _transpose_select(b: Any, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    zero = b.full_like(ct, 0)
    condition = op.operands[0]
    return b.select(condition, ct, zero) if k == 1 else b.select(condition, zero, ct)


@graph_op
class ConvertOp(ElementwiseOp):
    """Conversion to another element type. Floats to integers truncate and saturate, NaN gives 0; to i1 is `x != 0`.

    ```mlir
    %y = graph.convert %x : tensor<4xf32> -> tensor<4xi32>
    ```

    (C1) Operand and result have one shape.
    """

    name = "graph.convert"
    x = operand_def(TensorType)
    y = result_def(TensorType)
    traits = traits_def(Pure())
    syntax = "$x"
    derivative = Linear(lambda b, op, k, ct: b.convert(ct, op.operands[0].type.element_type))

    @classmethod
    def infer_types(
        cls, operands: Sequence[TensorType], props: Props, results: Sequence[TensorType] | None = None
    ) -> tuple[TensorType, ...]:
        assert results is not None
        require_same_shape((operands[0], results[0]), ("operand", "result"))  # C1
        return (tensor(results[0].element_type, operands[0].get_shape()),)

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.convert(operands[0], self.y.type.element_type)  # pyright: ignore[reportAttributeAccessIssue]

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (convert_array(operands[0], self.result_dtype()),)


def convert_array(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The meaning of `graph.convert`: NumPy's cast, but floats saturate at the integer range and NaN becomes 0."""
    with np.errstate(all="ignore"):
        if x.dtype.kind != "f" or dtype.kind not in "iu":
            return np.asarray(x.astype(dtype))
        limits = np.iinfo(dtype)
        truncated = np.trunc(x.astype(np.float64))
        # the largest integer is not a float: compare with the power of two above it
        high, low = truncated >= float(limits.max), truncated <= float(limits.min)
        safe = np.where(high | low | np.isnan(truncated), 0.0, truncated).astype(dtype)
        return np.where(high, dtype.type(limits.max), np.where(low, dtype.type(limits.min), safe))

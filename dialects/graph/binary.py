"""Binary elementwise ops: both operands and the result have one type."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.traits import Commutative

from ..types import COMPLEX, tensor
from .base import (
    Bilinear,
    Custom,
    Elementwise,
    GraphOp,
    Linear,
    Props,
    Types,
    Zero,
    graph_op,
    require_same_element,
    require_same_shape,
)
from .elementwise import ElementwiseOp, joined_shape, require_domain

if TYPE_CHECKING:
    from ..scalar import ScalarBuilder


class BinaryOp(ElementwiseOp, ABC):
    """Base of `y[i] = f(lhs[i], rhs[i])`; both operands and the result have one type."""

    domain = "number"

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "$lhs, $rhs"
    types = "same"

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        require_same_element(operands)  # C1
        require_same_shape(operands)  # C2
        require_domain(cls.domain, operands[0])  # C3
        return (tensor(operands[0].element_type, joined_shape(operands)),)

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.binary(self.name.removeprefix("graph."), *operands)


def _divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """True division of floats; integers truncate toward zero, wrap at the minimum, and give 0 over 0."""
    if x.dtype.kind in "fc":
        return np.divide(x, y)
    quotient = np.floor_divide(x, y)  # 0 where y is 0, the minimum for minimum / -1
    inexact = (quotient * y != x) & (y != 0)
    return quotient + (inexact & ((x < 0) != (y < 0))).astype(x.dtype)


def _remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`x - trunc(x / y) * y` with the sign of `x`, exact; integers give 0 over 0."""
    return np.fmod(x, y)


def _pow_factor_x(b: Any, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    # d/dx x**y = y * x**(y-1). Where both are 0 the base is taken as 1, so that this is 0 and not 0 * inf; at y = 0 alone it is
    # 0 by the product, which keeps its slope in y
    zero = b.full_like(x, 0)
    origin = b.and_(b.cmp(x, zero, predicate="eq"), b.cmp(y, zero, predicate="eq"))
    return b.mul(y, b.pow(b.select(origin, b.full_like(x, 1), x), b.sub(y, b.full_like(y, 1))))


def _pow_factor_y(b: Any, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    # d/dy x**y = log(x) * x**y, and 0 at x = 0 (where y > 0 this is the limit)
    zero, one = b.full_like(x, 0), b.full_like(x, 1)
    at_zero = b.cmp(x, zero, predicate="eq")
    return b.mul(b.log(b.select(at_zero, one, x)), z)


def _turn(b: Any, part: SSAValue, y: SSAValue, x: SSAValue) -> SSAValue:
    # part / (x^2 + y^2), without overflow: the larger of both is taken out of the squares
    size = b.max(b.abs(x), b.abs(y))
    u, v = b.div(x, size), b.div(y, size)
    return b.div(b.div(b.div(part, size), b.add(b.mul(u, u), b.mul(v, v))), size)


def _chosen(b: Any, x: SSAValue, y: SSAValue, predicate: str) -> SSAValue:
    # max and min: the slope of the chosen operand; a tie splits evenly, as the subgradient of least norm
    one, half, zero = b.full_like(x, 1), b.full_like(x, 0.5), b.full_like(x, 0)
    chosen = b.select(b.cmp(x, y, predicate=predicate), one, zero)
    return b.select(b.cmp(x, y, predicate="eq"), half, chosen)


def _transpose_sub(b: Any, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    return ct if k == 0 else b.neg(ct)


def _transpose_div(b: Any, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    return b.div(ct, op.operands[1])


def _jvp_div(b: Any, op: GraphOp, tangents: Sequence[SSAValue | None]) -> Sequence[SSAValue | None]:
    # linear in the numerator; d(x/y) = (dx - (x/y) dy) / y
    dx, dy = tangents
    parts = [] if dx is None else [dx]
    parts += [] if dy is None else [b.neg(b.mul(dy, op.results[0]))]
    return [b.div(reduce(b.add, parts), op.operands[1])]


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
    (C3) The element type is an integer or a float.
    """

    name = "graph.add"
    stores = COMPLEX
    numpy = np.add
    derivative = Linear(lambda b, op, k, ct: ct)
    traits = traits_def(Commutative())


@graph_op
class SubOp(BinaryOp):
    """Difference; integers wrap.

    ```mlir
    %y = graph.sub %a, %b : tensor<4xf32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is an integer or a float.
    """

    name = "graph.sub"
    stores = COMPLEX
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
    (C3) The element type is an integer or a float.
    """

    name = "graph.mul"
    stores = COMPLEX
    numpy = np.multiply
    derivative = Bilinear(_transpose_mul)
    traits = traits_def(Commutative())


@graph_op
class DivOp(BinaryOp):
    """Quotient. Integers truncate toward zero; `x / 0` is 0 and `minimum / -1` wraps.

    ```mlir
    %y = graph.div %a, %b : tensor<4xf32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is an integer or a float.
    """

    name = "graph.div"
    stores = COMPLEX
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
    (C3) The element type is an integer or a float.
    """

    name = "graph.rem"
    numpy = _remainder
    # the quotient that was taken is (x - z) / y, exactly: x / y may round up to the next integer
    derivative = Elementwise(lambda b, x, y, z: b.full_like(x, 1), lambda b, x, y, z: b.neg(b.rint(b.div(b.sub(x, z), y))))


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
    stores = COMPLEX
    domain = "float"
    numpy = np.power
    derivative = Elementwise(_pow_factor_x, _pow_factor_y)


@graph_op
class Atan2Op(BinaryOp):
    """The angle of the point (`rhs`, `lhs`), in [-pi, pi], with the special cases of C99 `atan2`; its slope at 0, 0 is NaN.

    ```mlir
    %y = graph.atan2 %a, %b : tensor<4xf32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is f32 or f64.
    """

    name = "graph.atan2"
    domain = "float"
    numpy = np.arctan2
    derivative = Elementwise(lambda b, y, x, z: _turn(b, x, y, x), lambda b, y, x, z: b.neg(_turn(b, y, y, x)))


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
    derivative = Elementwise(lambda b, x, y, z: _chosen(b, x, y, "gt"), lambda b, x, y, z: _chosen(b, x, y, "lt"))
    traits = traits_def(Commutative())


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
    derivative = Elementwise(lambda b, x, y, z: _chosen(b, x, y, "lt"), lambda b, x, y, z: _chosen(b, x, y, "gt"))
    traits = traits_def(Commutative())


@graph_op
class AndOp(BinaryOp):
    """Bitwise and; logical for i1.

    ```mlir
    %y = graph.and %a, %b : tensor<4xi32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is an integer or i1.
    """

    name = "graph.and"
    domain = "integer"
    numpy = np.bitwise_and
    derivative = Zero()
    traits = traits_def(Commutative())


@graph_op
class OrOp(BinaryOp):
    """Bitwise or; logical for i1.

    ```mlir
    %y = graph.or %a, %b : tensor<4xi32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is an integer or i1.
    """

    name = "graph.or"
    domain = "integer"
    numpy = np.bitwise_or
    derivative = Zero()
    traits = traits_def(Commutative())


@graph_op
class XorOp(BinaryOp):
    """Bitwise exclusive or; logical for i1.

    ```mlir
    %y = graph.xor %a, %b : tensor<4xi32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is an integer or i1.
    """

    name = "graph.xor"
    domain = "integer"
    numpy = np.bitwise_xor
    derivative = Zero()
    traits = traits_def(Commutative())


@graph_op
class ShlOp(BinaryOp):
    """`lhs * 2 ** rhs`, wrapping: bits move up and zeros follow. An amount outside of [0, bits) leaves 0, as in NumPy.

    ```mlir
    %y = graph.shl %a, %b : tensor<4xi32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is an integer.
    """

    name = "graph.shl"
    domain = "whole"
    numpy = np.left_shift
    derivative = Zero()


@graph_op
class ShrOp(BinaryOp):
    """`floor(lhs / 2 ** rhs)`: bits move down, the sign, or zero if unsigned, follows.

    An amount outside of [0, bits) leaves nothing but signs, as in NumPy: -1 for negative numbers, else 0.

    ```mlir
    %y = graph.shr %a, %b : tensor<4xi32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is an integer.
    """

    name = "graph.shr"
    domain = "whole"
    numpy = np.right_shift
    derivative = Zero()

"""Unary elementwise ops."""

from __future__ import annotations

import math
from abc import ABC
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def

from ..types import COMPLEX
from . import erf_inv
from .base import Elementwise, Linear, Props, Types, Zero, graph_op
from .elementwise import ElementwiseOp, require_domain

if TYPE_CHECKING:
    from ..scalar import ScalarBuilder


class UnaryOp(ElementwiseOp, ABC):
    """Base of `y[i] = f(x[i])` with the operand's type."""

    domain = "float"

    x = operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "$x"
    types = "same"

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        require_domain(cls.domain, operands[0])  # C1
        return (operands[0],)

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.unary(self.name.removeprefix("graph."), operands[0])


def _rsqrt(x: np.ndarray) -> np.ndarray:
    return (1 / np.sqrt(x.astype(np.longdouble))).astype(x.dtype)


_ERF = np.frompyfunc(math.erf, 1, 1)


def erf(x: np.ndarray) -> np.ndarray:
    return np.asarray(_ERF(x.astype(np.float64)), dtype=x.dtype)


_ERFC = np.frompyfunc(math.erfc, 1, 1)


def erfc(x: np.ndarray) -> np.ndarray:
    return np.asarray(_ERFC(x.astype(np.float64)), dtype=x.dtype)


def _unsigned(x: np.ndarray) -> np.ndarray:
    """The bits of integers."""
    return x.view(np.dtype(f"u{x.dtype.itemsize}"))


def _popcount(x: np.ndarray) -> np.ndarray:
    return np.bitwise_count(_unsigned(x)).astype(x.dtype)


def _clz(x: np.ndarray) -> np.ndarray:
    bits = _unsigned(x)
    return np.equal(bits[..., None] >> np.arange(8 * x.dtype.itemsize, dtype=bits.dtype), 0).sum(-1).astype(x.dtype)


def _erf_derivative(b: Any, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.mul(b.full_like(x, 2 / math.sqrt(math.pi)), b.exp(b.neg(b.mul(x, x))))


def _erfc_derivative(b: Any, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.neg(_erf_derivative(b, x, y))


def _erf_inv_derivative(b: Any, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.mul(b.full_like(x, math.sqrt(math.pi) / 2), b.exp(b.mul(y, y)))


@graph_op
class NegOp(UnaryOp):
    """Negation: `y[i] = -x[i]`; integers wrap.

    ```mlir
    %y = graph.neg %x : tensor<4xf32>
    ```

    (C1) The element type is an integer or a float.
    """

    name = "graph.neg"
    stores = COMPLEX
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

    (C1) The element type is an integer or a float.
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

    (C1) The element type is an integer or a float.
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
    stores = COMPLEX
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
    stores = COMPLEX
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
    stores = COMPLEX
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
    stores = COMPLEX
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
    stores = COMPLEX
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
class AtanOp(UnaryOp):
    """Arc tangent, in [-pi/2, pi/2].

    ```mlir
    %y = graph.atan %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.atan"
    numpy = np.arctan
    derivative = Elementwise(lambda b, x, y: b.div(b.full_like(x, 1), b.add(b.full_like(x, 1), b.mul(x, x))))


@graph_op
class TanhOp(UnaryOp):
    """Hyperbolic tangent.

    ```mlir
    %y = graph.tanh %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.tanh"
    stores = COMPLEX
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
class ErfcOp(UnaryOp):
    """Complement of the error function, `1 - erf(x)`, accurate until it vanishes.

    ```mlir
    %y = graph.erfc %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.erfc"
    numpy = erfc
    derivative = Elementwise(_erfc_derivative)


@graph_op
class ErfInvOp(UnaryOp):
    """Inverse of the error function: inf at 1, -inf at -1, NaN beyond. Within 4 ulp (`erf_inv.py`).

    ```mlir
    %y = graph.erf_inv %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.erf_inv"
    numpy = erf_inv.evaluated
    derivative = Elementwise(_erf_inv_derivative)

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return erf_inv.written(b, operands[0])


@graph_op
class NotOp(UnaryOp):
    """Bitwise complement; logical not for i1.

    ```mlir
    %y = graph.not %x : tensor<4xf32>
    ```

    (C1) The element type is an integer or i1.
    """

    name = "graph.not"
    domain = "integer"
    numpy = np.invert
    derivative = Zero()

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.invert(operands[0])


@graph_op
class PopcountOp(UnaryOp):
    """How many bits are set, of negative numbers in two's complement.

    ```mlir
    %y = graph.popcount %x : tensor<4xi32>
    ```

    (C1) The element type is an integer.
    """

    name = "graph.popcount"
    domain = "whole"
    numpy = _popcount
    derivative = Zero()

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.count("popcount", operands[0])


@graph_op
class ClzOp(UnaryOp):
    """How many bits stand above the highest that is set: all of them in 0.

    ```mlir
    %y = graph.clz %x : tensor<4xi32>
    ```

    (C1) The element type is an integer.
    """

    name = "graph.clz"
    domain = "whole"
    numpy = _clz
    derivative = Zero()

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.count("clz", operands[0])

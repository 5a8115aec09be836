"""Unary elementwise ops."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def

from ..types import COMPLEX, element_of
from . import complex_arithmetic as parts
from . import erf_inv
from .base import Derivative, Elementwise, Linear, Props, Types, Zero
from .elementwise import ElementwiseOp, require_domain, row
from .facts import Cost, OpFacts, Rounding, elementwise

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


def unary(
    name: str,
    meaning: str,
    numpy: Callable[..., Any],
    *,
    facts: OpFacts,
    derivative: Derivative,
    domain: str = "float",
    scalar: Callable[..., SSAValue] | None = None,
) -> type[UnaryOp]:
    """The op `graph.<name>`; `scalar` is its scalar expression where that is not the function of its name."""
    return row(UnaryOp, name, meaning, numpy, derivative, domain, facts, scalar, "%x", ())


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


def expm1_slope(x: np.ndarray) -> np.ndarray:
    y = np.exp(x)
    return np.where(y < 2 * np.finfo(x.dtype).smallest_normal, x.dtype.type(0), y)


def gauss(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.longdouble)
    return np.exp(-wide * wide).astype(x.dtype)


def sech2(x: np.ndarray) -> np.ndarray:
    e = np.exp(-2 * np.abs(x.astype(np.longdouble)))
    y = (4 * e / (1 + e) ** 2).astype(x.dtype)
    return np.where(y < np.finfo(x.dtype).smallest_normal, x.dtype.type(0), y)


def _tanh_derivative(b: Any, x: SSAValue, y: SSAValue) -> SSAValue:
    if element_of(x) not in COMPLEX:
        return b.sech2(x)  # 1 - y * y is 0 where y has been rounded to 1
    one = b.full_like(x, 1)
    real = b.real(x)
    negative = b.cmp(real, b.full_like(real, 0), predicate="lt")
    folded = b.select(negative, x, b.neg(x))
    e = b.exp(b.add(folded, folded))
    major = b.div(one, b.add(one, e))
    far = b.cmp(b.abs(real), b.full_like(real, 1), predicate="gt")  # nearer y * y may be large, but not close to 1
    return b.select(far, b.mul(b.full_like(x, 4), b.mul(b.mul(e, major), major)), b.sub(one, b.mul(y, y)))


def _erf_derivative(b: Any, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.mul(b.full_like(x, 2 / math.sqrt(math.pi)), b.gauss(x))


NegOp = unary(
    "neg",
    "Negation: `y[i] = -x[i]`; integers wrap.",
    np.negative,
    facts=elementwise(Cost.LOAD, Rounding.NONE, on_parts="each"),
    derivative=Linear(lambda b, op, k, ct: b.neg(ct)),
    domain="number",
    scalar=lambda b, x: b.neg(x),
)
AbsOp = unary(
    "abs",
    "Absolute value; the derivative at 0 is 0 (`sign`).",
    np.abs,
    facts=elementwise(Cost.LOAD, Rounding.NONE),
    derivative=Elementwise(lambda b, x, y: b.sign(x)),
    domain="number",
    scalar=lambda b, x: b.abs(x),
)
SignOp = unary(
    "sign",
    "-1, 0 or 1; NaN for NaN.",
    np.sign,
    facts=elementwise(Cost.LOAD, Rounding.NONE),
    derivative=Zero(),
    domain="number",
    scalar=lambda b, x: b.sign(x),
)
FloorOp = unary(
    "floor",
    "Greatest integer not above `x[i]`.",
    np.floor,
    facts=elementwise(Cost.SHORT, Rounding.NONE, keeps_integers=True),
    derivative=Zero(),
)
CeilOp = unary(
    "ceil",
    "Least integer not below `x[i]`.",
    np.ceil,
    facts=elementwise(Cost.SHORT, Rounding.NONE, keeps_integers=True),
    derivative=Zero(),
)
RintOp = unary(
    "rint",
    "Nearest integer, ties to even.",
    np.rint,
    facts=elementwise(Cost.SHORT, Rounding.NONE, keeps_integers=True),
    derivative=Zero(),
)
ExpOp = unary(
    "exp", "Exponential.", np.exp, facts=elementwise(Cost.LONG, on_parts=parts.exp), derivative=Elementwise(lambda b, x, y: y)
)
Expm1Op = unary(
    "expm1",
    "`exp(x) - 1`, accurate near 0.",
    np.expm1,
    facts=elementwise(Cost.LONG),
    derivative=Elementwise(lambda b, x, y: b.expm1_slope(x)),
)
Expm1SlopeOp = unary(
    "expm1_slope",
    "The exponential as the derivative of `expm1`, beside which it costs little; 0 below twice the least normal number.",
    expm1_slope,
    facts=elementwise(Cost.LONG),
    derivative=Elementwise(lambda b, x, y: y),
)
LogOp = unary(
    "log",
    "Natural logarithm; -inf at 0, NaN below.",
    np.log,
    facts=elementwise(Cost.LONG, on_parts=parts.log),
    derivative=Elementwise(lambda b, x, y: b.div(b.full_like(x, 1), x)),
)
Log1pOp = unary(
    "log1p",
    "`log(1 + x)`, accurate near 0.",
    np.log1p,
    facts=elementwise(Cost.LONG),
    derivative=Elementwise(lambda b, x, y: b.div(b.full_like(x, 1), b.add(x, b.full_like(x, 1)))),
)
SqrtOp = unary(
    "sqrt",
    "Square root, correctly rounded; the derivative at 0 is inf.",
    np.sqrt,
    facts=elementwise(Cost.SHORT, on_parts=parts.sqrt),
    derivative=Elementwise(lambda b, x, y: b.div(b.full_like(x, 0.5), y)),
)
RsqrtOp = unary(
    "rsqrt",
    "`1 / sqrt(x)`; inf at 0.",
    _rsqrt,
    facts=elementwise(Cost.LONG),
    derivative=Elementwise(lambda b, x, y: b.mul(b.full_like(x, -0.5), b.div(y, x))),
)
SinOp = unary(
    "sin",
    "Sine, of radians.",
    np.sin,
    facts=elementwise(Cost.LONG, on_parts=parts.sin),
    derivative=Elementwise(lambda b, x, y: b.cos(x)),
)
CosOp = unary(
    "cos",
    "Cosine, of radians.",
    np.cos,
    facts=elementwise(Cost.LONG, on_parts=parts.cos),
    derivative=Elementwise(lambda b, x, y: b.neg(b.sin(x))),
)
TanOp = unary(
    "tan",
    "Tangent, of radians.",
    np.tan,
    facts=elementwise(Cost.LONG),
    derivative=Elementwise(lambda b, x, y: b.add(b.full_like(y, 1), b.mul(y, y))),
)
AtanOp = unary(
    "atan",
    "Arc tangent, in [-pi/2, pi/2].",
    np.arctan,
    facts=elementwise(Cost.LONG),
    derivative=Elementwise(lambda b, x, y: b.div(b.full_like(x, 1), b.add(b.full_like(x, 1), b.mul(x, x)))),
)
TanhOp = unary(
    "tanh",
    "Hyperbolic tangent.",
    np.tanh,
    facts=elementwise(Cost.LONG, on_parts=parts.tanh),
    derivative=Elementwise(_tanh_derivative),
)
Sech2Op = unary(
    "sech2",
    "The square of the hyperbolic secant, `1 - tanh(x)^2` without cancellation; 0 where that is no normal number.",
    sech2,
    facts=elementwise(Cost.LONG),
    derivative=Elementwise(lambda b, x, y: b.mul(b.full_like(x, -2), b.mul(b.tanh(x), y))),
)
ErfOp = unary("erf", "Error function.", erf, facts=elementwise(Cost.LONG), derivative=Elementwise(_erf_derivative))
ErfcOp = unary(
    "erfc",
    "Complement of the error function, `1 - erf(x)`, accurate until it vanishes.",
    erfc,
    facts=elementwise(Cost.LONG),
    derivative=Elementwise(lambda b, x, y: b.neg(_erf_derivative(b, x, y))),
)
GaussOp = unary(
    "gauss",
    "`exp(-x * x)`, accurate where it is small, of the exact square.",
    gauss,
    facts=elementwise(Cost.LONG),
    derivative=Elementwise(lambda b, x, y: b.mul(b.full_like(x, -2), b.mul(x, y))),
)
ErfInvOp = unary(
    "erf_inv",
    "Inverse of the error function: inf at 1, -inf at -1, NaN beyond. Within 4 ulp (`erf_inv.py`).",
    erf_inv.evaluated,
    facts=elementwise(Cost.LONG),
    derivative=Elementwise(lambda b, x, y: b.mul(b.full_like(x, math.sqrt(math.pi) / 2), b.exp(b.mul(y, y)))),
    scalar=lambda b, x: erf_inv.written(b, x),
)
NotOp = unary(
    "not",
    "Bitwise complement; logical not for i1.",
    np.invert,
    facts=elementwise(Cost.LOAD, Rounding.NONE),
    derivative=Zero(),
    domain="integer",
    scalar=lambda b, x: b.invert(x),
)
PopcountOp = unary(
    "popcount",
    "How many bits are set, of negative numbers in two's complement.",
    _popcount,
    facts=elementwise(Cost.LONG, Rounding.NONE),
    derivative=Zero(),
    domain="whole",
    scalar=lambda b, x: b.count("popcount", x),
)
ClzOp = unary(
    "clz",
    "How many bits stand above the highest that is set: all of them in 0.",
    _clz,
    facts=elementwise(Cost.LONG, Rounding.NONE),
    derivative=Zero(),
    domain="whole",
    scalar=lambda b, x: b.count("clz", x),
)

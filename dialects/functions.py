"""Functions of floats: one row each, which all parts of the compiler read.

    Atan2 = function("atan2", meaning, np.arctan2, ...)      graph.atan2, with its types, meaning, derivative and batching
                                                             math.atan2 on scalars and vectors, and its meaning
                                                             atan2 and arctan2 in kernels; math.atan2 in captured Python
                                                             jax.lax's name

The function `atan2` under `@writer` in `lowering/llvm/math/` writes its LLVM IR; `library/numpy/ufuncs.py` has the
function of arrays. What is an expression of other scalar ops (`abs`, `sign`) is a row of `graph/unary.py` instead.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects import math
from xdsl.ir import Operation, SSAValue

from . import complex_arithmetic as parts
from .facts import Cost, OpFacts, Rounding, elementwise
from .types import COMPLEX, element_of
from .vocabulary import ErfcOp, own_function

if TYPE_CHECKING:
    from .graph.builder import GraphBuilder


@dataclass(frozen=True)
class ScalarFunction:
    """A function of one or two floats of one type, to a float of that type.

    Attributes:
        name: of the graph op, also in kernels; Python's `math` and jax.lax call it so, too.
        meaning: a sentence.
        numpy: its values on arrays; the oracle for all that computes it.
        derivative: for each operand `f(b, *operands, result)`, the slope there; none where it is 0 almost everywhere.
        facts: what passes know of the graph op.
        op: the op on scalars and vectors.
        arity: how many operands.
        in_numpy: its name in NumPy and `lamina.numpy`; "" where these have none.
        is_internal: whether only derivatives use it, so that kernels have no name for it.
    """

    name: str
    meaning: str
    numpy: Callable[..., Any]
    derivative: tuple[Callable[..., SSAValue], ...]
    facts: OpFacts
    op: type[Operation]
    arity: int
    in_numpy: str
    is_internal: bool


FUNCTIONS: dict[str, ScalarFunction] = {}
"""All rows, by their names."""


def function(
    name: str,
    meaning: str,
    numpy: Callable[..., Any],
    *,
    derivative: tuple[Callable[..., SSAValue], ...],
    facts: OpFacts,
    op: type[Operation] | None = None,
    arity: int = 1,
    in_numpy: str = "",
    is_internal: bool = False,
) -> ScalarFunction:
    """A row; without `op` the function gets an op of its own, `scalar.<name>`."""
    op = own_function(name, meaning, arity) if op is None else op
    row = ScalarFunction(name, meaning, numpy, derivative, facts, op, arity, in_numpy, is_internal)
    FUNCTIONS[name] = row
    return row


# --------------------------------------------------------------------------------------------------------------------
# Meanings and slopes


def _rsqrt(x: np.ndarray) -> np.ndarray:
    return (1 / np.sqrt(x.astype(np.longdouble))).astype(x.dtype)


_ERF = np.frompyfunc(python_math.erf, 1, 1)


def erf(x: np.ndarray) -> np.ndarray:
    return np.asarray(_ERF(x.astype(np.float64)), dtype=x.dtype)


_ERFC = np.frompyfunc(python_math.erfc, 1, 1)


def erfc(x: np.ndarray) -> np.ndarray:
    return np.asarray(_ERFC(x.astype(np.float64)), dtype=x.dtype)


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


def _tanh_derivative(b: GraphBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
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


def _erf_derivative(b: GraphBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.mul(b.full_like(x, 2 / python_math.sqrt(python_math.pi)), b.gauss(x))


def _turn(b: GraphBuilder, part: SSAValue, y: SSAValue, x: SSAValue) -> SSAValue:
    # part / (x^2 + y^2), without overflow: the larger of both is taken out of the squares; 0 where one is infinite
    size = b.max(b.abs(x), b.abs(y))
    endless, one = b.cmp(size, b.full_like(size, python_math.inf), predicate="eq"), b.full_like(size, 1)
    part, x, y, scale = (b.select(endless, one, v) for v in (part, x, y, size))
    u, v = b.div(x, scale), b.div(y, scale)
    return b.div(b.div(b.div(part, scale), b.add(b.mul(u, u), b.mul(v, v))), size)


# --------------------------------------------------------------------------------------------------------------------
# Rows


Floor = function(
    "floor",
    "Greatest integer not above `x[i]`.",
    np.floor,
    facts=elementwise(Cost.SHORT, Rounding.NONE, keeps_integers=True),
    derivative=(),
    op=math.FloorOp,
    in_numpy="floor",
)
Ceil = function(
    "ceil",
    "Least integer not below `x[i]`.",
    np.ceil,
    facts=elementwise(Cost.SHORT, Rounding.NONE, keeps_integers=True),
    derivative=(),
    op=math.CeilOp,
    in_numpy="ceil",
)
Rint = function(
    "rint",
    "Nearest integer, ties to even.",
    np.rint,
    facts=elementwise(Cost.SHORT, Rounding.NONE, keeps_integers=True),
    derivative=(),
    op=math.RoundEvenOp,
    in_numpy="rint",
)
Exp = function(
    "exp",
    "Exponential.",
    np.exp,
    facts=elementwise(Cost.LONG, on_parts=parts.exp),
    derivative=(lambda b, x, y: y,),
    op=math.ExpOp,
    in_numpy="exp",
)
Expm1 = function(
    "expm1",
    "`exp(x) - 1`, accurate near 0.",
    np.expm1,
    facts=elementwise(Cost.LONG),
    derivative=(lambda b, x, y: b.expm1_slope(x),),
    op=math.ExpM1Op,
    in_numpy="expm1",
)
Expm1Slope = function(
    "expm1_slope",
    "The exponential as the derivative of `expm1`, beside which it costs little; 0 below twice the least normal number.",
    expm1_slope,
    facts=elementwise(Cost.LONG),
    derivative=(lambda b, x, y: y,),
    is_internal=True,
)
Log = function(
    "log",
    "Natural logarithm; -inf at 0, NaN below.",
    np.log,
    facts=elementwise(Cost.LONG, on_parts=parts.log),
    derivative=(lambda b, x, y: b.div(b.full_like(x, 1), x),),
    op=math.LogOp,
    in_numpy="log",
)
Log1p = function(
    "log1p",
    "`log(1 + x)`, accurate near 0.",
    np.log1p,
    facts=elementwise(Cost.LONG),
    derivative=(lambda b, x, y: b.div(b.full_like(x, 1), b.add(x, b.full_like(x, 1))),),
    op=math.Log1pOp,
    in_numpy="log1p",
)
Sqrt = function(
    "sqrt",
    "Square root, correctly rounded; the derivative at 0 is inf.",
    np.sqrt,
    facts=elementwise(Cost.SHORT, on_parts=parts.sqrt),
    derivative=(lambda b, x, y: b.div(b.full_like(x, 0.5), y),),
    op=math.SqrtOp,
    in_numpy="sqrt",
)
Rsqrt = function(
    "rsqrt",
    "`1 / sqrt(x)`; inf at 0.",
    _rsqrt,
    facts=elementwise(Cost.LONG),
    derivative=(lambda b, x, y: b.mul(b.full_like(x, -0.5), b.div(y, x)),),
    op=math.RsqrtOp,
)
Sin = function(
    "sin",
    "Sine, of radians.",
    np.sin,
    facts=elementwise(Cost.LONG, on_parts=parts.sin),
    derivative=(lambda b, x, y: b.cos(x),),
    op=math.SinOp,
    in_numpy="sin",
)
Cos = function(
    "cos",
    "Cosine, of radians.",
    np.cos,
    facts=elementwise(Cost.LONG, on_parts=parts.cos),
    derivative=(lambda b, x, y: b.neg(b.sin(x)),),
    op=math.CosOp,
    in_numpy="cos",
)
Tan = function(
    "tan",
    "Tangent, of radians.",
    np.tan,
    facts=elementwise(Cost.LONG),
    derivative=(lambda b, x, y: b.add(b.full_like(y, 1), b.mul(y, y)),),
    op=math.TanOp,
    in_numpy="tan",
)
Atan = function(
    "atan",
    "Arc tangent, in [-pi/2, pi/2].",
    np.arctan,
    facts=elementwise(Cost.LONG),
    derivative=(lambda b, x, y: b.div(b.full_like(x, 1), b.add(b.full_like(x, 1), b.mul(x, x))),),
    op=math.AtanOp,
    in_numpy="arctan",
)
Tanh = function(
    "tanh",
    "Hyperbolic tangent.",
    np.tanh,
    facts=elementwise(Cost.LONG, on_parts=parts.tanh),
    derivative=(_tanh_derivative,),
    op=math.TanhOp,
    in_numpy="tanh",
)
Sech2 = function(
    "sech2",
    "The square of the hyperbolic secant, `1 - tanh(x)^2` without cancellation; 0 where that is no normal number.",
    sech2,
    facts=elementwise(Cost.LONG),
    derivative=(lambda b, x, y: b.mul(b.full_like(x, -2), b.mul(b.tanh(x), y)),),
    is_internal=True,
)
Erf = function(
    "erf",
    "Error function.",
    erf,
    facts=elementwise(Cost.LONG),
    derivative=(_erf_derivative,),
    op=math.ErfOp,
)
Erfc = function(
    "erfc",
    "Complement of the error function, `1 - erf(x)`, accurate until it vanishes.",
    erfc,
    facts=elementwise(Cost.LONG),
    derivative=(lambda b, x, y: b.neg(_erf_derivative(b, x, y)),),
    op=ErfcOp,
)


def _gauss_derivative(b: GraphBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    # at infinities the limit, 0
    vanishes = b.cmp(y, b.full_like(y, 0), predicate="eq")
    return b.mul(b.full_like(x, -2), b.mul(b.select(vanishes, b.full_like(x, 0), x), y))


Gauss = function(
    "gauss",
    "`exp(-x * x)`, accurate where it is small, of the exact square.",
    gauss,
    facts=elementwise(Cost.LONG),
    derivative=(_gauss_derivative,),
    is_internal=True,
)
Atan2 = function(
    "atan2",
    "The angle of the point (`rhs`, `lhs`), in [-pi, pi], with the special cases of C99 `atan2`; its slope at 0, 0 is NaN.",
    np.arctan2,
    facts=elementwise(Cost.LONG),
    derivative=(
        lambda b, y, x, z: _turn(b, x, y, x),
        lambda b, y, x, z: b.neg(_turn(b, y, y, x)),
    ),
    op=math.Atan2Op,
    in_numpy="arctan2",
    arity=2,
)

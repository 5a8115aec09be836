"""Binary elementwise ops: both operands and the result have one type."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.traits import Commutative

from .. import complex_arithmetic as parts
from ..facts import Cost, OpFacts, Rounding, elementwise
from ..functions import FUNCTIONS
from ..types import is_unsigned, scalar_of, tensor, width_of
from .base import (
    Bilinear,
    Custom,
    Derivative,
    Elementwise,
    GraphOp,
    Linear,
    Props,
    Types,
    Zero,
    require_same_element,
    require_same_shape,
)
from .elementwise import ElementwiseOp, derivative_of, joined_shape, require_domain, row

if TYPE_CHECKING:
    from ..scalar import ScalarBuilder
    from .builder import GraphBuilder


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


class CommutativeOp(BinaryOp, ABC):
    """Base of binary ops whose operands may be exchanged."""

    traits = traits_def(Commutative())


def binary(
    name: str,
    meaning: str,
    numpy: Callable[..., Any],
    *,
    facts: OpFacts,
    derivative: Derivative,
    domain: str = "number",
    commutative: bool = False,
    scalar: Callable[..., SSAValue] | None = None,
) -> type[BinaryOp]:
    """The op `graph.<name>`; `scalar` is its scalar expression where that is not the function of its name."""
    base = CommutativeOp if commutative else BinaryOp
    rules = ("Both operands have one element type.", "Both operands have one shape.")
    return row(base, name, meaning, numpy, derivative, domain, facts, scalar, "%a, %b", rules)


def _divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """True division of floats; integers truncate toward zero, wrap at the minimum, and give 0 over 0."""
    if x.dtype.kind in "fc":
        return np.divide(x, y)
    quotient = np.floor_divide(x, y)  # the quotient is 0 where y is 0, and the minimum for minimum / -1
    inexact = (quotient * y != x) & (y != 0)
    return quotient + (inexact & ((x < 0) != (y < 0))).astype(x.dtype)


def _power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Powers; integers wrap, a negative exponent gives the quotient toward zero, and 0 for 0."""
    if x.dtype.kind != "i":
        return np.power(x, y)
    of_unit = np.where((x == -1) & (y & 1 == 1), x, 1)
    of_negative = np.where((x == 1) | (x == -1), of_unit, 0).astype(x.dtype)
    return np.where(y < 0, of_negative, np.power(x, np.maximum(y, 0)))


def _power_scalar(b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    element = scalar_of(x.type)
    if not is_unsigned(element):
        return b.binary("pow", x, y)
    # an odd number to the power of the uppermost bit is 1, an even one 0
    width = width_of(element)
    signed = IntegerType(width)
    low = b.binary("and", y, b.const((1 << (width - 1)) - 1, y.type))
    power = b.bitcast(b.binary("pow", b.bitcast(x, signed), b.bitcast(low, signed)), element)
    even = b.cmp("eq", b.binary("and", x, b.const(1, x.type)), b.const(0, x.type))
    vanishes = b.binary("and", even, b.cmp("ne", y, low))
    return b.select(vanishes, b.const(0, x.type), power)


def _pow_factor_x(b: GraphBuilder, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    # d/dx x**y = y * x**(y-1). Where both are 0 the base is taken as 1, so that this is 0 and not 0 * inf; at y = 0 alone it is
    # 0 by the product, which keeps its slope in y. An infinite exponent is left out where its power is 0, which is the limit.
    zero, one = b.full_like(x, 0), b.full_like(x, 1)
    origin = b.and_(b.cmp(x, zero, predicate="eq"), b.cmp(y, zero, predicate="eq"))
    power = b.pow(b.select(origin, one, x), b.sub(y, one))
    return b.mul(b.select(_is_zero_beside_endless(b, power, y), one, y), power)


def _pow_factor_y(b: GraphBuilder, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    # d/dy x**y = log(x) * x**y, and 0 at x = 0 (where y > 0 this is the limit), and where x is infinite and the power 0
    zero, one = b.full_like(x, 0), b.full_like(x, 1)
    flat = b.or_(b.cmp(x, zero, predicate="eq"), _is_zero_beside_endless(b, z, x))
    return b.mul(b.log(b.select(flat, one, x)), z)


def _is_zero_beside_endless(b: GraphBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    # y - y is NaN at infinities, of complex numbers, too; at NaN the power is none that is 0
    zero = b.full_like(x, 0)
    return b.and_(b.cmp(x, zero, predicate="eq"), b.cmp(b.sub(y, y), zero, predicate="ne"))


def _chosen(b: GraphBuilder, x: SSAValue, y: SSAValue, predicate: str) -> SSAValue:
    # max and min: the slope of the chosen operand; a tie splits evenly, as the subgradient of least norm
    one, half, zero = b.full_like(x, 1), b.full_like(x, 0.5), b.full_like(x, 0)
    chosen = b.select(b.cmp(x, y, predicate=predicate), one, zero)
    return b.select(b.cmp(x, y, predicate="eq"), half, chosen)


def _jvp_div(b: GraphBuilder, op: GraphOp, tangents: Sequence[SSAValue | None]) -> Sequence[SSAValue | None]:
    # linear in the numerator; d(x/y) = (dx - (x/y) dy) / y
    dx, dy = tangents
    parts = [] if dx is None else [dx]
    parts += [] if dy is None else [b.neg(b.mul(dy, op.results[0]))]
    return [b.div(reduce(b.add, parts), op.operands[1])]


AddOp = binary(
    "add",
    "Sum; integers wrap.",
    np.add,
    facts=elementwise(Cost.LOAD, Rounding.TERMS, on_parts="each", symbol="+"),
    derivative=Linear(lambda b, op, k, ct: ct, sparse=lambda b, tangents: tangents[tangents[0] is None]),
    commutative=True,
)
SubOp = binary(
    "sub",
    "Difference; integers wrap.",
    np.subtract,
    facts=elementwise(Cost.LOAD, Rounding.TERMS, on_parts="each", symbol="-"),
    derivative=Linear(
        lambda b, op, k, ct: ct if k == 0 else b.neg(ct),
        sparse=lambda b, tangents: b.neg(tangents[1]) if tangents[0] is None else tangents[0],
    ),
)
MulOp = binary(
    "mul",
    "Product; integers wrap.",
    np.multiply,
    facts=elementwise(Cost.LOAD, on_parts=parts.multiply, symbol="*"),
    derivative=Bilinear(lambda b, op, k, ct: b.mul(ct, op.operands[1 - k])),
    commutative=True,
)
DivOp = binary(
    "div",
    "Quotient. Integers truncate toward zero; `x / 0` is 0 and `minimum / -1` wraps.",
    _divide,
    facts=elementwise(Cost.SHORT, on_parts=parts.divide, symbol="/"),
    derivative=Custom(_jvp_div, transpose=lambda b, op, k, ct: b.div(ct, op.operands[1]), linear=(0,)),
)
# the quotient that was taken is (x - z) / y, exactly: x / y may round up to the next integer
RemOp = binary(
    "rem",
    "`x - trunc(x / y) * y`, exact, with the sign of `x`; integers give 0 over 0.",
    np.fmod,
    facts=elementwise(Cost.LONG, Rounding.NONE),
    derivative=Elementwise(lambda b, x, y, z: b.full_like(x, 1), lambda b, x, y, z: b.neg(b.rint(b.div(b.sub(x, z), y)))),
)
PowOp = binary(
    "pow",
    "`lhs ** rhs` with the special cases of C99 `pow`. Integers wrap; to a negative power 1 and -1 are units, others give 0.",
    _power,
    facts=elementwise(Cost.LONG, on_parts=parts.power, symbol="**"),
    derivative=Elementwise(_pow_factor_x, _pow_factor_y),
    scalar=_power_scalar,
)
MaxOp = binary(
    "max",
    "Maximum; NaN if either is NaN. The derivative of a tie is split evenly.",
    np.maximum,
    facts=elementwise(Cost.LOAD, Rounding.NONE),
    derivative=Elementwise(lambda b, x, y, z: _chosen(b, x, y, "gt"), lambda b, x, y, z: _chosen(b, x, y, "lt")),
    domain="any",
    commutative=True,
)
MinOp = binary(
    "min",
    "Minimum; NaN if either is NaN. The derivative of a tie is split evenly.",
    np.minimum,
    facts=elementwise(Cost.LOAD, Rounding.NONE),
    derivative=Elementwise(lambda b, x, y, z: _chosen(b, x, y, "lt"), lambda b, x, y, z: _chosen(b, x, y, "gt")),
    domain="any",
    commutative=True,
)
AndOp = binary(
    "and",
    "Bitwise and; logical for i1.",
    np.bitwise_and,
    facts=elementwise(Cost.LOAD, Rounding.NONE, symbol="&"),
    derivative=Zero(),
    domain="integer",
    commutative=True,
)
OrOp = binary(
    "or",
    "Bitwise or; logical for i1.",
    np.bitwise_or,
    facts=elementwise(Cost.LOAD, Rounding.NONE, symbol="|"),
    derivative=Zero(),
    domain="integer",
    commutative=True,
)
XorOp = binary(
    "xor",
    "Bitwise exclusive or; logical for i1.",
    np.bitwise_xor,
    facts=elementwise(Cost.LOAD, Rounding.NONE, symbol="^"),
    derivative=Zero(),
    domain="integer",
    commutative=True,
)
ShlOp = binary(
    "shl",
    "`lhs * 2 ** rhs`, wrapping: bits move up and zeros follow. An amount outside of [0, bits) leaves 0, as in NumPy.",
    np.left_shift,
    facts=elementwise(Cost.SHORT, Rounding.NONE, symbol="<<"),
    derivative=Zero(),
    domain="whole",
)
ShrOp = binary(
    "shr",
    """`floor(lhs / 2 ** rhs)`: bits move down, the sign, or zero if unsigned, follows.

An amount outside of [0, bits) leaves nothing but signs, as in NumPy: -1 for negative numbers, else 0.""",
    np.right_shift,
    facts=elementwise(Cost.SHORT, Rounding.NONE, symbol=">>"),
    derivative=Zero(),
    domain="whole",
)

OF_FUNCTIONS = [
    binary(row.name, row.meaning, row.numpy, facts=row.facts, derivative=derivative_of(row), domain="float")
    for row in FUNCTIONS.values()
    if row.arity == 2
]
"""The ops of the functions of `dialects/functions.py`."""

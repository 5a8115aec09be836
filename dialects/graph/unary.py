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

from ..facts import Cost, OpFacts, Rounding, elementwise
from ..functions import FUNCTIONS
from . import erf_inv
from .base import Derivative, Elementwise, Linear, Props, Types, Zero
from .elementwise import ElementwiseOp, derivative_of, require_domain, row

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


def _unsigned(x: np.ndarray) -> np.ndarray:
    """The bits of integers."""
    return x.view(np.dtype(f"u{x.dtype.itemsize}"))


def _popcount(x: np.ndarray) -> np.ndarray:
    return np.bitwise_count(_unsigned(x)).astype(x.dtype)


def _clz(x: np.ndarray) -> np.ndarray:
    bits = _unsigned(x)
    return np.equal(bits[..., None] >> np.arange(8 * x.dtype.itemsize, dtype=bits.dtype), 0).sum(-1).astype(x.dtype)


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

OF_FUNCTIONS = [
    unary(row.name, row.meaning, row.numpy, facts=row.facts, derivative=derivative_of(row))
    for row in FUNCTIONS.values()
    if row.arity == 1
]
"""The ops of the functions of `dialects/functions.py`."""

"""The slopes of scalar ops: how a change of an operand changes the result, and the other way round.

A rule gives for each operand how a tangent passes to the result and a cotangent back to the operand, which is the same product
with the slope. Functions of floats take theirs from `dialects/functions.py`, as graph ops do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Operation, SSAValue

from ...dialects import vocabulary
from ...dialects.functions import FUNCTIONS
from ...dialects.graph.binary import PowOp, RemOp
from ...dialects.graph.unary import AbsOp
from ...dialects.operations import append
from ...dialects.scalar import ScalarBuilder
from ...dialects.types import is_float

Pass = Callable[["SlopeBuilder", SSAValue, Sequence[SSAValue], SSAValue | None], SSAValue]
"""`(b, change, operands, result)`: the change times the slope."""


class SlopeBuilder(ScalarBuilder):
    """A builder of scalars with the methods that slopes of graph ops use."""

    def insert_op(self, op: Operation) -> None:
        """Append an op, with the location of the builder unless it has one."""
        if self.location is not None and op.location == UNKNOWN_LOC:
            op.location = self.location
        append(self.block, op)

    def full_like(self, x: SSAValue, value: float) -> SSAValue:
        return self.const(value, x.type)

    def and_(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.binary("and", x, y)

    def cmp(self, predicate: Any, x: SSAValue, y: Any = None) -> SSAValue:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().cmp(predicate, x, y)

    def __getattr__(self, name: str) -> Callable[..., SSAValue]:
        if name not in FUNCTIONS and name != "pow":
            raise AttributeError(name)
        return lambda *operands: self.unary(name, *operands) if len(operands) == 1 else self.binary(name, *operands)


class _OfGraph:
    """`SlopeBuilder` as slopes of graph ops call it: comparisons take their predicate by name."""

    def __init__(self, b: SlopeBuilder):
        self._b = b

    def cmp(self, x: SSAValue, y: SSAValue, *, predicate: str) -> SSAValue:
        return self._b.cmp(predicate, x, y)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._b, name)


@dataclass(frozen=True)
class Slope:
    """How one operand takes part.

    Attributes:
        through: the change times the slope.
        values: whether the slope needs the operands, and whether it needs the result.
    """

    through: Pass
    needs_operands: bool = True
    needs_result: bool = False


_SAME = Slope(lambda b, d, xs, r: d, needs_operands=False)
_MINUS = Slope(lambda b, d, xs, r: b.neg(d), needs_operands=False)


def _factor(factor: Callable[..., SSAValue], needs_result: bool = True) -> Slope:
    return Slope(lambda b, d, xs, r: b.mul(d, factor(_OfGraph(b), *xs, r)), needs_result=needs_result)


def _by_choice(predicate: str) -> Slope:
    """The slope of `max` and `min`: 1 for what is chosen, 1/2 for each of a tie."""

    def through(b: SlopeBuilder, d: SSAValue, xs: Sequence[SSAValue], r: SSAValue | None) -> SSAValue:
        x, y = xs
        zero = b.const(0.0, d.type)
        rest = b.select(b.cmp("eq", x, y), b.mul(d, b.const(0.5, d.type)), zero)
        return b.select(b.cmp(predicate, x, y), d, rest)

    return Slope(through)


def _swapped(slope: Slope) -> Slope:
    return Slope(lambda b, d, xs, r: slope.through(b, d, (xs[1], xs[0]), r))


def _quotient(b: SlopeBuilder, d: SSAValue, xs: Sequence[SSAValue], r: SSAValue | None) -> SSAValue:
    assert r is not None
    return b.neg(b.mul(b.div(d, xs[1]), r))


_BY_TYPE: dict[type[Operation], Sequence[Slope | None]] = {
    arith.AddfOp: (_SAME, _SAME),
    arith.SubfOp: (_SAME, _MINUS),
    arith.NegfOp: (_MINUS,),
    arith.MulfOp: tuple(Slope(lambda b, d, xs, r, k=k: b.mul(d, xs[1 - k])) for k in range(2)),
    arith.DivfOp: (Slope(lambda b, d, xs, r: b.div(d, xs[1])), Slope(_quotient, needs_result=True)),
    arith.MaximumfOp: (_by_choice("gt"), _swapped(_by_choice("gt"))),
    arith.MinimumfOp: (_by_choice("lt"), _swapped(_by_choice("lt"))),
    math.FmaOp: (*(Slope(lambda b, d, xs, r, k=k: b.mul(d, xs[1 - k])) for k in range(2)), _SAME),
    math.AbsFOp: (_factor(AbsOp.derivative.factors[0]),),  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
    math.PowFOp: tuple(_factor(f) for f in PowOp.derivative.factors),  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
    vocabulary.RemFOp: (_SAME, _factor(RemOp.derivative.factors[1])),  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
    **{row.op: tuple(_factor(f) for f in row.derivative) for row in FUNCTIONS.values() if row.derivative},
    math.TanhOp: (_factor(lambda b, x, y: b.sech2(x), needs_result=False),),
    vocabulary.SelectOp: (
        None,
        Slope(lambda b, d, xs, r: b.select(xs[0], d, b.const(0.0, d.type))),
        Slope(lambda b, d, xs, r: b.select(xs[0], b.const(0.0, d.type), d)),
    ),
    vocabulary.ExtFOp: (Slope(lambda b, d, xs, r: d, needs_operands=False),),
    vocabulary.TruncFOp: (Slope(lambda b, d, xs, r: d, needs_operands=False),),
}
CONVERSIONS = (vocabulary.ExtFOp, vocabulary.TruncFOp)
"""Their changes are converted, as values are, or back."""


def slopes_of(op: Operation) -> Sequence[Slope | None]:
    """The slopes of an op by its operands; none where all are 0: results that are no floats, steps, what takes no floats."""
    if not op.results or not is_float(op.results[0].type):
        return ()
    return _BY_TYPE.get(type(op), ())


def has_slopes(op: Operation) -> bool:
    """Whether an op is known: it has slopes, or they are 0."""
    return type(op) in _BY_TYPE or not op.results or not is_float(op.results[0].type) or type(op) in _STEPS


_STEPS = {row.op for row in FUNCTIONS.values() if not row.derivative} | {
    vocabulary.SIToFPOp,
    vocabulary.UIToFPOp,
    vocabulary.ConstantOp,
    arith.BitcastOp,
}

"""Approximate costs of scalar ops: instructions, in units of an addition or a multiply-add, and cycles until the result."""

from __future__ import annotations

from xdsl.dialects.builtin import Float64Type, VectorType
from xdsl.ir import Operation

from ..codegen.targets import Target
from ..dialects.scalar_facts import facts_of
from ..dialects.types import is_float, scalar_of


def instructions(op: Operation, target: Target | None = None) -> float:
    """The instructions of an op on scalars on a target, or on any machine: rules that hold on all count without a target.

    Ops that wait for a divider, and polynomials, have costs from the target (`div`, `sqrt`, `exp`).
    """
    facts = facts_of(op)
    if target is None or not facts.unit:
        return facts.instructions
    type = op.results[0].type
    element = type.element_type if isinstance(type, VectorType) else type
    return float(getattr(target, facts.unit)[isinstance(element, Float64Type)])


_SLOW = {"div": 14.0, "sqrt": 18.0, "exp": 40.0}
"""Cycles of an op by the unit that computes it."""
_FLOAT = 4.0
"""Cycles of an addition or a multiplication of floats."""


def latency(op: Operation) -> float:
    """Cycles from the operands of an op on scalars to its result, about the same on all processors of today."""
    facts = facts_of(op)
    if facts.instructions == 0 or not op.results:
        return 0.0
    if facts.unit:
        return _SLOW[facts.unit]
    return facts.latency or (_FLOAT if is_float(scalar_of(op.results[0].type)) else facts.instructions)

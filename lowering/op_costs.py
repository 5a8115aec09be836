"""Approximate instruction counts of scalar ops, in units of an addition or a multiply-add."""

from __future__ import annotations

from xdsl.dialects.builtin import Float64Type, VectorType
from xdsl.ir import Operation

from ..codegen.targets import Target
from ..dialects.scalar_facts import facts_of


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

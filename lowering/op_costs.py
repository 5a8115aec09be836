"""Approximate instruction counts of scalar ops, in units of an addition or a multiply-add.

Ops that wait for a divider, and polynomials, have costs from the target (`div`, `sqrt`, `exp`). Rules of the schedule language,
which hold on every machine, count without a target.
"""

from __future__ import annotations

from xdsl.dialects.builtin import Float64Type, VectorType
from xdsl.ir import Operation

from ..codegen.targets import Target
from ..dialects.scalar_ops import is_function

CHEAP_MATH = frozenset(("math.absf", "math.absi", "math.floor", "math.ceil", "math.roundeven", "math.fma", "math.copysign"))
"""Functions of one or two instructions."""

INTEGER_DIVISIONS = frozenset(("arith.divsi", "arith.remsi", "arith.divui", "arith.remui"))
"""Ops without vector instructions."""

_FIXED = {
    "arith.constant": 0.0,
    "arith.index_cast": 0.0,
    "arith.bitcast": 0.0,
    "arith.remf": 20.0,
    **dict.fromkeys(INTEGER_DIVISIONS, 20.0),
    **dict.fromkeys(CHEAP_MATH, 1.0),
}
_EVERYWHERE = {"div": 5.0, "sqrt": 5.0, "exp": 20.0}
_KINDS = {"arith.divf": "div", "math.sqrt": "sqrt"}


def weight(op: Operation, target: Target | None = None) -> float:
    """The instructions of a scalar op on a target, or on a generic machine."""
    fixed = _FIXED.get(op.name)
    if fixed is not None:
        return fixed
    kind = _KINDS.get(op.name) or ("exp" if is_function(op) else None)
    if kind is None:
        return 1.0
    if target is None:
        return _EVERYWHERE[kind]
    type = op.results[0].type
    element = type.element_type if isinstance(type, VectorType) else type
    return float(getattr(target, kind)[isinstance(element, Float64Type)])

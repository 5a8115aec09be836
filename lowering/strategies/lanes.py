"""Loops left over by other strategies are vectorized where the cost model predicts a gain.

Their kinds declare that their iterations are independent or that their terms may be added in any order.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, YieldOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ..analysis.facts import kept
from ..analysis.lanes import lane_stride, varying_values
from ..analysis.nests import name_of, ops_in, walk
from ..costs import Costs, Plan
from ..schedule.vectorize import Vectorize
from ..widening import is_lanewise
from .base import Take


def plan_lanes(nest: ForOp, target: Target) -> list[Vectorize]:
    """The primitives that vectorize the loops of a nest at the least cost."""
    return [Vectorize(name_of(loop), lanes) for loop, lanes in cheapest(nest, target).widened]


def schedule_lanes(plan: list[Vectorize], take: Take) -> None:
    """Widen loops."""
    for step in plan:
        take(step)


@kept
def cheapest(nest: ForOp, target: Target) -> Plan:
    """The cheapest vectorization of a nest, over the loops that can be widened."""
    if not any(map(can_widen, ops_in(nest, ForOp))):
        return Plan(0.0, [])  # a single alternative, whatever it costs
    return Costs(target, can_widen).plan(nest)


@kept
def can_widen(loop: ForOp) -> bool:
    """Whether a loop may be widened by its kind and its bounds, and its body is worth widening for any data."""
    declared = loop.kind.data in ("parallel", "reduce") and loop.step.value.data == 1 and loop.constant_bounds() is not None
    if not declared or (loop.trip_count() or 0) < 2:
        return False
    if any([op.lanes != 1 for op in ops_in(loop.body.block, LoadOp, StoreOp)]):
        return False
    varying = varying_values(loop)
    return all(_is_regular(op, loop, varying) for op in walk(loop.body.block))


def _is_regular(op: Operation, loop: ForOp, varying: set[SSAValue]) -> bool:
    """Whether an op has a vector form without gathers, conditions and lanes of different trip counts."""
    if isinstance(op, LoadOp | StoreOp):
        stride = lane_stride(op, loop.index)
        if stride is None or (isinstance(op, StoreOp) and stride[1] == 0):
            return False
        return not any([i in varying and i is not loop.index for i in op.indices])
    if isinstance(op, ForOp):
        return op.kind.data != "vector" and not any(v in varying for v in (*op.lower_operands, *op.upper_operands))
    return isinstance(op, YieldOp) or is_lanewise(op)

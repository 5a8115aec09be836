"""The work of parallel loops, and whether it is worth threads."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Block, Operation
from xdsl.ir.affine import AffineConstantExpr

from ...dialects.loop import grain
from ...dialects.loop.loops import ForOp, IfOp, WhileOp, YieldOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.operations import ops_of
from ...dialects.types import sizes_of
from ..op_costs import instructions
from .bounds import constant_extent
from .facts import kept

_ACCESSES = (LoadOp, StoreOp)

EXPENSIVE = 20.0
"""Operations counted for an elementary function."""
LANES_AT_ONCE = 4
"""Scalars counted for a vector instruction, at least: vectors do their work faster than loops of scalars."""


def worth_threads(op: ForOp, least: float | None = None) -> bool:
    """Whether a parallel loop may be large enough: of unknown trip count, or with enough work."""
    trips = op.trip_count()
    work = run_cost(op.body.block)
    enough = math.isinf(work) or (trips or 0) * work >= (grain.WORTH_OPS if least is None else least)
    return not op.results and (trips is None or (trips > 1 and enough))


def most_trips(loop: ForOp) -> int | None:
    """The greatest trip count, where the bounds determine one: 8 for `0 to min(8, %N - %i)`."""
    lows = [e.value for e in loop.lower.data.results if isinstance(e, AffineConstantExpr)]
    highs = [e.value for e in loop.upper.data.results if isinstance(e, AffineConstantExpr)]
    if not lows:  # as of loops that pad panels, which begin where a row ends
        return constant_extent(loop)
    return max(0, -(-(min(highs) - max(lows)) // loop.step.value.data)) if highs else None


def run_cost(block: Block) -> float:
    """Operations of one run of a block, in units of scalar ones; infinite when a loop in it is unknown."""
    return sum([op_cost(op) for op in ops_of(block)])


def op_cost(op: Operation) -> float:
    """Operations of one run of an op."""
    if op.regions:
        return _cost_inside(op)
    return 0.0 if type(op) is YieldOp else plain_cost(op)


@kept
def _cost_inside(op: Operation) -> float:
    if isinstance(op, ForOp):
        trips = most_trips(op)
        return math.inf if trips is None else trips * (run_cost(op.body.block) + _combining(op))
    if isinstance(op, WhileOp):
        return math.inf
    if isinstance(op, IfOp):
        return sum(run_cost(block) for region in op.regions for block in region.blocks)
    return plain_cost(op)


def _combining(loop: ForOp) -> float:
    """Operations that combine an iteration's contribution to a reduction with the previous ones."""
    return sum(_per_lane(result.type) for result in loop.results) if loop.monoid is not None else 0.0


def _per_lane(type: Attribute) -> float:
    lanes = sizes_of(type)[0] if isinstance(type, VectorType) else 1
    return float(-(-lanes // LANES_AT_ONCE))


def plain_cost(op: Operation) -> float:
    """Operations counted for one op without regions."""
    if type(op) in _ACCESSES:
        assert isinstance(op, LoadOp | StoreOp)
        return float(-(-op.lanes // LANES_AT_ONCE) if "along" not in op.properties else op.lanes)  # or one by one
    return instructions(op) * max([_per_lane(r._type) for r in op.results], default=1.0)

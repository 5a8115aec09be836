"""Estimated scalar operations of a call, which decide whether threads are worth waking."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.ir import Block, SSAValue

from ..dialects.graph.base import CompositeOp, GraphOp
from ..dialects.loop.loops import ForOp, WhileOp
from ..dialects.sizes.polynomial import expected_size
from ..dialects.types import shape_of

UNKNOWN_TRIPS = 16
"""Assumed trip count of a loop of a handwritten kernel whose bounds depend on other loops or on data."""


def launch_work(body: Block) -> int:
    """Estimated scalar operations of one run of a fusion body: points of equations, elements of other nests."""
    return sum(launch_work_of_op(op) for op in body.ops if isinstance(op, GraphOp))


def launch_work_of_op(op: GraphOp) -> int:
    """Estimated scalar operations of one op: for a composite, one for each element of its operands and results."""
    elements = _elements(op) if op.has_nest or isinstance(op, CompositeOp) else 0
    return elements + sum(_points(equation.space) for equation in op.equations())


def _elements(op: GraphOp) -> int:
    return sum(_points(shape_of(value)) for value in (*op.operands, *op.results))


def _points(sizes: Sequence[Any]) -> int:
    return prod([size if isinstance(size, int) else expected_size(size) for size in sizes])


def launch_work_of_kernel(block: Block, sizes: dict[SSAValue, int]) -> int:
    """Estimated scalar operations of one run of a block of a handwritten kernel."""
    total = 0
    for op in block.ops:
        inner = [launch_work_of_kernel(inside, sizes) for region in op.regions for inside in region.blocks]
        trips = UNKNOWN_TRIPS if isinstance(op, ForOp | WhileOp) else 1
        if isinstance(op, ForOp) and all(v in sizes for v in (*op.lower_operands, *op.upper_operands)):
            lower = max(op.lower.data.eval([sizes[v] for v in op.lower_operands], []))
            upper = min(op.upper.data.eval([sizes[v] for v in op.upper_operands], []))
            trips = max(0, -(-(upper - lower) // op.step.value.data))
        total += trips * max(sum(inner), 1)
    return total

"""Costs of fusion: how often an element may be computed, the capacity of caches, the schedules that a kernel allows.

Nothing here decides legality; `_fusion_legality.py` does. All figures are the same for every target, so that a graph has the
same kernels everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from xdsl.ir import Operation, SSAValue

from ..dialects.facts import Cost
from ..dialects.graph.base import Equation
from ..dialects.graph.choose import ConvertOp
from ..dialects.graph.elementwise import ElementwiseOp
from ..dialects.types import element_of, shape_of, width_of
from ..thresholds import number
from ._fusion_groups import ComputePoint, Group, Groups
from ._fusion_legality import is_movable, is_product, writes_nest

MAX_WORK = number("transforms.fusion_costs.MAX_WORK")
MANY = number("transforms.fusion_costs.MANY")
MAX_POINTS = number("transforms.fusion_costs.MAX_POINTS")
FEW_TIMES = number("transforms.fusion_costs.FEW_TIMES")
LARGE = number("transforms.fusion_costs.LARGE")
SHORT_BYTES = number("transforms.fusion_costs.SHORT_BYTES")
COLUMN_BYTES = number("transforms.fusion_costs.COLUMN_BYTES")
ROW_BYTES = number("transforms.fusion_costs.ROW_BYTES")
BLOCK_BYTES = number("transforms.fusion_costs.BLOCK_BYTES")
FEW = number("transforms.fusion_costs.FEW")


def code_size(op: Operation) -> int:
    """The approximate code size of an op."""
    if is_movable(op):
        return 0
    return 1 if isinstance(op, ElementwiseOp) and op.facts.cost <= Cost.SHORT else MANY


def is_full(group: Group, op: Operation) -> bool:
    """Whether a group has no room for an op."""
    return group.work >= MAX_WORK and not is_movable(op)


def may_repeat(op: Operation) -> int:
    """The number of times that one element of the result of an op may be computed."""
    if not isinstance(op, ConvertOp):
        return 1
    widens = width_of(element_of(op.x)) < width_of(element_of(op.y))
    return FEW_TIMES if widens and prod(shape_of(op.y)) >= LARGE else 1


def repeated(points: Iterable[ComputePoint], op: Operation) -> ComputePoint | None:
    """The innermost of the compute-at points where `op` would be computed too often."""
    found = [point for point in points if point.repeats() > may_repeat(op)]
    return max(found, key=lambda point: (len(point.used()), sorted(point.used())), default=None)


def is_cheap(op: Operation) -> bool:
    """Whether recomputing an element for each of the few blocks that copy it is no loss."""
    return isinstance(op, ElementwiseOp) and op.facts.cost <= Cost.LOAD


def keeps_schedules(op: Operation, group: Group, reads: Iterable[tuple[Equation, ComputePoint]], groups: Groups) -> bool:
    """Whether the sums of a group keep their schedules when it computes an op that is read so.

    A matmul has its schedule alone: rows of two of them would be read again for each element. Ops that contract, reduce or
    gather cannot be part of the terms of a sum, nor of a prologue.
    """
    if groups.equations[op][0].n_reduce:
        sums = [groups.equations[op][0], *groups.sums(group)]
        if len(sums) > 1 and any(map(is_product, sums)):
            return False
    if isinstance(op, ElementwiseOp) and (group.nest is None or is_cheap(op)):
        return True
    in_terms = not isinstance(op, ElementwiseOp) and any(e.n_reduce and len(e.reads) > 1 for e, _ in reads)
    return not in_terms and not any(isinstance(point.stored_first(), ElementwiseOp) for _, point in reads)


def is_evaluated_once(op: Operation, group: Group, points: set[ComputePoint], groups: Groups) -> bool:
    """Whether a group computes a contraction, and its epilogue, at one point: a second evaluation would double the work."""
    equation = groups.equations[op][0]
    contraction = equation.monoid is not None and len(equation.reads) > 1
    if contraction and (
        group.root is None or {point.without_unit_dims() for point in points} != {group.root.without_unit_dims()}
    ):
        return False
    return len(points) == 1 or not _ends_contraction(op, groups)


def _ends_contraction(op: Operation, groups: Groups) -> bool:
    """Whether elementwise ops of one use lead from a contraction to `op`."""
    work, seen = [op], 0
    while work and seen < MAX_WORK:
        seen += 1
        current = work.pop()
        equations = groups.loop_form(current)
        if len(equations) != 1 or (current is not op and len(list(current.results[0].uses)) > 1):
            continue
        if equations[0].n_reduce:
            if len(equations[0].reads) > 1:
                return True
            continue
        work.extend(o.owner for o in current.operands if isinstance(o.owner, Operation) and not is_movable(o.owner))
    return False


def follows_reduction(op: Operation, groups: Groups) -> bool:
    """Whether an op is the epilogue of a reduction, or of an op with a loop nest of its own, through elementwise ops alone."""
    work, seen = [op], set[Operation]()
    while work:
        current = work.pop()
        if current in seen:
            continue
        seen.add(current)
        if writes_nest(current) or any(equation.n_reduce for equation in groups.loop_form(current)):
            return True
        if isinstance(current, ElementwiseOp) or is_movable(current):
            work.extend(operand.owner for operand in current.operands if isinstance(operand.owner, Operation))
    return False


def rereads(op: Operation, root: Operation, groups: Groups) -> bool:
    """Whether a reduction that leads to `op` also reads the root's operand, all of it."""
    whole = prod(shape_of(root.results[0]))
    read = {v for v in _leads_to(root.results[0]) if prod(shape_of(v)) == whole}
    sums = [v.owner for v in _leads_to(op.results[0]) if any(e.n_reduce for e in groups.loop_form(v.owner))]
    return any(v in read for found in sums for operand in found.operands for v in _leads_to(operand))  # pyright: ignore[reportAttributeAccessIssue]


def _leads_to(value: SSAValue) -> dict[SSAValue, None]:
    """The values that lead to one through elementwise ops and ops that only move elements, and that one."""
    found: dict[SSAValue, None] = {}
    work = [value]
    while work:
        current = work.pop()
        if current not in found:
            found[current] = None
            if isinstance(current.owner, ElementwiseOp) or (isinstance(current.owner, Operation) and is_movable(current.owner)):
                work.extend(current.owner.operands)
    return found


def stay_in_cache(result: SSAValue, kept: frozenset[int]) -> bool:
    """Whether passes over the columns of a result, one for each index of the dims `kept`, read it from a cache.

    There must be enough columns for threads, and enough that is contiguous for vectors.
    """
    shape, element = shape_of(result), -(-width_of(element_of(result)) // 8)
    are_neighbours = len(shape) - 1 in kept
    first = next((dim + 1 for dim in reversed(range(len(shape))) if (dim in kept) != are_neighbours), 0)
    run = prod(shape[first:])
    columns = prod(size for dim, size in enumerate(shape) if dim in kept)
    column = element * prod(shape) // max(1, columns)
    if are_neighbours:
        side_by_side = max(1, min(run, ROW_BYTES // element))
        fits, parts = column * side_by_side <= BLOCK_BYTES, columns // side_by_side
    else:
        fits, parts = column <= COLUMN_BYTES, columns
    return fits and run * element >= SHORT_BYTES and (parts >= FEW or element * prod(shape) <= COLUMN_BYTES)

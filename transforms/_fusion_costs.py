"""What pays in a kernel: how often an element may be computed, what caches keep, which schedules a kernel leaves room for.

Nothing here says what is legal; `_fusion_legality.py` does. All figures are the same for every target, so that a graph has the
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
from ._fusion_groups import Group, Groups, Place
from ._fusion_legality import is_movable, is_product, writes_nest

MAX_WORK = 512
"""What a group computes, by `code_size`: keeps basic blocks below the size where code generation turns superlinear."""

MANY = 8
"""What an op counts that takes more than an instruction or two: a function, or one with loops of its own."""

MAX_PLACES = 8
"""Places a value is computed at in one kernel, before it is better kept in memory."""

FEW_TIMES = 64
"""How often a contraction may convert the same element of a large operand."""

LARGE = 1 << 19
"""Elements of an operand that caches do not hold once it is converted."""

SHORT_BYTES = 128
"""Contiguous bytes that are worth reading out of their order."""

COLUMN_BYTES = 1 << 20
"""Bytes of a column of long pieces that caches keep from one pass over it to the next."""

ROW_BYTES, BLOCK_BYTES = 256, 128 << 10
"""Columns that are neighbours run side by side: bytes of their rows, and of all rows, each in another place of the caches."""

FEW = 8
"""Parts of a kernel that many threads cannot share."""


def code_size(op: Operation) -> int:
    """About how much code an op becomes."""
    if is_movable(op):
        return 0
    return 1 if isinstance(op, ElementwiseOp) and op.facts.cost <= Cost.SHORT else MANY


def is_full(group: Group, op: Operation) -> bool:
    """Whether a group has no room for an op."""
    return group.work >= MAX_WORK and not is_movable(op)


def may_repeat(op: Operation) -> int:
    """How often the same element of the result of an op may be computed."""
    if not isinstance(op, ConvertOp):
        return 1
    widens = width_of(element_of(op.x)) < width_of(element_of(op.y))
    return FEW_TIMES if widens and prod(shape_of(op.y)) >= LARGE else 1


def repeated(places: Iterable[Place], op: Operation) -> Place | None:
    """Of the places where `op` would be computed too often, the one furthest in."""
    found = [place for place in places if place.repeats() > may_repeat(op)]
    return max(found, key=lambda place: (len(place.used()), sorted(place.used())), default=None)


def is_cheap(op: Operation) -> bool:
    """Whether to compute an element again for each of the few blocks that copy it is no loss."""
    return isinstance(op, ElementwiseOp) and op.facts.cost <= Cost.LOAD


def keeps_schedules(op: Operation, group: Group, reads: Iterable[tuple[Equation, Place]], groups: Groups) -> bool:
    """Whether the sums of a group still have their schedules when it computes an op that is read so.

    A product of matrices has its schedule alone: rows of two of them would be read again for each element. What contracts,
    reduces or gathers is no part of the terms of a sum, nor of what is stored before it.
    """
    if groups.equations[op][0].n_reduce:
        sums = [groups.equations[op][0], *groups.sums(group)]
        if len(sums) > 1 and any(map(is_product, sums)):
            return False
    if isinstance(op, ElementwiseOp) and (group.nest is None or is_cheap(op)):
        return True
    in_terms = not isinstance(op, ElementwiseOp) and any(e.n_reduce and len(e.reads) > 1 for e, _ in reads)
    return not in_terms and not any(isinstance(place.stored_first(), ElementwiseOp) for _, place in reads)


def is_evaluated_once(op: Operation, group: Group, places: set[Place], groups: Groups) -> bool:
    """Whether a group computes a contraction, and what ends one, at one point: a second evaluation would double the work."""
    equation = groups.equations[op][0]
    contraction = equation.monoid is not None and len(equation.reads) > 1
    if contraction and (group.root is None or {place.points() for place in places} != {group.root.points()}):
        return False
    return len(places) == 1 or not _ends_contraction(op, groups)


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
    """Whether an op ends the kernel of what reduces, or writes its own loops: elementwise ops alone lead from there to it."""
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
    """Whether a reduction that leads to `op` reads what the root reads, too, all of it."""
    whole = prod(shape_of(root.results[0]))
    read = {v for v in _leads_to(root.results[0]) if prod(shape_of(v)) == whole}
    sums = [v.owner for v in _leads_to(op.results[0]) if any(e.n_reduce for e in groups.loop_form(v.owner))]
    return any(v in read for found in sums for operand in found.operands for v in _leads_to(operand))  # pyright: ignore


def _leads_to(value: SSAValue) -> dict[SSAValue, None]:
    """The values from which elementwise ops and ops that only move elements lead to one, and that one."""
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

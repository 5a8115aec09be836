"""Legality of fusion, whatever it costs: predicates on ops, and on an op and a group."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation

from ..dialects.facts import Cost
from ..dialects.graph.base import Equation, GraphOp
from ..dialects.graph.create import ConstOp
from ..dialects.graph.elementwise import ElementwiseOp
from ..dialects.graph.shape import ReshapeOp
from ..dialects.types import shape_of
from ._fusion_groups import ComputePoint, Group, Groups, kernel_equations, root_point


def is_scalar_const(op: Operation) -> bool:
    """A constant of one element, which a kernel holds as an immediate."""
    return isinstance(op, ConstOp) and all(size == 1 for size in shape_of(op.results[0]))


def is_movable(op: Operation) -> bool:
    """Free to compute anywhere: a scalar constant, or an op that only moves elements."""
    if not isinstance(op, GraphOp) or op.facts.cost is not Cost.INDEX:
        return False
    return is_scalar_const(op) if isinstance(op, ConstOp) else is_unit_reshape(op) if op.facts.view else True


def is_unit_reshape(op: Operation) -> bool:
    """Whether an op only adds or drops dims of size 1 of a value computed here: an argument is best read as a view."""
    return isinstance(op, ReshapeOp) and op.moves_unit_dims and bool(kernel_equations(op.x.owner))


def contracts(equation: Equation) -> bool:
    """Whether an equation sums products of several operands."""
    return equation.n_reduce > 0 and len(equation.reads) > 1


def is_product(equation: Equation) -> bool:
    """Whether an equation sums products of elements that it reads repeatedly, as a matmul does."""
    if not contracts(equation):
        return False
    loops = [dim for dim, size in enumerate(equation.space[: equation.n_parallel]) if size > 1]
    used = [frozenset[int]().union(*(expr.used_dims() for expr in read.map.results)) for read in equation.reads]
    return any(dim not in dims for dim in loops for dims in used)


def is_stored_at_its_point(equations: tuple[Equation, ...]) -> bool:
    """Whether an op has one equation, stored at its own point: its readers in the kernel may compute it."""
    return len(equations) == 1 and equations[0].write is None


def writes_nest(op: Operation) -> bool:
    """Whether an op has a loop nest of its own, and its epilogue may be computed where it stores."""
    return isinstance(op, GraphOp) and op.has_nest and op.facts.writes_once


def may_compute(op: Operation, group: Group, groups: Groups) -> bool:
    """Whether a group may compute the result of an op where it reads it."""
    equations = groups.equations[op]
    return is_stored_at_its_point(equations) and (group.nest is None or not equations[0].n_reduce)


def may_store(op: Operation, group: Group, points: set[ComputePoint], groups: Groups) -> bool:
    """Whether an op may be a further result: stored from the root's loops, and no other user leads back."""
    equation = groups.equations[op][0]
    shape = equation.space[: equation.n_parallel]
    if group.root is None or len(shape) != len(group.root.loops):
        return False
    return points == {group.root} == {root_point(shape, order=group.order)} and not groups.others_lead_to(op, group)


def may_store_first(op: Operation, group: Group, groups: Groups) -> bool:
    """Whether an op may be a prologue: elementwise, of a known size, and only contractions of the group read it."""
    if not isinstance(op, ElementwiseOp) or group.nest is not None or groups.is_open:
        return False
    work: list[Operation] = [op]
    while work:
        for use in work.pop().results[0].uses:
            user = use.operation
            if groups.of.get(user) is not group:
                return False
            if is_movable(user):
                work.append(user)
            elif len(groups.equations[user]) != 1 or not contracts(groups.equations[user][0]):
                return False
    return True


def may_precede(op: Operation, nest: Operation) -> bool:
    """Whether an op, elementwise or one that moves, may be computed where an op with a nest of its own copies its operand."""
    if not isinstance(nest, GraphOp) or not (isinstance(op, ElementwiseOp) or (nest.facts.fuses_copies and is_movable(op))):
        return False
    uses = list(op.results[0].uses)
    return len(uses) == 1 and uses[0].operation is nest and uses[0].index in nest.copied()


def may_end_nest(op: GraphOp, group: Group, groups: Groups) -> bool:
    """Whether an op with a nest of its own may join a group: one such op, all of it read where the group stores."""
    whole = root_point(op.result_shape())
    if group.nest is not None or group.root != whole or groups.sums(group):
        return False
    return {point for _, point in groups.reads(op, group)} == {whole} and not groups.others_lead_to(op, group)


def may_reorder(group: Group, groups: Groups) -> bool:
    """Whether the loops of a group's results may still be reordered."""
    return group.root is not None and group.order is None and group.nest is None and not groups.is_open


def users_of(op: Operation) -> Iterable[Operation]:
    """The ops that read the result of an op, in a deterministic order: it decides which group an op joins."""
    return dict.fromkeys(use.operation for use in op.results[0].uses)

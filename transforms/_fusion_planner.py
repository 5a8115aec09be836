"""The planner of fusion: which ops of a block share a kernel, and in which loops it computes them, if legal and profitable."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Block, Operation

from ..dialects.graph.base import GraphOp
from ..dialects.graph.control import is_given_part
from ..dialects.graph.shape import ReshapeOp
from ._fusion_costs import (
    MAX_POINTS,
    code_size,
    follows_reduction,
    is_cheap,
    is_evaluated_once,
    is_full,
    keeps_schedules,
    repeated,
    rereads,
    stay_in_cache,
)
from ._fusion_groups import ComputePoint, Group, Groups, root_point
from ._fusion_legality import (
    is_movable,
    is_scalar_const,
    is_stored_at_its_point,
    is_unit_reshape,
    may_compute,
    may_end_nest,
    may_precede,
    may_reorder,
    may_store,
    may_store_first,
    users_of,
    writes_nest,
)


class Planner:
    """Assigns the ops of one block to groups, last op first; at most `max_ops` computing ops to one, if that is given."""

    def __init__(self, block: Block, max_ops: int | None = None):
        self.block = block
        self.groups = Groups(block)
        self.max_ops = max_ops

    def plan(self) -> Groups:
        """The groups."""
        for op in reversed(list(self.block.ops)):
            if is_scalar_const(op):
                self._place_const(op)
            elif equations := () if isinstance(op, ReshapeOp) and not is_unit_reshape(op) else self.groups.loop_form(op):
                self.groups.equations[op] = equations
                self._place(op)
            elif isinstance(op, GraphOp) and writes_nest(op):
                self._place_nest(op)
            if op not in self.groups.of:
                self.groups.leave_out(op)
        return self.groups

    def _place_const(self, op: Operation) -> None:
        for use in op.results[0].uses:
            if (group := self.groups.of.get(use.operation)) is not None:
                self.groups.join(group, op)
                group.points[op] = set()

    def _place(self, op: Operation) -> None:
        users, of = users_of(op), self.groups.of
        if not users:
            return
        groups = {of[user]: None for user in users if user in of}
        further = len(groups) > 1 or any(user not in of for user in users)
        for group in groups:
            points = self._points(op, group)
            if points is None and not further:
                points = self._reorder(op, group)
            if points is None or (further and not may_store(op, group, points, self.groups)):
                continue
            group.points[op] = points
            group.work += code_size(op)
            self.groups.join(group, op)
            return
        if isinstance(op, ReshapeOp) or is_given_part(op):
            return  # stays a view
        equations = self.groups.equations[op]
        group = Group(None, {op: set()})
        if is_stored_at_its_point(equations):
            group.root = root_point(equations[0].space[: equations[0].n_parallel])
            group.points[op] = {group.root}
        self.groups.form(group, op)

    def _place_nest(self, op: GraphOp) -> None:
        """Let an op with a nest of its own take its users as epilogue: in the one group that stores at its points."""
        of = self.groups.of
        for group in {of[user]: None for user in users_of(op) if user in of}:
            if not self._is_full(group, op) and may_end_nest(op, group, self.groups):
                group.nest, group.points[op] = op, {root_point(op.result_shape())}
                self.groups.join(group, op)
                return
        copied = (op.operands[k].owner for k in op.copied())
        if any(isinstance(given, Operation) and self._precedes(given, op) for given in copied):
            self.groups.form(Group(None, {op: set()}, op), op)

    def _points(self, op: Operation, group: Group) -> set[ComputePoint] | None:
        """The compute-at points of `op` in the group; None when fusing is illegal, or does not pay."""
        if not may_compute(op, group, self.groups) or self._is_full(group, op):
            return None
        space = self.groups.equations[op][0].space
        if group.nest is not None and op.results[0] in group.nest.operands:
            # such an op reads its operands many times, in loops of its own, unless it copies them
            return {root_point(space, op)} if self._precedes(op, group.nest) else None
        reads = list(self.groups.reads(op, group))
        points = {point for _, point in reads}
        if not is_movable(op):
            if not keeps_schedules(op, group, reads, self.groups):
                return None
            if repeated(points, op) is not None:
                is_prologue = may_store_first(op, group, self.groups) and not follows_reduction(op, self.groups)
                return {root_point(space, op)} if is_prologue else None
            if not is_evaluated_once(op, group, points, self.groups):
                return None
        return points if len(points) <= MAX_POINTS else None

    def _is_full(self, group: Group, op: Operation) -> bool:
        """Whether a group has no room for an op; ops that only move elements, and scalars, need none."""
        if self.max_ops is None or is_movable(op):
            return is_full(group, op)
        computing = sum(1 for member in group.ops if not is_movable(member) and not is_scalar_const(member))
        return computing >= self.max_ops or is_full(group, op)

    def _precedes(self, op: Operation, nest: Operation) -> bool:
        """Whether an op is computed where an op with a nest of its own copies its operand."""
        return may_precede(op, nest) and (is_movable(op) or is_cheap(op)) and not follows_reduction(op, self.groups)

    def _reorder(self, op: Operation, group: Group) -> set[ComputePoint] | None:
        """The compute-at points of `op` with column loops outside, None if that is no gain; else changes the group."""
        if group.root is None or not may_reorder(group, self.groups) or is_movable(op):
            return None
        root, rank = next(iter(group.ops)), len(group.root.loops)
        point = repeated((point for _, point in self.groups.reads(op, group)), op)
        if point is None or not stay_in_cache(root.results[0], point.used()) or not rereads(op, root, self.groups):
            return None
        order, of = _columns_first(point, rank), self.groups.of
        moved = root_point(self.groups.equations[root][0].space[:rank], order=order)
        trial = replace(group, root=moved, points={}, order=order)
        of.update(dict.fromkeys(group.ops, trial))
        points = self._points(op, trial) if self._moves_to(group, trial) else None
        if points is not None:
            group.root, group.points, group.order = trial.root, trial.points, order
        of.update(dict.fromkeys(group.ops, group))
        return points

    def _moves_to(self, group: Group, trial: Group) -> bool:
        """Set the points of a group's ops for another order of the root's loops; returns whether no work is repeated."""
        for k, (op, before) in enumerate(group.points.items()):
            points = {trial.root} if k == 0 else before if is_scalar_const(op) else self._points(op, trial)
            is_result = any(self.groups.of.get(user) is not trial for user in users_of(op))
            if points is None or (is_result and points != {trial.root}):
                return False
            trial.points[op] = points  # pyright: ignore[reportArgumentType]
        return True


def _columns_first(point: ComputePoint, rank: int) -> tuple[int, ...]:
    """The order of `rank` dims of results in which the loops on which a point's index depends are outermost."""
    used = point.used()
    return tuple(sorted(range(rank), key=lambda dim: dim not in used))

"""The planner of fusion: which ops of a block share a kernel, and in which loops it computes them, if legal and profitable."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Block, Operation

from ..dialects.graph.base import GraphOp
from ..dialects.graph.control import is_given_part
from ..dialects.graph.shape import ReshapeOp
from ._fusion_costs import (
    MAX_PLACES,
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
from ._fusion_groups import Group, Groups, Place, root_place
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
                group.places[op] = set()

    def _place(self, op: Operation) -> None:
        users, of = users_of(op), self.groups.of
        if not users:
            return
        groups = {of[user]: None for user in users if user in of}
        further = len(groups) > 1 or any(user not in of for user in users)
        for group in groups:
            places = self._places(op, group)
            if places is None and not further:
                places = self._reorder(op, group)
            if places is None or (further and not may_store(op, group, places, self.groups)):
                continue
            group.places[op] = places
            group.work += code_size(op)
            self.groups.join(group, op)
            return
        if isinstance(op, ReshapeOp) or is_given_part(op):
            return  # stays a view
        equations = self.groups.equations[op]
        group = Group(None, {op: set()})
        if is_stored_at_its_point(equations):
            group.root = root_place(equations[0].space[: equations[0].n_parallel])
            group.places[op] = {group.root}
        self.groups.form(group, op)

    def _place_nest(self, op: GraphOp) -> None:
        """Let an op with a nest of its own take its users as epilogue: in the one group that stores at its points."""
        of = self.groups.of
        for group in {of[user]: None for user in users_of(op) if user in of}:
            if not self._is_full(group, op) and may_end_nest(op, group, self.groups):
                group.nest, group.places[op] = op, {root_place(op.result_shape())}
                self.groups.join(group, op)
                return
        copied = (op.operands[k].owner for k in op.copied())
        if any(isinstance(given, Operation) and self._precedes(given, op) for given in copied):
            self.groups.form(Group(None, {op: set()}, op), op)

    def _places(self, op: Operation, group: Group) -> set[Place] | None:
        """The compute-at points of `op` in the group; None when fusing is illegal, or does not pay."""
        if not may_compute(op, group, self.groups) or self._is_full(group, op):
            return None
        space = self.groups.equations[op][0].space
        if group.nest is not None and op.results[0] in group.nest.operands:
            # such an op reads its operands many times, in loops of its own, unless it copies them
            return {root_place(space, op)} if self._precedes(op, group.nest) else None
        reads = list(self.groups.reads(op, group))
        places = {place for _, place in reads}
        if not is_movable(op):
            if not keeps_schedules(op, group, reads, self.groups):
                return None
            if repeated(places, op) is not None:
                is_prologue = may_store_first(op, group, self.groups) and not follows_reduction(op, self.groups)
                return {root_place(space, op)} if is_prologue else None
            if not is_evaluated_once(op, group, places, self.groups):
                return None
        return places if len(places) <= MAX_PLACES else None

    def _is_full(self, group: Group, op: Operation) -> bool:
        """Whether a group has no room for an op; ops that only move elements, and scalars, need none."""
        if self.max_ops is None or is_movable(op):
            return is_full(group, op)
        computing = sum(1 for member in group.ops if not is_movable(member) and not is_scalar_const(member))
        return computing >= self.max_ops or is_full(group, op)

    def _precedes(self, op: Operation, nest: Operation) -> bool:
        """Whether an op is computed where an op with a nest of its own copies its operand."""
        return may_precede(op, nest) and (is_movable(op) or is_cheap(op)) and not follows_reduction(op, self.groups)

    def _reorder(self, op: Operation, group: Group) -> set[Place] | None:
        """The compute-at points of `op` with column loops outside, None if that is no gain; else changes the group."""
        if group.root is None or not may_reorder(group, self.groups) or is_movable(op):
            return None
        root, rank = next(iter(group.ops)), len(group.root.loops)
        place = repeated((place for _, place in self.groups.reads(op, group)), op)
        if place is None or not stay_in_cache(root.results[0], place.used()) or not rereads(op, root, self.groups):
            return None
        order, of = _columns_first(place, rank), self.groups.of
        moved = root_place(self.groups.equations[root][0].space[:rank], order=order)
        trial = replace(group, root=moved, places={}, order=order)
        of.update(dict.fromkeys(group.ops, trial))
        places = self._places(op, trial) if self._moves_to(group, trial) else None
        if places is not None:
            group.root, group.places, group.order = trial.root, trial.places, order
        of.update(dict.fromkeys(group.ops, group))
        return places

    def _moves_to(self, group: Group, trial: Group) -> bool:
        """Set the points of a group's ops for another order of the root's loops; returns whether no work is repeated."""
        for k, (op, before) in enumerate(group.places.items()):
            places = {trial.root} if k == 0 else before if is_scalar_const(op) else self._places(op, trial)
            is_result = any(self.groups.of.get(user) is not trial for user in users_of(op))
            if places is None or (is_result and places != {trial.root}):
                return False
            trial.places[op] = places  # pyright: ignore[reportArgumentType]
        return True


def _columns_first(place: Place, rank: int) -> tuple[int, ...]:
    """The order of `rank` dims of results in which the loops on which a point's index depends are outermost."""
    used = place.used()
    return tuple(sorted(range(rank), key=lambda dim: dim not in used))

"""Why neighbours in a graph share a kernel, or do not: the planner of graph-fuse reports its decisions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..dialects.graph.base import GraphOp
from ..transforms._fusion_costs import MAX_POINTS, follows_reduction, is_cheap, is_evaluated_once, repeated
from ..transforms._fusion_groups import ComputePoint, Group
from ..transforms._fusion_legality import is_movable, is_stored_at_its_point, may_compute, may_store, users_of, writes_nest
from ..transforms._fusion_planner import Planner


@dataclass(frozen=True)
class Pair:
    """Two ops of which the second reads a result of the first."""

    producer: Operation
    consumer: Operation
    fused: bool
    reason: str

    def __str__(self) -> str:
        first, second = (op.name.removeprefix("graph.") for op in (self.producer, self.consumer))
        return f"{first} -> {second}: {'one kernel' if self.fused else 'two kernels'}: {self.reason}"


class _Telling(Planner):
    """A planner that keeps why an op does not join a group."""

    def __init__(self, function: func.FuncOp):
        super().__init__(function.body.block)
        self.reasons: dict[tuple[Operation, int], str] = {}

    def _points(self, op: Operation, group: Group) -> set[ComputePoint] | None:
        found = super()._points(op, group)
        users, of = users_of(op), self.groups.of
        further = len({id(of[user]) for user in users if user in of}) > 1 or any(user not in of for user in users)
        if found is None:
            self.reasons[op, id(group)] = self._why_not(op, group)
        elif further and not may_store(op, group, found, self.groups):
            rule = "others need its result, too, and it cannot be stored from the loops of this kernel at the point of its root"
            self.reasons[op, id(group)] = rule
        return found

    def _why_not(self, op: Operation, group: Group) -> str:
        """The first rule that forbids it, in the planner's order."""
        equations = self.groups.equations[op]
        if not may_compute(op, group, self.groups):
            if not is_stored_at_its_point(equations):
                return "its loops write elsewhere than at their own point, so a reader cannot compute it where it reads"
            return "its sum would run inside of an op that writes its own loops"
        if self._is_full(group, op):
            return "the kernel is full: more ops would make its basic blocks too large"
        if group.nest is not None and op.results[0] in group.nest.operands:
            return "the op that reads it has loops of its own, which read operands many times"
        reads = list(self.groups.reads(op, group))
        points = {point for _, point in reads}
        if repeated(points, op) is not None:
            after = " (it follows a reduction)" if follows_reduction(op, self.groups) else ""
            return f"its elements would be computed again in a loop that does not depend on them{after}"
        if not is_evaluated_once(op, group, points, self.groups):
            return "its elements would be computed more than once" + ("" if is_cheap(op) else ", which is not cheap")
        if len(points) > MAX_POINTS:
            return f"it is read at {len(points)} different points, more than {MAX_POINTS}"
        return "a schedule of the kernel would be lost, as of a matmul whose operand it packs"


def fusion_pairs(module: ModuleOp) -> list[Pair]:
    """The neighbours in the functions of a module at phase `optimized`, in order.

    Args:
        module: is changed as graph-fuse changes it before it plans: who moves elements is copied to each user.
    """
    from ..transforms.graph_fuse import copy_movable_ops

    found: list[Pair] = []
    for function in [op for op in module.body.block.ops if isinstance(op, func.FuncOp) and op.body.blocks]:
        copy_movable_ops(function.body.block)
        planner = _Telling(function)
        of = planner.plan().of
        for op in function.body.block.ops:
            if not isinstance(op, GraphOp) or op.name == "graph.const":
                continue
            for user in dict.fromkeys(users_of(op)):
                if isinstance(user, GraphOp):
                    found.append(_pair(op, user, of, planner))
    return found


def _pair(op: Operation, user: Operation, of: dict[Operation, Group], planner: _Telling) -> Pair:
    if op in of and of.get(user) is of[op]:
        reason = "it only moves elements" if is_movable(op) else "its elements are computed where they are read"
        return Pair(op, user, True, reason)
    for one, text in ((user, "the reader"), (op, "it")):
        if one not in of:
            kind = "writes loops of its own" if writes_nest(one) else "is a view of memory, or runs by itself"
            return Pair(op, user, False, f"{text} {kind}")
    reason = planner.reasons.get((op, id(of[user])))
    return Pair(op, user, False, reason or "it has a kernel with another reader")


__all__ = ["Pair", "fusion_pairs"]

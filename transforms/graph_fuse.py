"""Group ops that one kernel can compute: elementwise chains with broadcasts, leading and trailing reductions, dot epilogues.

A kernel computes each result element by *pulling*: the equation of the root asks the equations of its producers for the
elements it needs, each at the loop level where its indices are known (a row maximum inside a row-wise loop is computed once a
row). An op joins the group of its users when pulling it there repeats no work. An op whose value is needed elsewhere, too,
joins as a further result when it is computed at the points that the group stores. The kernel of a matmul has no other
reductions.

A contraction reads most of its operands many times. Elementwise ops join it where it reads each element once, as it does the
matrix of a product with a vector, and are computed there. So are conversions of a large operand to a wider type that it reads
a few times: loading the converted operand takes longer than converting again. Others join as a prologue (`prologues` of the
fusion), which the kernel stores first: its schedule may compute it while an operand is packed. The epilogue of a reduction is
no prologue: it ends the kernel that reduces. Cheap ops also join an op that writes its own loops and copies the operand that
they compute.

An op that writes its own loops (a convolution, a reduction over windows) can end in the elementwise ops that follow: they are
computed where it writes. It joins their group if it is the only such op there, and nothing in the group is reduced.

A value that is reduced along leading dims and read again would be recomputed for each row. If the columns from which it is
computed fit a cache, the group's loops over columns are outermost (`order` of the fusion): all passes over them are one kernel.

Index-only ops (broadcast, transpose, slice, ...) and scalar constants are first copied to each of their users: they cost no
arithmetic and no memory, and a copy belongs to one group. A reshape that adds or drops dims of size 1 is one of them where it
stands between two ops of a group; elsewhere it stays a view.

`_fusion_planner.py` decides, with the rules of legality (`_fusion_legality.py`) and costs (`_fusion_costs.py`).
"""

from __future__ import annotations

import heapq
from collections.abc import Container
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ..debug_counters import count
from ..dialects.graph.effects import effects_stay, has_effects
from ..dialects.graph.extents import Extents, has_open_size
from ..dialects.graph.fusion import FusionOp, YieldOp
from ..dialects.operations import append, clone
from ..dialects.sizes.polynomial import estimates
from ..errors import CompileError
from ._fusion_groups import Groups
from ._fusion_legality import is_movable, is_product
from ._fusion_planner import Planner


def copy_movable_ops(block: Block) -> None:
    """Give every user of a movable op a copy of its own."""
    for op in reversed(list(block.ops)):
        if not is_movable(op):
            continue
        uses = list(op.results[0].uses)
        for use in uses[1:]:
            copy = clone(op)
            copy.location = op.location
            block.insert_op_before(copy, use.operation)
            use.operation.operands[use.index] = copy.results[0]


def _read_again(members: list[Operation], inputs: Container[SSAValue], groups: Groups) -> list[tuple[Operation, int]]:
    """The operands (op, number) that are passed twice: a matmul reads arguments that nothing else in the group reads.

    A schedule identifies the operand that it packs by its buffer. So the product of a matrix with itself has two arguments,
    and a matmul whose epilogue reads an operand, too, as `a @ x + x`, has another argument for that.
    """
    found: list[tuple[Operation, int]] = []
    for op in members:
        if any(is_product(equation) for equation in groups.loop_form(op)):
            for user, k in reversed([_leaf(op, k, members) for k in range(len(op.operands))]):
                value = user.operands[k]
                reads = [(m, n) for m in members for n, operand in enumerate(m.operands) if operand is value]
                if value in inputs and any(read != (user, k) and read not in found for read in reads):
                    found.append((user, k))
    return found


def _leaf(op: Operation, k: int, members: list[Operation]) -> tuple[Operation, int]:
    """Where an operand enters a group, through ops that only move its elements."""
    while isinstance(source := op.operands[k].owner, Operation) and source in members and len(source.operands) == 1:
        if not is_movable(source) or len(list(source.results[0].uses)) > 1:
            break
        op, k = source, 0
    return op, k


def _first_read(op: Operation, position: dict[Operation, int]) -> tuple[int, int]:
    """Where a contraction first reads a prologue, through ops that only move its elements: its position, and which operand."""
    reads = ((use.operation, use.index) for use in op.results[0].uses)
    return min(_first_read(user, position) if is_movable(user) else (position[user], k) for user, k in reads)


def _build_fusion(members: list[Operation], groups: Groups, position: dict[Operation, int]) -> FusionOp:
    """One `graph.fusion` of the members, detached; uses of their results from outside are moved to its results."""
    group, inside = groups.of[members[0]], set(members)
    inputs: dict[SSAValue, None] = {}
    for op in members:
        for operand in op.operands:
            if operand.owner not in inside:
                inputs.setdefault(operand)
    again = _read_again(members, inputs, groups)
    operands = [*inputs, *(op.operands[k] for op, k in again)]
    body = Block(arg_types=[value.type for value in operands])
    mapping: dict[SSAValue, SSAValue] = dict(zip(inputs, body.args, strict=False))
    for value, argument in zip(operands, body.args, strict=True):
        argument.name_hint = value.name_hint
    arguments = dict(zip(again, body.args[len(inputs) :], strict=True))
    known: dict[object, SSAValue] = {}
    for op in members:
        # copies of one movable op that met in this group are one again
        inside_operands = [mapping[operand] for operand in op._operands]
        if arguments:
            inside_operands = [arguments.get((op, k), operand) for k, operand in enumerate(inside_operands)]
        key = None
        if is_movable(op) and not has_open_size(op.results[0]):
            key = (op.name, tuple(op.properties.items()), tuple(inside_operands), op.results[0].type)
            if key in known:
                mapping[op.results[0]] = known[key]
                continue
        copied = clone(op, mapping)
        if arguments:
            copied.operands = inside_operands
        copied.location = op.location
        append(body, copied)
        if key is not None:
            known[key] = copied.results[0]
    outputs = [r for op in members for r in op.results if any(use.operation not in inside for use in r.uses)]
    body.add_op(YieldOp.create(operands=[mapping[value] for value in outputs]))
    fusion = FusionOp.create(operands=operands, result_types=[v.type for v in outputs], regions=[Region(body)])
    fusion.set_order(group.order or ())
    prologues = sorted(group.prologues(), key=lambda op: _first_read(op, position))
    fusion.set_prologues([mapping[op.results[0]] for op in prologues])
    fusion.location = members[-1].location
    for value, result in zip(outputs, fusion.results, strict=True):
        result.name_hint = value.name_hint
        for use in list(value.uses):
            if use.operation not in inside:
                use.operation.operands[use.index] = result
    return fusion


def fuse_block(block: Block, max_ops: int | None = None) -> None:
    """Replace the ops of a block by fusions, of at most `max_ops`, in an order that respects their dependences."""
    try:
        Extents(block)
    except CompileError:
        return  # ops that take no `?` are refused when they are lowered
    copy_movable_ops(block)
    with estimates():
        groups = Planner(block, max_ops).plan()
    position = {op: k for k, op in enumerate(block.ops)}
    units: list[list[Operation]] = [sorted(group.ops, key=position.__getitem__) for group in groups.formed]
    units += [[op] for op in block.ops if op not in groups.of]
    new_ops: list[Operation] = []
    for members in _in_order(units, position):
        if members[0] not in groups.of:
            new_ops.append(members[0])
            continue
        new_ops.append(_build_fusion(members, groups, position))
        count("num-fusions")
        count("num-fused", len(members))
    for op in list(block.ops):
        op.detach()
    block.add_ops(new_ops)
    for op in reversed(list(position)):
        if op.parent is None:
            op.erase(safe_erase=False)


def _in_order(units: list[list[Operation]], position: dict[Operation, int]) -> list[list[Operation]]:
    """Units in dependence order, effects as they were; among those that are ready, the one whose last op came first."""
    unit_of = {op: k for k, members in enumerate(units) for op in members}
    waiting = [0] * len(units)
    before = {unit_of[op]: unit_of[previous] for previous, op in pairwise(op for op in position if has_effects(op))}
    followers: list[set[int]] = [set() for _ in units]
    for k, members in enumerate(units):
        needs = {unit_of[o.owner] for op in members for o in op.operands if o.owner in unit_of}  # pyright: ignore[reportArgumentType]
        if k in before:
            needs.add(before[k])
        needs.discard(k)
        waiting[k] = len(needs)
        for need in needs:
            followers[need].add(k)
    ready = [(position[members[-1]], k) for k, members in enumerate(units) if not waiting[k]]
    heapq.heapify(ready)
    ordered: list[list[Operation]] = []
    while ready:
        _, k = heapq.heappop(ready)
        ordered.append(units[k])
        for follower in followers[k]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, (position[units[follower][-1]], follower))
    assert len(ordered) == len(units), "fusion groups wait for each other"
    return ordered


@dataclass(frozen=True)
class GraphFusePass(ModulePass):
    """Group ops into `graph.fusion`, one kernel each.

    Attributes:
        max_ops: how many ops a group may have, not counting those that only move elements; not limited if it is not given.
    """

    name = "graph-fuse"
    statistics = {"num-fusions": "Number of groups formed", "num-fused": "Number of operations in them"}
    max_ops: int | None = None

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        if self.max_ops is not None and self.max_ops < 1:
            raise CompileError(f"graph-fuse: max-ops must be at least 1, got {self.max_ops}")
        with effects_stay():
            for function in op.body.block.ops:
                if isinstance(function, FuncOp) and function.body.blocks:
                    fuse_block(function.body.block, self.max_ops)

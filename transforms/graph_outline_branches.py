"""Turn the two sides of a select on a scalar condition into branches, of which only one is computed.

    %a = dot %x, %u                          %y = graph.case %p [@f_otherwise, @f_taken](%x, %u, %w)
    %b = dot %x, %w          becomes
    %y = select %p, %a, %b                   func.func private @f_taken(%x, %u, %w) { dot %x, %u } ...

A side consists of the ops without effects that only the select needs. The pass applies where both sides together have at least
`least` ops that are not cheap, or one that writes its own loops or is a matmul. A
call of a branch takes about as long as 100 elements, and fusion ends there; `graph-if-to-select` is the inverse for cheap
branches. Conditions of more than one element stay: each element chooses. Linear time in the ops of the sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..dialects.graph.base import GraphOp
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.conditional import CaseOp
from ..dialects.graph.control import ControlOp
from ..dialects.graph.effects import has_effects
from ..dialects.operations import clone
from ..dialects.types import shape_of
from ._for_loops import new_function, types_of
from ._functions import callees_first, copy_locations, replace_op
from ._residuals import is_cheap, is_heavy
from .graph_dce import dce_block


@dataclass(frozen=True)
class GraphOutlineBranchesPass(ModulePass):
    """Turn selects on scalar conditions into branches, one of which is chosen at run time.

    Attributes:
        least: how many ops that are not cheap both sides together have.
    """

    name = "graph-outline-branches"
    least: int = 8

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in callees_first(op):
            block = function.body.block
            for select in reversed([inner for inner in block.ops if inner.name == "graph.select"]):
                self._select(function, select)
            dce_block(block)

    def _select(self, function: FuncOp, op: Operation) -> None:
        flag, *choices = op.operands
        condition = _scalar(flag)
        if condition is None or op.results[0].first_use is None:
            return
        sides = [_side(value, op) for value in choices]
        ops = [inner for side in sides for inner in side]
        if sum(not is_cheap(inner) for inner in ops) < self.least and not any(map(is_heavy, ops)):
            return
        members = set(ops)
        read = dict.fromkeys(o for inner in ops for o in inner.operands if o.owner not in members)
        read.update(dict.fromkeys(v for v in choices if v.owner not in members))
        branches = [_branch(function, op, side, value, list(read)) for side, value in zip(sides, choices, strict=True)]
        b = GraphBuilder(InsertPoint.before(op), op.location)
        replace_op(op, [b.insert(CaseOp.make(condition, branches[::-1], list(read)))])


def _scalar(flag: SSAValue) -> SSAValue | None:
    """The scalar condition from which a value is broadcast."""
    if not shape_of(flag):
        return flag
    owner = flag.owner
    is_spread = isinstance(owner, Operation) and owner.name == "graph.broadcast" and not shape_of(owner.operands[0])
    return owner.operands[0] if is_spread and isinstance(owner, Operation) else None


def _side(value: SSAValue, select: Operation) -> list[Operation]:
    """The ops that compute a value for one op alone, in the order of the text."""
    members: set[Operation] = set()
    waiting = [value]
    while waiting:
        owner = waiting.pop().owner
        if not isinstance(owner, GraphOp | ControlOp) or owner in members or owner.regions or has_effects(owner):
            continue
        if owner.parent is not select.parent:
            continue
        uses = [use.operation for result in owner.results for use in result.uses]
        if all(user in members or (user is select and value.owner is owner) for user in uses):
            members.add(owner)
            waiting += owner.operands
    block = select.parent
    assert block is not None
    return [op for op in block.ops if op in members]


def _branch(function: FuncOp, op: Operation, side: Sequence[Operation], value: SSAValue, read: Sequence[SSAValue]) -> FuncOp:
    def build(block: Block) -> list[SSAValue]:
        values: dict[SSAValue, SSAValue] = dict(zip(read, block.args, strict=True))
        for inner in side:
            copied = clone(inner, values)
            copy_locations(inner, copied)
            block.add_op(copied)
        return [values[value]]

    return new_function(op, "branch", types_of(read), build, function)

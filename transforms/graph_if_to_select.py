"""Make branches that are cheap and safe branch-free: both sides are computed, and a select chooses.

    %y = graph.case %p [@no, @yes](%x)      becomes      %a = neg %x; %b = mul %x, %x; %y = graph.select %p, %b, %a

All branches must be pure elementwise ops, views and constants: no effects, no loops, calls or further branches, nothing that
reads at an index that is computed. (Nothing in a graph traps: integers divided by 0 give 0.) Together they may compute `limit`
elements, each op weighted; a call of a branch takes about as long as 100 elements, and prevents fusion across it. Linear time.
In the pipeline after derivatives: a case has the derivative of the branch that is taken, where a select would turn an infinite
slope of the other branch into NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..dialects.graph.base import GraphOp
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.conditional import CaseOp
from ..dialects.graph.elementwise import ElementwiseOp
from ..dialects.types import DYNAMIC, has_symbols, shape_of
from ..thresholds import number
from ._conditionals import choose
from ._for_loops import select_values
from ._functions import called_functions, callees_first, clone_body, holds, replace_op
from ._residuals import is_cheap

SLOW = number("transforms.if_to_select.SLOW")
MOST = number("transforms.if_to_select.MOST")


@dataclass(frozen=True)
class GraphIfToSelectPass(ModulePass):
    """Replace cheap and safe branches by selects.

    Attributes:
        limit: how many elements all branches of a case together may compute.
    """

    name = "graph-if-to-select"
    limit: int = MOST

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in callees_first(op) if holds(op, CaseOp) else ():
            for case in [inner for inner in function.body.block.ops if isinstance(inner, CaseOp)]:
                costs = [_cost(branch) for branch in called_functions(case)]
                if sum(costs) <= self.limit:
                    replace_op(case, _selected(case))


def _cost(branch: FuncOp) -> float:
    """The weighted number of elements that a branch computes; infinite where it cannot be computed speculatively."""
    total = 0.0
    for op in branch.body.block.ops:
        if isinstance(op, ReturnOp):
            continue
        if not isinstance(op, GraphOp) or op.regions or not (is_cheap(op) or isinstance(op, ElementwiseOp)):
            return float("inf")
        for result in op.results:
            if DYNAMIC in shape_of(result) or has_symbols(result):
                return float("inf")
            total += prod(shape_of(result)) * (1 if is_cheap(op) else SLOW)
    return total


def _selected(op: CaseOp) -> list[SSAValue]:
    """The results of a case by computing all of its branches."""
    b = GraphBuilder(InsertPoint.before(op), op.location)
    every = [clone_body(branch, op.arguments, b.insert)[0] for branch in called_functions(op)]
    b.location = op.location
    return choose(b, op.index, every, _select)


def _select(b: GraphBuilder, flag: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
    if x is y:
        return x
    return select_values(b, b.broadcast(flag, (), shape_of(x)) if shape_of(x) else flag, x, y)

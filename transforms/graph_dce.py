"""Drop unused pure ops, unused results of loops and branches, and unused private functions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsTerminator, is_side_effect_free

from ..debug_counters import count
from ..dialects.graph.base import GraphOp
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.effects import effects_stay
from ._prune import Cuts, prune_block
from .graph_inline import drop_unused_functions


def dce_block(block: Block) -> None:
    """Drop unused ops of one block, including calls without results, last first, so that chains are dropped in one sweep."""
    for op in reversed(list(block.ops)):
        for region in op.regions:
            for inner in region.blocks:
                dce_block(inner)
        if all(r.first_use is None for r in op.results) and not op.has_trait(IsTerminator):
            if is_side_effect_free(op):
                op.detach()
                op.erase()
                count("num-dce'd")
        elif isinstance(op, GraphOp):
            found = op.without_unused(GraphBuilder(InsertPoint.before(op), op.location))
            if found is not None:
                for old, new in zip(op.results, found, strict=False):
                    old.replace_all_uses_with(new)
                op.detach()
                op.erase()


@dataclass(frozen=True)
class GraphDcePass(ModulePass):
    """Drop unused pure ops, results and carried values, and unused private functions."""

    name = "graph-dce"
    statistics = {"num-dce'd": "Number of operations DCE'd"}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        cuts: Cuts = {}
        waiting = [function for function in op.body.block.ops if isinstance(function, FuncOp)]
        with effects_stay():
            while waiting:
                for block in waiting.pop().body.blocks:
                    dce_block(block)
                    made = prune_block(block, dce_block, cuts)
                    if made:  # drop the values that only dropped arguments used
                        dce_block(block)
                    waiting += made
        drop_unused_functions(op)

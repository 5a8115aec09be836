"""Drop pure ops whose results nobody uses, and private functions that nothing names."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, is_side_effect_free

from .graph_inline import drop_unused_functions


def dce_block(block: Block) -> None:
    """Drop unused ops of one block, last first, so that chains go in one sweep."""
    for op in reversed(list(block.ops)):
        for region in op.regions:
            for inner in region.blocks:
                dce_block(inner)
        if op.results and all(r.first_use is None for r in op.results) and not op.has_trait(IsTerminator):
            if is_side_effect_free(op):
                op.detach()
                op.erase()


@dataclass(frozen=True)
class GraphDcePass(ModulePass):
    """Drop unused pure ops and unused private functions."""

    name = "graph-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp):
                for block in function.body.blocks:
                    dce_block(block)
        drop_unused_functions(op)

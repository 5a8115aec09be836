"""Equal graph ops become one: same op, same properties, same operands, in the same block. Linear time."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.traits import Commutative

from ..debug_counters import count
from ..dialects.graph.base import GraphOp
from ..dialects.graph.control import ControlOp
from ..dialects.graph.effects import effects_stay, has_effects
from ..dialects.graph.extents import has_open_size


def cse_block(block: Block) -> None:
    """Merge equal ops of one block, and of the regions in it."""
    known: dict[object, GraphOp | ControlOp] = {}
    for op in list(block.ops):
        for region in op.regions:
            for inner in region.blocks:
                cse_block(inner)
        if not isinstance(op, GraphOp | ControlOp) or op.regions or _follows_its_use(op) or has_effects(op):
            continue
        operands = [id(o) for o in op.operands]
        if op.has_trait(Commutative):
            operands.sort()
        properties = tuple(sorted(op.properties.items(), key=lambda item: item[0])) if op.properties else ()
        key = (op.name, tuple(operands), properties, tuple(r.type for r in op.results))
        first = known.setdefault(key, op)
        if first is not op:
            for old, new in zip(op.results, first.results, strict=True):
                old.replace_all_uses_with(new)
            op.detach()
            op.erase()
            count("num-cse'd")


def _follows_its_use(op: GraphOp | ControlOp) -> bool:
    """Whether an op has a size that no operand has: two such ops with equal text may differ."""
    return not isinstance(op, ControlOp) and op.facts.declares_sizes and has_open_size(op.results[0])


@dataclass(frozen=True)
class GraphCsePass(ModulePass):
    """Merge equal graph ops."""

    name = "graph-cse"
    statistics = {"num-cse'd": "Number of operations CSE'd"}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with effects_stay():
            for function in op.body.block.ops:
                if isinstance(function, FuncOp):
                    for block in function.body.blocks:
                        cse_block(block)

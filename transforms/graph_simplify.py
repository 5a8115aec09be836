"""Apply the rewrite rules of the graph ops until none fires: identities, constants, views of views, transposes into dots."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ..dialects.graph.base import GraphOp
from ..dialects.graph.rules import Rule, apply_rules, rules_by_root
from ..errors import InternalError
from ._functions import replace_op

MAX_SWEEPS = 32
"""Every rule makes the graph smaller or cheaper, so few sweeps are needed; more means that two rules undo each other."""


def simplify_block(block: Block, rules: dict[str, list[Rule]]) -> bool:
    """One sweep in order over a block and its regions; whether a rule fired."""
    changed = False
    for op in list(block.ops):
        for region in op.regions:
            for inner in region.blocks:
                changed |= simplify_block(inner, rules)
        mine = rules.get(op.name)
        if mine is None or not isinstance(op, GraphOp) or op.results[0].first_use is None:
            continue
        value = apply_rules(op, mine)
        if value is not None:
            replace_op(op, [value])
            changed = True
    return changed


@dataclass(frozen=True)
class GraphSimplifyPass(ModulePass):
    """Apply the rewrite rules of the graph ops until none fires."""

    name = "graph-simplify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = rules_by_root()
        for function in op.body.block.ops:
            if not isinstance(function, FuncOp):
                continue
            for block in function.body.blocks:
                for _ in range(MAX_SWEEPS):
                    if not simplify_block(block, rules):
                        break
                else:
                    raise InternalError(f"graph-simplify does not come to rest in @{function.sym_name.data}")

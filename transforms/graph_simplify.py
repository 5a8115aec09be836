"""Apply the rewrite rules of the graph ops until none fires: identities, constants, views of views, transposes into dots.

Loops and branches that constants decide are replaced by the ops that run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ..debug_counters import count
from ..dialects.graph.base import GraphOp
from ..dialects.graph.control import ControlOp
from ..dialects.graph.rules import Rule, apply_rules, rules_by_root
from ..errors import InternalError
from ._fold_control import fold_control
from ._functions import replace_op
from .graph_dce import dce_block

BUDGET = 64
"""Most rewrites per op of the input: every rule makes the graph smaller or cheaper, so more mean that rules undo each other."""

Rules = Mapping[str, Sequence[Rule]]


def simplify_block(block: Block, rules: Rules, hits: dict[str, int] | None = None) -> bool:
    """Apply rules to the ops of a block and of the regions in it; whether one fired.

    An op that a rule makes is tried at once, so that chains of rewrites end in one sweep over the block; sweeps are repeated
    because a rewrite can also enable one before it.
    """
    left = BUDGET * (16 + len(block.ops))
    ever = False
    while True:
        changed = False
        op = block.first_op
        while op is not None:
            for region in op.regions:
                for inner in region.blocks:
                    changed |= simplify_block(inner, rules, hits)
            following = op.next_op
            if isinstance(op, ControlOp) and (values := fold_control(op)) is not None:
                before = op.prev_op
                replace_op(op, values)
                changed, op = True, block.first_op if before is None else before.next_op
                continue
            mine = rules.get(op.name)
            if mine is not None and isinstance(op, GraphOp) and op.results[0].first_use is not None:
                before = op.prev_op
                found = apply_rules(op, mine)
                if found is not None:
                    value, name = found
                    replace_op(op, [value])
                    changed, left = True, left - 1
                    count("num-rewrites")
                    if hits is not None:
                        hits[name] = hits.get(name, 0) + 1
                    if left < 0:
                        raise InternalError(f"graph-simplify does not converge; the last rule was {name}")
                    following = block.first_op if before is None else before.next_op
            op = following
        if not changed:
            return ever
        ever = True
        dce_block(block)  # an op that lost its last use must not count as a user


@dataclass(frozen=True)
class GraphSimplifyPass(ModulePass):
    """Apply the rewrite rules of the graph ops until none fires."""

    name = "graph-simplify"
    statistics = {"num-rewrites": "Number of rules applied"}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = rules_by_root()
        for function in op.body.block.ops:
            if isinstance(function, FuncOp):
                for block in function.body.blocks:
                    simplify_block(block, rules)

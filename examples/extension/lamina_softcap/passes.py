"""A pass from graph to graph."""

from __future__ import annotations

from dataclasses import dataclass

from lamina import extend
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint

from .ops import SoftCapOp


@extend.register_pass
@dataclass(frozen=True)
class CapLogitsPass(extend.ModulePass):
    """Cap the operand of each softmax. Option: `cap`.

    A softmax of a soft cap is left as it is.
    """

    name = "graph-cap-logits"
    cap: float = 50.0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if inner.name != "graph.softmax" or isinstance(inner.operands[0].owner, SoftCapOp):
                continue
            b = extend.GraphBuilder(InsertPoint.before(inner), inner.location)
            inner.operands[0] = b.insert(SoftCapOp.make((inner.operands[0],), {"cap": self.cap}))

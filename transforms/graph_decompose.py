"""Replace composites (softmax, gelu, mean, ...) by their decompositions into primitives. Option: `ops`, names to decompose."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..dialects.graph.base import CompositeOp
from ..dialects.graph.builder import GraphBuilder
from ._functions import replace_op


def decompose(op: CompositeOp) -> None:
    """Replace one composite; composites in its decomposition are decomposed, too."""
    first = op.prev_op
    result = op.decompose(GraphBuilder(InsertPoint.before(op), op.location), op.properties, *op.operands)
    inner = op.prev_op
    replace_op(op, [result])
    while inner is not None and inner is not first:
        before = inner.prev_op
        if isinstance(inner, CompositeOp):
            decompose(inner)
        inner = before


@dataclass(frozen=True)
class GraphDecomposePass(ModulePass):
    """Decompose all composites, or those named in `ops` (without `graph.`)."""

    name = "graph-decompose"
    ops: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, CompositeOp) and (not self.ops or inner.name.removeprefix("graph.") in self.ops):
                decompose(inner)

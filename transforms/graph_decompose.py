"""Replace composites (softmax, gelu, mean, ...) by their decompositions into primitives. Option: `ops`, names to decompose."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..dialects.graph.base import CompositeOp
from ..dialects.graph.builder import GraphBuilder
from ..dialects.types import DYNAMIC, shape_of
from ._functions import replace_op


def decompose(op: CompositeOp, ops: Collection[str] = ()) -> None:
    """Replace one composite, and those in its decomposition that are named in `ops` (all when it is empty)."""
    first = op.prev_op
    found = op.decompose(GraphBuilder(InsertPoint.before(op), op.location), op.properties, *op.operands)
    inner = op.prev_op
    replace_op(op, [found] if isinstance(found, SSAValue) else found)
    while inner is not None and inner is not first:
        before = inner.prev_op
        if is_chosen(inner, ops):
            decompose(inner, ops)
        inner = before


def is_chosen(op: Operation, ops: Collection[str]) -> TypeGuard[CompositeOp]:
    """Whether an op is a composite to decompose.

    Composites of unknown shape stay, since their decompositions depend on it unless they are elementwise, and so do, unless
    named, composites that write their own loops.
    """
    if not isinstance(op, CompositeOp) or (op.has_nest if not ops else op.name.removeprefix("graph.") not in ops):
        return False
    if op.batching == "elementwise":
        return True
    return not any(DYNAMIC in shape_of(value) for value in (*op.operands, *op.results))


@dataclass(frozen=True)
class GraphDecomposePass(ModulePass):
    """Decompose all composites, or those named in `ops` (without `graph.`)."""

    name = "graph-decompose"
    ops: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if is_chosen(inner, self.ops):
                decompose(inner, self.ops)

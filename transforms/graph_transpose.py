"""Transpose linear maps: graph.transposed becomes ops that accumulate cotangents from its results back to its arguments."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..dialects.graph.autodiff import TransposedOp
from ._kernels import drop_as_written
from ._transpose import Made, expand_transposed


@dataclass(frozen=True)
class GraphTransposePass(ModulePass):
    """Expand every graph.transposed."""

    name = "graph-transpose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        made: Made = {}
        for inner in list(op.walk()):
            if isinstance(inner, TransposedOp):
                expand_transposed(inner, made)
        drop_as_written(op)

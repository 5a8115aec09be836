"""Expand graph.vmap: the function's ops on batched operands, the batch always the first dim."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..dialects.graph.autodiff import VmapOp
from ._batch import expand_vmap
from ._expand import expand_callees


@dataclass(frozen=True)
class GraphVmapPass(ModulePass):
    """Expand every graph.vmap."""

    name = "graph-vmap"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(isinstance(inner, VmapOp) for inner in op.walk()):
            return
        expand_callees(op)
        for inner in list(op.walk()):
            if isinstance(inner, VmapOp):
                expand_vmap(inner)

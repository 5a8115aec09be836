"""Expand derivatives: graph.jvp into tangent ops in place, graph.vjp into results and the transpose of their linear part."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..dialects.graph.autodiff import DerivativeOp
from ._expand import expand_callees
from ._linearize import expand_derivative


@dataclass(frozen=True)
class GraphLinearizePass(ModulePass):
    """Expand every graph.jvp, and every graph.vjp into a graph.transposed."""

    name = "graph-linearize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_callees(op)
        for inner in list(op.walk()):
            if isinstance(inner, DerivativeOp):
                expand_derivative(inner)

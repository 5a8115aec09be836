"""Replace calls by the bodies of their functions, and drop private functions that are no longer used."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.passes import ModulePass

from ..debug_counters import count
from ..dialects.graph.custom import CustomDerivativeOp
from ._functions import callees_first, has_body, inline_call


@dataclass(frozen=True)
class GraphInlinePass(ModulePass):
    """Inline all calls; drop unused private functions."""

    name = "graph-inline"
    statistics = {"num-inlined": "Number of calls inlined"}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in callees_first(op):
            for inner in list(function.walk()):
                if isinstance(inner, CallOp | CustomDerivativeOp) and has_body(inner):
                    inline_call(inner)
                    count("num-inlined")
        drop_unused_functions(op)


def drop_unused_functions(module: ModuleOp) -> None:
    """Erase private functions that no op names."""
    while True:
        named = {
            name.root_reference.data
            for op in module.walk()
            for attribute in op.properties.values()
            for name in (attribute.data if isinstance(attribute, ArrayAttr) else (attribute,))
            if isinstance(name, SymbolRefAttr)
        }
        unused = [
            op
            for op in module.body.block.ops
            if isinstance(op, FuncOp)
            and op.sym_visibility is not None
            and op.sym_visibility.data == "private"
            and op.sym_name.data not in named
        ]
        if not unused:
            return
        for op in unused:
            op.detach()
            op.erase()

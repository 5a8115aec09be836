"""Replace calls by the bodies of their functions, and drop private functions that are no longer used."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation
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
        functions = callees_first(op)  # there is no recursion
        calls = {inner for function in functions for inner in function.walk() if _is_call(inner)}
        if calls:
            kept = _reached(op, calls)
            for function in functions:
                if function.sym_name.data in kept:
                    _inline_calls(function)
        drop_unused_functions(op)


def _is_call(op: Operation) -> bool:
    return isinstance(op, CallOp | CustomDerivativeOp) and has_body(op)


def _inline_calls(function: FuncOp) -> None:
    """Inline calls from the outside in: what is only called is copied once for each call that stays."""
    waiting = [inner for inner in function.walk() if _is_call(inner)]
    while waiting:
        inner = waiting.pop()
        assert isinstance(inner, CallOp | CustomDerivativeOp)
        waiting += [call for new in inline_call(inner) for call in new.walk() if _is_call(call)]
        count("num-inlined")


def drop_unused_functions(module: ModuleOp) -> None:
    """Erase private functions that no op names, but those of others that are erased."""
    kept = _reached(module)
    unused = [op for op in module.body.block.ops if _is_private(op) and op.sym_name.data not in kept]
    for op in unused:
        op.detach()
        op.erase()


def _reached(module: ModuleOp, calls: Set[Operation] = frozenset()) -> set[str]:
    """The names of the functions that are public, or that an op names which is run; `calls` make no name of a function stay."""
    private = {f.sym_name.data: f for f in module.body.block.ops if _is_private(f)}
    waiting = [op for op in module.body.block.ops if not _is_private(op)]
    reached = {name.data for op in waiting if isinstance(name := op.properties.get("sym_name"), StringAttr)}
    visited: set[str] = set()
    while waiting:
        for inner in waiting.pop().walk():
            stays = inner not in calls
            for name in _names(inner):
                found = name.root_reference.data
                if stays:
                    reached.add(found)
                if found in private and found not in visited:
                    visited.add(found)
                    waiting.append(private[found])
    return reached


def _names(op: Operation) -> Iterator[SymbolRefAttr]:
    for attribute in op.properties.values():
        for name in attribute.data if isinstance(attribute, ArrayAttr) else (attribute,):
            if isinstance(name, SymbolRefAttr):
                yield name


def _is_private(op: Operation) -> TypeGuard[FuncOp]:
    return isinstance(op, FuncOp) and op.sym_visibility is not None and op.sym_visibility.data == "private"

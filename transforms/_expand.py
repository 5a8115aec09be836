"""Expands transformations inside functions that others differentiate or map first, the innermost before all."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from ..dialects.graph.autodiff import DerivativeOp, TransposedOp, VmapOp
from ._batch import expand_vmap
from ._functions import called_function, callees_first, has_body, inline_call, named_functions
from ._linearize import expand_derivative
from ._transpose import expand_transposed


def expand_callees(module: ModuleOp) -> None:
    """Leave no call or transformation in a function that a derivative or vmap op names, directly or transitively."""
    needed: set[FuncOp] = set()

    def need(function: FuncOp) -> None:
        if function not in needed:
            needed.add(function)
            for callee in named_functions(function):
                need(callee)

    for op in module.walk():
        if isinstance(op, DerivativeOp | VmapOp):
            need(called_function(op))
    for function in callees_first(module):
        if function in needed:
            _expand(function)


def _expand(function: FuncOp) -> None:
    """Expand all calls, derivatives and vmaps in a function whose callees are expanded."""
    block = function.body.block
    for op in list(block.ops):
        if isinstance(op, CallOp):
            if has_body(op):
                inline_call(op)
        elif isinstance(op, DerivativeOp):
            expand_derivative(op)
        elif isinstance(op, VmapOp):
            expand_vmap(op)
    for op in list(block.ops):
        if isinstance(op, TransposedOp):
            expand_transposed(op, {})

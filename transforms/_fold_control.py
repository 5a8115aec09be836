"""Folds control flow decided by constants: a case of a known index, a condition that is false at first, one iteration."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ..dialects.graph.base import GraphOp
from ..dialects.graph.builder import GraphBuilder, dense_array
from ..dialects.graph.conditional import CallOp, CaseOp, WhileOp
from ..dialects.graph.control import INDEX, ControlOp, ForOp
from ..dialects.graph.create import DimOp
from ..dialects.types import DYNAMIC, has_symbols, shape_of
from ._functions import called_function, called_functions, clone_body

MOST_ELEMENTS = 1024
"""Most elements of an array that is computed to evaluate a condition."""


def fold_control(op: ControlOp) -> Sequence[SSAValue] | None:
    """The results of an op, by ops that are inserted before it; None where they are known only at run time."""
    if isinstance(op, CallOp):
        return None
    if isinstance(op, CaseOp):
        return _fold_case(op)
    if isinstance(op, WhileOp):
        condition = called_functions(op)[0]
        going = _constant_result(condition, op.operands)
        if going is None or going:
            return None
        _inlined(op, condition, op.operands)  # for its effects: unused pure ops are removed
        return op.inits
    assert isinstance(op, ForOp)
    return _fold_for(op)


def _inlined(op: ControlOp, function: FuncOp, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    block = op.parent
    assert block is not None
    return clone_body(function, arguments, lambda new: block.insert_op_before(new, op))[0]


def _fold_case(op: CaseOp) -> Sequence[SSAValue] | None:
    branches, index = called_functions(op), constant(op.index)
    if index is None and len(set(branches)) > 1:
        return None
    chosen = 0 if index is None else min(max(int(index), 0), len(branches) - 1)
    return _inlined(op, branches[chosen], op.arguments)


def _fold_for(op: ForOp) -> Sequence[SSAValue] | None:
    count = op.static_count if op.count is None else constant(op.count)
    if count is None or count > 1 or any(DYNAMIC in shape_of(v) for v in (*op.operands, *op.results)):
        return None
    b = GraphBuilder(InsertPoint.before(op), op.location)
    if count <= 0:
        return [*op.inits, *(b.zeros_like(stack) for stack in op.stacked_results)]
    slices = [b.reshape(stack, shape_of(stack)[1:]) for stack in op.stacks]
    results = _inlined(op, called_function(op), [b.const(0, INDEX.element_type), *op.consts, *op.inits, *slices])
    n = len(op.inits)
    return [*results[:n], *(b.reshape(value, (1, *shape_of(value))) for value in results[n:])]


def constant(value: SSAValue) -> np.ndarray | None:
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name != "graph.const":
        return None
    known = owner.properties["value"]
    return dense_array(known) if isinstance(known, DenseIntOrFPElementsAttr) else None


def _is_large(value: SSAValue) -> bool:
    """Whether a value has too many elements to be computed here, or an unknown number."""
    return has_symbols(value) or DYNAMIC in shape_of(value) or prod(shape_of(value)) > MOST_ELEMENTS


def _constant_result(function: FuncOp, arguments: Sequence[SSAValue]) -> np.ndarray | None:
    """The first result of a function, where it follows from its constant arguments."""
    known: dict[SSAValue, np.ndarray] = {}
    for argument, value in zip(function.body.block.args, arguments, strict=True):
        if (array := constant(value)) is not None:
            known[argument] = array
    with np.errstate(all="ignore"):
        for op in function.body.block.ops:
            if not isinstance(op, GraphOp) or any(operand not in known for operand in op.operands):
                continue
            if op.regions or isinstance(op, DimOp) or any(_is_large(r) for r in op.results):
                continue
            known.update(zip(op.results, op.evaluate(*(known[operand] for operand in op.operands)), strict=True))
    last = function.body.block.last_op
    assert last is not None
    return known.get(last.operands[0])

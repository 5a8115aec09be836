"""Replace conditions that are known in a branch by constants: the condition of the branch and its consequences.

    if x > 0:                      if x > 0:
        if x > 0: a()                  if true: a()
        elif x <= 0: b()   becomes     elif false: b()

In a branch of a bool, the bool itself and comparisons of the same two values, with any predicate, are constants if they follow:
where `x < y` holds, `x >= y` does not; where it does not hold, `x >= y` holds for integers, not for floats, which may be NaN.
`graph-simplify` then takes the only remaining branch. Linear time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..dialects.graph.base import ints
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.conditional import FLAG, CaseOp
from ..dialects.types import element_of, numpy_dtype, shape_of
from ._fold_control import constant
from ._functions import called_functions, callees_first, copy_function, holds, replace_op
from .graph_inline import drop_unused_functions

_HOLDS = {"lt": {"<"}, "le": {"<", "="}, "gt": {">"}, "ge": {">", "="}, "eq": {"="}, "ne": {"<", ">", "nan"}}
"""The possible orders of two numbers (less, equal, greater, unordered) where a predicate holds."""
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


@dataclass(frozen=True)
class GraphFoldConditionsPass(ModulePass):
    """Replace conditions that are known in a branch by constants."""

    name = "graph-fold-conditions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not holds(op, CaseOp):
            return
        waiting = callees_first(op)
        while waiting:  # callers first, and the functions that were made for them
            for case in [inner for inner in waiting.pop().body.block.ops if isinstance(inner, CaseOp)]:
                if case.index.type == FLAG:
                    waiting += _fold(case)
        drop_unused_functions(op)


def _fold(op: CaseOp) -> list[FuncOp]:
    """Fold the known conditions in the branches of an op; returns the functions that were made for it."""
    functions = called_functions(op)
    folded = [_folded(op, function, bool(k)) for k, function in enumerate(functions)]
    if folded != functions:
        new = op.with_functions(folded, op.arguments, linear=ints(op.linear), choice=op.index)
        new.location = op.location
        block = op.parent
        assert block is not None
        block.insert_op_before(new, op)
        replace_op(op, new.results)
    return [function for function in folded if function not in functions]


def _folded(op: CaseOp, function: FuncOp, holds: bool) -> FuncOp:
    """A branch, or a copy of it in which known conditions are constants."""
    known = _known(op, function, holds)
    if not known:
        return function
    copy = copy_function(function, op)
    values = dict(zip(_values(function), _values(copy), strict=True))
    first = copy.body.block.first_op
    assert first is not None
    b = GraphBuilder(InsertPoint.before(first), op.location)
    for value, is_true in known.items():
        values[value].replace_all_uses_with(b.const(is_true, i1))
    return copy


def _values(function: FuncOp) -> list[SSAValue]:
    return [*function.body.block.args, *(result for op in function.body.block.ops for result in op.results)]


def _known(op: CaseOp, function: FuncOp, holds: bool) -> dict[SSAValue, bool]:
    """The bools of a branch that are used there and follow from its condition."""
    pairs = list(zip(op.arguments, function.body.block.args, strict=True))
    found: dict[SSAValue, bool] = {inner: holds for outer, inner in pairs if outer is op.index}
    compared = _comparison(op.index)
    if compared is not None:
        predicate, sides = compared
        states = _states(predicate, sides[0], holds)
        inside = [_names(side, pairs) for side in sides]
        for inner in function.body.block.ops:
            if (other := _comparison(inner.results[0] if inner.results else None)) is None:
                continue
            for how, (x, y) in (other, (_TURNED[other[0]], other[1][::-1])):
                if _is_one(x, inside[0]) and _is_one(y, inside[1]):
                    if states <= _HOLDS[how]:
                        found[inner.results[0]] = True
                    elif not states & _HOLDS[how]:
                        found[inner.results[0]] = False
    return {value: is_true for value, is_true in found.items() if value.first_use is not None}


def _comparison(value: SSAValue | None) -> tuple[str, Sequence[SSAValue]] | None:
    owner = None if value is None else value.owner
    if not isinstance(owner, Operation) or owner.name != "graph.cmp" or shape_of(owner.operands[0]):
        return None
    predicate = owner.properties["predicate"]
    assert isinstance(predicate, StringAttr)
    return predicate.data, list(owner.operands)


def _states(predicate: str, value: SSAValue, holds: bool) -> set[str]:
    kind = numpy_dtype(element_of(value)).kind
    every = {"<", "=", ">"} if kind in "biu" else {"<", "=", ">", "nan"}
    return every & _HOLDS[predicate] if holds else every - _HOLDS[predicate]


def _names(value: SSAValue, pairs: Sequence[tuple[SSAValue, SSAValue]]) -> list[SSAValue]:
    """The name of a value in a branch; a constant, of which the branch has a copy, stands for itself."""
    return [*(inner for outer, inner in pairs if outer is value), *([value] if constant(value) is not None else [])]


def _is_one(value: SSAValue, names: Sequence[SSAValue]) -> bool:
    known = constant(value)
    return any(
        value is name or (known is not None and (other := constant(name)) is not None and known.tobytes() == other.tobytes())
        for name in names
    )

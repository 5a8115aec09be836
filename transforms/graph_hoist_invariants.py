"""Hoist loop-invariant ops: they are computed once, before the loop, and passed to the body.

    %y = graph.for @step count 10 consts(%w) carry(%x) over()     @step(%i, %w, %x): %e = exp %w; mul %x, %e
    becomes
    %e = graph.exp %w
    %y = graph.for @step_1 count 10 consts(%e) carry(%x) over()   @step_1(%i, %e, %x): mul %x, %e

An op moves if it has no effects and follows from consts of the loop alone. Nothing in a graph traps, so hoisting out of a loop
that does not run costs time but changes no result. Cheap ops are hoisted only for ops that are not cheap: otherwise reading
their results in each iteration costs as much. Linear time; bodies come first, so that ops invariant in several loops leave all
of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ..dialects.graph.base import GraphOp, ints
from ..dialects.graph.conditional import WhileOp
from ..dialects.graph.control import ControlOp, ForOp, LoopOp
from ..dialects.graph.effects import effects_stay, has_effects
from ..dialects.operations import clone
from ._functions import called_function, called_functions, callees_first, copy_function, copy_locations, holds, replace_op
from ._residuals import is_cheap
from .graph_dce import dce_block


@dataclass(frozen=True)
class GraphHoistInvariantsPass(ModulePass):
    """Compute loop-invariant ops before their loops."""

    name = "graph-hoist-invariants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with effects_stay():
            for function in callees_first(op) if holds(op, LoopOp) else ():
                for loop in [inner for inner in function.body.block.ops if isinstance(inner, LoopOp)]:
                    _hoist(loop)


def _hoist(op: LoopOp) -> None:
    body = called_function(op)
    first, consts = int(isinstance(op, ForOp)), list(op.consts)
    arguments = body.body.block.args[first : first + len(consts)]
    moved = _invariant(body, arguments)
    if not any(not is_cheap(inner) for inner in moved):
        return
    block = op.parent
    assert block is not None
    outside: dict[SSAValue, SSAValue] = dict(zip(arguments, consts, strict=True))
    for inner in moved:
        copied = clone(inner, outside)
        copy_locations(inner, copied)
        block.insert_op_before(copied, op)
    members = set(moved)
    read = [r for m in moved for r in m.results if not is_cheap(m) and any(use.operation not in members for use in r.uses)]
    if not read:
        return
    functions = [_taking(function, op, function is body, read, first, len(consts)) for function in called_functions(op)]
    given = [*consts, *(outside[value] for value in read)]
    if isinstance(op, ForOp):
        shift = [k if k < len(consts) else k + len(read) for k in ints(op.linear)]
        new: ControlOp = ForOp.make(
            functions[0], op.times, given, op.inits, op.stacks, reverse=op.reverse is not None, linear=shift
        )
    else:
        new = WhileOp.make(functions[0], functions[1], given, op.inits)
    new.location = op.location
    block.insert_op_before(new, op)
    replace_op(op, new.results)


def _invariant(body: FuncOp, arguments: Sequence[SSAValue]) -> list[Operation]:
    """The ops of a body that depend on these arguments alone, and that are not cheap or feed one that is not."""
    known: set[SSAValue] = set(arguments)
    found: list[Operation] = []
    for op in body.body.block.ops:
        if isinstance(op, GraphOp | ControlOp) and not op.regions and not has_effects(op) and known.issuperset(op.operands):
            known.update(op.results)
            found.append(op)
    needed: set[Operation] = set()
    for op in reversed(found):
        if not is_cheap(op) or op in needed:
            needed.add(op)
            needed.update(o.owner for o in op.operands if isinstance(o.owner, Operation))
    return [op for op in found if op in needed]


def _taking(function: FuncOp, op: Operation, is_body: bool, read: Sequence[SSAValue], first: int, n_consts: int) -> FuncOp:
    """A copy of a function that takes more consts; in the body they stand for the values that are read."""
    copy = copy_function(function, op)
    twins = dict(zip(_results(function), _results(copy), strict=True)) if is_body else {}
    for k, value in enumerate(read):
        argument = copy.body.block.insert_arg(value.type, first + n_consts + k)
        argument.name_hint = value.name_hint
        if is_body:
            twins[value].replace_all_uses_with(argument)
    dce_block(copy.body.block)
    copy.update_function_type()
    return copy


def _results(function: FuncOp) -> list[SSAValue]:
    return [result for op in function.body.block.ops for result in op.results]

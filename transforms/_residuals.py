"""Residuals: values from which the tangents of a function are computed, saved by the function instead of recomputed.

A function is split into one that returns residuals beside its results, and one that takes residuals and tangents and is linear
in the tangents (as in Gomez et al., The reversible residual network, 2017, the residuals are a choice). Cheap values are
recomputed from other residuals: a broadcast from its operand, a product from two factors that are saved anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.func import CallOp as FuncCallOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects.facts import Cost
from ..dialects.graph.base import GraphOp
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.conditional import CallOp, ChosenOp
from ..dialects.graph.contract import DotOp
from ..dialects.graph.control import ControlOp
from ..dialects.graph.custom import CustomDerivativeOp
from ..dialects.graph.effects import has_effects
from ..dialects.operations import clone
from ..dialects.types import element_of, has_symbols, shape_of, width_of
from ._for_loops import add_function, inner_linearizer, set_tangents, tangents_of, types_of
from ._functions import called_functions, copy_locations, hoist_invariant

if TYPE_CHECKING:
    from ._linearize import Linearizer


def is_cheap(op: Operation) -> bool:
    """Whether computing an op once more costs no more than keeping its result."""
    return isinstance(op, GraphOp) and op.facts.cost <= Cost.LOAD


def is_heavy(op: Operation) -> bool:
    """Whether an op fuses with none of the ops that compute its operands, so that these are in memory."""
    if isinstance(op, GraphOp):
        return op.has_nest or isinstance(op, DotOp)
    return isinstance(op, ControlOp | CustomDerivativeOp | FuncCallOp) and not isinstance(op, CallOp)


def saving_pays(op: ChosenOp) -> bool:
    """Whether functions save residuals: one of them has ops that are not cheap, or has effects.

    Branches have results of the same types, so the others return zeros for the residuals of one; there are none of a size that
    only one of them computes.
    """
    functions = called_functions(op)
    if len(set(functions)) == 1:
        return True
    ops = [inner for function in functions for inner in function.body.block.ops if not isinstance(inner, ReturnOp)]
    if any(map(has_effects, ops)):
        return True
    return not all(map(is_cheap, ops)) and not any(has_symbols(result) for inner in ops for result in inner.results)


@dataclass
class Split:
    """A function in two halves.

    Attributes:
        saving: computes the results and returns them.
        tangent: is linear, of the tangents that are given; its ops read values of `saving`.
        residuals: the values that they read, but for the arguments.
    """

    saving: FuncOp
    tangent: FuncOp
    residuals: list[SSAValue]

    @property
    def primal(self) -> Block:
        return self.saving.body.block

    @property
    def linear(self) -> Block:
        return self.tangent.body.block


def split_linear(op: ChosenOp, function: FuncOp, given: Sequence[SSAValue], linearizer: Linearizer) -> Split:
    """The halves of a function that `op` runs, for tangents of those arguments that are `given`."""
    primal, linear = Block(arg_types=types_of(op.arguments)), Block(arg_types=types_of(given))
    saving, tangent = add_function(op, "saving", primal, function), add_function(op, "tangent", linear, function)
    inner = inner_linearizer(linearizer, primal, forward=False)
    inner.b = GraphBuilder(linear, op.location)
    set_tangents(inner, op.arguments, primal.args, given, linear.args)
    results = inner.run(function, primal.args)
    for block, values in ((linear, tangents_of(results, inner)), (primal, results)):
        last = ReturnOp(*values)
        last.location = op.location
        block.add_op(last)
    assert primal.last_op is not None
    hoist_invariant(linear, primal.last_op)
    return Split(saving, tangent, _residuals(primal, linear))


def _residuals(primal: Block, linear: Block) -> list[SSAValue]:
    """The values of one block that another one reads, after cheap ones are recomputed there."""
    read = {v for inner in linear.walk() for v in inner.operands if isinstance(v.owner, Operation) and v.owner.parent is primal}
    kept: list[SSAValue] = []
    for op in reversed(list(primal.ops)):
        mine = [result for result in op.results if result in read]
        if not mine:
            continue
        if not _is_made_again(op, read):
            kept += mine
            continue
        copied = clone(op)
        copy_locations(op, copied)
        first = linear.first_op
        assert first is not None
        linear.insert_op_before(copied, first)
        for old, new in zip(op.results, copied.results, strict=True):
            old.replace_uses_with_if(new, lambda use: _is_inside(use.operation, linear))
        read.update(v for v in op.operands if isinstance(v.owner, Operation))
    return kept[::-1]


def _is_made_again(op: Operation, read: set[SSAValue]) -> bool:
    """Whether an op is cheap, and the operands that would be saved only for it take no more bytes than its result."""
    if not is_cheap(op):
        return False
    more = {v for v in op.operands if isinstance(v.owner, Operation) and v not in read}
    is_view = isinstance(op, GraphOp) and op.facts.view
    return is_view or sum(map(_bytes, more)) <= _own_bytes(op.results[0])


def _bytes(value: SSAValue) -> int:
    """The bytes to save for a value: its own, or those of the operand from which index arithmetic alone computes it."""
    owner, own = value.owner, _own_bytes(value)
    if isinstance(owner, GraphOp) and owner.facts.cost is Cost.INDEX:
        return min(own, sum(map(_bytes, owner.operands)))
    return own


def _own_bytes(value: SSAValue) -> int:
    total = width_of(element_of(value))
    for size in shape_of(value):
        total *= size if isinstance(size, int) and size >= 0 else 1
    return total


def _is_inside(op: Operation, block: Block) -> bool:
    while op.parent is not None and op.parent is not block:
        parent = op.parent.parent_op()
        if parent is None:
            return False
        op = parent
    return op.parent is block


@dataclass
class Joined:
    """Functions of the halves of all functions that an op may run, which all have the same signatures.

    Attributes:
        saving, tangent: one for each function of the op.
        residuals: which results of `saving` are given to `tangent`, after the arguments.
    """

    saving: list[FuncOp]
    tangent: list[FuncOp]
    residuals: list[int]


def join_residuals(op: ChosenOp, halves: Sequence[Split]) -> Joined:
    """Functions of the halves, one pair for each function of `op`: all return, and take, residuals of the same types.

    A function returns zeros for residuals of the others; residuals of one type share positions. A residual of the only
    function that is one of its results is returned once.
    """
    distinct = list({id(split): split for split in halves}.values())
    types: list[Attribute] = []
    numbers = [_slots(split.residuals, types) for split in distinct]
    n = len(op.results)
    places = list(range(n, n + len(types)))
    if len(distinct) == 1 and distinct[0].primal.last_op is not None:
        returned = list(distinct[0].primal.last_op.operands)
        free = iter(places)
        places = [returned.index(v) if v in returned else next(free) for v in distinct[0].residuals]
    for split, slots in zip(distinct, numbers, strict=True):
        _return_residuals(split, [k for k in range(len(types)) if places[k] >= n], slots, types)
        _take_residuals(split, slots, types)
        for function in (split.saving, split.tangent):
            function.update_function_type()
    return Joined([split.saving for split in halves], [split.tangent for split in halves], places)


def _slots(residuals: Sequence[SSAValue], types: list[Attribute]) -> list[int]:
    """The position in `types` of each residual, each used once; types that are missing are appended."""
    at: list[int] = []
    for value in residuals:
        free = next((k for k, type in enumerate(types) if type == value.type and k not in at), len(types))
        if free == len(types):
            types.append(value.type)
        at.append(free)
    return at


def _return_residuals(split: Split, returned: Sequence[int], slots: Sequence[int], types: Sequence[Attribute]) -> None:
    last = split.primal.last_op
    assert last is not None
    values: dict[int, SSAValue] = dict(zip(slots, split.residuals, strict=True))
    last.detach()
    b = GraphBuilder(split.primal, last.location)
    new = ReturnOp(*last.operands, *(values[k] if k in values else b.full(0, types[k]) for k in returned))
    new.location = last.location
    last.erase()
    split.primal.add_op(new)


def _take_residuals(split: Split, slots: Sequence[int], types: Sequence[Attribute]) -> None:
    linear, values = split.linear, dict[SSAValue, SSAValue]()
    for k, type in enumerate([*types_of(split.primal.args), *types]):
        linear.insert_arg(type, k)
    n = len(split.primal.args)
    values.update(zip(split.primal.args, linear.args, strict=False))
    values.update((value, linear.args[n + k]) for value, k in zip(split.residuals, slots, strict=True))
    for old, new in values.items():
        old.replace_uses_with_if(new, lambda use: _is_inside(use.operation, linear))

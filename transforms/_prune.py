"""Removes unused and loop-invariant carried values of loops, and unused results of branches.

A carried value is needed if its result is, or if the loop condition, or a needed value, is computed from it. One that the body
returns unchanged is a const of the loop. Functions are pruned as copies, since others may call them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from ..dialects.graph.base import ints
from ..dialects.graph.conditional import ChosenOp, WhileOp
from ..dialects.graph.control import ControlOp, ForOp, LoopOp
from ..dialects.graph.effects import has_effects
from ._functions import called_function, called_functions, copy_function

Cuts = dict[tuple[object, ...], FuncOp]
"""The pruned functions, which may be called more than once: by function, results and arguments."""


def prune_block(block: Block, dce_block: Callable[[Block], None], cuts: Cuts) -> list[FuncOp]:
    """Prune the ops of control flow of a block; returns the functions that were made for it."""
    made: list[FuncOp] = []
    needed = cache(_needed)  # meanwhile no called function changes
    for op in reversed(list(block.ops)):
        if isinstance(op, ControlOp) and (any(r.first_use is not None for r in op.results) or has_effects(op)):
            if isinstance(op, ChosenOp):
                made += _prune_chosen(op, dce_block, cuts, needed)
            elif isinstance(op, LoopOp):
                made += _prune_loop(op, dce_block)
    return made


def _needed(function: FuncOp, results: tuple[int, ...]) -> set[int]:
    """The arguments on which some results of a function, and its effects, depend, by number."""
    block = function.body.block
    last = block.last_op
    assert last is not None
    wanted: set[SSAValue] = {last.operands[k] for k in results}
    for op in reversed(list(block.ops)):
        if any(result in wanted for result in op.results) or has_effects(op):
            wanted.update(op.operands)
            for inner in op.walk():  # ops with regions read values from outside
                wanted.update(inner.operands)
    return {k for k, argument in enumerate(block.args) if argument in wanted}


def _unchanged(function: FuncOp, first: int, count: int) -> set[int]:
    """Which of `count` carried values, whose arguments begin at `first`, a body returns unchanged."""
    block = function.body.block
    last = block.last_op
    assert last is not None
    return {k for k in range(count) if last.operands[k] is block.args[first + k]}


def _cut(
    function: FuncOp, results: Sequence[int], arguments: Sequence[int], dce_block: Callable[[Block], None], op: ControlOp
) -> FuncOp:
    """A copy of a function with these results, and these arguments in this order."""
    copy = copy_function(function, op)
    block = copy.body.block
    last = block.last_op
    assert last is not None
    last.operands = [last.operands[k] for k in results]
    dce_block(block)
    old = list(block.args)
    for k in arguments:
        new = block.insert_arg(old[k].type, len(block.args))
        new.name_hint = old[k].name_hint
        old[k].replace_all_uses_with(new)
    for argument in old:
        block.erase_arg(argument)
    copy.update_function_type()
    return copy


def _prune_chosen(
    op: ChosenOp, dce_block: Callable[[Block], None], cuts: Cuts, needed_of: Callable[[FuncOp, tuple[int, ...]], set[int]]
) -> list[FuncOp]:
    functions = called_functions(op)
    results = [k for k, r in enumerate(op.results) if r.first_use is not None]
    needed = set[int]().union(*(needed_of(function, tuple(results)) for function in functions))
    if len(results) == len(op.results) and len(needed) == len(op.arguments):
        return []
    kept, made = sorted(needed), list[FuncOp]()
    for function in dict.fromkeys(functions):
        key = (function, tuple(results), tuple(kept))
        if key not in cuts:
            cuts[key] = _cut(function, results, kept, dce_block, op)
            made.append(cuts[key])
    linear = [new for new, old in enumerate(kept) if old in ints(op.linear)]
    chosen = [cuts[function, tuple(results), tuple(kept)] for function in functions]
    new = op.with_functions(chosen, [op.arguments[k] for k in kept], linear=linear, choice=op.choice)
    _replace(op, new, results, {})
    return made


def _prune_loop(op: LoopOp, dce_block: Callable[[Block], None]) -> list[FuncOp]:
    body = called_function(op)
    condition = called_functions(op)[0] if isinstance(op, WhileOp) else None
    n_consts, n = len(op.consts), len(op.inits)
    index = int(condition is None)  # a counted loop passes its number first
    first = index + n_consts
    unchanged = _unchanged(body, first, n)
    used = {k for k, r in enumerate(op.results) if r.first_use is not None}
    of_condition = set[int]() if condition is None else _needed(condition, (0,))
    results = used | {k - first for k in of_condition if k >= first}
    while True:  # until a fixed point of needed carried values
        needed = _needed(body, tuple([k for k in results if k not in unchanged])) | of_condition
        found = results | {k - first for k in needed if first <= k < first + n}
        if found == results:
            break
        results = found
    carried = [k for k in range(n) if k in results and k not in unchanged]
    stacked = [k for k in range(n, len(op.results)) if k in results]
    needed_consts = [k for k in range(index, first) if k in needed]
    fixed = [k for k in sorted(unchanged) if first + k in needed]
    stacks = [k for k in range(first + n, len(body.body.block.args)) if k in needed]
    arguments = [*range(index), *needed_consts, *(first + k for k in fixed), *(first + k for k in carried), *stacks]
    if len(carried) == n and len(stacked) == len(op.results) - n and len(arguments) == len(body.body.block.args):
        return []
    kept = [*carried, *stacked]
    made = [_cut(body, kept, arguments, dce_block, op)]
    outside = [op.operands[k] for k in _operand_numbers(op)]
    consts = [outside[k - index] for k in (*needed_consts, *(first + k for k in fixed))]
    inits = [op.inits[k] for k in carried]
    if isinstance(op, ForOp):
        linear = [k for k, old in enumerate(arguments[1:]) if old - 1 in ints(op.linear)]
        slices = [op.stacks[k - first - n] for k in stacks]
        new: LoopOp = ForOp.make(made[0], op.times, consts, inits, slices, reverse=op.reverse is not None, linear=linear)
    else:
        assert condition is not None
        made.append(_cut(condition, [0], arguments, dce_block, op))
        new = WhileOp.make(made[1], made[0], consts, inits)
    _replace(op, new, kept, {k: op.inits[k] for k in unchanged})
    return made


def _operand_numbers(op: LoopOp) -> Iterable[int]:
    """The operands of a loop that are consts, initial values and stacks."""
    return range(int(isinstance(op, ForOp) and op.count is not None), len(op.operands))


def _replace(op: ControlOp, new: ControlOp, results: Sequence[int], values: dict[int, SSAValue]) -> None:
    """Replace an op by one with some of its results; `values` of others are known, the rest is unused."""
    new.location = op.location
    block = op.parent
    assert block is not None
    if new.results or has_effects(op):
        block.insert_op_before(new, op)
    else:
        new.erase()
    known = {**values, **dict(zip(results, new.results, strict=True))}
    for k, value in known.items():
        if value.name_hint is None:
            value.name_hint = op.results[k].name_hint
        op.results[k].replace_all_uses_with(value)
    op.detach()
    op.erase()

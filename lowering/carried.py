"""Carried values of loops that can stay in one buffer: readers of the last value precede the write of the next one.

func.func private @step(%i, %x) {                    func.func private @step(%i, %x) {
  %y = scatter %v into %x                              %a = reduce %x
  %a = reduce %x                  becomes              %y = scatter %v into %x
  return %y, %a                                        return %y, %a
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from ..dialects.graph.base import GraphOp
from ..dialects.graph.control import ForOp, LoopOp

Carried = Sequence[tuple[SSAValue, SSAValue]]
"""An argument of the body of a loop, and the returned value that replaces it."""


def overwritten_operand(op: object) -> SSAValue | None:
    """The operand that an op updates in the buffer of its result."""
    return op.operands[op.facts.overwrites] if isinstance(op, GraphOp) and op.facts.overwrites is not None else None


def carried_by(functions: Iterable[func.FuncOp]) -> dict[str, Carried]:
    """The carried values of loop bodies, by the names of these."""
    named = {function.sym_name.data: function for function in functions}
    found: dict[str, Carried] = {}
    for function in named.values():
        for op in function.body.block.ops:
            if isinstance(op, LoopOp) and (body := named.get(op.callee.string_value())) is not None:
                first = len(op.consts) + isinstance(op, ForOp)
                last = body.body.block.last_op
                assert last is not None
                found[body.sym_name.data] = list(zip(body.body.block.args[first:], last.operands, strict=False))[
                    : len(op.inits)
                ]
    return found


def order_for_carried(block: Block, carried: Carried, effects: Collection[Operation] = ()) -> None:
    """Move the readers of each carried argument before the op that first writes the buffer of its next value, where possible.

    `effects` keep their order.
    """
    ops = list(block.ops)
    needs = {op: {o.owner for o in op.operands if isinstance(o.owner, Operation)} for op in ops}
    in_order = [op for op in ops if op in effects]
    for before, after in pairwise(in_order):
        needs[after].add(before)
    for argument, returned in carried:
        writer = _first_writer(argument, returned)
        if writer is None:
            continue
        for reader in {use.operation for use in argument.uses}:
            if reader is not writer and reader is not block.last_op and not _follows(reader, writer, needs):
                needs[writer].add(reader)
    for op in _sorted(ops, needs):
        op.detach()
        block.add_op(op)


def _first_writer(argument: SSAValue, returned: SSAValue) -> Operation | None:
    """The op that first stores into the buffer of a returned value: the first of a chain of updates."""
    writer: Operation | None = None
    value = returned
    while value is not argument and isinstance(value.owner, Operation):
        writer = value.owner
        initial = initial_of(writer, value)
        if initial is None or not initial.has_one_use():
            return writer
        value = initial
    return writer


def initial_of(op: Operation, result: SSAValue) -> SSAValue | None:
    """The operand that an op updates into a result in one buffer, or from which a loop starts."""
    if isinstance(op, LoopOp):
        number = op.results.index(result)
        return op.inits[number] if number < len(op.inits) else None
    return overwritten_operand(op)


def _follows(op: Operation, other: Operation, needs: dict[Operation, set[Operation]]) -> bool:
    """Whether an op depends on another one, directly or transitively."""
    waiting, seen = [op], {op}
    while waiting:
        for need in needs.get(waiting.pop(), ()):
            if need is other:
                return True
            if need not in seen:
                seen.add(need)
                waiting.append(need)
    return False


def _sorted(ops: Sequence[Operation], needs: dict[Operation, set[Operation]]) -> list[Operation]:
    """A topological order of ops that keeps their order where possible; the last one stays last."""
    position = {op: k for k, op in enumerate(ops)}
    waiting = {op: len(needs[op]) for op in ops}
    followers: dict[Operation, list[Operation]] = {op: [] for op in ops}
    for op in ops:
        for need in needs[op]:
            followers[need].append(op)
    ready = [position[op] for op in ops if not waiting[op] and op is not ops[-1]]
    heapq.heapify(ready)
    ordered: list[Operation] = []
    while ready:
        op = ops[heapq.heappop(ready)]
        ordered.append(op)
        for follower in followers[op]:
            waiting[follower] -= 1
            if not waiting[follower] and follower is not ops[-1]:
                heapq.heappush(ready, position[follower])
    return [*ordered, ops[-1]]

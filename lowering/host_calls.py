"""Control flow of graphs as calls of host functions: loops and branches, on alternating buffers.

Each function emits the call of an op and returns an estimate of its scalar operations.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Operation, SSAValue

from ..dialects import program
from ..dialects.graph.conditional import ChosenOp, WhileOp
from ..dialects.graph.control import ControlOp, ForOp
from ..dialects.loop.repeat import BranchOp, CallOp, HostCallOp, RepeatOp, RepeatWhileOp
from ..dialects.symbols import find_symbol
from .host_buffers import HostBuffers, error_at
from .work import UNKNOWN_TRIPS


def repeat(host: HostBuffers, op: ForOp) -> int:
    """Call the function of a loop's body repeatedly, with two alternating buffers for each carried value."""
    carry, spare = _carried(host, op, op.inits, op.carried_results)
    position = host.scalar(i64, op, "i")
    consts, over = ([host.buffers[v] for v in values] for values in (op.consts, op.stacks))
    into = [host.buffer(result, op) for result in op.stacked_results]
    count = op.trips.value.data if op.count is None else host.buffers[op.count]
    groups = [consts, carry, spare, over, into]
    made = RepeatOp.make(op.callee.string_value(), count, position, groups, reverse=op.reverse is not None)
    _call(host, made, op)
    trips = UNKNOWN_TRIPS if op.count is not None else op.trips.value.data
    return trips * sum(_works(op))


def repeat_while(host: HostBuffers, op: WhileOp) -> int:
    """Call the functions of the condition and the body alternately."""
    carry, spare = _carried(host, op, op.inits, op.results)
    consts = [host.buffers[v] for v in op.consts]
    condition, body = (name.string_value() for name in op.callees)
    flag = host.scalar(i1, op, "going")
    _call(host, RepeatWhileOp.make(condition, body, flag, [consts, carry, spare]), op)
    return UNKNOWN_TRIPS * sum(_works(op))


def call_once(host: HostBuffers, op: ChosenOp) -> int:
    """Call the function of one branch, or the only one."""
    given = [host.buffers[v] for v in op.arguments]
    into = [host.buffer(result, op) for result in op.results]
    names = [name.string_value() for name in op.callees]
    call = (
        CallOp.make(names[0], given, into) if op.choice is None else BranchOp.make(host.buffers[op.choice], names, given, into)
    )
    _call(host, call, op)
    return max(_works(op))


def _carried(
    host: HostBuffers, op: Operation, inits: Sequence[SSAValue], results: Sequence[SSAValue]
) -> tuple[list[SSAValue], list[SSAValue]]:
    """Two buffers for each carried value; the first is that of the result and holds the initial value."""
    carry = [host.written(op, init, result) for init, result in zip(inits, results, strict=True)]
    return carry, [host.alloc(value, op) for value in inits]


def _works(op: ControlOp) -> list[int]:
    """The work of a call of each function of an op, which are already converted."""
    return [1 if function.work is None else function.work.value.data for function in _functions(op)]


def _call(host: HostBuffers, call: HostCallOp, op: ControlOp) -> None:
    """Insert a call of other functions, with the sizes that these take; their temporaries are assigned later."""
    sizes = [[host.size(size, op) for size in function.meant_sizes()] for function in _functions(op)]
    host.insert(call.with_more([((), given) for given in sizes]) if any(sizes) else call, op)


def _functions(op: ControlOp) -> list[program.FuncOp]:
    """The functions that an op calls, which are already converted."""
    functions: list[program.FuncOp] = []
    for name in op.callees:
        found = find_symbol(op, name)
        if not isinstance(found, program.FuncOp):
            raise error_at(op, f"names no function of the module: {name}")
        functions.append(found)
    return functions

"""Control flow of graphs as calls of host functions: loops and branches, on buffers that take turns.

Each function writes the call of an op and returns how many scalar operations it takes, about.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable

from ..dialects import program
from ..dialects.graph.conditional import CaseOp, WhileOp
from ..dialects.graph.control import ControlOp, ForOp
from ..dialects.loop.repeat import BranchOp, RepeatOp, RepeatWhileOp
from .host_buffers import HostBuffers, error_at
from .work import UNKNOWN_TRIPS


def repeat(host: HostBuffers, op: ForOp) -> int:
    """Call the function of a loop's body again and again, between two buffers for each carried value."""
    carry, spare = _carried(host, op, op.inits, op.carried_results)
    position = host.scalar(i64, op, "i")
    consts, over = ([host.buffers[v] for v in values] for values in (op.consts, op.stacks))
    into = [host.buffer(result, op) for result in op.stacked_results]
    count = op.trips.value.data if op.count is None else host.buffers[op.count]
    groups = [consts, carry, spare, over, into]
    made = RepeatOp.make(op.callee.string_value(), count, position, groups, reverse=op.reverse is not None)
    host.insert(made, op)
    trips = UNKNOWN_TRIPS if op.count is not None else op.trips.value.data
    return trips * sum(_works(op))


def repeat_while(host: HostBuffers, op: WhileOp) -> int:
    """Call the functions of the condition and the body in turns."""
    carry, spare = _carried(host, op, op.inits, op.results)
    consts = [host.buffers[v] for v in op.consts]
    condition, body = (name.string_value() for name in op.callees)
    flag = host.scalar(i1, op, "going")
    host.insert(RepeatWhileOp.make(condition, body, flag, [consts, carry, spare]), op)
    return UNKNOWN_TRIPS * sum(_works(op))


def branch(host: HostBuffers, op: CaseOp) -> int:
    """Call the function of one branch."""
    given = [host.buffers[v] for v in op.arguments]
    into = [host.buffer(result, op) for result in op.results]
    host.insert(BranchOp.make(host.buffers[op.index], [n.string_value() for n in op.callees], given, into), op)
    return max(_works(op))


def _carried(
    host: HostBuffers, op: Operation, inits: Sequence[SSAValue], results: Sequence[SSAValue]
) -> tuple[list[SSAValue], list[SSAValue]]:
    """Two buffers for each carried value, of which the first is that of the result and holds the initial value."""
    carry = [host.written(op, init, result) for init, result in zip(inits, results, strict=True)]
    return carry, [host.alloc(value, op) for value in inits]


def _works(op: ControlOp) -> list[int]:
    """The work of a call of each function of an op, which are converted already."""
    works: list[int] = []
    for name in op.callees:
        found = SymbolTable.lookup_symbol(op, name)
        if not isinstance(found, program.FuncOp):
            raise error_at(op, f"names no function of the module: {name}")
        works.append(1 if found.work is None else found.work.value.data)
    return works

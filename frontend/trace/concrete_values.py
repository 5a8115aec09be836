"""Values of traced arrays where the arguments of the function are known: in `grad`, `jvp`, `vjp` and `vmap` of arrays.

Nothing is computed until a value is requested, by `if`, `float()`, `print` or NumPy. Then the ops that lead to it run one
after the other, by their NumPy meaning or, from `COMPILED_WORK` up, compiled; each result is kept for the next request.
The trace continues unchanged: the program is that of the branch which the values chose, and values that were read are constants
in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ...dialects.graph.base import GraphOp
from ...dialects.operations import clone
from ...errors import SizeError
from ...runtime.array import as_array
from ...runtime.arrays import plain
from ..run.eager_programs import COMPILED_WORK, interpreted_work
from .locations import user_place
from .tracer import PRINTING, Read, Tracer, UnknownValueError

if TYPE_CHECKING:
    from .tracing import Trace

Array = np.ndarray[Any, Any]


def value_of(x: Tracer) -> Array:
    """The value of a traced array, read-only.

    Raises:
        UnknownValueError: it depends on an argument without a value.
    """
    trace = x.within
    if not trace.active:
        raise UnknownValueError("whose trace has ended")
    waiting: list[SSAValue | Operation] = [x.value]
    while waiting:  # depth first: an op is met a second time when its operands are known
        item = waiting.pop()
        if isinstance(item, Operation):
            _run(item, trace)
        elif item not in trace.values:
            if isinstance(item, BlockArgument):
                trace.values[item] = _argument(item, trace)
            else:
                assert isinstance(item.owner, Operation)
                waiting += [item.owner, *item.owner.operands]
    return trace.values[x.value]


def _argument(argument: BlockArgument, trace: Trace) -> Array:
    known = trace.known[argument.index] if argument.index < len(trace.known) else None
    if argument.index >= trace.own_arguments:
        known = trace.captured[argument.index - trace.own_arguments][0]
    if known is None or isinstance(known, str):
        raise UnknownValueError(known or "which are not known while tracing")
    return value_of(known) if isinstance(known, Tracer) else known


def _run(op: Operation, trace: Trace) -> None:
    if op.results and op.results[0] in trace.values:
        return
    operands = [trace.values[operand] for operand in op.operands]
    if (
        isinstance(op, GraphOp)
        and op.results
        and "callee" not in op.properties
        and not op.regions
        and interpreted_work(op) < COMPILED_WORK
    ):
        try:
            results: Any = op.evaluate(*operands)
        except SizeError:
            raise UnknownValueError("which depend on a symbolic size") from None
    else:
        results = _compiled(op, trace, operands)
    for value, array in zip(op.results, results, strict=True):
        array = np.asarray(array)
        if array.flags.owndata:
            array.flags.writeable = False
        trace.values[value] = array


def _compiled(op: Operation, trace: Trace, operands: list[Array]) -> tuple[Array, ...]:
    """The op as a program of its own, beside the functions that it may call."""
    from ...executor import executor

    assert trace.program is not None
    types = [operand.type for operand in op.operands]
    block = Block(arg_types=types)
    copy = clone(op, dict(zip(op.operands, block.args, strict=True)))
    block.add_ops([copy, ReturnOp.create(operands=copy.results)])
    module: ModuleOp = clone(trace.program.module)
    module.body.block.add_op(FuncOp("main", (types, [r.type for r in copy.results]), Region(block), "public"))
    out = executor.function(module, functions=trace.program.callbacks)(*[plain(x, x.dtype) for x in operands])
    if out is None:
        return ()
    return out if isinstance(out, tuple) else (out,)


def readable(x: Tracer, what: str) -> Array:
    """A copy of the value, which the caller may change."""
    value = value_of(x)
    if x.within.reads is not None and what != PRINTING:
        x.within.reads.append(Read(what, value, x.value, user_place()))
    return as_array(value.copy())


def run_all(trace: Trace) -> None:
    """Get the values of all ops of a trace, and the effects of those that have some, in order.

    Raises:
        UnknownValueError: an argument has no value.
    """
    for argument in trace.block.args:
        if argument not in trace.values:
            trace.values[argument] = _argument(argument, trace)
    for op in list(trace.block.ops):
        _run(op, trace)

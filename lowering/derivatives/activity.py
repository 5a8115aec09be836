"""Which values and buffers of a kernel change with its differentiated parameters."""

from __future__ import annotations

import linecache
from collections.abc import Iterable

from xdsl.dialects.builtin import FileLineColLoc, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.loop.gather import GatherOp, ScatterOp
from ...dialects.loop.loops import ForOp, IfOp, KernelOp, WhileOp, YieldOp
from ...dialects.loop.memory import CheckOp, LoadOp, StoreOp
from ...dialects.types import is_float
from ...errors import DifferentiationError
from ..analysis.nests import walk
from .slopes import has_slopes, slopes_of


def active_values(kernel: KernelOp, parameters: Iterable[SSAValue]) -> set[SSAValue]:
    """The values, and buffers, that change with some parameters: floats that are computed from them.

    Raises:
        DifferentiationError: an op that such values reach has no derivative.
    """
    active = set(parameters)
    ops = walk(kernel)
    size = -1
    while size != len(active):
        size = len(active)
        for op in ops:
            _spread(op, active)
    for op in ops:
        _require_derivative(op, active)
    return active


def floats(type: Attribute) -> bool:
    """Whether a value or the elements of a buffer are floats."""
    return is_float(type.element_type if isinstance(type, MemRefType) else type)


def _spread(op: Operation, active: set[SSAValue]) -> None:
    if isinstance(op, LoadOp):
        if op.buffer in active and is_float(op.value.type):
            active.add(op.value)
    elif isinstance(op, StoreOp):
        if op.value in active:
            active.add(op.buffer)
    elif isinstance(op, ForOp | WhileOp):
        yielded = op.yielded if isinstance(op, ForOp) else op.yielded[1:]
        arguments = op.body.block.args[1:] if isinstance(op, ForOp) else op.body.block.args
        for k, (init, value, result) in enumerate(zip(op.inits, yielded, op.results, strict=True)):
            inside = arguments[k : k + 1]
            if is_float(result.type) and any(one in active for one in (init, value, *inside)):
                active.update((result, *inside))
    elif isinstance(op, IfOp):
        for region in (op.then, op.otherwise):
            last = region.blocks[0].last_op if region.blocks else None
            if isinstance(last, YieldOp):
                active.update(r for r, v in zip(op.results, last.operands, strict=True) if v in active and is_float(r.type))
    elif any(slope is not None and operand in active for slope, operand in zip(slopes_of(op), op.operands, strict=False)):
        active.add(op.results[0])


def _require_derivative(op: Operation, active: set[SSAValue]) -> None:
    if isinstance(op, GatherOp | ScatterOp) or (isinstance(op, ForOp) and op.kind.data == "vector"):
        if isinstance(op, ForOp) or op.buffer in active:
            raise refusal(op, "the kernel has been scheduled: derivatives are made from the loops as they are written")
    elif isinstance(op, CheckOp | YieldOp | LoadOp | StoreOp) or op.regions:
        return
    elif any(operand in active for operand in op.operands) and not has_slopes(op):
        raise refusal(op, f"'{op.name}' has no derivative")


def refusal(op: Operation, rule: str, remedy: str = "") -> DifferentiationError:
    """The error at an op of a kernel, with its line."""
    own = "give the function that calls the kernel derivatives by lm.custom_vjp or lm.custom_jvp"
    message = f"{rule}; {remedy + ', or ' if remedy else ''}{own}"
    location = op.location
    if isinstance(location, FileLineColLoc):
        file, line, column = location.filename.data, location.line.data, location.column.data
        message = f"{file.rpartition('/')[2]}:{line}:{column}: {message}"
        if source := linecache.getline(file, line).strip():
            message += f"\n    {source}"
    error = DifferentiationError(message)
    error.location = location
    return error

"""Makes kernels from text safe to run: each access is proved in bounds, checked at run time, or refused.

Kernels that the compiler makes from graphs are in bounds by construction; a text may contain any access. So the tools run this
pass on their input, before they compile or run it:

* an access that is proved to stay inside its buffer for all data stays as it is (`analysis/proofs.py`);
* an access that is certainly out of bounds is an error;
* any other gets a `loop.check` before it, which stops the kernel with the index and the source location. Kernels that a
  function launches cannot stop in the middle of the program: there such an access is an error, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import vector
from xdsl.dialects.builtin import ModuleOp, StringAttr, VectorType
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ..dialects.graph.kernel import KernelCallOp
from ..dialects.loop.gather import GatherOp, ScatterOp
from ..dialects.loop.loops import KernelOp
from ..dialects.loop.memory import CheckOp, LaunchOp, ReduceLanesOp
from ..dialects.operations import create
from ..dialects.scalar import ScalarBuilder
from ..dialects.types import index
from ..dialects.types import vector as vector_type
from ..dialects.vocabulary import StepOp
from ..errors import CompileError, placed
from .analysis.inbounds import materialize
from .analysis.nests import buffer_name, ops_in, place
from .analysis.placement import drop_obstacles
from .analysis.proofs import AccessOp, Unproved, size_of, unproved, unsized


def guard_accesses(module: ModuleOp) -> None:
    """Check the accesses of all kernels of a module that are not proved to be in bounds.

    Raises:
        CompileError: an access is certainly out of bounds, or cannot be checked; at the access.
    """
    launched = {op.kernel.string_value() for op in ops_in(module, LaunchOp, KernelCallOp)}
    for kernel in [op for op in module.body.block.ops if isinstance(op, KernelOp)]:
        if (local := unsized(kernel)) is not None:
            rule = "its sizes must be proved to be at least 0 and less than 2^48: bound them with arith.maxsi and arith.minsi"
            raise placed(CompileError(f"'loop.alloc' op of {local.buffer.type}: {rule}"), local)
        found = unproved(kernel)
        for one in found:
            if one.certain or kernel.sym_name.data in launched or not _can_be_checked(one.op):
                raise placed(CompileError(_refusal(one, kernel)), one.op)
        if found:
            _insert(kernel, found)
            drop_obstacles(kernel)


def _refusal(one: Unproved, kernel: KernelOp) -> str:
    op = one.op
    subject = f"'{op.name}' op index of dim {one.dim} of {buffer_name(op.buffer)}, {op.buffer.type},"
    if one.certain:
        return f"{subject} is out of bounds in every iteration"
    why = f"@{kernel.sym_name.data} is launched by a function, which cannot stop: clamp it with arith.maxsi and arith.minsi"
    if _can_be_checked(op):
        return f"{subject} is not proved to be in bounds, and {why}, or put the access under a loop.if"
    return f"{subject} is not proved to be in bounds, and {op.lanes} lanes cannot be checked: their number must be 2^k"


def _can_be_checked(op: AccessOp) -> bool:
    return not op.lanes & (op.lanes - 1)


def _insert(kernel: KernelOp, found: Sequence[Unproved]) -> None:
    """Put a `loop.check` before each access; the kernel's `checks` describe each of them."""
    said = kernel.texts("checks")
    known = len(said)
    for one in found:
        op = one.op
        where = f" ({place(op)})" if place(op) else ""
        said.append(f"dim {one.dim} of {buffer_name(op.buffer)}{where}")
        scratch = Block()
        b = ScalarBuilder(scratch, op.location)
        low, high = _ends(b, one)
        size = size_of(kernel, op.buffer, one.dim)
        limit = b.const(size, index) if isinstance(size, int) else materialize(b, *size)
        below = b.cmp("lt", low, b.const(0, index))
        inside = b.binary("and", b.invert(below), b.cmp("lt", high, limit))
        check = CheckOp.build_check(inside, b.select(below, low, high), len(said))
        check.location = op.location
        scratch.add_op(check)
        block = op.parent
        assert block is not None
        for new in list(scratch.ops):
            new.detach()
            block.insert_op_before(new, op)
    kernel.add_texts("checks", said[known:])


def _ends(b: ScalarBuilder, one: Unproved) -> tuple[SSAValue, SSAValue]:
    """The least and the greatest index of an access in a dim."""
    op, dim = one.op, one.dim
    if isinstance(op, GatherOp | ScatterOp):
        subscript = op.subscripts[dim]
        moves = isinstance(subscript.type, VectorType)
    else:
        subscript = materialize(b, op.map.data.results[dim], op.indices)
        moves = op.lanes > 1 and op.lane_dim() == dim
        if moves:
            steps = b.insert(StepOp.create(result_types=[vector_type(index, op.lanes)]))
            ahead = b.mul(steps, b.const(op.lane_step(), vector_type(index, op.lanes)))
            subscript = b.add(_wide(b, subscript, op.lanes), ahead)
    if op.mask is None and not moves:
        return subscript, subscript
    lanes = subscript if isinstance(subscript.type, VectorType) else _wide(b, subscript, op.lanes)
    ends: list[SSAValue] = []
    for monoid, idle in (("min", 0), ("max", -1)):  # the values of inactive lanes
        some = lanes if op.mask is None else b.select(op.mask, lanes, b.const(idle, lanes.type))
        reduced = ReduceLanesOp.create(operands=[some], result_types=[index], properties={"monoid": StringAttr(monoid)})
        ends.append(b.insert(reduced))
    return ends[0], ends[1]


def _wide(b: ScalarBuilder, value: SSAValue, lanes: int) -> SSAValue:
    return b.insert(create(vector.BroadcastOp, operands=[value], result_types=[vector_type(index, lanes)]))


@dataclass(frozen=True)
class CheckBoundsPass(ModulePass):
    """Check, at run time, the accesses of kernels that are not proved to be in bounds."""

    name = "check-bounds"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        guard_accesses(op)

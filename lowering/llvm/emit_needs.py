"""What the function of a kernel needs besides its arguments: memory from the heap, a place for its status."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import AllocOp, CheckOp
from ..analysis.nests import ops_in, walk
from ..analysis.parallel import worth_threads
from ..plan_buffers import STACK_LIMIT_BYTES, scratch_layout, size_bytes
from .emit_core import FunctionEmitter, ModuleEmitter


@dataclass(frozen=True)
class Needs:
    """What a kernel takes of those that call it besides its arguments.

    Attributes:
        offsets: where its scratch buffers stand in the scratch memory of a launch.
        scratch_bytes: how large that is.
        status: whether it takes the number of threads and a place for its status.
    """

    offsets: dict[AllocOp, int]
    scratch_bytes: int
    status: bool


def needs_of(module: ModuleEmitter, kernel: KernelOp) -> Needs:
    """What a kernel needs, found out once: each launch asks."""
    found = module.needs.get(kernel)
    if found is None:
        found = module.needs[kernel] = Needs(*scratch_layout(kernel), reports_status(kernel))
    return found


def uses_heap(e: FunctionEmitter, root: Operation) -> bool:
    """Whether a function may take memory from the heap for local buffers in an op."""
    for op in ops_in(root, AllocOp):
        if op.place.data == "scratch" and (op not in e.scratch or e.on_threads):
            if op.sizes or size_bytes(op.buffer.type, op) > STACK_LIMIT_BYTES:
                return True
    return False


def reports_status(op: KernelOp) -> bool:
    """Whether a kernel takes the number of threads and a place for its status: it may fail or run on threads.

    How a kernel is called does not depend on what a machine measured (`wake`): it takes a number of threads for any loop that
    would be worth them on some machine.
    """
    for inner in walk(op):
        if isinstance(inner, CheckOp):
            return True
        if isinstance(inner, AllocOp) and inner.place.data == "scratch":
            if inner.sizes or size_bytes(inner.buffer.type, inner) > STACK_LIMIT_BYTES:
                return True
        if isinstance(inner, ForOp) and (inner.threads is not None or (inner.kind.data == "parallel" and worth_threads(inner))):
            return True
    return False

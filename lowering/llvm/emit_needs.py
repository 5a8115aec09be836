"""The hidden arguments of a kernel's function: scratch memory, the number of threads, a pointer to its status."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import AllocOp, CheckOp
from ...dialects.loop.prints import PrintOp
from ..analysis.nests import ops_in, walk
from ..analysis.parallel import worth_threads
from ..plan_buffers import STACK_LIMIT_BYTES, scratch_layout, size_bytes
from .emit_core import FunctionEmitter, ModuleEmitter


@dataclass(frozen=True)
class Needs:
    """The hidden arguments that a kernel takes from its callers.

    Attributes:
        offsets: the offsets of its scratch buffers in the scratch memory of a launch, in bytes.
        scratch_bytes: the size of that memory, in bytes.
        status: whether it takes the number of threads and a pointer to its status.
    """

    offsets: dict[AllocOp, int]
    scratch_bytes: int
    status: bool


def needs_of(module: ModuleEmitter, kernel: KernelOp) -> Needs:
    """The needs of a kernel, computed once: each launch queries them."""
    found = module.needs.get(kernel)
    if found is None:
        found = module.needs[kernel] = Needs(*scratch_layout(kernel), reports_status(kernel))
    return found


def uses_heap(e: FunctionEmitter, root: Operation) -> bool:
    """Whether a function may allocate local buffers of an op on the heap."""
    for op in ops_in(root, AllocOp):
        if op.space.data == "scratch" and (op not in e.scratch or e.on_threads):
            if op.sizes or size_bytes(op.buffer.type, op) > STACK_LIMIT_BYTES:
                return True
    return False


def reports_status(op: KernelOp) -> bool:
    """Whether a kernel takes the number of threads and a pointer to its status: it may fail or run on threads.

    The calling convention of a kernel does not depend on machine measurements (`wake`): it takes a number of threads for any
    loop that would be worth them on some machine.
    """
    for inner in walk(op):
        if isinstance(inner, CheckOp | PrintOp):
            return True
        if isinstance(inner, AllocOp) and inner.space.data == "scratch":
            if inner.sizes or size_bytes(inner.buffer.type, inner) > STACK_LIMIT_BYTES:
                return True
        if isinstance(inner, ForOp) and (inner.threads is not None or (inner.kind.data == "parallel" and worth_threads(inner))):
            return True
    return False

"""Handwritten kernels, which are called by themselves: each is compiled with its own schedule or the default one.

Programs, which launch kernels from a host function, are built by `pipeline.py`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..codegen.targets.base import Target
from ..errors import CompileError, about
from ..passes import replay_tuned
from ..pipeline import load_pass
from ..runtime.gc_pause import collecting_later

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..dialects.loop.loops import KernelOp
    from ..runtime.signature import Signature


@collecting_later()
def build(module: ModuleOp, kernel: KernelOp, target: Target, by_default: bool) -> tuple[Signature, bytes, Sequence[str]]:
    """Compile a kernel of a module: its signature, the bytes of an object that `load_executable` takes, and its checks.

    Args:
        module: loop IR, scheduled or not; it stays as it is.
        by_default: whether the kernel gets the default schedule for the target; else it is compiled as it stands.

    Raises:
        CompileError: an op cannot be lowered.
    """
    from ..codegen.executable import object_for
    from ..lowering.default_threads import place_loops
    from ..lowering.llvm.emit import emit_module
    from ..lowering.target import set_target
    from ..runtime.module_signatures import kernel_signature_of

    with about(kernel):
        compiled = scheduled_by_default(module, target) if by_default else module.clone()
        set_target(compiled, target)
        place_loops(compiled)
        signature = kernel_signature_of(kernel)
        text = emit_module(compiled, target, callable_kernels=True)
    return signature, object_for(signature, text, target=target), kernel.texts("checks")


def scheduled_by_default(module: ModuleOp, target: Target | None = None) -> ModuleOp:
    """A copy of a module whose kernels have the default schedule, but for those that their authors scheduled."""
    from ..dialects.context import make_context
    from ..lowering.target import set_target

    copy = module.clone()
    if target is not None:
        set_target(copy, target)
    replay_tuned(copy)
    load_pass("lowering.schedule.auto").apply(make_context(), copy)
    return copy


def failure(name: str, checks: Sequence[str]) -> Callable[[tuple[int, ...]], None]:
    """What raises for the status of a kernel that stopped."""

    def failed(status: tuple[int, ...]) -> None:
        code, value, *_ = status
        if code == -1 and value < 0:
            raise ValueError(f"kernel '{name}': a local array has a size of {value}: sizes must not be negative")
        if code == -1:
            raise MemoryError(f"kernel '{name}' got no memory for its local arrays")
        if 0 < code <= len(checks) and checks[code - 1].startswith("raise "):
            raised, _, message = checks[code - 1].removeprefix("raise ").partition(": ")
            error = getattr(builtins, raised)(*([message] if message else []))
            error.add_note(f"in kernel '{name}'")
            raise error
        if 0 < code <= len(checks):
            error = IndexError(f"kernel '{name}': index {value} of {checks[code - 1]} is out of bounds")
            error.status = code  # pyright: ignore[reportAttributeAccessIssue]
            raise error

    return failed


def find_kernel(module: ModuleOp, name: str | None = None) -> KernelOp:
    """The kernel of that name, or the only one."""
    from ..dialects.loop.loops import KernelOp

    kernels = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, KernelOp)}
    if name is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    if name not in kernels:
        raise CompileError(f"no kernel @{name}; there are: {', '.join(f'@{k}' for k in kernels) or 'none'}")
    return kernels[name]


def takes_status(kernel: KernelOp) -> bool:
    """Whether the function of a kernel takes the number of threads and a place for its status after its arguments."""
    from ..lowering.llvm.emit_needs import reports_status

    return reports_status(kernel)

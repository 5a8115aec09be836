"""Handwritten kernels: each compiled and loaded separately, with its own schedule or the default one.

Programs, which launch kernels from a host function, are built by `pipeline.py`.
"""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .codegen.targets.base import Target
from .codegen.targets.host import host
from .codegen.version import frontend_version, version
from .errors import CompileError, about
from .pipeline import load_pass, runnable_target
from .replay import replay_tuned
from .runtime.gc_pause import collecting_later

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from .dialects.loop.loops import KernelOp
    from .runtime.executable import Executable
    from .runtime.signature import Signature


@collecting_later()
def build_kernel(
    module: ModuleOp, name: str | None = None, target: Target | None = None, *, by_default: bool = False
) -> Executable:
    """Compile a kernel of a module and load it, through the on-disk cache.

    Args:
        module: loop IR, scheduled or not; it stays as it is.
        name: the kernel; not needed when there is one.
        target: if not given, what the module names itself, else the host.
        by_default: whether the kernel gets the default schedule for the target; else it is compiled as it stands.

    Raises:
        CompileError: an op cannot be lowered, or there is no such kernel.
    """
    from .codegen.executable import cached_executable

    target = runnable_target(module, target)
    kernel = find_kernel(module, name)
    key = _kernel_key(module, kernel, target, by_default)

    def make() -> tuple[Signature, str]:
        from .lowering.default_threads import place_loops
        from .lowering.llvm.emit import emit_module
        from .lowering.target import set_target
        from .runtime.module_signatures import kernel_signature_of

        with about(kernel):
            compiled = scheduled_by_default(module, target) if by_default else module.clone()
            set_target(compiled, target)
            place_loops(compiled)
            return kernel_signature_of(kernel), emit_module(compiled, target, callable_kernels=True)

    executable = cached_executable(key, make, target=target)
    return dataclasses.replace(executable, failed=_failure(kernel.sym_name.data, kernel.texts("checks")))


@collecting_later()
def build_known_kernel(facts: str | None, make: Callable[[], ModuleOp]) -> Executable:
    """As `build_kernel` of the one kernel of a module, by default for the host; the module is not made if the cache has it.

    Args:
        facts: a text that decides what `make` returns; None if there is no such text.
        make: the module, at phase `loop`.

    Raises:
        CompileError: as `build_kernel`, and whatever `make` raises.
    """
    from .codegen import tuned
    from .codegen.cache import key_of
    from .codegen.executable import Known, find_known, remember

    if facts is None:
        return build_kernel(make(), by_default=True)
    key = key_of("kernel by its facts", version(), frontend_version(), host().key, tuned.state(), facts)
    found = find_known(key)
    if found is not None:
        known, executable = found
        return dataclasses.replace(executable, failed=_failure(executable.signature.name, known.checks))
    module = make()
    executable = build_kernel(module, by_default=True)
    kernel = find_kernel(module)
    remember(key, Known(_kernel_key(module, kernel, host(), True), tuple(kernel.texts("checks"))))
    return executable


def _kernel_key(module: ModuleOp, kernel: KernelOp, target: Target, by_default: bool) -> str:
    """What the object of a kernel is kept under."""
    from .codegen import tuned
    from .codegen.cache import key_of

    kind = ("default", tuned.state()) if by_default else ("kernel",)
    return key_of(version(), target.key, *kind, kernel.sym_name.data, str(module))


def scheduled_by_default(module: ModuleOp, target: Target | None = None) -> ModuleOp:
    """A copy of a module whose kernels have the default schedule, but for those that their authors scheduled."""
    from .dialects.context import make_context
    from .lowering.target import set_target

    copy = module.clone()
    if target is not None:
        set_target(copy, target)
    replay_tuned(copy)
    load_pass("lowering.schedule.auto").apply(make_context(), copy)
    return copy


def _failure(name: str, checks: Sequence[str]) -> Callable[[tuple[int, ...]], None]:
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
    from .dialects.loop.loops import KernelOp

    kernels = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, KernelOp)}
    if name is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    if name not in kernels:
        raise CompileError(f"no kernel @{name}; there are: {', '.join(f'@{k}' for k in kernels) or 'none'}")
    return kernels[name]


def takes_status(kernel: KernelOp) -> bool:
    """Whether the function of a kernel takes the number of threads and a place for its status after its arguments."""
    from .lowering.llvm.emit_needs import reports_status

    return reports_status(kernel)

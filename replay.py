"""Replays schedules: primitives as text, applied to kernels; those of a user, and those that `tune` found and keeps."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from .errors import CompileError, LaminaError, is_interruption

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from .dialects.loop.loops import KernelOp


def tuning_key(kernel: KernelOp) -> str:
    """What a schedule is kept under: the kernel as nobody has scheduled it, whatever its name, and its module's target."""
    from xdsl.dialects.builtin import StringAttr

    from .lowering.target import target_of

    copy = kernel.clone()
    copy.properties["sym_name"] = StringAttr("kernel")
    text = f"{target_of(kernel).key}\n{copy}"
    return hashlib.sha256(text.encode()).hexdigest()


def kept_steps(kernel: KernelOp) -> str | None:
    """The steps that `tune` found for a kernel that nobody has scheduled, as pipeline text; None if there are none."""
    from .codegen import tuned

    return tuned.load(tuning_key(kernel)) if tuned.state() else None


def replay_tuned(module: ModuleOp) -> None:
    """Take the steps that `tune` found for kernels that nobody has scheduled; where a step fails, none is taken."""
    from .codegen import tuned
    from .dialects.loop.loops import KernelOp
    from .lowering.fallbacks import Fallback, record

    if not tuned.state():
        return
    for kernel in [op for op in module.body.block.ops if isinstance(op, KernelOp) and not op.is_scheduled]:
        steps = kept_steps(kernel)
        if steps is None:
            continue
        scheduled = kernel.clone()
        try:
            replay(scheduled, steps)
        except Exception as error:
            if is_interruption(error):
                raise
            record(Fallback(kernel.sym_name.data, "the tuned schedule", None, error), kernel)
            continue
        scheduled.mark_scheduled()
        block = kernel.parent
        assert block is not None
        block.insert_op_before(scheduled, kernel)
        kernel.detach()
        kernel.erase()


def replay(kernel: KernelOp, steps: str) -> None:
    """Take the steps of a pipeline text on a kernel.

    Raises:
        CompileError: a step is no schedule primitive, or not legal.
    """
    from .lowering.schedule.base import Primitive
    from .passes import parse_passes

    try:
        for step in parse_passes(steps):
            if not isinstance(step, Primitive):
                raise CompileError(f"'{step.name}' is no step of a schedule")
            step.run(kernel)
    except LaminaError as error:
        raise CompileError(str(error)) from None

"""The schedules that `tune` found by measuring and keeps as text, by the kernel that they are for."""

from __future__ import annotations

import hashlib

from xdsl.dialects.builtin import StringAttr

from ..codegen.tuned import load, state
from ..dialects.loop.loops import KernelOp
from .target import target_of


def tuning_key(kernel: KernelOp) -> str:
    """What a schedule is kept under: the kernel as nobody has scheduled it, whatever its name, and its module's target."""
    copy = kernel.clone()
    copy.properties["sym_name"] = StringAttr("kernel")
    text = f"{target_of(kernel).key}\n{copy}"
    return hashlib.sha256(text.encode()).hexdigest()


def kept_steps(kernel: KernelOp) -> str | None:
    """The steps that `tune` found for a kernel that nobody has scheduled, as pipeline text; None if there are none."""
    return load(tuning_key(kernel)) if state() else None

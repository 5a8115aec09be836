"""What a strategy is: it recognizes kernels of one kind and schedules them, through the public primitives alone."""

from __future__ import annotations

from collections.abc import Callable

from ...codegen.targets import Target
from ...dialects.loop.structure import KernelOp
from ..schedule.base import Primitive

Take = Callable[[Primitive], tuple[str, ...]]
"""Takes a step of a schedule; the names of the loops it made."""

Strategy = Callable[[KernelOp, Target, Take], None]
"""Takes the steps that one kind of kernel gains from; does nothing to kernels, and nests of kernels, of other kinds."""

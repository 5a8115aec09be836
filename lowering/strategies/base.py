"""What a strategy is: it recognizes kernels of one kind and schedules them, through the public primitives alone."""

from __future__ import annotations

from collections.abc import Callable

from ...codegen.targets import Target
from ...dialects.loop.structure import KernelOp
from ...errors import ScheduleError
from ..schedule.base import Primitive

Take = Callable[[Primitive], tuple[str, ...]]
"""Takes a step of a schedule; the names of the loops it made."""

Strategy = Callable[[KernelOp, Target, Take], None]
"""Takes the steps that one kind of kernel gains from; does nothing to kernels, and nests of kernels, of other kinds."""


def attempt(step: Primitive, take: Take) -> tuple[str, ...] | None:
    """Take a step: the loops that it made, or None where it is refused, which leaves the nest to what follows."""
    try:
        return take(step)
    except ScheduleError:
        return None

"""What a strategy is: it recognizes kernels of one kind and schedules them, through the public primitives alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ...codegen.targets import Target
from ...dialects.loop.structure import KernelOp
from ...errors import ScheduleError
from ..schedule.base import Primitive

Take = Callable[[Primitive], tuple[str, ...]]
"""Takes a step of a schedule; the names of the loops it made."""


class Strategy(Protocol):
    """Takes the steps that one kind of kernel gains from; does nothing to kernels, and nests of kernels, of other kinds.

    All of its steps are taken, or, if it raises anything, none (`schedule/transactions.py`).
    """

    @property
    def __name__(self) -> str: ...

    def __call__(self, kernel: KernelOp, target: Target, take: Take, /) -> None: ...


def attempt(step: Primitive, take: Take) -> tuple[str, ...] | None:
    """Take a step that may be refused: the loops that it made, or None where it is, which leaves the kernel as it was."""
    try:
        return take(step)
    except ScheduleError:
        return None

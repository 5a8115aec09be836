"""What a strategy is: it recognizes kernels of one kind and schedules them, through the public primitives alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ...codegen.targets import Target
from ...dialects.loop.memory import StoreOp
from ...dialects.loop.structure import KernelOp
from ...errors import ScheduleError
from ..analysis.nests import loops
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


def inside(kernel: KernelOp, loop: str) -> list[str]:
    """The loops inside a loop, in the order of the text."""
    return list(loops(loops(kernel)[loop]))[1:]


def copies(kernel: KernelOp, originals: Sequence[str], rest: str) -> dict[str, str]:
    """The loops inside a rest, by the names of those that they are copies of.

    Args:
        originals: what was `inside` the loop before the step (`Peel`, `UnrollAndJam`) that left the rest.
        rest: a loop that the step returned: the copies are the last loops in it, in the same order.
    """
    found = inside(kernel, rest)
    return dict(zip(originals, found[len(found) - len(originals) :], strict=True))


def stored_to(kernel: KernelOp, loop: str) -> str:
    """The buffer that the first result of a loop is stored to, as after `Expand`."""
    stores = [use.operation for use in loops(kernel)[loop].results[0].uses]
    (buffer,) = {store.buffer for store in stores if isinstance(store, StoreOp)}
    return buffer.name_hint or ""

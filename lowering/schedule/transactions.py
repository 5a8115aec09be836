"""Transactions for strategies, one for each nest or kernel: all primitives are applied, or none.

Where a primitive is refused or raises any exception, the kernel is restored to its state before the first one, and the event is
recorded as a fallback. The strategies that follow run on the kernel as if this one did not exist.

Strategies rarely fail, so a kernel is recorded once, before the very first primitive; a rollback replays the primitives of the
strategies that have finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.ir import Attribute

from ...dialects.loop.loops import KernelOp
from ...errors import InternalError, is_interruption
from ..analysis.facts import changing, keeping
from ..analysis.nests import loops, unique_names
from ..fallbacks import Fallback, record
from ..snapshot import Snapshot
from .base import Primitive

if TYPE_CHECKING:
    from ...codegen.targets import Target
    from ..strategies import Strategy
    from ..strategies.base import Part


@dataclass(frozen=True)
class Taken:
    """A primitive that was applied, and the names of the kernel's loops after it."""

    step: Primitive
    loops: tuple[str, ...]


@dataclass
class History:
    """A recorded kernel with its module's attributes, and the primitives of the strategies that have finished since."""

    kernel: KernelOp
    steps: list[Primitive] = field(default_factory=list)
    _before: tuple[Snapshot, dict[str, Attribute]] | None = None

    def begin(self) -> None:
        """Record the kernel, if it is not recorded yet."""
        if self._before is None:
            module = self.kernel.parent_op()
            self._before = Snapshot(self.kernel), {} if module is None else dict(module.attributes)

    def restore(self) -> None:
        """Restore the kernel to its state after the last of these primitives."""
        assert self._before is not None
        snapshot, attributes = self._before
        with changing():
            snapshot.restore()
        module = self.kernel.parent_op()
        if module is not None:
            module.attributes = dict(attributes)
        for step in self.steps:
            unique_names(self.kernel)
            step.commit(self.kernel)

    def forget(self) -> None:
        """Start afresh: the kernel was changed by other means than primitives."""
        self._before = None
        self.steps.clear()


@dataclass
class Transaction:
    """The primitives that one strategy applies to a nest or a kernel.

    Attributes:
        latest: the primitive that was requested last.
        forbids: whether a primitive is against the wish of the author of a schedule.
    """

    history: History
    steps: list[Taken] = field(default_factory=list)
    latest: Primitive | None = None
    forbids: Callable[[Primitive], bool] = lambda step: False
    _has_changed: bool = False

    def take(self, step: Primitive) -> tuple[str, ...]:
        """Check a primitive and rewrite the kernel; returns the names of the new loops.

        Raises:
            ScheduleError: the primitive is refused; the kernel is unchanged.
            InternalError: the rewrite failed midway, so that the kernel has to be restored.
        """
        kernel, self.latest = self.history.kernel, step
        unique_names(kernel)
        if self.forbids(step):
            raise step.refuse("the author of the schedule has excluded it")
        step.check(kernel)
        self.history.begin()
        self._has_changed = True
        try:
            made = step.commit(kernel)
        except Exception as error:
            if is_interruption(error):
                raise
            raise InternalError(f"{step.as_text()} failed while it rewrote @{kernel.sym_name.data}: {error!r}") from error
        self.steps.append(Taken(step, tuple(loops(kernel))))
        return made

    def roll_back(self) -> None:
        """Restore the kernel, and its module's attributes."""
        if self._has_changed:
            self.history.restore()
        self.steps.clear()


def run_strategies(
    kernel: KernelOp,
    target: Target,
    strategies: Iterable[Strategy],
    took: Callable[[KernelOp, Taken], None],
    failed: Callable[[Fallback], None] | None = None,
    forbids: Callable[[Primitive], bool] = lambda step: False,
) -> None:
    """Run strategies on a kernel, one after the other, each part in a transaction.

    Args:
        took: called with every primitive that stays.
        failed: called with everything that was rolled back.
        forbids: which primitives are refused, though they may be legal.

    Raises:
        InternalError: a strategy failed, and failures are errors (`lowering.fallbacks`).
    """
    history = History(kernel)
    with keeping(kernel):
        for strategy in strategies:
            for part in strategy.parts(kernel, target):
                _run(strategy, part, Transaction(history, forbids=forbids), took, failed)


def _run(
    strategy: Strategy,
    part: Part,
    transaction: Transaction,
    took: Callable[[KernelOp, Taken], None],
    failed: Callable[[Fallback], None] | None,
) -> None:
    history = transaction.history
    kernel = history.kernel
    try:
        part(transaction.take)
    except Exception as error:
        if is_interruption(error):
            raise
        transaction.roll_back()
        step = transaction.latest
        event = Fallback(kernel.sym_name.data, strategy.name, None if step is None else step.as_text(), error)
        record(event, kernel)
        history.forget()
        if failed is not None:
            failed(event)
        return
    for taken in transaction.steps:
        history.steps.append(taken.step)
        took(kernel, taken)

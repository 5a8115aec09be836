"""A strategy as transactions, one for each nest or for a kernel: all of its steps are taken, or none.

Where a step is refused or anything is raised, the kernel is put back as it was before the first one, and the event
is recorded as a fallback. Strategies that come after run on the kernel as if this one had not been there.

Nearly no strategy fails, so a kernel is recorded once, before the first step of all: the steps that other strategies have taken
until then are taken again.
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
    """A step that was taken, and the names of the kernel's loops after it."""

    step: Primitive
    loops: tuple[str, ...]


@dataclass
class History:
    """A kernel as it was, with what its module said about it, and the steps of the strategies that came to their end since."""

    kernel: KernelOp
    steps: list[Primitive] = field(default_factory=list)
    _before: tuple[Snapshot, dict[str, Attribute]] | None = None

    def begin(self) -> None:
        """Record the kernel, if it is not recorded yet."""
        if self._before is None:
            module = self.kernel.parent_op()
            self._before = Snapshot(self.kernel), {} if module is None else dict(module.attributes)

    def restore(self) -> None:
        """Put the kernel back as it was after the last of the steps."""
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
        """Begin anew: the kernel has changed in another way than by steps."""
        self._before = None
        self.steps.clear()


@dataclass
class Transaction:
    """The steps that one strategy takes on a nest, or on a kernel.

    Attributes:
        latest: the step that was asked for last.
    """

    history: History
    steps: list[Taken] = field(default_factory=list)
    latest: Primitive | None = None
    _has_changed: bool = False

    def take(self, step: Primitive) -> tuple[str, ...]:
        """Check a step and rewrite the kernel; the names of the new loops.

        Raises:
            ScheduleError: the step is refused, the kernel is as before it.
            InternalError: the rewrite failed in the middle, so that the kernel has to be put back.
        """
        kernel, self.latest = self.history.kernel, step
        unique_names(kernel)
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
        """Put the kernel, and what its module says about it, back."""
        if self._has_changed:
            self.history.restore()
        self.steps.clear()


def run_strategies(
    kernel: KernelOp,
    target: Target,
    strategies: Iterable[Strategy],
    took: Callable[[KernelOp, Taken], None],
    failed: Callable[[Fallback], None] | None = None,
) -> None:
    """Run strategies on a kernel, one after the other, each part in a transaction.

    Args:
        took: is told of every step that stays.
        failed: is told of everything that was rolled back.

    Raises:
        InternalError: a strategy failed, where that is to be an error (`lowering.fallbacks`).
    """
    history = History(kernel)
    with keeping(kernel):
        for strategy in strategies:
            for part in strategy.parts(kernel, target):
                _run(strategy, part, Transaction(history), took, failed)


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

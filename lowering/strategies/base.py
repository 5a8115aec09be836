"""The interface of strategies: each recognizes nests of one kind and schedules them through the public primitives alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.ir import Block

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import StoreOp
from ...dialects.operations import ops_of
from ...errors import ScheduleError
from ...thresholds import number
from ..analysis.facts import kept
from ..analysis.nests import loops, name_of, ops_in
from ..schedule.base import Primitive
from ..schedule.unroll_and_jam import UnrollAndJam

Take = Callable[[Primitive], tuple[str, ...]]
"""Applies a primitive and returns the names of the loops that it made."""

Part = Callable[[Take], None]
"""Applies the primitives for one nest or kernel in a transaction: all of them or none (`schedule/transactions.py`)."""


@dataclass(frozen=True, kw_only=True)
class Strategy(ABC):
    """Applies the primitives that one kind of kernel gains from; leaves kernels of other kinds alone.

    The order of strategies follows from their declarations: none may leave primitives that an earlier one expects taken.

    Attributes:
        schedule: applies the primitives; its name is `schedule_` and the name of the strategy.
        leaves: the names of the primitives that it may apply.
        settled: the names of the primitives that must all have been applied before, since it inspects their results.
        order_free: whether it serves only kernels whose loops declare which iterations are independent and whose sums may be
            reassociated: the kernels of programs. Other kernels keep their results bit for bit.
    """

    schedule: Callable[..., None] = field(kw_only=False)
    leaves: frozenset[str]
    settled: frozenset[str] = frozenset()
    order_free: bool = True

    @property
    def name(self) -> str:
        """The name: `products`, for a function `schedule_products`."""
        return self.schedule.__name__.removeprefix("schedule_")

    @abstractmethod
    def parts(self, kernel: KernelOp, target: Target) -> Iterator[Part]:
        """The units that are scheduled in a transaction each."""


class KernelStrategy(Strategy):
    """A strategy that looks at all of a kernel: `schedule(kernel, target, take)`."""

    def parts(self, kernel: KernelOp, target: Target) -> Iterator[Part]:
        yield partial(self.schedule, kernel, target)


@dataclass(frozen=True, kw_only=True)
class NestStrategy(Strategy):
    """A strategy that schedules each nest by itself: `schedule(kernel, nest, target, take)`.

    Attributes:
        only: the name of a loop, of any depth, to schedule alone.
    """

    only: str | None = None

    def parts(self, kernel: KernelOp, target: Target) -> Iterator[Part]:
        if self.only is not None:
            if (loop := loops(kernel).get(self.only)) is not None:
                yield partial(self.schedule, kernel, loop, target)
            return
        for name in [*_nests_by_name(kernel)]:
            nest = _nests_by_name(kernel).get(name)
            if nest is not None:  # a primitive for another nest may have moved this one
                yield partial(self.schedule, kernel, nest, target)


@dataclass(frozen=True, kw_only=True)
class PlannedStrategy(Strategy):
    """A strategy that plans all nests before it schedules the first, each by itself: `schedule(plan, take)`.

    What is known of the kernel thus serves all plans. A plan names loops, and no plan may change the loops of another one.
    """

    plan: Callable[[ForOp, Target], object]

    def parts(self, kernel: KernelOp, target: Target) -> Iterator[Part]:
        for plan in [self.plan(nest, target) for nest in nests(kernel.body.block)]:
            yield partial(self.schedule, plan)


def steps(names: str) -> frozenset[str]:
    """The names of primitives: `loop-split` and `loop-peel` for `split peel`."""
    return frozenset(f"loop-{name}" for name in names.split())


def nests(block: Block) -> list[ForOp]:
    """The outermost loops in a block, also in its conditions."""
    found: list[ForOp] = []
    for op in ops_of(block):
        if isinstance(op, ForOp):
            found.append(op)
        else:
            found += [nest for region in op.regions for inner in region.blocks for nest in nests(inner)]
    return found


@kept
def _nests_by_name(kernel: KernelOp) -> dict[str, ForOp]:
    found: dict[str, ForOp] = {}
    for nest in nests(kernel.body.block):
        found.setdefault(name_of(nest), nest)
    return found


def is_scalar(nest: ForOp) -> bool:
    """Whether no strategy has vectorized or unrolled loops of a nest yet."""
    return not any(op.kind.data in ("vector", "unroll") for op in ops_in(nest, ForOp))


def attempt(step: Primitive, take: Take) -> tuple[str, ...] | None:
    """Try a primitive: returns the loops that it made, or None if it is refused, which leaves the kernel unchanged."""
    try:
        return take(step)
    except ScheduleError:
        return None


def inside(kernel: KernelOp, loop: str) -> list[str]:
    """The loops inside a loop, in the order of the text."""
    return list(loops(loops(kernel)[loop]))[1:]


def copies(kernel: KernelOp, originals: Sequence[str], rest: str) -> dict[str, str]:
    """The loops inside a remainder loop, by the names of the loops that they copy.

    Args:
        originals: the loops `inside` the loop before the primitive (`Peel`, `UnrollAndJam`) that left the remainder.
        rest: a loop that the primitive returned: the copies are the last loops in it, in the same order.
    """
    found = inside(kernel, rest)
    return dict(zip(originals, found[len(found) - len(originals) :], strict=True))


def stored_to(kernel: KernelOp, loop: str) -> str:
    """The buffer to which the first result of a loop is stored, as after `Expand`."""
    stores = [use.operation for use in loops(kernel)[loop].results[0].uses]
    (buffer,) = {store.buffer for store in stores if isinstance(store, StoreOp)}
    return buffer.name_hint or ""


_SMALL_TILE = number("base._SMALL_TILE")


def jam_rows(kernel: KernelOp, rows: str, most: int, take: Take) -> None:
    """Tiles of `most` rows out of an extent known only at run time, then smaller tiles for the remainder.

    Where tiles are small there is one of each size, else they have 2^k and 3 * 2^k rows, so that two of them cover any
    remainder.
    """
    sizes = {one for k in range(most.bit_length()) for one in (1 << k, 3 << k)} if most > _SMALL_TILE else set(range(most))
    for at_once in sorted((one for one in sizes | {most} if 1 < one <= most), reverse=True):
        *_, rest = take(UnrollAndJam(rows, at_once))
        rows = inside(kernel, rest)[0]

"""The default schedule: strategies in order, with the primitives that each takes and those that it expects taken."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from ... import extensions
from ...errors import ExtensionError
from .attention import schedule_attention
from .base import KernelStrategy, NestStrategy, PlannedStrategy, Strategy, Take, steps
from .batched_small import schedule_stacks
from .borders import schedule_borders
from .butterflies import schedule_butterflies
from .convolutions import schedule_convolutions, schedule_points
from .depthwise_and_pooling import schedule_windows
from .elementwise import schedule_elementwise
from .indexed import schedule_indexed, schedule_rows_ahead, schedule_streams
from .lanes import plan_lanes, schedule_lanes
from .loops import schedule_loops, schedule_loops_without_threads, schedule_rest
from .matvec import schedule_matvec
from .multiversion import schedule_versions
from .prefetches import schedule_prefetches
from .products import schedule_products, schedule_steps
from .recurrences import schedule_recurrences
from .reductions import schedule_reductions
from .roots import schedule_roots
from .rows import schedule_rows
from .skinny import schedule_skinny
from .sums import schedule_sums
from .sweeps import schedule_sweeps
from .threads import schedule_threads
from .transposes import schedule_transposes
from .winograd import schedule_features, schedule_tiles

_VECTORS = steps("vectorize unroll unroll-and-jam")
_BLOCKS = steps("split reorder peel")
_LOOPS = _VECTORS | _BLOCKS
_HINTS = steps("prefetch prefetch-rows")
_COPIES = steps("stage inline compute-at")
_SUMS_IN_MEMORY = steps("expand demote fission regroup")
_PRODUCTS = _LOOPS | _COPIES | _SUMS_IN_MEMORY | steps("serialize prefetch")
_LAYOUT = steps("deinterleave inline compute-at partition split-dim set-layout ungroup")

LOOPS = NestStrategy(
    schedule_loops,
    leaves=_VECTORS | steps("split reorder sink accumulate parallelize interleave peel serialize"),
    order_free=False,
)

THREADS = KernelStrategy(
    schedule_threads, leaves=steps("use-threads outline"), settled=_PRODUCTS | _LAYOUT | _HINTS, order_free=False
)

STRATEGIES: tuple[Strategy, ...] = (
    NestStrategy(schedule_stacks, leaves=_LOOPS | steps("fission hoist pad serialize set-layout sink")),
    NestStrategy(schedule_steps, leaves=_PRODUCTS),
    NestStrategy(schedule_indexed, leaves=steps("vectorize unroll-and-jam")),
    KernelStrategy(schedule_windows, leaves=_VECTORS | _LAYOUT | steps("peel reorder")),
    KernelStrategy(schedule_butterflies, leaves=_LOOPS | steps("sink")),
    KernelStrategy(schedule_attention, leaves=_LOOPS | steps("expand fission hoist pad set-layout sink")),
    KernelStrategy(schedule_tiles, leaves=_LOOPS | _LAYOUT | steps("coalesce collapse-dims demote fission pad serialize")),
    KernelStrategy(schedule_points, leaves=_LOOPS | steps("compute-at demote fission sink ungroup")),
    NestStrategy(schedule_versions, leaves=steps("version")),
    NestStrategy(schedule_matvec, leaves=_LOOPS | _SUMS_IN_MEMORY | steps("sink")),
    NestStrategy(schedule_skinny, leaves=_PRODUCTS),
    NestStrategy(schedule_products, leaves=_PRODUCTS | steps("pad parallelize"), order_free=False),
    KernelStrategy(schedule_convolutions, leaves=_VECTORS | steps("peel ungroup")),
    KernelStrategy(schedule_features, leaves=steps("vectorize")),
    NestStrategy(schedule_transposes, leaves=_LOOPS | steps("sink")),
    NestStrategy(schedule_elementwise, leaves=_BLOCKS | steps("vectorize")),
    KernelStrategy(schedule_rows, leaves=steps("reuse")),
    NestStrategy(schedule_reductions, leaves=_BLOCKS | steps("vectorize rfactor")),
    KernelStrategy(schedule_sweeps, leaves=steps("interleave"), order_free=False),
    PlannedStrategy(schedule_lanes, plan=plan_lanes, leaves=steps("vectorize"), settled=steps("reuse rfactor")),
    NestStrategy(schedule_borders, leaves=steps("fission partition"), order_free=False),
    LOOPS,
    NestStrategy(schedule_recurrences, leaves=steps("unroll-and-jam"), order_free=False),
    KernelStrategy(schedule_rows_ahead, leaves=_HINTS, settled=_LOOPS, order_free=False),
    KernelStrategy(schedule_streams, leaves=steps("stream"), settled=_LOOPS, order_free=False),
    KernelStrategy(schedule_prefetches, leaves=steps("prefetch"), settled=_LOOPS),
    KernelStrategy(schedule_roots, leaves=steps("share-roots"), settled=_LOOPS, order_free=False),
    KernelStrategy(schedule_sums, leaves=steps("regroup"), settled=_LOOPS | _HINTS),
    THREADS,
)
"""The strategies for all kernels; those that are not `order_free` also serve kernels that no program launches."""

WITHOUT_THREADS: tuple[Strategy, ...] = tuple(
    NestStrategy(schedule_loops_without_threads, leaves=s.leaves, order_free=False) if s is LOOPS else s for s in STRATEGIES
)
"""The same strategies, without threads where the author did not request any."""

REST: tuple[Strategy, ...] = (
    NestStrategy(schedule_rest, leaves=LOOPS.leaves, order_free=False),
    *(s for s in STRATEGIES[STRATEGIES.index(LOOPS) + 1 :] if not s.order_free),
)
"""The strategies for what the author of a schedule has left."""

_added: dict[str, tuple[Strategy, str]] = {}
"""Strategies of other packages by name, and the strategy that each precedes."""


def in_order(threads: bool = True) -> tuple[Strategy, ...]:
    """All strategies, with those of other packages, or the strategies for kernels whose author did not request threads."""
    extensions.load()
    found = list(STRATEGIES if threads else WITHOUT_THREADS)
    for strategy, before in _added.values():
        k = next(k for k, one in enumerate(found) if _called(one, before))
        found.insert(k, strategy)
    return tuple(found)


def register_strategy(strategy: Strategy, *, before: str) -> Strategy:
    """Add a strategy of another package to the default schedule, for kernels that are scheduled from now on.

    Args:
        strategy: a `KernelStrategy` or `NestStrategy` of a function called `schedule_` and its name.
        before: the name of the strategy that it precedes, as `lanes`.

    Raises:
        ExtensionError: there is no such strategy, the name is in use, or it leaves primitives that an earlier strategy expects
            taken.
    """
    known = [one.name for one in in_order()]
    if before not in known or before == strategy.name:
        raise ExtensionError(
            f"register_strategy: '{strategy.name}' cannot stand before '{before}', there are: {', '.join(known)}"
        )
    if strategy.name in known and strategy.name not in _added:
        raise ExtensionError(f"register_strategy: there is a strategy '{strategy.name}' already, it needs another name")
    extensions.add("strategy", strategy.name, strategy.schedule.__module__)
    earlier = _added.get(strategy.name)
    _added[strategy.name] = strategy, before
    problems = disorder(in_order())
    if problems:
        if earlier is None:
            extensions.remove("strategy", strategy.name)
            del _added[strategy.name]
        else:
            _added[strategy.name] = earlier
        raise ExtensionError(f"register_strategy: {'; '.join(problems)}")
    return strategy


def disorder(found: Sequence[Strategy]) -> list[str]:
    """The primitives that a strategy leaves though an earlier one expects them taken."""
    return [
        f"{second.name} leaves {step}, settled for {first.name}"
        for first, second in combinations(found, 2)
        for step in sorted(first.settled & second.leaves)
    ]


def _called(strategy: Strategy, name: str) -> bool:
    """Whether a strategy has a name; for loops without threads, `loops` names their strategy."""
    return strategy.name in (name, f"{name}_without_threads")


__all__ = [
    "REST",
    "STRATEGIES",
    "THREADS",
    "WITHOUT_THREADS",
    "KernelStrategy",
    "NestStrategy",
    "PlannedStrategy",
    "Strategy",
    "Take",
    "disorder",
    "in_order",
    "register_strategy",
]

"""The default schedule: strategies in the order in which they are tried, with what each leaves and what it takes as settled."""

from __future__ import annotations

from ..schedule.accumulate import Accumulate
from ..schedule.base import Primitive
from ..schedule.compute_at import ComputeAt
from ..schedule.deinterleave import Deinterleave
from ..schedule.demote import Demote
from ..schedule.expand import Expand
from ..schedule.fission import Fission
from ..schedule.inline import Inline
from ..schedule.interleave import Interleave
from ..schedule.pad import Pad
from ..schedule.parallelize import Parallelize
from ..schedule.partition import Partition
from ..schedule.peel import Peel
from ..schedule.prefetch import Prefetch
from ..schedule.prefetch_rows import PrefetchRows
from ..schedule.regroup import Regroup
from ..schedule.reorder import Reorder
from ..schedule.reuse import Reuse
from ..schedule.rfactor import Rfactor
from ..schedule.serialize import Serialize
from ..schedule.set_layout import SetLayout
from ..schedule.sink import Sink
from ..schedule.split import Split
from ..schedule.split_dim import SplitDim
from ..schedule.stage import Stage
from ..schedule.stream import Stream
from ..schedule.ungroup import Ungroup
from ..schedule.unroll import Unroll
from ..schedule.unroll_and_jam import UnrollAndJam
from ..schedule.vectorize import Vectorize
from .attention import schedule_attention
from .base import KernelStrategy, NestStrategy, Strategy, Take
from .convolutions import schedule_tiles
from .elementwise import schedule_elementwise
from .indexed import schedule_indexed, schedule_rows_ahead, schedule_streams
from .lanes import schedule_lanes
from .loops import schedule_loops, schedule_loops_without_threads
from .matvec import schedule_matvec
from .prefetches import schedule_prefetches
from .products import schedule_products
from .reductions import schedule_reductions
from .rows import schedule_rows
from .skinny import schedule_skinny
from .sums import schedule_sums
from .sweeps import schedule_sweeps
from .transposes import schedule_transposes
from .windows import schedule_windows
from .winograd import schedule_features

Steps = frozenset[type[Primitive]]

_VECTORS: Steps = frozenset((Vectorize, Unroll, UnrollAndJam))
_BLOCKS: Steps = frozenset((Split, Reorder, Peel))
_LOOPS = _VECTORS | _BLOCKS
_HINTS: Steps = frozenset((Prefetch, PrefetchRows))
_COPIES: Steps = frozenset((Stage, Inline, ComputeAt))
_SUMS_IN_MEMORY: Steps = frozenset((Expand, Demote, Fission, Regroup))
_LAYOUT: Steps = frozenset((Deinterleave, Inline, ComputeAt, Partition, SplitDim, SetLayout, Ungroup))

LOOPS = NestStrategy(
    schedule_loops,
    leaves=_VECTORS | {Split, Reorder, Sink, Accumulate, Parallelize, Interleave},
    order_free=False,
)

STRATEGIES: tuple[Strategy, ...] = (
    NestStrategy(schedule_indexed, leaves=_VECTORS - {Unroll}),
    KernelStrategy(schedule_windows, leaves=_VECTORS | _LAYOUT | {Peel, Reorder}),
    NestStrategy(schedule_matvec, leaves=_VECTORS | _BLOCKS | _SUMS_IN_MEMORY | {Sink}),
    NestStrategy(schedule_skinny, leaves=_VECTORS | _BLOCKS | _COPIES | _SUMS_IN_MEMORY | {Serialize, Prefetch}),
    NestStrategy(
        schedule_products,
        leaves=_VECTORS | {Pad, Parallelize} | _BLOCKS | _COPIES | _SUMS_IN_MEMORY | {Serialize, Prefetch},
        order_free=False,
    ),
    KernelStrategy(schedule_tiles, leaves=_VECTORS - {UnrollAndJam}),
    KernelStrategy(schedule_features, leaves=frozenset((Vectorize,))),
    KernelStrategy(schedule_attention, leaves=_VECTORS | {Peel}),
    NestStrategy(schedule_transposes, leaves=_VECTORS | _BLOCKS | {Sink}),
    NestStrategy(schedule_elementwise, leaves=_BLOCKS | {Vectorize}),
    KernelStrategy(schedule_rows, leaves=frozenset((Reuse,))),
    NestStrategy(schedule_reductions, leaves=_BLOCKS | {Vectorize, Rfactor}),
    KernelStrategy(schedule_sweeps, leaves=frozenset((Interleave,)), order_free=False),
    NestStrategy(schedule_lanes, leaves=frozenset((Vectorize,)), settled=frozenset((Reuse, Rfactor))),
    LOOPS,
    KernelStrategy(schedule_rows_ahead, leaves=_HINTS, settled=_LOOPS, order_free=False),
    KernelStrategy(schedule_streams, leaves=frozenset((Stream,)), settled=_LOOPS, order_free=False),
    KernelStrategy(schedule_prefetches, leaves=frozenset((Prefetch,)), settled=_LOOPS),
    KernelStrategy(schedule_sums, leaves=frozenset((Regroup,)), settled=_LOOPS | _HINTS),
)
"""For all kernels; what is not `order_free` also for those that no program launches."""

WITHOUT_THREADS: tuple[Strategy, ...] = tuple(
    NestStrategy(schedule_loops_without_threads, leaves=s.leaves, order_free=False) if s is LOOPS else s for s in STRATEGIES
)
"""The same without threads where their author did not ask for any."""

__all__ = ["STRATEGIES", "WITHOUT_THREADS", "KernelStrategy", "NestStrategy", "Strategy", "Take"]

"""Nests of parallel loops alone, as of elementwise functions and broadcasts: vectors inside, blocks for threads outside.

A loop cannot be both vectorized and shared by threads: where the outermost loop is the vectorized one, or is too short for
threads, the longest loop is split into blocks, which move outside.

    for parallel %i = 0 to 1000000            for parallel %io = 0 to 1000000 step 4000
                                                for vector %ii = 0 to 4000 step 16

Nests that only permute whole rows read them in memory order: hardware prefetching is then effective, and stores need not wait.
"""

from __future__ import annotations

from math import prod

from ...codegen.targets import Target
from ...codegen.targets.base import LINE_BYTES
from ...dialects.loop.grain import WORTH_OPS, wanted
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.types import element_of, width_of
from ...thresholds import number
from ..analysis.lanes import lane_stride
from ..analysis.nests import name_of, only_loop_in, statements
from ..analysis.parallel import LANES_AT_ONCE, run_cost, worth_threads
from ..costs import expected_trips
from ..schedule.peel import Peel
from ..schedule.reorder import Reorder
from ..schedule.split import Split
from ..schedule.vectorize import Vectorize
from .base import Take
from .lanes import cheapest

_BLOCK = number("elementwise._BLOCK")
_WORTH_OPS = 3 * WORTH_OPS
"""Least number of scalar operations; a smaller loop is left alone."""


def find_band(nest: ForOp) -> list[ForOp] | None:
    """The loops of a perfect nest of parallel loops, outermost first, or None; inner extents are static."""
    band = [nest]
    while (following := only_loop_in(band[-1])) is not None:
        band.append(following)
    if any(loop.kind.data != "parallel" for loop in band) or any(loop.constant_bounds() is None for loop in band[1:]):
        return None
    inside = statements(band[-1].body.block)
    flat = not any(op.regions for op in inside)
    return band if flat and all(op.lanes == 1 for op in inside if isinstance(op, LoadOp | StoreOp)) else None


def schedule_elementwise(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Share a nest of parallel loops among threads where it has enough work but no outermost loop to share."""
    band = find_band(nest)
    if band is None or not any(worth_threads(loop, _WORTH_OPS) for loop in band):
        return
    widened = cheapest(nest, target).widened
    if len(widened) != 1:
        return
    if (order := _order_of_reads(band)) is not None:
        take(Reorder(tuple(map(name_of, order))))
        band = order
    _block(band, *widened[0], take)


def _order_of_reads(band: list[ForOp]) -> list[ForOp] | None:
    """The loops in the order of the one load that moves with all of them, if it differs and its rows are whole."""
    loads = [op for op in statements(band[-1].body.block) if isinstance(op, LoadOp) and len(op.indices) == len(band)]
    moves = [[lane_stride(op, loop.index) for loop in band] for op in loads]
    if len(loads) != 1 or any(move is None or move[1] != 1 for move in moves[0]):
        return None
    dim = {loop: move[0] for loop, move in zip(band, moves[0], strict=True) if move is not None}
    order = sorted(band, key=lambda loop: dim[loop])
    row_bytes = (band[-1].trip_count() or 0) * -(-width_of(element_of(loads[0].buffer)) // 8)
    return order if order != band and order[-1] is band[-1] and row_bytes >= LINE_BYTES else None


def _block(band: list[ForOp], vector: ForOp, lanes: int, take: Take) -> None:
    """Vectorize a loop; unless threads can share the first, move the longest loop outermost, in blocks if both are one."""
    trips = {loop: expected_trips(loop) for loop in band}
    work = prod(trips.values()) * run_cost(band[-1].body.block) / LANES_AT_ONCE
    outside = band[: band.index(vector)]  # these are divided among threads together
    if outside and prod(trips[loop] for loop in outside) >= wanted(work):
        return
    longest = max(band, key=lambda loop: trips[loop] // lanes if loop is vector else trips[loop])
    others, outer = [name_of(loop) for loop in band if loop is not longest], name_of(longest)
    if longest is not vector:
        take(Reorder((outer, *others)))
        take(Vectorize(name_of(vector), lanes))
        return
    size = lanes * _vectors(trips[vector] // lanes, wanted(work))
    at = band.index(vector)
    outer, inner = take(Split(outer, size))
    if at:
        take(Reorder((outer, *others[:at])))
    if trips[vector] % size:
        take(Peel(outer, 0))
    take(Vectorize(inner, lanes))


def _vectors(count: int, blocks: int) -> int:
    """The number of vectors in a block: a divisor of all of them, if there is a good one, to leave no remainder."""
    good = [size for size in range(_BLOCK // 4, _BLOCK * 4) if count % size == 0 and count // size >= blocks]
    return min(good, key=lambda size: abs(size - _BLOCK), default=min(_BLOCK, max(1, count // blocks)))

"""Reductions with few results: threads share parts of the reduced range; sums of columns read long pieces of rows.

A sum of all elements, or of the columns of a tall matrix, has few independent results, or none. Its parts, of a size that
depends on the shape alone, are reduced in parallel and then combined in their order: results are the same for any number of
threads. The columns of a part are vectors of many registers, so that a row is read some kilobytes at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from ...codegen.targets import Target
from ...dialects.loop.grain import LEAST_CHUNK_OPS, MOST_PARTS, wanted
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.types import shape_of
from ...thresholds import number
from ..analysis.lanes import lane_stride
from ..analysis.nests import loops, name_of, only_loop_in, ops_in, statements
from ..analysis.parallel import LANES_AT_ONCE, run_cost
from ..costs import element_bits, scalar_cost
from ..schedule.peel import Peel
from ..schedule.reorder import Reorder
from ..schedule.rfactor import Rfactor
from ..schedule.split import Split
from ..schedule.vectorize import Vectorize
from .base import Take, copies, inside
from .lanes import cheapest

PART = 2 * LEAST_CHUNK_OPS
"""Scalar operations in a part: vectorized, a few microseconds of work."""
ALIGNED = number("reductions.ALIGNED")


@dataclass(frozen=True)
class Reduction:
    """A nest that reduces: `band[...] { reduce over loop }`, `band` being the parallel loops, outermost first, or none.

    Attributes:
        columns: the loop of the band along which all reduced operands are contiguous, when it can be vectorized.
    """

    band: tuple[ForOp, ...]
    loop: ForOp
    columns: ForOp | None


def find_reduction(nest: ForOp) -> Reduction | None:
    """The reduction of a nest, if it has exactly one, over constant bounds, in a body without other loops."""
    band: list[ForOp] = []
    if nest.kind.data == "parallel":
        band = [nest]
        while (following := only_loop_in(band[-1])) is not None:
            band.append(following)
    reductions = [op for op in statements(band[-1].body.block) if isinstance(op, ForOp)] if band else [nest]
    if len(reductions) != 1 or any(loop.kind.data != "parallel" or loop.trip_count() is None for loop in band):
        return None
    (loop,) = reductions
    if loop.kind.data != "reduce" or loop.constant_bounds() is None:
        return None
    columns = next((around for around in reversed(band) if _are_columns(around, loop)), None)
    return Reduction(tuple(band), loop, columns)


def _are_columns(around: ForOp, reduction: ForOp) -> bool:
    """Whether neighbouring iterations read neighbouring elements, everywhere in the reduction and around it."""
    moved = [lane_stride(op, around.index) for op in ops_in(around, LoadOp, StoreOp)]
    inside = [lane_stride(op, around.index) for op in ops_in(reduction, LoadOp)]
    last = [len(shape_of(op.buffer)) - 1 for op in ops_in(around, LoadOp, StoreOp)]
    contiguous = all(move is not None and move in ((0, 0), (dim, 1)) for move, dim in zip(moved, last, strict=True))
    return contiguous and any(move is not None and move[1] == 1 for move in inside)


def schedule_reductions(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Divide a reduction that has few results into parts; give one along columns wide vectors and threads."""
    found = find_reduction(nest)
    if found is None:
        widen_columns(kernel, nest, target, take)
        return
    lanes = _lanes(found, target)
    name = name_of(found.columns) if lanes and found.columns is not None else None
    made = _take_parts(found, lanes, take)
    if name is not None and found.columns is not None:
        tile_columns(kernel, made[1 + found.band.index(found.columns)] if made else name, lanes, take)


def _lanes(found: Reduction, target: Target) -> int:
    """The number of columns reduced at once; 0: rows are vectorized."""
    if found.columns is None:
        return 0
    inside = statements(found.loop.body.block)
    native = target.lanes(max(element_bits(value.type) for op in inside for value in op.results))
    sums = found.loop.monoid is not None and found.loop.monoid.data == "add"
    # every register may hold a sum that a memory operand is added to; other arithmetic needs some registers for itself
    registers = target.vector_registers if sums and len(inside) == 1 else max(2, target.vector_registers // 4)
    lanes, trips = native * registers // len(found.loop.results), found.columns.trip_count() or 0
    while lanes > trips:
        lanes //= 2
    return lanes if lanes >= native else 0


def _take_parts(found: Reduction, lanes: int, take: Take) -> tuple[str, ...]:
    """Reduce in parts where that pays; returns the loops that were made."""
    count, reduced = found.loop.trip_count() or 0, name_of(found.loop)
    results = prod(loop.trip_count() or 0 for loop in found.band)
    each = (scalar_cost(found.loop.body.block) + 1) * results
    work = count * results * run_cost(found.loop.body.block) / LANES_AT_ONCE
    if results // max(1, lanes) >= wanted(work) or count * each < 2 * PART:
        return ()
    size = max(ceil(PART / each), ceil(count / MOST_PARTS))
    size += -size % min(ALIGNED, size)
    if count < 2 * size:
        return ()
    if count % size:
        take(Peel(reduced, -(count % size)))
    made = take(Rfactor(reduced, size, name_of(found.band[0]) if found.band else None))
    if found.band and not lanes:  # rows are contiguous
        part, *rows = made[: 1 + len(found.band)]
        take(Reorder((*rows, part)))
    return made


def tile_columns(kernel: KernelOp, columns: str, lanes: int, take: Take) -> None:
    """Vectorize columns; the loop over the vectors stays parallel, so that it can have threads."""
    trips = loops(kernel)[columns].trip_count() or 0
    if trips <= lanes:
        take(Vectorize(columns, lanes))
        return
    outer, inner = take(Split(columns, lanes))
    if trips % lanes:
        originals = inside(kernel, outer)
        _, *rests = take(Peel(outer, 0))  # a nest that never runs has no remainder
        left, width = trips % lanes, lanes
        while width // 2 >= left:
            width //= 2
        for rest in rests if width > 1 else ():
            take(Vectorize(copies(kernel, originals, rest)[inner], width))
    take(Vectorize(inner, lanes))


def widen_columns(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Where columns with loops inside them are cheapest to vectorize, make them vectors that threads share."""
    for loop, lanes in cheapest(nest, target).widened:
        inside = ops_in(loop.body.block, ForOp)
        if loop.kind.data == "parallel" and inside and (loop.trip_count() or 0) > lanes:
            tile_columns(kernel, name_of(loop), lanes, take)

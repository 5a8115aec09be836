"""Nests whose loads are strided where their stores are contiguous get square tiles, which are transposed in registers.

    for parallel %i, %j:  %out[%i, %j] = f(%x[%j, %i], ...)

Stores are contiguous along `%j`, some loads along `%i`. A tile is as wide and as high as a vector: its rows are loaded as
vectors and shuffled into columns (`llvm/emit_transpose.py`), so that every cache line that is touched is used up at once,
whatever the distance of rows. Loads that depend on the rows alone, as of a bias, are inside. Tiles go along `%j`; threads share
strips of them, a vector high, or parts of strips where there are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation

from ...codegen.targets import Target
from ...dialects.loop.grain import wanted
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.types import element_of, is_bool, shape_of, width_of
from ...thresholds import number, ratio
from ..analysis.lanes import lane_stride
from ..analysis.nests import around, loops, name_of, only_loop_in, statements
from ..costs import expected_trips
from ..schedule.peel import Peel
from ..schedule.reorder import Reorder
from ..schedule.sink import Sink, movable
from ..schedule.split import Split
from ..schedule.unroll import Unroll
from ..schedule.vectorize import Vectorize
from ..widening import is_lanewise
from .base import Take

_MOST_OPS = number("transposes._MOST_OPS")

_IN_TILE = ratio("transposes._IN_TILE")
_BESIDE = ratio("transposes._BESIDE")


@dataclass(frozen=True)
class Transpose:
    """A nest whose stores are contiguous along `columns` and some of whose loads are contiguous along `rows`.

    Attributes:
        band: the parallel loops, outermost first, `rows` and `columns` among them.
        lanes: how high and wide a tile is, in elements.
    """

    band: tuple[ForOp, ...]
    rows: ForOp
    columns: ForOp
    lanes: int


def find_transpose(kernel: KernelOp, nest: ForOp, target: Target) -> Transpose | None:
    """The transposition in a nest, if its sizes are static and have room for tiles."""
    band, inside = [nest], list[Operation]()
    while band[-1].kind.data == "parallel" and (found := _loop_inside(kernel, band[-1])) is not None:
        following, before = found
        inside += before
        band.append(following)
    if band[-1].kind.data != "parallel":
        return None
    inside += statements(band[-1].body.block)
    moves = [op for op in inside if isinstance(op, LoadOp | StoreOp)]
    if len(inside) > _MOST_OPS:
        return None
    if any(op.regions or not (isinstance(op, LoadOp | StoreOp) or is_lanewise(op)) for op in inside):
        return None
    if any(op.lanes != 1 or not op.indices for op in moves):
        return None
    columns = [loop for loop in band if all(_runs_along(op, loop) for op in moves if isinstance(op, StoreOp))]
    rows = [loop for loop in band for op in moves if isinstance(op, LoadOp) and _is_across(op, loop, columns)]
    if len(columns) != 1 or not rows or any(loop is not rows[0] for loop in rows):
        return None
    width = max(_bits(op) for op in moves)
    lanes = _lanes(rows[0].trip_count() or 0, columns[0].trip_count() or 0, target.lanes(width))
    return None if lanes is None else Transpose(tuple(band), rows[0], columns[0], lanes)


def _loop_inside(kernel: KernelOp, loop: ForOp) -> tuple[ForOp, list[Operation]] | None:
    """The loop that is the whole body of another, except for ops that can be computed in it, and those ops."""
    inside = statements(loop.body.block)
    last, others = inside[-1] if inside else None, inside[:-1]
    if not isinstance(last, ForOp) or last.results or (others and movable(kernel, last) != others):
        return None
    return last, others


def _bits(op: LoadOp | StoreOp) -> int:
    type = element_of(op.buffer)
    return 64 if is_bool(type) else width_of(type)  # vectors of booleans are not transposed: no tile fits them


def _runs_along(op: Operation, loop: ForOp) -> bool:
    """Whether an access moves to the next element of memory with the next iteration, and to no other row."""
    assert isinstance(op, LoadOp | StoreOp)
    dims = len(shape_of(op.buffer))
    return lane_stride(op, loop.index) == (dims - 1, 1)


def _is_across(op: LoadOp, loop: ForOp, columns: list[ForOp]) -> bool:
    """Whether a load is contiguous along a loop, and moves from row to row with the columns."""
    moved = lane_stride(op, columns[0].index) if columns else None
    dims = len(shape_of(op.buffer))
    return _runs_along(op, loop) and moved is not None and moved[1] > 0 and moved[0] < dims - 1


def _lanes(rows: int, columns: int, most: int) -> int | None:
    """The size of tile that costs least; None when most elements would be outside all tiles."""

    def cost(lanes: int) -> float:
        inside = (rows // lanes * lanes) * (columns // lanes * lanes)
        return inside * _IN_TILE / lanes + (rows * columns - inside) * _BESIDE

    sizes = [1 << k for k in range(2, most.bit_length()) if 1 << k <= min(rows, columns, most)]
    best = min(sizes, key=cost, default=None)
    return None if best is None or cost(best) > 0.7 * rows * columns * _BESIDE else best


def schedule_transposes(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Tile a nest whose loads are strided where its stores are contiguous."""
    found = find_transpose(kernel, nest, target)
    if found is not None:
        tile_transpose(kernel, found, take)


def tile_transpose(kernel: KernelOp, found: Transpose, take: Take) -> None:
    """Make strips as high as a vector has lanes; vectorize the columns in them, and unroll the rows of a tile."""
    for loop in found.band[1:]:
        if movable(kernel, loop):
            take(Sink(name_of(loop)))
    rows, columns, lanes = name_of(found.rows), name_of(found.columns), found.lanes
    trips = found.rows.trip_count() or 0
    others = [loop for loop in found.band if loop is not found.columns and loop is not found.rows]
    outside = [name_of(loop) for loop in others]
    strips = prod(expected_trips(loop) for loop in others) * (trips // lanes)
    strip = blocks = None
    size = 1
    if trips > lanes:
        at = [name_of(loop) for loop in found.band if loop is not found.columns].index(rows)
        strip, rows = take(Split(rows, lanes))
        outside.insert(at, strip)
    length = found.columns.trip_count() or 0
    blocks_of_strip = -(-wanted(strips * length * _IN_TILE) // max(1, strips))
    if blocks_of_strip > 1 and length >= 2 * blocks_of_strip * lanes:
        size = lanes * _part(length // lanes, length // blocks_of_strip // lanes)
        blocks, columns = take(Split(columns, size))
        outside.insert(0, blocks)
    order = [*outside, columns, rows]
    if _nest(kernel, rows, len(order)) != order:
        take(Reorder(tuple(order)))
    if blocks is not None and length % size:
        take(Peel(blocks, 0))
    if strip is not None and trips % lanes:
        take(Peel(strip, 0))
    take(Vectorize(columns, lanes, "scalar"))
    take(Unroll(rows))


def _part(count: int, most: int) -> int:
    """The tiles in a part of a strip: at most `most`, a divisor of `count` if one is at least half as large."""
    return next((part for part in range(most, most // 2, -1) if count % part == 0), most)


def _nest(kernel: KernelOp, one: str, count: int) -> list[str]:
    """The innermost loops of the nest that a loop is in, outermost first."""
    inner: ForOp = loops(kernel)[one]
    while (following := only_loop_in(inner)) is not None:
        inner = following
    return [name_of(loop) for loop in (*around(inner), inner)][-count:]

"""Convolutions with features first, direct and by Winograd's algorithm: register tiles for products in caches.

    sums[o, p] = sum over i, k of filters[o, i, k] * image[i, p + k]        for all features o and points p
    out[o, r, q] = sums[o, r * pitch + q]                                   for all o, rows r, columns q

The loop form (`dialects/graph/conv_loops.py`) has copied the image so that neighbouring points read neighbouring elements.
Blocks of rows, and blocks of features where the rows are too few for all threads, compute their sums together
(`loop-compute-at`) in a part of the second-level cache. For a deep image the sums over a few features are added to those over
the features before (`loop-demote`). The loops over a window continue one another's sum, and the innermost one is unrolled, so
that a tile stays in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ...codegen.targets import Target
from ...dialects.loop.grain import CHUNKS, is_even, uneven
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.types import element_of, width_of
from ...thresholds import number, ratio
from ..analysis.facts import kept
from ..analysis.nests import around, buffer_name, name_of, ops_in, statements
from ..schedule.cloning import subscripts
from ..schedule.compute_at import ComputeAt
from ..schedule.demote import Demote
from ..schedule.fission import Fission
from ..schedule.peel import Peel
from ..schedule.reorder import Reorder, reductions_in
from ..schedule.sink import Sink
from ..schedule.split import Split
from ..schedule.ungroup import Ungroup
from ..schedule.unroll import Unroll
from .base import Take, attempt, copies, inside
from .block_product import BlockProduct, find_block_product, registers_of, tile_block_product

UNROLLED = number("convolutions.UNROLLED")

WINDOW = number("convolutions.WINDOW")

DEEPEST = number("convolutions.DEEPEST")

LEAST_CHUNK = number("convolutions.LEAST_CHUNK")

RAGGED = ratio("convolutions.RAGGED")


def schedule_points(kernel: KernelOp, target: Target, take: Take) -> None:
    """Cut points into blocks whose sums are kept in local buffers, and tile the products."""
    if not _all_points(kernel):
        return
    for points, _ in _all_points(kernel):
        _block(kernel, points, target, take)
    for points, product in _all_points(kernel):
        _sum_in_parts(kernel, points, product, take)
    schedule_convolutions(kernel, target, take)


def schedule_convolutions(kernel: KernelOp, target: Target, take: Take) -> None:
    """Tile the products that are kept in local buffers."""
    for product in _products(kernel):
        nested = [ops_in(op, ForOp) for op in statements(product.columns.body.block) if isinstance(op, ForOp)]
        if any(len(loops) > 1 for loops in nested):
            _sum_at_once([loop for loops in nested for loop in loops], take)
        tile_block_product(kernel, product, target, take, deep=True)


def _sum_at_once(sums: list[ForOp], take: Take) -> None:
    """Let loops over a window continue one another's sum, and unroll the innermost ones where they are short.

    Where one loop contains several, for the stride phases, all of these are unrolled if the whole window is small.
    """
    innermost = [loop for loop in sums if not ops_in(loop.body.block, ForOp)]
    inside = [loop for loop in sums if any(loop in ops_in(other.body.block, ForOp) for other in sums)]
    taps = sum(prod(loop.trip_count() or WINDOW + 1 for loop in (*around(end), end) if loop in inside) for end in innermost)
    is_small = sum(loop.trip_count() or UNROLLED + 1 for loop in innermost) <= UNROLLED
    written_out = inside if len(innermost) > 1 and taps <= WINDOW else innermost if is_small else []
    names, others = [name_of(loop) for loop in written_out], [name_of(loop) for loop in sums if loop not in innermost]
    for name in others:
        attempt(Ungroup(name), take)
    for name in names:
        take(Unroll(name))


@kept
def _products(kernel: KernelOp) -> list[BlockProduct]:
    return [found for loop in ops_in(kernel, ForOp) if (found := find_block_product(loop)) is not None]


def _all_points(kernel: KernelOp) -> list[tuple[Points, BlockProduct]]:
    return [(found, product) for product in _products(kernel) if (found := find_points(product)) is not None]


# --------------------------------------------------------------------------------------------------------------------
# Blocks of points


@dataclass(frozen=True)
class Points:
    """Sums in a local buffer that the loops over features, rows and columns of a result read.

    Attributes:
        pitch: the distance from the sum of a point to that of the same point in the next row.
        width: the points in a row.
    """

    sums: AllocOp
    features: ForOp
    rows: ForOp
    pitch: int
    width: int

    @property
    def filters(self) -> int:
        """The number of result features."""
        return self.features.trip_count() or 1

    @property
    def around(self) -> int:
        """The number of blocks of this many points and features."""
        return prod(loop.trip_count() or 1 for loop in around(self.features))

    def columns(self, rows: int) -> int:
        """The sums of some rows."""
        return (rows - 1) * self.pitch + self.width

    def rows_of_block(self, target: Target) -> int:
        """Points that fill the registers, divide evenly among threads and keep the sums in a quarter of L2."""
        bits = width_of(element_of(self.sums.buffer))
        count = self.rows.trip_count() or 1
        most = max(1, target.l2_bytes // 4 // (self.filters * self.pitch * bits // 8))

        def cycles(rows: int) -> tuple[float, int]:
            full, left = divmod(count, rows)
            registers = full * registers_of(self.columns(rows), bits, target)
            registers += registers_of(self.columns(left), bits, target) if left else 0
            blocks = full + (left > 0)
            each = self.filters * registers / 2 + 2.0 * blocks  # two multiplications a cycle
            return each * uneven(self.around * blocks) * (RAGGED if left else 1.0), -rows

        return min(range(1, min(count, most) + 1), key=cycles)

    def filters_of_block(self, blocks: int) -> int:
        """All features, where there are enough blocks of points for threads."""
        regions = self.around * blocks
        if is_even(regions) or self.filters < 2 * LEAST_CHUNK:
            return self.filters
        least = max(LEAST_CHUNK, -(-self.filters * regions // CHUNKS))
        return _part(self.filters, -(-self.filters // max(1, self.filters // least)))


def find_points(product: BlockProduct) -> Points | None:
    """The points whose sums a product computes, if these are read once, row after row."""
    (store,) = [op for op in statements(product.columns.body.block) if isinstance(op, StoreOp)]
    loads = [use.operation for use in store.buffer.uses if isinstance(use.operation, LoadOp)]
    if not isinstance(store.buffer.owner, AllocOp) or len(loads) != 1 or product.depth.monoid is None:
        return None
    *_, feature, at = [None, *subscripts(loads[0])]
    found = {loop.index: loop for loop in around(loads[0])}
    if feature is None or feature.value not in found or not at.is_linear or at.constant or not at.terms.keys() <= found.keys():
        return None
    features, along = found[feature.value], sorted((c, k) for k, c in enumerate(at.terms.values()))
    running = [found[index] for index in at.terms]
    if not along or len(along) > 2 or any(loop.trip_count() is None for loop in (features, *running)):
        return None
    rows, width = running[along[-1][1]], running[along[0][1]].trip_count() if len(along) == 2 else 1
    return Points(store.buffer.owner, features, rows, along[-1][0], width or 1)


def _block(kernel: KernelOp, points: Points, target: Target, take: Take) -> None:
    """Let each block of points, and of features, compute its sums."""
    count = points.rows.trip_count() or 1
    rows = points.rows_of_block(target)
    chunk = points.filters_of_block(-(-count // rows))
    if rows == count and chunk == points.filters:
        return
    sums, row = buffer_name(points.sums.buffer), name_of(points.rows)
    attempt(Sink(row), take)  # a bias of the feature
    parts = [(points.filters, name_of(points.features), row)]
    if left := points.filters % chunk:
        parts = _peeled(kernel, parts[0], left, take)
    for filters, features, row in parts:
        take(Reorder((row, features)))
        blocks = [(count, row, features)]
        if left := count % rows:
            blocks = _peeled(kernel, blocks[0], left, take)
        for size, row, features in blocks:
            at, inner = take(Split(row, min(rows, size)))
            if filters > chunk:
                outer, features = take(Split(features, chunk))
                take(Reorder((at, outer, features, inner)))
                at = outer
            else:
                take(Reorder((at, features, inner)))
            take(ComputeAt(sums, at))


def _peeled(kernel: KernelOp, nest: tuple[int, str, str], left: int, take: Take) -> list[tuple[int, str, str]]:
    """Two nests, each as (number of iterations, outer loop, inner loop): the second has the last iterations."""
    count, loop, inner = nest
    originals = inside(kernel, loop)
    _, rest = take(Peel(loop, -left))
    return [(count - left, loop, inner), (left, rest, copies(kernel, originals, rest)[inner])]


def _sum_in_parts(kernel: KernelOp, points: Points, product: BlockProduct, take: Take) -> None:
    """Add the products of a few features of an image to the sums in memory, then those of the next features."""
    features = name_of(product.depth)
    sums = reductions_in(product.depth)
    phases = [name_of(loop) for loop in sums if any(loop.index in (*x.lower_operands, *x.upper_operands) for x in sums)]
    depth = product.depth.trip_count() or 0
    if features in phases:  # a single feature has no loop
        return
    if depth <= DEEPEST:
        if phases:
            take(Reorder((*phases, features)))
        return
    rows, columns = name_of(product.rows), name_of(product.columns)
    part, features = take(Split(features, _part(depth, DEEPEST)))
    if phases:
        take(Reorder((*phases, features)))
    sum_by_parts(part, (rows, columns), buffer_name(points.sums.buffer), take)


def sum_by_parts(part: str, nest: Sequence[str], sums: str, take: Take) -> None:
    """Move a loop over parts of a sum around the nest that it stands in, which then accumulates in memory."""
    take(Demote(part))
    start, rest = sums, list[str]()
    for loop in reversed(nest):
        start, after = take(Fission(loop, start))
        rest.insert(0, after)
    take(Reorder((part, *rest)))


def _part(size: int, most: int) -> int:
    """The length of parts of a size, at most `most`: equal parts, if they are not much shorter."""
    even = max(n for n in range(1, min(size, most) + 1) if size % n == 0)
    return even if 2 * even > most else -(-size // -(-size // most))

"""Convolutions by Winograd's algorithm: blocks of tiles and of filters that stay in the second-level cache.

    filters[p, i, o] = transform of the filters             for all features i, features o of the result
    padded[n, h, w, i] = image with padding
    image[p, n, y, x, i] = transform of padded               for all tiles n, y, x
    products[p, n, y, x, o] = sum over i of image[p, n, y, x, i] * filters[p, i, o]       for all points p
    out = transform of products

Each block of tiles computes its own inputs except for the filters (`loop-compute-at`). Where all filters stay in the cache,
too, they are transformed once, and threads share the blocks of tiles. Else blocks of filters are transformed where they are
used, a few features of the image at a time (`loop-demote`), for a block of tiles as large as possible, and threads share the
more numerous of both kinds of blocks. The tiles of a block are the rows of a product (`loop-collapse-dims`, `loop-coalesce`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ...codegen.targets import Target
from ...dialects.loop.grain import uneven
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...thresholds import number
from ..analysis.lanes import lane_stride, runs_along, stored_bits
from ..analysis.nests import around, buffer_name, name_of, ops_in, statements, walk
from ..analysis.regions import extent
from ..costs import lanes_of
from ..schedule.cloning import subscripts
from ..schedule.coalesce import Coalesce
from ..schedule.collapse_dims import CollapseDims
from ..schedule.compute_at import ComputeAt
from ..schedule.pad import Pad
from ..schedule.partition import Partition
from ..schedule.reorder import Reorder
from ..schedule.serialize import Serialize
from ..schedule.set_layout import SetLayout
from ..schedule.split import Split
from ..schedule.vectorize import Vectorize
from .base import Take, attempt
from .block_product import is_sum
from .convolutions import schedule_convolutions, sum_by_parts

VECTORS = number("winograd.VECTORS")


# --------------------------------------------------------------------------------------------------------------------
# Sizes of blocks


@dataclass(frozen=True)
class Blocks:
    """How tiles and filters are cut into blocks.

    Attributes:
        images: images in a block of tiles; several where it has all tiles of each.
        rows: rows of tiles of an image in a block.
        width: tiles of a row in a block.
        columns: result features of a block of filters, whole vectors.
        count: the number of blocks of filters.
        depth: features in a block of filters.
        stay: whether all filters are transformed once, and stay in the second-level cache.
    """

    images: int
    rows: int
    width: int
    columns: int
    count: int
    depth: int
    stay: bool

    def across(self, images: int, high: int, wide: int) -> int:
        """The number of blocks of tiles in this many images of `high x wide` tiles; of one where their number is symbolic."""
        return -(-abs(images) // self.images) * -(-high // self.rows) * -(-wide // self.width)

    @property
    def tiles(self) -> int:
        """The number of tiles in a block."""
        return self.images * self.rows * self.width


def find_blocks(sizes: tuple[int, int, int], depth: int, filters: int, points: int, lanes: int, l2_bytes: int) -> Blocks:
    """The blocks for images of (number, rows of tiles, tiles of a row), of f32, with so many points of a tile.

    Of a symbolic number of images, which is negative, a block has one.

    Filters that stay take at most two thirds of the second-level cache, the values computed from a block of tiles a quarter; a
    block of filters that do not stay takes a quarter, the values computed from tiles half. Transforming 64 x 64 filters anew
    for each row of tiles took a fifth of the time.
    """
    images, high, wide = sizes
    cache = l2_bytes // (points * 4)
    vectors = -(-filters // lanes)
    count = -(-vectors // VECTORS)
    columns = -(-vectors // count) * lanes
    stay = columns * count * depth <= cache * 2 // 3
    if stay:
        columns, count = columns * count, 1
    most = max(1, cache // 4 // (depth + columns) if stay else cache // 2 // columns)
    width = _part(wide, most)
    rows = _part(high, max(1, most // width)) if width == wide else 1
    together = max(1, most // (rows * width)) if rows == high else 1
    together = 1 if images < 0 else max(n for n in range(1, min(images, together) + 1) if images % n == 0)
    blocks = 1 if stay else -(-depth // max(1, cache // 4 // columns))
    return Blocks(together, rows, width, columns, count, -(-depth // blocks), stay)


def _part(size: int, most: int) -> int:
    """The length of parts of a size, at most `most`: of the lengths that threads share fastest the longest."""
    return min(range(min(size, most), 0, -1), key=lambda part: uneven(-(-size // part)) * -(-size // part) * part)


# --------------------------------------------------------------------------------------------------------------------
# Steps


@dataclass(frozen=True)
class Tiles:
    """A product, for each point, of transformed tiles and filters, all of which are in local buffers.

    Attributes:
        padded: the buffer from which the tiles are read.
        results: the loop over features that transforms the products.
        at: the tile that this loop transforms: a loop for each dim, or None.
    """

    filters: AllocOp
    padded: AllocOp
    image: AllocOp
    products: AllocOp
    results: ForOp
    at: tuple[ForOp | None, ...]

    def blocks(self, target: Target) -> Blocks:
        points, *sizes, filters = self.products.buffer.type.get_shape()
        depth = self.image.buffer.type.get_shape()[-1]
        return find_blocks((sizes[0], sizes[1], sizes[2]), depth, filters, points, target.lanes(32), target.l2_bytes)


def find_tiles(kernel: KernelOp) -> Tiles | None:
    """The transforms and the product of a convolution, before any scheduling."""
    for depth in ops_in(kernel, ForOp):
        if (found := _tiles(depth)) is not None:
            return found
    return None


def _tiles(depth: ForOp) -> Tiles | None:
    if len(depth.results) != 1 or not is_sum(depth):
        return None
    loads = [op for op in statements(depth.body.block) if isinstance(op, LoadOp)]
    stores = [use.operation for use in depth.results[0].uses if isinstance(use.operation, StoreOp)]
    if len(loads) != 2 or len(stores) != 1:
        return None
    image, filters, products = (op.buffer.owner for op in (*loads, *stores))
    made = [op for op in (image, filters, products) if isinstance(op, AllocOp) and isinstance(op.parent_op(), KernelOp)]
    if len(made) != 3 or [op.buffer.type.get_num_dims() for op in made] != [5, 3, 5]:
        return None
    read = [op for op in _reads(made[2]) if around(op)]
    copies = {
        op.buffer.owner
        for store in _stores(made[0])
        for op in ops_in(around(store)[0], LoadOp)
        if op.buffer is not made[0].buffer
    }
    whole = [op for op in copies if isinstance(op, AllocOp) and isinstance(op.parent_op(), KernelOp)]
    if not read or len(whole) != 1:
        return None
    by_index: dict[SSAValue | None, ForOp] = {loop.index: loop for loop in around(read[0])}
    _, *tile, feature = [by_index.get(form.value) for form in subscripts(read[0])]
    return None if feature is None else Tiles(made[1], whole[0], made[0], made[2], feature, tuple(tile))


def _reads(alloc: AllocOp) -> list[LoadOp]:
    return [use.operation for use in alloc.buffer.uses if isinstance(use.operation, LoadOp)]


def _stores(alloc: AllocOp) -> list[StoreOp]:
    return [use.operation for use in alloc.buffer.uses if isinstance(use.operation, StoreOp)]


def schedule_tiles(kernel: KernelOp, target: Target, take: Take) -> None:
    """Cut tiles and filters into blocks, which compute their inputs, and make their tiles the rows of a product."""
    if (tiles := find_tiles(kernel)) is None or min(tiles.products.buffer.type.get_shape()[2:4]) < 0:
        return
    blocks = tiles.blocks(target)
    _, *sizes, _ = tiles.products.buffer.type.get_shape()
    made, padded, image, products = (
        buffer_name(op.buffer) for op in (tiles.filters, tiles.padded, tiles.image, tiles.products)
    )
    outer, column = _cut(tiles, blocks, take)
    at = outer[-1] if outer else None
    if column or at:
        take(ComputeAt(products, column or at or ""))
    for name in (image, padded) if at else ():
        take(ComputeAt(name, at or ""))
    _pad(kernel, padded, target, take)
    for name in (image, products):
        _fill(kernel, name, (blocks.images, blocks.rows, blocks.width), take)
    for name in (image, products):
        take(CollapseDims(name, 1, 3))
    _, *along, _ = _nest(_stored(kernel, products))
    rows = [name_of(loop) for loop in along if not _runs_once(loop)]
    while len(rows) > 1:
        take(Coalesce(*rows[-2:]))
        rows.pop()
    if not blocks.stay:
        part = _sum_in_parts(_stored(kernel, products), blocks.depth, take)
        if where := part or column or at:
            take(ComputeAt(made, where))
        _fill(kernel, products, (blocks.tiles, blocks.columns), take)
        if blocks.across(*sizes) <= blocks.count:
            for name in outer:
                take(Serialize(name))
    for name in (image, products, made):  # at distances that are powers of two, points would share few sets of the caches
        take(SetLayout(name, (0, 1, 2), pad=1, dim=1))
    schedule_convolutions(kernel, target, take)


def _pad(kernel: KernelOp, padded: str, target: Target, take: Take) -> None:
    """Remove the conditions from the copy of the image with padding: vectorize it, and divide it where padding begins."""
    nest = _nest(_stored(kernel, padded))
    names = list(map(name_of, nest))
    if nest and _is_copied_along(nest[-1]) and (lanes := lanes_of(nest[-1], target)) <= (nest[-1].trip_count() or 0):
        attempt(Vectorize(names[-1], lanes), take)  # once, before it is divided into five
    for loop in names:
        attempt(Partition(loop), take)


def _is_copied_along(loop: ForOp) -> bool:
    """Whether a loop is contiguous for all its loads and stores."""
    accesses = ops_in(loop, LoadOp, StoreOp)
    return all(runs_along(op, loop) or lane_stride(op, loop.index) == (0, 0) for op in accesses)


def _cut(tiles: Tiles, blocks: Blocks, take: Take) -> tuple[list[str], str | None]:
    """Compute results in blocks; returns the loops over blocks of tiles, outermost first, and over blocks of filters."""
    outer, within = list[str](), list[str]()
    sizes = tiles.products.buffer.type.get_shape()[1:4]
    for loop, size, part in zip(tiles.at, sizes, (blocks.images, blocks.rows, blocks.width), strict=True):
        if loop is None:
            continue
        if part == 1 != size:
            outer.append(name_of(loop))
        elif part < size:
            first, rest = take(Split(name_of(loop), part))
            outer.append(first)
            within.append(rest)
        else:
            within.append(name_of(loop))
    if blocks.count == 1:
        return outer, None
    column, feature = take(Split(name_of(tiles.results), blocks.columns))
    take(Reorder((*outer, column, *within, feature)))
    return outer, column


def _stored(kernel: KernelOp, name: str) -> StoreOp:
    """The ops that store to a local buffer."""
    return next(op for op in ops_in(kernel, StoreOp) if buffer_name(op.buffer) == name)


def _nest(store: StoreOp) -> list[ForOp]:
    """The loops of a statement in the block of the buffer that it stores to."""
    assert isinstance(store.buffer.owner, AllocOp)
    outside = around(store.buffer.owner)
    return [loop for loop in around(store) if loop not in outside]


def _runs_once(loop: ForOp) -> bool:
    """Whether a loop runs over the only image or row of a block."""
    found = extent(loop)
    return found is not None and found.count == 1


def _fill(kernel: KernelOp, name: str, sizes: Sequence[int], take: Take) -> None:
    """Pad loops over a part of a block of `sizes` to all of it: the additional elements are not read."""
    for store in [op for op in ops_in(kernel, StoreOp) if buffer_name(op.buffer) == name]:
        at = [*zip(subscripts(store)[1:], sizes, strict=False)]
        loops = [loop for loop in _nest(store) if loop.trip_count() is None and not _runs_once(loop)]
        found = [(name_of(loop), size) for loop in loops for form, size in at if loop.index in form.terms]
        for loop, size in found:
            take(Pad(loop, size))


def _sum_in_parts(store: StoreOp, count: int, take: Take) -> str | None:
    """Add the products of a few features to the sums in memory, then the next ones; returns the loop over such parts."""
    depth = store.value.owner
    if not isinstance(depth, ForOp) or (depth.trip_count() or 0) <= count:
        return None
    nest = [name_of(loop) for loop in _nest(store)]
    part, _ = take(Split(name_of(depth), count))
    sum_by_parts(part, nest, buffer_name(store.buffer), take)
    return part


# --------------------------------------------------------------------------------------------------------------------
# Transforms


def schedule_features(kernel: KernelOp, target: Target, take: Take) -> None:
    """Vectorize the loops over features around small local buffers: one register holds each value of a tile."""
    for loop in [op for op in ops_in(kernel, ForOp) if runs_over_features(op)]:
        take(Vectorize(name_of(loop), max(2, target.lanes(stored_bits(loop)))))


def runs_over_features(loop: ForOp) -> bool:
    """Whether a parallel loop owns small buffers and is contiguous for all its other stores.

    Filters, each of which is read once, may be strided.
    """
    if loop.kind.data != "parallel" or loop.step.value.data != 1:
        return False
    own = {op.buffer for op in loop.body.block.ops if isinstance(op, AllocOp) and op.space.data in ("stack", "register")}
    if not own:
        return False
    for op in walk(loop):
        if not isinstance(op, LoadOp | StoreOp) or op.buffer in own:
            continue
        if op.lanes != 1 or lane_stride(op, loop.index) is None or (isinstance(op, StoreOp) and not runs_along(op, loop)):
            return False
    return True

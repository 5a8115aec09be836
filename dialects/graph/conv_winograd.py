"""The loop form of 3x3 convolutions by Winograd's F(2x2, 3x3) and F(4x4, 3x3), features last.

A tile of `m x m` results reads `(m + 2) x (m + 2)` elements of each feature. Transformed, tiles and filters are multiplied
point by point, and over the features that is a product of matrices for each of the `(m + 2)^2` points:

    image   [point, tile, feature]                 from windows of the padded image
    filters [point, feature, result feature]
    products[point, tile, result feature]          a sum over features
    results                                        from the products of a tile

Features lie side by side in vectors throughout. Tiles are worked on in blocks, so that what is made of them stays in the
second-level cache. Where all filters stay there, too, they are transformed once, and threads share the blocks of tiles. Else
blocks of filters are transformed where they are used, for a block of tiles as large as possible, and threads share the blocks
of which there are more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ..loop.grain import uneven
from ..symbolic import Size, is_at_most
from ..types import expected
from .conv_loops import Form
from .window_loops import Index, clipped, over, within
from .winograd_transforms import WINDOW, Transforms, multiply, transforms

if TYPE_CHECKING:
    import numpy as np

    from .conv import ConvOp

Load = Callable[[Index, Index], SSAValue]
Store = Callable[[Index, Sequence[SSAValue]], None]

VECTORS = 4
"""Vectors of result features in a block of filters."""


def write_winograd(op: ConvOp, b: Any, tile: int) -> None:
    """Write the loops of a convolution with tiles of `tile x tile` results."""
    _Winograd(Form(op, b), transforms(tile)).write()


# --------------------------------------------------------------------------------------------------------------------
# Blocks


@dataclass(frozen=True)
class Blocks:
    """How tiles and filters are cut into blocks.

    Attributes:
        images: of a block of tiles; several where it has all tiles of each.
        rows: rows of tiles of an image in a block.
        width: tiles of a row in a block.
        columns: result features of a block of filters, whole vectors.
        count: blocks of filters.
        depth: features of a block of filters.
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
        """How many blocks of tiles there are in so many images of `high x wide` tiles."""
        return -(-images // self.images) * -(-high // self.rows) * -(-wide // self.width)

    @property
    def tiles(self) -> int:
        """Tiles of a block."""
        return self.images * self.rows * self.width


def find_blocks(sizes: tuple[int, int, int], depth: int, filters: int, by: Transforms, lanes: int, l2_bytes: int) -> Blocks:
    """The blocks for images of (number, rows of tiles, tiles of a row), of f32.

    Filters that stay take at most half of the second-level cache, what is made of a block of tiles as much; of filters that do
    not stay a block takes a quarter.
    """
    images, high, wide = sizes
    cache = l2_bytes // (by.size**2 * 4)
    vectors = -(-filters // lanes)
    count = -(-vectors // VECTORS)
    columns = -(-vectors // count) * lanes
    stay = columns * count * depth <= cache // 2
    if stay:
        columns, count = columns * count, 1
    most = max(1, cache // 2 // (depth + columns if stay else columns))
    width = _part(wide, most)
    rows = _part(high, max(1, most // width)) if width == wide else 1
    together = max(1, most // (rows * width)) if rows == high else 1
    if isinstance(images, Size):
        together = 1  # which divides any number of them
    else:
        together = max(n for n in range(1, min(images, together) + 1) if images % n == 0)
    blocks = 1 if stay else -(-depth // max(1, cache // 4 // columns))
    return Blocks(together, rows, width, columns, count, -(-depth // blocks), stay)


def _part(size: int, most: int) -> int:
    """The length of parts of a size, at most `most`: of those that threads share in the least of time the longest."""
    return min(range(min(size, most), 0, -1), key=lambda part: uneven(-(-size // part)) * -(-size // part) * part)


# --------------------------------------------------------------------------------------------------------------------
# Loops


class _Winograd:
    def __init__(self, form: Form, by: Transforms):
        self.form, self.b, self.by = form, form.b, by
        self.points = by.size**2
        self.high, self.wide = (-(-n // by.tile) for n in form.points)
        target = form.b.target
        self.blocks = find_blocks((form.batch, self.high, self.wide), form.depth, form.filters, by, form.lanes, target.l2_bytes)
        self.fits = self.blocks.columns * self.blocks.count == form.filters
        """Whether there are as many result features as blocks have room for."""

    def write(self) -> None:
        b, blocks, depth = self.b, self.blocks, self.form.depth
        if blocks.stay:
            filters = self._filters(0, (0, depth))
            with self._over_tiles("parallel") as block:
                products = self._local(blocks.tiles, blocks.columns, "products")
                self._multiply(self._image(block), (0, depth), filters, products)
                self._results(products, block, 0)
            return
        with self._over_tiles(
            "parallel" if blocks.across(expected(self.form.batch), self.high, self.wide) > blocks.count else "seq"
        ) as block:
            image = self._image(block)
            with b.loop(blocks.columns * blocks.count, step=blocks.columns) as column:
                products = self._local(blocks.tiles, blocks.columns, "products")
                if blocks.depth < depth:
                    with over(b, (self.points, blocks.tiles, blocks.columns)) as at:
                        b.store(self.form.zero, products, at)
                for features in self._depths():
                    filters = self._filters(column.index, features)
                    self._multiply(image, features, filters, products)
                self._results(products, block, column.index)

    def _depths(self) -> Iterator[tuple[Index, Any]]:
        """(first, count) of the features that are multiplied at a time."""
        depth, step = self.form.depth, self.blocks.depth
        if step == depth:
            yield 0, depth
            return
        with self.b.loop(depth, "seq", step=step) as block:
            yield block.index, step if depth % step == 0 else [AffineConstantExpr(step), block.index * -1 + depth]

    @contextmanager
    def _over_tiles(self, kind: str) -> Iterator[tuple[AffineExpr, AffineExpr, AffineExpr]]:
        """Loops over the blocks of tiles: the first image, row and column of each, in tiles."""
        blocks = self.blocks
        sizes = ((self.form.batch, blocks.images), (self.high, blocks.rows), (self.wide, blocks.width))
        with _steps(self.b, sizes, kind) as (image, row, column):
            yield image, row, column

    def _local(self, rows: int, columns: int, name: str) -> SSAValue:
        """A matrix a point, and a row more: a power of two apart, points would share few sets of the caches."""
        return self.b.local((self.points, rows + 1, columns), self.form.element, "scratch", name=name)

    def _both(self, matrix: np.ndarray, load: Load, store: Store, rows: Any = None) -> None:
        """`store(i, row i of matrix @ values @ matrix^T)` for a square of values `load(i, j)`; of the first `rows` rows only.

        Columns first: what they become waits in a local buffer, a register for each value.
        """
        b, (size, inner) = self.b, matrix.shape
        half = b.local((size, inner), self.form.element, "register" if rows is None else "stack", name="half")
        with b.loop(inner, "unroll") as j:
            for i, value in enumerate(multiply(b, matrix, [load(i, j.index) for i in range(inner)])):
                b.store(value, half, [i, j.index])
        with b.loop(*((size, "unroll") if rows is None else (rows, "seq"))) as i:
            store(i.index, multiply(b, matrix, [b.load(half, [i.index, j]) for j in range(inner)]))

    def _filters(self, column: Index, features: tuple[Index, Any]) -> SSAValue:
        """The transformed filters of some features, from result feature `column` on."""
        form, b, blocks, size = self.form, self.b, self.blocks, self.by.size
        feature, count = features
        made = self._local(blocks.depth, blocks.columns, "filters")
        if not self.fits:
            with over(b, (self.points, blocks.depth, blocks.columns)) as at:
                b.store(form.zero, made, at)
        with b.loop(count) as c, b.loop(self._here(column)) as k:

            def store(i: Index, row: Sequence[SSAValue]) -> None:
                for j, value in enumerate(row):
                    b.store(value, made, [i * size + j, c.index, k.index])

            self._both(self.by.filter, lambda i, j: form.w(column + k.index, feature + c.index, (i, j)), store)
        return made

    def _here(self, column: Index) -> Any:
        """How many result features there are from `column` on in a block."""
        columns = self.blocks.columns
        if self.fits:
            return columns
        if isinstance(column, int):
            return self.form.filters
        return [AffineConstantExpr(columns), column * -1 + self.form.filters]

    def _image(self, block: tuple[AffineExpr, AffineExpr, AffineExpr]) -> SSAValue:
        """The transformed tiles of a block."""
        form, b, by, blocks = self.form, self.b, self.by, self.blocks
        image, row, column = block
        made = self._local(blocks.tiles, form.depth, "image")
        with over(b, (blocks.images,)) as (n,):
            padded = self._pad(image + n, row, column)
            with over(b, (blocks.rows, blocks.width)) as (y, x), b.loop(form.depth) as c:
                tile = (n * blocks.rows + y) * blocks.width + x

                def store(i: Index, values: Sequence[SSAValue]) -> None:
                    for j, value in enumerate(values):
                        b.store(value, made, [i * by.size + j, tile, c.index])

                self._both(by.image, lambda i, j: b.load(padded, [y * by.tile + i, x * by.tile + j, c.index]), store)
        return made

    def _pad(self, image: AffineExpr, row: AffineExpr, column: AffineExpr) -> SSAValue:
        """What the tiles of a block read of an image, with zeros around the image."""
        form, b, m = self.form, self.b, self.by.tile
        sizes = (self.blocks.rows * m + WINDOW - 1, self.blocks.width * m + WINDOW - 1)
        padded = b.local((*sizes, form.depth), form.element, "scratch", name="padded")
        with over(b, (*sizes, form.depth)) as at:
            b.store(form.zero, padded, at)
        starts = (row * m, column * m)
        rows = zip(form.axes, sizes, starts, strict=True)
        bounds = [clipped(axis.inside(0, 1), size, start) for axis, size, start in rows]
        with within(b, bounds) as at, over(b, (form.depth,)) as (c,):
            source = [start + q + -axis.low for start, q, axis in zip(starts, at, form.axes, strict=True)]
            b.store(form.x(image, c, source), padded, [*at, c])
        return padded

    def _multiply(self, image: SSAValue, features: tuple[Index, Any], filters: SSAValue, products: SSAValue) -> None:
        """Add the products of some features."""
        form, b, blocks, (feature, count) = self.form, self.b, self.blocks, features
        with b.loop(self.points) as point, b.loop(blocks.tiles) as i, b.loop(blocks.columns) as j:
            place = [point.index, i.index, j.index]
            with b.loop(count, "reduce", monoid="add", inits=[form.zero]) as c:
                tile = b.load(image, [point.index, i.index, c.index + feature])
                c.give(b.scalar.mul(tile, b.load(filters, [point.index, c.index, j.index])))
            (total,) = c.results
            if blocks.depth < form.depth:
                total = b.scalar.add(b.load(products, place), total)
            b.store(total, products, place)

    def _results(self, products: SSAValue, block: tuple[AffineExpr, AffineExpr, AffineExpr], first: Index) -> None:
        """Write the results of a block of tiles, from result feature `first` on."""
        form, b, by, blocks = self.form, self.b, self.by, self.blocks
        image, row, column = block
        (high, wide), m = form.points, by.tile
        with over(b, (blocks.images, blocks.rows, blocks.width)) as (n, y, x), b.loop(self._here(first)) as k:
            tile = (n * blocks.rows + y) * blocks.width + x
            top, left = (row + y) * m, (column + x) * m
            rows = _inside(top, m, high, blocks.rows * m)
            columns = _inside(left, m, wide, blocks.width * m)
            line = None if columns is None else b.local((m,), form.element, name="line")

            def write(i: Index, j: Index, value: SSAValue) -> None:
                form.write(value, image + n, first + k.index, [top + i, left + j])

            def store(i: Index, values: Sequence[SSAValue]) -> None:
                if line is None:
                    for j, value in enumerate(values):
                        write(i, j, value)
                    return
                for j, value in enumerate(values):
                    b.store(value, line, [j])
                with b.loop(columns, "seq") as j:
                    write(i, j.index, b.load(line, [j.index]))

            self._both(by.result, lambda i, j: b.load(products, [i * by.size + j, tile, k.index]), store, rows)


def _inside(start: AffineExpr, tile: int, size: int, block: int) -> list[AffineExpr] | None:
    """How many results of a tile there are, as a bound of a loop; None if there are all of every tile."""
    return None if size % block == 0 else [AffineConstantExpr(tile), start * -1 + size]


@contextmanager
def _steps(b: Any, sizes: Sequence[tuple[int, int]], kind: str) -> Iterator[list[AffineExpr]]:
    """One loop for each (size, step), outermost first; none for what is one step."""
    with ExitStack() as stack:
        one = AffineConstantExpr(0)
        yield [one if is_at_most(n, step) else stack.enter_context(b.loop(n, kind, step=step)).index for n, step in sizes]

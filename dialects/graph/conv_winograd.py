"""The loop form of 3x3 convolutions by Winograd's F(2x2, 3x3) and F(4x4, 3x3), features last.

A tile of `m x m` results reads `(m + 2) x (m + 2)` elements of each feature. Transformed, tiles and filters are multiplied
point by point, and over the features that is a matmul for each of the `(m + 2)^2` points:

    filters [point, feature, result feature]       from all filters
    padded  [image, row, column, feature]          read by tiles
    image   [point, image, tile, tile, feature]    from the tiles
    products[point, image, tile, tile, result feature]     a sum over features
    results                                        from the products of a tile

Features lie side by side throughout. `lowering/strategies/winograd.py` cuts tiles and filters into blocks that stay in the
second-level cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ..types import element_of
from .convolution import Convolution, pick, placed
from .window_loops import Axis, Index, over
from .window_plain import with_padding
from .winograd_transforms import Transforms, multiply, transforms

if TYPE_CHECKING:
    import numpy as np

    from .conv import ConvOp
    from .nest_writer import NestWriter

Load = Callable[[Index, Index], SSAValue]
Store = Callable[[Index, Sequence[SSAValue]], None]


def write_winograd(op: ConvOp, b: NestWriter, tile: int) -> None:
    """Write the loops of a convolution with tiles of `tile x tile` results."""
    _Winograd(op, b, transforms(tile)).write()


class _Winograd:
    def __init__(self, op: ConvOp, b: NestWriter, by: Transforms):
        self.b, self.by, self.c = b, by, Convolution.of(op.properties)
        self.element = element_of(op.results[0])
        self.batch, self.depth, *sizes = pick(op.shape(0), self.c.x_dims)
        self.filters = op.shape(1)[self.c.w_dims[0]]
        self.points = pick(op.result_shape(), self.c.y_dims[2:])
        counts = [-(-n // by.tile) for n in self.points]
        self.tiles = (self.batch, *counts)
        self.axes = [Axis(*row) for row in zip(sizes, (by.size,) * 2, (by.tile,) * 2, (1, 1), self.c.low, counts, strict=True)]

    def write(self) -> None:
        b, m = self.b, self.by.tile
        filters = self._local((self.depth, self.filters), "filters")
        with b.loop(self.depth) as i, b.loop(self.filters) as o:
            self._points(
                self.by.filter,
                lambda u, v: b.read(1, placed((o.index, i.index, u, v), self.c.w_dims)),
                filters,
                [i.index, o.index],
            )
        still = [Axis(n, 1, count=n) for n in (self.batch, self.depth)]
        x = with_padding(b, self._x, [still[0], *self.axes, still[1]], b.scalar.const(0, self.element))
        image = self._local((*self.tiles, self.depth), "image")
        with over(b, self.tiles) as (n, p, q), b.loop(self.depth) as i:
            at = [n, p, q, i.index]
            self._points(self.by.image, lambda u, v: b.load(x, [n, p * m + u, q * m + v, i.index]), image, at)
        products = self._local((*self.tiles, self.filters), "products")
        with b.loop(self.by.size**2) as point, over(b, self.tiles) as tile, b.loop(self.filters) as o:
            with b.loop(self.depth, "reduce", monoid="add", inits=[b.scalar.const(0, self.element)]) as i:
                value = b.load(image, [point.index, *tile, i.index])
                i.give(b.scalar.mul(value, b.load(filters, [point.index, i.index, o.index])))
            b.store(i.results[0], products, [point.index, *tile, o.index])
        self._results(products)

    def _local(self, shape: Sequence[int], name: str) -> SSAValue:
        return self.b.local((self.by.size**2, *shape), self.element, "scratch", name=name)

    def _x(self, at: Sequence[Index]) -> SSAValue:
        n, *place, i = at
        return self.b.read(0, placed((n, i, *place), self.c.x_dims))

    def _both(self, matrix: np.ndarray, load: Load, store: Store, rows: Any = None) -> None:
        """`store(i, row i of matrix @ values @ matrix^T)` for a square of values `load(i, j)`; of the first `rows` rows only.

        Columns come first; their results are kept in a local buffer. These loops are not unrolled: there are more intermediate
        values than registers, and unrolled they would be most of the code of a convolution.
        """
        b, (size, inner) = self.b, matrix.shape
        half = b.local((size, inner), self.element, "stack", name="half")
        with b.loop(inner, "seq") as j:
            for i, value in enumerate(multiply(b, matrix, [load(i, j.index) for i in range(inner)])):
                b.store(value, half, [i, j.index])
        with b.loop(size if rows is None else rows, "seq") as i:
            store(i.index, multiply(b, matrix, [b.load(half, [i.index, j]) for j in range(inner)]))

    def _line(self, size: int, count: Any, write: Callable[[Index, Index, SSAValue], None]) -> Store:
        """Calls `write(i, j, value j)` for the first `count` of the `size` values of row i, all if that is None."""
        b = self.b
        line = b.local((size,), self.element, "register" if count is None else "stack", name="line")

        def store(i: Index, values: Sequence[SSAValue]) -> None:
            for j, value in enumerate(values):
                b.store(value, line, [j])
            with b.loop(*((size, "unroll") if count is None else (count, "seq"))) as j:
                write(i, j.index, b.load(line, [j.index]))

        return store

    def _points(self, matrix: np.ndarray, load: Load, made: SSAValue, at: Sequence[AffineExpr]) -> None:
        """Store the transform of a square of values, point by point."""
        size = self.by.size
        self._both(matrix, load, self._line(size, None, lambda i, j, value: self.b.store(value, made, [i * size + j, *at])))

    def _results(self, products: SSAValue) -> None:
        """Write the results of all tiles that lie in the result."""
        b, by, m = self.b, self.by, self.by.tile
        with over(b, self.tiles) as (n, p, q), b.loop(self.filters) as o:
            rows, columns = (_inside(at * m, m, size) for at, size in zip((p, q), self.points, strict=True))

            def write(i: Index, j: Index, value: SSAValue) -> None:
                b.write(value, placed((n, o.index, p * m + i, q * m + j), self.c.y_dims))

            load = partial(self._product, products, (n, p, q), o.index)
            self._both(by.result, load, self._line(m, columns, write), rows)

    def _product(self, products: SSAValue, tile: Sequence[Index], feature: Index, u: Index, v: Index) -> SSAValue:
        return self.b.load(products, [u * self.by.size + v, *tile, feature])


def _inside(start: AffineExpr, tile: int, size: int) -> list[AffineExpr] | None:
    """How many results of a tile there are, as a bound of a loop; None if there are all of every tile."""
    return None if size % tile == 0 else [AffineConstantExpr(tile), start * -1 + size]

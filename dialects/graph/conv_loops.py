"""The loop forms of convolutions.

*Flat*, for features before the spatial dims: a product whose columns are the points of the result. What a row of the product
reads is copied to *planes* first, one for each place in the window along all spatial dims but the first, with padding, in the
order of the result's points: the element of tap (kh, kw) for point p stands at `plane[kw][p + kh * points of a row]`. So
columns are contiguous across rows of the image, and one element in `window height` is copied where an im2col would copy all.

*Pixels*, for features last: rows are points along the last spatial dim, columns the features of the result.

*Depthwise*, for one feature a group: windows slide over each feature alone.

Images are worked on in blocks of rows whose planes fit the second-level cache. Rows and columns are cut into tiles whose sums
fit registers; `lowering/strategies/convolutions.py` makes them vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ..types import scalar_of
from .conv import Convolution, dilated, pick, placed
from .window_loops import Axis, Element, Index, Planes, Values, clipped, multiply_add, over, within

if TYPE_CHECKING:
    from .conv import ConvOp

UNROLLED = 8
"""Elements of a window along its last dim that are written out one by one; more are a loop."""

TILES = 8
"""Tiles of rows that work on the same columns one after the other."""

LEAST_BLOCKS = 4
"""Blocks of rows that an image is cut into when it does not fit the cache: enough for some threads."""


def write_conv(op: ConvOp, b: Any) -> None:
    """Write the loops of a convolution."""
    form = _Form(op, b)
    if 0 in op.result_shape():
        return
    if 0 in (form.features, *op.shape(1)):
        with over(b, op.result_shape()) as point:
            b.write(form.zero, point)
    elif form.depth == 1 and form.c.groups > 1:
        _Depthwise(form).write()
    elif form.c.y_dims[1] == len(form.c.y_dims) - 1:
        _Pixels(form).write()
    else:
        _Flat(form).write()


class _Form:
    """What all loop forms need: sizes by role, and the operands at points by role."""

    def __init__(self, op: ConvOp, b: Any):
        self.op, self.b = op, b
        self.c = c = Convolution.of(op.properties)
        self.batch, self.features, *sizes = pick(op.shape(0), c.x_dims)
        self.filters, self.depth, *window = pick(op.shape(1), c.w_dims)
        self.window = tuple(window)
        self.points = pick(op.result_shape(), c.y_dims[2:])
        self.element = op.results[0].type.element_type  # pyright: ignore[reportAttributeAccessIssue]
        self.zero = b.scalar.const(0, self.element)
        bits: int = scalar_of(self.element).bitwidth  # pyright: ignore[reportAttributeAccessIssue]
        self.lanes: int = b.target.lanes(bits)
        self.bytes = bits // 8
        self.sizes = tuple(dilated(n, by) for n, by in zip(sizes, c.base_dilation, strict=True))
        rows = zip(self.sizes, window, c.stride, c.dilation, c.low, self.points, strict=True)
        self.axes = tuple(Axis(*row) for row in rows)
        self.spread: SSAValue | None = None
        self._given = tuple(sizes)

    @property
    def per_group(self) -> int:
        """Features of the result in a group."""
        return self.filters // self.c.groups

    def spread_out(self, image: Index) -> None:
        """Copy an image with the holes that a base dilation puts between its elements, for `x` to read."""
        if set(self.c.base_dilation) == {1}:
            return
        b = self.b
        self.spread = b.local((self.features, *self.sizes), self.element, "scratch", name="spread")
        with over(b, (self.features, *self.sizes)) as at:
            b.store(self.zero, self.spread, at)
        with over(b, (self.features, *self._given)) as (feature, *at):
            value = b.read(0, placed((image, feature, *at), self.c.x_dims))
            b.store(value, self.spread, [feature, *(q * by for q, by in zip(at, self.c.base_dilation, strict=True))])

    def x(self, image: Index, feature: Index, at: Sequence[Index]) -> SSAValue:
        """An element of the operand, holes included, padding not."""
        if self.spread is not None:
            return self.b.load(self.spread, [feature, *at])
        return self.b.read(0, placed((image, feature, *at), self.c.x_dims))

    def w(self, filter_: Index, feature: Index, at: Sequence[Index]) -> SSAValue:
        return self.b.read(1, placed((filter_, feature, *at), self.c.w_dims))

    def write(self, value: SSAValue, image: Index, filter_: Index, at: Sequence[Index]) -> None:
        self.b.write(value, placed((image, filter_, *at), self.c.y_dims))


# --------------------------------------------------------------------------------------------------------------------
# Tiles


@dataclass(frozen=True)
class Tile:
    """A register tile of a product: so many rows, and columns of so many vectors."""

    rows: int
    vectors: int


def choose_tile(rows: int, vectors: int, registers: int) -> Tile:
    """The register tile that runs a product of so many rows and columns (in vectors) in the fewest cycles, about.

    A step takes half a cycle a multiplication, half a cycle a load, and not less than the latency of an addition. What is left
    at the edges counts for more: it is code of its own, and loads much for what it computes.
    """

    def cycles(r: int, v: int) -> float:
        return max(r * v / 2, (r + v) / 2, 4.0) + 0.1 * (r + v) / 2

    def total(tile: Tile) -> float:
        r, v = tile.rows, tile.vectors
        tall, left = divmod(rows, r)
        wide, right = divmod(vectors, v)
        whole = tall * wide * cycles(r, v)
        edges = tall * (cycles(r, right) if right else 0) + wide * (cycles(left, v) if left else 0)
        return whole + 1.5 * (edges + (cycles(left, right) if left and right else 0))

    shapes = [Tile(r, v) for v in range(1, 5) for r in range(1, min(rows, registers) + 1)]
    fits = [tile for tile in shapes if tile.rows * tile.vectors + tile.vectors + 1 < registers and tile.vectors <= vectors]
    return min(fits, key=lambda tile: (total(tile), -tile.rows * tile.vectors), default=Tile(1, 1))


def _unrolled(size: int) -> str:
    return "unroll" if size <= UNROLLED else "seq"


class _RegisterTile:
    """Sums of a tile in a register buffer; all loops over it are unrolled, or vectors."""

    def __init__(self, form: _Form, rows: int, columns: int):
        self.form, self.b, self.rows, self.columns = form, form.b, rows, columns
        self.vectors = -(-columns // form.lanes)
        self.buffer = self.b.local((rows, self.vectors * form.lanes), form.element, "register", name="tile")

    @contextmanager
    def _rows(self) -> Iterator[AffineExpr]:
        if self.rows == 1:
            yield AffineConstantExpr(0)
            return
        with self.b.loop(self.rows, "unroll") as row:
            yield row.index

    @contextmanager
    def _columns(self, vectors: int, lanes: int, first: int = 0) -> Iterator[AffineExpr]:
        if vectors == 1:
            with self.b.loop(lanes) as lane:
                yield lane.index + first
            return
        with self.b.loop(vectors, "unroll") as vector, self.b.loop(lanes) as lane:
            yield vector.index * lanes + lane.index + first

    def start(self, value: Callable[[AffineExpr, AffineExpr], SSAValue]) -> None:
        """Set each sum to `value(row, column)`."""
        with self._rows() as i, self._columns(self.vectors, self.form.lanes) as j:
            self.b.store(value(i, j), self.buffer, [i, j])

    def accumulate(
        self,
        loops: Sequence[tuple[Any, str]],
        left: Callable[[AffineExpr, list[Index]], SSAValue],
        right: Callable[[AffineExpr, list[Index]], SSAValue],
    ) -> None:
        """Add `left(row, at) * right(column, at)`, `at` in loops of the given sizes and kinds."""
        b = self.b
        with ExitStack() as stack:
            at: list[Index] = [0 if n == 1 else stack.enter_context(b.loop(n, kind)).index for n, kind in loops]
            with self._rows() as i, self._columns(self.vectors, self.form.lanes) as j:
                total = multiply_add(b, left(i, at), right(j, at), b.load(self.buffer, [i, j]))
                b.store(total, self.buffer, [i, j])

    def finish(self, store: Callable[[AffineExpr, AffineExpr, SSAValue], None]) -> None:
        """`store(row, column, sum)` for each column that there is."""
        full, rest = divmod(self.columns, self.form.lanes)
        parts = [(full, self.form.lanes, 0)] if full else []
        parts += [(1, rest, full * self.form.lanes)] if rest else []
        for part in parts:
            with self._rows() as i, self._columns(*part) as j:
                store(i, j, self.b.load(self.buffer, [i, j]))


def parts(b: Any, size: int, step: int) -> Any:
    """(first, count) of the tiles that `size` is cut into: one for a loop over the full ones, one for the rest.

    A generator: what its consumer builds for the first stands in the loop.
    """
    full = size - size % step
    if full == step:
        yield AffineConstantExpr(0), step
    elif full:
        with b.loop(full, step=step) as loop:
            yield loop.index, step
    if size > full:
        yield AffineConstantExpr(full), size - full


# --------------------------------------------------------------------------------------------------------------------
# Flat


class _Flat:
    def __init__(self, form: _Form):
        self.form, self.b = form, form.b
        self.first, *self.inner = form.axes
        self.inner_points = prod(form.points[1:])
        self.planes = [(at, k) for at in product(*(range(axis.window) for axis in self.inner)) for k in self.first.phases]
        """(place in the window along the inner dims, phase of rows) of each plane."""
        self.rows = self._rows_of_block()
        self.columns = -(-self.rows * self.inner_points // form.lanes) * form.lanes
        """Points of a block, up to whole vectors."""
        self.height = self.rows + self.first.reach
        """Rows of a plane."""
        self.length = self.height * self.inner_points + form.lanes
        self.tile = choose_tile(form.per_group, self.columns // form.lanes, form.b.target.vector_registers)
        tiles = -(-form.per_group // self.tile.rows)
        chunks = 1 if tiles <= TILES else -(-tiles // (TILES * LEAST_BLOCKS)) * LEAST_BLOCKS
        self.chunk = min(form.per_group, -(-tiles // chunks) * self.tile.rows)
        """Features of the result that are worked on at a time."""
        self.depth = self._depth()
        """Features whose products are summed at a time: what a column of tiles reads of them stays in the first-level cache."""

    def _depth(self) -> int:
        form, target = self.form, self.b.target
        of_feature = prod(form.window) * self.tile.vectors * form.lanes * form.bytes
        room = max(1, target.l1_bytes * 2 // 3 // of_feature)
        even = max(n for n in range(1, min(room, form.depth) + 1) if form.depth % n == 0)
        return even if 2 * even > room else -(-form.depth // -(-form.depth // room))

    def _rows_of_block(self) -> int:
        """Rows of the result in a block: all, or what lets the planes fit into half of the second-level cache."""
        form = self.form
        count = form.points[0]
        of_row = len(self.planes) * form.depth * self.inner_points * form.bytes
        room = form.b.target.l2_bytes // 2 // of_row - self.first.reach
        if count <= room:
            return count
        blocks = -(-count // max(1, room))
        blocks = -(-blocks // LEAST_BLOCKS) * LEAST_BLOCKS
        return -(-count // blocks)

    def write(self) -> None:
        form, b = self.form, self.b
        with over(b, (form.batch,)) as (image,):
            form.spread_out(image)
            with over(b, (form.c.groups,)) as (group,):
                for start, _ in self._blocks():
                    planes = self._copy(image, group, start)
                    for chunk in parts(b, form.per_group, self.chunk):
                        self._filters(planes, image, group, start, chunk)

    def _blocks(self) -> Any:
        if self.rows == self.form.points[0]:
            yield AffineConstantExpr(0), self.rows
            return
        with self.b.loop(self.form.points[0], step=self.rows) as block:
            yield block.index, self.rows

    def _copy(self, image: Index, group: AffineExpr, start: AffineExpr) -> SSAValue:
        """The planes of a block of rows that starts at row `start` of the result."""
        form, b = self.form, self.b
        planes = b.local((len(self.planes), form.depth, self.length), form.element, "scratch", name="planes")
        first = 0 if isinstance(start, AffineConstantExpr) else start
        with over(b, (len(self.planes), form.depth, self.length)) as at:
            b.store(form.zero, planes, at)
        for plane, (tap, phase) in enumerate(self.planes):
            bounds = [clipped(self.first.inside(phase, self.first.stride), self.height, first)]
            shifts = [k * axis.dilation for k, axis in zip(tap, self.inner, strict=True)]
            for shift, axis, size in zip(shifts, self.inner, form.points[1:], strict=True):
                bounds.append(clipped(axis.inside(shift, axis.stride), size))
            with over(b, (form.depth,)) as (feature,):
                self._copy_rows(planes, [plane, feature], bounds, (image, group, start), (phase, *shifts))
        return planes

    def _copy_rows(
        self, planes: SSAValue, at: list[Index], bounds: Sequence[Any], block: tuple[Index, ...], shifts: Sequence[int]
    ) -> None:
        form, b = self.form, self.b
        image, group, start = block
        with within(b, bounds) as (row, *inner):
            source = [(start + row) * self.first.stride + (shifts[0] - self.first.low)]
            for q, axis, shift in zip(inner, self.inner, shifts[1:], strict=True):
                source.append(q * axis.stride + (shift - axis.low))
            value = form.x(image, group * form.depth + at[1], source)
            b.store(value, planes, [*at, self._flat(row, inner)])

    def _flat(self, row: AffineExpr, inner: Sequence[AffineExpr]) -> AffineExpr:
        """The column of a point."""
        total = row
        for q, size in zip(inner, self.form.points[1:], strict=True):
            total = total * size + q
        return total

    def _filters(
        self, planes: SSAValue, image: Index, group: AffineExpr, start: AffineExpr, chunk: tuple[AffineExpr, int]
    ) -> None:
        """Some features of the result, from `first` on, at all points of a block."""
        form, b = self.form, self.b
        first, count = chunk
        sums = b.local((count, self.columns), form.element, "scratch", name="sums")
        if self.depth < form.depth:
            with over(b, (count, self.columns)) as at:
                b.store(form.zero, sums, at)
        for column, columns in parts(b, self.columns, self.tile.vectors * form.lanes):
            for feature, features in self._depths():
                panel = self._pack(planes, (feature, features), (column, columns))
                for row, rows in parts(b, count, self.tile.rows):
                    filters = group * form.per_group + first + row
                    self._tile(panel, sums, (filters, row, rows), (column, columns), (feature, features))
        whole = form.points[0] % self.rows == 0
        height = self.rows if whole else [AffineConstantExpr(self.rows), start * -1 + form.points[0]]
        with over(b, (count,)) as (i,), over(b, (height, *form.points[1:])) as (r, *inner):
            value = b.load(sums, [i, self._flat(r, inner)])
            form.write(value, image, group * form.per_group + first + i, [start + r, *inner])

    def _depths(self) -> Any:
        """(first, count) of the features whose products are summed at a time, one block after the other."""
        depth = self.form.depth
        if self.depth == depth:
            yield AffineConstantExpr(0), depth
            return
        with self.b.loop(depth, "seq", step=self.depth) as block:
            left = block.index * -1 + depth
            yield block.index, self.depth if depth % self.depth == 0 else [AffineConstantExpr(self.depth), left]

    def _pack(self, planes: SSAValue, features: tuple[AffineExpr, Any], columns: tuple[AffineExpr, int]) -> SSAValue:
        """What a column of tiles reads, in the order of reading: feature, window, column. Its vectors are aligned."""
        form, b = self.form, self.b
        (feature, n_features), (column, n_columns) = features, columns
        panel = b.local((self.depth, *form.window, n_columns), form.element, "scratch", name="panel")
        phases = self.first.phases
        with over(b, (n_features, *form.window[1:])) as (f, *tap):
            plane: AffineExpr = AffineConstantExpr(0)
            for k, axis in zip(tap, self.inner, strict=True):
                plane = plane * axis.window + k
            for number, phase in enumerate(phases):
                taps = self.first.taps(phase)
                with over(b, (taps.count,)) as (t,), b.loop(n_columns) as p:
                    shifted = column + p.index + (t * taps.by + taps.at) * self.inner_points
                    value = b.load(planes, [plane * len(phases) + number, feature + f, shifted])
                    b.store(value, panel, [f, t * taps.step + taps.first, *tap, p.index])
        return panel

    def _tile(
        self,
        panel: SSAValue,
        sums: SSAValue,
        rows: tuple[AffineExpr, AffineExpr, int],
        columns: tuple[AffineExpr, int],
        features: tuple[AffineExpr, Any],
    ) -> None:
        """Add the products of some features to a tile of the sums."""
        form, b = self.form, self.b
        (filters, row, n_rows), (column, n_columns) = rows, columns
        tile = _RegisterTile(form, n_rows, n_columns)
        resumes = self.depth < form.depth
        tile.start(lambda i, j: b.load(sums, [row + i, column + j]) if resumes else form.zero)
        first, count = features
        tile.accumulate(
            [(count, "seq"), *((n, "seq") for n in form.window[:-1]), (form.window[-1], _unrolled(form.window[-1]))],
            lambda i, at: form.w(filters + i, first + at[0], at[1:]),
            lambda j, at: b.load(panel, [*at, j]),
        )
        tile.finish(lambda i, j, value: b.store(value, sums, [row + i, column + j]))


# --------------------------------------------------------------------------------------------------------------------
# Pixels


class _Pixels:
    def __init__(self, form: _Form):
        self.form, self.b = form, form.b
        self.columns = -(-form.per_group // form.lanes) * form.lanes
        self.tile = choose_tile(form.points[-1], self.columns // form.lanes, form.b.target.vector_registers)

    def write(self) -> None:
        form, b = self.form, self.b
        packed = self._pack()
        with over(b, (form.batch,)) as (image,):
            form.spread_out(image)
            padded = self._pad(image)
            with over(b, (form.c.groups, *form.points[:-1])) as (group, *outer):
                for row, rows in parts(b, form.points[-1], self.tile.rows):
                    for column, columns in parts(b, form.per_group, self.tile.vectors * form.lanes):
                        self._tile(packed, padded, (image, group, *outer), (row, rows), (column, columns))

    def _pack(self) -> SSAValue:
        """The filters in the order of reading: group, window, feature, feature of the result, the last up to whole vectors."""
        form, b = self.form, self.b
        shape = (form.c.groups, *form.window, form.depth)
        packed = b.local((*shape, self.columns), form.element, "scratch", name="filters")
        with over(b, (*shape, form.per_group)) as at:
            group, *tap, feature, o = at
            b.store(form.w(group * form.per_group + o, feature, tap), packed, at)
        if self.columns > form.per_group:
            with over(b, shape) as at, b.loop(self.columns, lower=form.per_group) as o:
                b.store(form.zero, packed, [*at, o.index])
        return packed

    def _pad(self, image: Index) -> SSAValue | None:
        """The image with padding, features last; None where windows stay inside of it."""
        form, b = self.form, self.b
        if form.spread is None and all(axis.low == 0 and axis.positions <= axis.size for axis in form.axes):
            return None
        sizes = tuple(axis.positions for axis in form.axes)
        padded = b.local((*sizes, form.features), form.element, "scratch", name="padded")
        with over(b, (*sizes, form.features)) as at:
            b.store(form.zero, padded, at)
        bounds = [clipped(axis.inside(0, 1), axis.positions) for axis in form.axes]
        with within(b, bounds) as at, over(b, (form.features,)) as (feature,):
            source = [q + -axis.low for q, axis in zip(at, form.axes, strict=True)]
            b.store(form.x(image, feature, source), padded, [*at, feature])
        return padded

    def _tile(
        self,
        packed: SSAValue,
        padded: SSAValue | None,
        at: tuple[AffineExpr, ...],
        rows: tuple[AffineExpr, int],
        columns: tuple[AffineExpr, int],
    ) -> None:
        form, b = self.form, self.b
        image, group, *outer = at
        (row, n_rows), (column, n_columns) = rows, columns
        tile = _RegisterTile(form, n_rows, n_columns)
        tile.start(lambda i, j: form.zero)

        def x(i: AffineExpr, at: list[Index]) -> SSAValue:
            *tap, feature = at
            places = zip((*outer, row + i), tap, form.axes, strict=True)
            where = [p * axis.stride + k * axis.dilation for p, k, axis in places]
            feature = group * form.depth + feature
            return form.x(image, feature, where) if padded is None else b.load(padded, [*where, feature])

        loops = [*((n, "seq") for n in form.window), (form.depth, "seq")]
        tile.accumulate(loops, x, lambda j, at: b.load(packed, [group, *at, column + j]))
        tile.finish(lambda i, j, value: form.write(value, image, group * form.per_group + column + j, [*outer, row + i]))


# --------------------------------------------------------------------------------------------------------------------
# Depthwise


class _Depthwise:
    def __init__(self, form: _Form):
        self.form, self.b = form, form.b
        self.last = form.c.x_dims[1] == len(form.c.x_dims) - 1
        """Whether features lie innermost in memory: then they are worked on side by side, else one after the other."""

    def write(self) -> None:
        form, b = self.form, self.b
        with over(b, (form.batch,)) as (image,):
            form.spread_out(image)
            if self.last:
                self._features(image, [], (form.features,))
                return
            with over(b, (form.features,)) as features:
                self._features(image, features, ())

    def _features(self, image: Index, outer: Sequence[AffineExpr], inner: Sequence[int]) -> None:
        """The result of all features, which are the inner dim, or of one, which is the outer dim."""
        form, b = self.form, self.b
        planes = Planes(b, form.axes, form.element, form.zero, inner)
        planes.copy(lambda at, inner: form.x(image, (*outer, *inner)[0], at))
        with over(b, form.points) as point, over(b, (form.per_group, *inner)) as (j, *side):
            (feature,) = (*outer, *side)
            filter_ = feature * form.per_group + j

            def add(values: Values, x: SSAValue, element: Element) -> Values:
                return [multiply_add(b, form.w(filter_, 0, element.tap), x, *values)]

            (value,) = planes.fold([form.zero], point, side, add)
            form.write(value, image, filter_, point)

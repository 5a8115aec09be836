"""The loop forms of convolutions.

*Flat*, for features before the spatial dims: a product whose columns are the points of the result, which read the image as it
lies. The image is copied with its padding, apart by the stride phases of rows and columns, so that neighbouring points read
neighbouring elements also across the end of a row: the element of tap (kh, kw) for the point in row r and column q stands at
`image[(r + kh) * pitch + q + kw]`, where the pitch is the width with the padding between two rows. So nothing is unfolded; the
few points that lie in the padding are computed and not stored.

Rows and columns are cut into tiles whose sums fit registers; `lowering/strategies/convolutions.py` makes them vectors.
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

from ..loop.grain import CHUNKS, is_even, uneven
from ..types import scalar_of
from . import window_plain
from .conv import Convolution, dilated, pick, placed
from .window_loops import Axis, Index, Taps, clipped, multiply_add, over, within

if TYPE_CHECKING:
    from .conv import ConvOp

UNROLLED = 8
"""Elements of a window along its last dim that are written out one by one; more are a loop."""

LOADS = 0.3
"""What a load that multiplications hide still costs, in loads."""

EDGE = 1.02
"""What tiles of another shape at an edge cost, in parts of the whole: they are code of their own."""

DEEPEST = 64
"""Features of an image that a tile reads at a time: each stands in pages of its own."""

LEAST_CHUNK = 32
"""Features of the result that are worth a block of their own: each reads the image once."""


def write_conv(op: ConvOp, b: Any) -> None:
    """Write the loops of a convolution."""
    form = Form(op, b)
    if 0 in op.result_shape():
        return
    if 0 in (form.features, *op.shape(1)):
        with over(b, op.result_shape()) as point:
            b.write(form.zero, point)
    elif form.c.y_dims[1] == len(form.c.y_dims) - 1 or (form.depth == 1 and form.c.groups > 1):
        window_plain.write_conv(op, b)
    else:
        _Flat(form).write()


class Form:
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


def _cycles(rows: int, vectors: int) -> float:
    """One step of a tile: half a cycle a multiplication, half a cycle a load, not less than the latency of an addition."""
    return max(rows * vectors / 2, (rows + vectors) / 2, 4.0) + LOADS * (rows + vectors) / 2


def choose_rows(rows: int, vectors: int, registers: int) -> tuple[int, float]:
    """The height of tiles that many vectors wide that runs through all rows in the fewest cycles, and these."""

    def total(height: int) -> float:
        tiles, left = divmod(rows, height)
        return EDGE * (tiles * _cycles(height, vectors) + _cycles(left, vectors)) if left else tiles * _cycles(height, vectors)

    heights = [r for r in range(1, rows + 1) if r * vectors + vectors + 1 < registers]
    best = min(heights, key=lambda r: (total(r), -r), default=1)
    return best, total(best)


def choose_tile(rows: int, vectors: int, registers: int) -> tuple[Tile, float]:
    """The register tile that runs a product of so many rows and columns (in vectors) in the fewest cycles, about, and these.

    What is left of the columns has tiles of its own height. It is code of its own, too, and therefore counts for more.
    """

    def total(width: int) -> float:
        whole, right = divmod(vectors, width)
        cycles = whole * choose_rows(rows, width, registers)[1]
        return EDGE * (cycles + choose_rows(rows, right, registers)[1]) if right else cycles

    width = min(range(1, min(4, vectors) + 1), key=lambda v: (total(v), -v))
    return Tile(choose_rows(rows, width, registers)[0], width), total(width)


def _unrolled(size: int) -> str:
    return "unroll" if size <= UNROLLED else "seq"


class RegisterTile:
    """Sums of a tile in a register buffer; all loops over it are unrolled, or vectors."""

    def __init__(self, form: Form, rows: int, columns: int):
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


@dataclass(frozen=True)
class _Block:
    """Rows of the result that are worked on at a time, from `start` on: of which image and group, at which point along the dims
    before rows; and the copy of what they read, where the first stands at row `origin`."""

    image: Index
    group: AffineExpr
    outer: Sequence[AffineExpr]
    start: AffineExpr
    copy: SSAValue
    origin: AffineExpr


Part = tuple[AffineExpr, Any]
"""The first of a range, and how many."""


class _Flat:
    def __init__(self, form: Form):
        self.form, self.b = form, form.b
        axes = form.axes if len(form.axes) > 1 else (*form.axes, Axis(1, 1))
        *self.outer, self.first, self.last = axes
        self.axes, self.window = axes, tuple(axis.window for axis in axes)
        self.width = self.last.count
        self.pitch = self._pitch()
        self.rows = self._rows_of_block()
        self.blocks = -(-self.first.count // self.rows)
        self.columns = self._columns(self.rows)
        """Points of a block, up to whole vectors."""
        self.chunk = form.per_group
        """Features of the result that are worked on at a time: all, where there are blocks of points enough."""
        if not is_even(regions := self._regions(self.blocks)) and form.per_group >= 2 * LEAST_CHUNK:
            self.chunk = max(LEAST_CHUNK, -(-form.per_group * regions // CHUNKS))
        self.tile, _ = choose_tile(self.chunk, self.columns // form.lanes, form.b.target.vector_registers)
        self.depth = self._depth()
        """Features whose products are summed at a time: what a column of tiles reads of them stays in the first-level cache."""

    def _pitch(self) -> int:
        """Elements from one row of the copy to the next. The padding behind a row is also that before the next one."""
        low, high = zip(*(self.last.inside(phase, self.last.stride) for phase in self.last.phases), strict=True)
        reached = self.width + self.last.reach
        return max(self.width, min(reached, max(high)), reached - max(0, min(low)))

    def _columns(self, rows: int) -> int:
        return _up((rows - 1) * self.pitch + self.width, self.form.lanes)

    def _regions(self, blocks: int) -> int:
        """How many blocks of points there are in all images and groups."""
        return self.form.batch * self.form.c.groups * prod(axis.count for axis in self.outer) * blocks

    def _rows_of_block(self) -> int:
        """Rows of the result in a block, so that vectors are full, few threads get as much, and sums stay in the L2 cache."""
        form, count, registers = self.form, self.first.count, self.b.target.vector_registers
        most = max(1, form.b.target.l2_bytes // 4 // (form.per_group * self.pitch * form.bytes))

        def cycles(rows: int) -> tuple[float, int]:
            blocks = -(-count // rows)
            regions = self._regions(blocks)
            _, each = choose_tile(form.per_group, self._columns(rows) // form.lanes, registers)
            copied = (rows + self.first.reach) * self.pitch * len(self.first.phases) * len(self.last.phases)
            copying = copied / (1 if self.last.stride > 1 else form.lanes / 4) / prod(self.window)
            return blocks * (each + copying + 2.0) * uneven(regions), -rows

        return min(range(1, min(count, most) + 1), key=cycles)

    def _depth(self) -> int:
        form, target = self.form, self.b.target
        lines = prod(self.window[:-1]) * len(self.last.phases) * (self.tile.vectors + 1)
        room = max(1, min(DEEPEST, target.l1_bytes * 4 // 5 // (lines * form.lanes * form.bytes)))
        even = max(n for n in range(1, min(room, form.depth) + 1) if form.depth % n == 0)
        return even if 2 * even > room else -(-form.depth // -(-form.depth // room))

    def write(self) -> None:
        form, b = self.form, self.b
        with over(b, (form.batch,)) as (image,):
            form.spread_out(image)
            with over(b, (form.c.groups,)) as (group,):
                if self.outer:
                    laid = self._lay_out(image, group, 0, self.blocks * self.rows)
                    self._points(image, group, laid)
                else:
                    self._points(image, group, None)

    def _points(self, image: Index, group: AffineExpr, laid: SSAValue | None) -> None:
        """All blocks of an image; where its copy is not given, each copies what it reads."""
        with over(self.b, [axis.count for axis in self.outer]) as outer:
            for start, _ in self._row_blocks():
                origin = 0 if isinstance(start, AffineConstantExpr) else start
                copy = self._lay_out(image, group, origin, self.rows) if laid is None else laid
                row = AffineConstantExpr(0) if laid is None else start
                for chunk in parts(self.b, self.form.per_group, self.chunk):
                    self._filters(_Block(image, group, outer, start, copy, row), chunk)

    def _row_blocks(self) -> Any:
        if self.blocks == 1:
            yield AffineConstantExpr(0), self.rows
            return
        with self.b.loop(self.first.count, step=self.rows) as block:
            yield block.index, self.rows

    def _lay_out(self, image: Index, group: AffineExpr, start: Index, rows: int) -> SSAValue:
        """Copy what rows of the result read: `[feature, dims before rows, phase of rows, of columns, row * pitch + column]`."""
        form, b, first, last = self.form, self.b, self.first, self.last
        outer = tuple(axis.positions for axis in self.outer)
        height = rows + first.reach
        shape = (*outer, len(first.phases), len(last.phases), height * self.pitch + last.reach + form.lanes)
        laid = b.local((form.depth, *shape), form.element, "scratch", name="image")
        with over(b, (form.depth,)) as (feature,):
            with over(b, shape) as at:
                b.store(form.zero, laid, [feature, *at])
            for (i, of_row), (j, of_column) in product(enumerate(first.phases), enumerate(last.phases)):
                bounds = [clipped(axis.inside(0, 1), axis.positions) for axis in self.outer]
                bounds.append(clipped(first.inside(of_row, first.stride), height, start))
                bounds.append(clipped(last.inside(of_column, last.stride), self.pitch))
                with within(b, bounds) as (*at, row, column):
                    places = (*at, (start + row) * first.stride + of_row, column * last.stride + of_column)
                    source = [p + -axis.low for p, axis in zip(places, self.axes, strict=True)]
                    value = form.x(image, group * form.depth + feature, source[: len(form.axes)])
                    b.store(value, laid, [feature, *at, i, j, row * self.pitch + column])
        return laid

    def _filters(self, block: _Block, filters: Part) -> None:
        """Some features of the result at the points of a block."""
        form, b = self.form, self.b
        first, count = filters
        sums = b.local((count, self.columns), form.element, "scratch", name="sums")
        if self.depth < form.depth:
            with over(b, (count, self.columns)) as at:
                b.store(form.zero, sums, at)
        for features in self._depths():
            for column, columns in parts(b, self.columns, self.tile.vectors * form.lanes):
                height, _ = choose_rows(count, columns // form.lanes, b.target.vector_registers)
                for row, rows in parts(b, count, height):
                    self._tile(block, sums, (first, row, rows), (column, columns), features)
        left = [AffineConstantExpr(self.rows), block.start * -1 + self.first.count]
        height = self.rows if self.first.count % self.rows == 0 else left
        with over(b, (count,)) as (i,), over(b, (height, self.width)) as (r, q):
            value = b.load(sums, [i, r * self.pitch + q])
            point = [*block.outer, block.start + r, q][: len(form.axes)]
            form.write(value, block.image, block.group * form.per_group + first + i, point)

    def _depths(self) -> Any:
        """(first, count) of the features whose products are summed at a time, one block after the other."""
        depth = self.form.depth
        if self.depth == depth:
            yield AffineConstantExpr(0), depth
            return
        with self.b.loop(depth, "seq", step=self.depth) as block:
            left = block.index * -1 + depth
            yield block.index, self.depth if depth % self.depth == 0 else [AffineConstantExpr(self.depth), left]

    def _tile(
        self,
        block: _Block,
        sums: SSAValue,
        rows: tuple[AffineExpr, AffineExpr, int],
        columns: tuple[AffineExpr, int],
        features: Part,
    ) -> None:
        """Add the products of some features to a tile of the sums."""
        form, b = self.form, self.b
        (chunk, row, n_rows), (column, n_columns) = rows, columns
        tile = RegisterTile(form, n_rows, n_columns)
        resumes = self.depth < form.depth
        tile.start(lambda i, j: b.load(sums, [row + i, column + j]) if resumes else form.zero)
        filters = block.group * form.per_group + chunk + row
        for taps in self._phases():
            self._accumulate(tile, block, filters, column, features, taps)
        tile.finish(lambda i, j, value: b.store(value, sums, [row + i, column + j]))

    def _phases(self) -> Iterator[tuple[Taps, Taps]]:
        """The elements of the window of each phase, one after the other; for a large window in loops over the phases."""
        rows, columns = ([axis.taps(phase) for phase in axis.phases] for axis in (self.first, self.last))
        if self._kind == "seq" and all(Taps.of_phase(each, AffineExpr.dimension(0)) for each in (rows, columns)):
            with over(self.b, (len(rows), len(columns)), "seq") as (i, j):
                down, right = Taps.of_phase(rows, i), Taps.of_phase(columns, j)
                assert down is not None and right is not None
                yield down, right
            return
        yield from product(rows, columns)

    @property
    def _kind(self) -> str:
        """How the loop over the elements of the window along the last dim runs."""
        return _unrolled(self.last.window * len(self.first.phases))

    def _accumulate(
        self,
        tile: RegisterTile,
        block: _Block,
        filters: AffineExpr,
        column: AffineExpr,
        features: Part,
        taps: tuple[Taps, Taps],
    ) -> None:
        """Add the products of elements of the window."""
        form, b, (first, count), (down, right) = self.form, self.b, features, taps

        def filter_(i: AffineExpr, at: list[Index]) -> SSAValue:
            f, *outer, t, u = at
            tap = [*outer, t * down.step + down.first, u * right.step + right.first]
            return form.w(filters + i, first + f, tap[: len(form.axes)])

        def point(j: AffineExpr, at: list[Index]) -> SSAValue:
            f, *outer, t, u = at
            places = [p * axis.stride + k * axis.dilation for p, k, axis in zip(block.outer, outer, self.outer, strict=True)]
            place = (block.origin + t * down.by + down.at) * self.pitch + column + u * right.by + right.at + j
            return b.load(block.copy, [first + f, *places, down.phase, right.phase, place])

        loops = [(count, "seq"), *((axis.window, "seq") for axis in self.outer)]
        loops += [(down.count, "seq"), (right.count, self._kind)]
        tile.accumulate(loops, filter_, point)


def _up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple

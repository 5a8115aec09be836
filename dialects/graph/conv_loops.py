"""The loop forms of convolutions.

*Flat*, for features before the spatial dims: a product whose columns are the points of the result, which read the image as it
lies. The image is copied with its padding, apart by the stride phases of rows and columns, so that neighbouring points read
neighbouring elements also across the end of a row: the element of tap (kh, kw) for the point in row r and column q stands at
`image[(r + kh) * pitch + q + kw]`, where the pitch is the width with the padding between two rows. So nothing is unfolded; the
few points that lie in the padding are computed and not stored.

`lowering/strategies/convolutions.py` gives the products register tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ..loop.grain import CHUNKS, is_even, uneven
from ..symbolic import Size
from ..types import element_of, expected, scalar_of
from . import window_plain
from .conv import Convolution, dilated, pick, placed
from .window_loops import Axis, Index, Taps, clipped, over, within
from .window_plain import reduced

if TYPE_CHECKING:
    from .conv import ConvOp

DEEPEST = 32
"""Features of an image whose products are summed at a time: each stands in pages of its own, and rounding errors stay small.
Half or twice as many take up to a fifth longer."""

FEW_TAPS = 8
"""Elements of a window along its last dim, in all phases of rows: where there are more, phases that are alike are a loop."""

FEW_PHASES = 4
"""Phases that are copied each in loops of its own, between bounds that are numbers."""

LEAST_CHUNK = 32
"""Features of the result that are worth a block of their own: each reads the image once."""


def write_conv(op: ConvOp, b: Any) -> None:
    """Write the loops of a convolution."""
    if has_open_windows(op):
        window_plain.write_conv(op, b)
        return
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


def has_open_windows(op: ConvOp) -> bool:
    """Whether a size is known in calls alone that is not the number of images."""
    c = Convolution.of(op.properties)
    sizes = (*pick(op.shape(0), c.x_dims[1:]), *op.shape(1), *pick(op.result_shape(), c.y_dims[1:]))
    return any(isinstance(size, Size) for size in sizes)


class Form:
    """What all loop forms need: sizes by role, and the operands at points by role."""

    def __init__(self, op: ConvOp, b: Any):
        self.op, self.b = op, b
        self.c = c = Convolution.of(op.properties)
        self.batch, self.features, *sizes = pick(op.shape(0), c.x_dims)
        self.filters, self.depth, *window = pick(op.shape(1), c.w_dims)
        self.window = tuple(window)
        self.points = pick(op.result_shape(), c.y_dims[2:])
        self.element = element_of(op.results[0])
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
        self.depth = _part(form.depth, DEEPEST)

    def _pitch(self) -> int:
        """Elements from one row of the copy to the next. The padding behind a row is also that before the next one."""
        axis = self.last
        low, high = zip(*(axis.inside(phase, axis.stride) for phase in axis.phases), strict=True)
        reached = self.width + axis.reach
        return max(self.width, min(reached, max(high)), reached - max(0, min(low)))

    def _columns(self, rows: int) -> int:
        return _up((rows - 1) * self.pitch + self.width, self.form.lanes)

    def _regions(self, blocks: int) -> int:
        """How many blocks of points there are in all images and groups."""
        return expected(self.form.batch) * self.form.c.groups * prod(axis.count for axis in self.outer) * blocks

    def _rows_of_block(self) -> int:
        """Rows of the result in a block, so that vectors are full, few threads get as much, and sums stay in the L2 cache."""
        form, count = self.form, self.first.count
        most = max(1, form.b.target.l2_bytes // 4 // (form.per_group * self.pitch * form.bytes))

        def cycles(rows: int) -> tuple[float, int]:
            blocks = -(-count // rows)
            regions = self._regions(blocks)
            each = form.per_group * self._columns(rows) / form.lanes / 2  # two multiplications a cycle
            copied = (rows + self.first.reach) * self.pitch * len(self.first.phases) * len(self.last.phases)
            copying = copied / (1 if self.last.stride > 1 else form.lanes / 4) / prod(self.window)
            return blocks * (each + copying + 2.0) * uneven(regions), -rows

        return min(range(1, min(count, most) + 1), key=cycles)

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
                self._chunks(_Block(image, group, outer, start, copy, row))

    def _chunks(self, block: _Block) -> None:
        """All features of the result, in chunks of one size and a last one."""
        full = self.form.per_group - self.form.per_group % self.chunk
        with over(self.b, [full // self.chunk]) as (chunk,):
            self._filters(block, (chunk * self.chunk, self.chunk))
        if full < self.form.per_group:
            self._filters(block, (AffineConstantExpr(full), self.form.per_group - full))

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

            def copy(i: Index, j: Index) -> None:
                of_row, of_column = first.phase(i), last.phase(j)
                bounds = [clipped(axis.inside(0, 1), axis.positions) for axis in self.outer]
                bounds.append(clipped(first.inside(of_row, first.stride), height, start))
                bounds.append(clipped(last.inside(of_column, last.stride), self.pitch))
                with within(b, bounds) as (*at, row, column):
                    places = (*at, (start + row) * first.stride + of_row, column * last.stride + of_column)
                    source = [p + -axis.low for p, axis in zip(places, self.axes, strict=True)]
                    value = form.x(image, group * form.depth + feature, source[: len(form.axes)])
                    b.store(value, laid, [feature, *at, i, j, row * self.pitch + column])

            self._phases(copy)
        return laid

    def _phases(self, write: Callable[[Index, Index], None]) -> None:
        """Write what is done for each phase of rows and of columns, by their numbers; many of rows in a loop.

        Those of columns have loops of their own, whose bounds are numbers.
        """
        rows, columns = len(self.first.phases), len(self.last.phases)
        if rows * columns <= FEW_PHASES or not self.first.are_even:
            for i, j in product(range(rows), range(columns)):
                write(i, j)
            return
        with over(self.b, (rows,)) as (i,):
            for j in range(columns):
                write(i, j)

    def _filters(self, block: _Block, filters: Part) -> None:
        """Some features of the result at the points of a block."""
        form, b = self.form, self.b
        first, count = filters
        sums = b.local((count, self.columns), form.element, "scratch", name="sums")
        if self.depth < form.depth:
            with over(b, (count, self.columns)) as at:
                b.store(form.zero, sums, at)
        for features in self._depths():
            self._multiply(block, sums, filters, features)
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

    def _multiply(self, block: _Block, sums: SSAValue, filters: Part, features: Part) -> None:
        """Add the products of some features: the sum of each phase goes on from that of the phase before."""
        form, b, (chunk, count) = self.form, self.b, filters
        sizes = [len(axis.phases) for axis in (self.first, self.last)]
        with b.loop(count) as i, b.loop(self.columns) as j:
            filter_ = block.group * form.per_group + chunk + i.index

            def phase(at: Sequence[Index], start: SSAValue) -> SSAValue:
                taps = self.first.taps(at[0]), self.last.taps(at[1])
                sizes = (features[1], *(axis.window for axis in self.outer), *(tap.count for tap in taps))
                return reduced(b, "add", sizes, form.zero, partial(self._term, block, features, taps, filter_, j.index), start)

            total = b.load(sums, [i.index, j.index]) if self.depth < form.depth else form.zero
            if self.last.window * sizes[0] > FEW_TAPS and self.first.are_even and self.last.are_even:
                total = reduced(b, "add", sizes, form.zero, lambda at: phase(at, form.zero), total)
            else:
                for at in product(*map(range, sizes)):
                    total = phase(at, total)
            b.store(total, sums, [i.index, j.index])

    def _term(
        self,
        block: _Block,
        features: Part,
        taps: tuple[Taps, Taps],
        filter_: AffineExpr,
        column: AffineExpr,
        at: Sequence[Index],
    ) -> SSAValue:
        """The product of a filter and a point, of a feature and an element of the window of one phase."""
        b, (down, right), (f, *outer, t, u) = self.b, taps, at
        feature = features[0] + f
        places = [p * axis.stride + k * axis.dilation for p, k, axis in zip(block.outer, outer, self.outer, strict=True)]
        row = block.origin + t * down.by + down.at
        place = row * self.pitch + u * right.by + right.at + column
        tap = [*outer, t * down.step + down.first, u * right.step + right.first][: len(self.form.axes)]
        image = b.load(block.copy, [feature, *places, down.phase, right.phase, place])
        return b.scalar.mul(self.form.w(filter_, feature, tap), image)


def _part(size: int, most: int) -> int:
    """The length of parts of a size, at most `most`: an even one, if it is not much shorter."""
    even = max((n for n in range(1, min(most, size) + 1) if size % n == 0), default=1)
    return even if 2 * even > most else -(-size // -(-size // most))


def _up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple

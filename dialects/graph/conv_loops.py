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

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ..types import scalar_of
from .conv import Convolution, dilated, pick, placed
from .window_loops import Axis, Element, Index, Planes, Taps, Values, clipped, multiply_add, over, repeat, within

if TYPE_CHECKING:
    from .conv import ConvOp

UNROLLED = 9
"""Elements of a window that are written out one by one inside the loop over features; larger windows are loops."""

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

    A step takes half a cycle a multiplication, half a cycle a load, and not less than the latency of an addition.
    """

    def cycles(r: int, v: int) -> float:
        return max(r * v / 2, (r + v) / 2, 4.0) + 0.1 * (r + v) / 2

    def total(tile: Tile) -> float:
        r, v = tile.rows, tile.vectors
        tall, left = divmod(rows, r)
        wide, right = divmod(vectors, v)
        whole = tall * wide * cycles(r, v)
        edges = tall * (cycles(r, right) if right else 0) + wide * (cycles(left, v) if left else 0)
        return whole + edges + (cycles(left, right) if left and right else 0)

    fits = [
        Tile(r, v) for v in (1, 2) for r in range(1, min(rows, registers) + 1) if r * v + v + 1 < registers and v <= vectors
    ]
    return min(fits, key=lambda tile: (total(tile), -tile.rows * tile.vectors), default=Tile(1, 1))


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
        self.length = (self.rows + self.first.reach) * self.inner_points + form.lanes
        self.tile = choose_tile(form.per_group, self.columns // form.lanes, form.b.target.vector_registers)

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
                    for row, rows in parts(b, form.per_group, self.tile.rows):
                        self._filters(planes, image, group, start, row, rows)

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
        height = self.rows + self.first.reach
        sizes = form.points[1:]
        first = 0 if isinstance(start, AffineConstantExpr) else start
        for plane, (tap, phase) in enumerate(self.planes):
            bounds = [clipped(self.first.inside(phase, self.first.stride), height, first)]
            shifts = [k * axis.dilation for k, axis in zip(tap, self.inner, strict=True)]
            for shift, axis, size in zip(shifts, self.inner, sizes, strict=True):
                bounds.append(clipped(axis.inside(shift, axis.stride), size))
            whole = all(bound == (0, size) for bound, size in zip(bounds, (height, *sizes), strict=True))
            with over(b, (form.depth,)) as (feature,):
                with b.loop(self.length, lower=height * self.inner_points if whole else 0) as p:
                    b.store(form.zero, planes, [plane, feature, p.index])
                self._copy_rows(planes, plane, bounds, (image, group, start, feature), (phase, *shifts))
        return planes

    def _copy_rows(
        self, planes: SSAValue, plane: int, bounds: Sequence[Any], at: tuple[Index, ...], shifts: Sequence[int]
    ) -> None:
        form, b = self.form, self.b
        image, group, start, feature = at
        with within(b, bounds) as (row, *inner):
            source = [(start + row) * self.first.stride + (shifts[0] - self.first.low)]
            for q, axis, shift in zip(inner, self.inner, shifts[1:], strict=True):
                source.append(q * axis.stride + (shift - axis.low))
            value = form.x(image, group * form.depth + feature, source)
            b.store(value, planes, [plane, feature, self._flat(row, inner)])

    def _flat(self, row: AffineExpr, inner: Sequence[AffineExpr]) -> AffineExpr:
        """The column of a point."""
        total = row
        for q, size in zip(inner, self.form.points[1:], strict=True):
            total = total * size + q
        return total

    def _filters(
        self, planes: SSAValue, image: Index, group: AffineExpr, start: AffineExpr, row: AffineExpr, rows: int
    ) -> None:
        """Some features of the result at all points of a block."""
        form, b = self.form, self.b
        sums = b.local((rows, self.columns), form.element, "scratch", name="sums")
        for column, columns in parts(b, self.columns, self.tile.vectors * form.lanes):
            with b.loop(rows) as i, b.loop(columns) as j:
                filter_ = group * form.per_group + row + i.index
                b.store(self._sum(planes, filter_, column + j.index), sums, [i.index, column + j.index])
        whole = form.points[0] % self.rows == 0
        height = self.rows if whole else [AffineConstantExpr(self.rows), start * -1 + form.points[0]]
        with over(b, (rows,)) as (i,), over(b, (height, *form.points[1:])) as (r, *inner):
            value = b.load(sums, [i, self._flat(r, inner)])
            form.write(value, image, group * form.per_group + row + i, [start + r, *inner])

    def _sum(self, planes: SSAValue, filter_: AffineExpr, column: AffineExpr) -> SSAValue:
        form, b = self.form, self.b
        with b.loop(form.depth, "seq", inits=[form.zero]) as feature:
            values: Values = feature.carried
            for k in range(len(self.first.phases)):
                taps = self.first.taps(self.first.phases[k])
                mine = [(plane, tap) for plane, (tap, phase) in enumerate(self.planes) if phase == self.first.phases[k]]

                def step(values: Values, t: Index, taps: Taps = taps, mine: Any = mine) -> Values:
                    (value,) = values
                    for plane, tap in mine:
                        shifted = column + (t * taps.by + taps.at) * self.inner_points
                        x = b.load(planes, [plane, feature.index, shifted])
                        w = form.w(filter_, feature.index, [t * taps.step + taps.first, *tap])
                        value = multiply_add(b, w, x, value)
                    return [value]

                values = repeat(b, taps.count, values, step, unroll=prod(form.window) <= UNROLLED)
            feature.give(*values)
        return feature.results[0]


# --------------------------------------------------------------------------------------------------------------------
# Pixels


class _Pixels:
    def __init__(self, form: _Form):
        self.form, self.b = form, form.b
        vectors = -(-form.per_group // form.lanes)
        self.tile = choose_tile(form.points[-1], vectors, form.b.target.vector_registers)

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
        """The filters in the order of reading: group, window, feature, feature of the result."""
        form, b = self.form, self.b
        shape = (form.c.groups, *form.window, form.depth, form.per_group)
        packed = b.local(shape, form.element, "scratch", name="filters")
        with over(b, shape) as at:
            group, *tap, feature, o = at
            b.store(form.w(group * form.per_group + o, feature, tap), packed, at)
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
        with b.loop(n_rows) as i, b.loop(n_columns) as j:
            point = [*outer, row + i.index]
            value = self._sum(packed, padded, (image, group), point, column + j.index)
            form.write(value, image, group * form.per_group + column + j.index, point)

    def _sum(
        self,
        packed: SSAValue,
        padded: SSAValue | None,
        at: tuple[AffineExpr, AffineExpr],
        point: Sequence[AffineExpr],
        column: AffineExpr,
    ) -> SSAValue:
        form, b = self.form, self.b
        image, group = at

        def fold(values: Values, tap: list[Index]) -> Values:
            if len(tap) < len(form.axes):
                return repeat(b, form.axes[len(tap)].window, values, lambda v, k: fold(v, [*tap, k]), unroll=False)
            where = [p * axis.stride + k * axis.dilation for p, k, axis in zip(point, tap, form.axes, strict=True)]
            with b.loop(form.depth, "seq", inits=values) as feature:
                i = group * form.depth + feature.index
                x = form.x(image, i, where) if padded is None else b.load(padded, [*where, i])
                w = b.load(packed, [group, *tap, feature.index, column])
                feature.give(multiply_add(b, x, w, feature.carried[0]))
            return feature.results

        return fold([form.zero], [])[0]


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

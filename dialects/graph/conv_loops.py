"""The loop forms of convolutions.

*Flat*, for features before the spatial dims: a matmul whose columns are the points of the result, which read the image without
an im2col copy. The image is copied with its padding, split by the stride phases of rows and columns, so that neighbouring
points read neighbouring elements also across the end of a row: the element of tap (kh, kw) for the point in row r and column q
stands at `image[(r + kh) * pitch + q + kw]`, where the pitch is the width with the padding between two rows. The few points
that lie in the padding are computed and not stored.

`lowering/strategies/convolutions.py` works on blocks of rows and gives the products register tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ...thresholds import number
from ..sizes.polynomial import Size
from ..types import element_of
from . import window_plain
from .convolution import Convolution, dilated, pick, placed
from .window_loops import Axis, Index, Taps, clipped, over, within
from .window_plain import reduced

if TYPE_CHECKING:
    from .conv import ConvolutionOp
    from .nest_writer import NestWriter

FEW_TAPS = number("graph.conv_loops.FEW_TAPS")
FEW_PHASES = number("graph.conv_loops.FEW_PHASES")


def write_conv(op: ConvolutionOp, b: NestWriter) -> None:
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


def has_open_windows(op: ConvolutionOp) -> bool:
    """Whether a size other than the number of images is symbolic."""
    c = Convolution.of(op.properties)
    sizes = (*pick(op.shape(0), c.x_dims[1:]), *op.shape(1), *pick(op.result_shape(), c.y_dims[1:]))
    return any(isinstance(size, Size) for size in sizes)


class Form:
    """The base of all loop forms: sizes by role, and access to the operands at points by role."""

    def __init__(self, op: ConvolutionOp, b: NestWriter):
        self.op, self.b = op, b
        self.c = c = Convolution.of(op.properties)
        self.batch, self.features, *sizes = pick(op.shape(0), c.x_dims)
        self.filters, self.depth, *window = pick(op.shape(1), c.w_dims)
        self.element = element_of(op.results[0])
        self.zero = b.scalar.const(0, self.element)
        self.image_element = element_of(op.x)
        self.blank = b.scalar.const(0, self.image_element)
        self.sizes = tuple(dilated(n, by) for n, by in zip(sizes, c.base_dilation, strict=True))
        rows = zip(self.sizes, window, c.stride, c.dilation, c.low, pick(op.result_shape(), c.y_dims[2:]), strict=True)
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
        self.spread = b.local((self.features, *self.sizes), self.image_element, "scratch", name="spread")
        with over(b, (self.features, *self.sizes)) as at:
            b.store(self.blank, self.spread, at)
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
class _Part:
    """An image and a group of its features, the padded copy that windows read, and the sums at all points."""

    image: Index
    group: AffineExpr
    copy: SSAValue
    sums: SSAValue


class _Flat:
    def __init__(self, form: Form):
        self.form, self.b = form, form.b
        *self.outer, self.first, self.last = form.axes if len(form.axes) > 1 else (*form.axes, Axis(1, 1))
        self.counts = [axis.count for axis in self.outer]
        self.pitch = self._pitch()
        self.columns = (self.first.count - 1) * self.pitch + self.last.count
        """Points of the result, with those in the padding between two rows."""

    def _pitch(self) -> int:
        """Elements from one row of the copy to the next. The padding behind a row is also that before the next one."""
        axis = self.last
        low, high = zip(*(axis.inside(phase, axis.stride) for phase in axis.phases), strict=True)
        reached = axis.count + axis.reach
        return max(axis.count, min(reached, max(high)), reached - max(0, min(low)))

    def write(self) -> None:
        form, b = self.form, self.b
        with over(b, (form.batch,)) as (image,):
            form.spread_out(image)
            with over(b, (form.c.groups,)) as (group,):
                copy = self._lay_out(image, group)
                sums = b.local((*self.counts, form.per_group, self.columns), form.element, "scratch", name="sums")
                part = _Part(image, group, copy, sums)
                self._multiply(part)
                self._results(part)

    def _lay_out(self, image: Index, group: AffineExpr) -> SSAValue:
        """Copy what windows read: `[feature, dims before rows, phase of rows, of columns, row * pitch + column]`."""
        form, b, first, last = self.form, self.b, self.first, self.last
        outer = tuple(axis.positions for axis in self.outer)
        height = first.count + first.reach
        shape = (*outer, len(first.phases), len(last.phases), height * self.pitch + last.reach)
        laid = b.local((form.depth, *shape), form.image_element, "scratch", name="image")
        with over(b, (form.depth,)) as (feature,):
            with over(b, shape) as at:
                b.store(form.blank, laid, [feature, *at])

            def copy(i: Index, j: Index) -> None:
                of_row, of_column = first.phase(i), last.phase(j)
                bounds = [clipped(axis.inside(0, 1), axis.positions) for axis in self.outer]
                bounds.append(clipped(first.inside(of_row, first.stride), height))
                bounds.append(clipped(last.inside(of_column, last.stride), self.pitch))
                with within(b, bounds) as (*at, row, column):
                    places = (*at, row * first.stride + of_row, column * last.stride + of_column)
                    source = [p + -axis.low for p, axis in zip(places, form.axes, strict=False)]
                    value = form.x(image, group * form.depth + feature, source)
                    b.store(value, laid, [feature, *at, i, j, row * self.pitch + column])

            self._phases(copy)
        return laid

    def _phases(self, write: Callable[[Index, Index], None]) -> None:
        """Write the code of each phase of rows and of columns, by their numbers; many phases of rows are a loop.

        Each phase of columns is copied by its own loops, with constant bounds.
        """
        rows, columns = len(self.first.phases), len(self.last.phases)
        if rows * columns <= FEW_PHASES or not self.first.are_even:
            for i, j in product(range(rows), range(columns)):
                write(i, j)
            return
        with over(self.b, (rows,)) as (i,):
            for j in range(columns):
                write(i, j)

    def _multiply(self, part: _Part) -> None:
        """The sums: for each feature of the image the sum of a phase starts from that of the phase before."""
        form, b = self.form, self.b
        sizes = [len(axis.phases) for axis in (self.first, self.last)]
        with over(b, self.counts) as outer, b.loop(form.per_group) as i, b.loop(self.columns) as j:

            def phase(feature: Index, at: Sequence[Index], start: SSAValue | None = None) -> SSAValue:
                taps = self.first.taps(at[0]), self.last.taps(at[1])
                window = (*(axis.window for axis in self.outer), *(tap.count for tap in taps))
                term = partial(self._term, part, outer, i.index, j.index, feature, taps)
                return reduced(b, "add", window, form.zero, term, start)

            def feature(at: Sequence[Index]) -> SSAValue:
                if self.last.window * sizes[0] > FEW_TAPS and self.first.are_even and self.last.are_even:
                    return reduced(b, "add", sizes, form.zero, lambda of: phase(at[0], of))
                first, *others = product(*map(range, sizes))
                total = phase(at[0], first, form.zero if others else None)
                for of in others:
                    total = phase(at[0], of, total)
                return total

            b.store(reduced(b, "add", (form.depth,), form.zero, feature), part.sums, [*outer, i.index, j.index])

    def _term(
        self,
        part: _Part,
        outer: Sequence[AffineExpr],
        filter_: AffineExpr,
        column: AffineExpr,
        feature: Index,
        taps: tuple[Taps, Taps],
        at: Sequence[Index],
    ) -> SSAValue:
        """The product of a filter and a point, of a feature and an element of the window of one phase."""
        b, form, (down, right), (*before, t, u) = self.b, self.form, taps, at
        places = [p * axis.stride + k * axis.dilation for p, k, axis in zip(outer, before, self.outer, strict=True)]
        place = (t * down.by + down.at) * self.pitch + u * right.by + right.at + column
        tap = [*before, t * down.step + down.first, u * right.step + right.first][: len(form.axes)]
        image = b.load(part.copy, [feature, *places, down.phase, right.phase, place])
        return form.op.term(b.scalar, form.w(part.group * form.per_group + filter_, feature, tap), image)

    def _results(self, part: _Part) -> None:
        """Write the sums of the points that are not padding."""
        form, b = self.form, self.b
        points = (self.first.count, self.last.count)
        with over(b, self.counts) as outer, b.loop(form.per_group) as i, over(b, points) as (r, q):
            value = b.load(part.sums, [*outer, i.index, r * self.pitch + q])
            point = [*outer, r, q][: len(form.axes)]
            form.write(value, part.image, part.group * form.per_group + i.index, point)

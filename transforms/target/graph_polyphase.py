"""Convolutions of dilated images (transposed convolutions) as one convolution of the image for each phase of the result.

Between the elements of an image dilated by `b` there are zeros. The results `p = b * q + r` of one phase `r` meet elements of
the image only at the filter elements `k = k0 + b * j` with `p + k - low` divisible by `b`, so that they are a convolution of
the image itself by each `b`-th element of the filter (the polyphase decomposition: Vaidyanathan, Multirate Systems and Filter
Banks, section 4.3). It multiplies by no zero: `b` times less work for each dilated dim, and no NaN from an infinite filter
times a hole.

The phases are computed beside each other and interleaved by one transpose: as more features of one convolution where all of
them meet the same elements of the image, as those of windows that do not overlap; else one after the other. A single phase that
has elements of the filter, as of 1x1 filters, is spread by zeros between its results. The gradient of a convolution with
strides is such a convolution, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...dialects.graph.base import ints
from ...dialects.graph.builder import GraphBuilder
from ...dialects.graph.conv import ConvOp, transposed
from ...dialects.graph.convolution import Convolution, pick
from ...dialects.graph.shape import ReverseOp
from ...dialects.types import DYNAMIC, element_of, shape_of
from ...lowering.analysis.nests import ops_in
from ...thresholds import number

_MOVED = number("target.polyphase._MOVED")


@dataclass(frozen=True)
class Phase:
    """The results `b * q + r` of one spatial dim.

    Attributes:
        first: the first filter element that meets elements of the image; each `b`-th follows.
        taps: how many there are; 0: the results are zero.
        low: padding of the image, that may cut, before its first element; `high` behind its last one.
    """

    first: int
    taps: int
    low: int
    high: int


def phases(size: int, window: int, by: int, low: int, results: int) -> list[Phase]:
    """The phases of a dim: of an image of `size` elements dilated by `by`, with stride and dilation of the filter 1.

    >>> phases(4, 3, 2, 1, 8)
    [Phase(first=1, taps=1, low=0, high=0), Phase(first=0, taps=2, low=0, high=1)]
    """
    found = []
    for r in range(by):
        first = (low - r) % by
        taps = ceil(max(0, window - first) / by)
        start = (r + first - low) // by
        found.append(Phase(first, taps, -start, ceil(results / by) + taps - 1 - size + start))
    return found


def worthwhile(op: ConvOp) -> bool:
    """Whether a convolution has static sizes and phases, and these save more than moving their results costs."""
    c = Convolution.of(op.properties)
    shapes = (*op.shape(0), *op.shape(1), *op.result_shape())
    dilated = [by for by in c.base_dilation if by > 1]
    if not dilated or DYNAMIC in shapes or 0 in shapes:
        return False
    if any(by > 1 and step > 1 for by, *steps in zip(c.base_dilation, c.stride, c.dilation, strict=True) for step in steps):
        return False
    _, depth, *window = pick(op.shape(1), c.w_dims)
    return depth * prod(window) * (1 - 1 / prod(dilated)) > _MOVED


class _Split:
    """One convolution, and its phases."""

    def __init__(self, op: ConvOp):
        self.b = GraphBuilder(InsertPoint.before(op), op.location)
        self.op, self.c = op, Convolution.of(op.properties)
        self.results = pick(op.result_shape(), self.c.y_dims[2:])
        self.dims = [d for d, by in enumerate(self.c.base_dilation) if by > 1]
        rows = zip(
            pick(op.shape(0), self.c.x_dims[2:]),
            pick(op.shape(1), self.c.w_dims[2:]),
            self.c.base_dilation,
            self.c.low,
            self.results,
            strict=True,
        )
        self.phases = [phases(*row) if row[2] > 1 else [] for row in rows]

    def value(self) -> SSAValue:
        """The result of the convolution."""
        some = [chosen for chosen in self._each() if all(phase.taps for phase in chosen)]
        if not some:
            return self.b.full(0, self.op.results[0].type)
        if len(some) == 1:
            return self._spread(some[0])
        return self._at_once() if self._are_alike() else self._interleaved()

    def _each(self) -> Iterator[tuple[Phase, ...]]:
        """The phases of all dilated dims, the last one varying fastest."""
        return product(*(self.phases[d] for d in self.dims))

    def _part(self, chosen: tuple[Phase, ...]) -> SSAValue:
        """The results of one phase, as many as the first phase of each dim has."""
        c, w = self.c, self.op.w
        start, stop, step = [0] * len(shape_of(w)), [*shape_of(w)], [1] * len(shape_of(w))
        low, high = [*c.low], [*c.high]
        for d, phase in zip(self.dims, chosen, strict=True):
            at = c.w_dims[2 + d]
            start[at], step[at] = phase.first, c.base_dilation[d]
            low[d], high[d] = phase.low, phase.high
        filters = self.b.slice(w, start=start, stop=stop, step=step)
        made = replace(c, low=tuple(low), high=tuple(high), base_dilation=(1,) * len(c.stride), tile=c.direct)
        return self.b.conv(self.op.x, filters, **made.properties())

    def _are_alike(self) -> bool:
        """Whether all phases meet the same elements of the image, as where windows are multiples of the dilations."""
        rows = [self.phases[d] for d in self.dims]
        return all(len({(p.taps, p.low, p.high) for p in row}) == 1 and row[0].first == len(row) - 1 for row in rows)

    def _at_once(self) -> SSAValue:
        """One convolution whose features are those of all phases."""
        b, c, rank = self.b, self.c, len(self.c.w_dims)
        by = {c.w_dims[2 + d]: c.base_dilation[d] for d in self.dims}
        # [..., taps * by, ...] -> [..., taps, by, ...]: phase r has the filter elements `by - 1 - r` of each tap
        shape = [n for d, size in enumerate(shape_of(self.op.w)) for n in ((size // by[d], by[d]) if d in by else (size,))]
        first = [sum(2 if k in by else 1 for k in range(d)) for d in range(rank)]
        inner = {d: first[d] + 1 for d in by}
        w, mirrored = self.op.w, set[int]()
        if isinstance(w.owner, ReverseOp):
            w, mirrored = w.owner.x, set(ints(w.owner.dims))
        mirrored = {d for k in mirrored for d in range(first[k], first[k] + (2 if k in by else 1))} ^ set(inner.values())
        w = b.reshape(w, shape)
        w = b.reverse(w, dims=tuple(sorted(mirrored))) if any(shape[d] > 1 for d in mirrored) else w
        order = [inner[c.w_dims[2 + d]] for d in self.dims]
        perm = [p for d in range(rank) for p in (first[d], *(order if d == c.w_dims[0] else ()))]
        w = transposed(b, w, perm)
        n = prod(by.values())
        w = b.reshape(w, [(n if d == c.w_dims[0] else 1) * size // by.get(d, 1) for d, size in enumerate(shape_of(self.op.w))])
        low, high = [*c.low], [*c.high]
        for d in self.dims:
            low[d], high[d] = self.phases[d][0].low, self.phases[d][0].high
        made = replace(c, low=tuple(low), high=tuple(high), base_dilation=(1,) * len(c.stride), tile=c.direct)
        y = b.conv(self.op.x, w, **made.properties())
        sizes, feature = [*shape_of(y)], c.y_dims[1]
        y = b.reshape(
            y,
            [
                k
                for d, m in enumerate(sizes)
                for k in ((m // n, *(c.base_dilation[d] for d in self.dims)) if d == feature else (m,))
            ],
        )
        at = [d if d <= feature else d + len(self.dims) for d in range(rank)]
        phase = {c.y_dims[2 + d]: feature + 1 + k for k, d in enumerate(self.dims)}
        y = b.transpose(y, perm=[p for d in range(rank) for p in (at[d], *((phase[d],) if d in phase else ()))])
        sizes[feature] //= n
        return self._merged(y, sizes)

    def _merged(self, y: SSAValue, shape: list[int]) -> SSAValue:
        """The result, from one with a dim of phases behind each dilated dim."""
        for d in self.dims:
            shape[self.c.y_dims[2 + d]] *= self.c.base_dilation[d]
        y, stop = self.b.reshape(y, shape), self.op.result_shape()
        return y if tuple(shape) == stop else self.b.slice(y, start=[0] * len(shape), stop=stop, step=[1] * len(shape))

    def _interleaved(self) -> SSAValue:
        """All phases along a new first dim, which moves into the spatial dims."""
        b, c = self.b, self.c
        element, shape = element_of(self.op.results[0]), [*self.op.result_shape()]
        for d in self.dims:
            shape[c.y_dims[2 + d]] = ceil(self.results[d] / c.base_dilation[d])
        parts = [
            self._part(chosen) if all(p.taps for p in chosen) else b.broadcast(b.const(0, element), (), shape)
            for chosen in self._each()
        ]
        y = b.concat(*(b.reshape(part, (1, *shape)) for part in parts), dim=0)
        y = b.reshape(y, (*(c.base_dilation[d] for d in self.dims), *shape))
        among = {c.y_dims[2 + d]: k for k, d in enumerate(self.dims)}  # a dim of the result: the dim of its phases
        n = len(self.dims)
        y = b.transpose(y, perm=[p for d in range(len(shape)) for p in (n + d, *((among[d],) if d in among else ()))])
        return self._merged(y, shape)

    def _spread(self, chosen: tuple[Phase, ...]) -> SSAValue:
        """The results of the only phase that has some, with zeros between them."""
        c, y = self.c, self._part(chosen)
        low, high, interior = ([0] * len(shape_of(y)) for _ in range(3))
        for d, phase in zip(self.dims, chosen, strict=True):
            at, by = c.y_dims[2 + d], c.base_dilation[d]
            low[at], interior[at] = self.phases[d].index(phase), by - 1
            high[at] = self.results[d] - low[at] - (shape_of(y)[at] - 1) * by - 1
        return self.b.pad(y, self.b.const(0, element_of(y)), low=low, high=high, interior=interior)


@dataclass(frozen=True)
class GraphPolyphasePass(ModulePass):
    """Split convolutions of dilated images of known sizes into the phases of their results, where that is less work."""

    name = "graph-polyphase"
    numerics = "finite"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for conv in ops_in(op, ConvOp):
            if worthwhile(conv):
                y = _Split(conv).value()
                y.name_hint = conv.results[0].name_hint
                conv.results[0].replace_all_uses_with(y)
                conv.detach()
                conv.erase()

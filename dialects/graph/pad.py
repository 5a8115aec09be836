"""Padding: elements around and between those of an operand, or fewer where it is negative."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import operand_def, prop_def, result_def

from ...errors import DTypeError, ShapeError
from ...thresholds import number
from ..sizes.polynomial import greatest, least, positive
from ..text_defaults import each_dim
from ..types import DYNAMIC, element_of, shape_of, show_shape, tensor
from .base import Equation, GraphOp, Linear, Props, Read, Types, graph_op, ints
from .batching import repeated
from .shape import INTS, MOVED, SIZES, affine, copied

if TYPE_CHECKING:
    from .builder import GraphBuilder

_LARGE = number("graph.pad._LARGE")


def _padding(props: Props) -> list[tuple[int, int, int]]:
    return list(zip(*(ints(props[name]) for name in ("low", "high", "interior")), strict=True))


def _padded(size: int, low: int, high: int, interior: int) -> int:
    return low + size + (positive(size - 1) * interior if interior else 0) + high


def _surviving(size: int, low: int, high: int, interior: int) -> tuple[int, int]:
    """First operand index that negative padding leaves in the result, and one past the last."""
    step, result = interior + 1, _padded(size, low, high, interior)
    if step == 1:
        first = positive(-low)
        return first, greatest(first, size - positive(-high))
    first = max(0, -(low // step))
    return first, greatest(first, least(size, (result - 1 - low) // step + 1))


def _transpose_pad(b: GraphBuilder, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    padding = _padding(op.properties)
    rank = len(padding)
    if k == 1:
        # the fill value is wherever no element of x is
        ones = b.full(1, op.operands[0].type)
        zero = b.const(0, element_of(ct))
        low, high, interior = (ints(op.properties[name]) for name in ("low", "high", "interior"))
        fill = b.sub(b.full_like(ct, 1), b.pad(ones, zero, low=low, high=high, interior=interior))
        return b.reduce(b.mul(ct, fill), kind="add", dims=tuple(range(rank)))
    # cut what padding added, give back zeros for what it cut, drop the interior
    zero = b.const(0, element_of(ct))
    trimmed = b.pad(ct, zero, low=[-p[0] for p in padding], high=[-p[1] for p in padding], interior=[0] * rank)
    if any(p[2] for p in padding):
        trimmed = b.slice(trimmed, start=[0] * rank, stop=list(shape_of(trimmed)), step=[p[2] + 1 for p in padding])
    return trimmed


def _batch_pad(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    x, value = operands
    low, high, interior = (ints(op.properties[name]) for name in ("low", "high", "interior"))
    if not batched[1]:
        return [b.pad(x, value, low=(0, *low), high=(0, *high), interior=(0, *interior))]
    if not batched[0]:
        x = repeated(b, x, shape_of(value)[0])
    element = element_of(x)
    zero = b.const(0, element)
    moved = b.pad(x, zero, low=(0, *low), high=(0, *high), interior=(0, *interior))
    inside = b.pad(b.full(1, x.type), zero, low=(0, *low), high=(0, *high), interior=(0, *interior))
    fill = b.broadcast(value, (0,), shape_of(moved))
    return [b.select(b.cmp(inside, b.full_like(inside, 0), predicate="ne"), moved, fill)]


@graph_op
class PadOp(GraphOp):
    """Put `low` elements before, `high` after and `interior` between the elements of each dim; negative ones are cut.

    ```mlir
    %y = graph.pad %x, %v low [1] high [2] interior [0] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
    ```

    (C1) The fill value is a scalar of the operand's element type.
    (C2) One low, high and interior a dim; interior is not negative.
    (C3) No size of the result is negative.
    """

    name = "graph.pad"
    facts = MOVED
    x = operand_def(TensorType)
    value = operand_def(TensorType)
    low = prop_def(SIZES)
    high = prop_def(SIZES)
    interior = prop_def(INTS)
    y = result_def(TensorType)
    syntax = "$x, $value (low [low])? (high [high])? (interior [interior])?"
    text_defaults = {"low": each_dim(0), "high": each_dim(0), "interior": each_dim(0)}
    derivative = Linear(_transpose_pad)
    batching = _batch_pad

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        x, value = operands
        if value.get_shape() or value.element_type != x.element_type:  # C1
            raise DTypeError(f"fill value must be a tensor<{x.element_type}>, got {value}")
        shape = x.get_shape()
        low, high, interior = (ints(props[name]) for name in ("low", "high", "interior"))
        if not len(low) == len(high) == len(interior) == len(shape) or any(i < 0 for i in interior):  # C2
            raise ShapeError(
                f"low, high and interior need one entry for each dim of {show_shape(shape)}, interior not negative"
            )
        sizes = []
        for size, lo, hi, inner in zip(shape, low, high, interior, strict=True):
            sizes.append(DYNAMIC if size == DYNAMIC else _padded(size, lo, hi, inner))
            if sizes[-1] != DYNAMIC and sizes[-1] < 0:  # C3
                raise ShapeError(f"padding {lo}, {hi} leaves a dim of size {size} with size {sizes[-1]}")
        return (tensor(x.element_type, sizes),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        x, value = operands
        padding = _padding(self.properties)
        result = np.full([_padded(n, *p) for n, p in zip(x.shape, padding, strict=True)], value, x.dtype)
        source, target = [], []
        for size, (low, high, interior) in zip(x.shape, padding, strict=True):
            first, last = _surviving(size, low, high, interior)
            source.append(slice(first, last))
            start = low + first * (interior + 1)
            target.append(slice(start, start + max(0, last - first - 1) * (interior + 1) + (last > first), interior + 1))
        result[tuple(target)] = x[tuple(source)]
        return (result,)

    def equations(self) -> tuple[Equation, ...]:
        rank = len(self.result_shape())
        space, reads, writes = [], [], []
        for d, (size, (low, high, interior)) in enumerate(zip(self.shape(), _padding(self.properties), strict=True)):
            first, last = _surviving(size, low, high, interior)
            space.append(last - first)
            reads.append(affine(d, 1, first))
            writes.append(affine(d, interior + 1, low + first * (interior + 1)))
        inside = Equation(
            tuple(space), (Read(0, AffineMap(rank, 0, tuple(reads))),), copied, write=AffineMap(rank, 0, tuple(writes))
        )
        value = (Read(1, AffineMap(rank, 0, ())),)
        if not self._has_wide_inside(space):
            return Equation(self.result_shape(), value, copied), inside
        return *(Equation(size, value, copied, write=to) for size, to in self._borders(space)), inside

    def _has_wide_inside(self, space: Sequence[Any]) -> bool:
        """Whether filling all of the result first would write most of a large one twice."""
        shape = self.result_shape()
        return not any(ints(self.interior)) and all(isinstance(n, int) for n in (*shape, *space)) and prod(space) >= _LARGE

    def _borders(self, space: Sequence[int]) -> list[tuple[tuple[int, ...], AffineMap]]:
        """The sizes of the regions of padding, and where each begins: before and after the operand in each dim.

        In the dims before that one a region is as long as the operand, in those after it as long as the result.
        """
        shape = self.result_shape()
        begin = [max(0, n) for n in ints(self.low)]
        found: list[tuple[tuple[int, ...], AffineMap]] = []
        for d, size in enumerate(space):
            end = begin[d] + size
            for first, length in ((0, begin[d]), (end, shape[d] - end)):
                if length:
                    sizes = (*space[:d], length, *shape[d + 1 :])
                    starts = (*begin[:d], first, *[0] * (len(shape) - d - 1))
                    to = AffineMap(len(shape), 0, tuple(affine(e, 1, start) for e, start in enumerate(starts)))
                    found.append((sizes, to))
        return found

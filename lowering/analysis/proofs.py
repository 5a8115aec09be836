"""The accesses of a kernel that are not proved to stay inside their buffers for all data.

Intervals decide most of them; dependences on other indices or on masks are decided by linear constraints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ...dialects.loop.gather import GatherOp, ScatterOp
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.types import shape_of
from .accesses import combine
from .nests import walk
from .points import Linear, Point
from .ranges import MOST, Conditions, Ranges, conditions_of, has_integers

MOST_CHOICES = 4
"""Most values with two alternatives that are analysed case by case."""

AccessOp = LoadOp | StoreOp | GatherOp | ScatterOp
Size = int | tuple[AffineExpr, Sequence[SSAValue]]
_ACCESSES = {LoadOp, StoreOp, GatherOp, ScatterOp}


@dataclass(frozen=True)
class Unproved:
    """A subscript that may be outside of its dim.

    Attributes:
        certain: whether all iterations of the loops around it are out of bounds.
    """

    op: AccessOp
    dim: int
    certain: bool


def unproved(kernel: KernelOp) -> list[Unproved]:
    """Every subscript of a kernel that is not proved to be in bounds, in the order of the text. 20 us to 2 ms an access."""
    anywhere = Ranges()
    under: dict[Conditions, Ranges] = {}
    found: list[Unproved] = []
    for op in walk(kernel):
        if type(op) in _ACCESSES:
            conditions = conditions_of(op)
            if conditions not in under:
                under[conditions] = anywhere.under(conditions)
            found += _of(kernel, op, under[conditions])  # pyright: ignore[reportArgumentType]
    return found


def unsized(kernel: KernelOp) -> AllocOp | None:
    """A local buffer whose size is not proved to fit memory."""
    ranges = Ranges()
    for op in walk(kernel):
        if isinstance(op, AllocOp) and any(not (0 <= low and high <= MOST) for low, high in map(ranges.of, op.sizes)):
            return op
    return None


def _of(kernel: KernelOp, op: AccessOp, ranges: Ranges) -> Iterator[Unproved]:
    for dim in range(len(shape_of(op.buffer))):
        size = size_of(kernel, op.buffer, dim)
        low, high = _interval(op, dim, ranges)
        if isinstance(size, int) and 0 <= low and high < size:
            continue
        if low == -inf:
            yield Unproved(op, dim, False)
            continue
        if not _inside(op, dim, size, ranges, {}):
            yield Unproved(op, dim, isinstance(size, int) and (high < 0 or low >= size) and _is_reached(op))


def _inside(op: AccessOp, dim: int, size: Size, ranges: Ranges, chosen: dict[SSAValue, bool]) -> bool:
    """Whether a subscript is in bounds; where values are selected from two, in both cases."""
    point = Point(ranges, op, op.lanes, op.mask, chosen)
    subscript = _subscript(op, dim, point)
    end = ({}, size) if isinstance(size, int) else point.affine(*size)
    if _never(point, ({}, -1), subscript) and _never(point, subscript, end):
        return True
    if not point.open or len(chosen) >= MOST_CHOICES:
        return False
    return all(_inside(op, dim, size, ranges, {**chosen, point.open[0]: case}) for case in (True, False))


def _never(point: Point, a: Linear, b: Linear) -> bool:
    """Whether `a >= b` is impossible."""
    system = point.system.copy()
    system.ge(combine(a[0], b[0], -1), a[1] - b[1])
    return system.is_surely_empty()


def _is_reached(op: AccessOp) -> bool:
    """Whether an access certainly happens: no condition, no mask, no loop that may not run."""
    parent = op.parent_op()
    while not isinstance(parent, KernelOp):
        if not isinstance(parent, ForOp) or not parent.trip_count():
            return False
        parent = parent.parent_op()
    return op.mask is None


def size_of(kernel: KernelOp, buffer: SSAValue, dim: int) -> Size:
    """A size of a buffer: a number, or an affine expression and its values."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    shape = type.get_shape()
    if shape[dim] != DYNAMIC_INDEX:
        return shape[dim]
    owner = buffer.owner
    if isinstance(owner, AllocOp):
        return AffineExpr.dimension(0), [owner.sizes[shape[:dim].count(DYNAMIC_INDEX)]]
    assert isinstance(owner, Block)
    expr = kernel.sizes_of(buffer)[dim]
    return expr.value if isinstance(expr, AffineConstantExpr) else (expr, kernel.index_arguments)


def _interval(op: AccessOp, dim: int, ranges: Ranges) -> tuple[float, float]:
    if isinstance(op, GatherOp | ScatterOp):
        subscript = op.subscripts[dim]
        return ranges.of(subscript) if has_integers(subscript.type) else (-inf, inf)
    low, high = ranges.affine(op.map.data.results[dim], op.indices)
    if op.lanes > 1 and dim == op.lane_dim():
        reach = (op.lanes - 1) * op.lane_step()
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high


def _subscript(op: AccessOp, dim: int, point: Point) -> Linear:
    if isinstance(op, GatherOp | ScatterOp):
        return point.value(op.subscripts[dim])
    terms, constant = point.affine(op.map.data.results[dim], op.indices)
    if op.lanes > 1 and dim == op.lane_dim():
        terms = combine(terms, point.lane[0], op.lane_step())
    return terms, constant

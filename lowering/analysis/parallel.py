"""Parallel regions: which loops run on threads, and what their chunks are.

The outermost parallel loop with enough work is a region; parallel loops inside of it run in the thread that meets them. Where
it has too few iterations to be shared evenly (`dialects/loop/grain.py`), the loop inside of it is divided with it, and so on:

    for parallel %jo = 0 to 12                 chunk c of 12 * 22: %jo = c floordiv 22, %io = c mod 22
      copy a panel into a local buffer
      for parallel %io = 0 to 22

What stands before the inner loop is computed by each thread that has a part of it, so it must be cheap beside it, and may store
into buffers of its own only. Chunks that follow one another stay in one thread, which computes it once for all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from ...dialects.loop import grain
from ...dialects.loop.memory import AllocOp, LoadOp, PrefetchOp, StoreOp
from ...dialects.loop.structure import ForOp, IfOp, WhileOp, YieldOp
from .. import op_costs
from .bounds import constant_extent
from .nests import kernel_of, statements, walk

EXPENSIVE = 20.0
"""Operations that an elementary function is."""
LANES_AT_ONCE = 4
"""How many scalars a vector instruction stands for, at least: vectors do their work faster than loops of scalars."""


@dataclass(frozen=True)
class Region:
    """A parallel loop that runs on threads, with those inside that are divided with it.

    Attributes:
        loops: outermost first.
        trips: how often each runs; of the inner ones, in which iterations may be missing at the end, at most.
    """

    loops: tuple[ForOp, ...]
    trips: tuple[int | None, ...]

    @property
    def inner_trips(self) -> tuple[int, ...]:
        """Those of all loops but the outermost."""
        return tuple(n or 0 for n in self.trips[1:])

    @property
    def chunks(self) -> int | None:
        """How many there are; None: the outermost loop's number of iterations is known at run time."""
        first = self.trips[0]
        return None if first is None else first * prod(self.inner_trips)


def region_of(loop: ForOp) -> Region:
    """The loops that are divided among threads together, of which this is the outermost."""
    count = loop.trip_count()
    band, trips = [loop], [count]
    while count is not None and not grain.is_even(count):
        inner = _divisible(band[-1])
        if inner is None or work_of(band[-1].body.block) < 2 * grain.LEAST_CHUNK_OPS:
            break
        n = most_trips(inner)
        assert n is not None
        band.append(inner)
        trips.append(n)
        count *= n
    return Region(tuple(band), tuple(trips))


def worth_threads(op: ForOp, least: float | None = None) -> bool:
    """Whether a parallel loop may be large enough: of unknown trip count, or with so much work."""
    trips = op.trip_count()
    work = work_of(op.body.block)
    enough = math.isinf(work) or (trips or 0) * work >= (grain.WORTH_OPS if least is None else least)
    return not op.results and (trips is None or (trips > 1 and enough))


def most_trips(loop: ForOp) -> int | None:
    """How often a loop runs at most, where its bounds say so: 8 for `0 to min(8, %N - %i)`."""
    lows = [e.value for e in loop.lower.data.results if isinstance(e, AffineConstantExpr)]
    highs = [e.value for e in loop.upper.data.results if isinstance(e, AffineConstantExpr)]
    if not lows:  # as of what fills up panels: it begins where a row ends
        return constant_extent(loop)
    return max(0, -(-(min(highs) - max(lows)) // loop.step.value.data)) if highs else None


def work_of(block: Block) -> float:
    """Operations of one run of a block, at the pace of scalar ones; infinite when nothing is known of a loop in it."""
    return sum(map(_work, block.ops))


def _work(op: Operation) -> float:
    if isinstance(op, ForOp):
        trips = most_trips(op)
        return math.inf if trips is None else trips * (work_of(op.body.block) + _combining(op))
    if isinstance(op, WhileOp):
        return math.inf
    if isinstance(op, IfOp):
        return sum(work_of(block) for region in op.regions for block in region.blocks)
    return 0.0 if isinstance(op, YieldOp) else weight(op)


def _combining(loop: ForOp) -> float:
    """Operations that combine what an iteration of a reduction gives with what those before gave."""
    return sum(_per_lane(result.type) for result in loop.results) if loop.monoid is not None else 0.0


def _per_lane(type: Attribute) -> float:
    lanes = type.get_shape()[0] if isinstance(type, VectorType) else 1
    return float(-(-lanes // LANES_AT_ONCE))


def weight(op: Operation) -> float:
    """Operations that one op without regions is."""
    if isinstance(op, LoadOp | StoreOp):
        return float(-(-op.lanes // LANES_AT_ONCE) if "along" not in op.properties else op.lanes)  # or one by one
    return op_costs.weight(op) * max((_per_lane(r.type) for r in op.results), default=1.0)


def _divisible(outer: ForOp) -> ForOp | None:
    """The parallel loop at the end of another one's body, if different threads may run parts of it."""
    inside = statements(outer.body.block)
    before, inner = inside[:-1], inside[-1] if inside else None
    if not isinstance(inner, ForOp) or inner.kind.data != "parallel" or inner.results or (most_trips(inner) or 0) < 2:
        return None
    if not all(isinstance(e, AffineConstantExpr) for e in inner.lower.data.results):
        return None
    again = sum(map(_work, before))
    return inner if again <= grain.MOST_AGAIN * _work(inner) and _may_run_again(before, inner) else None


def _may_run_again(before: list[Operation], inner: ForOp) -> bool:
    """Whether each thread may run what comes before a loop: it stores into buffers of its own, and reads what stays."""
    ops = [op for one in before for op in walk(one)]
    own: set[SSAValue] = {op.buffer for op in ops if isinstance(op, AllocOp)}
    read = {op.buffer for op in ops if isinstance(op, LoadOp)} - own
    if not all(_repeats(op, own) for op in ops):
        return False
    written = {op.buffer for op in walk(inner) if isinstance(op, StoreOp)} - own
    return not (read & (written | _may_alias(inner, written)))


def _repeats(op: Operation, own: set[SSAValue]) -> bool:
    """Whether an op does the same each time that it runs, and nothing that others see."""
    if isinstance(op, StoreOp):
        return op.buffer in own
    if isinstance(op, AllocOp | LoadOp | PrefetchOp | ForOp | IfOp | YieldOp):
        return True
    return op.name.startswith(("arith.", "math.", "vector."))


def _may_alias(inner: ForOp, written: set[SSAValue]) -> set[SSAValue]:
    """Arguments that may be the same memory as results that are written."""
    kernel = kernel_of(inner)
    arguments = kernel.body.block.args
    return {arguments[operand] for result, operand in kernel.in_place_pairs if arguments[result] in written}

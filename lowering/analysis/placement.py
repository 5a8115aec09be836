"""Where loops run, on threads or outlined: the attributes of loops that say so, and their legality.

    loop.for parallel %jo = 0 to 12 threads(collapse 2) {      chunk c of 12 * 22: %jo = c floordiv 22, %io = c mod 22
      copy a panel into a local buffer
      loop.for parallel %io = 0 to 22 {

The ops before a loop that is divided with the one around it are computed by each thread that has a part of it, so they may
store into private buffers only. Consecutive chunks stay in one thread, which computes them once for all of these.

    loop.for parallel %do = 0 to %D step 32 threads(interchange) {     a thread with several parts of the columns
      loop.for seq %e = 0 to %E {                                      goes through the rows once

The iterations of the parallel loop are independent, so each visits the rows in their order under either nesting. Shares may
begin at cache lines (`align`) where results do not depend on the column at which a part begins (`columns.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from ...dialects.loop.loops import ForOp, IfOp, KernelOp, YieldOp
from ...dialects.loop.memory import AllocOp, LoadOp, PrefetchOp, StoreOp
from ...dialects.scalar_ops import is_arithmetic
from .columns import find_columns
from .nests import around, kernel_of, name_of, only_loop_in, ops_in, statements, walk
from .parallel import most_trips

_PLACED = {"threads", "outlined"}


@dataclass(frozen=True)
class Region:
    """A parallel loop that runs on threads, with the inner loops that are divided with it.

    Attributes:
        loops: outermost first.
        trips: the trip count of each; of the inner ones, which may lack iterations at the end, the greatest.
    """

    loops: tuple[ForOp, ...]
    trips: tuple[int | None, ...]

    @property
    def inner_trips(self) -> tuple[int, ...]:
        """The trip counts of all loops but the outermost."""
        return tuple(n or 0 for n in self.trips[1:])

    @property
    def chunks(self) -> int | None:
        """The number of chunks; None: the outermost loop's trip count is known only at run time."""
        first = self.trips[0]
        return None if first is None else first * prod(self.inner_trips)


def region_of(loop: ForOp) -> Region:
    """The loops that are divided among threads together, outermost first; as many as the attribute says, if legal."""
    band = [loop]
    while len(band) < (1 if loop.threads is None else loop.threads.value.data):
        inner = divisible(band[-1])
        if inner is None:
            break
        band.append(inner)
    return Region(tuple(band), (loop.trip_count(), *(most_trips(inner) for inner in band[1:])))


def obstacle(loop: ForOp) -> str | None:
    """Why a loop cannot run on threads as its attribute says; None where it can, or has none."""
    if loop.threads is None:
        return None
    if len(region_of(loop).loops) < loop.threads.value.data:
        return f"threads cannot divide {loop.threads.value.data} loops from '{name_of(loop)}' on together"
    if loop.interchange is not None and sequence_in(loop) is None:
        return f"'{name_of(loop)}' cannot be interchanged: a sequential loop with bounds of its own must be all of its body"
    if loop.align is not None and find_columns(loop) is None:
        return f"'{name_of(loop)}' cannot be aligned: where a part of its columns begins makes a difference"
    return None


def are_placed(kernel: KernelOp) -> bool:
    """Whether a loop of a kernel has an attribute that says where it runs."""
    return any(not _PLACED.isdisjoint(loop.properties) for loop in ops_in(kernel, ForOp))


def drop_obstacles(kernel: KernelOp) -> None:
    """Drop the threads attributes of loops that are no longer legal, since a rewrite changed or moved them, or added checks."""
    for loop in [op for op in ops_in(kernel, ForOp) if not _PLACED.isdisjoint(op.properties)]:
        outer = around(loop)
        if loop.kind.data not in ("seq", "parallel"):
            loop.outlined = None
        if loop.kind.data != "parallel" or any(_PLACED & other.properties.keys() for other in outer):
            remove_from_threads(loop)
            continue
        if loop.align is not None and obstacle(loop) is not None:
            loop.align = None
        if obstacle(loop) is not None:
            place_on_threads(loop)


def place_on_threads(loop: ForOp, collapse: int = 1, *, interchange: bool = False, align: bool = False) -> None:
    """Set the threads attribute of a loop."""
    loop.threads = IntegerAttr(collapse, i64)
    loop.interchange = UnitAttr() if interchange else None
    loop.align = UnitAttr() if align else None


def remove_from_threads(loop: ForOp) -> None:
    """Remove the threads attribute of a loop."""
    loop.threads = loop.interchange = loop.align = None


def divisible(outer: ForOp) -> ForOp | None:
    """The parallel loop at the end of another one's body, if different threads may run parts of it."""
    inside = statements(outer.body.block)
    inner = inside[-1] if inside else None
    if not isinstance(inner, ForOp) or inner.kind.data != "parallel" or inner.results or inner.outlined is not None:
        return None
    if not most_trips(inner):
        return None
    lower = (*outer.lower.data.results, *inner.lower.data.results)
    if not all(isinstance(e, AffineConstantExpr) for e in lower):
        return None
    return inner if _may_run_again(inside[:-1], inner) else None


def _may_run_again(before: list[Operation], inner: ForOp) -> bool:
    """Whether each thread may run the ops before a loop: they store into private buffers, and load constant memory."""
    ops = [op for one in before for op in walk(one)]
    own: set[SSAValue] = {op.buffer for op in ops if isinstance(op, AllocOp)}
    read = {op.buffer for op in ops if isinstance(op, LoadOp)} - own
    if not all(_repeats(op, own) for op in ops):
        return False
    written = {op.buffer for op in walk(inner) if isinstance(op, StoreOp)} - own
    return not (read & (written | _may_alias(inner, written)))


def _repeats(op: Operation, own: set[SSAValue]) -> bool:
    """Whether an op has the same effect each time that it runs, and no external one."""
    if isinstance(op, StoreOp):
        return op.buffer in own
    if isinstance(op, AllocOp | LoadOp | PrefetchOp | ForOp | IfOp | YieldOp):
        return True
    return is_arithmetic(op) or op.name.startswith("vector.")


def _may_alias(inner: ForOp, written: set[SSAValue]) -> set[SSAValue]:
    """Arguments that may alias written results."""
    kernel = kernel_of(inner)
    arguments = kernel.body.block.args
    return {arguments[operand] for result, operand in kernel.in_place_pairs if arguments[result] in written}


def sequence_in(loop: ForOp) -> ForOp | None:
    """The sequential loop that forms the whole body of a parallel loop and whose bounds do not depend on it."""
    inside = only_loop_in(loop)
    if inside is None or inside.kind.data != "seq" or loop.index in (*inside.lower_operands, *inside.upper_operands):
        return None
    return inside

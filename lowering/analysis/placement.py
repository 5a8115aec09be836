"""Where loops run: on threads, in functions of their own. What a loop says of that, and whether it may be so.

    loop.for parallel %jo = 0 to 12 threads(collapse 2) {      chunk c of 12 * 22: %jo = c floordiv 22, %io = c mod 22
      copy a panel into a local buffer
      loop.for parallel %io = 0 to 22 {

What stands before a loop that is divided with the one around it is computed by each thread that has a part of it, so it may
store into buffers of its own only. Chunks that follow one another stay in one thread, which computes it once for all of them.

    loop.for parallel %do = 0 to %D step 32 threads(interchange) {     a thread with several parts of the columns
      loop.for seq %e = 0 to %E {                                      goes through the rows once

The iterations of the parallel loop are independent, so each of them meets the rows in their order wherever its loop stands.
Shares may begin at cache lines (`align`) where it makes no difference at which column a part begins (`columns.py`).
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
    """The loops that are divided among threads together, of which this is the outermost; as many as it says, if they may be."""
    band = [loop]
    while len(band) < (1 if loop.threads is None else loop.threads.value.data):
        inner = divisible(band[-1])
        if inner is None:
            break
        band.append(inner)
    return Region(tuple(band), (loop.trip_count(), *(most_trips(inner) for inner in band[1:])))


def obstacle(loop: ForOp) -> str | None:
    """Why a loop cannot run on threads as it says; None where it can, or says nothing."""
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
    """Whether a loop of a kernel says where it runs."""
    return any(not _PLACED.isdisjoint(loop.properties) for loop in ops_in(kernel, ForOp))


def drop_obstacles(kernel: KernelOp) -> None:
    """What loops say of where they run goes if it is no longer so, since a step has changed or moved them, or added checks."""
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
    """Let a loop say how it runs on threads."""
    loop.threads = IntegerAttr(collapse, i64)
    loop.interchange = UnitAttr() if interchange else None
    loop.align = UnitAttr() if align else None


def remove_from_threads(loop: ForOp) -> None:
    """Let a loop say nothing of threads."""
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
    return is_arithmetic(op) or op.name.startswith("vector.")


def _may_alias(inner: ForOp, written: set[SSAValue]) -> set[SSAValue]:
    """Arguments that may be the same memory as results that are written."""
    kernel = kernel_of(inner)
    arguments = kernel.body.block.args
    return {arguments[operand] for result, operand in kernel.in_place_pairs if arguments[result] in written}


def sequence_in(loop: ForOp) -> ForOp | None:
    """The sequential loop that is all of a parallel one and goes the same way in each of its iterations."""
    inside = only_loop_in(loop)
    if inside is None or inside.kind.data != "seq" or loop.index in (*inside.lower_operands, *inside.upper_operands):
        return None
    return inside

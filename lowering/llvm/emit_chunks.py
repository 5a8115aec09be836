"""The part of several nested loops that a thread runs, in chunks numbered through all of them.

Chunk `c` of a region of loops with `n0, n1, n2` iterations (`analysis/placement.py`) is iteration `c floordiv (n1 * n2)` of the
first loop, `(c floordiv n2) mod n1` of the second, `c mod n2` of the third. A thread gets a range of chunks, and its nest is
the original one with other bounds:

    for parallel %i = 0 to n0              for %i = begin floordiv n1 to end ceildiv n1
      ...                                    ...
      for parallel %j = 0 to n1              for %j = max(0, begin - %i * n1) to min(n1, end - %i * n1)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation

from ...codegen.text import I64
from ...dialects.loop.loops import ForOp
from ..analysis.placement import Region
from .emit_core import FunctionEmitter


@dataclass(frozen=True)
class Share:
    """A half-open range of the chunks of a region, whose ends are values of a function."""

    region: Region
    begin: str
    end: str


def iterations_of_first(e: FunctionEmitter, region: Region) -> tuple[str, str]:
    """The iterations of the outermost loop of which a thread has chunks, from `%begin` to `%end`."""
    inner = prod(region.inner_trips)
    if inner == 1:
        return "%begin", "%end"
    share = Share(region, "%begin", "%end")
    e.divided.update((loop, share) for loop in region.loops[1:])
    b = e.b
    end = b.emit(f"udiv i64 {b.emit(f'add nuw nsw i64 %end, {inner - 1}')}, {inner}")
    return b.emit(f"udiv i64 %begin, {inner}"), end


def bounds_of_share(e: FunctionEmitter, op: ForOp, lower: str, upper: str) -> tuple[str, str]:
    """The bounds of an inner loop of a region at the insertion point, for the thread that runs this function."""
    share, b, step = e.divided[op], e.b, op.step.value.data
    loops, trips = share.region.loops, share.region.inner_trips
    at = loops.index(op)
    each = prod(trips[at:])
    begin, end = share.begin, share.end
    for depth, loop in enumerate(loops[:at]):
        done = b.emit(f"mul nsw i64 {_iteration(e, loop)}, {prod(trips[depth:])}")
        begin, end = b.emit(f"sub nsw i64 {begin}, {done}"), b.emit(f"sub nsw i64 {end}, {done}")
    first = b.emit(f"udiv i64 {b.intrinsic('smax', I64, begin, '0')}, {each}")
    last = b.emit(f"udiv i64 {b.emit(f'add nsw i64 {end}, {each - 1}')}, {each}")
    low, high = (b.emit(f"add nsw i64 {b.emit(f'mul nsw i64 {x}, {step}')}, {lower}") for x in (first, last))
    high = b.intrinsic("smin", I64, high, upper)
    for x in (low, high):
        e.levels[x] = e.depth
    if int(lower) >= 0:
        e.not_negative.add(low)
    return low, high


def _iteration(e: FunctionEmitter, loop: Operation) -> str:
    """The current iteration of a loop around the insertion point."""
    assert isinstance(loop, ForOp)
    b, bounds = e.b, loop.lower.data.results
    lower = max(expr.eval([], []) for expr in bounds)
    passed = e.value(loop.index, loop)
    if lower:
        passed = b.emit(f"sub nsw i64 {passed}, {lower}")
    step = loop.step.value.data
    return passed if step == 1 else b.emit(f"udiv i64 {passed}, {step}")

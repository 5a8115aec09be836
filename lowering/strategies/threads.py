"""Which parallel loops run on threads, and how they are divided.

The outermost parallel loop with enough work runs on threads; the parallel loops inside it run in their thread. Where it has too
few iterations to be shared evenly (`dialects/loop/grain.py`), the loop inside is divided together with it, and so on.

Where threads divide the columns of consecutive rows, as in a sum over segments, each thread visits all rows, once for all of
its parts; parts begin at cache lines where possible, so that no two threads write into one.

Code generation hoists the constants of functions before all loops of a function, and there they take registers from sums. The
body of a loop for threads is one function, so loops that compute functions beside such sums are outlined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Block, Operation

from ...codegen.targets import Target
from ...dialects.loop import grain
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.scalar_ops import is_function
from ...thresholds import number
from ..analysis.bounds import constant_extent
from ..analysis.columns import find_columns
from ..analysis.conditions import known_at
from ..analysis.lanes import varying_values
from ..analysis.nests import name_of, ops_in, statements, walk
from ..analysis.parallel import EXPENSIVE, most_trips, op_cost, plain_cost, run_cost, worth_threads
from ..analysis.placement import divisible, sequence_in
from ..schedule.outline import Outline
from ..schedule.use_threads import UseThreads
from .base import Take

_MANY_SUMS = number("threads._MANY_SUMS")


def schedule_threads(kernel: KernelOp, target: Target, take: Take) -> None:
    """Assign the loops of a kernel to threads."""
    for loop in _outermost(kernel.body.block, max(grain.WORTH_OPS, target.wake_ops)):
        inside = sequence_in(loop)
        if inside is not None and loop.dynamic is None and _divides_all_rows(loop, inside):
            take(UseThreads(name_of(loop), interchange=True, align=find_columns(loop) is not None))
            band = [loop]
        else:
            band = _band(loop)
            take(UseThreads(name_of(loop), collapse=len(band)))
        for inner in ops_in(loop, ForOp):
            if inner not in band and _takes_registers(inner):
                take(Outline(name_of(inner)))


def _outermost(block: Block, least: float) -> Iterator[ForOp]:
    """The outermost parallel loops that are worth threads."""
    for op in block.ops:
        if isinstance(op, ForOp) and op.outlined is not None:
            continue
        if isinstance(op, ForOp) and op.kind.data == "parallel" and worth_threads(op, least):
            yield op
            continue
        for region in op.regions:
            for inner in region.blocks:
                yield from _outermost(inner, least)


def _band(loop: ForOp) -> list[ForOp]:
    """The loops that are divided together, from the outermost one on: as few as can be shared evenly."""
    band, count = [loop], constant_extent(loop) if any(known_at(loop)) else loop.trip_count()
    while count is not None and not grain.is_even(count):
        body = band[-1].body.block
        inner = divisible(band[-1])
        if inner is None or (trips := most_trips(inner) or 0) < 2 or run_cost(body) < 2 * grain.LEAST_CHUNK_OPS:
            break
        if sum(map(op_cost, statements(body)[:-1])) > grain.MOST_AGAIN * op_cost(inner):
            break
        band.append(inner)
        count *= trips
    return band


def _divides_all_rows(loop: ForOp, rows: ForOp) -> bool:
    """Whether a loop divides each of the rows that `rows` visits in a significant order."""
    found = ops_in(rows, LoadOp, StoreOp)
    return _hands_on(found) and all(_divides_rows(access, loop, rows) for access in found)


def _hands_on(found: Sequence[LoadOp | StoreOp]) -> bool:
    """Whether a row may depend on earlier rows: written through gather indices, or read as well as written."""
    stores = [op for op in found if isinstance(op, StoreOp)]
    read = {op.buffer for op in found if isinstance(op, LoadOp)}
    return any(op.buffer in read or any(isinstance(value.owner, Operation) for value in op.indices) for op in stores)


def _divides_rows(access: LoadOp | StoreOp, parts: ForOp, rows: ForOp) -> bool:
    """Whether an access moves to another row with `rows`, by an earlier dim than the one along which `parts` moves it."""
    moved = varying_values(rows)
    along = [[access.indices[k] for k in expr.used_dims()] for expr in access.map.data.results]
    part = next((dim for dim, values in enumerate(along) if parts.index in values), None)
    row = next((dim for dim, values in enumerate(along) if any(value in moved for value in values)), None)
    return part is None or (row is not None and row < part)


def _takes_registers(op: ForOp) -> bool:
    """Whether a parallel loop that computes functions stands beside one that keeps many sums in registers."""
    if op.kind.data != "parallel" or op.results or not _computes(op):
        return False
    block = op.parent_block()
    assert block is not None
    others = [other for other in block.ops if isinstance(other, ForOp) and other is not op]
    return any(len(inner.results) >= _MANY_SUMS for other in others for inner in ops_in(other, ForOp))


def _computes(op: ForOp) -> bool:
    return any(is_function(inner) and plain_cost(inner) >= EXPENSIVE for inner in walk(op))

"""Consecutive sweeps over a grid, as a stencil from one array to a second and back, run in strips of rows.

    for %i: for %j: %B[%i, %j] = f(%A[%i - 1, %j], ...)
    for %i2: for %j2: %A[%i2, %j2] = f(%B[%i2 - 1, %j2], ...)

Each sweep streams both arrays through the caches. In strips the second sweep finds the data of the first there.
"""

from __future__ import annotations

from itertools import pairwise

from xdsl.ir import Block

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.loop.subscripts import linear_form
from ...thresholds import number
from ..analysis.accesses import Access, accesses
from ..analysis.nests import holds, name_of, only_loop_in, statements
from ..schedule.interleave import Interleave
from .base import Take, attempt

STRIP = number("sweeps.STRIP")
_MOST_HALO = number("sweeps._MOST_HALO")


def schedule_sweeps(kernel: KernelOp, target: Target, take: Take) -> None:
    """Run consecutive sweeps in a kernel in strips; the strategy `loops` handles those inside loops."""
    take_sweeps(kernel.body.block, take)


def take_sweeps(block: Block, take: Take) -> None:
    """Run the sweeps of a block in strips, as long as two of them gain."""
    while (step := find_sweeps(block)) is not None and attempt(step, take) is not None:
        pass


def find_sweeps(block: Block) -> Interleave | None:
    """The primitive for the first two sweeps in a block that gain from strips."""
    nests = [op for op in statements(block) if isinstance(op, ForOp)]
    for first, second in pairwise(nests):
        if _is_sweep(first) and _is_sweep(second) and (apart := halo(first, second)) is not None and apart <= _MOST_HALO:
            return Interleave(name_of(first), name_of(second), STRIP, apart)
    return None


def _is_sweep(loop: ForOp) -> bool:
    """Whether a loop runs over rows, not in strips yet."""
    known = loop.trip_count()
    columns = only_loop_in(loop)
    flat = columns is not None and not holds(columns.body.block, ForOp)
    return flat and loop.kind.data in ("seq", "parallel") and loop.step.value.data == 1 and (known is None or known > 2 * STRIP)


def halo(first: ForOp, second: ForOp) -> int | None:
    """The distance, in iterations, at which two loops touch one row, one of them writing; None: unknown, or independent."""
    apart, needed = 0, False
    for one in accesses(first):
        for two in accesses(second):
            if one.buffer is not two.buffer or not (one.writes or two.writes):
                continue
            offsets = _row(one, first), _row(two, second)
            if offsets[0] is None or offsets[1] is None or offsets[0][0] != offsets[1][0]:
                return None
            apart = max(apart, abs(offsets[0][1] - offsets[1][1]))
            needed = needed or (one.writes and not two.writes)
    return apart if needed else None


def _row(access: Access, loop: ForOp) -> tuple[int, int] | None:
    """(dim, offset) of an access whose subscript there is the index of a loop plus an offset."""
    op = access.op
    if not isinstance(op, LoadOp | StoreOp):
        return None
    for dim, expr in enumerate(op.map.data.results):
        form = linear_form(expr, len(op.indices))
        used = [] if form is None else [(op.indices[k], c) for k, c in enumerate(form[0]) if c]
        if form is not None and used == [(loop.index, 1)]:
            return dim, form[1]
    return None

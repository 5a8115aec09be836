"""Tiles of sums become registers.

The loop form of convolutions keeps the sums of a tile in a register buffer, which all loops index by numbers when they are
unrolled. What is left is to make vectors of the loops along its last dim.
"""

from __future__ import annotations

from ...codegen.targets import Target
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.loop.structure import ForOp, KernelOp
from ..analysis.lanes import runs_along, stored_bits
from ..analysis.nests import around, name_of, walk
from ..schedule.unroll import Unroll
from ..schedule.vectorize import Vectorize
from .base import Take

MOST = 64
"""Elements of a row of a register buffer that are made vectors."""


def lanes_of_registers(kernel: KernelOp) -> list[ForOp]:
    """The loops, not unrolled, along the last dim of a register buffer."""
    found: dict[ForOp, None] = {}
    for op in walk(kernel):
        if not isinstance(op, LoadOp | StoreOp) or not isinstance(op.buffer.owner, AllocOp):
            continue
        if op.buffer.owner.place.data != "register" or op.lanes != 1:
            continue
        found.update((loop, None) for loop in around(op) if loop.kind.data == "parallel" and runs_along(op, loop))
    return list(found)


def schedule_tiles(kernel: KernelOp, target: Target, take: Take) -> None:
    """Make vectors of the rows of register buffers."""
    for loop in lanes_of_registers(kernel):
        lanes, trips = max(2, target.lanes(stored_bits(loop))), loop.trip_count() or MOST + 1
        if trips > MOST:
            continue
        while lanes // 2 >= trips > 1:
            lanes //= 2
        for name in take(Vectorize(name_of(loop), lanes)):
            take(Unroll(name))

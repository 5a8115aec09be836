"""Transforms of tiles run on vectors of the features.

The loop form of Winograd's convolutions transforms the tiles of each feature through a small local buffer, in a loop over
features that lie side by side. One register holds each value: there are many at a time.
"""

from __future__ import annotations

from ...codegen.targets import Target
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.loop.structure import ForOp, KernelOp
from ..analysis.lanes import lane_stride, runs_along, stored_bits
from ..analysis.nests import name_of, ops_in, walk
from ..schedule.vectorize import Vectorize
from .base import Take


def schedule_features(kernel: KernelOp, target: Target, take: Take) -> None:
    """Make vectors of the loops over features around small local buffers."""
    for loop in [op for op in ops_in(kernel, ForOp) if runs_over_features(op)]:
        take(Vectorize(name_of(loop), max(2, target.lanes(stored_bits(loop)))))


def runs_over_features(loop: ForOp) -> bool:
    """Whether a parallel loop owns small buffers and runs along memory with all else that it stores.

    Filters, each of which is read once, may lie across.
    """
    own = {op.buffer for op in loop.body.block.ops if isinstance(op, AllocOp) and op.place.data in ("stack", "register")}
    if not own or loop.kind.data != "parallel" or loop.step.value.data != 1:
        return False
    for op in walk(loop):
        if not isinstance(op, LoadOp | StoreOp) or op.buffer in own:
            continue
        if op.lanes != 1 or lane_stride(op, loop.index) is None or (isinstance(op, StoreOp) and not runs_along(op, loop)):
            return False
    return True

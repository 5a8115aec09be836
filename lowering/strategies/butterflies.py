"""The passes of a Fourier transform: long straight-line code over many streams, and the transposes between them.

The body of such a loop reads and writes dozens of contiguous elements, and keeps the intermediate values in registers. With
vectors of one register each there are barely enough of them, so no loop gets more lanes than that. Nests beside the passes
whose loads are strided where their stores are contiguous are tiled as everywhere (`transposes.py`).
"""

from __future__ import annotations

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.types import shape_of
from ...thresholds import number
from ..analysis.lanes import lane_stride, stored_bits
from ..analysis.nests import around, name_of, ops_in
from ..schedule.vectorize import Vectorize
from .base import Take, attempt, is_scalar
from .transposes import Transpose, find_transpose, tile_transpose

_LEAST_STREAMS = number("butterflies._LEAST_STREAMS")


def schedule_butterflies(kernel: KernelOp, target: Target, take: Take) -> None:
    """Vectorize the passes of a kernel, and tile the transposes between them."""
    passes = [loop for loop in ops_in(kernel, ForOp) if _is_pass(loop)]
    for loop in passes:
        along = max([loop, *_outside(loop)], key=_streams)
        lanes = target.lanes(stored_bits(loop))
        while lanes > (along.trip_count() or lanes):
            lanes //= 2
        if lanes > 1:
            attempt(Vectorize(name_of(along), lanes), take)
    while passes and (found := _next_transpose(kernel, target)) is not None:
        tile_transpose(kernel, found, take)


def _is_pass(loop: ForOp) -> bool:
    """Whether the body of a loop is straight-line code with many stores."""
    if loop.kind.data != "parallel" or any([op.regions for op in loop.body.block.ops]):
        return False
    return sum([isinstance(op, StoreOp) for op in loop.body.block.ops]) >= _LEAST_STREAMS


def _outside(loop: ForOp) -> list[ForOp]:
    """The innermost parallel loop around a pass."""
    outer = around(loop)[-1:]
    return [one for one in outer if one.kind.data == "parallel" and len(ops_in(one.body.block, ForOp, AllocOp)) == 1]


def _streams(loop: ForOp) -> int:
    """The number of accesses in a loop that are contiguous along it, to the next element or to the next pair."""
    return sum(_is_near(op, loop) for op in ops_in(loop, LoadOp, StoreOp))


def _is_near(op: LoadOp | StoreOp, loop: ForOp) -> bool:
    dim, moved = lane_stride(op, loop.index) or (0, 0)
    shape = shape_of(op.buffer)
    while dim < len(shape) - 1 and moved == 1 and shape[-1] <= 2:
        shape = shape[:-1]
    return dim == len(shape) - 1 and moved == 1


def _next_transpose(kernel: KernelOp, target: Target) -> Transpose | None:
    """The first nest without vectors, inside other loops, whose loads are strided where its stores are contiguous."""
    nests = (loop for loop in ops_in(kernel, ForOp) if is_scalar(loop) and around(loop))
    return next((found for loop in nests if (found := find_transpose(kernel, loop, target)) is not None), None)

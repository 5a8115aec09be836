"""Rows that stream through the caches once are prefetched.

    for parallel %i = 0 to 2048                     for parallel %i = 0 to 2048
      for reduce<add> %j = 0 to 2048 step 64          for reduce<add> %j = 0 to 2048 step 64
        %x[%i, %j]                                      prefetch %x[%i, %j + 2048], ... a hint for each line
                                                        %x[%i, %j]

Hardware prefetches as well, but not across the end of a page, and a row is about as long as one. Where several passes go over a
row, the one that computes most prefetches the next row: memory latency is hidden by its arithmetic.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument

from ...codegen.targets import Target
from ...dialects.loop.gather import ScatterOp
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...thresholds import number
from ..analysis.lanes import lane_stride
from ..analysis.nests import around, buffer_name, name_of, ops_in, statements
from ..costs import element_bits, scalar_cost
from ..schedule.prefetch import Prefetch
from .base import Take

_AHEAD = number("prefetches._AHEAD")
_AHEAD_OF_PASSES = number("prefetches._AHEAD_OF_PASSES")
_LONG = number("prefetches._LONG")


def schedule_prefetches(kernel: KernelOp, target: Target, take: Take) -> None:
    """Prefetch in the loops over rows that are read once, of arrays that the second-level cache does not hold."""
    if not any(isinstance(value.type, MemRefType) and _is_large(value, target) for value in kernel.body.block.args):
        return
    for loop in ops_in(kernel, ForOp):
        _hint(loop.body.block, target, take)


def _hint(body: Block, target: Target, take: Take) -> None:
    """Choose among the passes of a body, for each buffer that they stream."""
    streams: dict[BlockArgument, list[ForOp]] = {}
    for loop in [op for op in statements(body) if isinstance(op, ForOp)]:
        for buffer in _streams(loop, target):
            streams.setdefault(buffer, []).append(loop)
    for buffer, passes in streams.items():
        element, row = _bytes(buffer)
        several = len(passes) > 1 and 4 * row <= target.l1_bytes
        loop = max(passes, key=lambda loop: scalar_cost(loop.body.block)) if several else passes[0]
        ahead = max(_AHEAD_OF_PASSES, row) if several else _AHEAD
        take(Prefetch(buffer_name(buffer), name_of(loop), -(-ahead // (loop.step.value.data * element))))


def _streams(loop: ForOp, target: Target) -> list[BlockArgument]:
    """The large arrays of which each iteration of an innermost loop, and of the loops around it, reads a different vector."""
    inside = statements(loop.body.block)
    if (loop.trip_count() or 0) < 2 or any(op.regions for op in inside):
        return []
    found: dict[BlockArgument, list[LoadOp]] = {}
    for op in inside:
        if isinstance(op, LoadOp) and isinstance(op.buffer, BlockArgument):
            found.setdefault(op.buffer, []).append(op)
    moving = [loop, *(outer for outer in around(loop) if outer.trip_count() != 1)]
    return [
        buffer
        for buffer, loads in found.items()
        if len(loads) == 1
        and _is_large(buffer, target)
        and _is_row(loads[0], loop)
        and all(outer.index in loads[0].indices for outer in moving)
        and not any(isinstance(use.operation, StoreOp | ScatterOp) for use in buffer.uses)
    ]


def _is_large(buffer: BlockArgument, target: Target) -> bool:
    type = buffer.type
    assert isinstance(type, MemRefType)
    if type.get_num_dims() == 0 or not type.has_static_shape():
        return False
    return _bytes(buffer)[1] * prod(type.get_shape()[:-1]) > target.l2_bytes


def _bytes(buffer: BlockArgument) -> tuple[int, int]:
    """The size of an element and of a row, in bytes."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    element = element_bits(type.element_type) // 8
    return element, element * type.get_shape()[-1]


def _is_row(load: LoadOp, loop: ForOp) -> bool:
    """Whether iterations read consecutive vectors, in whole rows or in long parts of them."""
    buffer, bounds = load.buffer, loop.constant_bounds()
    assert isinstance(buffer, BlockArgument) and isinstance(buffer.type, MemRefType)
    last, (element, row) = buffer.type.get_num_dims() - 1, _bytes(buffer)
    if bounds is None or element * (bounds[1] - bounds[0]) < min(row, _LONG):
        return False
    return load.lanes == loop.step.value.data > 1 and load.lane_dim() == last and lane_stride(load, loop.index) == (last, 1)

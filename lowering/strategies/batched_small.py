"""Batches of small problems with uniform control flow, as factorizations of many small matrices: one problem in each lane.

    for i in stack {                            for io in stack step lanes {
      given[j, k] = x[i, j, k]                    given[j, k, ii] = x[io + ii, j, k]    transposed in registers
      steps on local buffers            =>        steps on local buffers, a vector of lanes for each element
      out[i, j, k] = found[j, k]                  out[io + ii, j, k] = found[j, k, ii]  transposed in registers
    }                                           }

Rows of a small problem are shorter than a vector, and each step depends on the previous one; problems are independent. The
local buffers of a vector of problems must fit the second-level cache, and threads share the loop over the stack.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, IfOp, KernelOp, WhileOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.types import DYNAMIC, element_of, shape_of, width_of
from ...thresholds import number
from ..analysis.lanes import has_own_bounds, varying_values
from ..analysis.nests import buffer_name, holds, is_inside, loops, name_of, only_loop_in, ops_in, statements, walk
from ..costs import widest
from ..schedule.fission import Fission
from ..schedule.hoist import Hoist
from ..schedule.pad import Pad
from ..schedule.peel import Peel
from ..schedule.serialize import Serialize
from ..schedule.set_layout import SetLayout
from ..schedule.split import Split
from ..schedule.vectorize import Vectorize
from ..widening import obstacle
from .base import Take, attempt, copies, inside
from .transposes import find_transpose, tile_transpose

_LEAST = number("batched_small._LEAST")


@dataclass(frozen=True)
class Stack:
    """A loop over problems.

    Attributes:
        loop: the loop over the stack.
        reads: the nests at its beginning that copy from memory to local buffers.
        last: the last of the steps.
        writes: the nests at its end that copy from local buffers to memory.
        buffers: the shapes of the local buffers by their names.
    """

    loop: ForOp
    reads: tuple[ForOp, ...]
    last: ForOp
    writes: tuple[ForOp, ...]
    buffers: dict[str, tuple[int, ...]]

    def lanes(self, count: int, target: Target) -> int:
        """The lanes of a vector that holds this many problems, or a part of them."""
        lanes = target.lanes(widest(self.loop))
        while lanes // 2 >= count:
            lanes //= 2
        return lanes

    def fits(self, target: Target) -> bool:
        """Whether a vector of problems fits the second-level cache."""
        buffers = [op.buffer for op in ops_in(self.loop, AllocOp)]
        size = sum(prod(shape_of(buffer)) * width_of(element_of(buffer)) // 8 for buffer in buffers)
        return size * self.lanes(_LEAST * 16, target) <= target.l2_bytes


def find_stack(nest: ForOp) -> Stack | None:
    """The problems of a nest, if each is copied to local buffers, solved there without branches, and copied back."""
    loop: ForOp | None = nest
    while loop is not None and not any(isinstance(op, AllocOp) for op in loop.body.block.ops):
        loop = only_loop_in(loop) if loop.kind.data == "parallel" else None
    if loop is None or loop.kind.data != "parallel" or loop.step.value.data != 1 or (loop.trip_count() or 0) < _LEAST:
        return None
    body = [op for op in statements(loop.body.block) if not isinstance(op, AllocOp)]
    reads = _copies(body, loop)
    writes = _copies(body[len(reads) :][::-1], loop)[::-1]
    steps = body[len(reads) : len(body) - len(writes)]
    if not (reads and writes and steps and isinstance(steps[-1], ForOp)) or not _is_uniform(loop):
        return None
    moves = [inner for op in steps for inner in walk(op) if isinstance(inner, LoadOp | StoreOp)]
    if not all(is_inside(op.buffer, loop) for op in moves):
        return None
    buffers = {buffer_name(op.buffer): shape_of(op.buffer) for op in ops_in(loop, AllocOp)}
    return Stack(loop, reads, steps[-1], writes, buffers)


def _copies(body: Sequence[Operation], loop: ForOp) -> tuple[ForOp, ...]:
    """The copy nests at the beginning of a body."""
    return tuple(op for op in itertools.takewhile(lambda op: _is_copy(op, loop), body) if isinstance(op, ForOp))


def _is_uniform(loop: ForOp) -> bool:
    """Whether all iterations of a loop run the same vectorizable ops on local buffers of static sizes."""
    if holds(loop.body.block, IfOp, WhileOp) or obstacle(loop) is not None:
        return False
    varying = varying_values(loop)
    if any(has_own_bounds(inner, varying) for inner in ops_in(loop, ForOp) if inner is not loop):
        return False
    return not any(DYNAMIC in shape_of(op.buffer) for op in ops_in(loop, AllocOp))


def _is_copy(op: Operation, loop: ForOp) -> bool:
    """Whether a nest moves elements between memory and a local buffer."""
    if not isinstance(op, ForOp):
        return False
    moves = ops_in(op, LoadOp, StoreOp)
    return sum(is_inside(move.buffer, loop) for move in moves) == 1 and len(moves) == 2 and len(ops_in(op, StoreOp)) == 1


def schedule_stacks(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Map neighbouring problems to the lanes of vectors."""
    found = find_stack(nest)
    if found is None or not found.fits(target):
        return
    count = found.loop.trip_count() or 0
    lanes, problems, block = found.lanes(count, target), name_of(found.loop), None
    if count > lanes:
        block, problems = take(Split(problems, lanes))
    parts = [_move_into_lanes(kernel, found, problems, max(0, lanes - count), take)]
    if block is not None and count % lanes:
        originals = inside(kernel, block)
        _, rest = take(Peel(block, 0))
        renamed = copies(kernel, originals, rest)
        parts.append([renamed[name] for name in parts[0]])
    for steps, *moves in parts:
        if loops(kernel)[steps].trip_count() != lanes:
            attempt(Pad(steps, lanes), take)  # masked stores would delay the loads that read them back
        take(Vectorize(steps, lanes))
        for loop in inside(kernel, steps):
            if loops(kernel)[loop].kind.data == "parallel":
                take(Serialize(loop))  # threads share the stack
        for move in moves:
            transpose = find_transpose(kernel, loops(kernel)[move], target)
            if transpose is not None:
                tile_transpose(kernel, transpose, take)


def _move_into_lanes(kernel: KernelOp, found: Stack, problems: str, missing: int, take: Take) -> list[str]:
    """Give each copy its own loop over the problems, the last dim of its buffer; the loop over the steps comes first.

    Args:
        missing: the number of lanes without a problem.
    """
    reads, writes = ([name_of(nest) for nest in nests] for nests in (found.reads, found.writes))
    for buffer, shape in found.buffers.items():
        # an odd number of vectors a row: the elements of a column then fall into all sets of a cache
        is_even = len(shape) > 1 and shape[-1] % 2 == 0
        take(Hoist(buffer))
        take(SetLayout(buffer, (*range(1, len(shape) + 1), 0), pad=int(is_even), dim=-2))
        if missing:
            take(SetLayout(buffer, tuple(range(len(shape) + 1)), pad=missing))
    moves: list[str] = []
    for nest in reads:
        move, problems = take(Fission(problems, nest))
        moves.append(move)
    for nest in (name_of(found.last), *writes[:-1]):
        move, problems = take(Fission(problems, nest))
        moves.append(move)
    steps = moves.pop(len(reads))
    return [steps, *moves, problems]

"""Recurrences along rows: several rows at once, so that a processor works on one while it waits for another.

    for seq %i:                                        rows: a few of them jammed
      for seq %j:                                      along a row, each element waits for the one before it
        %D[%i, %j] = f(%D[%i, %j - 1], %D[%i - 1, %j], ...)

An iteration takes as long as the chain of ops from what the one before it left to what it leaves itself, while the processor
could start many times as many ops. The number of rows is how often one row's ops fit into that time. Jamming is legal where no
row reads ahead in the row above it: in sweeps over grids, dynamic programs, and recurrences of independent rows.
"""

from __future__ import annotations

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, IfOp, KernelOp, WhileOp, YieldOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...thresholds import number, ratio
from ..analysis.affine import Affine
from ..analysis.nests import holds, name_of, ops_in, walk
from ..op_costs import instructions, latency
from ..schedule.cloning import subscripts
from ..schedule.unroll_and_jam import UnrollAndJam
from .base import Take, attempt, is_scalar

_AT_ONCE = ratio("recurrences._AT_ONCE")
_LEAST = ratio("recurrences._LEAST")
_MOST_ROWS = number("recurrences._MOST_ROWS")
_MOST_OPS = number("recurrences._MOST_OPS")


def schedule_recurrences(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Jam the rows of the innermost recurrences of a nest."""
    for loop in [name_of(loop) for loop in ops_in(nest, ForOp) if _is_of_rows(loop)]:
        rows = next((one for one in ops_in(kernel, ForOp) if name_of(one) == loop), None)
        if rows is not None and (count := _rows_at_once(rows, target)) > 1:
            attempt(UnrollAndJam(loop, count), take)


def _is_of_rows(loop: ForOp) -> bool:
    """Whether a loop holds only innermost loops, without conditions around or in them, and no vectors."""
    inner = [op for op in loop.body.block.ops if isinstance(op, ForOp)]
    if not inner or loop.results or loop.threads is not None or not is_scalar(loop) or holds(loop, WhileOp, IfOp, AllocOp):
        return False
    has_vectors = any(isinstance(result.type, VectorType) for op in walk(loop) for result in op.results)
    return not has_vectors and len(ops_in(loop, ForOp)) == len(inner) + 1


def _rows_at_once(rows: ForOp, target: Target) -> int:
    inner = [op for op in rows.body.block.ops if isinstance(op, ForOp)]
    if sum(len(loop.body.block.ops) for loop in inner) > _MOST_OPS:
        return 1
    fits = max(_latency(loop) / max(1.0, _work(loop, target) / _AT_ONCE) for loop in inner)
    if fits < _LEAST:
        return 1
    count = 2
    while count < min(fits, _MOST_ROWS):
        count *= 2
    trips = rows.trip_count()
    return count if trips is None or trips >= count else 1


def _work(loop: ForOp, target: Target) -> float:
    """Instructions of an iteration."""
    return sum(instructions(op, target) for op in loop.body.block.ops if not isinstance(op, YieldOp))


def _latency(loop: ForOp) -> float:
    """Cycles from the values that an iteration takes from the one before it to those that it leaves.

    Values are carried by the loop, or stored to an element that the next iteration loads.
    """
    body = loop.body.block
    stores = [op for op in body.ops if isinstance(op, StoreOp)]
    since: dict[SSAValue, float] = dict.fromkeys(body.args[1:], 0.0)
    longest = 0.0
    for op in body.ops:
        if isinstance(op, LoadOp):
            if any(_follows(op, store, loop) for store in stores):
                since[op.results[0]] = 0.0
            continue
        started = [since[value] for value in op.operands if value in since]
        if isinstance(op, YieldOp):
            monoid = 4.0 if loop.monoid is not None else 0.0
            longest = max([longest, monoid, *started])
        elif isinstance(op, StoreOp):
            longest = max([longest, *started])
        elif started:
            for result in op.results:
                since[result] = max(started) + latency(op)
    return longest


def _follows(load: LoadOp, store: StoreOp, loop: ForOp) -> bool:
    """Whether a load reads in each iteration what the one before it stored."""
    if load.buffer is not store.buffer:
        return False
    earlier = Affine.of(loop.index) - loop.step.value.data
    return subscripts(load) == [form.substitute({loop.index: earlier}) for form in subscripts(store)]

"""Indirect accesses (gather, scatter) and running sums: contiguous inner loops become vectors, rows of running sums interleave.

* Rows that are gathered or scattered: the loop along a row is vectorized, also around a sum over rows (an embedding bag keeps a
  row of sums in registers, and two bags are interleaved). Rows stay in their order, or go to threads, as they are written. The
  rows of some iterations ahead are prefetched (`rows_ahead`): no processor can predict them. Large results use non-temporal
  stores (`streams`).
* A value carried along memory makes each element depend on the previous one: several rows are interleaved, each in its order.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, OpResult, SSAValue

from ...codegen.targets import Target
from ...codegen.targets.base import LINE_BYTES
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.types import is_bool, scalar_of, shape_of, width_of
from ...thresholds import number
from ..analysis.lanes import lane_stride, varying_values
from ..analysis.nests import around, buffer_name, find, holds, loops, name_of, ops_in, statements, walk
from ..schedule.prefetch import Prefetch
from ..schedule.prefetch_rows import PrefetchRows
from ..schedule.stream import Stream
from ..schedule.unroll_and_jam import UnrollAndJam
from ..schedule.vectorize import Vectorize
from .base import Take, attempt, is_scalar

_REGISTERS = number("indexed._REGISTERS")
_BAGS = number("indexed._BAGS")
_AHEAD = number("indexed._AHEAD")
_ROWS = number("indexed._ROWS")


def schedule_indexed(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Schedule a nest with indirect accesses, or with values carried along memory."""
    if not is_scalar(nest):
        return
    if any(_at_data(op) for op in ops_in(nest, LoadOp, StoreOp)):
        for name in [name_of(op) for op in ops_in(nest, ForOp) if _is_row(op)]:
            row = loops(kernel).get(name)  # a primitive may have rewritten it with an earlier nest
            if row is not None and _is_row(row) and (lanes := _lanes(row, target)) >= 2:
                attempt(Vectorize(name, lanes), take)
        if (bags := _bags(nest)) is not None:
            attempt(UnrollAndJam(name_of(bags), _BAGS), take)
    elif (rows := _running_rows(nest)) is not None:
        attempt(UnrollAndJam(name_of(rows), _ROWS), take)


def schedule_streams(kernel: KernelOp, target: Target, take: Take) -> None:
    """Use non-temporal stores for results whose rows are copied through gather indices, if they are or may be large."""
    if not any(map(_at_data, ops_in(kernel, LoadOp))):
        return
    gathers = [loop for loop in ops_in(kernel, ForOp) if any(map(_at_data, ops_in(loop, LoadOp)))]
    stores = [op for loop in gathers for op in loop.body.block.ops if isinstance(op, StoreOp) and _is_long(op, target)]
    for buffer in dict.fromkeys(store.buffer for store in stores):
        attempt(Stream(buffer_name(buffer)), take)


def schedule_rows_ahead(kernel: KernelOp, target: Target, take: Take) -> None:
    """Prefetch rows that are read through gather indices, of arrays that the first-level cache does not hold."""
    found: dict[tuple[str, str, str], int] = {}
    beside: dict[tuple[str, str], None] = {}
    for read in [op for op in ops_in(kernel, LoadOp) if _is_far(op, target)]:
        # an access moves with the loops along which its indices are read; the innermost one goes from row to row
        moving = [loop for loop in around(read) if any(v in varying_values(loop) for v in _data_in(read))]
        if moving:
            outer = name_of(moving[-2]) if len(moving) > 1 else ""
            step = buffer_name(read.buffer), name_of(moving[-1]), outer
            found[step] = found.get(step, 0) + 1
    for (buffer, at, outer), reads in found.items():
        distance = max(2, _AHEAD // reads)
        asked = outer and attempt(PrefetchRows(buffer, at, distance, outer), take) is not None
        if asked or attempt(PrefetchRows(buffer, at, distance), take) is not None:
            beside.update(dict.fromkeys((name, at) for name in _rows_in_order(find(kernel, at, "rows_ahead"))))
    for buffer, at in beside:
        attempt(Prefetch(buffer, at, _AHEAD), take)


def _rows_in_order(loop: ForOp) -> list[str]:
    """The arguments of which each iteration reads the next row.

    Hardware prefetches such rows, but not while it waits for gathered rows, which it cannot predict.
    """
    written = {op.buffer for op in ops_in(loop, StoreOp)}
    return [
        buffer_name(read.buffer)
        for read in walk(loop)
        if isinstance(read, LoadOp)
        and isinstance(read.buffer, BlockArgument)
        and read.buffer not in written
        and read.lanes * _bits(read.value) >= 8 * LINE_BYTES
        and not _at_data(read)
        and (stride := lane_stride(read, loop.index)) is not None
        and stride[1] == 1
        and stride[0] < read.lane_dim()
    ]


def _is_long(store: StoreOp, target: Target) -> bool:
    """Whether a store writes a part of a result once, and no cache would hold the result, as far as is known."""
    type = store.buffer.type
    assert isinstance(type, MemRefType)
    bits = _bits(store.value)
    if _at_data(store) or store.lanes * bits < 8 * LINE_BYTES:
        return False
    if not all(loop.index in store.indices for loop in around(store) if loop.trip_count() != 1):
        return False
    return target.stream_bytes > 0 if not type.has_static_shape() else target.streams(prod(type.get_shape()) * bits // 8)


def _is_far(read: LoadOp, target: Target) -> bool:
    """Whether a load reads at least a cache line through a gather index, from an argument that is or may be large."""
    type = read.buffer.type
    assert isinstance(type, MemRefType)
    if not _at_data(read) or not isinstance(read.buffer, BlockArgument):
        return False
    bits = _bits(read.value)
    known = type.has_static_shape() and prod(type.get_shape()) * bits // 8 <= target.l1_bytes
    return read.lanes * bits >= 8 * LINE_BYTES and not known


def _data_in(read: LoadOp) -> list[SSAValue]:
    """The subscripts of an access that are computed from loaded values."""
    return [value for value in read.indices if type(value) is OpResult]


def _bags(nest: ForOp) -> ForOp | None:
    """The loop over bags of rows: parallel, and each iteration sums its own gathered rows."""
    inside = [op for op in ops_in(nest, ForOp) if op is not nest]
    sums = [op for op in inside if op.kind.data == "reduce" and op.results]
    if nest.kind.data != "parallel" or (nest.trip_count() or 0) < _BAGS or len(sums) != 1 or len(inside) != 2:
        return None
    return nest if any(_at_data(op) for op in ops_in(sums[0], LoadOp)) else None


def _at_data(op: LoadOp | StoreOp) -> bool:
    """Whether a subscript of an access is computed from loaded values."""
    return any(type(value) is OpResult for value in op.indices)


def _is_row(loop: ForOp) -> bool:
    """Whether a parallel loop runs along memory, with accesses whose gather indices are invariant in it."""
    if loop.kind.data != "parallel" or loop.trip_count() is None or loop.step.value.data != 1:
        return False
    inside = [op for op in ops_in(loop, ForOp) if op is not loop]
    if any(op.kind.data != "reduce" or op.trip_count() is None for op in inside):
        return False
    accesses = ops_in(loop, LoadOp, StoreOp)
    varying = varying_values(loop)
    moved = any(value in varying and value is not loop.index for op in accesses for value in op.indices)
    return not moved and all(_along_memory(op, loop.index) for op in accesses)


def _along_memory(op: LoadOp | StoreOp, index: SSAValue) -> bool:
    stride = lane_stride(op, index)
    if stride is None:
        return False
    if stride[1] == 0:
        return isinstance(op, LoadOp)
    return stride == (len(shape_of(op.buffer)) - 1, 1)


def _lanes(loop: ForOp, target: Target) -> int:
    """Lanes for a whole row, as far as registers allow; a power of two."""
    bits = [_bits(op.value) for op in ops_in(loop, StoreOp)]
    bits += [_bits(value) for op in ops_in(loop, ForOp) for value in op.results]
    if not bits:
        return 1
    lanes, trips = _REGISTERS * target.lanes(max(bits)), loop.trip_count() or 0
    while lanes > 2 and lanes // 2 >= trips:
        lanes //= 2
    return lanes if trips >= 2 else 1


def _bits(value: SSAValue) -> int:
    element = scalar_of(value.type)
    return 8 if is_bool(element) else width_of(element)


def _loop_inside(loop: ForOp) -> ForOp | None:
    """The only loop directly inside another, if nothing else there has to run."""
    inside = statements(loop.body.block)
    return inside[0] if len(inside) == 1 and isinstance(inside[0], ForOp) else None


def _running_rows(nest: ForOp) -> ForOp | None:
    """The loop over rows directly around a loop that carries one value along memory, element by element."""
    rows = nest
    while (inner := _loop_inside(rows)) is not None and inner.kind.data == "parallel":
        rows = inner
    if inner is None or inner.kind.data != "seq" or not inner.results or (rows.trip_count() or 0) < _ROWS:
        return None
    while len(blocks := [op for op in inner.body.block.ops if isinstance(op, ForOp)]) == 1 and blocks[0].kind.data == "seq":
        (inner,) = blocks  # long running sums run in blocks
    stores = ops_in(inner, StoreOp)
    if not stores or holds(inner.body.block, ForOp) or rows.kind.data != "parallel":
        return None
    last = [(len(shape_of(op.buffer)) - 1) for op in stores]
    found = [lane_stride(op, inner.index) for op in stores]
    along = all(s is not None and s[0] == d and abs(s[1]) == 1 for s, d in zip(found, last, strict=True))
    return rows if along else None

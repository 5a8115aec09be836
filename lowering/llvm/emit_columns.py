"""Columns that threads share: the range of each thread, chosen so that no cache line belongs to two of them.

    loop.for parallel %do = 0 to %D step 32 threads(interchange, align) {
      loop.for seq %e = 0 to %E {
        loop.for vector %di = 0 to 32 step 32 {      // lanes below %D - %do
          ... %out[%row, %do + %di] ...

Arrays rarely begin with a cache line: NumPy's large ones begin 16 bytes after one. Then two threads write into one line in each
row, and also into the one where a row ends and the next begins, which go back and forth between caches. The results of such a
loop in a column depend on `%do + %di` alone, so its parts may begin anywhere: where the elements of columns begin lines.

    columns of 64 f32, of which 12 come before the first line    | 0 .. 12 | 12 .. 28 | 28 .. 44 | 44 .. 60 | 60 ..
    threads                                                      | 2       | 1                   | 2

The last thread has the first columns, too, since their line is that of the end of the row before. They are the last lanes of a
part that begins before the row and ends with their line: a masked store takes lines from other threads even where all of its
lanes are off. A thread that has all columns visits rows in memory order.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, VectorType
from xdsl.dialects.vector import CreateMaskOp
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import Rewriter

from ...codegen.targets.base import LINE_BYTES
from ...codegen.text import I64
from ...dialects.loop.memory import PrefetchOp
from ..analysis.affine import forms
from ..analysis.columns import Columns
from ..analysis.nests import walk
from .emit_core import FunctionEmitter


def begin_before_row(columns: Columns, block: Block, part: SSAValue) -> None:
    """Turn the block of a part of a row into one for a part that begins before it, at a negative `part`.

    The new part ends in the first line of the row. Only the lanes of that line from column 0 on are columns. Lanes of other
    lines are known to be off, so that nothing is written for them; prefetches of other lines are removed.
    """
    unused = columns.size - 8 * LINE_BYTES // columns.bits
    for op in walk(block):
        if isinstance(op, PrefetchOp):
            moved = [form for form in forms(op.map.data, op.indices) if part in form.terms]
            if any(form.constant < unused for form in moved):
                Rewriter.erase_op(op)
        elif isinstance(op, CreateMaskOp):
            type = op.results[0].type
            assert isinstance(type, VectorType)
            zero = arith.ConstantOp.from_int_and_width(0, IndexType())
            outside = arith.SubiOp(zero, part)
            before = CreateMaskOp([outside.result], type)
            every, line = (
                arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, [int(lane >= least) for lane in range(columns.size)]))
                for least in (0, unused)
            )
            inside = arith.XOrIOp(before, every)
            Rewriter.replace_op(op, [zero, outside, before, every, line, inside, arith.AndIOp(inside, line)])


def share_of_columns(e: FunctionEmitter, columns: Columns, first: str, last: str) -> tuple[str, str, str, str]:
    """Two ranges for a thread that replace the columns from `first` to `last`: (first, last, first, last).

    The second one is either empty or a part that begins before the row.
    """
    b, end = e.b, e.value(columns.end, columns.store)
    is_last = b.icmp("sge", last, end, I64)
    has_all = b.emit(f"and i1 {is_last}, {b.icmp('eq', first, '0', I64)}")
    ahead = b.select(has_all, "0", b.intrinsic("smin", I64, _first_of_line(e, columns), end), I64)
    new_first, new_last = (b.emit(f"add nsw i64 {x}, {ahead}") for x in (first, last))
    e.not_negative.add(new_first)
    before = b.select(is_last, ahead, "0", I64)
    start = b.select(b.icmp("eq", before, "0", I64), "0", b.emit(f"sub nsw i64 {before}, {columns.size}"), I64)
    return new_first, b.intrinsic("smin", I64, new_last, end), start, before


def _first_of_line(e: FunctionEmitter, columns: Columns) -> str:
    """The first column whose element begins a cache line; 0 where it differs from row to row."""
    b, buffer = e.b, e.buffer(columns.store.buffer, columns.store)
    line = 8 * LINE_BYTES // columns.bits
    if buffer.strides[columns.dim] != 1:
        return "0"
    back = b.emit(f"sub i64 0, {b.emit(f'ptrtoint ptr {buffer.pointer} to i64')}")
    found = b.emit(f"udiv i64 {b.emit(f'and i64 {back}, {LINE_BYTES - 1}')}, {columns.bits // 8}")
    pitches = [stride for dim, stride in enumerate(buffer.strides) if dim != columns.dim]
    turned = "0"
    for pitch in pitches:
        turned = b.emit(f"or i64 {turned}, {pitch}")
    rest = b.emit(f"and i64 {turned}, {line - 1}")
    return b.select(b.icmp("eq", rest, "0", I64), found, "0", I64)

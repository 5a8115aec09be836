"""Columns that threads share: which ones a thread gets, so that no cache line belongs to two of them.

    loop.for parallel %do = 0 to %D step 32 {
      loop.for seq %e = 0 to %E {
        loop.for vector %di = 0 to 32 step 32 {      // lanes below %D - %do
          ... %out[%row, %do + %di] ...

Arrays rarely begin with a cache line: NumPy's large ones begin 16 bytes after one. Then two threads write into one line in each
row, and also into the one where a row ends and the next begins, which go back and forth between caches. What such a loop does
for a column depends on `%do + %di` alone, so its parts may begin anywhere: where the elements of columns begin lines.

    columns of 64 f32, of which 12 come before the first line    | 0 .. 12 | 12 .. 28 | 28 .. 44 | 44 .. 60 | 60 ..
    threads                                                      | 2       | 1                   | 2

The last thread has the first columns, too, since their line is that of the end of the row before. They are the last lanes of a
part that begins before the row and ends with their line: a masked store takes lines from other threads also where all of its
lanes are off. A thread that has all columns goes through rows as they lie.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, VectorType
from xdsl.dialects.vector import BroadcastOp, CreateMaskOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...codegen.text import I64
from ...dialects.loop.memory import LoadOp, PrefetchOp, StoreOp
from ...dialects.loop.structure import ForOp, YieldOp
from ..analysis.affine import Affine, forms
from ..analysis.nests import walk
from .emit_core import FunctionEmitter

_LINE = 64
"""Bytes of a cache line."""


@dataclass(frozen=True)
class Columns:
    """The columns of a parallel loop over parts of rows, which may be divided anywhere.

    Attributes:
        end: how many there are.
        size: columns of a part.
        store: a store whose cache lines count: to a place that data gives, if there is one.
        dim: the dim of its buffer along which columns are.
        bits: of an element of the buffer.
    """

    end: SSAValue
    size: int
    store: StoreOp
    dim: int
    bits: int


def find_columns(parts: ForOp) -> Columns | None:
    """The columns of a parallel loop over parts of rows, if it makes no difference where a part begins and ends.

    That is so if each lane is a column, computes what its own index says, and has its own elements of what is stored to.
    """
    upper = forms(parts.upper.data, parts.upper_operands)
    end = upper[0].value if len(upper) == 1 else None
    if end is None or forms(parts.lower.data, parts.lower_operands) != [Affine.of(0)]:
        return None
    reader = _Reader(parts, end)
    if not all(reader.understands(op) for op in walk(parts.body.block)):
        return None
    stores = [op for op in reader.places if isinstance(op, StoreOp)]
    stored = {op.buffer for op in stores}
    if not stores or any(len({place for op, place in reader.places.items() if op.buffer is b}) > 1 for b in stored):
        return None
    by_data = (op for op in stores if any(isinstance(value.owner, Operation) for value in op.indices))
    store = next(by_data, stores[0])
    place = reader.places[store]
    bits = max(8, getattr(store.element_type_().element_type, "bitwidth", 0))  # pyright: ignore[reportAttributeAccessIssue]
    if place is None or reader.size * bits < _LINE * 8:
        return None
    return Columns(end, reader.size, store, place[0], bits)


class _Reader:
    """Reads the body of a loop over parts, op by op.

    Attributes:
        places: of each access the dim along which columns are, and by how many elements it is ahead; None: it has no such dim.
        columns: the indices of vector loops, the columns of a part.
        left: for values computed from these what they are in terms of the part, the column in it and the end.
        masks: the values that say which lanes are columns.
    """

    def __init__(self, parts: ForOp, end: SSAValue):
        self.parts, self.end = parts, end
        self.size = parts.step.value.data
        self.columns: set[SSAValue] = set()
        self.left = {value: Affine.of(value) for value in (parts.index, end)}
        self.masks: set[SSAValue] = set()
        self.places: dict[LoadOp | StoreOp, tuple[int, int] | None] = {}

    def understands(self, op: Operation) -> bool:
        """Whether an op does the same for a column whichever part it is in; ops are asked for in their order."""
        if isinstance(op, ForOp):
            return self._loop(op)
        if isinstance(op, LoadOp | StoreOp):
            return self._access(op)
        if not any(value in self.left for value in op.operands):
            self.masks.update(op.results if isinstance(op, arith.AndIOp) and not self.masks.isdisjoint(op.operands) else ())
            return isinstance(op, PrefetchOp | YieldOp | BroadcastOp) or op.name.startswith(("arith.", "math."))
        if isinstance(op, CreateMaskOp):
            is_end = [self.left.get(value) for value in op.operands] in [[form] for form in self._ends()]
            self.masks.update(op.results if is_end else ())
            return is_end
        return isinstance(op, PrefetchOp) or self._index(op)

    def _ends(self) -> list[Affine]:
        """How many lanes are columns: what is left of the row."""
        rest = Affine.of(self.end) - Affine.of(self.parts.index)
        return [rest, *(rest - Affine.of(column) for column in self.columns)]

    def _loop(self, op: ForOp) -> bool:
        if any(value in self.left for value in op.operands):
            return False
        if op.kind.data == "vector":
            self.columns.add(op.index)
            self.left[op.index] = Affine.of(op.index)
            return op.constant_bounds() == (0, self.size) and op.step.value.data == self.size
        return True

    def _access(self, op: LoadOp | StoreOp) -> bool:
        subscripts = forms(op.map.data, op.indices)
        moved = [dim for dim, value in enumerate(subscripts) if self._moves(value)]
        self.places[op] = (moved[0], subscripts[moved[0]].constant) if moved else None
        if not moved:
            return isinstance(op, LoadOp) and op.lanes == 1
        column = {Affine.of(self.parts.index) + Affine.of(value) for value in self.columns}
        is_column = len(moved) == 1 and subscripts[moved[0]] - subscripts[moved[0]].constant in column
        return is_column and op.mask in self.masks and (op.lanes, op.lane_dim(), op.lane_step()) == (self.size, moved[0], 1)

    def _moves(self, form: Affine) -> bool:
        return any(value in self.left for value in form.values())

    def _index(self, op: Operation) -> bool:
        """Arithmetic on what is left of a row, up to the size of a part."""
        if len(op.operands) != 2 or len(op.results) != 1:
            return False
        x, y = (self.left.get(value, Affine.of(value)) for value in op.operands)
        result = None
        if isinstance(op, arith.AddiOp):
            result = x + y
        elif isinstance(op, arith.SubiOp):
            result = x - y
        elif isinstance(op, arith.MuliOp) and (x.number is not None or y.number is not None):
            result = x * y.number if y.number is not None else y * (x.number or 0)
        elif isinstance(op, arith.MinSIOp):
            result = next((b for a, b in ((x, y), (y, x)) if a.number == self.size and b in self._ends()), None)
        if result is not None:
            self.left[op.results[0]] = result
        return result is not None


def begin_before_row(columns: Columns, block: Block, part: SSAValue) -> None:
    """Make a block for a part of a row one for a part that begins before it, at a negative `part`, and ends in its first line.

    Only the lanes of that line from column 0 on are columns. Lanes of other lines are known to be off, so that nothing is
    written for them; prefetches of other lines go.
    """
    unused = columns.size - _LINE * 8 // columns.bits
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
    """What a thread gets instead of the columns from `first` to `last`, two ranges: (first, last, first, last).

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
    """The first column whose element begins a cache line; 0 where that differs from row to row."""
    b, buffer = e.b, e.buffer(columns.store.buffer, columns.store)
    line = _LINE * 8 // columns.bits
    if buffer.strides[columns.dim] != 1:
        return "0"
    back = b.emit(f"sub i64 0, {b.emit(f'ptrtoint ptr {buffer.pointer} to i64')}")
    found = b.emit(f"udiv i64 {b.emit(f'and i64 {back}, {_LINE - 1}')}, {columns.bits // 8}")
    pitches = [stride for dim, stride in enumerate(buffer.strides) if dim != columns.dim]
    turned = "0"
    for pitch in pitches:
        turned = b.emit(f"or i64 {turned}, {pitch}")
    rest = b.emit(f"and i64 {turned}, {line - 1}")
    return b.select(b.icmp("eq", rest, "0", I64), found, "0", I64)

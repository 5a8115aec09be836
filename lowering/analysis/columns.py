"""Columns of rows that are divided among threads: whether a part of them may begin and end at any column.

    loop.for parallel %do = 0 to %D step 32 {
      loop.for seq %e = 0 to %E {
        loop.for vector %di = 0 to 32 step 32 {      // lanes below %D - %do
          ... %out[%row, %do + %di] ...

The results of such a loop in a column depend on `%do + %di` alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.vector import BroadcastOp, CreateMaskOp
from xdsl.ir import Operation, SSAValue

from ...codegen.targets.base import LINE_BYTES
from ...dialects.loop.loops import ForOp, YieldOp
from ...dialects.loop.memory import LoadOp, PrefetchOp, StoreOp
from ...dialects.scalar_ops import is_arithmetic
from .affine import Affine, forms
from .nests import walk


@dataclass(frozen=True)
class Columns:
    """The columns of a parallel loop over parts of rows, which may be divided anywhere.

    Attributes:
        end: the number of columns.
        size: columns in a part.
        store: a store whose cache lines count: one through a gather index, if there is one.
        dim: the dim of its buffer that is indexed by the columns.
        bits: the width of an element of the buffer.
    """

    end: SSAValue
    size: int
    store: StoreOp
    dim: int
    bits: int


def find_columns(parts: ForOp) -> Columns | None:
    """The columns of a parallel loop over parts of rows, if the results do not depend on where a part begins and ends.

    That is so if each lane is a column, depends on its own index alone, and stores to elements of its own.
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
    if place is None or reader.size * bits < 8 * LINE_BYTES:
        return None
    return Columns(end, reader.size, store, place[0], bits)


class _Reader:
    """Analyses the body of a loop over parts, op by op.

    Attributes:
        places: for each access the dim indexed by the columns, and its offset in elements; None: there is no such dim.
        columns: the indices of vector loops, the columns of a part.
        left: values computed from these, in terms of the part, the column in it and the end.
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
        """Whether an op does the same for a column in any part; ops must be queried in their order."""
        if isinstance(op, ForOp):
            return self._loop(op)
        if isinstance(op, LoadOp | StoreOp):
            return self._access(op)
        if not any(value in self.left for value in op.operands):
            self.masks.update(op.results if isinstance(op, arith.AndIOp) and not self.masks.isdisjoint(op.operands) else ())
            return isinstance(op, PrefetchOp | YieldOp | BroadcastOp) or is_arithmetic(op)
        if isinstance(op, CreateMaskOp):
            is_end = [self.left.get(value) for value in op.operands] in [[form] for form in self._ends()]
            self.masks.update(op.results if is_end else ())
            return is_end
        return isinstance(op, PrefetchOp) or self._index(op)

    def _ends(self) -> list[Affine]:
        """The number of lanes that are columns: the remainder of the row."""
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
        """Arithmetic on the remainder of a row, up to the size of a part."""
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

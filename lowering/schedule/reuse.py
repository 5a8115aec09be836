"""Share values that two neighbouring loops both compute: the first stores them in a local array, the second loads them.

    before                                         after loop-reuse{first=k second=j}
    loop.for parallel %i = 0 to 64 {               loop.for parallel %i = 0 to 64 {
      %s = loop.for reduce<add> %k = 0 to 256        %k_row = loop.alloc scratch : memref<256xf32>
          init %zero {                               %s = loop.for reduce<add> %k = 0 to 256 init %zero {
        %a = loop.load %x[%i, %k]                      %a = loop.load %x[%i, %k]
        %e = math.exp %a : f32                         %e = math.exp %a : f32
        loop.yield %e                                  loop.store %e, %k_row[%k]
      }                                                loop.yield %e
      loop.for parallel %j = 0 to 256 {              }
        %b = loop.load %x[%i, %j]                    loop.for parallel %j = 0 to 256 {
        %f = math.exp %b : f32                         %f = loop.load %k_row[%j]
        %y = arith.divf %f, %s : f32                   %y = arith.divf %f, %s : f32
        loop.store %y, %y[%i, %j]                      loop.store %y, %y[%i, %j]

A value is shared if it costs at least `cost` operations (an exponential counts as 20, a load or a sum as 1); cheaper ones are
recomputed. With `into=y` the first value is kept in the buffer to which the second loop stores its result, here in %y[%i, %k].

Requires two loops of one body that count from 0 by 1 to the same constant. A shared value is computed from indices, values from
outside the loops, and loads from buffers that nothing writes from the first loop to the end of the second. A buffer that keeps
values is accessed by a single store, of each iteration of the second loop, to a different element. Returns no names.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.loop.gather import ScatterOp
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.types import memref
from ..analysis.lanes import lane_stride
from ..analysis.nests import find, fresh, name_of, ops_in, statements
from ..analysis.regions import find_buffer
from ..op_costs import instructions
from ..widening import is_lanewise, sweep
from .base import Primitive
from .cloning import remove

WORTH = 8
"""Number of operations from which a store and a load are cheaper than recomputation."""


def count_of(loop: ForOp) -> int | None:
    """The trip count of a loop that counts from 0 by 1 to a constant."""
    bounds = loop.constant_bounds()
    return bounds[1] if bounds is not None and bounds[0] == 0 and loop.step.value.data == 1 else None


class _Values:
    """Numbers for the values that a loop computes in each iteration, equal where the computations are; and their costs.

    Two loops are compared by numbering them with one table. A key holds the numbers of its operands and not their keys: keys
    that held keys would be hashed as trees, which double with every value that is used twice.

    Attributes:
        numbers: the number of each value that the table knows.
        costs: the number of operations of a value, those of its operands included.
    """

    def __init__(self, loop: ForOp, written: set[SSAValue], table: dict[Hashable, int]):
        self.numbers: dict[SSAValue, int] = {}
        self.costs: dict[SSAValue, float] = {}
        self._table, self._inside = table, loop.body.block
        self._define(loop.index, "index")
        for op in loop.body.block.ops:
            if isinstance(op, LoadOp):
                if op.lanes != 1 or op.mask is not None or op.buffer in written:
                    continue
                given: Hashable = (op.buffer, op.map.data)
            elif is_lanewise(op):
                given = (op.name, tuple(sorted(op.properties.items(), key=lambda item: item[0])))
            else:
                continue
            operands = [self._number(operand) for operand in op.operands]
            if None not in operands:
                self._define(op.results[0], (given, op.results[0].type, *operands))
                of_operands = sum(self.costs.get(o, 0) for o in dict.fromkeys(op.operands))
                self.costs[op.results[0]] = instructions(op) + of_operands

    def _define(self, value: SSAValue, key: Hashable) -> None:
        self.numbers[value] = self._table.setdefault(key, len(self._table))

    def _number(self, value: SSAValue) -> int | None:
        """None for other ops of the body, and for loops in it."""
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent
        if block is self._inside:
            return self.numbers.get(value)
        return self._table.setdefault(value, len(self._table))


def shared_values(first: ForOp, second: ForOp, cost: float) -> list[tuple[SSAValue, SSAValue]]:
    """The values that both loops compute at `cost` or more, for which the second has other uses: (first's, second's)."""
    written: set[SSAValue] = set()
    op: Operation | None = first
    while op is not None:
        written.update(inner.buffer for inner in ops_in(op, StoreOp, ScatterOp))
        op = op.next_op if op is not second else None
    table: dict[Hashable, int] = {}
    before, after = _Values(first, written, table), _Values(second, written, table)
    by_number = {number: value for value, number in before.numbers.items()}
    common = {value: by_number[n] for value, n in after.numbers.items() if n in by_number and value in after.costs}
    return [
        (mine, value)
        for value, mine in common.items()
        if after.costs[value] >= cost and any(not any(r in common for r in use.operation.results) for use in value.uses)
    ]


def waiting_store(kernel: KernelOp, buffer: SSAValue, second: ForOp, value: SSAValue) -> StoreOp | None:
    """The store of the second loop to whose elements a value may be stored earlier, if there is one."""
    uses = [use.operation for use in buffer.uses]
    if len(uses) != 1 or not isinstance(buffer, BlockArgument) or kernel.in_place_pairs:
        return None
    (store,) = uses
    if not isinstance(store, StoreOp) or store.parent is not second.body.block or store.lanes != 1 or store.mask is not None:
        return None
    stride = lane_stride(store, second.index)
    own = stride is not None and stride[1] != 0
    known = all(isinstance(index, BlockArgument) for index in store.indices)
    return store if own and known and store.value.type == value.type else None


@dataclass(frozen=True)
class Reuse(Primitive):
    """Share values that the first of two loops computes with the second.

    Attributes:
        first: the loop that computes the values.
        second: a later loop in the same body.
        cost: the least number of operations of a shared value.
        into: the buffer that keeps the first of the shared values; "": a local array.
    """

    name = "loop-reuse"

    first: str
    second: str
    cost: int = WORTH
    into: str = ""

    def check(self, kernel: KernelOp) -> None:
        first, second = (find(kernel, name, self.name) for name in (self.first, self.second))
        if first.parent is not second.parent or first is second or not first.is_before_in_block(second):
            raise self.refuse(f"{self.first} and {self.second} are not two loops of one body, in this order")
        if count_of(first) is None or count_of(first) != count_of(second):
            raise self.refuse(f"{self.first} and {self.second} do not both count from 0 by 1 to one constant")
        shared = shared_values(first, second, self.cost)
        if not shared:
            raise self.refuse(f"{self.second} computes nothing again that costs {self.cost} operations")
        if self.into and waiting_store(kernel, find_buffer(kernel, self.into, self.name), second, shared[0][0]) is None:
            raise self.refuse(
                f"a value of {self.first} cannot be kept in {self.into}: one access to it is allowed, a store of the value's "
                f"type in every iteration of {self.second}, to an element whose subscripts are loop indices"
            )

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        first, second = (find(kernel, name, self.name) for name in (self.first, self.second))
        for k, (value, again) in enumerate(shared_values(first, second, self.cost)):
            op = again.owner
            assert isinstance(op, Operation)
            if self.into and k == 0:
                load = self._wait(kernel, first, second, value)
            else:
                load = LoadOp.build_load(self._row(kernel, first, value), AffineMap.identity(1), [second.index])
            load.location, load.value.name_hint = op.location, again.name_hint
            second.body.block.insert_op_before(load, op)
            again.replace_all_uses_with(load.value)
        sweep(second.body.block)
        for op in reversed(statements(second.body.block)):
            if isinstance(op, LoadOp) and not op.value.uses:
                remove(op)
        sweep(second.body.block)
        return ()

    def _wait(self, kernel: KernelOp, first: ForOp, second: ForOp, value: SSAValue) -> LoadOp:
        """Store a value of the first loop in the element of the second's result; returns the load of it for the second."""
        last, op = waiting_store(kernel, find_buffer(kernel, self.into, self.name), second, value), value.owner
        assert last is not None and isinstance(op, Operation)
        at = [first.index if index is second.index else index for index in last.indices]
        store = StoreOp.build_store(value, last.buffer, last.map.data, at)
        store.location = op.location
        first.body.block.insert_op_after(store, op)
        return LoadOp.build_load(last.buffer, last.map.data, list(last.indices))

    def _row(self, kernel: KernelOp, first: ForOp, value: SSAValue) -> SSAValue:
        """The local array with a value of all iterations of the first loop; made if there is none."""
        for use in value.uses:
            store = use.operation
            if isinstance(store, StoreOp) and use.index == 0 and isinstance(store.buffer.owner, AllocOp):
                same_block = store.buffer.owner.parent is first.parent
                if same_block and store.map.data == AffineMap.identity(1) and list(store.indices) == [first.index]:
                    return store.buffer
        op, block = value.owner, first.parent
        assert isinstance(op, Operation) and block is not None
        row = AllocOp.build_alloc(
            "scratch", memref(value.type, (count_of(first) or 0,)), name=fresh(kernel, f"{name_of(first)}_row")
        )
        store = StoreOp.build_store(value, row.buffer, AffineMap.identity(1), [first.index])
        row.location = store.location = op.location
        block.insert_op_before(row, first)
        first.body.block.insert_op_after(store, op)
        return row.buffer

"""The body of a loop copied for several iterations at once: values that differ between iterations become vectors.

Loop-invariant values stay scalars until they meet a vector. Accesses with a constant stride move all lanes together; other ones
are gathers and scatters. Lanes that are off (`Body.mask`) neither read nor write memory; their values are never used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IndexType, MemRefType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineMap

from ...dialects.loop.gather import GatherOp, ScatterOp
from ...dialects.loop.loops import ForOp, IfOp, WhileOp, YieldOp
from ...dialects.loop.memory import AllocOp, CheckOp, LoadOp, PrefetchOp, StoreOp
from ...dialects.operations import append, clone, create, ops_of
from ...dialects.scalar import ScalarBuilder
from ...dialects.types import memref
from ...dialects.types import vector as vector_type
from ...dialects.vocabulary import IndexCastOp, StepOp, number_of
from ..analysis.facts import at_first
from ..analysis.lanes import always_inside, movement, varying_values
from ..index_arith import IndexArith
from . import flow

_INDEX = IndexType()
_WORD = (_INDEX, i64)


class Body:
    """Copies the body of `loop` into `block`, whose first argument is the index of lane 0.

    Args:
        top: a block for ops before the loop: constants, vectors of outer values.
        mask: the lanes that are on; None: all. Where all are off, an iteration before had some, so that shared elements are
            accessed anyway.

    Attributes:
        mask: the lanes that are on at the insertion point.
        apart: whether that depends on bounds of loops, too: lanes that are off are then outside the kernel's iterations.
    """

    def __init__(self, loop: ForOp, lanes: int, block: Block, top: Block, mask: SSAValue | None = None):
        self.loop, self.lanes, self.block, self.top = loop, lanes, block, top
        self.varying = at_first(varying_values, loop)
        self.mask = self.outer_mask = mask
        self.apart = False
        self.values: dict[SSAValue, SSAValue] = {loop.index: block.args[0]}
        self.vectors: dict[SSAValue, SSAValue] = {}
        self._first: dict[SSAValue, SSAValue] = {}
        self._steps: dict[SSAValue, int | None] = {loop.index: loop.step.value.data}
        self._inside: dict[Operation, bool] = {}
        self._strides: dict[Operation, tuple[int, int] | None] = {}

    def copy(self, source: Block, target: Block) -> None:
        """Append the ops of a block except its terminator to another."""
        for op in ops_of(source):
            kind = type(op)
            if kind is YieldOp:
                continue
            copy = _COPIES.get(kind)
            if copy is not None:
                copy(self, op, target)
            elif self.varying.isdisjoint(op._operands):
                self.add(clone(op, self.values), op, target)
            else:
                self._widened(op, target)

    # Values

    def add(self, new: Operation, old: Operation, target: Block) -> None:
        """Append the copy of an op, whose results replace those of the op."""
        new.location = old.location
        append(target, new)
        for a, b in zip(old.results, new.results, strict=False):
            b._name = a._name  # it is valid: the setter would prove it once more
            self.values[a] = b

    def scalar(self, value: SSAValue) -> SSAValue:
        """The copy of an invariant value or of a buffer; for the index, that of lane 0."""
        return self.values.get(value, value)

    def step(self, value: SSAValue) -> int | None:
        """The difference of an index between lanes; None when it is not constant."""
        if value not in self.varying:
            return 0
        if value not in self._steps:
            self._steps[value] = self._step(value)
        return self._steps[value]

    def _step(self, value: SSAValue) -> int | None:
        op = value.owner
        if not isinstance(op, arith.AddiOp | arith.SubiOp | arith.MuliOp | IndexCastOp):
            return None
        if any(v.type not in _WORD for v in (value, *op.operands)):  # narrower ones may wrap in some lanes
            return None
        steps = [self.step(operand) for operand in op.operands]
        x, y = steps[0], steps[-1]
        if x is None or y is None:
            return None
        if isinstance(op, IndexCastOp):
            return x
        if isinstance(op, arith.AddiOp):
            return x + y
        if isinstance(op, arith.SubiOp):
            return x - y
        for step, factor in zip((x, y), reversed(op.operands), strict=True):
            if (number := number_of(factor)) is not None:
                return step * int(number)
        return None

    def first(self, value: SSAValue, target: Block) -> SSAValue:
        """An index in lane 0, for indices that `step` knows."""
        if value not in self.varying or value is self.loop.index:
            return self.scalar(value)
        known = self._first.get(value)
        if known is None or not is_visible(known, target):
            op = value.owner
            assert isinstance(op, Operation)
            operands = [self.first(operand, target) for operand in op.operands]
            clone = create(type(op), operands=operands, result_types=[value.type], properties=dict(op.properties))
            clone.location = op.location
            target.add_op(clone)
            known = self._first[value] = clone.results[0]
        return known

    def wanted(self, value: SSAValue, like: SSAValue, target: Block) -> SSAValue:
        """The vector of a value when `like` is one, else its scalar."""
        return self.vector(value, target) if like in self.varying else self.scalar(value)

    def type_of(self, value: SSAValue) -> Attribute:
        """The type of a value's copy."""
        return vector_type(value.type, self.lanes) if value in self.varying else value.type

    def vector(self, value: SSAValue, target: Block) -> SSAValue:
        """The vector of a value: itself when it differs between lanes, else a broadcast of the scalar."""
        scalar = self.scalar(value)
        if value is self.loop.index:
            return self._of_index(scalar, target)
        if value in self.varying:
            return scalar
        return self.spread(scalar, self.top if value not in self.values else target)

    def spread(self, scalar: SSAValue, target: Block) -> SSAValue:
        """A broadcast of a scalar; a value from outside the loop is broadcast before it."""
        known = self.vectors.get(scalar)
        if known is not None and is_visible(known, target):
            return known
        lanes = vector_type(scalar.type, self.lanes)
        if (number := number_of(scalar)) is not None:
            splat = self.constant(number, lanes)
        elif isinstance(scalar.owner, LoadOp) and scalar.owner.parent is target:  # one instruction, if they stay together
            op = create(vector.BroadcastOp, operands=[scalar], result_types=[lanes])
            target.insert_op_after(op, scalar.owner)
            splat = op.results[0]
        else:
            splat = ScalarBuilder(target).insert(create(vector.BroadcastOp, operands=[scalar], result_types=[lanes]))
        self.vectors[scalar] = splat
        return splat

    def _of_index(self, scalar: SSAValue, target: Block) -> SSAValue:
        known = self.vectors.get(scalar)
        if known is not None and is_visible(known, target):
            return known
        lanes, builder = vector_type(_INDEX, self.lanes), ScalarBuilder(target)
        splat = builder.insert(create(vector.BroadcastOp, operands=[scalar], result_types=[lanes]))
        step = self.loop.step.value.data
        apart = self.numbers(target)
        if step != 1:
            apart = builder.mul(apart, self.constant(step, lanes))
        self.vectors[scalar] = found = builder.add(splat, apart)
        return found

    def numbers(self, target: Block) -> SSAValue:
        """The number of each lane."""
        return ScalarBuilder(target).insert(StepOp.create(result_types=[vector_type(_INDEX, self.lanes)]))

    def constant(self, value: float | int, type: Attribute) -> SSAValue:
        """A constant before the loop."""
        return ScalarBuilder(self.top).const(value, type)

    def both(self, condition: SSAValue, mask: SSAValue | None, target: Block) -> SSAValue:
        """The lanes of a mask in which a condition holds."""
        return condition if mask is None else ScalarBuilder(target).binary("and", mask, condition)

    def index_arith(self, target: Block) -> IndexArith:
        """Index arithmetic on scalars and vectors of lanes."""
        return IndexArith(target, self.top, lambda scalar: self.spread(scalar, target))

    def _widened(self, op: Operation, target: Block) -> None:
        operands = [self.vector(operand, target) for operand in op.operands]
        types = [vector_type(result.type, self.lanes) for result in op.results]
        self.add(create(type(op), operands=operands, result_types=types, properties=dict(op.properties)), op, target)

    # Memory

    def is_own(self, buffer: SSAValue) -> bool:
        """Whether every lane has its own copy of a buffer."""
        return buffer in self.varying

    def _alloc(self, op: AllocOp, target: Block) -> None:
        """A local buffer of each lane: one more dim, the innermost, so that lanes are neighbours."""
        type = op.results[0].type
        assert isinstance(type, MemRefType)
        wide = memref(type.element_type, (*type.get_shape(), self.lanes))
        self.add(AllocOp.build_alloc(op.space.data, wide, [self.scalar(size) for size in op.sizes]), op, target)

    def is_same(self, op: LoadOp | StoreOp) -> bool:
        """Whether all lanes access the same element of a buffer, or of their own copies of one."""
        return self._stride(op) == (0, 0)

    def _stride(self, op: LoadOp | StoreOp) -> tuple[int, int] | None:
        """(buffer dim, elements) between lanes; (0, 0): the same element; None: anything else."""
        if op not in self._strides:
            self._strides[op] = self._find_stride(op)
        return self._strides[op]

    def _find_stride(self, op: LoadOp | StoreOp) -> tuple[int, int] | None:
        stride = movement(op.map.data, tuple([self.step(index) for index in op.indices]))
        return None if stride != (0, 0) and self.is_own(op.buffer) else stride

    def may_read(self, op: LoadOp) -> bool:
        """Whether a load is inside its buffer in every lane, even where a condition turns the lane off."""
        if self.apart or self.is_own(op.buffer):
            return False
        if op not in self._inside:
            self._inside[op] = always_inside(op)
        return self._inside[op]

    def _mask(self, op: LoadOp | StoreOp) -> SSAValue | None:
        # nobody reads the private copies of lanes that are always off
        if self.is_own(op.buffer) and self.mask is self.outer_mask and self.is_same(op):
            return None
        if self.mask is not self.outer_mask and isinstance(op, LoadOp) and self.may_read(op):
            return self.outer_mask
        return self.mask

    def _indices(self, op: LoadOp | StoreOp | PrefetchOp, target: Block) -> list[SSAValue]:
        return [self.first(index, target) for index in op.indices]

    def _access(self, op: LoadOp | StoreOp, target: Block) -> tuple[AffineMap, list[SSAValue], int, int]:
        """The (subscripts, their indices, dim, elements) of a vector access."""
        map, indices = op.map.data, self._indices(op, target)
        if self.is_own(op.buffer):
            map = AffineMap(map.num_dims, 0, (*map.results, AffineConstantExpr(0)))
            return map, indices, len(map.results) - 1, 1
        stride = self._stride(op)
        assert stride is not None
        return map, indices, *stride

    def _subscripts(self, op: LoadOp | StoreOp, target: Block) -> list[SSAValue]:
        """One subscript for each dim, varying ones as vectors."""
        dims = [self.vector(v, target) if v in self.varying else self.scalar(v) for v in op.indices]
        arithmetic = self.index_arith(target)
        found = [arithmetic.value(expr, dims) for expr in op.map.data.results]
        return [*found, self.numbers(target)] if self.is_own(op.buffer) else found

    def _load(self, op: LoadOp, target: Block) -> None:
        buffer, stride = self.scalar(op.buffer), self._stride(op)
        if stride is None:
            self.add(GatherOp.build_gather(buffer, self._subscripts(op, target), self.lanes, self._mask(op)), op, target)
        elif self.is_same(op) and not self.is_own(op.buffer):
            self.add(LoadOp.build_load(buffer, op.map.data, self._indices(op, target)), op, target)
            if op.value in self.varying:  # of varying indices, whose variation cancels
                self.values[op.value] = self.spread(self.values[op.value], target)
        else:
            map, indices, along, step = self._access(op, target)
            new = LoadOp.build_load(buffer, map, indices, lanes=self.lanes, along=along, stride=step, mask=self._mask(op))
            self.add(new, op, target)

    def _store(self, op: StoreOp, target: Block) -> None:
        buffer, stride = self.scalar(op.buffer), self._stride(op)
        shared = self.is_same(op) and not self.is_own(op.buffer)
        if shared and op.value not in self.varying:
            indices = self._indices(op, target)
            self.add(StoreOp.build_store(self.scalar(op.value), buffer, op.map.data, indices), op, target)
        elif shared or stride is None:  # in the order of the lanes: of several that write one element the last one stays
            value = self.vector(op.value, target)
            self.add(ScatterOp.build_scatter(value, buffer, self._subscripts(op, target), self.mask), op, target)
        else:
            map, indices, along, step = self._access(op, target)
            value = self.vector(op.value, target)
            new = StoreOp.build_store(value, buffer, map, indices, along=along, stride=step, mask=self._mask(op))
            self.add(new, op, target)

    def _prefetch(self, op: PrefetchOp, target: Block) -> None:
        """The element that lane 0 accesses; None where its subscript is computed from data."""
        if all(self.step(index) is not None for index in op.indices):
            buffer = self.scalar(op.buffer)
            if not self.is_own(op.buffer):
                self.add(PrefetchOp.build_prefetch(buffer, op.map.data, self._indices(op, target)), op, target)


def is_visible(value: SSAValue, target: Block) -> bool:
    """Whether a value is defined in a block or around it, or in a detached block."""
    home = value.owner if isinstance(value.owner, Block) else value.owner.parent
    block: Block | None = target
    while block is not None:
        if block is home:
            return True
        parent = block.parent_op()
        block = parent.parent if parent is not None else None
    return home is not None and home.parent is None


_COPIES: Mapping[type[Operation], Callable[[Body, Any, Block], None]] = {
    LoadOp: Body._load,
    StoreOp: Body._store,
    AllocOp: Body._alloc,
    PrefetchOp: Body._prefetch,
    ForOp: flow.copy_for,
    WhileOp: flow.copy_while,
    IfOp: flow.copy_if,
    CheckOp: flow.copy_check,
}

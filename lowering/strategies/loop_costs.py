"""What loops of unknown sizes cost, scalar or widened, in instructions: which of a nest to run on vectors.

An estimate is asked before any proof: it is cheap, so that the few loops that look best are the only ones whose dependences
are decided.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...codegen.targets import Target
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.loop.structure import ForOp, IfOp, WhileOp, YieldOp
from ...dialects.loop.subscripts import linear_form
from ...dialects.types import is_bool, is_float
from ..analysis.lanes import has_own_bounds, lane_stride, runs_along, stops_apart, varying_values
from ..analysis.nests import around, holds, ops_in, walk
from ..op_costs import weight
from ..widening import obstacle

_TRIPS = 256.0
"""What a loop of unknown bounds runs."""
_DATA_TRIPS = 32.0
"""What a loop runs whose bounds are read from memory, as the rows of a sparse matrix are long."""
_BY_LANE = ("arith.divsi", "arith.remsi", "arith.divui", "arith.remui")
"""Ops that no vector unit has."""
_GATHER = 1.5
"""What a lane of a gather costs; of a scatter twice as much."""
_APART = 1.5
"""Lanes that stop at different times wait for the last one."""
_LINE_BITS = 512
_LITTLE = 10_000.0
"""Instructions that a thread is not woken for."""


@dataclass
class Plan:
    """The cheapest way to run something: instructions, and the loops to widen."""

    cost: float
    widened: list[ForOp]


def trips(loop: ForOp) -> float:
    """How often a loop runs, guessed where it is not known."""
    known = loop.trip_count()
    if known is not None:
        return known
    bounds = (*loop.lower_operands, *loop.upper_operands)
    return _DATA_TRIPS if any(isinstance(v.owner, Operation) for v in bounds) else _TRIPS


def bits_of(type: Attribute) -> int:
    """Bits of a number that is computed with; 0 of indices and truth values, which fit themselves to others."""
    if isinstance(type, IndexType) or is_bool(type) or not hasattr(type, "bitwidth"):
        return 0
    return type.bitwidth  # pyright: ignore[reportAttributeAccessIssue]


def widest(loop: ForOp) -> int:
    """Bits of the widest number that differs from lane to lane."""
    varying = varying_values(loop)
    bits = 8
    for op in walk(loop.body.block):
        if isinstance(op, StoreOp):
            bits = max(bits, bits_of(op.value.type))
        for result in op.results:
            if result in varying:
                bits = max(bits, bits_of(result.type))
    return bits


def has_neighbours(loop: ForOp) -> bool:
    """Whether a loop reads elements side by side of one row, as a stencil: most of its vectors are not aligned."""
    rows: dict[object, set[int]] = {}
    for op in walk(loop.body.block):
        if isinstance(op, LoadOp) and runs_along(op, loop):
            *outer, last = op.map.data.results
            form = linear_form(last, len(op.indices))
            if form is not None:
                rows.setdefault((op.buffer, tuple(outer), tuple(op.indices), tuple(form[0])), set()).add(form[1])
    return any(len(offsets) > 1 for offsets in rows.values())


def is_order_free(loop: ForOp) -> bool:
    """Whether a reduction gives the same bits in any order: sums of integers, extremes."""
    monoid = loop.monoid
    if monoid is None:
        return False
    return monoid.data in ("min", "max") or not any(is_float(result.type) for result in loop.results)


def may_widen(loop: ForOp) -> bool:
    """Whether a loop is of a kind that keeps its meaning on vectors if its iterations are independent."""
    if loop.results and not is_order_free(loop):
        return False
    known = loop.trip_count()
    return loop.kind.data in ("seq", "parallel", "reduce") and (known is None or known >= 4) and obstacle(loop) is None


class Costs:
    """Estimates for one target; loops in `refused` are known not to be independent."""

    def __init__(self, target: Target):
        self.target = target
        self.refused: set[str | None] = set()

    def plan(self, loop: ForOp) -> Plan:
        """The cheapest way to run a loop once."""
        inner = self._block(loop.body.block)
        best = Plan(trips(loop) * (inner.cost + 1), inner.widened)
        if loop.index.name_hint in self.refused or not may_widen(loop):
            return best
        lanes = self.target.lanes(widest(loop))
        runs = trips(loop) / lanes
        wide = Plan(runs * (self._wide(loop.body.block, loop, varying_values(loop), lanes) + 2), [loop])
        return wide if wide.cost < best.cost else best

    def lanes(self, loop: ForOp) -> int:
        """How many lanes a loop that is widened gets."""
        lanes = self.target.lanes(widest(loop))
        if holds(loop.body.block, ForOp, WhileOp):
            lanes *= 2  # what each iteration of a loop inside waits for, two chains hide
        elif self.target.vector_bits > _LINE_BITS // 2 and has_neighbours(loop):
            lanes //= 2  # each vector of a whole cache line that is not aligned is in two of them
        elif not around(loop):
            lanes *= 2
        known = loop.trip_count()
        while known is not None and lanes // 2 >= known:
            lanes //= 2
        return max(2, lanes)

    def is_little(self, loop: ForOp) -> bool:
        """Whether a nest is known to have too little work for threads."""
        nest = ops_in(loop, ForOp, WhileOp)
        known = all(isinstance(op, ForOp) and op.trip_count() is not None for op in nest)
        return known and self.plan(loop).cost < _LITTLE

    def _block(self, block: Block) -> Plan:
        total = Plan(0.0, [])
        for op in block.ops:
            if isinstance(op, ForOp):
                part = self.plan(op)
            elif op.regions:
                parts = [self._block(inner) for region in op.regions for inner in region.blocks]
                times = _DATA_TRIPS if isinstance(op, WhileOp) else 1.0
                part = Plan(times * sum(p.cost for p in parts), [loop for p in parts for loop in p.widened])
            else:
                part = Plan(0.0 if isinstance(op, YieldOp) else weight(op, self.target), [])
            total = Plan(total.cost + part.cost, total.widened + part.widened)
        return total

    def _wide(self, block: Block, loop: ForOp, varying: set[SSAValue], lanes: int) -> float:
        """Instructions of one run of a block in `lanes` iterations of `loop` at once."""
        total = 0.0
        for op in block.ops:
            if isinstance(op, ForOp):
                apart = _APART if has_own_bounds(op, varying) else 1.0
                total += apart * trips(op) * (self._wide(op.body.block, loop, varying, lanes) + 1)
            elif isinstance(op, WhileOp):
                apart = _APART if stops_apart(op, varying) else 1.0
                total += apart * _DATA_TRIPS * self._wide(op.body.block, loop, varying, lanes)
            elif isinstance(op, IfOp):
                total += 2 + sum(self._wide(b, loop, varying, lanes) for region in op.regions for b in region.blocks)
            elif isinstance(op, LoadOp | StoreOp):
                total += _access(op, loop, varying, lanes)
            elif not isinstance(op, YieldOp):
                moves = any(o in varying for o in op.operands)
                total += weight(op, self.target) * (lanes if moves and op.name in _BY_LANE else 1)
        return total


def _access(op: LoadOp | StoreOp, loop: ForOp, varying: set[SSAValue], lanes: int) -> float:
    """Instructions of an access of `lanes` elements."""
    type = op.buffer.type
    assert isinstance(type, MemRefType)
    gathered = _GATHER * lanes * (2 if isinstance(op, StoreOp) else 1)
    if op.buffer in varying:  # a local buffer of each lane lies side by side
        return 1.0
    if any(index in varying and index is not loop.index for index in op.indices):
        return gathered
    stride = lane_stride(op, loop.index)
    if stride is None:
        return gathered
    dim, step = stride
    if step == 0:
        return 1.0 if isinstance(op, LoadOp) else gathered
    return 1.0 if dim == type.get_num_dims() - 1 and abs(step) == 1 else gathered

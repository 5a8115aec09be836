"""The cost model of the default schedule: instructions of ops, blocks and loops, scalar or on vectors.

Estimates precede proofs: they are cheap, so that dependences are decided only for the loops that look best. They say nothing
about legality: a strategy decides which loops it may widen.

The costs of ops are in `op_costs.py`, those of a lane of an indirect or strided access in the target (`gather`, `scatter`,
`far`). The grouping of sums, which is the same on every machine, is computed without a target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod, sqrt

from xdsl.dialects.builtin import IndexType, VectorType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from ..codegen.targets import Target
from ..codegen.targets.base import LINE_BYTES
from ..dialects.loop.loops import ForOp, IfOp, WhileOp, YieldOp
from ..dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ..dialects.loop.subscripts import linear_form
from ..dialects.operations import ops_of
from ..dialects.scalar_facts import facts_of
from ..dialects.types import DYNAMIC, is_bool, is_float, scalar_of, shape_of
from .analysis.bounds import constant_extent
from .analysis.conditions import known_at
from .analysis.facts import kept
from .analysis.lanes import has_own_bounds, lane_stride, runs_along, stops_apart, varying_values
from .analysis.nests import around, holds, ops_in, walk
from .analysis.parallel import LANES_AT_ONCE
from .analysis.regions import lowers, uppers
from .op_costs import instructions

TRIPS = 256.0
"""Assumed trip count of a loop of unknown bounds."""
DATA_TRIPS = 32.0
"""Assumed trip count of a loop with bounds from memory, like the length of the rows of a sparse matrix."""
_DIVERGENCE = 1.5
"""Lanes that stop at different times wait for the last one (a factor on instructions)."""
_SEARCHING = 2.5
"""The same where a condition on data stops them: trip counts then differ more than the lengths of rows do."""
_LATENCY = 8.0
"""Latency of an addition, in instructions."""
_IN_ORDER = 2.0
"""Instructions that add one lane of a vector to a sum that keeps its order."""
_OVERLAPPED = 64
"""Greatest number of terms of a sum whose latency is hidden: processors execute later ops meanwhile."""
_CHAINS = 4
"""Registers in a vector of partial sums: several chains hide the latency of their additions."""
_FEW_FUNCTIONS = 2
"""Functions of one register each in a body whose polynomials leave no registers for a second one."""


def scalar_cost(block: Block) -> float:
    """Instructions of one run of a block on a generic machine, without vectorization."""
    return Costs(None, lambda loop: False).plan(block).cost


def trips(loop: ForOp) -> float:
    """The trip count of a loop, estimated where it is unknown."""
    known = loop.trip_count()
    if known is not None:
        return known
    if (between := trips_between(loop)) is not None:
        least, most = between
        return sqrt(max(1, least) * most) if most is not None else max(TRIPS, least)
    bounds = (*loop.lower_operands, *loop.upper_operands)
    return DATA_TRIPS if any(isinstance(v.owner, Operation) for v in bounds) else TRIPS


def trips_between(loop: ForOp) -> tuple[int, int | None] | None:
    """The least and the greatest trip count, where conditions around a loop bound it."""
    known = list(known_at(loop))
    low, high = lowers(loop), uppers(loop)
    if not known or len(low) != 1 or len(high) != 1 or loop.step.value.data != 1:
        return None
    span = high[0] - low[0]
    most = [n for form in known if (n := (form + span).number) is not None]
    least = [n for form in known if (n := (span - form).number) is not None]
    return (max(least, default=0), min(most, default=None)) if most or least else None


def expected_trips(loop: ForOp) -> int:
    """The same as an integer."""
    return int(trips(loop))


def element_bits(type: Attribute) -> int:
    """Bits of a number in memory, or of an element of a vector."""
    element = type.element_type if isinstance(type, VectorType) else type
    return max(8, getattr(element, "bitwidth", 8))


def _bits(type: Attribute) -> int:
    """Bits of a number in arithmetic; 0 for indices and booleans, which adapt to others."""
    return 0 if isinstance(type, IndexType) or is_bool(type) else element_bits(type)


def widest(loop: ForOp) -> int:
    """Bits of the widest number that differs between lanes."""
    return _widest(loop, varying_values(loop))


def _widest(loop: ForOp, varying: set[SSAValue]) -> int:
    bits = 8
    for op in walk(loop.body.block):
        if isinstance(op, StoreOp):
            bits = max(bits, _bits(op.value.type))
        bits = max(bits, *(_bits(result.type) for result in op.results if result in varying), 0)
    return bits


@dataclass
class Plan:
    """The cheapest vectorization: instructions, and the loops to widen with their lanes."""

    cost: float
    widened: list[tuple[ForOp, int]]

    def __add__(self, other: Plan) -> Plan:
        return Plan(self.cost + other.cost, self.widened + other.widened)

    def __mul__(self, times: float) -> Plan:
        return Plan(self.cost * times, self.widened)

    @property
    def loops(self) -> list[ForOp]:
        """The loops to widen."""
        return [loop for loop, _ in self.widened]


class Costs:
    """Estimates for one target.

    Args:
        target: None: a generic machine; nothing is widened.
        may_widen: whether widening a loop is legal, or may be proved to be.
        in_order: whether a reduction that may be widened keeps the order of its terms.
    """

    def __init__(
        self, target: Target | None, may_widen: Callable[[ForOp], bool], in_order: Callable[[ForOp], bool] = lambda loop: False
    ):
        self.target, self.may_widen, self.in_order = target, may_widen, in_order

    def plan(self, at: ForOp | Block) -> Plan:
        """The cheapest way to run a loop, or a block, once."""
        if isinstance(at, ForOp):
            return self._loop(at)
        total = Plan(0.0, [])
        for op in ops_of(at):
            if isinstance(op, ForOp):
                total += self._loop(op)
            elif op.regions:
                inside = sum((self.plan(block) for region in op.regions for block in region.blocks), Plan(0.0, []))
                total += inside * (DATA_TRIPS if isinstance(op, WhileOp) else 1.0)
            elif not isinstance(op, YieldOp):
                total.cost += self._scalar(op)
        return total

    def _scalar(self, op: Operation) -> float:
        """Instructions of an op on scalars; an access to a new cache line in each iteration waits for it."""
        if self.target is not None and isinstance(op, LoadOp | StoreOp):
            return self.target.far if _is_far_access(op) else 1.0
        return instructions(op, self.target)

    def _loop(self, loop: ForOp) -> Plan:
        inner = self.plan(loop.body.block)
        count = trips(loop)
        best = Plan(count * _iteration(loop, inner.cost), inner.widened)
        if self.target is None or not self.may_widen(loop):
            return best
        in_order = self.in_order(loop)
        wide = _Wide(self.target, loop, in_order)
        runs = count / wide.lanes if loop.trip_count() is None else -(-count // wide.lanes)
        each = wide.block(loop.body.block) + 1
        if in_order:
            lanes = wide.lanes * len(loop.results)
            each = max(each + _IN_ORDER * lanes, _LATENCY * wide.lanes if count >= _OVERLAPPED else 0.0)
        cost = runs * each
        if loop.kind.data == "reduce" and not in_order:
            cost += 3 * wide.lanes.bit_length()  # the tree that combines the lanes
        return Plan(cost, [(loop, wide.lanes)]) if cost < best.cost else best

    def is_little(self, loop: ForOp) -> bool:
        """Whether a nest is known to have too little work for threads."""
        assert self.target is not None
        nest = ops_in(loop, ForOp, WhileOp)
        known = all(isinstance(op, ForOp) and op.trip_count() is not None for op in nest)
        return known and self.plan(loop).cost < self.target.wake_ops / LANES_AT_ONCE


@kept
def _is_far_access(op: LoadOp | StoreOp) -> bool:
    """Whether each iteration of the innermost loop that moves an access touches a new cache line."""
    indices = op.indices
    if type(op.buffer.owner) is AllocOp or any([type(index) is OpResult for index in indices]):
        return False
    loops = [loop.index for loop in around(op)]
    strides = (lane_stride(op, index) for index in reversed(loops) if index in indices)
    stride = next((stride for stride in strides if stride != (0, 0)), None)
    return stride is not None and _is_far(op, *stride)


def _iteration(loop: ForOp, body: float) -> float:
    """Instructions of an iteration, or the latency of a float sum between iterations if that is longer."""
    waits = trips(loop) >= _OVERLAPPED and any(is_float(scalar_of(result.type)) for result in loop.results)
    return max(body + 1, _LATENCY) if waits else body + 1


def lanes_of(loop: ForOp, target: Target) -> int:
    """How many iterations of a loop to run at once, if it is vectorized."""
    return _Wide(target, loop).lanes


class _Wide:
    """Instructions of several iterations of a loop at once.

    Attributes:
        lanes: their number: the widest number in one or several registers, at most the trip count.
        registers: registers in a vector.
    """

    def __init__(self, target: Target, loop: ForOp, in_order: bool = False):
        self.target, self.loop, self.varying = target, loop, varying_values(loop)
        native, known = target.lanes(_widest(loop, self.varying)), loop.trip_count()
        lanes = native if in_order else self._lanes(native) if known is None else native * self._registers(native, known)
        most = known if known is not None else constant_extent(loop)
        while most is not None and lanes > 2 and lanes // 2 >= most:
            lanes //= 2
        self.lanes = max(2, lanes)
        self.registers = max(1, lanes // native)

    def _lanes(self, native: int) -> int:
        """Lanes of a loop of unknown length, whose remainder takes as long as a whole vector."""
        if holds(self.loop.body.block, ForOp, WhileOp):
            return 2 * native  # two chains hide the latency of an inner loop
        if self.target.vector_bits == 8 * LINE_BYTES and _is_stencil(self.loop):
            return native // 2  # an unaligned cache line straddles two
        if self.loop.kind.data == "reduce":
            chains = _CHAINS
            while chains > 1 and chains * native * _CHAINS > trips(self.loop):
                chains //= 2
            return chains * native
        return native if around(self.loop) else 2 * native

    def _registers(self, native: int, count: int) -> int:
        """Registers in a vector of a loop of `count` iterations."""
        functions = sum(facts_of(op).is_polynomial for op in walk(self.loop.body.block))
        has_chains = self.loop.kind.data == "reduce" or holds(self.loop.body.block, ForOp)
        few = functions > _FEW_FUNCTIONS and self.target.vector_bits > 256
        registers = _CHAINS if has_chains and not functions else 1 if few else 2
        while registers > 1 and native * registers > count:
            registers //= 2
        return registers

    def block(self, block: Block) -> float:
        return sum(map(self._op, block.ops))

    def _op(self, op: Operation) -> float:
        if isinstance(op, ForOp):
            return (
                (_DIVERGENCE if has_own_bounds(op, self.varying) else 1.0)
                * trips(op)
                * _iteration(op, self.block(op.body.block))
            )
        if isinstance(op, WhileOp):
            return (_SEARCHING if stops_apart(op, self.varying) else 1.0) * DATA_TRIPS * self.block(op.body.block)
        if isinstance(op, IfOp):
            return 2 + sum(self.block(block) for region in op.regions for block in region.blocks)
        if isinstance(op, LoadOp | StoreOp):
            return self._access(op)
        if isinstance(op, YieldOp):
            return 0.0
        if not any(value in self.varying for value in op.operands):
            return instructions(op, self.target)
        return (self.lanes * self.target.gather if _is_scalarized(op) else self.registers) * instructions(op, self.target)

    def _access(self, op: LoadOp | StoreOp) -> float:
        """Instructions of an access by all lanes."""
        is_own, apart = op.buffer in self.varying, [index for index in op.indices if index in self.varying]
        if is_own and not apart:  # local buffers of lanes are contiguous
            return self.registers
        stride = lane_stride(op, self.loop.index)
        if is_own or stride is None or any(index is not self.loop.index for index in apart):
            return self.lanes * (self.target.scatter if isinstance(op, StoreOp) else self.target.gather)
        if stride[1] == 0:
            return 1.0 if isinstance(op, LoadOp) else self.lanes * self.target.scatter
        if stride[0] == len(op.map.data.results) - 1 and abs(stride[1]) == 1:
            return self.registers
        return self.lanes * (self.target.far if _is_far(op, *stride) else self.target.gather)


def _is_far(op: LoadOp | StoreOp, dim: int, step: int) -> bool:
    """Whether neighbouring lanes of an access are in different cache lines."""
    inner = shape_of(op.buffer)[dim + 1 :]
    return DYNAMIC in inner or abs(step) * prod(inner) * element_bits(op.element_type_()) >= LINE_BYTES * 8


def _is_scalarized(op: Operation) -> bool:
    """Whether lanes are computed one after the other; quotients of up to 32 bits use vectors of floats."""
    return facts_of(op).is_scalarized and element_bits(op.results[0].type) > 32


def _is_stencil(loop: ForOp) -> bool:
    """Whether a loop reads neighbouring elements of one row: most of its vectors are unaligned."""
    rows: dict[object, set[int]] = {}
    for op in walk(loop.body.block):
        if isinstance(op, LoadOp) and runs_along(op, loop):
            *outer, last = op.map.data.results
            form = linear_form(last, len(op.indices))
            if form is not None:
                rows.setdefault((op.buffer, tuple(outer), tuple(op.indices), tuple(form[0])), set()).add(form[1])
    return any(len(offsets) > 1 for offsets in rows.values())

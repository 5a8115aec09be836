"""Vectorize kernels: in every loop nest, widen the loop that a cost estimate says is cheapest to run on vectors.

The estimate counts scalar and vector instructions: a contiguous or invariant access costs one a vector, a strided one a lane.
Nothing is vectorized that would not gain, and no kernel that its author has scheduled (`scheduled`). Options: `bits`,
the width of a vector register (0: that of the host); `unroll`, how many registers one vector of a reduction or of an outer loop
spans.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ..codegen.targets import Target
from ..dialects.loop.memory import LoadOp, StoreOp
from ..dialects.loop.structure import ForOp, KernelOp, YieldOp
from ..dialects.types import DYNAMIC
from .analysis.lanes import lane_stride, varying_values
from .analysis.nests import walk
from .op_costs import CHEAP_MATH, weight
from .target import target_of
from .widening import is_lanewise, widen

_ONE_INSTRUCTION = CHEAP_MATH | {"math.sqrt"}
_DIVISIONS = ("arith.divsi", "arith.remsi", "arith.divui", "arith.remui")
_UNKNOWN_TRIP = 256
_GATHER = 1.5
_FAR_GATHER = 4.0
"""As `_GATHER`, where each lane touches a line of the caches of its own."""
_LINE_BITS = 512


def _trips(loop: ForOp) -> float:
    trips = loop.trip_count()
    return _UNKNOWN_TRIP if trips is None else trips


def scalar_cost(block: Block) -> float:
    """Instructions of one run of a block on whatever machine, nothing vectorized."""
    total = 0.0
    for op in block.ops:
        if isinstance(op, ForOp):
            total += _trips(op) * (scalar_cost(op.body.block) + 1)
        elif not isinstance(op, YieldOp):
            total += weight(op)
    return total


def _wide_cost(block: Block, index: SSAValue, varying: set[SSAValue], lanes: int, registers: int, target: Target) -> float:
    """Instructions of one run of a block for `lanes` iterations of the loop of `index`, held in `registers` a vector."""
    total = 0.0
    for op in block.ops:
        if isinstance(op, ForOp):
            total += _trips(op) * (_wide_cost(op.body.block, index, varying, lanes, registers, target) + 1)
        elif isinstance(op, LoadOp | StoreOp):
            stride = lane_stride(op, index)
            if stride is None:
                return float("inf")
            contiguous = stride[0] == op.buffer.type.get_num_dims() - 1 and stride[1] in (1, -1)  # pyright: ignore[reportAttributeAccessIssue]
            if stride[1] == 0:
                total += 1
            else:
                total += registers if contiguous else (_FAR_GATHER if _is_far(op, *stride) else _GATHER) * lanes
        elif isinstance(op, YieldOp):
            continue
        elif any(o in varying for o in op.operands):
            total += (_GATHER * lanes if _is_scalarized(op) else registers) * weight(op, target)
        else:
            total += weight(op, target)
    return total


def _is_far(op: LoadOp | StoreOp, dim: int, step: int) -> bool:
    """Whether neighbouring lanes of an access are in different lines of the caches."""
    inner = op.buffer.type.get_shape()[dim + 1 :]  # pyright: ignore[reportAttributeAccessIssue]
    return DYNAMIC in inner or abs(step) * prod(inner) * bits_of(op.buffer.type.element_type) >= _LINE_BITS  # pyright: ignore


def _is_scalarized(op: Operation) -> bool:
    """Whether lanes are computed one after the other: quotients of up to 32 bits are found by vectors of floats."""
    return op.name in _DIVISIONS and bits_of(op.results[0].type) > 32


def _may_widen(loop: ForOp) -> bool:
    """Whether a loop is of a kind that is widened: its bounds are numbers, its iterations in no order."""
    return loop.kind.data in ("parallel", "reduce") and loop.step.value.data == 1 and loop.constant_bounds() is not None


def can_widen(loop: ForOp) -> bool:
    """Whether a loop may be widened by its kind, its bounds, and what is in it."""
    return _may_widen(loop) and _can_widen(loop, varying_values(loop))


def _can_widen(loop: ForOp, varying: set[SSAValue]) -> bool:
    """Whether all in a loop has a vector form whose cost is estimated: that of gathers, conditionals and masks is not."""
    for op in walk(loop.body.block):
        if isinstance(op, LoadOp | StoreOp):
            stride = lane_stride(op, loop.index)
            if op.lanes != 1 or stride is None or (isinstance(op, StoreOp) and stride[1] == 0):
                return False
            if any(i in varying and i is not loop.index for i in op.indices):
                return False
        elif isinstance(op, ForOp):
            if op.kind.data == "vector" or any(v in varying for v in (*op.lower_operands, *op.upper_operands)):
                return False
        elif not isinstance(op, YieldOp) and not is_lanewise(op):
            return False
    return True


@dataclass
class _Choice:
    """The cheapest way to run a block: its cost, and which loops in it to widen to how many lanes."""

    cost: float
    widened: list[tuple[ForOp, int]]


class Planner:
    """Chooses loops and lanes for one kernel."""

    def __init__(self, target: Target, unroll: int, bits: int = 0):
        self.target, self.unroll = target, unroll
        self.bits = bits or target.vector_bits

    def lanes(self, loop: ForOp) -> tuple[int, int]:
        """Lanes of a vector and the registers it takes, from the widest element in the loop and its trip count."""
        width = 8
        has_loop = loop.kind.data == "reduce"
        math = 0
        for op in walk(loop.body.block):
            has_loop = has_loop or isinstance(op, ForOp)
            math += op.name.startswith("math.") and op.name not in _ONE_INSTRUCTION
            for result in op.results:
                width = max(width, bits_of(result.type))
            if isinstance(op, StoreOp):
                width = max(width, bits_of(op.value.type))
        native = max(2, self.bits // width)
        # several chains at once hide latencies; long polynomials in wide registers run out of them
        registers = self.unroll if has_loop and math == 0 else 1 if math > 2 and self.bits > 256 else 2
        trips = _trips(loop)
        while registers > 1 and native * registers > trips:
            registers //= 2
        lanes = native * registers
        while lanes > 2 and lanes // 2 >= trips:
            lanes //= 2
        return lanes, max(1, lanes // native)

    def block(self, block: Block) -> _Choice:
        cost, widened = 0.0, []
        for op in block.ops:
            if isinstance(op, ForOp):
                choice = self.loop(op)
                cost += choice.cost
                widened += choice.widened
            elif not isinstance(op, YieldOp):
                cost += weight(op, self.target)
        return _Choice(cost, widened)

    def loop(self, loop: ForOp) -> _Choice:
        inner = self.block(loop.body.block)
        trips = _trips(loop)
        best = _Choice(trips * (inner.cost + 1), inner.widened)
        if trips < 2 or not _may_widen(loop):
            return best
        varying = varying_values(loop)
        if _can_widen(loop, varying):
            lanes, registers = self.lanes(loop)
            runs = -(-trips // lanes)
            cost = runs * (_wide_cost(loop.body.block, loop.index, varying, lanes, registers, self.target) + 1)
            if loop.kind.data == "reduce":
                cost += 3 * lanes.bit_length()
            if cost < best.cost:
                best = _Choice(cost, [(loop, lanes)])
        return best


def bits_of(type: Attribute) -> int:
    element = type.element_type if isinstance(type, VectorType) else type
    return max(8, getattr(element, "bitwidth", 8))


@dataclass(frozen=True)
class LoopAutoVectorizePass(ModulePass):
    """Widen the loops of every kernel that are cheapest to run on vectors."""

    name = "loop-auto-vectorize"
    bits: int = 0
    unroll: int = 4

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        planner = Planner(target_of(op), self.unroll, self.bits)
        for kernel in op.body.block.ops:
            if isinstance(kernel, KernelOp) and not kernel.is_scheduled:
                for loop, lanes in planner.block(kernel.body.block).widened:
                    widen(loop, lanes)

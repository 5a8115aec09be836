"""The number of floating-point operations of a block of loops."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.loop.loops import ForOp, IfOp, WhileOp
from ...dialects.scalar_facts import facts_of
from ...dialects.scalar_ops import is_arithmetic
from ...dialects.types import is_float, scalar_of

_SAMPLES = 8
"""Most sampled iterations of a loop whose inner loops have bounds that depend on it."""


def flops_of(block: Block, env: Mapping[SSAValue, int]) -> float:
    """Floating-point operations of one run of a block; loops with varying bounds are sampled, a while loop counts once.

    Args:
        env: the values of sizes; a loop whose bounds are not among them counts as one run of its body.
    """
    total = 0.0
    for op in block.ops:
        if isinstance(op, ForOp):
            total += _of_loop(op, env)
        elif isinstance(op, WhileOp):
            total += flops_of(op.body.block, env)
        elif isinstance(op, IfOp):
            total += max(flops_of(region.block, env) for region in op.regions if region.blocks)
        else:
            total += _flops(op)
    return total


def _of_loop(loop: ForOp, env: Mapping[SSAValue, int]) -> float:
    n = len(loop.lower_operands)
    values = [env.get(v) for v in (*loop.lower_operands, *loop.upper_operands)]
    if None in values:  # bounds from data
        return flops_of(loop.body.block, env)
    known = [v for v in values if v is not None]
    lower = max(loop.lower.data.eval(known[:n], []))
    upper = min(loop.upper.data.eval(known[n:], []))
    iterations = range(lower, upper, loop.step.value.data)
    extra = len(loop.results) if loop.monoid is not None else 0
    inner = [op for op in loop.body.walk() if isinstance(op, ForOp)]
    varies = any(loop.index in (*op.lower_operands, *op.upper_operands) for op in inner)
    if not iterations:
        return 0.0
    if not varies:
        return len(iterations) * (flops_of(loop.body.block, {**env, loop.index: iterations[0]}) + extra)
    points = (
        iterations if len(iterations) <= _SAMPLES else [iterations[len(iterations) * k // _SAMPLES] for k in range(_SAMPLES)]
    )
    mean = sum(flops_of(loop.body.block, {**env, loop.index: i}) for i in points) / len(points)
    return len(iterations) * (mean + extra)


def _flops(op: Operation) -> float:
    if not op.results or not is_float(scalar_of(op.results[0].type)) or not is_arithmetic(op):
        return 0.0
    return facts_of(op).flops

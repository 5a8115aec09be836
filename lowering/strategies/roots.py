"""Loops bound by the divider compute half of their square roots by multiplications."""

from __future__ import annotations

from xdsl.dialects.math import SqrtOp
from xdsl.ir import Operation

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.scalar_facts import facts_of
from ...dialects.types import shape_of
from ...thresholds import number
from ..analysis.nests import holds, name_of, ops_in
from ..op_costs import instructions
from ..schedule.share_roots import ShareRoots, roots
from .base import Take

_PRODUCTS = number("roots._PRODUCTS")
_LEAST_LANES = number("roots._LEAST_LANES")


def schedule_roots(kernel: KernelOp, target: Target, take: Take) -> None:
    """Share the roots of loops in which divisions and roots take longer than all other ops."""
    for loop in ops_in(kernel, ForOp) if target.has_avx512 and holds(kernel, SqrtOp) else ():
        found = roots(loop)
        if found and shape_of(found[0].result)[0] >= _LEAST_LANES and _waits_for_divider(found[0], target):
            take(ShareRoots(name_of(loop)))


def _waits_for_divider(root: SqrtOp, target: Target) -> bool:
    """Whether divisions and roots beside a root take longer than all other ops there."""
    block, type = root.parent_block(), root.result.type
    beside = [] if block is None else [op for op in block.ops if op.results and op.results[0].type == type]
    divider = sum(instructions(op, target) for op in beside if _divides(op))
    others = sum(instructions(op, target) for op in beside if not _divides(op) and _computes(op))
    names = [op.name for op in beside]
    return "arith.divf" in names and divider > others + _PRODUCTS * names.count("math.sqrt")


def _divides(op: Operation) -> bool:
    return facts_of(op).unit in ("div", "sqrt")


def _computes(op: Operation) -> bool:
    """Whether an op uses the multiplication units: arithmetic and functions, no moves."""
    arithmetic = op.name in ("arith.addf", "arith.subf", "arith.mulf", "math.fma")
    return arithmetic or facts_of(op).unit in ("sqrt", "exp")

"""Loops that read beside an array (`lm.pad_read`): the iterations inside of it get loops without conditions.

The outermost loop first, then the loops inside of its inner iterations, whose edges become nests of their own: so the
interior is a nest as if it had been written alone. What is left at the edges keeps its conditions.
"""

from __future__ import annotations

from ...codegen.targets import Target
from ...dialects.loop.loops import BORDER, ForOp, IfOp, KernelOp
from ..analysis.nests import around, loops, name_of, ops_in, walk
from ..schedule.fission import Fission
from ..schedule.partition import Partition
from .base import Take, attempt


def schedule_borders(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Divide the loops of a nest at the edges of arrays."""
    if not any(isinstance(op, IfOp) and BORDER in op.attributes for op in walk(nest)):
        return
    for name in map(name_of, [nest, *ops_in(nest.body.block, ForOp)]):
        if attempt(Partition(name), take) is None:
            continue
        for outer in map(name_of, reversed(around(loops(kernel)[name]))):
            _apart(kernel, outer, take)


def _apart(kernel: KernelOp, outer: str, take: Take) -> None:
    """Give each of the loops in an outer one an outer loop of its own, as far as that is legal."""
    inside = [name_of(op) for op in loops(kernel)[outer].body.block.ops if isinstance(op, ForOp)]
    for part in inside[:-1]:
        found = attempt(Fission(outer, part), take)
        if found is None:
            return
        outer = found[1]

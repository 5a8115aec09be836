"""Threads for kernels whose schedule does not mention them: those that are scheduled by hand.

The default schedule assigns loops to threads (`strategies/threads.py`). A schedule by hand may do so (`loop-use-threads`), and
need not: its parallel loops then run on threads as they would by default. `loop-serialize` excludes a loop.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.passes import ModulePass

from ..dialects.loop.loops import ForOp, KernelOp
from .analysis.nests import ops_in, unique_names
from .schedule.transactions import run_strategies
from .target import target_of


def place_loops(module: builtin.ModuleOp) -> None:
    """Assign the parallel loops of kernels to threads where no loop has a threads attribute."""
    from .strategies import THREADS

    target = target_of(module)
    attributes = dict(module.attributes)  # this pass does not count as a schedule by hand
    for kernel in [op for op in module.body.block.ops if isinstance(op, KernelOp)]:
        found = ops_in(kernel, ForOp)
        if any(loop.kind.data == "parallel" for loop in found) and all(loop.threads is None for loop in found):
            unique_names(kernel)
            run_strategies(kernel, target, (THREADS,), lambda kernel, taken: None)
    module.attributes = attributes


class DefaultThreadsPass(ModulePass):
    """Assign the parallel loops of kernels to threads where no loop has a threads attribute."""

    name = "default-threads"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        place_loops(op)

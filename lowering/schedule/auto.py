"""The default schedule: for every kernel that nobody scheduled, the steps that its loops and the target suggest.

The strategies (`lowering/strategies/`) schedule the kinds of kernels they know, the last one vectorizes the loops that are left
where a cost estimate says that it gains. All steps are the public primitives: `lamina-opt -p loop-auto{verbose=true}` shows them on
standard error, to be edited and replayed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.passes import ModulePass

from ...codegen.targets.host import host
from ...dialects.loop.parameters import is_scheduled
from ...dialects.loop.structure import KernelOp
from ..analysis.nests import unique_names
from .base import Primitive


@dataclass(frozen=True)
class LoopAutoPass(ModulePass):
    """Schedule every kernel of a module that is not scheduled yet."""

    name = "loop-auto"
    verbose: bool = False

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        from ..strategies import STRATEGIES

        target = host()
        for kernel in [k for k in op.body.block.ops if isinstance(k, KernelOp) and not is_scheduled(k)]:
            unique_names(kernel)
            for strategy in STRATEGIES:
                strategy(kernel, target, lambda step, kernel=kernel: self._take(step, kernel))

    def _take(self, step: Primitive, kernel: KernelOp) -> tuple[str, ...]:
        if self.verbose:
            print(step.as_text(), file=sys.stderr)
        return step.run(kernel)

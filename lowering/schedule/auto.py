"""The default schedule: for every kernel that nobody scheduled, the steps that its loops and the target suggest.

The strategies (`lowering/strategies/`) schedule the kinds of nests they know, each nest in a transaction (`transactions.py`):
what fails leaves the kernel as it was. The loops of a kernel that a program launches come from ops whose sums have no order;
any other kernel keeps every bit of what it computes. All steps are the public primitives: `loop-auto{verbose=true}` shows those
that stayed on standard error, to be edited and replayed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.passes import ModulePass

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LaunchOp
from ..analysis.bounds import constant_extent
from ..analysis.nests import ops_in, statements, unique_names
from ..fallbacks import Fallback
from ..target import target_of
from .transactions import Taken, run_strategies


@dataclass(frozen=True)
class LoopAutoPass(ModulePass):
    """Schedule every kernel of a module that is not scheduled yet.

    Attributes:
        verbose: print the steps, and the strategies that were rolled back.
        threads: whether kernels that are written by hand get loops for threads, which a caller from C has to know.
    """

    name = "loop-auto"
    verbose: bool = False
    threads: bool = True

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        self.schedule(op)

    def schedule(self, module: builtin.ModuleOp, done: Callable[[KernelOp], None] | None = None) -> None:
        """What the pass does; `done` is told of each kernel of the module once it is as it stays."""

        def took(kernel: KernelOp, taken: Taken) -> None:
            if self.verbose:
                print(taken.step.as_text(), file=sys.stderr)

        def failed(event: Fallback) -> None:
            if self.verbose:
                print(f"// {event}; none of its steps is taken", file=sys.stderr)

        schedule_module(module, took, self.threads, failed, done)


Took = Callable[[KernelOp, Taken], None]
"""Is told of every step that a strategy has taken, once the strategy has come to its end."""


def schedule_module(
    module: builtin.ModuleOp,
    took: Took,
    threads: bool = True,
    failed: Callable[[Fallback], None] | None = None,
    done: Callable[[KernelOp], None] | None = None,
) -> None:
    """Schedule every kernel of a module that is not scheduled yet.

    Args:
        failed: is told of strategies that were rolled back.
        done: is told of each kernel of the module once it is as it stays.
    """
    target = target_of(module)
    launched = {launch.kernel.string_value() for launch in ops_in(module, LaunchOp)}
    for kernel in [k for k in module.body.block.ops if isinstance(k, KernelOp)]:
        if not kernel.is_scheduled:
            schedule_kernel(kernel, target, took, threads, failed, order_free=kernel.sym_name.data in launched)
        if done is not None:
            done(kernel)


def _drop_empty(kernel: KernelOp) -> None:
    """Remove the loops that never run or do nothing: peeling and splitting would leave none of those that are expected."""
    for loop in reversed(ops_in(kernel, ForOp)):  # those inside of others first
        trips = loop.trip_count()
        never_runs = trips == 0 or (trips is None and constant_extent(loop) == 0)
        if never_runs or not (loop.results or statements(loop.body.block)):
            for result, init in zip(loop.results, loop.inits, strict=True):
                result.replace_all_uses_with(init)
            loop.detach()
            loop.erase()


def schedule_kernel(
    kernel: KernelOp,
    target: Target,
    took: Took,
    threads: bool = True,
    failed: Callable[[Fallback], None] | None = None,
    *,
    order_free: bool = False,
) -> None:
    """Take the steps of the default schedule of a kernel; told of as by `schedule_module`.

    Args:
        order_free: whether sums may be added in any order, as those of a program; else what the kernel computes stays the
            same, bit for bit. For any number of threads it does in any case.
    """
    from ..strategies import in_order

    if order_free:
        _drop_empty(kernel)
    unique_names(kernel)
    run_strategies(kernel, target, (s for s in in_order(threads) if order_free or not s.order_free), took, failed)

"""The default schedule: applies, to every kernel without a schedule, the primitives that its loops and the target suggest.

The strategies (`lowering/strategies/`) schedule the kinds of nests they know, each nest in a transaction (`transactions.py`): a
strategy that fails leaves the kernel unchanged. The loops of a kernel that a program launches come from ops whose sums have no
order; any other kernel keeps every bit of its results. All steps are public primitives: `loop-auto{verbose=true}` prints those
that were applied on standard error, to be edited and replayed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.passes import ModulePass

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LaunchOp, PrefetchOp
from ...dialects.loop.prints import PrintOp
from ..analysis.bounds import constant_extent
from ..analysis.nests import holds, ops_in, statements, unique_names
from ..fallbacks import Fallback
from ..target import target_of
from .base import Primitive
from .parallelize import Parallelize
from .transactions import Taken, run_strategies


@dataclass(frozen=True)
class LoopAutoPass(ModulePass):
    """Schedule every kernel of a module that is not scheduled yet.

    Attributes:
        verbose: print the applied primitives, and the strategies that were rolled back.
        threads: whether handwritten kernels get loops for threads, which a caller from C has to know.
    """

    name = "loop-auto"
    verbose: bool = False
    threads: bool = True

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        self.schedule(op)

    def schedule(self, module: builtin.ModuleOp, done: Callable[[KernelOp], None] | None = None) -> None:
        """Run the pass; `done` is called with each kernel of the module once it is final."""

        def took(kernel: KernelOp, taken: Taken) -> None:
            if self.verbose:
                print(taken.step.as_text(), file=sys.stderr)

        def failed(event: Fallback) -> None:
            if self.verbose:
                print(f"// {event}; none of its steps is taken", file=sys.stderr)

        schedule_module(module, took, self.threads, failed, done)


Took = Callable[[KernelOp, Taken], None]
"""Called with every primitive that a strategy has applied, after the strategy has finished."""


def schedule_module(
    module: builtin.ModuleOp,
    took: Took,
    threads: bool = True,
    failed: Callable[[Fallback], None] | None = None,
    done: Callable[[KernelOp], None] | None = None,
) -> None:
    """Schedule every kernel of a module that is not scheduled yet.

    Args:
        failed: called with each strategy that was rolled back.
        done: called with each kernel of the module once it is final.
    """
    target = target_of(module)
    launched = {launch.kernel.string_value() for launch in ops_in(module, LaunchOp)}
    for kernel in [k for k in module.body.block.ops if isinstance(k, KernelOp)]:
        if not kernel.is_scheduled:
            order_free = kernel.sym_name.data in launched and not kernel.is_derived
            schedule_kernel(kernel, target, took, threads, failed, order_free=order_free)
        if done is not None:
            done(kernel)


def _drop_empty(kernel: KernelOp) -> None:
    """Remove the loops that never run or do nothing: after peeling and splitting none of the expected loops would be left."""
    for loop in reversed(ops_in(kernel, ForOp)):  # inner loops first
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
    """Apply the default schedule to a kernel; the callbacks are those of `schedule_module`.

    Args:
        order_free: whether sums may be reassociated, as those of a program; otherwise the kernel's results stay the same, bit
            for bit. For any number of threads they do in any case.
    """
    from ..strategies import in_order

    if holds(kernel.body.block, PrintOp):  # lines come in the order of the loops
        return
    if order_free:
        _drop_empty(kernel)
    unique_names(kernel)
    run_strategies(kernel, target, (s for s in in_order(threads) if order_free or not s.order_free), took, failed)


def schedule_rest(
    kernel: KernelOp, target: Target, took: Took, only: str | None = None, sequential: Collection[str] = ()
) -> None:
    """Apply the default schedule to what is left of a kernel after steps of its author's; results stay the same, bit for bit.

    Args:
        took: called with every primitive that is applied.
        only: the name of a loop: nothing else is scheduled.
        sequential: the names of loops that get no threads.
    """
    from ..strategies import REST, NestStrategy

    if holds(kernel.body.block, PrintOp):
        return
    unique_names(kernel)
    has_hints = holds(kernel.body.block, PrefetchOp)  # then the author has chosen them
    left = [s for s in REST if not (has_hints and "loop-prefetch-rows" in s.leaves)]
    chosen = left if only is None else [replace(s, only=only) for s in left if isinstance(s, NestStrategy)]

    def forbids(step: Primitive) -> bool:
        return isinstance(step, Parallelize) and step.loop in sequential

    run_strategies(kernel, target, chosen, took, forbids=forbids)

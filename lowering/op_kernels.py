"""The kernels that are registered for ops, and the choice of the one that computes an op.

A kernel is called as it is scheduled (`transforms/target/graph_select_kernels.py`), or it is the loop form of its op: then its
loops are written for the sizes of the op (`kernel_nest.py`) and get the schedule that all loops of programs get. The module
that registers the latter is named by the op's class (`OpFacts.kernels`) and imported when the first such op is lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from xdsl.ir import Attribute

from .. import extensions
from ..codegen.targets import Target
from ..dialects.graph.base import GraphOp
from ..dialects.loop.loops import KernelOp
from ..dialects.types import tensor_of
from ..errors import CompileError
from .work import launch_work_of_op

_PACKAGE = __name__.rpartition(".lowering")[0]


@dataclass(frozen=True)
class KernelChoice:
    """A kernel that may compute an op.

    Attributes:
        name: of the kernel.
        kernel: makes it for the element types of the op's operands and results; None where it takes no such types.
        on: names of targets or of architectures that it is for; empty: all.
        when: `when(op, target)`, whether it may be used.
        cost: `cost(op, target)`, the estimated number of vector operations; None: the kernel is used wherever its condition
        holds.
        is_inline: whether it is the loop form of the op; else it is called.
        lanes: whether it is for vectors that hold one problem of a stack in each lane, or never for such; None: for both.
    """

    name: str
    kernel: Callable[[Sequence[Attribute]], KernelOp | None]
    on: tuple[str, ...] = ()
    when: Callable[[GraphOp, Target], bool] | None = None
    cost: Callable[[GraphOp, Target], float] | None = None
    is_inline: bool = False
    lanes: bool | None = None

    def fits(self, op: GraphOp, target: Target) -> bool:
        """Whether its conditions hold for an op."""
        if self.on and not {target.name, target.architecture} & {*self.on}:
            return False
        return self.when is None or self.when(op, target)


_called: dict[str, dict[str, KernelChoice]] = {}
"""The kernels that are called, by the full name of an op, then by the name of the kernel."""
_inline: dict[str, dict[str, KernelChoice]] = {}
"""Those that are loop forms."""


def add_choice(op: str, choice: KernelChoice, module: str) -> None:
    """Add a kernel for the ops of a name; one that the same module added under its name is replaced."""
    if module.partition(".")[0] != _PACKAGE:  # kernels of the package belong to its version
        extensions.add("kernel", f"{op} {choice.name}", module)
    (_inline if choice.is_inline else _called).setdefault(op, {})[choice.name] = choice


def called(op: str) -> list[KernelChoice]:
    """The kernels that are called for ops of a name."""
    return [*_called.get(op, {}).values()]


def loop_form(op: GraphOp, types: Sequence[Attribute], target: Target, in_lanes: bool) -> KernelOp:
    """The kernel that is the loop form of an op: the cheapest of those that fit, the first one of equal costs.

    Args:
        types: the element types of operands and results, complex ones where two operands are the parts of one.
        in_lanes: whether vectors will hold one problem of a stack in each lane.

    Raises:
        CompileError: no registered kernel fits.
    """
    _load(op.facts.kernels)
    fitting = [
        choice for choice in _inline.get(op.name, {}).values() if choice.lanes in (None, in_lanes) and choice.fits(op, target)
    ]
    for choice in sorted(fitting, key=lambda choice: 0.0 if choice.cost is None else choice.cost(op, target)):
        kernel = choice.kernel(types)
        if kernel is not None:
            return kernel
    shown = ", ".join(map(str, types))
    raise CompileError(
        f"'{op.name}' op is computed by a kernel, and {op.facts.kernels} registers none that fits elements {shown}"
    )


@cache
def _load(module: str) -> Any:
    return import_module(module, _PACKAGE)


def own_cost(op: GraphOp, target: Target) -> float:
    """The estimated number of vector operations of the op's own loops."""
    bits = max(getattr(tensor_of(value).element_type, "bitwidth", 32) for value in (*op.operands, *op.results))
    return launch_work_of_op(op) / target.lanes(bits)

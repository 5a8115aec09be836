"""What a program consists of: its steps with their parameters, floating-point operations and planned memory."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp, NameLoc
from xdsl.ir import Operation

from .. import pipeline
from ..diagnostics import position_of_op
from ..dialects.loop.loops import KernelOp
from ..dialects.loop.memory import LaunchOp
from ..dialects.program import FuncOp
from ..lowering.analysis.flops import flops_of
from ..lowering.plan_buffers import known_bytes
from .memory import steps_of, timelines


@dataclass(frozen=True)
class Layer:
    """A step of the program: the launch of a kernel, a loop, a branch or a call.

    Attributes:
        name: where it comes from: the node of a model, or a line; of a kernel the last of its ops.
        kernel: the kernel, whose name lists its ops; otherwise the op.
        parameters: elements of constants that it reads.
        flops: floating-point operations; None where a size is known only at a call, or the step is none of one kernel.
        live_bytes: planned memory in use while it runs; None where a size is known only at a call.
    """

    name: str
    kernel: str
    parameters: int
    flops: float | None
    live_bytes: int | None


@dataclass(frozen=True)
class Summary:
    """A program.

    Attributes:
        ops: how many ops of each name its graph has; constants are not counted.
        layers: the steps of the entry, in order.
        parameters: elements of constants of all layers, each once.
        parameter_bytes: their bytes.
        arena_bytes: planned memory for what is computed in between; None where a size is known only at a call.
    """

    ops: dict[str, int]
    layers: list[Layer]
    parameters: int
    parameter_bytes: int
    arena_bytes: int | None

    @property
    def flops(self) -> float | None:
        """Of all layers; None if one is not known."""
        known = [layer.flops for layer in self.layers]
        return None if None in known else sum(f for f in known if f is not None)


def summary(module: ModuleOp, entry: str = "main") -> Summary:
    """The summary of a function of a module, which is brought to the phase `program`, in place.

    Args:
        module: a module before the phase `scheduled`: floating-point operations are counted in loops without a schedule.
        entry: its function.

    Raises:
        CompileError: an op cannot be lowered.
        KeyError: there is no such function.

    Cost: that of a cold compilation without LLVM.
    """
    ops = Counter(op.name for op in module.walk() if op.name.startswith("graph.") and op.operands and op.results)
    pipeline.run_to(module, "loop")
    flops = {
        k.sym_name.data: None if k.index_arguments else flops_of(k.body.block, {})
        for k in module.walk()
        if isinstance(k, KernelOp)
    }
    pipeline.run_to(module, "program")
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    function = functions[entry]
    times = {one.function: one for one in timelines(module)}.get(entry)
    layers, constants = [], dict[str, tuple[int, int]]()
    for at, op in enumerate(steps_of(function)):
        read = _constants(op)
        constants |= read
        if op.name == "program.get_global":
            continue
        is_launch = isinstance(op, LaunchOp)
        kernel = op.kernel.string_value() if is_launch else op.name
        live = 0 if times is None else sum(b.size for b in times.buffers if b.first <= at <= b.last)
        layers.append(
            Layer(
                _name(op),
                kernel,
                sum(elements for elements, _ in read.values()),
                flops.get(kernel) if is_launch else None,
                None if function.temporaries else live,
            )
        )
    arena = 0 if times is None else times.arena_bytes
    total = [sum(each) for each in zip(*constants.values(), strict=True)] or [0, 0]
    return Summary(dict(ops.most_common()), layers, total[0], total[1], None if function.temporaries else arena)


def _name(op: Any) -> str:
    location = op.location
    if isinstance(location, NameLoc):
        return location.desc.data
    place = position_of_op(op)
    return "" if place is None else f"{place.file}:{place.line}"


def _constants(op: Any) -> dict[str, tuple[int, int]]:
    """Elements and bytes of the constants that an op reads, by their symbols."""
    found = {}
    for operand in op.operands:
        owner: Any = operand.owner
        while isinstance(owner, Operation) and owner.name.startswith("memref.") and owner.operands:
            owner = owner.operands[0].owner
        if isinstance(owner, Operation) and owner.name == "program.get_global":
            type: Any = owner.results[0].type
            found[owner.properties["name"].string_value()] = (math.prod(type.get_shape()), known_bytes(type) or 0)  # pyright: ignore[reportAttributeAccessIssue]
    return found

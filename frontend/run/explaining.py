"""`f.explain(*args)`: the compiled variants of a function, what was fused and vectorized, and the limit of each kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from ..kernel.explain import Report
from ..kernel.explain import explain as explain_kernel

if TYPE_CHECKING:
    from ..trace.program import Aval


def explain_module(module: ModuleOp, name: str) -> Report:
    """The report on a traced program; it costs a cold compile.

    Args:
        module: is changed.
        name: of the function.
    """
    from ... import pipeline
    from ...debugging.fusion_reasons import fusion_pairs
    from ...dialects.loop.loops import KernelOp
    from ...explorer.record import record
    from ...explorer.roofline import Machine as Limits
    from ...explorer.roofline import Point, limit_of

    recording = record(module.clone(), name)
    pipeline.run_to(module, "optimized")
    lines = [f"{name}() for {recording.target}", "", "neighbours:"]
    lines += [f"  {line}" for line in dict.fromkeys(map(str, fusion_pairs(module.clone())))] or ["  none"]
    pipeline.run_to(module, "loop")
    before = {op.sym_name.data: op.clone() for op in module.body.block.ops if isinstance(op, KernelOp)}
    pipeline.run_to(module, "scheduled")
    machine = _limits(Limits)
    for kernel in [op for op in module.body.block.ops if isinstance(op, KernelOp)]:
        known = recording.kernels.get(kernel.sym_name.data)
        lines += ["", *explain_kernel(before[kernel.sym_name.data], kernel, None, ()).split("\n")]
        if known is None or known.flops is None or known.bytes is None:
            lines.append("  bound: sizes are known at a call")
            continue
        point = Point(known.name, known.flops, known.bytes)
        what, seconds = limit_of(point, machine)
        counted = f"{point.flops:.6g} flops, {point.bytes} bytes, {point.intensity:.3g} flops a byte"
        lines.append(f"  bound by {what}: at least {seconds * 1e6:.3g} us on one core, from memory ({counted})")
        lines += [f"  given up: {reason}" for reason in known.given_up]
    return Report("\n".join(lines))


def _limits(make: Callable[[float, float], Any]) -> Any:
    from ...codegen import machine

    return make(machine.peak_flops("float"), machine.triad_bytes())


def variants(keys: Sequence[tuple[Any, ...]], paths: Callable[[Any, Any], Sequence[str]]) -> list[str]:
    """A line for each compiled variant: its types, and the differences from the one before.

    Args:
        keys: structure, static arguments, types and options of each, in order.
        paths: the names of the leaves of a structure in messages.
    """
    lines: list[str] = []
    for k, (structure, statics, avals, options) in enumerate(keys):
        names = paths(structure, statics)
        shown = ", ".join(f"{name}: {_spelled(aval)}" for name, aval in zip(names, avals, strict=False))
        static = "".join(f", {place}={value!r}" for place, _, value in statics)
        why = "the first call" if k == 0 else _difference(keys[k - 1], (structure, statics, avals, options), names)
        lines.append(f"  {k}: ({shown}{static}): {why}")
    return lines


def _difference(old: tuple[Any, ...], new: tuple[Any, ...], names: Sequence[str]) -> str:
    if old[0] != new[0]:
        return "the arguments have another structure"
    if old[1] != new[1]:
        return "another value of a static argument"
    changed = [
        f"{name} was {_spelled(a)}" for name, a, b in zip(names, old[2], new[2], strict=False) if _spelled(a) != _spelled(b)
    ]
    return ", ".join(changed) or "other options (lm.config), or a Python number instead of an array"


def _spelled(aval: Aval) -> str:
    return f"{aval.dtype}[{','.join(map(str, aval.shape))}]"

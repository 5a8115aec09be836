"""Explains a kernel and its limits: loops, strides, vectorization, refused steps, a roofline estimate beside a measurement."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, VectorType
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr

from ...codegen import machine
from ...dialects.loop.gather import GatherOp, ScatterOp
from ...dialects.loop.loops import ForOp, IfOp, KernelOp, WhileOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.loop.subscripts import linear_form
from ...dialects.types import f64, scalar_of
from ...errors import ScheduleError
from ...lowering.analysis.accesses import Access, accesses
from ...lowering.analysis.flops import flops_of
from ...lowering.analysis.nests import buffer_name, name_of
from ...lowering.target import target_of
from ...runtime.arguments import prepare
from ...runtime.executable import Executable
from .text import spell_affine, spell_bound

_MEASURE_SECONDS = 0.2


class Report(str):
    """Text that shows itself as it is."""

    def __repr__(self) -> str:
        return str(self)


def explain(unscheduled: KernelOp, kernel: KernelOp, executable: Executable | None, args: Sequence[Any]) -> Report:
    """The report on a kernel.

    Args:
        unscheduled, kernel: the kernel before and after its schedule.
        executable: its machine code, to be measured; None: no measurement.
        args: arguments of a call; without them, sizes stay symbols and nothing is estimated.
    """
    sizes: dict[SSAValue, int] = {}
    if executable is not None and args:
        slots = prepare(executable.signature, args, {}).slots
        first = len(executable.signature.params)
        sizes = {symbol: slots[first + k] for k, symbol in enumerate(kernel.index_arguments)}
    shown = ", ".join(f"{symbol.name_hint}={value}" for symbol, value in sizes.items())
    lines = [f"kernel {kernel.sym_name.data}" + (f" with {shown}" if shown else "")]
    lines += [f"  fallback: {reason}" for reason in kernel.texts("fallbacks")]
    _loops(kernel.body.block, 1, kernel, sizes, lines)
    if sizes and executable is not None:
        before: dict[SSAValue, int] = {
            b: sizes[a] for a, b in zip(kernel.index_arguments, unscheduled.index_arguments, strict=True)
        }
        lines += ["", *_roofline(unscheduled, before, executable, args)]
    return Report("\n".join(lines))


# Loops


def _loops(block: Block, depth: int, kernel: KernelOp, sizes: Mapping[SSAValue, int], lines: list[str]) -> None:
    margin = "  " * depth
    for op in block.ops:
        if isinstance(op, ForOp):
            lower = spell_bound("max", op.lower.data, op.lower_operands)
            upper = spell_bound("min", op.upper.data, op.upper_operands)
            step = f", {op.step.value.data}" if op.step.value.data != 1 else ""
            monoid = f"<{op.monoid.data}>" if op.monoid is not None else ""
            trips = _trip_count(op, sizes)
            lines.append(
                f"{margin}for {name_of(op)} in range({lower}, {upper}{step}): {op.kind.data}{monoid}"
                + (f", {trips:.6g} iterations" if trips is not None else "")
            )
            lines.append(f"{margin}  {_vectorization(op, kernel)}")
            strides: dict[str, None] = {}
            for access in accesses(op):
                if access.loops and op in access.loops:
                    strides[f"{margin}  {_stride(access, op, kernel)}"] = None
            lines += strides
            _loops(op.body.block, depth + 1, kernel, sizes, lines)
        elif isinstance(op, WhileOp):
            lines.append(f"{margin}while: runs until its condition fails, one point after the other unless vectorized over")
            _loops(op.body.block, depth + 1, kernel, sizes, lines)
        elif isinstance(op, IfOp):
            for region in op.regions:
                if region.blocks:
                    _loops(region.block, depth, kernel, sizes, lines)


def _trip_count(loop: ForOp, sizes: Mapping[SSAValue, int]) -> float | None:
    """Iterations of a loop, when its bounds need nothing but sizes."""
    values = [sizes.get(v) for v in (*loop.lower_operands, *loop.upper_operands)]
    if None in values:
        return None
    known = [v for v in values if v is not None]
    n = len(loop.lower_operands)
    lower = max(loop.lower.data.eval(known[:n], []))
    upper = min(loop.upper.data.eval(known[n:], []))
    return max(0, -(-(upper - lower) // loop.step.value.data))


def _vectorization(loop: ForOp, kernel: KernelOp) -> str:
    """How each iteration is vectorized, or why it is not."""
    lanes = {r.type.get_shape()[0] for op in loop.body.walk() for r in op.results if isinstance(r.type, VectorType)}
    if loop.kind.data == "vector":
        return f"vectorized: {max(lanes, default=1)} lanes an iteration"
    if lanes:
        return "not vectorized itself: computes vectors of a loop inside"
    from ...lowering.schedule.vectorize import Vectorize

    width = 64 if any(scalar_of(r.type) == f64 for op in loop.body.walk() for r in op.results) else 32
    native = target_of(kernel).lanes(width)
    try:
        Vectorize(name_of(loop), max(2, native)).check(kernel)
    except ScheduleError as error:
        reason = str(error).partition("\n")[0].partition("}: ")[2] or str(error)
        return f"not vectorized: {reason}"
    return f"not vectorized: no step asks for it; schedule.vectorize({name_of(loop)!r}, {native}) is legal"


def _stride(access: Access, loop: ForOp, kernel: KernelOp) -> str:
    """How far an access moves from one iteration of a loop to the next."""
    op = access.op
    verb = "writes" if access.writes else "reads"
    if isinstance(op, GatherOp | ScatterOp):
        return f"{verb} {buffer_name(access.buffer)} at computed places (gather or scatter)"
    assert isinstance(op, LoadOp | StoreOp)
    subscripts = ", ".join(spell_affine(e, op.indices) for e in op.map.data.results)
    text = f"{verb} {buffer_name(access.buffer)}[{subscripts}]"
    if loop.index not in op.indices:
        return f"{text}: the same element (stride 0)" if op.lanes == 1 else f"{text}: the same {op.lanes} elements"
    position = list(op.indices).index(loop.index)
    strides = _strides(access.buffer, kernel)
    parts: list[str] = []
    total = 0
    for expr, stride in zip(op.map.data.results, strides, strict=True):
        form = linear_form(expr, len(op.indices))
        if form is None:
            if position in expr.used_dims():
                return f"{text}: not linear in {name_of(loop)}"
            continue
        moves = form[0][position] * loop.step.value.data
        if moves and stride.isdigit():
            total += moves * int(stride)
        elif moves:
            parts.append(stride if moves == 1 else f"{moves} * {stride}")
    if total or not parts:
        parts.append(str(total))
    return f"{text}: stride {' + '.join(parts)}" + (" (contiguous)" if parts == ["1"] else "")


def _strides(buffer: SSAValue, kernel: KernelOp) -> list[str]:
    """Strides of a buffer in elements, as numbers or products of sizes."""
    given = kernel.given_shapes().get(buffer)
    symbols = kernel.index_arguments
    if given is not None and given[1] is not None:
        return [spell_affine(e, symbols) for e in given[1]]
    if isinstance(buffer.owner, AllocOp):
        names = iter(buffer.owner.sizes)
        shape = buffer.owner.buffer.type.get_shape()
        sizes = [(next(names).name_hint or "?") if n == DYNAMIC_INDEX else str(n) for n in shape]
    else:
        sizes = [_spelled(e, symbols) for e in kernel.sizes_of(buffer)]
    strides: list[str] = []
    number, factors = 1, ""
    for size in reversed(sizes):
        strides.append(f"{f'{number} * ' if number != 1 else ''}{factors}" if factors else str(number))
        if size.isdigit():
            number *= int(size)
        else:
            factors = f"{size} * {factors}" if factors else size
    return strides[::-1]


def _spelled(expr: AffineExpr, symbols: Sequence[SSAValue]) -> str:
    text = spell_affine(expr, symbols)
    return f"({text})" if " " in text else text


# Roofline


def _roofline(kernel: KernelOp, sizes: Mapping[SSAValue, int], executable: Executable, args: Sequence[Any]) -> list[str]:
    flops = flops_of(kernel.body.block, sizes)
    moved = _bytes(kernel, args)
    double = any(scalar_of(r.type) == f64 for op in kernel.walk() for r in op.results)
    peak, bandwidth = machine.peak_flops("double" if double else "float"), machine.triad_bytes()
    compute, memory = flops / peak, moved / bandwidth
    limit = max(compute, memory)
    seconds = _measure(executable, args)
    lines = [
        f"roofline on one core: {flops:.4g} flop, at least {moved:.4g} bytes ({flops / max(moved, 1):.3g} flop a byte)",
        f"  measured limits: {peak / 1e9:.1f} GFLOP/s, {_time(compute)}; {bandwidth / 1e9:.1f} GB/s, {_time(memory)}",
        f"  limit: {'arithmetic' if compute >= memory else 'memory traffic, unless it fits the caches'}, {_time(limit)}",
        f"  measured: {_time(seconds)}, {flops / seconds / 1e9:.1f} GFLOP/s, {moved / seconds / 1e9:.1f} GB/s: "
        f"{100 * limit / seconds:.0f} % of the limit",
    ]
    if any(isinstance(op, WhileOp) for op in kernel.walk()):
        lines.append("  (a while loop counts as one run of its body)")
    return lines


def _bytes(kernel: KernelOp, args: Sequence[Any]) -> float:
    """Every array once for reading, and once more for writing."""
    total = 0.0
    reads = {a.buffer for a in accesses(kernel) if not a.writes}
    writes = {a.buffer for a in accesses(kernel) if a.writes}
    for argument, arg in zip(kernel.body.block.args, args, strict=False):
        if isinstance(arg, np.ndarray):
            total += arg.nbytes * ((argument in reads) + (argument in writes))
    return total


def _measure(executable: Executable, args: Sequence[Any]) -> float:
    """The least time of a call on copies of the arrays, on one thread."""
    copies = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    best, until = float("inf"), time.perf_counter() + _MEASURE_SECONDS
    while time.perf_counter() < until or best == float("inf"):
        start = time.perf_counter()
        executable.run(copies, {"threads": 1})
        best = min(best, time.perf_counter() - start)
    return best


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"

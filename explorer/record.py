"""Runs the pipeline on a module and records the result of each step."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import SSAValue

from .. import pipeline
from ..codegen import compile as codegen
from ..dialects.context import make_context
from ..dialects.loop.loops import KernelOp
from ..dialects.loop.memory import LaunchOp
from ..errors import LaminaError, about
from ..lowering.analysis.accesses import accesses
from ..lowering.analysis.flops import flops_of
from ..lowering.analysis.nests import ops_in
from ..lowering.llvm.emit import emit_module
from ..lowering.plan_buffers import known_bytes
from ..lowering.schedule.auto import LoopAutoPass, schedule_module
from ..lowering.target import target_of
from .assembly import Listing, listings
from .graph import Drawing, drawings
from .memory import Timeline, timelines


@dataclass(frozen=True)
class StepRecord:
    """A step of the pipeline: its purpose, how long it took, the module after it."""

    name: str
    phase: str
    why: str
    seconds: float
    text: str


@dataclass
class KernelRecord:
    """A kernel at each level.

    `flops` and `bytes` are those of one run: floating-point operations, and each buffer counted once for reading and once for
    writing. They are None where a size is known only at a call.
    """

    name: str
    loops: str
    flops: float | None
    bytes: int | None
    launches: int = 0
    steps: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    """Strategies that were rolled back, and why."""
    scheduled: str = ""
    listings: list[Listing] = field(default_factory=list)


@dataclass
class Recording:
    """A compilation, as far as it went.

    Attributes:
        name: of the source.
        target: the machine that it was compiled for.
        steps: in the order in which they ran.
        drawings: the graphs after `graph-fuse`, one for each function.
        kernels: by name.
        timelines: the planned memory of each host function.
        sources: the text of each source file that instructions come from.
        asm: the assembly of the whole module.
        failure: the error that ended the compilation early.
    """

    name: str
    target: str
    before: str
    steps: list[StepRecord] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    kernels: dict[str, KernelRecord] = field(default_factory=dict)
    timelines: list[Timeline] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    asm: str = ""
    failure: str = ""


def record(module: ModuleOp, name: str = "module", sources: Mapping[str, str] | None = None) -> Recording:
    """Compile a module to assembly and record the steps. The module is changed as by `pipeline.run_to`.

    Args:
        module: a module at any phase before `llvmir`.
        name: its name on the page.
        sources: texts of source files by name, for those that cannot be read from disk.

    An error ends the recording and stands in `failure`; the steps before it are kept. The cost is that of a cold compile and
    of printing the module after each step that changes it.
    """
    found = Recording(name, "", f"{module!s}\n")
    try:
        found.target = str(target_of(module))
        with about(module):
            _run_steps(module, found)
            _emit(module, found, sources or {})
    except LaminaError as error:
        found.failure = str(error)
    return found


def _run_steps(module: ModuleOp, found: Recording) -> None:
    context = make_context()
    if not pipeline.is_before(module, "loop"):
        _see_kernels(module, found)
    for step in list(pipeline.steps_to(module, "program")):
        one = step.make()
        start = time.perf_counter()
        if isinstance(one, LoopAutoPass):
            _schedule(module, one, found)
        else:
            one.apply(context, module)
        seconds = time.perf_counter() - start
        found.steps.append(StepRecord(step.name, step.phase, step.why, seconds, f"{module!s}\n"))
        if step.name == "graph-fuse":
            found.drawings = drawings(module)
        elif step.name == "convert-graph-to-loop":
            _see_kernels(module, found)
        elif step.name == "loop-auto":
            for kernel in _kernels(module):
                found.kernels[kernel.sym_name.data].scheduled = str(kernel)
    found.timelines = timelines(module)


def _schedule(module: ModuleOp, one: LoopAutoPass, found: Recording) -> None:
    """The default schedule, whose steps are kept with the kernels."""
    current: list[str] = []

    def took(kernel: KernelOp, taken: Any) -> None:
        found.kernels[kernel.sym_name.data].steps.append(taken.step.as_text())

    def done(kernel: KernelOp) -> None:
        if kernel.sym_name.data in found.kernels:
            found.kernels[kernel.sym_name.data].given_up += current
        current.clear()

    schedule_module(module, took, one.threads, lambda event: current.append(str(event)), done)


def _see_kernels(module: ModuleOp, found: Recording) -> None:
    for kernel in _kernels(module):
        known = all(known_bytes(buffer.type) is not None for buffer in _buffers(kernel))
        open_sizes = bool(kernel.index_arguments)
        flops = None if open_sizes else flops_of(kernel.body.block, {})
        found.kernels[kernel.sym_name.data] = KernelRecord(
            kernel.sym_name.data, str(kernel), flops, _traffic(kernel) if known and not open_sizes else None
        )
    for launch in ops_in(module, LaunchOp):
        if launch.kernel.string_value() in found.kernels:
            found.kernels[launch.kernel.string_value()].launches += 1


def _kernels(module: ModuleOp) -> list[KernelOp]:
    return [op for op in module.body.block.ops if isinstance(op, KernelOp)]


def _buffers(kernel: KernelOp) -> list[SSAValue]:
    return [argument for argument in kernel.body.block.args if isinstance(argument.type, MemRefType)]


def _traffic(kernel: KernelOp) -> int:
    """Bytes moved at least: each buffer once for reading, once for writing."""
    reads = {access.buffer for access in accesses(kernel) if not access.writes}
    writes = {access.buffer for access in accesses(kernel) if access.writes}
    return sum((known_bytes(b.type) or 0) * ((b in reads) + (b in writes)) for b in _buffers(kernel))


def _emit(module: ModuleOp, found: Recording, sources: Mapping[str, str]) -> None:
    target = target_of(module)
    start = time.perf_counter()
    text = emit_module(module, target, debug_info=True)
    written = time.perf_counter()
    found.asm = codegen.emit_asm(text, target)
    found.steps.append(StepRecord("emit LLVM IR", "llvmir", "loops become LLVM IR text", written - start, text))
    seconds = time.perf_counter() - written
    found.steps.append(StepRecord("LLVM", "asm", "instruction selection and register allocation", seconds, found.asm))
    found.sources = dict(sources)
    for listing in listings(found.asm):
        kernel = found.kernels.get(_owner(listing.symbol, found.kernels))
        if kernel is not None:
            kernel.listings.append(listing)


def _owner(symbol: str, kernels: Mapping[str, KernelRecord]) -> str:
    """The kernel that a function belongs to: bodies of parallel loops are functions named after it."""
    owners = [name for name in kernels if symbol == name or symbol.startswith(f"{name}.")]
    return max(owners, key=len, default="")

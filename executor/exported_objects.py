"""A module as code for other programs: for one target or several, with checked entries and a description of itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import pipeline
from ..codegen.compile import compile_object, emit_asm
from ..codegen.exports.entries import entries_text
from ..codegen.exports.interface import Export, Interface, symbols_for
from ..codegen.exports.levels import Level, merged
from ..codegen.exports.metadata import metadata_text
from ..codegen.exports.processor import can_ask
from ..codegen.exports.weights import taken_out
from ..codegen.standalone import standalone
from ..codegen.targets import Target, host
from ..errors import CompileError, about, placed
from ..runtime.signature import GivenSizes, Signature

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp


@dataclass(frozen=True)
class Exported:
    """A module as LLVM IR for other programs.

    Attributes:
        text: LLVM IR; all that it lacks is the C library, and the OpenMP runtime if there is one.
        interface: what it defines.
        is_parallel: whether a loop runs on threads.
        weights: the contents of the file of weights; None if they are in the text.
    """

    text: str
    interface: Interface
    is_parallel: bool
    weights: bytes | None = None

    @property
    def target(self) -> Target:
        """What code outside of the levels is compiled for: any processor of the architecture."""
        last = self.interface.targets[-1]
        if last.architecture != "x86_64":
            return last
        return dataclasses.replace(last, cpu="x86-64", features="", tune="")

    @property
    def symbols(self) -> list[str]:
        """What it defines for others."""
        return [*self.interface.symbols, *([] if self.weights is None else [self.interface.weights])]

    def object(self) -> bytes:
        """The object file."""
        return compile_object(self.text, self.target)

    def asm(self) -> str:
        """The assembly."""
        return emit_asm(self.text, self.target)

    def llvm(self) -> str:
        """LLVM IR that says what it is for: `llc` needs no option."""
        flags = '\n!llvm.module.flags = !{!0}\n!0 = !{i32 1, !"target-abi", !"lp64d"}\n'
        abi = flags if self.target.architecture == "riscv64" else ""
        return f'target triple = "{self.target.triple}"\n\n{self.text}{abi}'


def export(
    module: ModuleOp,
    ctx: Context | None,
    prefix: str,
    targets: Sequence[Target],
    *,
    threads: bool | None = None,
    weights_file: str | None = None,
) -> Exported:
    """Compile a module for other programs.

    Args:
        module: of any phase; it stays as it is.
        prefix: of names in C.
        targets: what to compile for, the best first; none: what the module says, else the host.
        threads: as `codegen.standalone` takes it.
        weights_file: the name of the file of weights, if these are to stand beside the object.

    Raises:
        CompileError: an op cannot be lowered, has effects in Python, or nothing can be called from C.
    """
    from ..lowering.target import declared_target

    if not targets:
        targets = [declared_target(module) or host()]
    if len(targets) > 1:
        _check_several(module, targets)
    levels: list[Level] = []
    found: list[dict[str, tuple[Signature, bool]]] = []
    is_parallel = False
    for target in targets:
        text, functions, on_threads = _compiled(module.clone(), ctx, target)
        levels.append(Level(target, text))
        found.append(functions)
        is_parallel = is_parallel or on_threads
    if not found[0]:
        raise CompileError("the module has no function for other programs to call: all are private")
    symbols = symbols_for(prefix, found[0])
    exports = tuple(
        Export(name, symbols[name], tuple(functions[name][0] for functions in found), takes_threads)
        for name, (_, takes_threads) in found[0].items()
    )
    interface = Interface(prefix, exports, tuple(targets))
    text, file, said = merged(levels), None, None
    if weights_file is not None:
        apart = taken_out(text, interface)
        text, file = apart.text, apart.file
        said = {"symbol": interface.weights, "file": weights_file, "bytes": len(file)}
    parts = [text, entries_text(interface, has_weights=file is not None), metadata_text(interface, said)]
    text = _without_repeats("\n".join(parts))
    return Exported(standalone(text, targets[-1], threads), interface, is_parallel, file)


def _check_several(module: ModuleOp, targets: Sequence[Target]) -> None:
    """Several instruction sets are possible where schedules are still to be made, and processors can be asked."""
    if not can_ask(targets):
        names = ", ".join(str(target) for target in targets)
        raise CompileError(f"code for several instruction sets is for x86-64, written on x86-64; the targets are: {names}")
    if not pipeline.is_before(module, "scheduled"):
        raise CompileError("a module that is scheduled is for one instruction set: leave out --multi-isa, or start before that")


def _compiled(module: ModuleOp, ctx: Context | None, target: Target) -> tuple[str, dict[str, tuple[Signature, bool]], bool]:
    """The code for one target; each function's signature and whether it takes a number of threads; whether a loop has them."""
    from ..dialects.loop.loops import ForOp, KernelOp
    from ..dialects.loop.memory import LaunchOp
    from ..dialects.loop.prints import PrintOp
    from ..dialects.program import FuncOp
    from ..dialects.verify_module import effects_of
    from ..executor.kernels import takes_status
    from ..lowering.llvm.emit import emit_module
    from ..lowering.target import set_target
    from ..runtime.module_signatures import kernel_signature_of, signature_of

    set_target(module, target)
    pipeline.run_to(module, "program", ctx)
    with about(module):
        for effect in effects_of(module):
            rule = "needs Python, which an object for other programs has not: lower it with lm.jit or run it by lamina-run"
            raise placed(CompileError(f"'{effect.name}' op {effect.kind.data} {rule}"), effect)
        for op in module.walk():
            if isinstance(op, PrintOp):
                rule = "needs Python, which an object for other programs has not: take print(...) out of the kernel"
                raise placed(CompileError(f"'loop.print' op {rule}"), op)
        launched = {op.kernel.string_value() for op in module.walk() if isinstance(op, LaunchOp)}
        functions: dict[str, tuple[Signature, bool]] = {}
        for op in module.body.block.ops:
            if isinstance(op, KernelOp) and op.sym_name.data not in launched:
                with about(op):
                    functions[op.sym_name.data] = kernel_signature_of(op, GivenSizes), takes_status(op)
            if isinstance(op, FuncOp) and not op.is_private:
                functions[op.sym_name.data] = signature_of(module, op.sym_name.data), False
        on_threads = any(isinstance(op, ForOp) and op.threads is not None for op in module.walk())
        return emit_module(module, target, callable_kernels=True, reports=True), functions, on_threads


def _without_repeats(text: str) -> str:
    """LLVM IR in which nothing is declared twice."""
    seen: set[str] = set()
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith("declare "):
            if line in seen:
                continue
            seen.add(line)
        lines.append(line)
    return "\n".join(lines)

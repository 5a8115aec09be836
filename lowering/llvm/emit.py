"""Program-level modules to LLVM IR text.

Kernels that a function of the module launches become internal functions, others are entry points; host functions
(`program.func`: inputs, results, temporaries, sizes, then the arena) are external. Pointer arguments are `noalias` except for
the pairs of `in_place`, where result and operand may share a buffer.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ...codegen.targets import Target
from ...codegen.text import I64, OPTIMIZED, Builder, Module
from ...dialects import program
from ...dialects.loop.gather import ScatterOp
from ...dialects.loop.loops import KernelOp
from ...dialects.loop.memory import AllocOp, CheckOp, LaunchOp, StoreOp
from ...dialects.loop.prints import PrintOp
from ...dialects.loop.repeat import CallOp
from ...dialects.loop.subscripts import linear_form
from ...dialects.verify_module import effects_of
from ...errors import CompileError, about
from ..analysis.facts import keeping
from ..analysis.llvm_gains import gains_from_llvm
from ..analysis.nests import holds, ops_in
from ..donation import aliased_arguments
from . import emit_effects, emit_host, emit_loops, emit_memory, emit_print, emit_reduce, emit_scalar, emit_vector
from .emit_core import START, Effect, FunctionEmitter, ModuleEmitter, Pure
from .emit_debug import LineTable
from .emit_host import CALLED, global_text, kernel_symbol, symbol, takes_status
from .emit_needs import needs_of, uses_heap
from .emit_types import fail
from .emit_types import llvm_type as shared_type

PURE: dict[str, Pure] = {**emit_scalar.PURE, **emit_vector.PURE}
"""From op name to the writer of a pure op."""

EFFECTS: dict[str, Effect] = {
    **emit_scalar.EFFECTS,
    **emit_loops.EFFECTS,
    **emit_reduce.EFFECTS,
    **emit_memory.EFFECTS,
    **emit_host.EFFECTS,
    **emit_effects.EFFECTS,
    **emit_print.EFFECTS,
}
"""From op name to the writer of an op with effects or control flow."""


def emit_module(
    module: ModuleOp, target: Target, *, callable_kernels: bool = False, reports: bool = False, debug_info: bool = False
) -> str:
    """The LLVM IR of a module of kernels, host functions and constants, for `codegen.compile_object`.

    About 5 us an op. With `callable_kernels` each kernel that no function launches gets an `@<kernel>.invoke(ptr slots)`:
    docs/kernels.md, section 2. With `reports` each host function takes a pointer to its status as the last argument, where
    others end the process if a kernel fails. With `debug_info` instructions carry their source lines (`emit_debug.py`).

    Raises:
        CompileError: an op has no translation; names it and its source location.
    """
    writer = ModuleWriter(module, target, callable_kernels=callable_kernels, reports=reports, debug_info=debug_info)
    return writer.rest()


class ModuleWriter:
    """Writes a module: all of it at once, or some kernels ahead of the rest. Each text is a complete module."""

    def __init__(
        self,
        module: ModuleOp,
        target: Target,
        *,
        callable_kernels: bool = False,
        reports: bool = False,
        debug_info: bool = False,
    ):
        self.module, self.callable_kernels = module, callable_kernels
        symbols: dict[str, Operation] = {}
        self.launched: set[str] = set()
        self.called: set[str] = set()
        """Host functions that are not inlined: `loop.call` names them."""
        for op in module.body.block.ops:
            name: Any = op.properties.get("sym_name")
            if name is not None:
                symbols[name.data] = op
            if isinstance(op, program.FuncOp):
                self.launched.update(inner.kernel.string_value() for inner in ops_in(op, LaunchOp))
                self.called.update(name for inner in ops_in(op, CallOp) for name in inner.callees)
        text = Module(target.has_fma, target.has_avx512)
        self.shared = ModuleEmitter(text, target, EFFECTS, PURE, symbols, reports=reports)
        if debug_info:
            self.shared.table = LineTable()
        self.waiting: dict[Operation, str] = {}
        """Kernels that were written ahead of the rest, and are in no text yet."""
        self.declared: dict[Operation, str] = {}
        """Kernels that are in a text already."""
        self.outlined = 0
        """The number of outlined functions that are in a text already."""

    def write_ahead(self, kernel: KernelOp) -> None:
        """Write a kernel that is final, if only its name connects it with the rest of the module."""
        is_apart = not holds(kernel, memref.GetGlobalOp) and not _is_inlined(kernel)
        if kernel.sym_name.data in self.launched and is_apart:
            with about(kernel):
                self.waiting[kernel] = self._top_level(kernel)[0]

    @property
    def waiting_lines(self) -> int:
        """The length of the text that `taken` would return, in characters."""
        return sum(text.count("\n") for text in (*self.waiting.values(), *self.shared.outlined[self.outlined :]))

    def taken(self) -> str:
        """The text of the waiting kernels, which the other texts refer to by name."""
        definitions = [text.replace(" internal ", " ", 1) for text in self.waiting.values()]
        for kernel, text in zip(self.waiting, definitions, strict=True):
            self.declared[kernel] = "declare" + text.partition(" {\n")[0].removeprefix("define")
        self.waiting.clear()
        return self._text(definitions)

    def rest(self) -> str:
        """The text of everything that is in no other text yet."""
        self.shared.numbers = {op: number for number, op in enumerate(effects_of(self.module))}
        definitions: list[str] = []
        for op in self.module.body.block.ops:
            with about(op):
                known = self.waiting.get(op) or self.declared.get(op)
                definitions += self._top_level(op) if known is None else [known]
        return self._text(definitions)

    def _text(self, definitions: list[str]) -> str:
        definitions = [*definitions, *self.shared.outlined[self.outlined :]]
        self.outlined = len(self.shared.outlined)
        table = self.shared.table
        text = "\n\n".join(definitions if table is None else map(table.attach, definitions))
        rest = self.shared.text.text(text if self.declared else None)
        return f"{text}\n\n{rest}" if table is None else f"{text}\n\n{rest}{table.text()}"

    def _top_level(self, op: Operation) -> list[str]:
        """The definitions of an op of the module."""
        shared = self.shared
        if isinstance(op, memref.GlobalOp):
            return [global_text(op)]
        if isinstance(op, KernelOp):
            internal = op.sym_name.data in self.launched
            if op.sym_name.data in CALLED and not internal and not self.callable_kernels:
                raise fail(op, f"@{op.sym_name.data} has the name of a function that compiled code calls: rename it")
            with keeping(op):
                kernel = _kernel(shared, op, internal)
            return [kernel, _invoke(shared, op)] if self.callable_kernels and not internal else [kernel]
        if isinstance(op, program.FuncOp):
            return [_host(shared, op, is_called=op.sym_name.data in self.called)]
        if isinstance(op, func.FuncOp):
            if op.body.blocks:
                raise fail(op, f"@{op.sym_name.data} is no program.func: run convert-graph-to-loop first")
            return []
        raise fail(op, "has no translation to LLVM IR")


def _kernel(shared: ModuleEmitter, op: KernelOp, internal: bool) -> str:
    e = FunctionEmitter(shared, op.sym_name.data)
    block = op.body.block
    stored = {inner.buffer for inner in ops_in(op, StoreOp, ScatterOp)}
    shared_arguments = {k for pair in op.in_place_pairs for k in pair}
    e.optimized = (not internal or op.is_scheduled) and gains_from_llvm(op)  # strategies leave LLVM little in other kernels
    e.read_only = {a for k, a in enumerate(block.args) if a not in stored and k not in shared_arguments}
    if internal:
        e.scratch = needs_of(shared, op).offsets
    header = _header(e, op, block, "internal " if internal else "", shared_arguments)
    if internal and _is_inlined(op):
        header += " alwaysinline"
    indices = [e.values[a] for a in op.index_arguments]
    for argument, (sizes, strides) in op.given_shapes().items():
        known = [None if m is None else [_size(e, x, indices) for x in m] for m in (sizes, strides)]
        assert known[0] is not None
        e.shapes[argument] = known[0], known[1]
    if uses_heap(e, op):
        e.starts_later = True
        e.b.block = START
    return _function(e, header, block)


def _size(e: FunctionEmitter, expr: AffineExpr, indices: list[str]) -> str:
    """A size or stride, as a number or the name of a value written at the start of the function."""
    form = linear_form(expr, len(indices))
    if form is None:
        raise CompileError(f"a size of a kernel must be linear in its index arguments, got {expr}")
    lines, e.b.lines = e.b.lines, e.entry
    total = ""
    for c, x in zip(form[0], indices, strict=True):
        if c:
            part = x if c == 1 else e.b.emit(f"mul nsw i64 {x}, {c}")
            total = e.b.emit(f"add nsw i64 {total}, {part}") if total else part
    if not total:
        total = str(form[1])
    elif form[1]:
        total = e.b.emit(f"add nsw i64 {total}, {form[1]}")
    e.b.lines = lines
    e.levels.setdefault(total, 0)
    e.not_negative.add(total)
    return total


def _invoke(shared: ModuleEmitter, op: KernelOp) -> str:
    """The function that calls a kernel with an array of words: parameters, sizes, the number of threads, the status."""
    b = Builder(shared.text)
    arguments: list[str] = []
    block = op.body.block
    slots = {a: k for k, a in enumerate(sorted(block.args, key=lambda a: isinstance(a.type, IndexType)))}
    for argument in block.args:
        ty, k = shared_type(argument.type, op), slots[argument]
        at = "%slots" if k == 0 else b.gep("%slots", str(k), "i64")
        if ty == "i1":
            x = b.icmp("ne", b.load(at, I64, 8), "0", I64)
        else:
            x = b.load(at, ty, 8)
        arguments.append(f"{ty} {x}")
    if needs_of(shared, op).status:
        n = len(block.args)
        threads = b.load(b.gep("%slots", str(n), "i64"), I64, 8)
        arguments += [f"i64 {threads}", f"ptr {b.gep('%slots', str(n + 1), 'i64')}"]
    b.emit_void(f"tail call void {kernel_symbol(op.sym_name.data)}({', '.join(arguments)})")
    b.ret()
    return f"define void {symbol(op.sym_name.data + '.invoke')}(ptr %slots) {{\nentry:\n{b.text()}\n}}"


def _host(shared: ModuleEmitter, op: program.FuncOp, *, is_called: bool) -> str:
    e = FunctionEmitter(shared)
    header = _header(e, op, op.body.block, "", aliased_arguments(op))
    if _is_inlined(op) and not is_called:  # a private function may be requested by name: it stays
        header += " alwaysinline"
    if op.arena is not None:
        e.arena = e.values[op.arena]
    return _function(e, header, op.body.block)


INLINED_OPS = 40
"""Most ops of an inlined function: the body of a loop over scalars takes less time than its call."""


def _is_inlined(op: KernelOp | program.FuncOp) -> bool:
    """Whether a function is inlined: a kernel without loops, or a host function that only others here call."""
    ops = op.body.block.ops
    is_short = len(ops) <= INLINED_OPS and not any(inner.regions for inner in ops)
    if isinstance(op, KernelOp):
        return is_short and not holds(op, AllocOp, CheckOp, PrintOp)
    return is_short and op.is_private


def _header(e: FunctionEmitter, op: KernelOp | program.FuncOp, block: Block, linkage: str, aliased: set[int]) -> str:
    arguments = []
    for k, argument in enumerate(block.args):
        x = f"%{_hint(argument)}.{k}"
        e.values[argument] = x
        e.levels[x] = 0
        ty = e.ty(argument.type, op)
        if isinstance(argument.type, IndexType):
            e.not_negative.add(x)  # a size
        if k in aliased:
            e.aliased.add(x)
        arguments.append(f"{ty}{' noalias' if ty == 'ptr' and k not in aliased else ''} {x}")
    if e.scratch:
        arguments.append("ptr noalias %scratch")
    if isinstance(op, KernelOp) and needs_of(e.module, op).status:
        arguments += ["i64 %threads", "ptr %status"]
        e.threads, e.status = "%threads", "%status"
        e.levels["%threads"] = e.levels["%status"] = 0
    elif isinstance(op, program.FuncOp) and takes_status(e.module, op):
        arguments.append("ptr %status")
        e.status = "%status"
    name = kernel_symbol(op.sym_name.data) if isinstance(op, KernelOp) else symbol(op.sym_name.data)
    return f"define {linkage}void {name}({', '.join(arguments)}) nounwind{OPTIMIZED if e.optimized else ''}"


def _hint(value: SSAValue) -> str:
    hint = value.name_hint or "arg"
    return hint if hint.isascii() and hint.replace("_", "").isalnum() else "arg"


def _function(e: FunctionEmitter, header: str, block: Block) -> str:
    e.run(block)
    return f"{header} {{\nentry:\n{e.finish()}\n}}"

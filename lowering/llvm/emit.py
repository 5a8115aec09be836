"""Program-level modules to LLVM IR text.

Kernels that a function of the module launches become internal functions, others are entry points; host functions
(`func.func` over memrefs: inputs, results, then the arena) are external. Pointer arguments are `noalias` but for the pairs of
`lamina.inplace`, where result and operand may be one buffer.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...codegen.targets import Target
from ...dialects.loop.memory import LaunchOp, StoreOp
from ...dialects.loop.structure import KernelOp
from ..plan_buffers import scratch_layout
from . import emit_host, emit_loops, emit_memory, emit_reduce, emit_scalar, emit_vector
from .emit_core import Effect, FunctionEmitter, ModuleEmitter, Pure
from .emit_host import global_text, symbol
from .emit_types import fail
from .text import Module

PURE: dict[str, Pure] = {**emit_scalar.PURE, **emit_vector.PURE}
"""From op name to the writer of an op that only computes."""

EFFECTS: dict[str, Effect] = {
    **emit_scalar.EFFECTS,
    **emit_loops.EFFECTS,
    **emit_reduce.EFFECTS,
    **emit_memory.EFFECTS,
    **emit_host.EFFECTS,
}
"""From op name to the writer of an op whose place matters."""


def emit_module(module: ModuleOp, target: Target) -> str:
    """The LLVM IR of a module of kernels, host functions and constants, for `codegen.compile_object`.

    About 5 us an op.

    Raises:
        CompileError: An op has no translation, named with its place.
    """
    symbols: dict[str, Operation] = {}
    launched: set[str] = set()
    for op in module.body.block.ops:
        name: Any = op.properties.get("sym_name")
        if name is not None:
            symbols[name.data] = op
        if isinstance(op, func.FuncOp) and op.body.blocks:
            launched.update(inner.kernel.string_value() for inner in op.walk() if isinstance(inner, LaunchOp))
    shared = ModuleEmitter(Module(target.has_fma), target, EFFECTS, PURE, symbols)
    shared.scratch = {op: scratch_layout(op) for op in symbols.values() if isinstance(op, KernelOp)}
    parts: list[str] = []
    for op in module.body.block.ops:
        if isinstance(op, memref.GlobalOp):
            parts.append(global_text(op))
        elif isinstance(op, KernelOp):
            parts.append(_kernel(shared, op, internal=op.sym_name.data in launched))
        elif isinstance(op, func.FuncOp):
            if op.body.blocks:
                parts.append(_host(shared, op))
        else:
            raise fail(op, "has no translation to LLVM IR")
    return "\n\n".join(parts) + "\n\n" + shared.text.text()


def _kernel(shared: ModuleEmitter, op: KernelOp, internal: bool) -> str:
    e = FunctionEmitter(shared)
    block = op.body.block
    stored = {inner.operands[1] for inner in op.walk() if isinstance(inner, StoreOp)}
    pairs: Any = op.attributes.get("lamina.inplace")
    shared_arguments = set() if pairs is None else {k.value.data for pair in pairs.data for k in pair.data}
    e.read_only = {a for k, a in enumerate(block.args) if a not in stored and k not in shared_arguments}
    e.scratch, size = shared.scratch[op]
    if size and not internal:
        raise fail(op, f"needs {size} bytes of scratch memory, which a host function has to give it in a loop.launch")
    return _function(e, _header(e, op, block, "internal " if internal else "", shared_arguments), block)


def _host(shared: ModuleEmitter, op: func.FuncOp) -> str:
    if len(op.body.blocks) != 1 or op.function_type.outputs.data:
        raise fail(op, "is no host function: one block, and results through the last arguments")
    e = FunctionEmitter(shared)
    block = op.body.block
    for argument in block.args:
        if not isinstance(argument.type, MemRefType):
            raise fail(op, f"takes buffers only, got {argument.type}")
    header = _header(e, op, block, "", set())
    if "lamina.arena" in op.attributes and block.args:
        e.arena = e.values[block.args[-1]]
    return _function(e, header, block)


def _header(e: FunctionEmitter, op: KernelOp | func.FuncOp, block: Block, linkage: str, aliased: set[int]) -> str:
    arguments = []
    for k, argument in enumerate(block.args):
        x = f"%{_hint(argument)}.{k}"
        e.values[argument] = x
        e.levels[x] = 0
        ty = e.ty(argument.type, op)
        if isinstance(argument.type, IndexType):
            e.not_negative.add(x)  # a size
        arguments.append(f"{ty}{' noalias' if ty == 'ptr' and k not in aliased else ''} {x}")
    if e.scratch:
        arguments.append("ptr noalias %scratch")
    return f"define {linkage}void {symbol(op.sym_name.data)}({', '.join(arguments)}) nounwind"


def _hint(value: SSAValue) -> str:
    hint = value.name_hint or "arg"
    return hint if hint.isascii() and hint.replace("_", "").isalnum() else "arg"


def _function(e: FunctionEmitter, header: str, block: Block) -> str:
    e.run(block)
    e.b.ret()
    return f"{header} {{\nentry:\n{e.body()}\n}}"

"""Compiles and calls textual kernels; shared by the emission tests."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
from lamina.codegen.compile import compile_object, verify_llvm
from lamina.codegen.targets import Target, host
from lamina.codegen.thread_runtime import load_object
from lamina.dialects.context import make_context
from lamina.dialects.parsing import LaminaParser
from lamina.lowering.default_threads import place_loops
from lamina.lowering.llvm.emit import emit_module
from lamina.lowering.target import set_target
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

TYPE = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "bool": "i1"}
DTYPES = tuple(TYPE)


@cache
def context() -> Context:
    return make_context(allow_unregistered=True)


def parse(text: str, verify: bool = True) -> ModuleOp:
    module = LaminaParser(context(), text, "test.mlir").parse_module()
    if verify:
        module.verify()
    return module


def emit(text: str, target: Target | None = None, verify: bool = True) -> str:
    module = parse(text, verify)
    set_target(module, target or host())
    place_loops(module)
    ir = emit_module(module, target or host())
    verify_llvm(ir)
    return ir


class Compiled:
    """A kernel or host function called with arrays (by address) and integers (sizes)."""

    def __init__(self, text: str, name: str = "k", target: Target | None = None, verify: bool = True):
        self.ir = emit(text, target, verify)
        self.library = load_object(compile_object(self.ir, target), [name])
        self.address = self.library.address(name)

    def __call__(self, *arguments: np.ndarray | int) -> None:
        for a in arguments:
            assert isinstance(a, int) or a.flags.c_contiguous
        values = [a if isinstance(a, int) else a.ctypes.data for a in arguments]
        types = [ctypes.c_int64 if isinstance(a, int) else ctypes.c_void_p for a in arguments]
        ctypes.CFUNCTYPE(None, *types)(self.address)(*values)


def memref_type(array: np.ndarray) -> str:
    return f"memref<{''.join(f'{n}x' for n in array.shape)}{TYPE[array.dtype.name]}>"


def elementwise(body: str, inputs: list[str], output: str, size: int, lanes: int = 1) -> str:
    """A kernel that applies `body` (over %a, %b, ... giving %r; `T0`, `T1`, ..., `R` stand for types) to each element."""
    value = [t if lanes == 1 else f"vector<{lanes}x{t}>" for t in (*inputs, output)]
    names = "abcdefg"
    for k, t in enumerate(value[:-1]):
        body = body.replace(f"T{k}", t)
    body = body.replace("R", value[-1]).replace("BOOL", "i1" if lanes == 1 else f"vector<{lanes}xi1>")
    arguments = [f"%in{k}: memref<{size}x{t}>" for k, t in enumerate(inputs)] + [f"%out: memref<{size}x{output}>"]
    masked = size % lanes != 0
    lines = [f"loop.kernel @k({', '.join(arguments)}) {{", f"  loop.for parallel %i = 0 to {size} step {lanes} {{"]
    suffix = ""
    if masked:
        lines += [
            f"    %size = arith.constant {size} : index",
            "    %left = arith.subi %size, %i : index",
            f"    %mask = vector.create_mask %left : vector<{lanes}xi1>",
        ]
        suffix = " mask %mask"
    for k, t in enumerate(inputs):
        wide = "" if lanes == 1 else f", {value[k]}"
        lines.append(f"    %{names[k]} = loop.load %in{k}[%i]{suffix} : memref<{size}x{t}>{wide}")
    lines += ["    " + line for line in body.splitlines()]
    wide = "" if lanes == 1 else f", {value[-1]}"
    lines += [f"    loop.store %r, %out[%i]{suffix} : memref<{size}x{output}>{wide}", "  }", "}"]
    return "\n".join(lines)

"""Machine code of a program in memory that the caller fills: the last step of validation.

Functions and kernels are called by their symbols, as other programs call an object, so that the arena and the buffers of
results hold recognizable bytes before the call: each case is called twice, with different ones, and over its donated arguments.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..codegen.compile import compile_object
from ..codegen.targets.host import why_not_here
from ..codegen.thread_runtime import load_object
from ..dialects import program
from ..dialects.loop.loops import KernelOp
from ..dialects.loop.memory import LaunchOp
from ..dialects.loop.parameters import Interface, Sizes
from ..dialects.program import functions_of
from ..dialects.types import numpy_dtype, tensor
from ..errors import CompileError
from ..lowering.llvm.emit import emit_module
from ..lowering.target import target_of
from ..runtime import abi, effects
from .cases import Case, kernel_named
from .comparison import Near, describe_difference, first_difference
from .elementary import wrong_function
from .validate import NATIVE, ValidationError

FILLS = (0xFF, 0x2A)
"""The bytes of uninitialized memory in the first and in the second call."""


class Native:
    """The machine code of a module at phase `program`.

    Args:
        module: is not changed.

    Raises:
        CompileError: it is for a processor that is not here, or cannot be compiled.
        ValidationError: an elementary function that it calls is wrong.
    """

    def __init__(self, module: ModuleOp):
        target = target_of(module)
        if (reason := why_not_here(target)) is not None:
            raise CompileError(f"machine code for target '{target}' cannot run here: {reason}")
        self.module = module
        self._entries = self._callable()
        if (said := wrong_function(module, target)) is not None:
            raise ValidationError(f"{NATIVE}: {said}", NATIVE, [])
        text = emit_module(module, target, callable_kernels=True)
        self._library = load_object(compile_object(text, target), list(self._entries.values()), effects.imports())

    def _callable(self) -> dict[tuple[str, bool], str]:
        """The symbols of functions and kernels, by name and whether it is a kernel."""
        launched = {op.kernel.string_value() for op in self.module.walk() if isinstance(op, LaunchOp)}
        found: dict[tuple[str, bool], str] = {}
        for op in self.module.body.block.ops:
            if isinstance(op, program.FuncOp) and not op.is_private and not any(o.name == "loop.callback" for o in op.walk()):
                found[op.sym_name.data, False] = op.sym_name.data
            if isinstance(op, KernelOp) and op.sym_name.data not in launched:
                found[op.sym_name.data, True] = abi.invoke_symbol(op.sym_name.data)
        return found

    def __call__(self, case: Case, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...] | None:
        """The results of a case; None if it cannot be called.

        Raises:
            ValidationError: it depends on uninitialized memory, or differs where it is written over a donated
                argument.
        """
        entry = self._entries.get((case.name, case.is_kernel))
        if entry is None or self._tells(case):
            return None
        call = self._kernel if case.is_kernel else self._function
        first = call(case.name, entry, inputs, FILLS[0], False)
        ways = [(FILLS[1], False, "it reads uninitialized memory")]
        if not case.is_kernel and self._host(case.name).donation_pairs:
            ways.append((FILLS[0], True, "a result over a donated argument is wrong"))
        for fill, over, fault in ways:
            again = call(case.name, entry, inputs, fill, over)
            near = Near("exact", lambda: None)
            if (k := first_difference(first, again, near)) is not None:
                shown = describe_difference(k, first, again, near)
                message = f"{NATIVE} of {case.subject}: {fault}: on the {case.described} {shown}"
                raise ValidationError(message, NATIVE, inputs, case.subject, case.kind)
        return first

    def _tells(self, case: Case) -> bool:
        """Whether effects happen below, which need a table of Python functions."""
        return not case.is_kernel and any(op.name == "loop.callback" for op in self.module.walk())

    def _host(self, name: str) -> program.FuncOp:
        function = functions_of(self.module)[name]
        assert isinstance(function, program.FuncOp)
        return function

    def _function(self, name: str, entry: str, inputs: Sequence[np.ndarray], fill: int, over: bool) -> tuple[np.ndarray, ...]:
        function = self._host(name)
        given = [np.array(x, order="C") for x in inputs]
        sizes = function.bind_sizes([x.shape for x in given])

        def memory(buffer: Any) -> np.ndarray:
            shape = [n if isinstance(n, int) else sizes[n] for n in function.sizes_of(buffer)]
            return _filled(shape, numpy_dtype(buffer.type.element_type), fill)

        outputs = [memory(buffer) for buffer in function.outputs]
        for result, number in function.donation_pairs if over else ():
            outputs[result] = given[number]
        rest = [memory(buffer) for buffer in function.temporaries]
        arena = [] if function.arena is None else [_filled([function.arena_bytes], np.dtype(np.uint8), fill)]
        words = [x.ctypes.data for x in (*given, *outputs, *rest)] + [sizes[s] for s in function.sizes]
        words += [x.ctypes.data for x in arena]
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(words))(self._library.address(entry))(*words)
        return tuple(x.copy() for x in outputs)

    def _kernel(self, name: str, entry: str, inputs: Sequence[np.ndarray], fill: int, over: bool) -> tuple[np.ndarray, ...]:
        kernel = kernel_named(self.module, name)
        assert kernel is not None
        interface = Interface(kernel)
        sizes = Sizes(interface)
        words: list[int] = []
        kept, outputs = [], []
        for parameter, x in zip(interface.parameters, inputs, strict=True):
            sizes.bind(parameter, tensor(parameter.element, x.shape))
            if parameter.is_array:
                kept.append(np.array(x, order="C"))
                words.append(kept[-1].ctypes.data)
                outputs += [kept[-1]] if parameter.writes else []
            else:
                words.append(int.from_bytes(x.tobytes().ljust(8, b"\0"), "little", signed=True))
        slots = np.array([*words, *sizes.values, 0, 0, 0, 0, 0], np.int64)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._library.address(entry))(slots.ctypes.data)
        return tuple(x.copy() for x in outputs)


def _filled(shape: Sequence[int], dtype: np.dtype[Any], fill: int) -> np.ndarray:
    """Memory of bytes, aligned to a cache line as callers align it."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.full(size + 64, fill, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)

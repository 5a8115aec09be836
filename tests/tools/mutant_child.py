"""The child process of mutants.py: reads numbers, checks the mutant of each, answers in lines of JSON."""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import resource
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from lamina import passes, pipeline
from lamina.codegen.compile import compile_object
from lamina.codegen.targets.host import why_not_here
from lamina.codegen.thread_runtime import load_object
from lamina.debugging.comparison import describe_difference, first_difference
from lamina.debugging.differences import has_transforms
from lamina.diagnostics import from_exception
from lamina.dialects import program
from lamina.dialects.context import make_context
from lamina.dialects.dominance import errors_in
from lamina.dialects.element_types import NoDTypeError, row_of
from lamina.dialects.loop.loops import KernelOp
from lamina.dialects.loop.memory import LaunchOp
from lamina.dialects.loop.parameters import Interface, Sizes
from lamina.dialects.parsing import parse_module
from lamina.dialects.types import DYNAMIC, numpy_dtype, tensor
from lamina.errors import LaminaError
from lamina.lowering.check_bounds import guard_accesses
from lamina.lowering.llvm.emit import emit_module
from lamina.lowering.target import target_of
from lamina.runtime import effects
from lamina.runtime.inputs import generate
from lamina.runtime.interpreter import Interpreter, InterpreterError, TooLongError, accesses, buffers, interpret
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp
from xdsl.utils.exceptions import DiagnosticException, ParseError

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "lowering"))
from guarded import pages
from lies import Lies
from mutants import Mutants

ITERATIONS = 20_000
ELEMENTS = 1 << 18
"""Functions with more iterations or elements are compiled and not run."""


def _has_dtype(element: Any) -> bool:
    return row_of(element) is not None or isinstance(element, IndexType)


class Verdict(Exception):
    """The end of a check."""

    def __init__(self, verdict: str, what: str = "") -> None:
        super().__init__(verdict, what)
        self.verdict, self.what = verdict, what


@contextlib.contextmanager
def refusing(stage: str) -> Iterator[None]:
    """An error in the block refuses the mutant: it must be placed and not internal."""
    try:
        yield
    except (Verdict, MemoryError):
        raise
    except Exception as error:
        diagnostic = from_exception(error)
        if "internal:" in diagnostic.message or not isinstance(error, LaminaError | DiagnosticException | ParseError):
            trace = "".join(traceback.format_exception(error.__cause__ or error)[-4:])
            raise Verdict("internal", f"{stage}: {diagnostic.message}\n{trace}") from None
        if diagnostic.location is None:
            raise Verdict("unplaced", f"{stage}: {diagnostic.message}") from None
        raise Verdict("refused", f"{stage}: {diagnostic.message}") from None


def check(text: str) -> None:
    """Whatever becomes of a mutant, as a Verdict."""
    ctx = make_context()
    with refusing("parse"):
        module = parse_module(ctx, text, "mutant.mlir")
    with refusing("verify"):
        for error in errors_in(module):
            raise error
    original = module.clone()
    with refusing("compile"):
        str(module)
        guard_accesses(module)
        pipeline.run_to(module, "program", ctx, lambda step, m: passes.check(m, f"pass '{step.name}' left invalid IR: "))
        text = emit_module(module, target_of(module), callable_kernels=True)
        library = None
        with collecting_names(module) as symbols:
            code = compile_object(text, target_of(module))
            if why_not_here(target_of(module)) is not None:
                raise Verdict("compiled")
            library = load_object(code, symbols, effects.imports())
    if any(op.name == "loop.callback" for op in module.walk()):
        raise Verdict("compiled")  # its effects need a table of Python functions, which a text has not
    ran = 0
    with np.errstate(all="ignore"):
        for entry in symbols:
            ran += compared(original, module, library, entry)
    raise Verdict("equal" if ran else "compiled")


@contextlib.contextmanager
def collecting_names(module: ModuleOp) -> Iterator[list[str]]:
    """The symbols that can be called: host functions, and what calls kernels."""
    launched = {op.kernel.string_value() for op in module.walk() if isinstance(op, LaunchOp)}
    called = {str(op.properties.get("callee")) for op in module.walk() if op.name == "loop.repeat"}
    names = [
        op.sym_name.data
        for op in module.body.block.ops
        if isinstance(op, program.FuncOp) and f"@{op.sym_name.data}" not in called
    ]
    kernels = [op.sym_name.data for op in module.body.block.ops if isinstance(op, KernelOp)]
    yield [*names, *(f"{name}.invoke" for name in kernels if name not in launched)]


def compared(original: ModuleOp, module: ModuleOp, library: Any, entry: str) -> bool:
    """Whether a function was run; its results are the interpreter's, in memory between closed pages."""
    by_name = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, program.FuncOp | KernelOp)}
    kernel = by_name.get(entry.removesuffix(".invoke"))
    try:
        if isinstance(kernel, KernelOp):
            return _kernel(original, kernel, library, entry)
        return _function(original, by_name[entry], library, entry)
    except TooLongError:
        return False
    except NoDTypeError:
        return False
    except InterpreterError as error:
        raise Verdict("interpreter", f"@{entry}: {error}") from None


class _Near:
    """Results near enough for the narrowest floats of a module: what is stored in f64 may be computed in f32.

    A mutant's terms may cancel at any point, so an error counts relative to the largest element of a result.
    """

    def __init__(self, narrow: bool):
        self.narrow = narrow

    def each(self, k: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Whether each element is near enough; of complex numbers both parts."""
        if a.dtype.kind == "c":
            return self.each(k, np.real(a), np.real(b)) & self.each(k, np.imag(a), np.imag(b))
        if a.dtype.kind != "f":
            return a == b
        with np.errstate(all="ignore"):
            if a.dtype == np.float64 and self.narrow:
                a, b = a.astype(np.float32), b.astype(np.float32)
            facts = np.finfo(a.dtype)
            finite = np.isfinite(a) & np.isfinite(b)
            allowed = 256 * float(facts.eps) * (np.abs(a) + np.max(np.abs(a[finite]), initial=0)) + float(facts.tiny)
            return (np.abs(a - b) <= allowed) | (a == b) | (np.isnan(a) & np.isnan(b))


def _near(module: ModuleOp) -> Any:
    text = str(module)
    return _Near(any(word in text for word in ("f32", "f16")))


def _same(original: ModuleOp, run: Any) -> tuple[np.ndarray, ...] | None:
    """The interpreter's results; None if they depend on undefined memory or on the order of parallel loops."""
    first = run()
    fresh, indices = buffers.fresh, accesses.indices

    def other(type: Any, sizes: Any = (), fill: Any = None) -> np.ndarray:
        array = fresh(type, sizes)
        array[...] = np.ones((), array.dtype)
        return array

    try:
        buffers.fresh, accesses.indices = other, lambda kind, a, b, c, backwards=True: map(np.int64, range(a, b, c))  # pyright: ignore
        second = run()
    finally:
        buffers.fresh, accesses.indices = fresh, indices
    near = _near(original)
    return first if first_difference(first, second, near) is None else None


def _compare(expected: tuple[np.ndarray, ...], got: tuple[np.ndarray, ...], entry: str, near: Any) -> None:
    k = first_difference(expected, got, near)
    if k is not None:
        raise Verdict("different", f"@{entry}: " + describe_difference(k, expected, got, near))


def _arrays(types: list[Any]) -> list[np.ndarray] | None:
    rng = np.random.default_rng(0)
    shapes = [tuple(t.get_shape()) for t in types]
    if any(not _has_dtype(t.element_type) for t in types):
        return None
    if any(n < 0 for s in shapes for n in s) or sum(math.prod(s) for s in shapes) > ELEMENTS:
        return None
    return [generate(numpy_dtype(t.element_type), s, "normal", rng) for t, s in zip(types, shapes, strict=True)]


def _function(original: ModuleOp, function: program.FuncOp, library: Any, entry: str) -> bool:
    arguments: list[Any] = list(function.body.block.args)
    if function.sizes:
        return False
    inputs = _arrays([a.type for a in function.inputs])
    if inputs is None or sum(math.prod(a.type.get_shape()) for a in arguments) > 64 * ELEMENTS:
        return False
    if has_transforms(original):
        pipeline.run_to(original, "optimized")
    expected = _same(original, lambda: interpret(original, entry, inputs, ITERATIONS))
    with pages() as memory:
        for at in (None, 0):
            given = [memory.copy(x, at) for x in inputs]
            outputs = [
                memory.zeros(tuple(a.type.get_shape()), numpy_dtype(a.type.element_type), at)
                for a in arguments[len(inputs) : -1]
            ]
            arena = memory.zeros(tuple(arguments[-1].type.get_shape()), np.uint8, 0)
            words = [*given, *outputs, arena]
            ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(words))(library.address(entry))(*[w.ctypes.data for w in words])
            if expected is not None:
                _compare(expected, tuple(x.copy() for x in outputs), entry, _near(original))
    return expected is not None


def _kernel(original: ModuleOp, kernel: KernelOp, library: Any, entry: str) -> bool:
    try:
        interface = Interface(kernel)
    except LaminaError:
        return False
    sizes, inputs = Sizes(interface), []
    rng = np.random.default_rng(0)
    for parameter in interface.parameters:
        shape = [5 if n == DYNAMIC else n for n in sizes.type_of(parameter).get_shape()]
        if any(n < 0 for n in shape) or math.prod(shape) > ELEMENTS:
            return False
        if not _has_dtype(parameter.element):
            return False
        inputs.append(generate(numpy_dtype(parameter.element), shape, "normal", rng))
        try:
            sizes.bind(parameter, tensor(parameter.element, shape))
        except LaminaError:
            return False
    writes = [p.writes for p in interface.parameters]

    def run() -> tuple[np.ndarray, ...]:
        arrays = [np.array(x) if w else x for x, w in zip(inputs, writes, strict=True)]
        given, rest = iter(arrays), iter(sizes.values)
        values = [next(rest if isinstance(a.type, IndexType) else given) for a in kernel.body.block.args]
        scalars = [
            x[()] if not isinstance(a.type, MemRefType) and isinstance(x, np.ndarray) else x
            for a, x in zip(kernel.body.block.args, values, strict=True)
        ]
        Interpreter(original, ITERATIONS).launch(kernel.sym_name.data, scalars)
        return tuple(x for x, w in zip(arrays, writes, strict=True) if w)

    wrong: InterpreterError | None = None
    try:
        expected = _same(original, run)
    except TooLongError:
        return False
    except InterpreterError as error:
        expected, wrong = None, error
    with pages() as memory:
        for at in (None, 0):
            words, outputs = [], []
            for x, w, p in zip(inputs, writes, interface.parameters, strict=True):
                if p.is_array:
                    array = memory.copy(x, at)
                    words.append(array.ctypes.data)
                    outputs += [array] if w else []
                else:
                    words.append(int.from_bytes(x.tobytes().ljust(8, b"\0"), "little", signed=True))
            slots = np.array([*words, *sizes.values, 0, 0, 0, 0, 0], np.int64)
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.address(entry))(slots.ctypes.data)
            if slots[-4]:
                raise Verdict("stopped" if expected is None else "different", f"@{entry} stops")
            if wrong is not None:
                raise Verdict("unchecked", f"@{entry}: {wrong}")
            if expected is not None:
                _compare(expected, tuple(x.copy() for x in outputs), entry, _near(original))
    return expected is not None


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing else may write there
    mutants = Lies(sys.argv[1]) if sys.argv[2:] == ["lies"] else Mutants(sys.argv[1])
    print(json.dumps({"units": len(mutants.units)}), file=answers, flush=True)
    for line in sys.stdin:
        name, text = mutants.text(int(line))
        try:
            check(text)
            answer = {}
        except Verdict as verdict:
            answer = {"verdict": verdict.verdict, "what": verdict.what}
        except InterpreterError as error:
            answer = {"verdict": "interpreter", "what": str(error)}
        except MemoryError:
            answer = {"verdict": "refused", "what": "memory"}
        except BaseException:
            answer = {"verdict": "fault", "what": traceback.format_exc()[-3000:]}
        print(json.dumps({"name": name, **answer}), file=answers, flush=True)


if __name__ == "__main__":
    main()

"""lamina-run: compile a function of a textual module and call it, or run it in the reference interpreter.

lamina-run mlp.mlir --entry main --args rand:32x64xf32 weights.npz --time
lamina-run saxpy.mlir --entry saxpy --args 2.0 iota:8xf32 ones:8xf32
lamina-run resnet.onnx --random --dim batch=4 --time

A kernel is run on copies of its arguments, with the default schedule unless it has one of its own or `--as-written` is given;
the arrays that it writes are shown.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .arguments import ArgumentParser, UsageError, add_extension, add_target, target_option
from .foreign import add_dims, convert_foreign, dims_of, is_model, module_has_foreign_ops, random_inputs, read_model
from .kernels import KernelRun, find_kernel
from .reading import guarded, parse, read_text

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

Arrays = tuple[np.ndarray, ...]


def arguments() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(prog="lamina-run", description="Compile a function of a module and call it.")
    parser.add_argument(
        "file",
        help="MLIR text of any phase up to program, LLVM IR (.ll, or with --results), a model (.onnx); - is standard input",
    )
    parser.add_argument("--entry", default="main", help="the function to call (main), or a kernel")
    parser.add_argument(
        "--args",
        nargs="*",
        default=[],
        metavar="ARG",
        help="rand:2x3xf32, randn:, zeros:, ones:, iota:, a.npy, w.npz (its arrays in order), w.npz:name, 3.0, [1,2,3]",
    )
    parser.add_argument(
        "--random", action="store_true", help="random arguments of the types of the function, instead of --args"
    )
    add_dims(parser.add_argument)
    parser.add_argument("-p", "--passes", default="", help="passes to run before compiling, as lamina-opt takes them")
    add_extension(parser)
    add_target(parser)
    parser.add_argument("--interpret", action="store_true", help="run the reference interpreter instead of compiling")
    parser.add_argument("--as-written", action="store_true", help="run the loops of a kernel as they stand, without a schedule")
    parser.add_argument("--compare", action="store_true", help="run both and print the largest difference")
    parser.add_argument("--save", metavar="FILE", help="write the results to a .npy (one result) or .npz file")
    parser.add_argument("--time", action="store_true", help="print the median nanoseconds of a call")
    parser.add_argument("--seed", type=_seed, default=0, help="of rand: and randn: (0)")
    parser.add_argument("--results", nargs="*", metavar="TYPE", help="for LLVM IR that does not say them: as 2x3xf32")
    parser.add_argument("--trust", action="store_true", help="LLVM IR may call any function, as system, and have assembly")
    return parser


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"--seed takes a whole number from 0, got {text}")
    return int(text)


def main(args: Sequence[str] | None = None) -> int:
    """The command line; the exit status."""
    return guarded("lamina-run", run, args)


def run(args: Sequence[str] | None) -> int:
    """Read, run, show."""
    from ..runtime.inputs import parse_arguments

    options = arguments().parse_args(args)
    if options.interpret and options.compare:
        raise UsageError("--interpret and --compare exclude each other")
    if options.save is not None and not options.save.endswith((".npy", ".npz")):
        raise UsageError(f"--save takes a .npy or .npz file, got {options.save}")
    if options.random and options.args:
        raise UsageError("--random and --args exclude each other")
    dims = dims_of(options.dim)
    values = None if options.random else parse_arguments(options.args, options.seed)
    name, text = ("", "") if is_model(options.file) else read_text(options.file)
    if is_model(options.file):
        function, inputs = of_model(values, options)
    elif options.file.endswith(".ll") or options.results is not None:
        if options.interpret or options.compare or options.passes or values is None:
            raise UsageError("LLVM IR is compiled and run as it is: --interpret, --compare, --random and -p are for MLIR")
        from .llvm_run import of_llvm

        function, inputs = of_llvm(text, options.entry, values, options.results, trust=options.trust)
    else:
        from ..dialects.context import make_context

        ctx = make_context()
        function, inputs = of_module(parse(ctx, name, text), ctx, values, dims, options)
    results = function(*inputs)
    show(results, options.save, getattr(function, "names", None))
    if options.time:
        print(f"{median_nanoseconds(function, inputs):.0f} ns per call")
    return 0


def of_model(values: list[Any] | None, options: Any) -> tuple[Callable[..., Arrays], list[Any]]:
    """The function of a model of ONNX and its arguments; by its module where an option is about that."""
    model = read_model(options.file, options.dim)
    if options.interpret or options.compare or options.passes or options.target is not None:
        from ..dialects.context import make_context

        return of_module(model.module(), make_context(), values, {}, options)
    if values is None:
        specs: list[tuple[str, np.dtype[Any], Sequence[Any]]] = []
        for s in model.inputs:
            if s.dtype is None or s.shape is None:
                raise UsageError(f"--random: the model does not say type and sizes of {s.name}: give it with --args")
            specs.append((s.name, s.dtype, [f"{s.name}_{k}" if n is None else n for k, n in enumerate(s.shape)]))
        values = random_inputs(specs, options.seed)
    function = _in_a_tuple(model)
    function.names = [s.name for s in model.outputs]  # pyright: ignore[reportFunctionMemberAccess]
    return function, values


def of_module(
    module: ModuleOp, ctx: Context, values: list[Any] | None, dims: Mapping[str, int], options: Any
) -> tuple[Callable[..., Arrays], list[np.ndarray]]:
    """The function of a module and its fitted arguments."""
    from .. import pipeline
    from ..dialects.module_rules import require_single_blocks
    from ..lowering.target import set_target
    from ..passes import run_passes

    require_single_blocks(module)
    if (target := target_option(options)) is not None:
        set_target(module, target)
    if options.passes:
        run_passes(module, ctx, options.passes)
    pipeline.guard_accesses(module)
    kernel = find_kernel(module, options.entry)
    if kernel is not None:
        if values is None:
            raise UsageError(f"--random is for functions: @{options.entry} is a kernel, give it arguments with --args")
        return of_kernel(KernelRun(kernel, values), options)
    if values is None:
        values = random_inputs(declared(module, options.entry, dims), options.seed)
    if module_has_foreign_ops(module):
        convert_foreign(module, ctx, options.entry, [np.shape(value) for value in values])
    inputs = fitted(module, ctx, options.entry, values)
    if options.interpret:
        return interpreted(module, options.entry), inputs
    refuse_scalars(module, options.entry)
    reference = module.clone() if options.compare else None
    compiled = native(module, options.entry)
    if reference is not None:
        compare(interpreted(reference, options.entry)(*inputs), compiled(*inputs))
    return compiled, inputs


def of_kernel(run: KernelRun, options: Any) -> tuple[Callable[..., Arrays], list[np.ndarray]]:
    """A kernel and its arguments."""
    function = run.interpreted() if options.interpret else run.native(options.as_written)
    function.names = run.names  # pyright: ignore[reportFunctionMemberAccess]
    if options.compare:
        compare(run.interpreted()(*run.inputs), function(*run.inputs), run.names)
    return function, run.inputs


def declared(module: ModuleOp, entry: str, dims: Mapping[str, int]) -> list[tuple[str, np.dtype[Any], list[Any]]]:
    """Name, dtype and sizes of the arguments of a function; a size that is no number is its text."""
    from ..dialects.sizes.polynomial import Size, substituted
    from ..dialects.types import DYNAMIC
    from ..runtime.inputs import InputError
    from ..runtime.interpreter import shape_and_dtype

    found = []
    for k, parameter in enumerate(parameters_of(module, entry)):
        name = parameter.name_hint or str(k)
        try:
            sizes, dtype = shape_and_dtype(parameter.type)
        except (KeyError, AttributeError):
            raise InputError(f"argument '{name}' of @{entry} is of type {parameter.type}, which cannot be given here") from None
        named = [f"{name}_{axis}" if size == DYNAMIC else size for axis, size in enumerate(sizes)]
        values = []
        for size in named:
            known = substituted(size, lambda s: dims.get(s.name, Size.product((s,)))) if isinstance(size, Size) else size
            values.append(dims.get(known, known) if isinstance(known, str) else known)
        found.append((name, dtype, values))
    return found


def parameters_of(module: ModuleOp, entry: str) -> Sequence[Any]:
    """The inputs of a function.

    Raises:
        InterpreterError: there is none of that name.
    """
    from ..dialects.program import functions_of, inputs_of
    from ..runtime.interpreter import InterpreterError

    functions = functions_of(module)
    function = functions.get(entry)
    if function is None:
        there = ", ".join(f"@{name}" for name in functions) or "none"
        raise InterpreterError(f"no function @{entry} to run; there are: {there}")
    return inputs_of(function)


def fitted(module: ModuleOp, ctx: Context, entry: str, values: list[Any]) -> list[np.ndarray]:
    """The arguments as the function takes them; `?` dims of the module are given the sizes that came."""
    from ..dialects.graph.known_sizes import bind_symbols
    from ..dialects.types import DYNAMIC, has_symbols
    from ..runtime.inputs import InputError, fit
    from ..runtime.interpreter import shape_and_dtype

    parameters = parameters_of(module, entry)
    if len(parameters) != len(values):
        raise InputError(f"@{entry} takes {len(parameters)} arguments, got {len(values)}")
    inputs: list[np.ndarray] = []
    is_open = False
    for k, (parameter, value) in enumerate(zip(parameters, values, strict=True)):
        name = parameter.name_hint or str(k)
        try:
            sizes, dtype = shape_and_dtype(parameter.type)
        except (KeyError, AttributeError):
            raise InputError(f"argument '{name}' of @{entry} is of type {parameter.type}, which cannot be given here") from None
        is_open = is_open or DYNAMIC in sizes
        inputs.append(fit(value, name, dtype, [size if isinstance(size, int) and size != DYNAMIC else None for size in sizes]))
    if any(map(has_symbols, parameters)):
        bind_symbols(parameters, [x.shape for x in inputs])  # which reports the argument that does not fit
    if is_open:
        specialize(module, ctx, entry, inputs)
    return inputs


def refuse_scalars(module: ModuleOp, entry: str) -> None:
    """Compiled functions take arrays; say so before a lowering finds out."""
    from xdsl.dialects.builtin import ShapedType
    from xdsl.dialects.func import FuncOp

    from ..errors import CompileError

    for function in module.body.block.ops:
        if isinstance(function, FuncOp) and function.sym_name.data == entry:
            for type in (*function.function_type.inputs, *function.function_type.outputs):
                if not isinstance(type, ShapedType):
                    raise CompileError(f"@{entry} takes or returns {type}: only tensors are compiled; --interpret runs it")


def specialize(module: ModuleOp, ctx: Context, entry: str, inputs: Sequence[np.ndarray]) -> None:
    """Compile for the shapes of the arguments."""
    from ..passes import run_passes

    shapes = tuple("x".join(map(str, x.shape)) or "_" for x in inputs)
    run_passes(module, ctx, [("graph-specialize", {"shapes": shapes, "entry": entry})])


def interpreted(module: ModuleOp, entry: str) -> Callable[..., Arrays]:
    """The function in the reference interpreter."""
    from .. import pipeline
    from ..dialects.graph.autodiff import TransformOp
    from ..runtime.interpreter import interpret

    if any(isinstance(op, TransformOp) for op in module.walk()):
        pipeline.run_to(module, "optimized")
    return lambda *args: interpret(module, entry, args)


def native(module: ModuleOp, entry: str) -> Callable[..., Arrays]:
    """The function as machine code."""
    from ..executor import executor
    from ..runtime.callable import Compiled

    compiled = Compiled(executor.program(module, entry, consume=True))
    call = _in_a_tuple(compiled)
    call.native = compiled  # pyright: ignore[reportFunctionMemberAccess]
    return call


def _in_a_tuple(compiled: Callable[..., Any]) -> Callable[..., Arrays]:
    """The results of a function as a tuple, however many they are."""

    def call(*args: np.ndarray) -> Arrays:
        result = compiled(*args)
        return () if result is None else result if isinstance(result, tuple) else (result,)

    return call


def show(results: Arrays, save: str | None, names: Sequence[str] | None = None) -> None:
    """Print results, or write them to a file."""
    if save is None:
        for k, array in enumerate(results):
            shape, name = "x".join(map(str, array.shape)) or "scalar", names[k] if names else f"result {k}"
            print(f"{name}: {array.dtype} {shape}\n{np.array2string(array, threshold=100)}")
        return
    try:
        if save.endswith(".npy"):
            if len(results) != 1:
                raise UsageError(f"a .npy file holds one array, the function returns {len(results)}: save to a .npz file")
            np.save(save, results[0])
        else:
            np.savez(Path(save), *results)
    except OSError as error:
        raise UsageError(f"cannot write {save}: {error.strerror}") from None


def compare(expected: Arrays, got: Arrays, names: Sequence[str] | None = None) -> None:
    """Print how far the compiled results are from the interpreted ones."""
    for k, (a, b) in enumerate(zip(expected, got, strict=True)):
        with np.errstate(all="ignore"):
            wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
            same = (wide_a == wide_b) | (np.isnan(wide_a) & np.isnan(wide_b))
            error = np.where(same, 0.0, np.abs(wide_a - wide_b))
        count = int((error != 0).sum())
        name = names[k] if names else f"result {k}"
        print(f"{name}: largest difference {np.max(error, initial=0.0):g}, {count} of {a.size} elements differ")


def median_nanoseconds(function: Callable[..., Any], inputs: Sequence[np.ndarray], batches: int = 15) -> float:
    """Median time of a call over batches of at least 2 ms."""
    call = getattr(function, "native", function)
    count, spent = 1, 0.0
    while spent < 0.002:
        count *= 2
        start = time.perf_counter()
        for _ in range(count):
            call(*inputs)
        spent = time.perf_counter() - start
    samples = []
    for _ in range(batches):
        start = time.perf_counter()
        for _ in range(count):
            call(*inputs)
        samples.append((time.perf_counter() - start) / count)
    return statistics.median(samples) * 1e9


if __name__ == "__main__":
    sys.exit(main())

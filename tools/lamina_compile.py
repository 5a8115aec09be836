"""lamina-compile: write a module as an object file, assembly or LLVM IR, with a C header of its functions.

lamina-compile mlp.mlir -o mlp.o --header mlp.h

Kernels that no function launches are functions of C, too. Objects need the C library, nothing of ours. Parallel loops run on
threads in programs that include the header and are compiled with `-fopenmp`, or have an OpenMP runtime anyway; with `--threads`
the object requires one.
"""

from __future__ import annotations

import os
import sys
from argparse import BooleanOptionalAction
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..codegen.standalone import ANCHOR
from ..errors import CompileError
from .arguments import ArgumentParser, UsageError, add_extension, add_target, target_option
from .reading import guarded, parse, read_text

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute

    from ..dialects.loop.structure import KernelOp

_PHASES = {".o": "object", ".s": "asm", ".ll": "llvmir"}
_C_WORDS = frozenset(
    """
    alignas alignof asm auto bool break case catch char class const constexpr continue default delete do double
    else enum explicit export extern false float for friend goto if inline int long mutable namespace new nullptr
    operator private protected public register restrict return short signed sizeof static struct switch template
    this throw true try typedef typename typeof union unsigned using virtual void volatile while
    """.split()
)
"""Words of C and C++ that cannot name a parameter."""


def main(args: Sequence[str] | None = None) -> int:
    """The command line; the exit status."""
    return guarded("lamina-compile", run, args)


def run(args: Sequence[str] | None) -> int:
    """Read, compile, write."""
    from .. import pipeline
    from ..dialects.context import make_context

    parser = ArgumentParser(prog="lamina-compile", description="Compile a module to an object, assembly or LLVM IR.")
    parser.add_argument("file", help="MLIR text of any phase up to program; - is standard input")
    parser.add_argument("-o", "--output", required=True, help="a file ending in .o, .s or .ll")
    add_extension(parser)
    add_target(parser)
    parser.add_argument("--header", help="write a C header with the prototypes")
    parser.add_argument(
        "--threads",
        action=BooleanOptionalAction,
        help="require an OpenMP runtime for parallel loops, or run them on one thread (where the program has one)",
    )
    options = parser.parse_args(args)
    suffix = Path(options.output).suffix
    if suffix not in _PHASES:
        raise UsageError(f"the output must end in .o, .s or .ll, got {options.output}")
    if options.header is not None and _same_file(options.header, options.output):
        raise UsageError(f"-o and --header name the same file: {options.output}")
    target = target_option(options)
    ctx = make_context()
    module = parse(ctx, *read_text(options.file))
    pipeline.guard_accesses(module)
    result = pipeline.compile_to(module, _PHASES[suffix], ctx, target, standalone=True, threads=options.threads)
    files: dict[str, bytes] = {}
    if options.header is not None:  # first: a header that C cannot have leaves no object either
        finds_openmp = options.threads is None and _is_parallel(module)
        files[options.header] = header(module, Path(options.header).stem, finds_openmp=finds_openmp).encode()
    files[options.output] = result if isinstance(result, bytes) else result.encode()
    _write_all(files)
    return 0


def _same_file(a: str, b: str) -> bool:
    """Whether two names are those of one file, which need not exist yet."""
    return Path(a).resolve() == Path(b).resolve()


def _is_parallel(module: ModuleOp) -> bool:
    """Whether a loop of the module runs on threads."""
    from ..dialects.loop.structure import ForOp

    return any(isinstance(op, ForOp) and op.threads is not None for op in module.walk())


def _write_all(files: dict[str, bytes]) -> None:
    """Write every file beside its name before any takes its name, so that an error leaves the old files as they were."""
    written: dict[str, Path] = {}
    name = ""
    try:
        for name, data in files.items():
            path = Path(name)
            if path.is_dir():
                raise UsageError(f"cannot write {name}: it is a directory")
            if path.exists() and not path.is_file():  # a device or a pipe, which cannot be replaced
                path.write_bytes(data)
                continue
            path = path.resolve()  # a link goes on to name what it names
            beside = path.with_name(f".{path.name}.{os.getpid()}")
            written[name] = beside
            beside.write_bytes(data)
        for name, beside in written.items():
            beside.replace(Path(name).resolve())
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error.strerror}") from None
    finally:
        for beside in written.values():
            beside.unlink(missing_ok=True)


def header(module: ModuleOp, stem: str, *, finds_openmp: bool = False) -> str:
    """A C header of the host functions of a module at phase `program`, and of the kernels that none of them launches.

    Every pointer is to contiguous row-major data; results do not overlap arguments; the arena is scratch, 64-byte aligned,
    and so are the arrays after the results, whose sizes only a call knows.
    """
    from ..dialects.loop.memory import LaunchOp
    from ..dialects.loop.structure import KernelOp
    from ..dialects.program import FuncOp

    launched = {op.kernel.string_value() for op in module.walk() if isinstance(op, LaunchOp)}
    guard = "".join(c if c.isalnum() else "_" for c in stem.upper()) + "_H"
    functions: set[str] = set()
    lines = [f"#ifndef {guard}", f"#define {guard}", "#include <stdbool.h>", "#include <stdint.h>", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    for function in module.body.block.ops:
        if isinstance(function, KernelOp) and function.sym_name.data not in launched:
            lines += [*_kernel_prototype(function, *_symbol(function.sym_name.data, functions)), ""]
        if not isinstance(function, FuncOp):
            continue
        name, label = _symbol(function.sym_name.data, functions)
        arguments: list[Any] = [*function.inputs, *function.outputs, *function.temporaries]
        parameters = []
        taken = {"arena"}
        sizes: dict[Any, str] = {size: _c_name(size.name_hint or f"size{k}", taken) for k, size in enumerate(function.sizes)}
        for k, argument in enumerate(arguments):
            word = _c_type(argument.type.element_type)
            shape = "x".join(sizes.get(n, str(n)) for n in function.sizes_of(argument)) or "scalar"
            spelled = _c_name(argument.name_hint or f"a{k}", taken)
            parameters.append(f"{'const ' if k < len(function.inputs) else ''}{word} *{spelled} /* {shape} */")
        parameters += [f"int64_t {size}" for size in sizes.values()]
        lines += [
            f"#define {name}_ARENA_BYTES {function.arena_bytes}",
            f"void {name}({', '.join([*parameters, 'void *arena'])}){label};",
            "",
        ]
    if finds_openmp:
        lines += [ANCHOR.format(name=f"{guard.lower()}_openmp"), ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def _kernel_prototype(kernel: KernelOp, name: str, label: str) -> list[str]:
    """The declaration of a kernel: its arguments in order, sizes and strides as they are named."""
    from xdsl.dialects.builtin import IndexType

    from ..dialects.loop.parameters import parameters_of, spell_size
    from ..written_kernels import takes_status

    taken: set[str] = {"threads", "status"}
    names = [_c_name(argument.name_hint or f"a{k}", taken) for k, argument in enumerate(kernel.body.block.args)]
    known = {p.argument: p for p in parameters_of(kernel)}
    symbols = [name for name, a in zip(names, kernel.body.block.args, strict=True) if isinstance(a.type, IndexType)]
    given = kernel.given_shapes()
    parameters: list[str] = []
    for argument_name, argument in zip(names, kernel.body.block.args, strict=True):
        parameter = known.get(argument)
        if parameter is None:
            parameters.append(f"int64_t {argument_name}")
            continue
        word = _c_type(parameter.element)
        if not parameter.is_array:
            parameters.append(f"{word} {argument_name}")
            continue
        sizes, strides = given.get(argument, (kernel.sizes_of(argument), None))
        shape = ", ".join(spell_size(e, symbols) for e in sizes)
        steps = "" if strides is None else f" in steps of {', '.join(spell_size(e, symbols) for e in strides)}"
        parameters.append(f"{'' if parameter.writes else 'const '}{word} *{argument_name} /* {shape or 'scalar'}{steps} */")
    lines: list[str] = []
    if takes_status(kernel):
        parameters += ["int64_t threads", "int64_t status[4]"]
        lines.append("/* threads: 0 is the default, 1 no others; status: zeros, changed if the kernel stops (-1: no memory) */")
    return [*lines, f"void {name}({', '.join(parameters) or 'void'}){label};"]


def _c_type(element: Attribute) -> str:
    """The type of an element in C."""
    from ..dialects.element_types import row_of

    row = row_of(element)
    if row is None:
        raise CompileError(f"C has no type for {element}: leave out --header")
    return row.c


def _symbol(symbol: str, functions: set[str]) -> tuple[str, str]:
    """The name of a function in C, and what says its name in the object where that is another."""
    if not symbol.isascii() or not all(c.isalnum() or c in "_.$" for c in symbol):
        raise CompileError(f"@{symbol} has a name no assembler takes from C: rename it, or leave out --header")
    name = _c_name(symbol, functions)
    return name, "" if name == symbol else f' __asm__("{symbol}")'


def _c_name(name: str, taken: set[str]) -> str:
    """A name C takes, not in `taken`, as near to the one in the IR as can be."""
    name = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    if not name or name[0].isdigit() or name in _C_WORDS:
        name = f"_{name}" if name[:1].isdigit() or not name else f"{name}_"
    found, k = name, 1
    while found in taken:
        found, k = f"{name}_{k}", k + 1
    taken.add(found)
    return found


if __name__ == "__main__":
    sys.exit(main())

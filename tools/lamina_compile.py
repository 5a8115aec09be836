"""lamina-compile: write a module as an object, a library, assembly or LLVM IR, with a C header of its functions.

lamina-compile mlp.mlir -o mlp.o --header mlp.h

Kernels that no function launches are functions of C, too: docs/deployment.md. Objects need the C library, nothing of ours.
Parallel loops run on threads in programs that include the header and are compiled with `-fopenmp`, or have an OpenMP runtime
anyway; with `--threads` the object requires one.
"""

from __future__ import annotations

import os
import sys
from argparse import BooleanOptionalAction
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import CompileError
from .arguments import ArgumentParser, UsageError, add_extension, add_target, target_option
from .foreign import add_dims, convert_foreign, is_model, module_has_foreign_ops, read_model
from .reading import guarded, parse, read_text

if TYPE_CHECKING:
    from .exported_objects import Exported

_LEVELS = ("x86-64-v4", "x86-64-v3", "x86-64-v2")
"""The targets of `--multi-isa`, the best first."""
_SUFFIXES = (".o", ".a", ".so", ".s", ".ll")


def main(args: Sequence[str] | None = None) -> int:
    """The command line; the exit status."""
    return guarded("lamina-compile", run, args)


def run(args: Sequence[str] | None) -> int:
    """Read, compile, write."""
    from .. import pipeline
    from ..codegen.exports.interface import checked_prefix, default_prefix
    from ..codegen.targets import get
    from ..dialects.context import make_context
    from .c_header import header
    from .exported_objects import export

    options = arguments().parse_args(args)
    output = Path(options.output)
    if output.suffix not in _SUFFIXES:
        raise UsageError(f"the output must end in .o, .a, .so, .s or .ll, got {options.output}")
    if options.multi_isa and options.target is not None:
        raise UsageError("--multi-isa is for x86-64-v2, v3 and v4 in one object: leave out --target")
    weights = str(output.with_suffix(".weights")) if options.weights == "file" else None
    files = [name for name in (options.output, options.header, weights) if name is not None]
    for k, name in enumerate(files):
        if any(_same_file(name, other) for other in files[:k]):
            raise UsageError(f"two outputs are the same file: {name}")
    target = target_option(options)
    targets = tuple(map(get, _LEVELS)) if options.multi_isa else () if target is None else (target,)
    ctx = make_context()
    if is_model(options.file):
        module = read_model(options.file, options.dim).module()
    elif options.dim:
        raise UsageError("--dim is for models of ONNX: dims of a text have the sizes that it says")
    else:
        module = parse(ctx, *read_text(options.file))
        if module_has_foreign_ops(module):
            convert_foreign(module, ctx, "main")
    file_name = output.name if options.file == "-" else Path(options.file).name
    name = module.sym_name.data if module.sym_name is not None else file_name.partition(".")[0]
    prefix = default_prefix(name) if options.prefix is None else checked_prefix(options.prefix)
    pipeline.guard_accesses(module)
    file = None if weights is None else Path(weights).name
    exported = export(module, ctx, prefix, targets, threads=options.threads, weights_file=file)
    contents: dict[str, bytes] = {}
    if options.header is not None:  # first: a header that C cannot have leaves no object either
        finds_openmp = options.threads is None and exported.is_parallel
        source = "" if options.file == "-" else f"{Path(options.file).name} for "
        stem = Path(options.header).stem
        text = header(exported.interface, stem, source=source, finds_openmp=finds_openmp, weights_file=file)
        contents[options.header] = text.encode()
    if weights is not None:
        contents[weights] = exported.weights or b""
    contents[options.output] = _contents(exported, output, bool(options.threads))
    _write_all(contents)
    return 0


def arguments() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(prog="lamina-compile", description="Compile a module for programs in C and other languages.")
    parser.add_argument("file", help="MLIR text of any phase up to program, or a model (.onnx); - is standard input")
    parser.add_argument("-o", "--output", required=True, help="a file ending in .o, .a, .so, .s or .ll")
    add_dims(parser.add_argument)
    add_extension(parser)
    add_target(parser)
    parser.add_argument("--multi-isa", action="store_true", help="x86-64-v2, v3 and v4 in one object; it asks the processor")
    parser.add_argument("--header", help="write a C header with the prototypes")
    parser.add_argument(
        "--prefix", help="of names in C: @main becomes <prefix>, @f <prefix>_f (the module's name or the file's)"
    )
    parser.add_argument(
        "--weights",
        choices=("embed", "file"),
        default="embed",
        help="constants in the object, or in a file beside it, which ends in .weights (embed)",
    )
    parser.add_argument(
        "--threads",
        action=BooleanOptionalAction,
        help="require an OpenMP runtime for parallel loops, or run them on one thread (where the program has one)",
    )
    return parser


def _contents(exported: Exported, output: Path, requires_openmp: bool) -> bytes:
    """The contents of the output file."""
    from ..codegen.exports.archive import archive
    from ..codegen.exports.linking import shared_object
    from ..codegen.exports.metadata import sealed

    symbols = exported.symbols
    match output.suffix:
        case ".ll":
            return exported.llvm().encode()
        case ".s":
            return exported.asm().encode()
        case ".a":
            if not {"linux", "unknown"} & {*exported.target.triple.split("-")}:
                raise CompileError(f"no .a is written for target '{exported.target}': write an .o, and use ar there")
            return archive(f"{output.stem}.o", exported.object(), symbols)
        case ".so":
            openmp = requires_openmp and exported.is_parallel
            return sealed(shared_object(exported.object(), exported.target, output.name, symbols, openmp=openmp))
        case _:
            return exported.object()


def _same_file(a: str, b: str) -> bool:
    """Whether two names are those of one file, which need not exist yet."""
    return Path(a).resolve() == Path(b).resolve()


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
            path = path.resolve()  # a link keeps its target
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


if __name__ == "__main__":
    sys.exit(main())

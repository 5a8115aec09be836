"""lamina-compile: write a module as an object, a library, assembly or LLVM IR, with a C header of its functions.

lamina-compile mlp.mlir -o mlp.o --header mlp.h

Kernels that no function launches are functions of C, too: docs/deployment.md. Objects need the C library, nothing of ours.
Parallel loops run on threads in programs that include the header and are compiled with `-fopenmp`, or have an OpenMP runtime
anyway; with `--threads` the object requires one.
"""

from __future__ import annotations

import sys
from argparse import BooleanOptionalAction
from collections.abc import Sequence
from pathlib import Path

from .arguments import ArgumentParser, UsageError, add_extension, add_target, target_option
from .foreign import add_dims, convert_foreign, is_model, module_has_foreign_ops, read_model
from .reading import guarded, parse, read_text

_LEVELS = ("x86-64-v4", "x86-64-v3", "x86-64-v2")
"""The targets of `--multi-isa`, the best first."""


def main(args: Sequence[str] | None = None) -> int:
    """The command line; the exit status."""
    return guarded("lamina-compile", run, args)


def run(args: Sequence[str] | None) -> int:
    """Read, compile, write."""
    from ..codegen.targets import get
    from ..dialects.context import make_context
    from ..executor.export import SUFFIXES, write

    options = arguments().parse_args(args)
    output = Path(options.output)
    if output.suffix not in SUFFIXES:
        raise UsageError(f"the output must end in .o, .a, .so, .s or .ll, got {options.output}")
    if options.multi_isa and options.target is not None:
        raise UsageError("--multi-isa is for x86-64-v2, v3 and v4 in one object: leave out --target")
    weights = output.with_suffix(".weights") if options.weights == "file" else None
    files = [Path(name) for name in (options.output, options.header, weights) if name is not None]
    for k, file in enumerate(files):
        if any(file.resolve() == other.resolve() for other in files[:k]):
            raise UsageError(f"two outputs are the same file: {file}")
    target = target_option(options)
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
    try:
        write(
            module,
            options.output,
            name=module.sym_name.data if module.sym_name is not None else file_name.partition(".")[0],
            header=options.header,
            prefix=options.prefix,
            targets=tuple(map(get, _LEVELS)) if options.multi_isa else () if target is None else (target,),
            threads=options.threads,
            weights=options.weights,
            source="" if options.file == "-" else f"{Path(options.file).name} for ",
            ctx=ctx,
        )
    except OSError as error:
        raise UsageError(f"cannot write {error.filename}: {error.strerror}") from None
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


if __name__ == "__main__":
    sys.exit(main())

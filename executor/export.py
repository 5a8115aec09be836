"""Write modules for programs that call them without Python: objects, libraries, assembly, LLVM IR, with a C header.

`lamina-compile`, `jit(f).lower(x).export(...)` and `kernel.export(...)` are this, see docs/deployment.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .. import pipeline
from ..errors import CompileError

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from ..codegen.targets import Target
    from .exported_objects import Exported

SUFFIXES = (".o", ".a", ".so", ".s", ".ll")
"""What is written, by the suffix of the path."""


def write(
    module: ModuleOp,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    header: str | os.PathLike[str] | None = None,
    prefix: str | None = None,
    targets: Sequence[Target] = (),
    threads: bool | None = None,
    weights: Literal["embed", "file"] = "embed",
    source: str = "",
    ctx: Context | None = None,
) -> None:
    """Compile a module and write it; nothing is written where that fails.

    Args:
        module: of any phase up to `program`; accesses of its kernels are guarded in place, else it stays as it is.
        path: a file that ends in one of `SUFFIXES`.
        name: what names in C begin with where there is no `prefix`; by default the module's name or that of the file.
        header: a file for the prototypes in C.
        prefix: of names in C: `@main` becomes `<prefix>`, `@f` `<prefix>_f`.
        targets: what to compile for, the best first; none: what the module says, else the host.
        threads: whether parallel loops require an OpenMP runtime (True), run on one thread (False), or on threads where the
            program has one.
        weights: whether constants are in the object or in a file beside it, which ends in .weights.
        source: what the header says it was made from.
        ctx: for phases that parse; by default one with all dialects.

    Raises:
        CompileError: an op cannot be lowered, has effects in Python, nothing can be called from C, or two outputs are one file.
        OSError: a file cannot be written.
    """
    from ..codegen.exports.interface import checked_prefix, default_prefix
    from .c_header import header as header_of
    from .exported_objects import export

    output = Path(path)
    if output.suffix not in SUFFIXES:
        raise CompileError(f"the output must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}, got {output}")
    beside = output.with_suffix(".weights") if weights == "file" else None
    files = [Path(file) for file in (output, header, beside) if file is not None]
    for k, file in enumerate(files):
        if any(file.resolve() == other.resolve() for other in files[:k]):
            raise CompileError(f"two outputs are the same file: {file}")
    if name is None:
        name = module.sym_name.data if module.sym_name is not None else output.name.partition(".")[0]
    pipeline.guard_accesses(module)
    exported = export(
        module,
        ctx,
        default_prefix(name) if prefix is None else checked_prefix(prefix),
        targets,
        threads=threads,
        weights_file=None if beside is None else beside.name,
    )
    contents: dict[Path, bytes] = {}
    if header is not None:  # first: a header that C cannot have leaves no object either
        text = header_of(
            exported.interface,
            Path(header).stem,
            source=source,
            finds_openmp=threads is None and exported.is_parallel,
            weights_file=None if beside is None else beside.name,
        )
        contents[Path(header)] = text.encode()
    if beside is not None:
        contents[beside] = exported.weights or b""
    contents[output] = _contents(exported, output, bool(threads))
    write_files(contents)


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


def write_files(files: dict[Path, bytes]) -> None:
    """Write every file beside its name before any takes its name, so that an error leaves the old files as they were.

    Raises:
        OSError: one cannot be written; its `filename` is the name that was given.
    """
    written: dict[Path, Path] = {}
    path = Path()
    try:
        for path, data in files.items():
            if path.is_dir():
                raise IsADirectoryError(21, "it is a directory", str(path))
            if path.exists() and not path.is_file():  # a device or a pipe, which cannot be replaced
                path.write_bytes(data)
                continue
            real = path.resolve()  # a link keeps its target
            beside = real.with_name(f".{real.name}.{os.getpid()}")
            written[path] = beside
            beside.write_bytes(data)
        for path, beside in written.items():
            beside.replace(path.resolve())
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        for beside in written.values():
            beside.unlink(missing_ok=True)

"""lamina-opt: read textual IR, run passes, print what comes out, as mlir-opt does.

    lamina-opt model.mlir --canonicalize --graph-fuse --mlir-print-ir-after=graph-fuse
    lamina-opt model.mlir --pass-pipeline='builtin.module(func.func(graph-simplify),graph-fuse)'
    lamina-opt model.mlir --compile-to=asm -o model.s

Exit status: 0 if all went well, 1 if the input is at fault (with its place), 2 if the command is. The options are those of the
groups in `opt/`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..runtime.gc_pause import collecting_later


def main(args: Sequence[str] | None = None) -> int:
    """The command line; the exit status."""
    with collecting_later():  # imports, too
        from .opt.driver import Driver
        from .reading import guarded

        return guarded("lamina-opt", lambda arguments: Driver(arguments).run(), args)


if __name__ == "__main__":
    sys.exit(main())

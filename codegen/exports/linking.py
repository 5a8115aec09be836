"""Shared objects: an object linked by the C compiler of its target, or by an installed linker."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...errors import CompileError
from ..targets import Target, host_architecture

_EMULATIONS = {"x86_64": "elf_x86_64", "aarch64": "aarch64linux", "riscv64": "elf64lriscv"}


def shared_object(obj: bytes, target: Target, name: str, symbols: Sequence[str], *, openmp: bool = False) -> bytes:
    """Link an object to a shared one, which exports some symbols and no others.

    The environment variable `CC` names the C compiler; else `cc`, `gcc` or `clang` of the target and then `ld.lld` are tried.

    Args:
        name: the soname of the shared object.
        openmp: whether it needs an OpenMP runtime.

    Raises:
        CompileError: there is no linker for the target, or it fails.
    """
    if "linux" not in target.triple:
        raise CompileError(f"no .so is written for target '{target}': write an .o, and link it there")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x.o").write_bytes(obj)
        script = f"{{ global: {' '.join(f'{s};' for s in symbols)} local: *; }};\n"
        (Path(folder) / "exports").write_text(script)
        options = ["-shared", "x.o", "-o", "x.so"]
        linker = ["--version-script=exports", f"-soname={name}", "-znoexecstack", "-znow"]
        command = [*_linker(target), *options]
        if Path(command[0]).name.startswith(("ld", "ld.lld")):
            command += [*linker, *(["-lgomp"] if openmp else [])]
        else:
            command += [f"-Wl,{option}" for option in linker] + (["-fopenmp"] if openmp else [])
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CompileError(f"cannot link a shared object: {command[0]}: {error}") from None
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"status {done.returncode}"]
            raise CompileError(f"cannot link a shared object: {command[0]}: {lines[0]}")
        return (Path(folder) / "x.so").read_bytes()


def _linker(target: Target) -> list[str]:
    """The command that links for a target."""
    architecture = target.architecture
    if given := os.environ.get("CC", "").strip():
        return shlex.split(given)
    names = [f"{architecture}-linux-gnu-gcc"]
    if architecture == host_architecture():
        names = ["cc", "gcc", "clang", *names]
    for name in names:
        if (found := shutil.which(name)) is not None:
            return [found]
    if architecture in _EMULATIONS and (found := shutil.which("ld.lld")) is not None:
        return [found, "-m", _EMULATIONS[architecture]]
    raise CompileError(f"a .so needs a linker for {architecture}: install {names[0]} or ld.lld, or set CC; .o and .a need none")

"""Programs in C and C++ that the tests build: compilers that may be missing, and how a program is made and run."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from lamina.tools import lamina_compile


def compiled(source: Path, output: str, *options: str) -> Path:
    """What `lamina-compile` writes beside a module, with a header of the same name."""
    path = source.with_name(output)
    header = ["--header", str(path.with_suffix(".h"))] if path.suffix in (".o", ".a", ".so") else []
    assert lamina_compile.main([str(source), "-o", str(path), *header, *options]) == 0
    return path


def tool(*names: str) -> str:
    """The first of some commands that is installed, as a package of this Python or elsewhere; else the test is skipped."""
    for name in names:
        beside = str(Path(sys.executable).parent)
        if (found := shutil.which(name) or shutil.which(name, path=beside)) is not None:
            return found
    pytest.skip(f"no {names[0]}")


def built(folder: Path, text: str, *inputs: str | Path, compiler: Sequence[str] = ("cc",), suffix: str = ".c") -> Path:
    """A program of a text and objects."""
    source, program = folder / f"program{suffix}", folder / "program"
    source.write_text(text)
    command = [tool(compiler[0]), *compiler[1:], "-Wall", "-Wextra", "-Werror", str(source), *map(str, inputs)]
    command += [f"-Wl,-rpath,{Path(one).parent}" for one in inputs if str(one).endswith(".so")]
    done = subprocess.run([*command, "-o", str(program), "-lm"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def output(command: Sequence[str | Path]) -> str:
    """What a program prints."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def llc() -> str:
    """LLVM's own compiler of LLVM IR, new enough for opaque pointers and the processors of today."""
    found = importlib.util.find_spec("llvm")
    for folder in () if found is None else found.submodule_search_locations or ():
        if (path := Path(folder) / "bin" / "llc").exists():
            return str(path)
    for version in range(30, 17, -1):
        if (path := shutil.which(f"llc-{version}")) is not None:
            return path
    pytest.skip("no llc of LLVM 18 or later")

"""The state of our own source files, which is part of every key of the object cache."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from .. import extensions

ROOT = Path(__file__).parent.parent
FRONT = ("api", "compat", "frontend", "interop", "library", "tools", "train")
"""The rooms that make IR: keys hold the IR itself, or `frontend_version` beside the facts of a kernel that is not translated
again."""


def version() -> str:
    """The state of the compiler: the versions it is built on, its source files from IR to machine code, and extensions."""
    found = extensions.extensions()
    if not found:
        return own_version()
    return digest([own_version(), *map(str, found), *(_state_of(one.module) for one in found)])


@cache
def _state_of(module: str) -> str:
    """The state of the package, or of the file, that a module of an extension is in; without a file, of this process."""
    package = sys.modules.get(module.partition(".")[0])
    path = getattr(package, "__file__", None)
    if path is None or not os.path.isfile(path):
        return f"process {os.getpid()} {time.time_ns()}"
    if hasattr(package, "__path__"):
        return digest(source_files(Path(path).parent))
    stat = os.stat(path)
    return f"{path}:{stat.st_size}:{stat.st_mtime_ns}"


@cache
def own_version() -> str:
    import llvmlite
    import numpy
    import xdsl

    libraries = [f"{module.__name__}=={module.__version__}" for module in (numpy, llvmlite)]
    return digest([*libraries, _installed(xdsl), *source_files(ROOT, without=FRONT)])


def _installed(package: ModuleType) -> str:
    """A package with its version, from the folder that its installer wrote: xDSL asks importlib.metadata, which is 12 ms."""
    folder = Path(str(package.__file__)).parent.parent
    found = [path.name for path in folder.glob(f"{package.__name__}-*.dist-info")]
    return found[0] if len(found) == 1 else f"{package.__name__}=={package.__version__}"


@cache
def frontend_version() -> str:
    """The state of the translation from Python: the version of Python, and the source files of the frontend."""
    return digest([sys.version, *source_files(ROOT / "frontend")])


def digest(parts: list[str]) -> str:
    """A hash of some lines."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def source_files(root: Path, without: Collection[str] = ()) -> list[str]:
    """Every source file of a package and of the packages below it, with its size and time of change.

    Args:
        root: the folder of the package.
        without: names of folders in `root` to leave out. Folders that are no packages (tests, docs, environments) never count.
    """
    return sorted(_lines(str(root), "", without))


def _lines(folder: str, prefix: str, without: Collection[str] = ()) -> Iterator[str]:
    files: list[str] = []
    folders: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(".py"):
                stat = entry.stat()
                files.append(f"{prefix}{name}:{stat.st_size}:{stat.st_mtime_ns}")
            elif "." not in name and name != "__pycache__" and name not in without and entry.is_dir():
                folders.append(name)
    if not any(line.startswith(f"{prefix}__init__.py:") for line in files):
        return
    yield from files
    for name in folders:
        yield from _lines(f"{folder}/{name}", f"{prefix}{name}/")

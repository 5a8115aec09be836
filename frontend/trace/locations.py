"""The location of an op in the user's code: file, line and column from the Python stack."""

from __future__ import annotations

import itertools
import linecache
import os
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import TypeVar

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from ...errors import LaminaError

ErrorT = TypeVar("ErrorT", bound=LaminaError)

# as Python names its files, and without links
_PACKAGES = tuple({os.path.abspath(os.path.join(__file__, "..", "..", "..")), str(Path(__file__).resolve().parents[2])})
_LIBRARIES = tuple(
    {path for name in ("stdlib", "platstdlib", "purelib", "platlib") if (path := sysconfig.get_paths().get(name))}
)
# the repository root is the package: only these parts of it are ours, the rest (tests, examples) is the user's
_ROOMS = (
    "api",
    "train",
    "interop",
    "compat",
    "library",
    "frontend",
    "dialects",
    "transforms",
    "lowering",
    "codegen",
    "executor",
    "runtime",
    "tools",
)
_OURS = tuple(os.path.join(root, room) + os.sep for root in _PACKAGES for room in _ROOMS)
_FILES = ("__init__.py", "pipeline.py")
_OURS_FILES = (*(os.path.join(root, name) for root in _PACKAGES for name in _FILES), "<lamina>")


@lru_cache(maxsize=4096)
def is_ours(filename: str) -> bool:
    """Whether a file is of this package."""
    return filename.startswith(_OURS) or filename in _OURS_FILES or filename.startswith("<frozen ")


def is_users(code: CodeType) -> bool:
    """Whether a function is the user's: neither this package's nor of an installed library."""
    name = code.co_filename
    return not is_ours(name) and not name.startswith(_LIBRARIES) and "site-packages" not in name and "dist-packages" not in name


def user_frame() -> FrameType | None:
    """The innermost frame that is not this package's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _instruction(frame: FrameType) -> tuple[CodeType, str, int]:
    """The current position of a frame: its code, the file of the code, the offset of the instruction."""
    code = frame.f_code
    return code, code.co_filename, frame.f_lasti


@lru_cache(maxsize=16384)
def _place(code: CodeType, file: str, instruction: int) -> tuple[str, int, int]:
    # the same code in two files is equal: `file` distinguishes them in the cache
    line, _, column, _ = next(itertools.islice(code.co_positions(), instruction // 2, None), (None, None, None, None))
    return (file, line or code.co_firstlineno, (column or 0) + 1)


def user_place() -> tuple[str, int, int] | None:
    """File, line and column (both from 1) of the user's expression that is being evaluated. Cost: about 1 us."""
    frame = user_frame()
    return None if frame is None else _place(*_instruction(frame))


@lru_cache(maxsize=16384)
def file_location(file: str, line: int, column: int) -> FileLineColLoc:
    """The location attribute of a source position; line and column count from 1."""
    return FileLineColLoc(_name(file), IntAttr(line), IntAttr(column))


@lru_cache(maxsize=1024)
def _name(file: str) -> StringAttr:
    return StringAttr(file)


def user_location() -> FileLineColLoc | None:
    """The location attribute for ops that the user's expression stands for."""
    frame = user_frame()
    return None if frame is None else _location(*_instruction(frame))


@lru_cache(maxsize=16384)
def _location(code: CodeType, file: str, instruction: int) -> FileLineColLoc:
    return file_location(*_place(code, file, instruction))


def place_of(function: object) -> tuple[str, int, int] | None:
    """Where a Python function is defined."""
    code = getattr(function, "__code__", None)
    return None if code is None else (code.co_filename, code.co_firstlineno, 1)


def located(error: ErrorT) -> ErrorT:
    """The error with the user's source location before its message and the line with a caret after it; only once."""
    if error.place is not None or (place := user_place()) is None:
        return error
    return placed(error, place)


def placed(error: ErrorT, place: tuple[str, int, int]) -> ErrorT:
    """The error with a source location before its message and the line with a caret after it."""
    file, line, column = place
    error.place = place
    message = f"{shortened(file)}:{line}:{column}: {error}"
    source = linecache.getline(file, line).rstrip()
    if source.strip():
        margin = len(source) - len(source.lstrip())
        message += f"\n    {source.strip()}\n    {' ' * max(column - 1 - margin, 0)}^"
    error.args = (message,)
    return error


def shortened(file: str) -> str:
    """The path as a user would type it: relative to the working directory when it lies below."""
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if relative.startswith("..") else relative

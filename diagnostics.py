"""Diagnostics of the tools: one form for every kind of error.

model.mlir:3:8: error: 'graph.add' op operand shapes differ: lhs is [2], rhs is [3]
  %2 = graph.add %0, %1 : tensor<2xf32>
       ^
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .errors import InternalError, LaminaError

REPORT = "this is a fault of the compiler, not of the input: please report it with the IR that shows it"


class FilePosition(NamedTuple):
    """A position in a file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Diagnostic:
    """One message to the user.

    Args:
        severity: `error`, `warning`, `note` or `remark`.
        message: the rule and the facts, lower case, no period.
        location: the source location; None if the message is about no text.
        notes: further messages, at other locations.
        remedy: how to mend it.
    """

    severity: str
    message: str
    location: FilePosition | None = None
    notes: tuple[Diagnostic, ...] = ()
    remedy: str | None = None

    def at(self, position: FilePosition | None) -> Diagnostic:
        """The same diagnostic, at a location unless it has its own."""
        return self if self.location is not None else replace(self, location=position)


def render(diagnostic: Diagnostic, sources: Mapping[str, str] | None = None) -> str:
    """The text of a diagnostic: location, severity, message, source line with a caret, notes, remedy.

    Args:
        sources: texts by file name, for sources that are no readable files (standard input).
    """
    position = diagnostic.location
    head = f"{position}: " if position is not None else ""
    lines = [f"{head}{diagnostic.severity}: {diagnostic.message}", *_excerpt(position, sources or {})]
    lines += [render(note, sources) for note in diagnostic.notes]
    if diagnostic.remedy:
        lines.append(f"  help: {diagnostic.remedy}")
    return "\n".join(lines)


def _excerpt(position: FilePosition | None, sources: Mapping[str, str], width: int = 160) -> list[str]:
    """The line at a location and a caret under the column; a long line is cut around it."""
    if position is None:
        return []
    lines = sources[position.file].split("\n") if position.file in sources else _file_lines(position.file)
    if not 1 <= position.line <= len(lines):
        return []
    line, column = lines[position.line - 1].rstrip(), max(position.column - 1, 0)
    cut = max(0, column - width // 2) if len(line) > width else 0
    shown = "".join(char if char.isprintable() else " " for char in line[cut : cut + width])
    return ["  " + shown, "  " + " " * (column - cut) + "^"]


@cache
def _file_lines(name: str) -> list[str]:
    try:
        path = Path(name)
        if not path.is_file() or path.stat().st_size > 1 << 28:
            return []
        return path.read_text(encoding="utf-8", errors="replace").split("\n")
    except (OSError, ValueError):
        return []


def position_of(location: Any) -> FilePosition | None:
    """The first file position in a location attribute (fused and named ones are searched); None if it holds none."""
    if location is None or isinstance(location, FilePosition):
        return location
    if hasattr(location, "filename"):
        return FilePosition(location.filename.data, location.line.data, location.column.data)
    for part in ("locations", "location", "callee"):
        inner = getattr(location, part, None)
        if inner is None:
            continue
        for one in getattr(inner, "data", (inner,)):
            if (position := position_of(one)) is not None:
                return position
    return None


def position_of_op(op: Any) -> FilePosition | None:
    """The location of an op; an op that a pass made without a location has that of the op around it."""
    while op is not None:
        if (position := position_of(getattr(op, "location", None))) is not None:
            return position
        parent = getattr(op, "parent_op", None)
        op = None if parent is None else parent()
    return None


def from_exception(error: BaseException) -> Diagnostic:
    """The diagnostic of an exception: parse and verify errors, our errors, and anything else as an internal error.

    Errors may carry `location` or `op` (where), `notes` (pairs of message and location, or diagnostics) and `remedy`.
    """
    from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError

    if isinstance(error, ParseError):
        return _of_parse_error(error)
    if isinstance(error, ArgSpecParseError):
        lines = str(error).split("\n")
        return Diagnostic("error", "pass pipeline: " + lines[-1].strip() if len(lines) > 1 else lines[0])
    text = str(error).strip()
    if isinstance(error, DiagnosticException):
        text = text.partition("\n")[0]
    leading, text = _leading_position(text)
    position = position_of(getattr(error, "location", None)) or leading or position_of_op(getattr(error, "op", None))
    notes = tuple(_note(note) for note in getattr(error, "notes", ()))
    remedy = getattr(error, "remedy", None)
    if isinstance(error, InternalError):
        return Diagnostic("error", f"internal: {text}", position, notes, remedy or REPORT)
    if isinstance(error, LaminaError | DiagnosticException):
        return Diagnostic("error", text or type(error).__name__, position, notes, remedy)
    if isinstance(error, RecursionError):
        return Diagnostic("error", "the IR is nested too deep", position)
    if isinstance(error, MemoryError):
        return Diagnostic("error", "out of memory", position)
    if isinstance(error, OSError):
        return Diagnostic("error", f"{error.filename}: {error.strerror}" if error.filename else text)
    if isinstance(error, ValueError) and (found := re.match(r"Integer value (-?\d+) is out of range for type (\w+)", text)):
        rule = f"a number of elements, iterations or bytes is {found[1]}, which does not fit {found[2]}"
        return Diagnostic("error", rule, position, notes, "use smaller sizes or counts")
    return Diagnostic("error", f"internal: {type(error).__name__}: {text}", position, notes, REPORT)


def _of_parse_error(error: Any) -> Diagnostic:
    def position(span: Any) -> FilePosition:
        where = span.get_location()
        return FilePosition(where.file, where.line, where.col)

    notes = tuple(
        Diagnostic("note", (message or "here").strip(), position(span)) for span, message in getattr(error, "refs", ())
    )
    message = error.msg.strip() or "does not parse"
    is_name = message[1:2].isupper()  # SSA
    return Diagnostic(
        "error",
        message if is_name else message[:1].lower() + message[1:],
        position(error.span),
        notes,
        getattr(error, "remedy", None),
    )


def _note(note: Any) -> Diagnostic:
    if isinstance(note, Diagnostic):
        return note
    message, location = note if isinstance(note, tuple) else (note, None)
    return Diagnostic("note", str(message), position_of(location))


def _leading_position(text: str) -> tuple[FilePosition | None, str]:
    """Split `file:3:8: message`."""
    found = re.match(r"([^\s:][^\n:]*):(\d+):(\d+): (?:error: )?", text)
    if not found:
        return None, text
    return FilePosition(found[1], int(found[2]), int(found[3])), text[found.end() :]


def message_of(error: BaseException, sources: Mapping[str, str] | None = None) -> str:
    """The rendered diagnostic of an exception; see `render`."""
    return render(from_exception(error), sources)

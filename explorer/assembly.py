"""Assembly with line tables, parsed: the instructions of each function and the source line of each one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..diagnostics import FilePosition

_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"((?:[^"\\]|\\.)*)")?')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
_FUNCTION = re.compile(r'\s*\.type\s+("[^"]+"|[^\s,]+),\s*[@%]function')
_LABEL = re.compile(r'("[^"]+"|[\w.$]+):')
_LOCAL = re.compile(r"\.?L(tmp|func_begin|func_end|CPI|JTI)")


@dataclass(frozen=True)
class Line:
    """A line of assembly, and where it comes from."""

    text: str
    place: FilePosition | None
    is_label: bool = False


@dataclass(frozen=True)
class Listing:
    """The instructions of one function."""

    symbol: str
    lines: tuple[Line, ...]


def listings(asm: str) -> list[Listing]:
    """The functions of an assembly text (GNU syntax), in order. Directives are left out, labels of blocks are kept."""
    files: dict[str, str] = {}
    functions: set[str] = set()
    found: list[tuple[str, list[Line]]] = []
    place: FilePosition | None = None
    for text in asm.splitlines():
        if (match := _FUNCTION.match(text)) is not None:
            functions.add(match[1].strip('"'))
        elif (match := _FILE.match(text)) is not None:
            folder, name = (match[2], match[3]) if match[3] is not None else ("", match[2])
            files[match[1]] = f"{folder}/{name}" if folder else name
        elif (match := _LOC.match(text)) is not None:
            line = int(match[2])
            place = FilePosition(files.get(match[1], "?"), line, int(match[3])) if line else None
        elif (match := _LABEL.match(text)) is not None:
            name = match[1].strip('"')
            if name in functions:
                found.append((name, []))
                place = None
            elif found and not _LOCAL.match(name):
                found[-1][1].append(Line(text.rstrip(), None, True))
        elif found and re.match(r"\s+[a-zA-Z]", text):
            found[-1][1].append(Line(" ".join(text.strip().split("\t", 1)).strip(), place))
    return [Listing(name, tuple(lines)) for name, lines in found]

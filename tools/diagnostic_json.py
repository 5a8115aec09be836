"""Diagnostics as JSON objects, one a line, for editors and scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..diagnostics import Diagnostic, FilePosition

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[%@^!#]?[\w$.-]+|\S')
"""The tokens that a message underlines: a string, a name with its sigil, a word, or one character."""


def end_of(position: FilePosition, text: str | None) -> FilePosition:
    """Where the token at a position ends; the next column where the text is not known."""
    lines = [] if text is None else text.split("\n")
    line = lines[position.line - 1] if 1 <= position.line <= len(lines) else ""
    found = _TOKEN.match(line, position.column - 1)
    return position._replace(column=max(found.end() + 1 if found else 0, position.column + 1))


def as_object(diagnostic: Diagnostic, sources: Mapping[str, str]) -> dict[str, Any]:
    """A diagnostic as a JSON object: `severity`, `message`, `file`, `line`, `column`, `end`, `notes`, `suggestion`.

    Lines and columns count from 1, `end` is behind the last character; positions are null where a message is about no text.
    """
    position = diagnostic.location
    end = None if position is None else end_of(position, sources.get(position.file))
    return {
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "file": position and position.file,
        "line": position and position.line,
        "column": position and position.column,
        "end": end and {"line": end.line, "column": end.column},
        "notes": [as_object(note, sources) for note in diagnostic.notes],
        "suggestion": diagnostic.remedy,
    }


def as_line(diagnostic: Diagnostic, sources: Mapping[str, str]) -> str:
    """The line of JSON of a diagnostic."""
    return json.dumps(as_object(diagnostic, sources), ensure_ascii=False)

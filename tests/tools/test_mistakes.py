"""Mistakes of people who write IR, each with its whole message: `mistakes.txt` holds texts, and messages under `// says`.

`LAMINA_UPDATE=1 pytest tests/tools/test_mistakes.py` writes the messages anew; read the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from lamina.diagnostics import from_exception, render
from lamina.dialects.context import make_context
from lamina.dialects.dominance import errors_in
from lamina.dialects.parsing import parse_module

TABLE = Path(__file__).with_name("mistakes.txt")
SEPARATOR, SAYS = "// -----\n", "// says\n"


def said(text: str) -> str:
    """The messages about a text, as the tools print them."""
    try:
        found = list(errors_in(parse_module(make_context(), text, "m.mlir")))
    except Exception as error:
        found = [error]
    return "\n".join(render(from_exception(error), {"m.mlir": text}) for error in found)


def table() -> list[tuple[str, str]]:
    """Texts and messages."""
    parts = TABLE.read_text().split(SEPARATOR)
    return [(text, message.rstrip("\n")) for text, _, message in (part.partition(SAYS) for part in parts)]


def test_messages_are_those_of_the_table() -> None:
    rows = table()
    now = [(text, said(text)) for text, _ in rows]
    if os.environ.get("LAMINA_UPDATE"):
        TABLE.write_text(SEPARATOR.join(f"{text}{SAYS}{message}\n" for text, message in now))
        pytest.skip("the table was written anew")
    assert [message for _, message in now] == [message for _, message in rows]


def test_each_has_a_position_and_none_is_a_fault_of_ours() -> None:
    rows = table()
    assert len(rows) >= 80
    for text, message in rows:
        assert re.match(r"m\.mlir:\d+:\d+: error: \S", message), text
        assert "\n  " in message or text.count("\n") < 2, message  # the line with a caret
        assert "internal:" not in message, message
        assert "Error:" not in message, message

"""String literals: read and printed as xDSL does, at once instead of one character after the other."""

from __future__ import annotations

import io
import random

import pytest
from lamina.dialects.context import make_context
from lamina.dialects.lexing import unescaped
from lamina.dialects.parsing import parse_module
from lamina.dialects.printing import TextPrinter
from xdsl.dialects.builtin import BytesAttr, StringAttr
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import StringLiteral

PARTS = ["a", "é", "\\n", "\\t", "\\\\", '\\"', "\\22", "\\5C", "\\5c", "\\0A", "\\C3\\A9", "\\FF", "n", "t", "0", " "]


@pytest.mark.parametrize("seed", range(200))
def test_literals_are_read_as_xdsl_does(seed: int) -> None:
    rng = random.Random(seed)
    text = '"' + "".join(rng.choices(PARTS, k=rng.randint(0, 12))) + '"'
    assert unescaped(text) == StringLiteral(0, len(text), Input(text, "")).bytes_contents


@pytest.mark.parametrize("seed", range(200))
def test_literals_are_printed_as_xdsl_does(seed: int) -> None:
    data = random.Random(seed).randbytes(seed % 50)
    ours, theirs = io.StringIO(), io.StringIO()
    TextPrinter(ours).print_bytes_literal(data)
    Printer(theirs).print_bytes_literal(data)
    assert ours.getvalue() == theirs.getvalue()
    assert unescaped(ours.getvalue()) == data


@pytest.mark.parametrize("text", ["é\\n\\22", "\\C3\\A9", ""])
def test_text_is_a_string(text: str) -> None:
    value = parse_module(make_context(), f'module attributes {{a.b = "{text}"}} {{}}').attributes["a.b"]
    assert value == StringAttr(unescaped(f'"{text}"').decode())


def test_bytes_that_are_no_text_are_bytes() -> None:
    value = parse_module(make_context(), 'module attributes {a.b = "\\FF\\00"} {}').attributes["a.b"]
    assert value == BytesAttr(b"\xff\x00")


@pytest.mark.parametrize("text", ['"\\x"', '"\\2"', '"no end', '"two\nlines"'])
def test_what_is_no_literal_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parse_module(make_context(), f"module attributes {{a.b = {text}}} {{}}")

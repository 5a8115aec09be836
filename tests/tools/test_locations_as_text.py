"""Modules printed with their locations parse again, and are the same modules; so does text without any op."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from lamina.dialects.context import make_context
from lamina.dialects.dominance import errors_in
from lamina.dialects.parsing import parse_module
from lamina.tools.opt.driver import split
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError

FILES = sorted((Path(__file__).parent.parent.parent / "filecheck").rglob("*.mlir"))


def printed(module: ModuleOp, debuginfo: bool) -> str:
    stream = io.StringIO()
    Printer(stream, print_debuginfo=debuginfo).print_op(module)
    return stream.getvalue()


def valid_modules(text: str) -> list[ModuleOp]:
    """The modules of a file that parse and verify; others are there to be refused."""
    found = []
    for chunk in split(text):
        try:
            module = parse_module(make_context(), chunk)
        except Exception:
            continue
        if next(errors_in(module), None) is None:
            found.append(module)
    return found


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_text_with_locations_parses_again(path: Path) -> None:
    for module in valid_modules(path.read_text()):
        again = parse_module(make_context(), printed(module, True))
        assert printed(again, False) == printed(module, False)
        assert [str(op.location) for op in again.walk()] == [str(op.location) for op in module.walk()]


@pytest.mark.parametrize("name", ["a b.mlir", "ü.mlir", "\u6587.mlir", 'a"b\\c.mlir', ""])
def test_names_of_files_are_any_text(name: str) -> None:
    text = "loop.kernel @k(%x: memref<4xf32>) {\n  loop.for seq %i = 0 to 4 {\n  }\n}\n"
    module = parse_module(make_context(), text, name)
    again = parse_module(make_context(), printed(module, True), "another")
    assert [op.location for op in again.walk()] == [op.location for op in module.walk()]


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(ParseError, match="location"):
        parse_module(make_context(), 'loop.kernel @k() {\n} loc("\\ff.mlir":1:1)\n')


@pytest.mark.parametrize("text", ["", "\n\n", "// a comment\n", "  // one\n// two"])
def test_text_without_ops_is_an_empty_module(text: str) -> None:
    module = parse_module(make_context(), text)
    assert not list(module.body.block.ops) and next(errors_in(module), None) is None
    with pytest.raises(Exception, match="expected a module, got the end of the text"):
        parse_module(make_context(), text, implicit_module=False)

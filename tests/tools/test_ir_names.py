"""Names in text and their definitions, as the parser finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lamina.dialects.context import make_context
from lamina.dialects.parsing import LaminaParser
from lamina.tools.ir_names import Names
from lamina.tools.language_text import Document

FILES = sorted((Path(__file__).parent.parent.parent / "filecheck").rglob("*.mlir"))

TEXT = """func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.add %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = func.call @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}
"""


class Recording(LaminaParser):
    """Remembers where values are defined, and by which value each use was resolved."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.defined: dict[Any, int] = {}
        self.uses: list[tuple[int, Any]] = []

    def _register_ssa_definition(self, name: str, values: Any, span: Any) -> None:
        super()._register_ssa_definition(name, values, span)
        for value in values:
            self.defined[value] = span.start

    def resolve_operand(self, operand: Any, type: Any) -> Any:
        found = super().resolve_operand(operand, type)
        self.uses.append((operand.span.start, found))
        return found


@pytest.mark.parametrize("path", FILES[::7], ids=lambda p: p.stem)
def test_definitions_are_those_of_the_parser(path: Path) -> None:
    for text in path.read_text().split("// -----"):
        parser = Recording(make_context(), text, path.name)
        try:
            parser.parse_module()
        except Exception:
            continue
        names = Names(text)
        for start, value in parser.uses:
            if value not in parser.defined or text[start] != "%":
                continue
            found = names.definition(names.at(start))
            line = text.count("\n", 0, start) + 1
            assert found is not None and found.start == parser.defined[value], f"line {line} of\n{text}"


def test_text_may_end_anywhere() -> None:
    for end in range(len(TEXT)):
        names = Names(TEXT[:end])
        for offset in range(0, end, 7):
            names.definition(names.at(offset))


def test_blocks() -> None:
    text = "func.func @f(%c: i1) {\n  cf.br ^next\n^next:\n  return\n}\nfunc.func @g() {\n  cf.br ^next\n^next:\n  return\n}\n"
    assert Document(text).definition(1, 10) == (2, 0, 5)
    assert Document(text).definition(6, 10) == (7, 0, 5)


def test_references_of_one_function() -> None:
    one = Document(TEXT, "a.mlir")
    assert one.references(1, 18) == [(0, 26, 28), (1, 17, 19), (1, 21, 23)]
    assert one.references(5, 20) == [(0, 18, 25), (5, 17, 24)]


@pytest.mark.parametrize(
    ("line", "labels"), [("  %z = graph.neg %", {"%x", "%y"}), ("  %z = func.call @", {"@double", "@main"})]
)
def test_known_names_are_proposed(line: str, labels: set[str]) -> None:
    text = TEXT.replace("  return %y", line + "\n  return %y")
    assert {one.label for one in Document(text, "a.mlir").completions(2, len(line))} == labels

"""Each function that does not parse has its message, and what parses has none."""

from __future__ import annotations

import contextlib
import io
import random
import re
from pathlib import Path

import pytest
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.dialects.recovery import MOST_ERRORS, syntax_errors
from lamina.tools.lamina_opt import main
from xdsl.utils.exceptions import ParseError

GOOD = """func.func @good{k}(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %y = graph.neg %x : tensor<4xf32>
  return %y : tensor<4xf32>
}}
"""
BAD = (
    ("  %y = graph.negg %x : tensor<4xf32>", "graph.negg is not registered"),
    ("  %y = graph.neg %x tensor<4xf32>", "[Ee]xpected ':'"),
    ("  %y = graph.neg %z : tensor<4xf32>", "%z is used but not defined"),
    ("  %y = graph.neg %x : tensor<4xfloat>", "expected an element type"),
    ("  %y = graph.add %x, %x : tensor<4xf32>, tensor<4xf32>", "got ','"),
    ("  %y = graph.neg(%x) : tensor<4xf32>", "Expected|expected"),
    ("  %y = = graph.neg %x : tensor<4xf32>", "expected the name of an operation"),
)


def _errors(text: str) -> list[ParseError]:
    ctx = make_context()
    try:
        parse_module(ctx, text, "m.mlir")
    except ParseError as error:
        return syntax_errors(ctx, text, "m.mlir", error)
    return []


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_each_function_has_its_message(seed: int, wrapped: bool) -> None:
    rng = random.Random(seed)
    text, wanted = "", []
    for k in range(rng.randint(1, 9)):
        function = GOOD.format(k=k)
        if rng.random() < 0.6:
            line, says = rng.choice(BAD)
            function = function.replace("  %y = graph.neg %x : tensor<4xf32>", line)
            wanted.append((text.count("\n") + 2 + wrapped, says))
        text += function
    if wrapped:
        text = "module {\n" + "".join(f"  {line}\n" for line in text.splitlines()) + "}\n"
    found = [(error.span.get_location().line, error.msg) for error in _errors(text)]
    assert [line for line, _ in found] == [line for line, _ in wanted]
    for (_, message), (_, says) in zip(found, wanted, strict=True):
        assert re.search(says, message)


def test_there_is_an_end() -> None:
    text = "".join(GOOD.format(k=k).replace("graph.neg", "graph.negg") for k in range(30))
    assert len(_errors(text)) == MOST_ERRORS
    assert len(_errors("func.func @a() { " * 50)) == 1
    assert len(_errors(GOOD.format(k=0).replace("}", "") + GOOD.format(k=1))) == 1


def test_the_tool_prints_all(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text("".join(GOOD.format(k=k).replace("%y =", "%y = =") for k in range(3)))
    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        assert main([str(path)]) == 1
    assert re.findall(r":(\d+):8: error", err.getvalue()) == ["2", "6", "10"]

"""Names of ops in strings: each one that the compiler compares with is the name of an op."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from lamina.dialects.context import make_context

ROOT = Path(__file__).parent.parent.parent
DIALECTS = ("graph", "loop", "program", "scalar", "arith", "math", "vector", "memref", "func")
ROOMS = (
    "transforms", "lowering", "codegen", "runtime", "debugging", "explorer", "tools", "frontend", "library", "compat", "train",
)  # fmt: skip
BARE = ("transforms", "lowering")
"""Where sets of ops are written without their dialect: other folders have the names of functions and of LLVM's instructions."""


@cache
def op_names(dialect: str) -> frozenset[str]:
    """The ops of a dialect, without its name."""
    ctx = make_context()
    ctx.load_registered_dialect(dialect)
    (loaded,) = [one for one in ctx.loaded_dialects if one.name == dialect]
    return frozenset(op.name.partition(".")[2] for op in loaded.operations)


def files(*rooms: str) -> Iterator[Path]:
    for room in rooms:
        yield from sorted((ROOT / room).rglob("*.py"))


def missing(tree: ast.AST, is_bare: bool) -> list[str]:
    """The strings in a file that look like names of ops and are none.

    A collection of three or more strings is one of ops of a dialect where more than half of them are.
    """
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = [re.fullmatch(rf"({'|'.join(DIALECTS)})\.(\w+)", word) for word in node.value.split()]
            if all(named):  # one name, or a list of them that is split
                found += [f"{node.lineno}: {name[0]}" for name in named if name and name[2] not in op_names(name[1])]
        elements = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else getattr(node, "keys", ())
        words = [e.value for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, str)]
        if is_bare and len(words) >= 3:
            families = op_names("graph"), op_names("arith"), op_names("math") | op_names("scalar")
            unknown = min(([w for w in words if w not in names] for names in families), key=len)
            if 2 * len(unknown) < len(words):
                found += [f"{elements[0].lineno}: {word}" for word in unknown]
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_strings_name_ops_that_exist(room: str) -> None:
    wrong = {
        path.relative_to(ROOT).as_posix(): names
        for path in files(room)
        if (names := missing(ast.parse(path.read_text(encoding="utf-8")), room in BARE))
    }
    assert not wrong


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('x = ("add", "mul", "compare")', ["1: compare"]),
        ('x = {"add": 1, "mul": 2, "compare": 3}', ["1: compare"]),
        ('x = op.name == "graph.compare"', ["1: graph.compare"]),
        ('x = ("add", "maxsi", "minsi", "mul")', []),
        ('x = "graph.cmp", "see graph.compare"', []),
        ('x = "graph.cmp graph.compare".split()', ["1: graph.compare"]),
    ],
)
def test_a_wrong_name_is_found(source: str, found: list[str]) -> None:
    assert missing(ast.parse(source), is_bare=True) == found

"""Functions that are generated as Python text, for what would cost too much as a loop over a structure at each call.

Flattening of trees, guards of compiled regions and repeated eager calls are written line by line, with names for the objects
that they use. Equal texts are compiled once. This is the one file that calls `compile` and `exec`.

>>> add = function("add", ["x"], ["y = x + k0", "return y"], {"k0": 2})
>>> add(1)
3
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

FILE = "<lamina>"
"""The name of the file in tracebacks, which `locations.py` knows as the package's own."""


def function(name: str, parameters: Sequence[str], body: Iterable[str], names: dict[str, Any]) -> Callable[..., Any]:
    """A function of a name and parameters with the lines of a body, whose globals are `names`."""
    lines = "".join([f"    {line}\n" for line in body])
    exec(_code(f"def {name}({', '.join(parameters)}):\n{lines or '    pass'}"), names)
    return names[name]


def indented(lines: Iterable[str]) -> list[str]:
    """The lines of a block, for the statement before it."""
    return [f"    {line}" for line in lines] or ["    pass"]


@lru_cache(4096)
def _code(text: str) -> CodeType:
    return compile(text, FILE, "exec")


def code_of_tree(tree: ast.Module, file: str) -> CodeType:
    """The code of a syntax tree, whose nodes have places in a file of the user's or get those of the nodes around them."""
    return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)


def run(text: str, file: str, names: dict[str, Any]) -> None:
    """Run the text of a module that the user has given, with the globals `names`."""
    exec(code_of_tree(ast.parse(text, file), file), names)

"""Code objects of functions that are made as trees."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import CodeType


def function_node(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    """The tree of a function without decorators."""
    made = ast.FunctionDef(name, arguments, body, [], None)
    made.type_params = []  # pyright: ignore[reportAttributeAccessIssue]  a field from Python 3.12 on, which compile() asks for
    return made


def code_inside(node: ast.FunctionDef, free: Sequence[str], file: str) -> CodeType:
    """The code of a function inside of one that has the variables `free`, which it may close over."""
    node.name = "function@"  # not a variable that it sees
    arguments = ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, [])
    outer = ast.copy_location(function_node("outer@", arguments, [node]), node)
    module = compile(ast.fix_missing_locations(ast.Module([outer], [])), file, "exec", dont_inherit=True)
    outer_code = next(c for c in module.co_consts if isinstance(c, CodeType))
    return next(c for c in outer_code.co_consts if isinstance(c, CodeType))

"""Builds the syntax trees of new functions, and compiles them to code objects."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import CodeType
from typing import Any

from ...trace.generated import code_of_tree
from .source import Function


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def placed(node: Any, place: ast.AST) -> Any:
    """A new node and its children, at the source location of a user's node, which is found again by it."""
    for inner in _without_place(node):
        ast.copy_location(inner, place)
    return node


def at(node: Any, place: ast.AST) -> Any:
    """A new node and its children, at the start of a user's node: the line of a call is the one in which its location ends."""
    for inner in _without_place(node):
        ast.copy_location(inner, place)
        if inner.end_lineno != inner.lineno:
            inner.end_lineno, inner.end_col_offset = inner.lineno, inner.col_offset
    return node


def _without_place(node: ast.AST) -> list[Any]:
    kinds = ast.expr | ast.stmt | ast.arg | ast.keyword
    return [inner for inner in ast.walk(node) if isinstance(inner, kinds) and not hasattr(inner, "lineno")]


def positional(*names: str) -> ast.arguments:
    """The parameters of a function that takes some by position."""
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


def function_node(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    """The tree of a function without decorators."""
    made = ast.FunctionDef(name, arguments, body, [], None)
    made.type_params = []  # pyright: ignore[reportAttributeAccessIssue]  a field from Python 3.12 on, which compile() requires
    return made


def without_annotations(node: ast.FunctionDef) -> None:
    """Take the annotations from a function that runs more than once: Python evaluates them where it is defined."""
    node.returns = None
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None


def definition(node: Function, lambda_name: str = "lambda_") -> ast.FunctionDef | None:
    """A function of the user's as it is compiled again, a lambda as a `def`; None if it is a coroutine.

    Decorators and annotations are gone, and defaults are None: the new function gets the values that the old one has.
    """
    if isinstance(node, ast.Lambda):
        node = placed(function_node(lambda_name, node.args, [placed(ast.Return(node.body), node.body)]), node)
    if not isinstance(node, ast.FunctionDef):
        return None
    node.decorator_list = []
    node.args.defaults = [at(ast.Constant(None), default) for default in node.args.defaults]
    node.args.kw_defaults = [default and at(ast.Constant(None), default) for default in node.args.kw_defaults]
    without_annotations(node)
    return node


def code_inside(node: ast.FunctionDef, free: Sequence[str], file: str) -> CodeType:
    """The code of a function inside of one that has the variables `free`, which it may close over."""
    node.name = "function@"  # not a variable that it sees
    outer = ast.copy_location(function_node("outer@", positional(*free), [node]), node)
    module = code_of_tree(ast.Module([outer], []), file)
    outer_code = next(c for c in module.co_consts if isinstance(c, CodeType))
    return next(c for c in outer_code.co_consts if isinstance(c, CodeType))


class Rewriter(ast.NodeTransformer):
    """The base of rewriters of functions.

    Args:
        owner: the class around the function, whose private names it sees.
        prefix: of the new variables, a distinct one: capture rewrites the results of `frontend/python/compile` once more.
    """

    def __init__(self, owner: str | None, prefix: str):
        self.owner, self.prefix = owner, prefix
        self.temporaries = 0

    def temporary(self) -> str:
        """A new variable."""
        self.temporaries += 1
        return f"{self.prefix}{self.temporaries}@"

    def mangled(self, name: str) -> str:
        """The name of an attribute as Python reads it."""
        is_private = self.owner is not None and name.startswith("__") and not name.endswith("__")
        return f"_{(self.owner or '').lstrip('_')}{name}" if is_private else name

    def visit_defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = [self.visit(default) for default in arguments.defaults]
        arguments.kw_defaults = [default and self.visit(default) for default in arguments.kw_defaults]

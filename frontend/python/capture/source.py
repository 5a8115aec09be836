"""Finds the syntax tree that a function was compiled from, with the lines and columns of its file."""

from __future__ import annotations

import ast
import copy
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Source:
    """A function in its file.

    Attributes:
        node: its tree, a copy of its own.
        file: the file that the lines of the tree count in.
        owner: the class around it, whose private names it sees; None outside of classes.
    """

    node: Function
    file: str
    owner: str | None


made: dict[CodeType, Source] = {}
"""The sources of functions that stand in no file: those that `frontend/python/compile` has made of the user's."""

_files: dict[str, tuple[list[str], list[tuple[Function, str | None]]]] = {}


def find(function: Any) -> Source | None:
    """The source of a Python function; None if there is none to read, as in an interactive session without history."""
    code = function.__code__
    if (known := made.get(code)) is not None:
        return Source(copy.deepcopy(known.node), known.file, known.owner)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        return None
    known = _files.get(code.co_filename)
    if known is None or known[0] is not lines:
        try:
            tree = ast.parse("".join(lines))
        except SyntaxError:
            return None
        known = _files[code.co_filename] = lines, list(_functions(tree, None))
    found = [(node, owner) for node, owner in known[1] if _is_of(node, code)]
    if len(found) != 1:
        return None
    return Source(copy.deepcopy(found[0][0]), code.co_filename, found[0][1])


def _functions(node: ast.AST, owner: str | None) -> Iterator[tuple[Function, str | None]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield child, owner
        yield from _functions(child, child.name if isinstance(child, ast.ClassDef) else owner)


def _is_of(node: Function, code: CodeType) -> bool:
    """Whether a code object was compiled from a node, as far as name, source location and parameters say."""
    arguments = node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    if tuple(names) != code.co_varnames[: len(names)] or len(names) != code.co_argcount + code.co_kwonlyargcount:
        return False
    if not isinstance(node, ast.Lambda):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        return (node.name, first) == (code.co_name, code.co_firstlineno)
    if code.co_name != "<lambda>" or node.lineno != code.co_firstlineno:
        return False
    body = node.body
    places = [(line, column) for line, _, column, _ in code.co_positions() if column]
    return all((body.lineno, body.col_offset) <= place <= _end(body) for place in places)


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset

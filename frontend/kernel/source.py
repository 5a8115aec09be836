"""The source of a kernel: its syntax tree, its free names, locations, and errors with line and caret."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from xdsl.dialects.builtin import FileLineColLoc

from ...errors import KernelError
from ..trace.locations import file_location, placed

MISSING: Any = object()
"""The value of a name that is not defined outside of the kernel."""


class Source:
    """The text that a kernel is read from.

    Attributes:
        names: the free names of the function: its globals, and the variables of the functions around it.
    """

    def __init__(self, filename: str, lines: list[str], first_line: int, names: Mapping[str, Any]):
        self.filename, self.names = filename, names
        self._lines, self._first = lines, first_line
        self._lead = 0

    @property
    def text(self) -> str:
        """The lines of the function."""
        return "".join(self._lines)

    def parse(self) -> ast.stmt:
        """The statement that the text is, its nodes numbered as in the text."""
        text = self.text
        if text[:1].isspace():  # a function inside of something: as the body of an `if`, indentation and columns can stay
            self._lead = 1
            wrapper = ast.parse("if 1:\n" + text).body[0]
            assert isinstance(wrapper, ast.If)
            return wrapper.body[0]
        return ast.parse(text).body[0]

    def place(self, node: ast.AST) -> tuple[str, int, int]:
        """File, line and column, both from 1."""
        line = getattr(node, "lineno", 1) - self._lead
        offset = getattr(node, "col_offset", 0)
        text = self._lines[line - 1] if 0 < line <= len(self._lines) else ""
        column = len(text.encode()[:offset].decode(errors="replace"))  # the parser counts bytes
        return self.filename, self._first + line - 1, column + 1

    def location(self, node: ast.AST) -> FileLineColLoc:
        """The location attribute of ops that stand for a node."""
        return file_location(*self.place(node))

    def error(self, node: ast.AST, message: str) -> KernelError:
        """The error at a node, with its line and a caret."""
        return error_at(self.place(node), message)

    def resolve(self, node: ast.expr) -> Any:
        """The Python object that a name or an attribute means outside of the kernel, or MISSING."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, getattr(builtins, node.id, MISSING))
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            return MISSING if owner is MISSING else getattr(owner, node.attr, MISSING)
        return MISSING


def error_at(place: tuple[str, int, int], message: str) -> KernelError:
    """The error at a source location."""
    return placed(KernelError(message), place)


def read(function: Callable[..., Any]) -> tuple[ast.FunctionDef, Source]:
    """The syntax tree of a function and its source.

    Raises:
        KernelError: there is no source, or it is no function defined by `def`.
    """
    name = getattr(function, "__name__", "?")
    if not inspect.isfunction(function):
        raise KernelError(f"a kernel is a function defined by def, got {type(function).__name__} {name!r}")
    missing = KernelError(
        f"kernel '{name}' has no source to read ({function.__code__.co_filename}): define it in a file or a notebook"
    )
    try:
        lines, first = inspect.getsourcelines(function)
        filename = inspect.getsourcefile(function) or function.__code__.co_filename
    except (OSError, TypeError):
        raise missing from None
    source = Source(filename, lines, first, _names(function))
    try:
        tree = source.parse()
    except SyntaxError:
        raise KernelError(f"kernel '{name}' has no source of its own to read: define it by a def statement") from None
    if not _may_define(tree, function):
        raise missing
    if not isinstance(tree, ast.FunctionDef):
        raise source.error(tree, "a kernel is a function defined by def")
    return tree, source


def _may_define(tree: ast.stmt, function: Any) -> bool:
    """Whether a function may come from a statement. Sources go by file names, and any text can be called `<string>`: since
    Python 3.13 that of `python -c` is found under this name for every function that `exec` made."""
    code = inspect.unwrap(function).__code__
    if isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef):
        return (tree.name, len(tree.args.posonlyargs + tree.args.args)) == (code.co_name, code.co_argcount)
    return code.co_name == "<lambda>"


def _names(function: Any) -> dict[str, Any]:
    names = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            names.pop(name, None)
    return names


def assigned(statements: list[ast.stmt]) -> tuple[set[str], set[str]]:
    """The names that statements assign, and those of them that only loops do."""
    found = [_assigned(statement) for statement in statements]
    stored, plain = (set[str]().union(*(one[k] for one in found)) for k in range(2))
    return stored, stored - plain


def _assigned(statement: Any) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a statement assigns, and those that it assigns other than by loops; kept with it."""
    kept = getattr(statement, "assigned_names", None)
    if kept is None:
        updated = {n.target for n in ast.walk(statement) if is_product(n)}  # arrays, which stay the same variables
        stored = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        stored = [n for n in stored if n not in updated]
        loops = (loop for loop in ast.walk(statement) if isinstance(loop, ast.For))
        targets = {id(n) for loop in loops for n in ast.walk(loop.target)}
        kept = frozenset(n.id for n in stored), frozenset(n.id for n in stored if id(n) not in targets)
        statement.assigned_names = kept
    return kept


def is_product(node: ast.AST) -> TypeGuard[ast.AugAssign]:
    """Whether a statement adds a product of matrices to an array."""
    return isinstance(node, ast.AugAssign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.MatMult)

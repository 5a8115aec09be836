"""Caches instrumented code objects, keyed by the original ones."""

from __future__ import annotations

import ast
import copy
from types import CodeType, FunctionType

from ..capture import source
from ..capture.code_objects import code_inside, definition
from ..capture.names import local_names
from .breaks import GraphBreak
from .instrument import HOOKS, instrumented, never, only_assigned

_made: dict[CodeType, CodeType | GraphBreak] = {}


def instrumented_code(function: FunctionType) -> CodeType:
    """The code of a function of the user's with hooks.

    Raises:
        GraphBreak: it has a construct that only Python can run, or no source.
    """
    code = function.__code__
    if code not in _made:
        _made[code] = _instrumented(function)
    found = _made[code]
    if isinstance(found, GraphBreak):
        raise GraphBreak(found.reason, found.remedy)
    return found


def _instrumented(function: FunctionType) -> CodeType | GraphBreak:
    code, name = function.__code__, function.__name__
    if code.co_flags & 0x2A0:
        return GraphBreak(f"{name}() is a generator or coroutine", "return a list")
    found = source.find(function)
    if found is None:
        return GraphBreak(f"{name}() has no source to be read", "define it in a file")
    node = definition(found.node)
    if node is None:
        return GraphBreak(f"{name}() is a coroutine")
    names = local_names(node)[1]
    if not only_assigned(ast.Module(node.body, []), names.global_ | names.nonlocal_):
        return GraphBreak(f"{name}() binds variables that are not its own", "assign them")
    refused = never(node.body)
    if refused is not None:
        return GraphBreak(f"{name}(), line {getattr(refused[0], 'lineno', '?')}: {refused[1]}", refused[2])
    return compiled_code(node, found.file, found.owner, code.co_freevars, code.co_name)


def compiled_code(
    node: ast.FunctionDef, file: str, owner: str | None, free: tuple[str, ...], name: str, declared: set[str] | None = None
) -> CodeType:
    """The code of a function with hooks, which capture can find the tree of."""
    node = instrumented(node, owner, declared or set())
    uses = ast.copy_location(ast.Expr(ast.Name(HOOKS, ast.Load())), node.body[0])
    node.body = [uses, *node.body]
    kept = copy.deepcopy(node)
    code = code_inside(node, (*free, HOOKS), file).replace(co_name=name, co_qualname=name)
    kept.name = name if name.isidentifier() else "function"
    source.made[code] = source.Source(kept, file, owner)
    return code


def codes_of(code: CodeType) -> set[CodeType]:
    """A code and those inside of it."""
    return {code, *(inner for c in code.co_consts if isinstance(c, CodeType) for inner in codes_of(c))}

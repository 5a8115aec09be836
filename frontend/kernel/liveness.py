"""Which variables are read after a loop, before something assigns them again."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any


def live_after_loops(body: Sequence[ast.stmt], needed: Iterable[str] = ()) -> dict[ast.stmt, set[str]]:
    """For each loop the variables whose values are needed after it, whatever conditions hold; `needed` are those at the end.

    >>> import ast
    >>> tree = ast.parse("for i in range(3):\\n  t = i\\ny = t")
    >>> [sorted(names) for names in live_after_loops(tree.body).values()]
    [['t']]
    """
    found: dict[ast.stmt, set[str]] = {}
    _block(body, set(needed), found)
    return found


def _block(body: Sequence[ast.stmt], after: set[str], found: dict[ast.stmt, set[str]]) -> set[str]:
    live = set(after)
    for statement in reversed(body):
        live = _statement(statement, live, found)
    return live


def _statement(statement: ast.stmt, after: set[str], found: dict[ast.stmt, set[str]]) -> set[str]:
    if isinstance(statement, ast.If):
        branches = [_block(part, after, found) for part in (statement.body, statement.orelse)]
        return set().union(*branches, _reads([statement.test]))
    if isinstance(statement, ast.Match):
        branches = [_block(case.body, after, found) for case in statement.cases]
        return set(after).union(*branches, _reads([statement.subject]))
    if isinstance(statement, ast.For | ast.While):
        found[statement] = found.get(statement, set()) | after
        head = _reads([statement.iter if isinstance(statement, ast.For) else statement.test])
        around = after | head
        for _ in range(2):  # once more for what the next iteration reads
            around = around | _block(statement.body, around, found)
        return around - _writes([statement.target]) if isinstance(statement, ast.For) else around
    if isinstance(statement, ast.FunctionDef):
        return after | _reads(statement.body)
    if isinstance(statement, ast.AugAssign):
        return after | _reads([statement.value, statement.target]) | _writes([statement.target])
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        value = [statement.value] if statement.value is not None else []
        return (after - _writes(targets)) | _reads([*value, *targets])
    return after | _reads([statement])


def _names(node: Any) -> tuple[frozenset[str], frozenset[str]]:
    """The variables that a node reads and those that it assigns; kept with it."""
    kept = getattr(node, "used_names", None)
    if kept is None:
        found = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        reads, writes = (frozenset(n.id for n in found if isinstance(n.ctx, context)) for context in (ast.Load, ast.Store))
        node.used_names = kept = (reads, writes)
    return kept


def _reads(nodes: Iterable[ast.AST]) -> set[str]:
    return set[str]().union(*(_names(node)[0] for node in nodes))


def _writes(nodes: Iterable[ast.AST]) -> set[str]:
    return set[str]().union(*(_names(node)[1] for node in nodes))

"""Liveness of variables after each statement: a backward analysis of a function that has no jumps left."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .names import names_of
from .statement_facts import Notes


def annotate(statements: Sequence[ast.stmt], after: set[str], always: set[str], notes: Notes) -> set[str]:
    """Note `live` of each statement, and `live_in` of loops, for which `stops` is known. Returns the names that are read in the
    statements before they bind them, or after."""
    live = after | always
    for statement in reversed(statements):
        notes[statement].live = set(live)
        live = _before(statement, live, always, notes) | always
    return live


def _before(s: ast.stmt, after: set[str], always: set[str], notes: Notes) -> set[str]:
    if isinstance(s, ast.If):
        return names_of(s.test).read | annotate(s.body, after, always, notes) | annotate(s.orelse, after, always, notes)
    if isinstance(s, ast.While | ast.For):
        return _loop(s, after, always, notes)
    if isinstance(s, ast.With):
        items = names_of(s.items)
        return (annotate(s.body, after, always, notes) - items.bound.keys()) | items.read
    if isinstance(s, ast.Try | ast.TryStar):
        anywhere = after | names_of(s).read
        for block in (s.body, s.orelse, s.finalbody, *(handler.body for handler in s.handlers)):
            annotate(block, anywhere, always, notes)
        return anywhere
    if isinstance(s, ast.Match):
        out = names_of(s.subject).read | after
        for case in s.cases:
            names = names_of([case.pattern, *([case.guard] if case.guard else [])])
            out |= names.read | annotate(case.body, after, always, notes)
        return out
    if isinstance(s, ast.Return):
        return names_of(s).read
    names = names_of(s)
    return (after - _surely_bound(s)) | names.read


def _surely_bound(s: ast.stmt) -> set[str]:
    if isinstance(s, ast.Assign | ast.AnnAssign | ast.Delete):
        targets = s.targets if isinstance(s, ast.Assign | ast.Delete) else [s.target] if s.value is not None else []
        return names_of(targets).bound.keys() - names_of(targets).read
    if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {s.name}
    return set()


def _loop(s: ast.While | ast.For, after: set[str], always: set[str], notes: Notes) -> set[str]:
    target = names_of(s.target).bound.keys() if isinstance(s, ast.For) else set[str]()
    test = names_of(s.test).read if isinstance(s, ast.While) else set[str]()
    head = after | test | {*notes[s].stops}
    while True:
        found = head | (annotate(s.body, head, always, notes) - target)
        if found == head:
            break
        head = found
    notes[s].live_in = head
    return head | (names_of(s.iter).read if isinstance(s, ast.For) else set())

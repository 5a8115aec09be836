"""The variables that statements read, may bind, and surely bind."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..capture.jumps import jumps_out
from ..capture.names import names_of, own_nodes


def bound(nodes: ast.AST | Sequence[ast.AST]) -> set[str]:
    """Variables that statements may bind or unbind."""
    return {*names_of(nodes).bound}


def needs(statements: Sequence[ast.stmt], sure: set[str] | None = None) -> set[str]:
    """Variables whose values before the statements matter: they are read, or bound on some paths only."""
    return _needs(statements, set(sure or ()), True)


def read_first(statements: Sequence[ast.stmt]) -> set[str]:
    """Variables that may be read before the statements have bound them."""
    return _needs(statements, set(), False)


def _needs(statements: Sequence[ast.stmt], sure: set[str], with_partly: bool) -> set[str]:
    out: set[str] = set()
    for statement in statements:
        names = names_of(statement)
        always = surely_bound([statement])
        is_simple = not isinstance(statement, ast.If | ast.For | ast.While | ast.Try | ast.With | ast.Match | ast.TryStar)
        partly = set() if is_simple else ({*names.bound} - always) - sure
        if isinstance(statement, ast.If):
            inside = names_of(statement.test).read - sure
            now = sure | bound(statement.test)
            inside |= _needs(statement.body, now, with_partly) | _needs(statement.orelse, now, with_partly)
        elif isinstance(statement, ast.For):
            inside = names_of(statement.iter).read - sure
            inside |= _needs(statement.body, sure | bound(statement.target), with_partly)
            inside |= names_of(statement.target).read - sure | _needs(statement.orelse, {*sure}, with_partly)
        elif isinstance(statement, ast.Try):
            inside = _needs(statement.body, {*sure}, with_partly) | _needs(statement.finalbody, {*sure}, with_partly)
            inside |= _needs(statement.orelse, sure | surely_bound(statement.body), with_partly)
            for handler in statement.handlers:
                inside |= names_of(handler.type).read - sure if handler.type is not None else set()
                inside |= _needs(handler.body, sure | ({handler.name} if handler.name else set()), with_partly)
        else:
            inside = names.read - sure
            if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                inside |= {statement.target.id} - sure
        out |= inside | {*names.changed} - sure | {*names.rebound} - sure
        if with_partly:
            out |= partly
        sure -= unbound(statement)
        sure |= always
    return out


def surely_bound(statements: Sequence[ast.stmt]) -> set[str]:
    """Variables that are bound where the statements end in their order; all of them where they never do."""
    out: set[str] = set()
    for statement in statements:
        if isinstance(statement, ast.If):
            ends = [_ends(b) for b in (statement.body, statement.orelse)]
            inside = [surely_bound(b) for b in (statement.body, statement.orelse)]
            out |= inside[1] if ends[0] else inside[0] if ends[1] else inside[0] & inside[1]
            out |= bound(statement.test)
        elif isinstance(statement, ast.Try):
            out |= _surely_of_try(statement) | surely_bound(statement.finalbody)
        elif isinstance(statement, ast.Match):
            rows = [surely_bound(c.body) | bound(c.pattern) for c in statement.cases if not _ends(c.body)]
            last = statement.cases[-1]
            is_whole = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None
            out |= bound(statement.subject) | (set[str].intersection(*rows) if rows and is_whole else set())
        elif isinstance(statement, ast.With):
            out |= bound([i.context_expr for i in statement.items])
        elif not isinstance(statement, ast.For | ast.While | ast.Try | ast.TryStar | ast.Match | ast.AsyncFor | ast.AsyncWith):
            out |= bound(statement) - (bound(statement) if isinstance(statement, ast.Delete) else set())
    return out


def unbound(node: ast.AST) -> set[str]:
    """Variables that a statement may leave without a value: those that it deletes, and those of its handlers."""
    deleted = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)}
    return deleted | {n.name for n in ast.walk(node) if isinstance(n, ast.ExceptHandler) and n.name}


def _surely_of_try(statement: ast.Try) -> set[str]:
    """The names bound at the end of the body, or of a handler that continues; none if handlers see half of the body's."""
    out = surely_bound([*statement.body, *statement.orelse])
    for handler in statement.handlers:
        if not _ends(handler.body):
            out &= surely_bound(handler.body)
    return out - {h.name for h in statement.handlers if h.name}


def _ends(statements: Sequence[ast.stmt]) -> bool:
    return bool(statements) and isinstance(statements[-1], ast.Return | ast.Raise | ast.Break | ast.Continue)


def jumps(node: ast.AST) -> bool:
    """Whether a statement leaves the statements around it: by return, or by break or continue of a loop outside of it."""
    return bool(own_nodes([node], ast.Return)) or jumps_out(node, ast.Break | ast.Continue)

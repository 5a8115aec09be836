"""`return`, `break` and `continue` out of control flow as flags, so that each statement has one entry and one exit.

    while t:                        stop = False
        if c:                       while t:            (tests first whether `stop` is set)
            break           ->          if c:
        x = f(x)                            stop = True
                                        else:
                                            x = f(x)

Statements behind a branch that always jumps move into the other branch; those behind a branch that may jump are guarded by the
flag. A flag whose value Python knows costs nothing: the guard is then Python's.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from .code_objects import assign, at, load
from .names import names_of, own_nodes
from .statement_facts import Note, Notes

RETURNED, RESULT, HELPERS = "returned@", "result@", "capture@"

Loop = ast.For | ast.While
_Try = (ast.Try, ast.TryStar)


def lower_jumps(node: ast.FunctionDef, notes: Notes) -> None:
    """Rewrite the body of a function. Noted are `stops`, `definite` and `always` of loops, `guard` and `quiet` of branches."""
    _note_loops(node.body, notes)
    returns = own_nodes(node.body, ast.Return)
    if any(r not in node.body for r in returns):
        if not leaves(node.body):
            node.body.append(at(ast.Return(ast.Constant(None)), node.body[-1]))
        end = node.body[-1]
        body = _Lowering(notes, True).block(node.body, None)
        node.body = [at(assign(RETURNED, ast.Constant(False)), node), *body, at(ast.Return(load(RESULT)), end)]
    else:
        node.body = _Lowering(notes, False).block(node.body, None)


def lower_loops(statements: Sequence[ast.stmt], notes: Notes) -> list[ast.stmt]:
    """Statements from which nothing jumps out, without the jumps that are in them."""
    _note_loops(statements, notes)
    return _Lowering(notes, False).block(statements, None)


def _note_loops(statements: Sequence[ast.stmt], notes: Notes) -> None:
    calls_assign = bool(names_of(statements).rebound)
    for loop in own_nodes(statements, (ast.For, ast.While)):
        if isinstance(loop, ast.While) and own_nodes([loop.test], (ast.NamedExpr, ast.Call) if calls_assign else ast.NamedExpr):
            _ask_inside(loop, notes[loop])
        notes[loop].definite, notes[loop].always = _definite_after(loop)


def _ask_inside(loop: ast.While, note: Note) -> None:
    """`while (n := f()) > 0: ...` as `while True: if (n := f()) > 0: pass else: break; ...`. Its `else` runs after this break
    alone: a flag, which the break clears, stands for the others."""
    end: list[ast.stmt] = [ast.Break()]
    if loop.orelse:
        note.unless = f"goes on{loop.lineno}:{loop.col_offset}@"
        end = [assign(note.unless, ast.Constant(False)), *end]
    ends = at(ast.If(loop.test, [ast.Pass()], end), loop.test)
    loop.test, loop.body = at(ast.Constant(True), loop.test), [ends, *loop.body]


class _Lowering:
    """One function. `returns`: whether its `return` statements become flags."""

    def __init__(self, notes: Notes, returns: bool):
        self.notes, self.returns = notes, returns
        self.count = 0

    def block(self, statements: Sequence[ast.stmt], loop: tuple[str, str] | None) -> list[ast.stmt]:
        """Statements without jumps. `loop`: the flags of the innermost loop, for break and for continue."""
        out: list[ast.stmt] = []
        for k, statement in enumerate(statements):
            rest = list(statements[k + 1 :])
            if isinstance(statement, ast.Return | ast.Break | ast.Continue):
                return [*out, *self.jump(statement, loop)]
            flags = self.flags(statement, loop)
            if isinstance(statement, ast.If) and flags:
                before, after = leaves(statement.body), leaves(statement.orelse)
                if before and rest:
                    statement.orelse, rest = [*statement.orelse, *rest], []
                elif after and rest:
                    statement.body, rest = [*statement.body, *rest], []
                if before or after:  # variables that one branch binds are not read where the other one has jumped away
                    self.notes[statement].quiet = {*names_of([*statement.body, *statement.orelse]).bound}
            out += self.statement(statement, loop)
            if not rest and flags:
                return out
            if flags:
                return [*out, self.guard(flags, self.block(rest, loop), rest[0])]
        return out

    def jump(self, statement: ast.stmt, loop: tuple[str, str] | None) -> list[ast.stmt]:
        if isinstance(statement, ast.Return):
            if not self.returns:
                return [statement]
            value = assign(RESULT, statement.value or ast.Constant(None))
            return [at(value, statement), at(assign(RETURNED, ast.Constant(True)), statement)]
        assert loop is not None
        return [at(assign(loop[isinstance(statement, ast.Continue)], ast.Constant(True)), statement)]

    def flags(self, statement: ast.stmt, loop: tuple[str, str] | None) -> list[str]:
        """The flags that a statement may set for the block that it stands in."""
        found = [RETURNED] if self.returns and _has(statement, ast.Return) else []
        if loop is not None:  # of a loop: a jump out of its `else`
            found += [flag for flag, kind in zip(loop, (ast.Break, ast.Continue), strict=True) if jumps_out(statement, kind)]
        return found

    def statement(self, s: ast.stmt, loop: tuple[str, str] | None) -> list[ast.stmt]:
        if isinstance(s, Loop):
            return self.loop(s, loop)
        if isinstance(s, _Try):
            flags = [flag for inner in s.body for flag in self.flags(inner, loop)]
            orelse = self.block(s.orelse, loop)
            s.orelse = [self.guard(flags, orelse, s.orelse[0])] if orelse and flags else orelse
            s.finalbody = self.block(s.finalbody, loop)
            for handler in s.handlers:
                handler.body = self.block(handler.body, loop)
        if isinstance(s, ast.If):
            s.orelse = self.block(s.orelse, loop)
        if isinstance(s, ast.Match):
            for case in s.cases:
                case.body = self.block(case.body, loop)
        if isinstance(s, ast.If | ast.With | ast.Try | ast.TryStar):
            s.body = self.block(s.body, loop)
        return [s]

    def loop(self, s: Loop, outer: tuple[str, str] | None) -> list[ast.stmt]:
        self.count += 1
        stop, skip = f"stop{self.count}@", f"skip{self.count}@"
        breaks, continues = (any(jumps_out(inner, kind) for inner in s.body) for kind in (ast.Break, ast.Continue))
        flags = [*([stop] if breaks else []), *([RETURNED] if self.returns and _has(s, ast.Return) else [])]
        self.notes[s].stops = flags
        orelse, s.orelse = s.orelse, []
        body = self.block(s.body, (stop, skip))
        s.body = [*([at(assign(skip, ast.Constant(False)), s)] if continues else []), *body]
        before = [at(assign(stop, ast.Constant(False)), s)] if breaks else []
        if unless := self.notes[s].unless:
            before.append(at(assign(unless, ast.Constant(True)), s))
            flags = [unless]
        after = self.block(orelse, outer)
        return [*before, s, *([self.guard(flags, after, orelse[0])] if after and flags else after)]

    def guard(self, flags: Sequence[str], body: list[ast.stmt], place: ast.AST) -> ast.If:
        """Statements that run while no flag is set."""
        helper = ast.Attribute(load(HELPERS), "going", ast.Load())
        made = at(ast.If(ast.Call(helper, [load(f) for f in flags], []), body, []), place)
        self.notes[made].guard = True
        return made


def _has(node: ast.AST, kind: Any) -> bool:
    return isinstance(node, kind) or bool(own_nodes(node, kind))


def jumps_out(node: ast.AST, kind: Any) -> bool:
    """Whether a break or continue in a statement is of the loop around it."""
    if isinstance(node, kind):
        return True
    if isinstance(node, Loop):
        return any(jumps_out(inner, kind) for inner in node.orelse)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return False
    return any(jumps_out(child, kind) for child in ast.iter_child_nodes(node))


def leaves(statements: Sequence[ast.stmt]) -> bool:
    """Whether the end of a block is never reached."""
    return any(_leaves(s) for s in statements)


def _leaves(s: ast.stmt) -> bool:
    if isinstance(s, ast.Return | ast.Raise | ast.Break | ast.Continue):
        return True
    if isinstance(s, ast.If):
        return leaves(s.body) and leaves(s.orelse)
    if isinstance(s, ast.While):
        return _is_true(s.test) and not any(jumps_out(inner, ast.Break) for inner in s.body)
    if isinstance(s, ast.With):
        return leaves(s.body)
    if isinstance(s, _Try):
        return leaves(s.finalbody) or (leaves([*s.body, *s.orelse]) and all(leaves(h.body) for h in s.handlers))
    if isinstance(s, ast.Match):
        last = s.cases[-1]
        always = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None
        return always and all(leaves(case.body) for case in s.cases)
    return False


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


# Definite assignment


class _Exits:
    """The names that are assigned where a loop is left, on all ways there; None: there is no way."""

    def __init__(self) -> None:
        self.ends: set[str] | None = None
        self.breaks: set[str] | None = None


def _definite_after(loop: Loop) -> tuple[set[str], set[str]]:
    """The names that are assigned after a loop and its `else` if it was entered, and in any case."""
    exits = _Exits()
    have = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)} if isinstance(loop, ast.For) else set[str]()
    end = _both(_assigned(loop.body, have, exits), exits.ends)
    if isinstance(loop, ast.While) and _is_true(loop.test):
        return exits.breaks or set(), set()
    otherwise = _assigned(loop.orelse, set(), _Exits())
    if loop.orelse:
        end = None if otherwise is None else (end or set()) | otherwise
    always = _both(otherwise, exits.breaks) if loop.orelse else set[str]()
    return _both(end, exits.breaks) or set(), always or set()


def _both(a: set[str] | None, b: set[str] | None) -> set[str] | None:
    return b if a is None else a if b is None else a & b


def _assigned(statements: Sequence[ast.stmt], have: set[str] | None, exits: _Exits) -> set[str] | None:
    for s in statements:
        if have is None:
            return None
        have = _after(s, have, exits)
    return have


def _after(s: ast.stmt, have: set[str], exits: _Exits) -> set[str] | None:
    if isinstance(s, ast.Return | ast.Raise):
        return None
    if isinstance(s, ast.Break):
        exits.breaks = _both(have, exits.breaks)
        return None
    if isinstance(s, ast.Continue):
        exits.ends = _both(have, exits.ends)
        return None
    if isinstance(s, ast.If):
        have = have | names_of(s.test).bound.keys()
        return _both(_assigned(s.body, have, exits), _assigned(s.orelse, have, exits))
    if isinstance(s, Loop):
        return have | (_definite_after(s)[0] if isinstance(s, ast.While) and _is_true(s.test) else _definite_after(s)[1])
    if isinstance(s, ast.With):
        return _assigned(s.body, have | names_of(s.items).bound.keys(), exits)
    if isinstance(s, ast.Try | ast.TryStar | ast.Match):
        for inner in ast.iter_child_nodes(s):
            for jump in own_nodes(inner, (ast.Break, ast.Continue)):
                _after(jump, have, exits)
        return have
    return have | names_of(s).bound.keys()

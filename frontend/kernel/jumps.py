"""Jumps as conditionals: `break`, `continue`, `return` and the `else` of loops, rewritten on the syntax tree.

    for i in range(n):          break = False
        if x[i] > 1:            for i in range(n) until break:
            continue                if x[i] > 1:
        if x[i] < 0:    ->              pass
            break                   else:
        s += x[i]                       if x[i] < 0:
                                            break = True
                                        else:
                                            s += x[i]

Statements after a conditional one of whose branches jumps go into the other branch. Where both may jump or not, a flag says
whether one did. The names of flags are keywords of Python, which no variable can have.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .values import item_name

BREAK, CONTINUE, RETURN = "break", "continue", "return"
VALUE = "return.value"
"""The variable with the value of a `return`."""

_FLAGS: dict[type, str] = {ast.Break: BREAK, ast.Continue: CONTINUE, ast.Return: RETURN}


@dataclass(frozen=True)
class Place:
    """Where statements stand.

    Attributes:
        is_last: nothing of the loop body, or of the function, follows them.
        depth: of how many loops they are in the bodies: each loop has flags of its own, for loops in it set theirs meanwhile.
        results: how many values a `return` gives, 0 if it is one that is no tuple.
    """

    is_last: bool
    depth: int
    results: int = 0

    def flag(self, kind: str) -> str:
        """The flag of the innermost loop, or of the function, for a kind of jump."""
        return kind if kind == RETURN or self.depth == 1 else f"{kind}.{self.depth}"

    @property
    def inside(self) -> Place:
        """The body of a loop that stands here."""
        return Place(True, self.depth + 1, self.results)

    def before(self, rest: Sequence[ast.stmt]) -> Place:
        """The place of statements inside of one that `rest` follows."""
        return replace(self, is_last=self.is_last and not rest)


def without_jumps(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements of a function without jumps.

    A loop that may end early has `until`, the flags that end it. A conditional has `dead`, whether its branches end in a jump,
    and `guard` if it only skips statements after one: there a variable needs no value on the way that is not taken.
    """
    found = _block(body, Place(True, 0, results_of(body) or 0))
    if body and any(_jumps(s, RETURN) for s in body):
        found.insert(0, _set(RETURN, False, body[0]))
    return found


def ends(body: Sequence[ast.stmt]) -> bool:
    """Whether statements always jump, so that none after them runs."""
    for statement in body:
        if isinstance(statement, ast.Return | ast.Break | ast.Continue | ast.Raise):
            return True
        if isinstance(statement, ast.If) and ends(statement.body) and ends(statement.orelse):
            return True
        if isinstance(statement, ast.While) and _is_true(statement.test) and not any(_jumps(s, BREAK) for s in statement.body):
            return True
    return False


def results_of(body: Sequence[ast.stmt]) -> int | None:
    """How many values the `return` statements of a function give, if all give tuples; 0 for another value, None for nothing."""
    values = [s.value for s in returns(body) if not _is_none(s.value)]
    if not values:
        return None
    tuples = [v for v in values if isinstance(v, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in v.elts)]
    counts = {len(v.elts) for v in tuples}
    return counts.pop() if len(tuples) == len(values) and len(counts) == 1 else 0


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def returns(body: Sequence[ast.stmt]) -> Iterator[ast.Return]:
    """The `return` statements of a function."""
    for statement in body:
        if isinstance(statement, ast.Return):
            yield statement
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            for part in ("body", "orelse"):
                yield from returns(getattr(statement, part, []))
            for case in getattr(statement, "cases", []):
                yield from returns(case.body)


def result_names(results: int) -> list[str]:
    """The variables with the values that a function returns."""
    return [item_name(VALUE, k) for k in range(results)] or [VALUE]


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _jumps(statement: ast.stmt, *flags: str) -> bool:
    """Whether a statement may jump so out of itself, and not only out of a loop in it."""
    kind = _FLAGS.get(type(statement))
    if kind is not None:
        return kind in flags
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return False
    outer = tuple(f for f in flags if f == RETURN) if isinstance(statement, ast.For | ast.While) else flags
    branches = [(getattr(statement, "body", []), outer), (getattr(statement, "orelse", []), flags)]
    branches += [(case.body, flags) for case in getattr(statement, "cases", [])]
    return any(_jumps(s, *kinds) for part, kinds in branches for s in part)


def _block(body: Sequence[ast.stmt], place: Place) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for k, statement in enumerate(body):
        rest = body[k + 1 :]
        if type(statement) in _FLAGS:
            return [*found, *_jump(statement, place)]
        if isinstance(statement, ast.Match) and (cases := _cases(statement)) is not None:
            return [*found, *_block([*cases, *rest], place)]
        if isinstance(statement, ast.If) and _jumps(statement, *_FLAGS.values()):
            return [*found, *_conditional(statement, rest, place)]
        if isinstance(statement, ast.If):
            inner = place.before(rest)
            made = _copy(statement, body=_block(statement.body, inner), orelse=_block(statement.orelse, inner))
            made.dead = ends(statement.body), ends(statement.orelse)  # by `raise`
            found.append(made)
        elif isinstance(statement, ast.For | ast.While):
            found += _loop(statement, place)
            after = [*_otherwise(statement, place), *rest]
            if _jumps(statement, RETURN) and after:
                return [*found, unless((RETURN,), _block(after, place), after[0])]
            if statement.orelse:
                return [*found, *_block(after, place)]
        else:
            found.append(statement)
    return found


def _cases(statement: ast.Match) -> list[ast.stmt] | None:
    """`match` of numbers as conditionals; None for other patterns."""
    subject = "match.value"
    orelse: list[ast.stmt] = []
    for case in reversed(statement.cases):
        tests, body = [], list(case.body)
        pattern = case.pattern
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
            if pattern.name is not None:
                if case.guard is not None:
                    return None
                body.insert(0, _at(ast.Assign([ast.Name(pattern.name, ast.Store())], ast.Name(subject, ast.Load())), pattern))
        else:
            values = pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]
            if not all(isinstance(v, ast.MatchValue) for v in values):
                return None
            one = [ast.Compare(ast.Name(subject, ast.Load()), [ast.Eq()], [v.value]) for v in values]  # pyright: ignore[reportAttributeAccessIssue]
            tests.append(one[0] if len(one) == 1 else ast.BoolOp(ast.Or(), list(one)))
        tests += [case.guard] if case.guard is not None else []
        if not tests:
            orelse = body
            continue
        test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        orelse = [_at(ast.If(test, body, orelse), pattern, but=[*body, *orelse])]
    return [_at(ast.Assign([ast.Name(subject, ast.Store())], statement.subject), statement), *orelse]


def _otherwise(loop: ast.For | ast.While, place: Place) -> list[ast.stmt]:
    """The `else` of a loop, under the condition that no `break` ended it."""
    if not loop.orelse or not any(_jumps(s, BREAK) for s in loop.body):
        return loop.orelse
    return [unless((place.inside.flag(BREAK),), loop.orelse, loop.orelse[0])]


def _jump(statement: ast.stmt, place: Place) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    if isinstance(statement, ast.Return):
        if statement.value is not None and not _is_none(statement.value):
            name: ast.expr = ast.Name(VALUE, ast.Store())
            if place.results:
                parts: list[ast.expr] = [ast.Name(item_name(VALUE, k), ast.Store()) for k in range(place.results)]
                name = ast.Tuple(parts, ast.Store())
            found.append(_at(ast.Assign([name], statement.value), statement))
        if place.is_last and not place.depth:
            return found or [_at(ast.Pass(), statement)]
    if isinstance(statement, ast.Continue) and place.is_last:
        return [_at(ast.Pass(), statement)]
    return [*found, _set(place.flag(_FLAGS[type(statement)]), True, statement)]


def _conditional(statement: ast.If, rest: Sequence[ast.stmt], place: Place) -> list[ast.stmt]:
    dead = ends(statement.body), ends(statement.orelse)
    body, orelse = list(statement.body), list(statement.orelse)
    if any(dead):
        if not all(dead):
            (orelse if dead[0] else body).extend(rest)
        made = _copy(statement, body=_block(body, place), orelse=_block(orelse, place))
        made.dead = dead
        return [made]
    inner = place.before(rest)
    made = _copy(statement, body=_block(body, inner), orelse=_block(orelse, inner))
    if not rest:
        return [made]
    flags = tuple(place.flag(kind) for kind in _FLAGS.values() if _jumps(statement, kind))
    return [made, unless(flags, _block(rest, place), rest[0])]


def _loop(statement: ast.For | ast.While, place: Place) -> list[ast.stmt]:
    inside = place.inside
    flags = [inside.flag(kind) for kind in (BREAK, RETURN) if any(_jumps(s, kind) for s in statement.body)]
    body = _block(statement.body, inside)
    if any(_jumps(s, CONTINUE) for s in statement.body):
        body.insert(0, _set(inside.flag(CONTINUE), False, statement))
    made = _copy(statement, body=body, orelse=[])
    made.until = tuple(flags)
    if isinstance(made, ast.While) and flags:
        clear = _clear(flags)
        made.test = _at(ast.BoolOp(ast.And(), clear if _is_true(made.test) else [*clear, made.test]), statement)
    return [*(_set(flag, False, statement) for flag in flags if flag != RETURN), made]


def unless(flags: Sequence[str], body: list[ast.stmt], node: ast.AST) -> ast.stmt:
    """The statements, unless one of the flags is set."""
    made = _at(ast.If(ast.BoolOp(ast.And(), _clear(flags)), body, []), node, but=body)
    made.guard = True
    return made


def _clear(flags: Sequence[str]) -> list[ast.expr]:
    return [ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load())) for flag in flags]


def _set(flag: str, value: bool, node: ast.AST) -> ast.stmt:
    return _at(ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(value)), node)


def _at(made: ast.AST, node: ast.AST, but: Sequence[ast.AST] = ()) -> Any:
    """A new node where another one stands, with its parts, but for those that have a place."""
    kept = {id(inner) for outer in but for inner in ast.walk(outer)}
    for inner in ast.walk(made):
        if id(inner) not in kept and not hasattr(inner, "lineno"):
            ast.copy_location(inner, node)
    return made


def _copy(node: Any, **fields: Any) -> Any:
    values = {name: getattr(node, name) for name in node._fields if hasattr(node, name)}
    made = ast.copy_location(type(node)(**{**values, **fields}), node)
    if hasattr(node, "guard"):
        made.guard = node.guard
    return made

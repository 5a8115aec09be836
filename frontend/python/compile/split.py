"""Builds the function that replaces the user's: regions, and Python between them.

A maximal run of statements without a graph break is one region. A statement with a break stays in Python; the values that it
computes before the break, its arguments for example, are computed in a region before it. `if`, `for`, `while`, `try` and `with`
that cannot be part of a region stay Python's, and their bodies are split in the same way. Each region keeps its original
statements too, for the calls that no graph serves.

    loss = float(model(x)) * 2         t1@ = model(x)                 # a region
    print(loss)                 ->     loss = float(t1@) * 2          # Python
                                       print(loss)
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from types import CodeType
from typing import Any

from ..capture.code_objects import code_inside, function_node, load, placed, positional
from ..capture.names import local_names, own_nodes
from .instrument import never, only_assigned
from .instrumented import compiled_code
from .liveness import bound, jumps, needs, read_first, surely_bound, unbound
from .regions import Mark, Place, Region, Source

_COMPOUND = (ast.If, ast.For, ast.While, ast.Try, ast.TryStar, ast.With, ast.Match, ast.AsyncFor, ast.AsyncWith)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)
_STRICT = (
    ast.BinOp, ast.UnaryOp, ast.Call, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Subscript, ast.Attribute, ast.keyword,
    ast.Starred, ast.Compare, ast.JoinedStr, ast.FormattedValue, ast.Slice,
)  # fmt: skip
"""Expressions that evaluate all of their parts, in order."""
_UNROUTED = {
    "super",
    "eval",
    "exec",
    "locals",
    "vars",
    "globals",
    "dir",
    "breakpoint",
    "print",
    "isinstance",
    "len",
    "float",
    "int",
}
ROUTE, NOTHING = "route@", "fallback@"


def place_of(node: Any) -> Place:
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


class Splitter:
    """One function, with the breaks that are known."""

    def __init__(
        self,
        node: ast.FunctionDef,
        owner: str | None,
        file: str,
        free: tuple[str, ...],
        marks: dict[Place, Mark],
        compiled: Any,
    ):
        self.node, self.owner, self.file, self.free, self.marks = node, owner, file, free, marks
        self.compiled = compiled
        self.regions: list[Region] = []
        self.breaks: dict[Place, Mark] = {}
        self.own, names = local_names(node)
        self.declared = names.global_ | names.nonlocal_
        self.declarations: list[ast.stmt] = [ast.Global(sorted(names.global_))] if names.global_ else []
        self.declarations += [ast.Nonlocal(sorted(names.nonlocal_))] if names.nonlocal_ else []
        self.escaping = names.escaping | names.rebound
        self.guarded = 0
        """In how many `try` and `with` statements the one at hand stands."""
        self.parts = set[int]()
        self.texts: dict[str, str] = {}

    def read(self, statements: Sequence[ast.AST]) -> None:
        """Parts of an f-string that stand where it stands, as all do before Python 3.12, are no locations of breaks."""
        for text in (n for s in statements for n in ast.walk(s) if isinstance(n, ast.JoinedStr)):
            inside = [n for n in ast.walk(text) if n is not text and isinstance(n, ast.expr)]
            self.parts |= {id(n) for n in inside if isinstance(n, ast.FormattedValue) or place_of(n) == place_of(text)}

    def rest(self, source: Source) -> ast.FunctionDef:
        """The function of the statements of one region, split where breaks are known: it returns the same as the region."""
        self.own |= {*source.parameters}
        self.texts |= source.shown
        is_returning = source.outputs is None
        statements = copy.deepcopy(source.statements)
        self.read(statements)
        body = self.block(statements, {*(source.outputs or ())}, {*source.parameters}, is_returning)
        if source.outputs is not None:
            body.append(placed(ast.Return(ast.Tuple([load(n) for n in source.outputs], ast.Load())), source.statements[-1]))
        made = function_node(source.name, positional(*source.parameters), [*source.declarations, *body])
        return ast.fix_missing_locations(placed(made, source.statements[0]))

    def function(self) -> ast.FunctionDef:
        node = self.node
        first = next((n.arg for n in (*node.args.posonlyargs, *node.args.args)), None)
        for call in own_nodes(node, ast.Call):
            if isinstance(call.func, ast.Name) and call.func.id == "super" and not call.args and first is not None:
                call.args = [placed(load("__class__"), call), placed(load(first), call)]  # in any function it is called in
        self.read(node.body)
        own, _ = local_names(node)
        sure = {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}
        self.own = own
        body = node.body
        start = 0
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            start = 1
        is_generator = bool(own_nodes(node, (ast.Yield, ast.YieldFrom)))
        new = self.block(body[start:], set(), sure, not is_generator)
        node.body = [*body[:start], *new] or [ast.Pass()]
        return ast.fix_missing_locations(node)

    # -- statements

    def block(self, statements: Sequence[ast.stmt], after: set[str], sure: set[str], tail: bool) -> list[ast.stmt]:
        """Statements as they run. `after`: variables needed behind them; `sure`: those that are bound, which it adds to."""
        pieces: list[tuple[str, ast.stmt]] = []
        for statement in statements:
            pieces += self.pieces(statement)
        whole = len(pieces)
        if tail:
            while whole and pieces[whole - 1][0] == "region":
                whole -= 1
        pieces = [
            piece
            for k, (kind, s) in enumerate(pieces)
            for piece in (self.opened(s) if kind == "region" and k < whole and jumps(s) else [(kind, s)])
        ]
        out: list[ast.stmt] = []
        run: list[ast.stmt] = []
        for k, (kind, statement) in enumerate(pieces):
            if kind == "region" and self.is_bound(run, statement, sure):
                run.append(statement)
                if unbound(statement):
                    later = needs([s for _, s in pieces[k + 1 :]]) | after
                    out += self.region(run, later, sure, False) if k < len(pieces) - 1 else []
                    run = run if k == len(pieces) - 1 else []
                    sure -= unbound(statement)
                continue
            later = needs([s for _, s in pieces[k:]]) | after
            out += self.region(run, later, sure, False)
            run = []
            rest = needs([s for _, s in pieces[k + 1 :]]) | after
            if kind == "region" and isinstance(statement, _COMPOUND):
                kind = "compound"
            is_last = tail and k == len(pieces) - 1
            out += self.compound(statement, rest, sure, is_last) if kind == "compound" else [self.python(statement)]
            sure |= surely_bound([statement])
            sure -= unbound(statement)
        out += self.region(run, after, sure, tail)
        return out

    def is_bound(self, run: list[ast.stmt], statement: ast.stmt, sure: set[str]) -> bool:
        """Whether all variables that a statement needs have values, and those that it binds are the function's own."""
        known = sure | surely_bound(run)
        names = bound(statement)
        partly = (names & self.own) - surely_bound([statement]) - known
        if isinstance(
            statement, ast.For | ast.While | ast.If | ast.Try | ast.Match
        ):  # variables that only they bind may be read by them alone
            partly &= self.escaping | self.read_elsewhere(statement)
        if not only_assigned(statement, self.declared):
            return False
        return not (needs([statement]) & self.own - known - names) and not partly

    def read_elsewhere(self, statement: ast.stmt) -> set[str]:
        inside = {id(n) for n in ast.walk(statement)}
        return {
            n.id for n in ast.walk(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and id(n) not in inside
        }

    def marked(self, node: ast.AST) -> list[ast.AST]:
        """The nodes in a tree at which a region was found to end, functions inside left alone."""
        found: list[ast.AST] = []
        for inner in ast.walk(node):
            if isinstance(inner, ast.expr | ast.stmt) and place_of(inner) in self.marks and id(inner) not in self.parts:
                found.append(inner)
        return found

    def pieces(self, statement: ast.stmt) -> list[tuple[str, ast.stmt]]:
        """A statement as statements of regions and of Python."""
        if isinstance(statement, ast.Global | ast.Nonlocal):
            return [("python", statement)]
        refused = never(statement)
        if refused is not None:
            node, reason, remedy = refused
            self.note(node, reason, remedy)
        if refused is None and not self.marked(statement):
            return [("region", statement)]
        return self.opened(statement)

    def note(self, node: Any, reason: str, remedy: str) -> None:
        place = place_of(node)
        self.breaks.setdefault(place, Mark(place, reason, remedy))

    def opened(self, statement: ast.stmt) -> list[tuple[str, ast.stmt]]:
        """A statement that Python runs, behind the regions that compute what it needs."""
        for node in self.marked(statement):
            self.breaks[place_of(node)] = self.marks[place_of(node)]
        before: list[tuple[str, ast.stmt]] = []
        if isinstance(statement, _DEFINITIONS):
            return [("python", statement)]
        if isinstance(statement, ast.If):
            statement.test = self.lifted(statement.test, before, _computes_calls(statement.test))
            return [*before, ("compound", statement)]
        if isinstance(statement, ast.For):
            statement.iter = self.lifted(statement.iter, before, not _is_iterator(statement.iter))
            return [*before, ("compound", statement)]
        if isinstance(statement, _COMPOUND):
            return [("compound", statement)]
        if (
            isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr | ast.Return | ast.AnnAssign)
            and statement.value is not None
        ):
            targets = statement.targets if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
            aimed = any(self.marked(t) for t in (targets if isinstance(targets, list) else [targets]) if t is not None)
            is_whole = (place_of(statement) in self.marks or aimed) and not isinstance(statement, ast.Expr)
            value = statement.value
            if is_whole or isinstance(statement, ast.AugAssign | ast.Return) or self.marked(value) or never(value):
                statement.value = self.lifted(value, before, is_whole or isinstance(statement, ast.Return), inline=True)
        elif isinstance(statement, ast.Raise) and statement.exc is not None:
            statement.exc = self.lifted(statement.exc, before, False, inline=True)
        return [*before, ("python", statement)]

    # -- expressions

    def lifted(self, node: ast.expr, before: list[tuple[str, ast.stmt]], store: bool, inline: bool = False) -> ast.expr:
        """An expression without the subexpressions that regions compute. `store`: extract it as a whole if nothing breaks in
        it; `inline`: leave the outermost call, which Python runs."""
        breaks = self.broken(node)
        if not breaks:
            return self.stored("region", node, before) if store and _computes(node) else node
        if not isinstance(node, _STRICT) or (isinstance(node, ast.Compare) and len(node.ops) > 1):
            return node
        is_here = any(b is node for b in breaks)
        last = max((k for k, child in enumerate(_children(node)) if self.broken(child)), default=-1)
        for k, child in enumerate(_children(node)):
            is_function = isinstance(node, ast.Call) and child is node.func
            if self.broken(child):
                new = self.lifted(child, before, False)
            elif is_function:
                continue
            elif k < last or is_here:
                new = self.lifted(child, before, True) if _computes(child) else child
                if (
                    k < last
                    and new is child
                    and not isinstance(child, ast.Constant | ast.Starred | ast.keyword | ast.Slice | ast.FormattedValue)
                ):
                    new = self.stored("python", child, before)
            else:
                continue
            _replace(node, child, new)
        if is_here and not inline:
            return self.stored("python", node, before)
        return node

    def broken(self, node: ast.AST) -> list[ast.AST]:
        found = self.marked(node)
        refused = never(node)
        return [*found, refused[0]] if refused is not None else found

    def stored(self, kind: str, node: ast.expr, before: list[tuple[str, ast.stmt]]) -> ast.expr:
        """The value of an expression as a variable."""
        if isinstance(node, ast.Starred | ast.keyword | ast.Slice | ast.FormattedValue):
            if isinstance(node, ast.Slice):
                return node
            node.value = self.stored(kind, node.value, before)
            return node
        name = f"t{'_'.join(map(str, place_of(node)))}@"  # the same however often the function is split
        self.own.add(name)
        self.texts[name] = ast.unparse(node)
        assignment = ast.copy_location(ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), node)], node), node)
        before.append((kind, assignment))
        return ast.copy_location(load(name), node)

    # -- running

    def region(self, statements: list[ast.stmt], after: set[str], sure: set[str], tail: bool) -> list[ast.stmt]:
        """Statements that are one region."""
        if not statements:
            return []
        if not any(_computes(s) for s in statements):
            sure |= surely_bound(statements)
            return [self.python(s) for s in statements]
        parameters = sorted(needs(statements) & self.own & sure)
        passed = {n for n in parameters if n not in self.escaping} & _only_returned(statements)
        is_returning = tail
        lost = {name for s in statements for name in unbound(s)}
        now = (sure | surely_bound(statements)) - lost
        outputs = None if is_returning else sorted(bound(statements) & self.own & (after | self.escaping) & now)
        k = len(self.regions)
        result, region = f"result{k}@", f"region{k}@"
        first, last = statements[0], statements[-1]
        body = copy.deepcopy(statements)
        text = "\n".join(map(ast.unparse, statements))
        places = {
            place_of(n): isinstance(n, ast.stmt) for s in statements for n in ast.walk(s) if isinstance(n, ast.expr | ast.stmt)
        }
        if outputs is not None:
            body.append(placed(ast.Return(ast.Tuple([load(n) for n in outputs], ast.Load())), last))
        lines = min(s.lineno for s in statements), max(s.end_lineno or s.lineno for s in statements)
        name = self.compiled.__name__
        made = function_node(name if name.isidentifier() else "lambda_", positional(*parameters), body)
        code = compiled_code(placed(made, first), self.file, self.owner, self.free, name, self.declared)
        last_bound = {n: place_of(s) for s in statements for n in bound(s)}
        self.regions.append(
            Region(
                Source(
                    code,
                    parameters,
                    self.texts,
                    outputs,
                    passed,
                    lines,
                    name,
                    self.file,
                    last_bound,
                    place_of(last),
                    places,
                    text,
                    statements,
                    not self.guarded
                    and not lost
                    and not {*parameters, *bound(statements)} & self.escaping
                    and {*parameters} >= read_first(statements) & self.own,
                    self.declarations,
                    self.escaping & self.own,
                ),
                self.compiled,
            )
        )
        call = ast.Call(load(region), [load(p) for p in parameters], [])
        taken: list[ast.stmt]
        if outputs is None:
            taken = [ast.Return(ast.Subscript(load(result), ast.Constant(0), ast.Load()))]
        elif outputs:
            taken = [ast.Assign([ast.Tuple([ast.Name(n, ast.Store()) for n in outputs], ast.Store())], load(result))]
        else:
            taken = [ast.Pass()]
        store = ast.Assign([ast.Name(result, ast.Store())], call)
        test = ast.Compare(load(result), [ast.IsNot()], [load(NOTHING)])
        sure |= surely_bound(statements)
        python = [self.python(copy.deepcopy(s)) for s in statements]
        return [placed(store, first), placed(ast.If(test, [placed(t, first) for t in taken], python), first)]

    def python(self, statement: ast.stmt) -> ast.stmt:
        """A statement that Python runs; functions that it calls are compiled."""
        return _Route().visit(statement)

    def compound(self, node: Any, after: set[str], sure: set[str], tail: bool) -> list[ast.stmt]:
        """A statement with statements in it that stays Python's."""
        route = _Route().visit
        if isinstance(node, ast.If):
            node.test = route(node.test)
            now = sure | bound(node.test)
            node.body = self.block(node.body, after, {*now}, tail) or [ast.Pass()]
            node.orelse = self.block(node.orelse, after, {*now}, tail)
        elif isinstance(node, ast.For | ast.While):
            around = after | needs([node])
            inside = {*sure}
            if isinstance(node, ast.For):
                node.iter = route(node.iter)
                inside |= bound(node.target)
                node.body = self.block(node.body, around, inside, False)
            elif _computes_calls(node.test) and not node.orelse and never(node.test) is None:
                before: list[tuple[str, ast.stmt]] = []
                test = self.lifted(node.test, before, True)
                stop = placed(ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], []), node.test)
                head = [*(s for _, s in before), stop]
                node.test = placed(ast.Constant(True), node.test)
                node.body = self.block([*head, *node.body], around, inside, False)
                return [node]
            else:
                node.test = route(node.test)
                node.body = self.block(node.body, around, inside, False)
            node.orelse = self.block(node.orelse, after, {*sure}, False)
        elif isinstance(node, ast.Try | ast.TryStar):
            handled = after | needs([node])
            inside = {*sure}
            self.guarded += 1
            node.body = self.block(node.body, handled, inside, False)
            self.guarded -= 1
            node.orelse = self.block(node.orelse, handled, inside, False)
            for handler in node.handlers:
                handler.body = self.block(handler.body, handled, sure | ({handler.name} if handler.name else set()), False)
            node.finalbody = self.block(node.finalbody, after, {*sure}, False)
        elif isinstance(node, ast.With):
            inside = {*sure}
            for item in node.items:
                item.context_expr = route(item.context_expr)
                if item.optional_vars is not None:
                    inside |= bound(item.optional_vars)
            self.guarded += 1
            node.body = self.block(node.body, after | needs(node.body), inside, False)
            self.guarded -= 1
        elif isinstance(node, ast.Match):
            node.subject = route(node.subject)
            for case in node.cases:
                case.guard = route(case.guard) if case.guard else None
                case.body = self.block(case.body, after, sure | bound(case.pattern), tail)
        return [node]


class _Route(ast.NodeTransformer):
    """Calls of functions that are compiled where they are the user's."""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Name) and node.func.id in _UNROUTED):
            node.func = placed(ast.Call(load(ROUTE), [node.func], []), node.func)
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        return node

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef


def _children(node: ast.expr) -> list[Any]:
    """The subexpressions that an expression evaluates first, in order."""
    if isinstance(node, ast.Dict):
        return [x for pair in zip(node.keys, node.values, strict=True) for x in pair if x is not None]
    return [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr | ast.keyword)]


def _replace(node: Any, old: Any, new: Any) -> None:
    for field, value in ast.iter_fields(node):
        if value is old:
            setattr(node, field, new)
        elif isinstance(value, list):
            setattr(node, field, [new if v is old else v for v in value])


def _computes(node: ast.AST) -> bool:
    """Whether anything in a tree could become an operation."""
    return bool(own_nodes([node], (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript)))


def _only_returned(statements: Sequence[ast.stmt]) -> set[str]:
    """Variables of which statements do nothing but return them, by themselves or in a tuple, list or dict."""
    kept: dict[str, int] = {}
    for node in (n for s in statements for n in ast.walk(s) if isinstance(n, ast.Return) and n.value is not None):
        inside = [node.value]
        while inside:
            one = inside.pop()
            if isinstance(one, ast.Name):
                kept[one.id] = kept.get(one.id, 0) + 1
            elif isinstance(one, ast.Tuple | ast.List):
                inside += one.elts
            elif isinstance(one, ast.Dict):
                inside += one.values
    uses = [n.id for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)]
    return {name for name, count in kept.items() if uses.count(name) == count}


def _is_iterator(node: ast.expr) -> bool:
    """Whether an expression is a call that makes an iterator, which no graph gives."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    return name in ("zip", "enumerate", "range", "reversed", "map", "filter", "iter", "items", "values", "keys")


def _computes_calls(node: ast.AST) -> bool:
    return bool(own_nodes([node], (ast.Call,)))


def code_of(node: ast.FunctionDef, file: str, free: Sequence[str], names: Sequence[str], name: str) -> CodeType:
    """The code of the function that runs, inside of one that has the variables it closes over."""
    uses = [placed(ast.Expr(load(n)), node) for n in names]
    node.body = [*node.body] if not uses else [ast.copy_location(ast.If(ast.Constant(False), uses, []), node), *node.body]
    return code_inside(node, (*free, *names), file).replace(co_name=name)

"""The rewriting of a function: statements and expressions that may meet traced values become calls of `runtime.py`.

    if t:                   def then@1():
        y = a                   nonlocal y; y = a
    else:            ->     def else@1():
        y = b                   nonlocal y; y = b
                            capture@.if_(scope@, sites@[1], t, then@1, else@1)

Names with an `@` cannot be written in Python, so they meet none of the user's. All nodes keep the user's lines and columns.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from .code_objects import Rewriter, assign, at, function_node, load, positional, without_annotations
from .generators import is_capturable, is_generator, lower_yields
from .helper_sites import RefusedError, Site
from .jumps import HELPERS, lower_jumps
from .liveness import annotate
from .names import Names, local_names, names_of, own_nodes, parameters
from .statement_facts import Note, Notes

FOLDS = {"sum", "any", "all", "min", "max", "len"}
SCOPE, SITES, ITEM, ERROR = "scope@", "sites@", "item@", "error@"
HOOKS = "guard@"
"""The variable whose attributes are hooks."""
_UNREADABLE = {"eval", "exec", "locals", "vars"}


def rewritten(node: ast.FunctionDef, owner: str | None, sites: list[Site]) -> ast.FunctionDef:
    """A function as it is captured. `sites` receives the facts about its statements for its helpers."""
    return _Function(node, sites, owner, set()).function()


def helper(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(load(HELPERS), name, ast.Load()), list(args), [])


def is_hook(node: ast.expr) -> bool:
    """Whether a function that is called is a hook of `frontend/python/compile`, which decides itself what it runs."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == HOOKS


def constant(value: Any) -> ast.expr:
    if isinstance(value, tuple):
        return ast.Tuple([constant(v) for v in value], ast.Load())
    return ast.Constant(value)


def thunk(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(positional(), body)


class _Function(Rewriter):
    """One function. Functions inside have their own."""

    def __init__(self, node: ast.FunctionDef, sites: list[Site], owner: str | None, outer: set[str]):
        super().__init__(owner, "value")
        self.node, self.sites, self.outer = node, sites, outer
        self.first = (parameters(node) or [None])[0]
        self.in_try = 0
        self.in_lambda = 0
        self.variables: set[str] = set()
        self.names, self.notes = Names(), Notes()
        self.structural: set[ast.Match] = set()
        """Matches that only bind, and say whether a pattern holds."""

    # -- the function

    def function(self) -> ast.FunctionDef:
        node = self.node
        for use in own_nodes(node.body, ast.Call):
            if isinstance(use.func, ast.Name) and use.func.id in _UNREADABLE:
                raise RefusedError(use, f"{use.func.id}() reads variables by name, which capture cannot follow")
        yields = is_generator(node)
        (lower_yields if yields else lower_jumps)(node, self.notes)
        own, names = local_names(node)
        self.names = names
        free = {n for n in names.changed if n in self.outer and n not in own and n not in names.global_}
        self.nonlocals = names.nonlocal_ | free
        self.variables = own | self.nonlocals | names.global_
        always = self.variables if yields else names.escaping | self.nonlocals | names.global_
        annotate(node.body, set(), always, self.notes)
        body = self.block(node.body)
        node.body = [*self.prologue(own), self.guarded(body)]
        ast.fix_missing_locations(at(node, node))
        return node

    def prologue(self, own: set[str]) -> list[ast.stmt]:
        node, out = self.node, list[ast.stmt]()
        if self.names.global_:
            out.append(ast.Global(sorted(self.names.global_)))
        if self.nonlocals:
            out.append(ast.Nonlocal(sorted(self.nonlocals)))
        table: dict[str, ast.expr] = {}
        for name in sorted(self.variables):
            if name in own:
                out.append(ast.If(ast.Constant(False), [assign(name, ast.Constant(None))], []))  # a variable of this function
            setter, deleter = f"set@{name}", f"del@{name}"
            declared = self.declaration([name])
            out.append(function_node(setter, positional("value@"), [*declared, assign(name, load("value@"))]))
            out.append(function_node(deleter, positional(), [*declared, ast.Delete([ast.Name(name, ast.Del())])]))
            table[name] = ast.Tuple([thunk(load(name)), load(setter), load(deleter)], ast.Load())
        keys: list[ast.expr | None] = [ast.Constant(name) for name in table]
        in_expressions = {n.target.id for n in own_nodes(node.body, ast.NamedExpr)}
        names = sorted((self.names.rebound | in_expressions) & self.variables)
        shared = constant(tuple([(name, name in self.names.renamed | in_expressions) for name in names]))
        entered = helper("enter", load(SITES), ast.Constant(node.name), ast.Dict(keys, list(table.values())), shared)
        out.append(assign(SCOPE, entered))
        return [at(statement, node) for statement in out]

    def guarded(self, body: list[ast.stmt]) -> ast.stmt:
        explained = ast.Call(ast.Attribute(load(SCOPE), "explained", ast.Load()), [load(ERROR)], [])
        handler = ast.ExceptHandler(load("NameError@"), ERROR, [ast.Raise(explained, ast.Constant(None))])
        handler.type = ast.Attribute(load(HELPERS), "NameError", ast.Load())
        leave = ast.Expr(ast.Call(ast.Attribute(load(SCOPE), "leave", ast.Load()), [], []))
        return at(ast.Try(body, [at(handler, self.node)], [], [leave]), self.node)

    def declaration(self, names: Iterable[str]) -> list[ast.stmt]:
        """The declaration by which an inner function binds this one's variables."""
        known = sorted({*names} & self.variables)
        out: list[ast.stmt] = []
        if of_module := [n for n in known if n in self.names.global_]:
            out.append(ast.Global(of_module))
        if of_function := [n for n in known if n not in self.names.global_]:
            out.append(ast.Nonlocal(of_function))
        return out

    # -- statements

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in statements:
            new = self.visit(statement)
            for one in new if isinstance(new, list) else [new]:
                if one is not None:
                    out.append(at(one, statement))
        return out or [ast.Pass()]

    def as_function(self, name: str, statements: Sequence[ast.stmt], argument: str | None = None) -> ast.FunctionDef:
        """Statements as a function that binds the variables of this one."""
        names = names_of(statements)
        declared = self.declaration(names.bound.keys() | names.changed.keys())
        return function_node(name, positional(*([argument] if argument else [])), [*declared, *self.block(statements)])

    def site(self, node: Any, blocks: Sequence[Sequence[ast.stmt]], **facts: Any) -> ast.expr:
        """The site of a statement's helper, as an expression."""
        inside = [names_of(block) for block in blocks]
        bound = {n for names in inside for n in names.bound}
        changed = {n for names in inside for n in names.changed}
        called = {n for names in inside for n in names.rebound}
        renamed = {n for names in inside for n in names.renamed}
        calls = any(own_nodes(list(block), ast.Call) for block in blocks)
        if calls:
            called |= self.names.rebound
            renamed |= self.names.renamed
        note = self.notes[node]
        names = (bound | changed | called) & (note.live | note.live_in) & self.variables
        lines = tuple({**b.changed, **b.bound} for b in inside)
        augmented = {
            n.target.id for block in blocks for n in own_nodes(list(block), ast.AugAssign) if isinstance(n.target, ast.Name)
        }
        self.sites.append(
            Site(
                node.lineno,
                tuple(sorted(names)),
                frozenset((changed | called) - bound - renamed),
                lines,
                frozenset(note.live),
                frozenset(changed | augmented),
                frozenset(n for names in inside for n in names.read),
                calls=calls,
                **facts,
            )
        )
        return ast.Subscript(load(SITES), ast.Constant(len(self.sites) - 1), ast.Load())

    def plain(self, node: Any) -> Any:
        """A statement that stays Python's, and needs only values that Python knows."""
        if isinstance(node, ast.For):
            node.iter = at(helper("steps", self.visit(node.iter)), node.iter)
            if not _is_name(node.target):
                item = self.temporary()
                node.body.insert(0, at(ast.Assign([node.target], load(item)), node.target))
                node.target = ast.Name(item, ast.Store())
        else:
            node.test = at(helper("known", self.truth(node.test)), node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse) if node.orelse else []
        return node

    def visit_If(self, node: ast.If) -> Any:
        note = self.notes[node]
        if note.plain:
            return self.plain(node)
        site = self.site(node, (node.body, node.orelse), guard=note.guard, quiet=frozenset(note.quiet))
        k = len(self.sites)
        test = node.test if note.guard else self.truth(node.test)
        then, otherwise = self.as_function(f"then@{k}", node.body), self.as_function(f"else@{k}", node.orelse)
        call = at(helper("if_", load(SCOPE), site, test, load(then.name), load(otherwise.name)), node.test)
        return [then, otherwise, ast.Expr(call)]

    def visit_While(self, node: ast.While) -> Any:
        if self.notes[node].plain:
            return self.plain(node)
        site = self.site(node, (node.body,), **_loop_facts(self.notes[node]))
        k = len(self.sites)
        test = function_node(f"test@{k}", positional(), [ast.Return(self.truth(node.test))])
        body = self.as_function(f"body@{k}", node.body)
        call = at(helper("while_", load(SCOPE), site, load(test.name), load(body.name)), node.test)
        return [test, body, ast.Expr(call)]

    def visit_For(self, node: ast.For) -> Any:
        if self.notes[node].plain:
            return self.plain(node)
        k = len(self.sites) + 1
        binding = at(ast.Assign([node.target], load(ITEM)), node.target)
        self.notes[binding].live = self.notes[node].live_in
        site = self.site(node, ([binding, *node.body],), **_loop_facts(self.notes[node]))
        iterable = self.visit(node.iter)
        body = self.as_function(f"body@{k}", [binding, *node.body], ITEM)
        call = at(helper("for_", load(SCOPE), site, iterable, load(body.name)), node.iter)
        return [body, ast.Expr(call)]

    def visit_Try(self, node: Any) -> Any:
        self.in_try += bool(node.handlers)
        node.body = self.block(node.body)
        self.in_try -= bool(node.handlers)
        node.orelse, node.finalbody = ([*(self.block(b) if b else [])] for b in (node.orelse, node.finalbody))
        for handler in node.handlers:
            handler.type = self.visit(handler.type) if handler.type else None
            handler.body = self.block(handler.body)
        return node

    visit_TryStar = visit_Try

    def visit_With(self, node: ast.With) -> Any:
        for item in node.items:
            item.context_expr = self.visit(item.context_expr)
        node.body = self.block(node.body)
        return node

    def visit_Match(self, node: ast.Match) -> Any:
        """A chain of branches: values are compared as in an `if`, and other patterns need values that Python knows."""
        if node in self.structural:
            return node
        subject, note = self.temporary(), self.notes[node]
        chain: list[ast.stmt] = []
        for case in reversed(node.cases):
            body = list(case.body)
            found, test = self.matched(case.pattern, subject)
            if case.guard is not None:
                test = case.guard if test is None else ast.BoolOp(ast.And(), [test, case.guard])
            if test is None:
                chain = [*found, *body]
            else:
                chain = [*found, at(ast.If(test, body, chain), case.pattern)]
                self.notes[chain[-1]] = replace(note)
            for one in found:
                self.notes[one] = note
        first = at(assign(subject, node.subject), node.subject)
        self.notes[first] = note
        return self.block([first, *chain])

    def matched(self, pattern: ast.pattern, subject: str) -> tuple[list[ast.stmt], ast.expr | None]:
        """The bindings of a pattern, and then the test that it matches; None if it always does."""
        if _is_value(pattern):
            name = pattern.name if isinstance(pattern, ast.MatchAs) else None
            bound = [at(assign(name, load(subject)), pattern)] if name else []
            return bound, None if _is_always(pattern) else _matches(pattern, load(subject))
        flag = self.temporary()
        yes, no = (at(assign(flag, ast.Constant(holds)), pattern) for holds in (True, False))
        cases = [ast.match_case(pattern, None, [yes]), ast.match_case(ast.MatchAs(), None, [no])]
        made = at(ast.Match(load(subject), cases), pattern)
        self.structural.add(made)
        return [made], load(flag)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        self.visit_defaults(node.args)
        without_annotations(node)
        return _Function(node, self.sites, self.owner, self.outer | self.variables).function() if is_capturable(node) else node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    def visit_Global(self, node: ast.Global) -> Any:
        return None  # at the top of the function

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        return None

    def visit_Assert(self, node: ast.Assert) -> Any:
        message = thunk(self.visit(node.msg)) if node.msg else ast.Constant(None)
        return ast.Expr(at(helper("assert_", self.truth(node.test), message), node.test))

    def visit_Raise(self, node: ast.Raise) -> Any:
        if node.exc is None:
            return node
        node.exc = at(helper("raised", load(SCOPE), self.visit(node.exc), ast.Constant(bool(self.in_try))), node)
        node.cause = self.visit(node.cause) if node.cause else None
        return node

    # -- assignment

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self.stores(node.targets, node.value, node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        return None if node.value is None else self.stores([node.target], node.value, node)

    def stores(self, targets: Sequence[ast.expr], given: ast.expr, node: Any) -> list[ast.stmt]:
        """Assign a value, which is computed before the expressions in the targets."""
        calls = _may_bind(given)
        value = self.visit(given)
        if len(targets) == 1 and (_is_name(targets[0]) or not calls):
            return self.store(targets[0], value, node)
        name = self.temporary()
        return [assign(name, value), *(s for target in targets for s in self.store(target, load(name), node))]

    def store(self, target: ast.expr, value: ast.expr, node: Any) -> list[ast.stmt]:
        """The statements that assign a value to a target."""
        if isinstance(target, ast.Attribute):
            owner = self.visit(target.value)
            return [ast.Expr(helper("set_attribute", owner, ast.Constant(self.mangled(target.attr)), value))]
        if isinstance(target, ast.Subscript):
            return self.store_item(target.value, self.index(target.slice), value, node)
        if isinstance(target, ast.Tuple | ast.List) and not all(_is_name(t) for t in target.elts):
            names = [self.temporary() for _ in target.elts]
            parts: list[ast.expr] = []
            for name, part in zip(names, target.elts, strict=True):
                stored = ast.Name(name, ast.Store())
                parts.append(ast.Starred(stored, ast.Store()) if isinstance(part, ast.Starred) else stored)
            first = ast.Assign([ast.Tuple(parts, ast.Store())], value)
            inner = [p.value if isinstance(p, ast.Starred) else p for p in target.elts]
            return [first, *(s for name, part in zip(names, inner, strict=True) for s in self.store(part, load(name), node))]
        return [ast.Assign([target], value)]

    def store_item(self, base: ast.expr, index: ast.expr, value: ast.expr, node: Any) -> list[ast.stmt]:
        if isinstance(base, ast.Name) and base.id in self.variables:
            live = constant(tuple(sorted(self.notes[node].live & self.variables)))
            new = helper("set_item", load(SCOPE), ast.Constant(base.id), load(base.id), index, value, live)
            return [assign(base.id, at(new, node))]
        if isinstance(base, ast.Attribute):
            owner = self.visit(base.value)
            call = helper("set_item_of", owner, ast.Constant(self.mangled(base.attr)), index, value)
            return [ast.Expr(at(call, node))]
        if isinstance(base, ast.Subscript):
            owner, old, new, place = (self.temporary() for _ in range(4))
            inner = self.visit(base.value)
            changed = ast.Compare(load(new), [ast.IsNot()], [load(old)])
            stored = self.store_item(base.value, load(place), load(new), node)
            return [
                assign(owner, inner),
                assign(place, self.index(base.slice)),
                assign(old, helper("item", load(owner), load(place))),
                assign(
                    new, at(helper("set_item", load(SCOPE), ast.Constant(None), load(old), index, value, constant(())), node)
                ),
                ast.If(changed, stored, []),
            ]
        call = helper("set_item", load(SCOPE), ast.Constant(None), self.visit(base), index, value, ast.Constant(None))
        return [ast.Expr(at(call, node))]

    def index(self, node: ast.expr) -> ast.expr:
        """A subscript as a value."""
        if isinstance(node, ast.Slice):
            parts = [self.visit(p) if p is not None else ast.Constant(None) for p in (node.lower, node.upper, node.step)]
            return helper("slice", *parts)
        if isinstance(node, ast.Tuple) and not any(isinstance(part, ast.Starred) for part in node.elts):
            return ast.Tuple([self.index(part) for part in node.elts], ast.Load())
        return self.visit(node) if not (isinstance(node, ast.Name) and node.id.endswith("@")) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        operator, target = type(node.op).__name__, node.target
        value = self.visit(node.value)
        live = constant(tuple(sorted(self.notes[node].live & self.variables)))
        if isinstance(target, ast.Name):
            facts = load(SCOPE), ast.Constant(target.id), load(target.id), ast.Constant(operator), value, live
            return [assign(target.id, at(helper("augment", *facts), node))]
        nowhere = load(SCOPE), ast.Constant(None)
        owner = self.temporary()
        if isinstance(target, ast.Attribute):
            name = self.mangled(target.attr)
            old = ast.Attribute(load(owner), name, ast.Load())
            new = at(helper("augment", *nowhere, old, ast.Constant(operator), value, live), node)
            return [
                assign(owner, self.visit(target.value)),
                ast.Expr(helper("set_attribute", load(owner), ast.Constant(name), new)),
            ]
        assert isinstance(target, ast.Subscript)
        place = self.temporary()
        old = helper("item", load(owner), load(place))
        new = at(helper("augment", *nowhere, old, ast.Constant(operator), value, live, load(owner)), node)
        return [
            assign(owner, self.visit(target.value)),
            assign(place, self.index(target.slice)),
            *self.store_item(target.value, load(place), new, node),
        ]

    # -- expressions

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        node.value, node.attr = self.visit(node.value), self.mangled(node.attr)
        return at(helper("attribute", node.value, ast.Constant(node.attr)), node) if isinstance(node.ctx, ast.Load) else node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if not isinstance(node.ctx, ast.Load):
            self.generic_visit(node)
            return node
        return at(helper("item", self.visit(node.value), self.index(node.slice)), node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        test, body, orelse = self.truth(node.test), self.visit(node.body), self.visit(node.orelse)
        return at(helper("ternary", test, thunk(body), thunk(orelse)), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        return self.logical(node, False)

    def logical(self, node: ast.BoolOp, is_test: bool) -> ast.expr:
        together = not any(map(_may_bind, node.values[1:]))
        values = [self.truth(v) if is_test else self.visit(v) for v in node.values]
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        facts = ast.Constant(together), ast.Constant(is_test)
        return at(helper(name, *facts, values[0], *(thunk(v) for v in values[1:])), node)

    def truth(self, node: ast.expr) -> ast.expr:
        """An expression of which only the truth is needed."""
        if isinstance(node, ast.BoolOp):
            return self.logical(node, True)
        return self.visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = self.truth(node.operand) if isinstance(node.op, ast.Not) else self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return at(helper("not_", operand), node)
        node.operand = operand
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        together = ast.Constant(not any(map(_may_bind, node.comparators[1:])))
        first, *rest = [self.visit(x) for x in (node.left, *node.comparators)]
        names = [type(op).__name__ for op in node.ops]
        if len(names) == 1 and names[0] not in ("In", "NotIn"):
            node.left, node.comparators = first, rest
            return node
        pairs = [ast.Tuple([ast.Constant(n), thunk(x)], ast.Load()) for n, x in zip(names, rest, strict=True)]
        return at(helper("compare", together, first, *pairs), node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        node.value = self.visit(node.value)
        if self.in_lambda or node.target.id not in self.variables:
            return node
        return at(helper("bind", load(SCOPE), ast.Constant(node.target.id), node.value), node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                spec = self.visit(part.format_spec) if part.format_spec else ast.Constant("")
                parts.append(ast.Tuple([self.visit(part.value), ast.Constant(part.conversion), spec], ast.Load()))
            else:
                parts.append(part)
        return at(helper("text", *parts), node)

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self.first is not None:
            node.args = [at(load("__class__"), node), at(load(self.first), node)]
            return node
        if (folded := self.folded(node)) is not None:
            return folded
        if not is_hook(node.func):
            node.func = at(helper("convert", self.visit(node.func)), node.func)
        node.args = [self.visit(a) for a in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node

    def folded(self, node: ast.Call) -> ast.expr | None:
        """`sum(x for ... if t)` and the like, whose filter may be traced: pairs of a filter's truth and the item's function."""
        name = node.func.id if isinstance(node.func, ast.Name) else None
        given = node.args[0] if len(node.args) == 1 else None
        if name is None or name not in FOLDS - self.variables or not isinstance(given, ast.GeneratorExp | ast.ListComp):
            return None
        if not (tests := given.generators[-1].ifs):
            return None
        generators = copy.deepcopy(given.generators)
        generators[-1].ifs = []
        test = copy.deepcopy(tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests))
        pair = ast.Tuple([self.truth(test), thunk(self.visit(copy.deepcopy(given.elt)))], ast.Load())
        pairs = ast.GeneratorExp(pair, [self.visit(one) for one in generators])
        call = helper("fold", load(name), pairs, thunk(self.visit(given)))
        call.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        return at(call, node)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self.visit_defaults(node.args)
        self.in_lambda += 1
        node.body = self.visit(node.body)
        self.in_lambda -= 1
        return node

    def new_container(self, node: Any) -> Any:
        self.generic_visit(node)
        return at(helper("fresh", node), node) if isinstance(getattr(node, "ctx", ast.Load()), ast.Load) else node

    visit_List = visit_Dict = visit_Set = visit_ListComp = visit_SetComp = visit_DictComp = new_container


def _loop_facts(note: Note) -> dict[str, Any]:
    return {
        "stops": tuple(note.stops),
        "definite": frozenset(note.definite),
        "always": frozenset(note.always),
        "live_in": frozenset(note.live_in),
    }


def _may_bind(node: ast.expr) -> bool:
    """Whether an expression may have side effects."""
    return bool(own_nodes([node], (ast.Call, ast.NamedExpr)))


def _is_name(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(_is_name(t) for t in target.elts)
    return isinstance(target.value if isinstance(target, ast.Starred) else target, ast.Name)


def _is_always(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def _is_value(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return all(_is_value(p) for p in pattern.patterns)
    return _is_always(pattern) or isinstance(pattern, ast.MatchValue | ast.MatchSingleton)


def _matches(pattern: ast.pattern, subject: ast.expr) -> ast.expr:
    if isinstance(pattern, ast.MatchOr):
        return ast.BoolOp(ast.Or(), [_matches(p, subject) for p in pattern.patterns])
    if isinstance(pattern, ast.MatchSingleton):
        return ast.Compare(subject, [ast.Is()], [ast.Constant(pattern.value)])
    if isinstance(pattern, ast.MatchValue):
        return ast.Compare(subject, [ast.Eq()], [pattern.value])
    return ast.Constant(True)

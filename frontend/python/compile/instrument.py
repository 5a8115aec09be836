"""Rewrites a function so that everything it reads from Python's objects, and every call, passes through hooks.

    cfg.scale * f(x)[0]   ->   guard@.binary("Mult", guard@.attribute(guard@.name("cfg"), "scale"),
                                             guard@.item(guard@.call(guard@.name("f"), x), 0))

Local variables stay Python's. Control flow is unchanged, so that `frontend/python/capture` can rewrite the result once
more. All nodes keep the user's lines and columns.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from ..capture.code_objects import Rewriter, assign, load, placed, without_annotations
from ..capture.names import local_names, names_of, own_nodes, parameters
from ..capture.rewrite import HOOKS

_NEVER: dict[type, tuple[str, str]] = {
    ast.TryStar: ("try", "move what computes out of it, or into a function of its own"),
    ast.With: ("with", "move what computes into a function of its own"),
    ast.AsyncWith: ("async", ""),
    ast.AsyncFor: ("async", ""),
    ast.AsyncFunctionDef: ("async", ""),
    ast.Await: ("await", ""),
    ast.Yield: ("yield", "return a list, or let the generator call a function that computes"),
    ast.YieldFrom: ("yield", "return a list, or let the generator call a function that computes"),
    ast.Import: ("import", "import at the top of the file"),
    ast.ImportFrom: ("import", "import at the top of the file"),
    ast.ClassDef: ("class", "define it outside of the function"),
}


def never(node: ast.AST | Sequence[ast.AST]) -> tuple[ast.AST, str, str] | None:
    """A statement or expression in a tree that only Python can run: the node, why, and what to do."""
    for one in [node] if isinstance(node, ast.AST) else node:
        for inner in ast.walk(one):
            known = _NEVER.get(type(inner))
            if known is not None:
                return inner, f"`{known[0]}` is run by Python", known[1]
            if isinstance(inner, ast.FunctionDef) and inner.decorator_list:
                return inner, "a function with decorators is defined by Python", "define it outside"
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id in _BY_NAME:
                return inner, *_BY_NAME[inner.func.id]
            if isinstance(inner, ast.For | ast.comprehension) and not _is_simple(inner.target):
                return inner, "a loop assigns attributes or items", "assign them in its body"
            if isinstance(inner, ast.Delete) and not all(_is_item(t) for t in inner.targets):
                return inner, "`del` is run by Python", ""
            if isinstance(inner, ast.FunctionDef) and own_nodes(inner, ast.Nonlocal):
                return inner, "a function inside assigns variables", "return the value instead"
            if type(inner).__name__ in ("TemplateStr", "TypeAlias"):
                return inner, "it is run by Python", ""
    return None


_OUTSIDE = "call it outside, or give it what the function returns"
_BY_NAME = {
    **{n: (f"{n}() reads variables by name", "") for n in ("eval", "exec", "locals", "vars", "globals", "dir", "breakpoint")},
    **{n: (f"{n}() reaches outside of the program", _OUTSIDE) for n in ("print", "input", "open")},
    **{n: (f"{n}() is of Python's objects", "use a list") for n in ("next", "iter", "id")},
}


def only_assigned(node: ast.AST, declared: set[str]) -> bool:
    """Whether a tree binds variables that are global or nonlocal by assignments alone."""
    if not {*names_of(node).bound} & declared:
        return True
    stored = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in declared and not isinstance(n.ctx, ast.Load)]
    statements = [s for s in ast.walk(node) if isinstance(s, ast.Assign | ast.AugAssign | ast.AnnAssign)]
    targets = [t for s in statements for t in (s.targets if isinstance(s, ast.Assign) else [s.target])]
    assigned = {id(n) for t in targets for n in ast.walk(t)}
    others = ({*names_of(node).bound} & declared) - {n.id for n in stored}
    return not others and {id(n) for n in stored} <= assigned


def _is_item(target: ast.expr) -> bool:
    return isinstance(target, ast.Subscript) and not any(isinstance(n, ast.Slice) for n in ast.walk(target.slice))


def _is_simple(target: ast.expr) -> bool:
    return all(isinstance(n, ast.Name | ast.Tuple | ast.List | ast.Starred | ast.expr_context) for n in ast.walk(target))


def hook(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(load(HOOKS), name, ast.Load()), list(args), [])


def instrumented(node: ast.FunctionDef, owner: str | None, declared: set[str]) -> ast.FunctionDef:
    """A function, of which `never` finds nothing, with hooks.

    Args:
        node: the function.
        owner: the class around it, for private names.
        declared: variables that are global or nonlocal where its statements come from.
    """
    visitor = _Instrument(owner)
    own, names = local_names(node)
    visitor.declared = (names.global_ | names.nonlocal_ | declared) - {*parameters(node)}
    visitor.scopes.append(own - declared)
    node.body = visitor.block(node.body)
    without_annotations(node)
    return ast.fix_missing_locations(node)


class _Instrument(Rewriter):
    def __init__(self, owner: str | None):
        super().__init__(owner, "v")
        self.scopes: list[set[str]] = []
        self.declared: set[str] = set()
        """Variables of the module and of functions around that are assigned."""

    def visit(self, node: ast.AST) -> Any:
        new = super().visit(node)
        for one in new if isinstance(new, list) else [new]:
            if isinstance(one, ast.expr | ast.stmt) and one is not node:
                ast.copy_location(one, node)
                for child in ast.walk(one):
                    if isinstance(child, ast.expr | ast.stmt) and not hasattr(child, "lineno"):
                        ast.copy_location(child, node)
        return new

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in statements:
            new = self.visit(statement)
            out += new if isinstance(new, list) else [new]
        return out

    # -- scopes

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self.visit_defaults(node.args)
        own, names = local_names(node)
        self.scopes.append(own)
        declared, self.declared = self.declared, names.global_
        node.body = self.block(node.body)
        self.declared = declared
        self.scopes.pop()
        without_annotations(node)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self.visit_defaults(node.args)
        self.scopes.append(set(parameters(node)))
        node.body = self.visit(node.body)
        self.scopes.pop()
        return node

    def _comprehension(self, node: Any) -> Any:
        targets = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        self.scopes.append(targets)
        for generator in node.generators:
            generator.iter = ast.copy_location(hook("iterated", self.visit(generator.iter)), generator.iter)
            generator.ifs = [self.truth(test) for test in generator.ifs]
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                setattr(node, name, self.visit(getattr(node, name)))
        self.scopes.pop()
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    # -- statements

    def visit_Assign(self, node: ast.Assign) -> Any:
        is_unpacked = any(isinstance(t, ast.Tuple | ast.List) for t in node.targets)
        value = self.visit(node.value)
        node.value = hook("iterated", value) if is_unpacked and not isinstance(value, ast.Tuple) else value
        ast.copy_location(node.value, value)
        stores: list[tuple[ast.expr, str]] = []
        node.targets = [self.replaced(t, stores) for t in node.targets]
        return [node, *(s for target, name in stores for s in self.store(target, load(name)))]

    def replaced(self, target: ast.expr, stores: list[tuple[ast.expr, str]]) -> ast.expr:
        """A target with variables for its attributes, items and variables that are not its own, which are assigned later."""
        if isinstance(target, ast.Tuple | ast.List):
            target.elts = [self.replaced(t, stores) for t in target.elts]
        elif isinstance(target, ast.Starred):
            target.value = self.replaced(target.value, stores)
        elif not isinstance(target, ast.Name) or target.id in self.declared:
            stores.append((target, self.temporary()))
            return ast.copy_location(ast.Name(stores[-1][1], ast.Store()), target)
        return target

    def held(self, node: ast.expr, out: list[ast.stmt]) -> ast.expr:
        """An expression that is evaluated once."""
        if isinstance(node, ast.Name | ast.Constant) or not own_nodes([node], (ast.Call, ast.NamedExpr)):
            return node
        name = self.temporary()
        out.append(placed(assign(name, self.visit(copy.deepcopy(node))), node))
        return ast.copy_location(load(name), node)

    def store(self, target: Any, value: ast.expr) -> list[ast.stmt]:
        """The assignment of a value to an attribute, item or variable that may be seen outside."""
        if isinstance(target, ast.Name):
            return [placed(ast.Expr(hook("rebind", ast.Constant(target.id), value)), target)]
        out: list[ast.stmt] = []
        target.value = self.held(target.value, out)
        owner = self.visit(_as_load(copy.deepcopy(target.value)))
        if isinstance(target, ast.Subscript):
            if not any(isinstance(n, ast.Slice) for n in ast.walk(target.slice)):
                target.slice = self.held(target.slice, out)
            test = hook("set_item", owner, self.index(copy.deepcopy(target.slice)), value)
        else:
            test = hook("set_attribute", owner, ast.Constant(self.mangled(target.attr)), copy.deepcopy(value))
        plain = ast.Assign([self.target(target)], copy.deepcopy(value))
        return [*out, placed(ast.If(ast.UnaryOp(ast.Not(), test), [plain], []), target)]

    def visit_Delete(self, node: ast.Delete) -> Any:
        out: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                call = hook("delete_item", self.visit(_as_load(target.value)), self.index(target.slice))
                out.append(placed(ast.Expr(call), target))
        return out

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> Any:
        return ast.copy_location(ast.Pass(), node)

    visit_Nonlocal = visit_Global

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.Pass()
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        target = node.target
        if isinstance(target, ast.Name) and target.id not in self.declared:
            node.value = hook("operand", self.visit(node.value))
            return [ast.Expr(hook("augmented", load(target.id))), node]
        operation, out = ast.Constant(type(node.op).__name__), list[ast.stmt]()
        value = self.temporary()
        if isinstance(target, ast.Name):
            old = hook("name", ast.Constant(target.id))
            new = hook("updated", operation, old, hook("operand", self.visit(node.value)))
            return [placed(s, node) for s in (assign(value, new), *self.store(target, load(value)))]
        target.value = self.held(target.value, out)
        if isinstance(target, ast.Subscript):
            target.slice = self.held(target.slice, out)
        owner = self.visit(_as_load(copy.deepcopy(target.value)))
        old = self.visit(_as_load(copy.deepcopy(target)))
        new = hook("updated", operation, old, hook("operand", self.visit(copy.deepcopy(node.value))))
        outside = [assign(value, new), *self.store(copy.deepcopy(target), load(value))]
        key: list[ast.expr] = [self.index(copy.deepcopy(target.slice))] if isinstance(target, ast.Subscript) else []
        check = [ast.Expr(hook("changed", copy.deepcopy(owner), *key)), ast.Expr(hook("augmented", copy.deepcopy(old)))]
        inside = ast.AugAssign(self.target(target), node.op, hook("operand", self.visit(node.value)))
        return [*out, placed(ast.If(hook("is_known", owner), outside, [*check, inside]), node)]

    def target(self, target: Any) -> Any:
        """A target with hooks in its subscripts; its base is not one that hooks know, as `checks` makes sure."""
        if isinstance(target, ast.Tuple | ast.List):
            target.elts = [self.target(t) for t in target.elts]
        elif isinstance(target, ast.Starred):
            target.value = self.target(target.value)
        elif isinstance(target, ast.Subscript):
            target.value = self.based(target.value)
            target.slice = self.index(target.slice, keep=True)
        elif isinstance(target, ast.Attribute):
            target.value = self.based(target.value)
        return target

    def based(self, node: ast.expr) -> ast.expr:
        """The base of a target: names stay, so that capture can replace their values."""
        if isinstance(node, ast.Name) and any(node.id in scope for scope in self.scopes):
            return node
        if isinstance(node, ast.Subscript):
            node.value, node.slice = self.based(node.value), self.index(node.slice, keep=True)
            return node
        if isinstance(node, ast.Attribute):
            node.value = self.based(node.value)
            return node
        return self.visit(node)

    def visit_If(self, node: ast.If | ast.While) -> Any:
        node.test = self.truth(node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> Any:
        return self.visit_If(node)

    def visit_For(self, node: ast.For) -> Any:
        node.iter = ast.copy_location(hook("iterated", self.visit(node.iter)), node.iter)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_Try(self, node: ast.Try) -> Any:
        """An exception ends the trace, and Python runs the statement; so handlers are not part of it."""
        body = self.block([*node.body, *node.orelse])
        return ast.Try(body, [], [], self.block(node.finalbody)) if node.finalbody else body

    def visit_Match(self, node: ast.Match) -> Any:
        patterns = [n for case in node.cases for n in ast.walk(case.pattern)]
        classes = [n.cls for n in patterns if isinstance(n, ast.MatchClass)]
        read = [n.value for n in patterns if isinstance(n, ast.MatchValue) and isinstance(n.value, ast.Attribute)]
        guards = [placed(ast.Expr(self.visit(copy.deepcopy(n))), n) for n in (*classes, *read)]
        node.subject = placed(hook("subject", self.visit(node.subject), ast.Constant(bool(classes))), node.subject)
        for case in node.cases:
            case.guard = self.truth(case.guard) if case.guard is not None else None
            case.body = self.block(case.body)
        return [*guards, node]

    def visit_Assert(self, node: ast.Assert) -> Any:
        node.test = self.truth(node.test)
        node.msg = self.visit(node.msg) if node.msg else None
        return node

    # -- expressions

    def truth(self, node: ast.expr) -> ast.expr:
        return ast.copy_location(hook("truth", self.visit(node)), node)

    def visit_Name(self, node: ast.Name) -> Any:
        if not isinstance(node.ctx, ast.Load) or "@" in node.id or any(node.id in scope for scope in self.scopes):
            return node
        return hook("name", ast.Constant(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        return hook("attribute", self.visit(node.value), ast.Constant(self.mangled(node.attr)))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        return hook("item", self.visit(node.value), self.index(node.slice))

    def index(self, node: ast.expr, keep: bool = False) -> ast.expr:
        if isinstance(node, ast.Slice):
            parts = [self.visit(p) if p is not None else None for p in (node.lower, node.upper, node.step)]
            if keep:
                return ast.copy_location(ast.Slice(*parts), node)
            return ast.copy_location(hook("slice", *(p or ast.Constant(None) for p in parts)), node)
        if isinstance(node, ast.Tuple):
            node.elts = [self.index(part, keep) for part in node.elts]
            return node
        return self.visit(node)

    def visit_Starred(self, node: ast.Starred) -> Any:
        if isinstance(node.ctx, ast.Load):
            node.value = ast.copy_location(hook("iterated", self.visit(node.value)), node.value)
        return node

    def visit_Dict(self, node: ast.Dict) -> Any:
        node.keys = [self.visit(k) if k is not None else None for k in node.keys]
        node.values = [
            self.visit(v) if k is not None else ast.copy_location(hook("plain", self.visit(v)), v)
            for k, v in zip(node.keys, node.values, strict=True)
        ]
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return node
        args = [self.visit(a) for a in node.args]
        keywords = [
            ast.keyword(k.arg, self.visit(k.value) if k.arg else hook("plain", self.visit(k.value))) for k in node.keywords
        ]
        call = hook("call", self.visit(node.func), *args)
        call.keywords = keywords
        return call

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return hook("binary", ast.Constant(type(node.op).__name__), self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return hook("negated", self.visit(node.operand))
        node.operand = ast.copy_location(hook("plain", self.visit(node.operand)), node.operand)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        node.values = [self.truth(v) for v in node.values]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        node.test, node.body, node.orelse = self.truth(node.test), self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        operands: list[ast.expr] = [self.visit(x) for x in (node.left, *node.comparators)]
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn):
            name = "identical" if isinstance(node.ops[0], ast.Is | ast.IsNot) else "inside"
            negated = isinstance(node.ops[0], ast.IsNot | ast.NotIn)
            return hook(name, *operands, ast.Constant(negated))
        plain: list[ast.expr] = [ast.copy_location(hook("plain", x), x) for x in operands]
        node.left, node.comparators = plain[0], plain[1:]
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                ast.copy_location(part, node)  # a break is of the whole text
        return self.generic_visit(node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        node.value = placed(hook("text", self.visit(node.value)), node)
        node.format_spec = self.visit(node.format_spec) if node.format_spec else None
        return node


def _as_load(node: ast.expr) -> ast.expr:
    for one in ast.walk(node):
        if hasattr(one, "ctx"):
            one.ctx = ast.Load()  # pyright: ignore[reportAttributeAccessIssue]
    return node

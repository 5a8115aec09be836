"""The faults that a mutation run plants: small edits of a syntax tree, each of one node.

A `Mutant` puts its edit into the tree with `apply` and takes it out with the function that `apply` returns, so that one tree
serves all mutants of a file.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Undo = Callable[[], None]

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
BUILDERS = {
    "add": "sub",
    "sub": "add",
    "mul": "add",
    "div": "mul",
    "sin": "cos",
    "cos": "sin",
    "max": "min",
    "min": "max",
    "and_": "or_",
    "or_": "and_",
    "log": "exp",
    "exp": "log",
    "floor": "ceil",
}
"""Methods of a builder and their neighbours."""
UNWRAPPED = (
    "neg",
    "abs",
    "sign",
    "not_",
    "reverse",
    "transpose",
    "reshape",
    "convert",
    "exp",
    "log",
    "trunc",
    "sorted",
    "reduce",
)
"""Calls that a fault may replace by their first argument."""
ATTRIBUTES = {
    "lhs": "rhs",
    "rhs": "lhs",
    "low": "high",
    "high": "low",
    "on_true": "on_false",
    "on_false": "on_true",
    "lhs_batch": "rhs_batch",
    "rhs_batch": "lhs_batch",
    "lhs_contract": "rhs_contract",
    "rhs_contract": "lhs_contract",
    "stride": "dilation",
    "dilation": "stride",
    "points": "shape",
}
WORDS = {
    "add": "max",
    "mul": "add",
    "max": "min",
    "min": "max",
    "and": "or",
    "or": "and",
    "eq": "ne",
    "ne": "eq",
    "lt": "gt",
    "gt": "lt",
    "le": "lt",
    "ge": "gt",
    "forward": "reverse",
    "reverse": "forward",
    "inclusive": "exclusive",
    "exclusive": "inclusive",
    "set": "add",
    "low": "high",
    "high": "low",
    "lhs": "rhs",
    "neg": "abs",
    "not": "neg",
    "transpose": "reshape",
    "reshape": "broadcast",
    "broadcast": "reshape",
    "causal": "none",
    "tanh": "none",
}
"""Words of properties and names of ops, and what a fault writes instead."""
TYPED = ("full_like", "zeros_like")
"""Calls whose first argument gives its type alone: those of an elementwise formula are all of one type."""
COMMUTATIVE = ("add", "mul", "and_", "or_", "max", "min", "compatible", "unify", "isinstance", "replace_op", "strict")


@dataclass(frozen=True)
class Mutant:
    """One fault: `before` becomes `after`, the smallest expression or statement that shows it; `line` is the statement's."""

    before: str
    after: str
    line: int
    apply: Callable[[], Undo]


def _text(node: Any) -> str:
    """Source of a node, on one line; of a statement with a body, its head."""
    if isinstance(node, ast.If | ast.While):
        return f"if {_text(node.test)}"
    if isinstance(node, ast.For):
        return f"for {_text(node.target)} in {_text(node.iter)}"
    if isinstance(node, ast.With):
        return "with " + ", ".join(_text(item.context_expr) for item in node.items)
    return " ".join(ast.unparse(ast.fix_missing_locations(node)).split())


class _Edits:
    """Collects the mutants of one function or expression."""

    def __init__(self) -> None:
        self.found: list[Mutant] = []
        self.context: list[ast.AST] = []

    def edit(self, owner: Any, field: str, new: Any, index: int | None = None) -> None:
        """A mutant that replaces `owner.field` (or its element `index`) by `new`."""
        shown = self._shown(owner)
        before = _text(shown)

        def apply() -> Undo:
            holder = getattr(owner, field)
            if index is None:
                setattr(owner, field, new)
                return lambda: setattr(owner, field, holder)
            old = holder[index]
            holder[index] = new
            return lambda: holder.__setitem__(index, old)

        undo = apply()
        after = _text(shown)
        undo()
        if before != after:
            self.found.append(Mutant(before, after, self._line(owner), apply))

    def _line(self, owner: Any) -> int:
        """The line of the statement that is edited; 0 for an expression that is none's part."""
        around = [n for n in (*self.context, owner) if isinstance(n, ast.stmt)]
        if len(around) == 1 and isinstance(around[0], ast.FunctionDef):
            return around[0].body[0].lineno
        return around[-1].lineno if around else 0

    def _shown(self, owner: Any) -> ast.AST:
        """The node that is printed: that which is edited, or the expression around a mere part of one."""
        parts = (
            ast.arguments,
            ast.arg,
            ast.keyword,
            ast.comprehension,
            ast.Constant,
            ast.Name,
            ast.Slice,
            ast.Attribute,
            ast.UnaryOp,
        )
        around = [*self.context, owner]
        return next((n for n in reversed(around) if not isinstance(n, parts)), owner)


def mutants_of(root: ast.AST) -> list[Mutant]:
    """All faults in a function or an expression; none in what it raises, asserts or says about itself."""
    edits = _Edits()
    if isinstance(root, ast.FunctionDef):
        _body(edits, root, "body", set())
        edits.context.append(root)
        for statement in root.body:
            _visit(edits, statement, root)
    else:
        holder = ast.Expression(root)  # type: ignore[arg-type]
        _visit_field(edits, holder, "body", None)
    return edits.found


SKIPPED = (ast.Raise, ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Global, ast.Nonlocal)


def _visit(edits: _Edits, node: ast.AST, parent: ast.AST) -> None:
    """Mutants of the fields of a node."""
    if isinstance(node, SKIPPED) or (isinstance(node, ast.keyword) and node.arg == "strict"):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    if isinstance(node, ast.If) and all(isinstance(statement, ast.Raise) for statement in node.body):
        # what is refused, and how, is tested with the messages (filecheck/)
        for k in range(len(node.orelse)):
            _visit_field(edits, node, "orelse", k)
        return
    edits.context.append(node)
    _node(edits, node)
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "type_comment", "decorator_list", "type_ignores"):
            continue
        if isinstance(node, ast.FunctionDef | ast.Lambda) and field == "args":
            for k in range(len(value.defaults)):
                _visit_field(edits, value, "defaults", k)
            continue
        if isinstance(value, list):
            if field in ("body", "orelse", "finalbody") and value and isinstance(value[0], ast.stmt):
                _body(edits, node, field, _bound(edits))
            for k, part in enumerate(value):
                if isinstance(part, ast.AST):
                    _visit_field(edits, node, field, k)
        elif isinstance(value, ast.AST):
            _visit_field(edits, node, field, None)
    edits.context.pop()


def _bound(edits: _Edits) -> set[str]:
    """Names that the functions around bind before; roughly: arguments, and what statements before have assigned."""
    names: set[str] = set()
    for node in edits.context:
        if isinstance(node, ast.FunctionDef):
            names |= {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}
            for inner in node.body:
                if any(inner is n for n in edits.context):
                    break
                names |= {n.id for n in ast.walk(inner) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return names


def _body(edits: _Edits, owner: ast.AST, field: str, bound: set[str]) -> None:
    """Statements left out: those without which the function still runs."""
    body: list[ast.stmt] = getattr(owner, field)
    bound = set(bound)
    if isinstance(owner, ast.FunctionDef):
        bound |= {a.arg for a in owner.args.args}
    edits.context.append(owner)
    for k, statement in enumerate(body):
        targets = [n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        again = isinstance(statement, ast.Assign) and bool(targets) and bound.issuperset(targets)
        stores = isinstance(statement, ast.Assign) and not targets
        effect = isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant)
        last = k == len(body) - 1 and isinstance(owner, ast.FunctionDef)
        leaves = isinstance(statement, ast.Return | ast.Continue | ast.Break) and not last
        if again or stores or effect or leaves or isinstance(statement, ast.AugAssign):
            # shown by the statement itself
            _drop(edits, body, k)
        bound.update(targets)
    edits.context.pop()


def _drop(edits: _Edits, body: list[ast.stmt], k: int) -> None:
    old = body[k]
    new = ast.copy_location(ast.Pass(), old)

    def apply() -> Undo:
        body[k] = new
        return lambda: body.__setitem__(k, old)

    where = _text(old)
    context = next((c for c in reversed(edits.context) if isinstance(c, ast.If) and any(s is old for s in c.body)), None)
    if context is not None:
        where = f"if {_text(context.test)}: {where}"
    edits.found.append(Mutant(where, "(left out)", old.lineno, apply))


def _visit_field(edits: _Edits, owner: Any, field: str, index: int | None) -> None:
    value = getattr(owner, field) if index is None else getattr(owner, field)[index]
    _place(edits, owner, field, index, value)
    _visit(edits, value, owner)


def _place(edits: _Edits, owner: Any, field: str, index: int | None, node: ast.AST) -> None:
    """Mutants that replace a whole expression."""

    def put(new: ast.AST) -> None:
        if not hasattr(new, "lineno"):  # a part of the node has its own
            new = ast.copy_location(new, node)
        edits.edit(owner, field, new, index)

    if isinstance(owner, ast.Expr | ast.Subscript) and field == "value" and not isinstance(node, ast.Call):
        return
    if field == "test":  # of if, while, conditional expressions
        if not (isinstance(owner, ast.While)):
            put(ast.Constant(True))
        put(ast.Constant(False))
    if isinstance(owner, ast.comprehension) and field == "ifs":
        put(ast.Constant(True))
    if isinstance(node, ast.Constant):
        _constant(node, put)
    elif isinstance(node, ast.BoolOp) and len(node.values) >= 2:
        for k in range(len(node.values)):
            rest = [v for j, v in enumerate(node.values) if j != k]
            put(rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        if not (isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant) and node.operand.value == 0):
            put(node.operand)
    elif isinstance(node, ast.BinOp):
        put(node.left)
        if not isinstance(node.op, ast.FloorDiv | ast.Mod | ast.Div):
            put(node.right)
    elif isinstance(node, ast.Call):
        name = (
            node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        )
        if name in UNWRAPPED and node.args:
            put(node.args[0])
    elif isinstance(node, ast.IfExp) and not isinstance(owner, ast.Expr):
        pass  # its test is replaced by True and by False
    elif isinstance(node, ast.Slice):
        if (node.lower is None) != (node.upper is None):
            put(ast.Slice(node.upper, node.lower, node.step))
    elif isinstance(node, ast.NamedExpr):
        return


def _constant(node: ast.Constant, put: Callable[[ast.AST], None]) -> None:
    value = node.value
    if isinstance(value, bool):
        put(ast.Constant(not value))
    elif isinstance(value, int):
        put(ast.Constant(value + 1))
        if value > 0:
            put(ast.Constant(value - 1))
    elif isinstance(value, float):
        put(ast.Constant(value + 1 if value != value + 1 else 0.0))
    elif isinstance(value, str) and value in WORDS:
        put(ast.Constant(WORDS[value]))


def _node(edits: _Edits, node: ast.AST) -> None:
    """Mutants that change a part of a node."""
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            edits.edit(node, "ops", COMPARISONS[type(op)](), k)
    elif isinstance(node, ast.BoolOp):
        edits.edit(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in ARITHMETIC:
        edits.edit(node, "op", ARITHMETIC[type(node.op)]())
    elif isinstance(node, ast.Call):
        _call(edits, node)
    elif isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES and isinstance(node.ctx, ast.Load):
        edits.edit(node, "attr", ATTRIBUTES[node.attr])
    elif isinstance(node, ast.Tuple | ast.List):
        _elements(edits, node)
    elif isinstance(node, ast.Lambda):
        _arguments(edits, node)
    elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        edits.edit(node, "value", ast.copy_location(ast.Constant(None), node))
    elif isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp):
        _backwards(edits, node)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _call(edits: _Edits, node: ast.Call) -> None:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
    if isinstance(node.func, ast.Name) and name in NAMES:
        edits.edit(node.func, "id", NAMES[name])
    if isinstance(node.func, ast.Attribute) and name in BUILDERS and node.args:
        edits.edit(node.func, "attr", BUILDERS[name])
    symmetric = name == "cmp" and any(
        isinstance(k.value, ast.Constant) and k.value.value in ("eq", "ne") for k in node.keywords
    )
    symmetric |= name == "binary" and isinstance(node.args[0], ast.Constant) and node.args[0].value in ("add", "xor", "or")
    if name not in COMMUTATIVE and not symmetric:
        for k in range(len(node.args) - 1):
            a, b = node.args[k], node.args[k + 1]
            if not isinstance(a, ast.Starred | ast.Constant) and not isinstance(b, ast.Starred | ast.Constant):
                edits.edit(node, "args", [*node.args[:k], b, a, *node.args[k + 2 :]])
    for k, keyword in enumerate(node.keywords):
        if keyword.arg is not None and keyword.arg != "strict":
            edits.edit(node, "keywords", [*node.keywords[:k], *node.keywords[k + 1 :]])
    named = [k for k, keyword in enumerate(node.keywords) if keyword.arg not in (None, "strict")]
    for i, j in pairwise(named):
        swapped = list(node.keywords)
        swapped[i] = ast.keyword(node.keywords[i].arg, node.keywords[j].value)
        swapped[j] = ast.keyword(node.keywords[j].arg, node.keywords[i].value)
        edits.edit(node, "keywords", swapped)


def _elements(edits: _Edits, node: ast.Tuple | ast.List) -> None:
    """Neighbours swapped unless it is a set, or names of properties; elements left out where the rest can still be read."""
    names = all(isinstance(e, ast.Constant) and isinstance(e.value, str) for e in node.elts)
    for k in range(0 if names or _is_set(edits, node) else len(node.elts) - 1):
        edits.edit(node, "elts", [*node.elts[:k], node.elts[k + 1], node.elts[k], *node.elts[k + 2 :]])
    if isinstance(node.ctx, ast.Load):
        for k in range(len(node.elts)):
            edits.edit(node, "elts", [*node.elts[:k], *node.elts[k + 1 :]])


def _is_set(edits: _Edits, node: ast.AST) -> bool:
    """Whether no order is seen: the right side of `in`, or all that `any` and `all` get."""
    around = edits.context[-2] if len(edits.context) > 1 else None
    if isinstance(around, ast.Compare):
        return isinstance(around.ops[-1], ast.In | ast.NotIn) and around.comparators[-1] is node
    return isinstance(around, ast.Call) and isinstance(around.func, ast.Name) and around.func.id in ("any", "all")


def _arguments(edits: _Edits, node: ast.Lambda) -> None:
    """An argument of a formula taken for the next one; the builder, which comes first, stays."""
    names = [a.arg for a in node.args.args if a.arg not in ("b", "op", "k")]
    calls = [n for n in ast.walk(node.body) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    typed = [call.args[0] for call in calls if call.func.attr in TYPED]  # type: ignore[attr-defined]
    uses = [n for n in ast.walk(node.body) if isinstance(n, ast.Name) and n.id in names and n not in typed]
    for use in uses if len(names) > 1 else ():
        edits.edit(use, "id", names[(names.index(use.id) + 1) % len(names)])


def _backwards(edits: _Edits, node: ast.GeneratorExp | ast.ListComp | ast.SetComp) -> None:
    """`p[q] for q in r` composed the other way: `r[q] for q in p`."""
    inner, first = node.elt, node.generators[0]
    if (
        isinstance(inner, ast.Subscript)
        and isinstance(inner.slice, ast.Name)
        and isinstance(first.target, ast.Name)
        and inner.slice.id == first.target.id
    ):
        new = type(node)(
            ast.Subscript(first.iter, inner.slice, ast.Load()),
            [ast.comprehension(first.target, inner.value, first.ifs, 0), *node.generators[1:]],
        )
        for parent in reversed(edits.context[:-1]):
            for field, value in ast.iter_fields(parent):
                where = [k for k, v in enumerate(value) if v is node] if isinstance(value, list) else []
                if value is node or where:
                    edits.edit(parent, field, ast.copy_location(new, node), where[0] if where else None)
                    return


def each_name(node: ast.AST) -> Iterator[str]:
    """Names and attributes that a tree reads."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr

"""The names that statements read, bind and change."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from .source import Function

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
T = TypeVar("T", bound=ast.AST)


@dataclass
class Names:
    """The effect of statements on the variables of their function.

    Attributes:
        read: names that are read, functions and lambdas inside included.
        bound: names that are bound anew, with the line of the last binding.
        changed: names of which elements are assigned, `x[i] = v`, with the line.
        escaping: names that functions inside read or bind: these may be looked at at any time.
        rebound: names that functions inside bind by `nonlocal`, or of which they assign elements.
        renamed: those that they bind.
        declared: names that are declared global or nonlocal.
    """

    read: set[str] = field(default_factory=set)
    bound: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    escaping: set[str] = field(default_factory=set)
    rebound: set[str] = field(default_factory=set)
    renamed: set[str] = field(default_factory=set)
    global_: set[str] = field(default_factory=set)
    nonlocal_: set[str] = field(default_factory=set)

    @property
    def written(self) -> set[str]:
        """Names that may stand for something else afterwards."""
        return {*self.bound, *self.changed, *self.rebound}


def names_of(nodes: ast.AST | Iterable[ast.AST]) -> Names:
    """The names of statements or expressions."""
    visitor = _Visitor()
    for node in [nodes] if isinstance(nodes, ast.AST) else nodes:
        visitor.visit(node)
    return visitor.names


def parameters(node: Function) -> list[str]:
    """The names of the parameters of a function."""
    a = node.args
    return [
        p.arg
        for p in (*a.posonlyargs, *a.args, *([a.vararg] if a.vararg else []), *a.kwonlyargs, *([a.kwarg] if a.kwarg else []))
    ]


def local_names(node: Function) -> tuple[set[str], Names]:
    """The variables of a function itself, and all names of its body."""
    names = names_of(node.body)
    return {*parameters(node), *names.bound} - names.global_ - names.nonlocal_, names


def root(node: ast.expr) -> str | None:
    """The name `x` of `x[i][j]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


class _Visitor(ast.NodeVisitor):
    def __init__(self) -> None:
        self.names = Names()

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.names.read.add(node.id)
        else:
            self.names.bound[node.id] = node.lineno

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load) and (name := root(node)) is not None:
            self.names.changed[name] = node.lineno
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.names.read.add(node.target.id)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self.names.global_.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.names.nonlocal_.update(node.names)

    def visit_alias(self, node: ast.alias) -> None:
        self.names.bound[(node.asname or node.name).split(".")[0]] = node.lineno

    def _named(self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar) -> None:
        if node.name:
            self.names.bound[node.name] = node.lineno
        self.generic_visit(node)

    visit_ExceptHandler = visit_MatchAs = visit_MatchStar = _named

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.names.bound[node.rest] = node.lineno
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.names.bound[node.name] = node.lineno
        self._inside({n.id for n in ast.walk(node) if isinstance(n, ast.Name)})

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.names.bound[node.name] = node.lineno
        for outside in (*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)):
            self.visit(outside)
        own, names = local_names(node)
        self._inside((names.read | names.written | names.nonlocal_) - own)
        self.names.rebound |= {n for n in names.written if n not in own and n not in names.global_}
        self.names.renamed |= {n for n in (names.bound.keys() | names.renamed) if n not in own and n not in names.global_}

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d)):
            self.visit(default)
        names = names_of(node.body)
        self._inside(names.read - {*parameters(node)})

    def _inside(self, free: set[str]) -> None:
        self.names.read |= free
        self.names.escaping |= free

    def _comprehension(self, node: Comprehension) -> None:
        inner = _Visitor()
        inner.generic_visit(node)
        targets = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        names = inner.names
        self.names.read |= names.read - targets
        self.names.escaping |= names.escaping - targets
        self.names.bound.update({k: v for k, v in names.bound.items() if k not in targets})  # by :=

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


def own_nodes(node: ast.AST | Sequence[ast.AST], kinds: type[T] | tuple[type[T], ...]) -> list[T]:
    """The nodes of some kinds, not those of functions and classes inside."""
    found: list[T] = []
    waiting = list(node) if isinstance(node, Sequence) else list(ast.iter_child_nodes(node))
    while waiting:
        one = waiting.pop()
        if isinstance(one, kinds):
            found.append(one)
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(one)
    return found

"""The scope in which a statement or expression of a kernel is translated: the block of its ops, and the meaning of names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.loop.loops import YieldOp
from .arithmetic import Arithmetic
from .source import MISSING, Source
from .values import Array, Complex, Items, Mismatch, Packed, Unset, Value, item_name, join, kind_of

AFTER_LOOP = "is the variable of a loop: it has no value outside; copy it to a variable that is assigned before the loop"
IN_LOOP = "has a value only inside the loop that assigns it: assign it before the loop, too"
IN_BRANCH = "has no value on one of the ways that lead here: assign it before the if, too"


class Scope:
    """The state of reading a kernel.

    Attributes:
        env: the meaning of names here.
        lost: why a name has no value here.
        own: the names that the function assigns somewhere: they mean nothing from outside.
    """

    def __init__(self, source: Source, own: set[str]):
        self.source, self.own = source, own
        self.block = Block()
        self.env: dict[str, Value | Array | Packed] = {}
        self.lost: dict[str, str] = {}

    def refuse(self, node: ast.AST, message: str) -> NoReturn:
        raise self.source.error(node, message)

    def math(self, node: ast.AST) -> Arithmetic:
        """Arithmetic at the source location of a node."""
        return Arithmetic(self.block, self.source.location(node))

    def insert(self, op: Operation, node: ast.AST) -> Operation:
        """Append an op that a node stands for."""
        op.location = self.source.location(node)
        self.block.add_op(op)
        return op

    def end(self, node: ast.AST, values: Sequence[SSAValue] = ()) -> None:
        """End the block."""
        self.insert(YieldOp.create(operands=values), node)

    @contextmanager
    def within(self, block: Block) -> Iterator[Block]:
        """Write into another block."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer

    @contextmanager
    def fork(self, block: Block) -> Iterator[Block]:
        """Write into another block, which may never run: its assignments are dropped after it."""
        env, lost = self.env, self.lost
        self.env, self.lost = dict(env), dict(lost)
        try:
            with self.within(block):
                yield block
        finally:
            self.env, self.lost = env, lost

    # -- names

    def lookup(self, node: ast.Name) -> Value | Array | Items | None:
        """The meaning of a name in the kernel, None if it is from outside."""
        if (found := self.env.get(node.id)) is not None:
            if isinstance(found, Unset):
                self.refuse(node, f"'{node.id}' is used before it is assigned")
            return self.unpacked(node, node.id, found)
        if node.id in self.lost:
            self.refuse(node, f"'{node.id}' {self.lost[node.id]}")
        if node.id in self.own:
            self.refuse(node, f"'{node.id}' is used before it is assigned")
        return None

    def unpacked(self, node: ast.AST, name: str, found: Value | Array | Packed | None) -> Value | Array | Items:
        """What a variable holds, with the items of a tuple."""
        if found is None:
            self.refuse(node, f"'{name}' {self.lost.get(name, 'is used before it is assigned')}")
        if not isinstance(found, Packed):
            return found
        parts = [item_name(name, k) for k in range(found.count)]
        items = tuple(self.unpacked(node, part, self.env.get(part)) for part in parts)
        return Complex(items) if found.is_complex else Items(items)

    def hold(self, name: str, found: Value | Array | Items) -> None:
        """Give a name a meaning, whatever it had before."""
        if isinstance(found, Items):
            for k, item in enumerate(found.items):
                self.hold(item_name(name, k), item)
            self.env[name] = Packed(len(found.items), isinstance(found, Complex))
        else:
            self.env[name] = found
        self.lost.pop(name, None)

    def resolve(self, node: ast.expr) -> Any:
        """The Python object that a name or attribute means outside of the kernel, or MISSING."""
        base = node
        while isinstance(base, ast.Attribute):
            base = base.value
        if isinstance(base, ast.Name) and (base.id in self.env or base.id in self.own):
            return MISSING
        return self.source.resolve(node)

    def lose(self, name: str, reason: str) -> None:
        """A name has no value any more."""
        self.env.pop(name, None)
        self.lost[name] = reason

    def bind(self, node: ast.AST, name: str, value: Value) -> None:
        """Give a variable a value; it keeps the type that it has."""
        before = self.env.get(name)
        if isinstance(before, Array):
            self.refuse(node, f"'{name}' is an array: assign to its elements")
        if isinstance(before, Packed):
            what = "complex and becomes real" if before.is_complex else "a tuple and becomes a number"
            self.refuse(node, f"'{name}' is {what}: give the number another name")
        if before is not None:
            try:
                join(kind_of(before), kind_of(value))
            except Mismatch as mismatch:
                self.refuse(node, f"'{name}' {mismatch}")
        self.env[name] = value
        self.lost.pop(name, None)


def hint(value: SSAValue, name: str) -> None:
    """Name a value in the IR, where it has no name and the IR can have that one."""
    if value.name_hint is None:
        value.name_hint = hint_of(name)


def hint_of(name: str) -> str | None:
    """The name of a variable as the IR can have it."""
    return name.replace("#", ".") if name.isascii() else None


def discard(block: Block) -> None:
    """Drop a block that is not needed: its ops must not count as uses of values."""
    for op in reversed(list(block.ops)):
        op.detach()
        op.erase(safe_erase=False)


def words(node: ast.AST) -> str:
    """A kind of syntax in messages."""
    return _WORDS.get(type(node), type(node).__name__)


_WORDS: dict[type, str] = {
    ast.ListComp: "list comprehensions",
    ast.SetComp: "set comprehensions",
    ast.DictComp: "dict comprehensions",
    ast.GeneratorExp: "generator expressions",
    ast.Lambda: "lambdas",
    ast.Dict: "dicts",
    ast.List: "lists",
    ast.Tuple: "tuples",
    ast.Set: "sets",
    ast.JoinedStr: "strings",
    ast.NamedExpr: "assignment expressions",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Slice: "slices",
    ast.Starred: "starred expressions",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.MatMult: "@",
}

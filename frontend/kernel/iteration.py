"""Loops over arrays, tuples, `enumerate`, `zip` and `reversed`: as loops over ranges, or one copy of the body an item."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from .endings import Endings
from .jumps import unless
from .loops import Header
from .values import Array, Extreme, Index, Items, Number, Value

MOST_COPIES = 64
"""Items of a tuple that a loop goes over."""


class Unrolled(ast.stmt):
    """What is left of a loop over a tuple: a copy of the body for each item."""

    _fields = ("target", "body")
    target: ast.expr
    body: list[ast.stmt]
    items: Sequence[Any]
    until: Sequence[str]


class Iteration(Endings):
    """Turns loops over things into loops over ranges."""

    made: dict[Any, Any]

    def part(self, node: Any, array: Array, k: int) -> Any:
        """An element of an array of one dim, or a row."""
        raise NotImplementedError

    def give(self, target: ast.expr, found: Any) -> None:
        """Assign a value, a tuple or a view."""
        raise NotImplementedError

    def do_For(self, node: ast.For) -> None:
        call = node.iter
        name = self.builtin(call.func) if isinstance(call, ast.Call) and not call.keywords else None
        if isinstance(call, ast.Call) and name == "reversed" and len(call.args) == 1:
            self.backwards(node, call.args[0])
        elif isinstance(call, ast.Call) and name == "enumerate" and len(call.args) in (1, 2):
            self.enumerated(node, call)
        elif isinstance(call, ast.Call) and name == "zip" and call.args:
            self.over(node, [self.iterable(arg) for arg in call.args], as_tuples=True)
        elif not isinstance(call, ast.Call) and self.seen(call) is None and not isinstance(call, ast.Tuple | ast.List):
            self.nest(node, self.headers(node))
        elif isinstance(call, ast.Call):
            self.nest(node, self.headers(node))
        else:
            self.over(node, [self.iterable(call)], as_tuples=False)

    def builtin(self, node: ast.expr) -> str | None:
        """The name of a function of Python's own."""
        found = self.resolve(node)
        return found.__name__ if found in (enumerate, zip, reversed) else None

    def iterable(self, node: ast.expr) -> Array | Items:
        found = self.thing(node)
        if not isinstance(found, Array | Items) or (isinstance(found, Array) and not found.sizes):
            self.refuse(node, f"'{ast.unparse(node)}' is no array and no tuple: a loop cannot go over it")
        return found

    def over(self, node: ast.For, things: Sequence[Array | Items], as_tuples: bool) -> None:
        """A loop over arrays or tuples, side by side."""
        if any(isinstance(thing, Items) for thing in things):
            columns = [self.listed(node, thing) for thing in things]
            rows: list[Any] = [Items(row) if as_tuples else row[0] for row in zip(*columns, strict=False)]
            self.unroll(node, rows)
            return
        names = [f"{_place(node)}.{k}" for k in range(len(things))]
        at = f"{node.target.id if isinstance(node.target, ast.Name) else 'k'}.at"
        elements: list[ast.expr] = [ast.Subscript(ast.Name(n, ast.Load()), ast.Name(at, ast.Load()), ast.Load()) for n in names]
        assign = ast.Assign([node.target], ast.Tuple(elements, ast.Load()) if as_tuples else elements[0])
        for name, thing in zip(names, things, strict=True):
            self.hold(name, thing)
        sizes = [thing.sizes[0] for thing in things if isinstance(thing, Array)]
        self.nest(self.prefixed(node, assign, target=ast.Name(at, ast.Store())), [Header(at, [Index.number(0)], sizes)])

    def enumerated(self, node: ast.For, call: ast.Call) -> None:
        thing = self.iterable(call.args[0])
        start = self.value(call.args[1]) if len(call.args) == 2 else Number(0)
        target = node.target
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            self.refuse(node.target, "enumerate() gives two values: for i, v in enumerate(x)")
        b = self.math(node)
        if isinstance(thing, Items):
            pairs = [Items((b.binary("+", start, Number(k)), item)) for k, item in enumerate(thing.items)]
            self.unroll(node, pairs)
            return
        counter, element = target.elts
        is_plain = isinstance(counter, ast.Name) and start == Number(0)
        at = counter.id if isinstance(counter, ast.Name) and is_plain else "k.at"
        over, begin = f"{_place(node)}.0", f"{_place(node)}.start"
        self.hold(over, thing)
        here = ast.Subscript(ast.Name(over, ast.Load()), ast.Name(at, ast.Load()), ast.Load())
        prefix: list[ast.stmt] = [ast.Assign([element], here)]
        if not is_plain:
            self.hold(begin, start)
            number = ast.BinOp(ast.Name(at, ast.Load()), ast.Add(), ast.Name(begin, ast.Load()))
            prefix.append(ast.Assign([counter], number))
        made = self.prefixed(node, *prefix, target=ast.Name(at, ast.Store()))
        self.nest(made, [Header(at, [Index.number(0)], thing.sizes[:1])])

    def backwards(self, node: ast.For, what: ast.expr) -> None:
        """`reversed(range(...))`, or of an array or a tuple."""
        if not isinstance(what, ast.Call):
            thing = self.iterable(what)
            if isinstance(thing, Items):
                self.unroll(node, thing.items[::-1])
                return
            last = ast.BinOp(ast.Call(ast.Name("len", ast.Load()), [what], []), ast.Sub(), ast.Constant(1))
            found = ast.Call(ast.Name("range", ast.Load()), [last, ast.Constant(-1), ast.Constant(-1)], [])
            at = ast.Name("k.at", ast.Store())
            element = ast.Subscript(what, ast.Name("k.at", ast.Load()), ast.Load())
            made = self.prefixed(node, ast.Assign([node.target], element), target=at)
            made.iter = ast.copy_location(found, node)
            for inner in ast.walk(made.iter):
                ast.copy_location(inner, node)
            self.nest(made, self.headers(made))
            return
        inner = self.copied(node, iter=what)
        (header,) = self.headers(inner)
        b = self.math(node)
        first: Value = header.lower[0] if len(header.lower) == 1 else Extreme("max", tuple(header.lower))
        stop: Value = header.upper[0] if len(header.upper) == 1 else Extreme("min", tuple(header.upper))
        count = b.binary("//", b.binary("+", b.binary("-", stop, first), Number(header.step - 1)), Number(header.step))
        start: Value = header.first if header.first is not None else first
        by = b.binary("*", Number(header.step), header.by)
        last = b.binary("+", start, b.binary("*", b.binary("-", count, Number(1)), by))
        trips = [self.affine(node, count)]
        self.nest(inner, [Header(header.name, [Index.number(0)], trips, 1, header.kind, last, b.negate(by))])

    def copied(self, node: ast.For, **fields: Any) -> ast.For:
        """The loop with other parts, known as it is."""
        values = {name: getattr(node, name) for name in node._fields if hasattr(node, name)}
        made: Any = ast.copy_location(type(node)(**{**values, **fields}), node)
        made.until = getattr(node, "until", ())
        self.live[made] = self.live.get(node, set())
        return made

    def prefixed(self, node: ast.For, *statements: ast.stmt, target: ast.expr) -> ast.For:
        """The loop with another variable, and statements before its body."""
        key = (id(node), "prefixed")
        if key not in self.made:
            for statement in statements:
                for inner in ast.walk(statement):
                    if not hasattr(inner, "lineno"):
                        ast.copy_location(inner, node.target)
            made = self.copied(node, target=ast.copy_location(target, node.target), body=[*statements, *node.body])
            self.made[key] = node, made  # one node, however often it is read on trial
        made = self.made[key][1]
        self.live[made] = self.live.get(node, set())
        return made

    # -- copies

    def listed(self, node: ast.AST, thing: Array | Items) -> Sequence[Any]:
        """The items of a tuple, or the elements of an array of known size."""
        if isinstance(thing, Items):
            return thing.items
        count = thing.sizes[0].constant
        if count is None:
            self.refuse(node, "an array beside a tuple in zip() needs a known size: go over range(n)")
        return [self.part(node, thing, k) for k in range(count)]

    def unroll(self, node: ast.For, items: Sequence[Any]) -> None:
        if len(items) > MOST_COPIES:
            self.refuse(node, f"a loop over a tuple of {len(items)} items would be as many copies: go over an array")
        made = Unrolled()
        made.target, made.body, made.items, made.until = node.target, node.body, items, getattr(node, "until", ())
        self.do_Unrolled(ast.copy_location(made, node))

    def do_Unrolled(self, node: Unrolled) -> None:
        for k, item in enumerate(node.items):
            self.give(node.target, item)
            self.run(node.body)
            if node.until and k + 1 < len(node.items):
                rest = Unrolled()
                rest.target, rest.body, rest.items, rest.until = node.target, node.body, node.items[k + 1 :], node.until
                self.run([unless(node.until, [ast.copy_location(rest, node)], node)])
                return


def _place(node: ast.For) -> str:
    """A name for what a loop goes over, which no variable has."""
    return f"over.{node.lineno}.{node.col_offset}"

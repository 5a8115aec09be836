"""Loops of a kernel. A variable that a loop changes is carried from iteration to iteration, or reduced."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, SSAValue

from ...dialects.loop.loops import LARGEST_STEP, ForOp, WhileOp
from ...dialects.types import i64, is_integer
from ...dialects.types import index as index_type
from . import annotations
from .calls import canonical
from .memory import Memory
from .rounding import is_rounded
from .scope import AFTER_LOOP, IN_LOOP, discard, hint, hint_of
from .source import assigned
from .values import (
    UNSET,
    Array,
    Complex,
    Extreme,
    Index,
    Kind,
    Mismatch,
    Number,
    Packed,
    Scalar,
    Unset,
    Value,
    as_map,
    default,
    held,
    item_name,
    join,
    kind_of,
    meet_kinds,
    variable_of,
)

_REDUCTIONS: dict[type, str] = {ast.Add: "add", ast.Sub: "add", ast.Mult: "mul"}


@dataclass(frozen=True)
class Header:
    """One loop of a for statement; the bounds are the greatest of `lower` and the least of `upper`."""

    name: str
    lower: Sequence[Index]
    upper: Sequence[Index]
    step: int = 1
    kind: str = "seq"
    first: Value | None = None
    """Where a loop in other steps than of its index starts: its variable is `first + index * by`."""
    by: Value = field(default_factory=lambda: Number(1))


@dataclass(frozen=True)
class Update:
    """`s += e`, `s = max(s, e)`: a variable combined with a contribution."""

    variable: str
    monoid: str
    contribution: ast.expr
    mentions: int
    negated: bool = False


def _may_widen(kind: Kind) -> bool:
    """Whether a variable of a kind may be another one after the body of a loop."""
    return kind != "bool" if isinstance(kind, str) else is_integer(kind) and kind != i64


def _kind(value: Value | Array | Packed) -> Kind:
    if isinstance(value, Packed):
        return f"tuple of {value.count}"
    return value.element if isinstance(value, Array) else kind_of(value)


class Loops(Memory):
    """Turns loops into ops.

    Attributes:
        known: the kinds of carried variables, by the loop and the kinds of the variables around it.
        live: the variables that are read after each loop.
        pinned: the arrays and views that loops start with and assign: they are the same in all iterations; with the loop.
    """

    known: dict[Hashable, list[Kind]]
    live: dict[ast.stmt, set[str]]
    pinned: dict[str, ast.stmt]

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Read statements."""
        raise NotImplementedError

    # -- the variables that a loop changes

    def carried(self, node: ast.For | ast.While) -> list[str]:
        """The variables that a loop changes and that have a value before it, or are read after it."""
        names, targets = assigned(node.body)
        for name in sorted((self.live.get(node, set()) & names) - self.env.keys()):
            self.env[name] = UNSET
            self.lost.pop(name, None)
        for name in targets & self.env.keys():  # the variable of a loop inside: it has no value after the first iteration
            self.lose(name, AFTER_LOOP)
        for name in names:
            if isinstance(self.env.get(name), Array) and name not in self.pinned:
                self.pinned[name] = node
        changed = [v for v in self.env if v in names or variable_of(v) in names]
        return [v for v in changed if not isinstance(self.env[v], Array | Packed)]

    def kinds(self, node: ast.AST, carried: list[str], attempt: Callable[[list[Kind]], list[Kind]]) -> list[Kind]:
        """The kinds of carried variables: before the loop and after its body. A number before the loop takes the type of
        the body's result, for which the body is read on trial; once, however often the loops around are read on trial.
        """
        values = {v: (k.value if isinstance(k, Number) else None, _kind(k)) for v, k in self.env.items()}
        case = (node, tuple(carried), tuple(values.items()))
        if (known := self.known.get(case)) is not None:
            return known
        found = [kind_of(self.before(v)) for v in carried]
        while any(_may_widen(kind) for kind in found):
            names = set(self.loop_names)
            with self.fork(Block()) as scratch:
                after = attempt(found)
            discard(scratch)
            self.loop_names &= names
            joined = [self.joined(node, v, a, b) for v, a, b in zip(carried, found, after, strict=True)]
            if joined == found:
                break
            found = joined
        self.known[case] = found
        return found

    def joined(self, node: ast.AST, variable: str, a: Kind, b: Kind) -> Kind:
        """The kind of a variable that a loop changes."""
        try:
            return join(a, b)
        except Mismatch as mismatch:
            self.refuse(node, f"'{variable}' {mismatch}")

    def before(self, variable: str) -> Value:
        """The value of a carried variable before the loop."""
        value = self.env[variable]
        assert not isinstance(value, Array | Packed)
        return value

    def current(self, node: ast.AST, variable: str, kind: Kind) -> Value:
        """The value of a carried variable after the body."""
        value = self.env.get(variable)
        if (value is None or isinstance(value, Array | Packed)) and kind == "unset":
            return UNSET
        if value is None or isinstance(value, Array | Packed):
            self.refuse(node, f"'{variable}' {self.lost.get(variable, 'becomes an array: give the array another name')}")
        return value

    def without_unset(self, carried: list[str], kinds: list[Kind]) -> tuple[list[str], list[Kind]]:
        """The carried variables without those that have no value after the body either."""
        for variable, kind in zip(carried, kinds, strict=True):
            if kind == "unset":
                self.lose(variable, IN_LOOP)
        kept = [(v, k) for v, k in zip(carried, kinds, strict=True) if k != "unset"]
        return [v for v, _ in kept], [k for _, k in kept]

    def enter(self, carried: list[str], arguments: Sequence[SSAValue], kinds: list[Kind]) -> None:
        """Carried variables have the values that the body starts with."""
        for variable, argument, kind in zip(carried, arguments, kinds, strict=True):
            self.env[variable] = UNSET if kind == "unset" else held(argument, kind)

    def inits(self, node: ast.AST, carried: list[str], kinds: list[Kind]) -> list[SSAValue]:
        b = self.math(node)
        return [b.scalar(self.before(v), default(kind)) for v, kind in zip(carried, kinds, strict=True)]

    def leave(self, node: ast.For | ast.While, carried: list[str], kinds: list[Kind], results: Sequence[SSAValue]) -> None:
        """After a loop: carried variables are its results, others that it assigns have no value."""
        self.pinned = {name: loop for name, loop in self.pinned.items() if loop is not node}
        names, targets = assigned([node])
        for name in sorted(names - set(carried)):
            if isinstance(self.env.get(name), Packed):
                continue  # its items are carried
            self.lose(name, AFTER_LOOP if name in targets else IN_LOOP)
        for variable, result, kind in zip(carried, results, kinds, strict=True):
            hint(result, variable)
            self.env[variable] = held(result, kind)

    # -- for

    def do_For(self, node: ast.For) -> None:
        self.nest(node, self.headers(node))

    def headers(self, node: ast.For) -> list[Header]:
        """The loops of a for statement, the outermost first."""
        call = node.iter
        function = self.resolve(call.func) if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or function not in (range, annotations.parallel, annotations.grid) or call.keywords:
            self.refuse(
                node.iter, "a loop runs over range(...), lm.parallel(...) or lm.grid(...), arrays and tuples: write one of them"
            )
        if function is annotations.grid:
            given = call.args[0].elts if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple) else call.args
            sizes = [size for arg in given for size in self.shape(arg) or (self.value(arg),)]
            targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
            if len(targets) != len(sizes) or not sizes:
                self.refuse(node.target, f"{len(sizes)} sizes need as many loop variables, got {len(targets)}")
            pairs = zip(targets, sizes, strict=True)
            return [Header(self.loop_variable(t), [Index.number(0)], self.bound(call, size, "min")) for t, size in pairs]
        args = [self.value(arg) for arg in call.args]
        if not 1 <= len(args) <= 3:
            self.refuse(call, f"{ast.unparse(call.func)} takes one to three arguments, got {len(args)}")
        name = self.loop_variable(node.target)
        start, stop = (Number(0), args[0]) if len(args) == 1 else (args[0], args[1])
        kind = "parallel" if function is annotations.parallel else "seq"
        step = self.affine(call.args[2], args[2]).constant if len(args) == 3 else 1
        if step is None:
            return [self.open_step(call, name, kind, args)]
        if not step:
            self.refuse(call.args[2], "the step of a loop is not 0: write while for a loop without end")
        if abs(step) > LARGEST_STEP:
            self.refuse(call.args[2], f"the step of a loop is at most {LARGEST_STEP}, got {step}")
        if step > 0:
            return [Header(name, self.bound(call, start, "max"), self.bound(call, stop, "min"), step, kind)]
        first, last = self.affine(call, start), self.affine(call, stop)
        b = self.math(call)
        span = b.binary("+", b.binary("-", first, last), Number(-step - 1))
        trips = b.binary("//", span, Number(-step))
        assert isinstance(trips, Index)
        return [Header(name, [Index.number(0)], [trips], 1, kind, first, Number(step))]

    def open_step(self, call: ast.Call, name: str, kind: str, args: Sequence[Value]) -> Header:
        """A loop whose step is known when it runs."""
        b = self.math(call)
        first, stop, step = (Scalar(b.scalar(b.affine(arg)), True) for arg in args)
        up = b.compare("gt", step, Number(0))
        self.stop_unless(call, b.truth(b.compare("ne", step, Number(0))), "ValueError", "range() arg 3 must not be zero")
        one = held(b.builder.select(b.truth(up), b.scalar(Number(1)), b.scalar(Number(-1))), "whole")
        span = b.binary("+", b.binary("-", stop, first), b.binary("-", step, one))
        trips = b.binary("//", span, step)
        return Header(name, [Index.number(0)], [b.affine(trips)], 1, kind, first, step)

    def stop_unless(self, node: ast.AST, condition: SSAValue, kind: str, message: str) -> None:
        """The kernel stops with an exception unless a condition holds."""
        raise NotImplementedError

    def loop_variable(self, target: ast.expr) -> str:
        if not isinstance(target, ast.Name):
            self.refuse(target, "a loop variable is a name")
        if isinstance(self.env.get(target.id), Array):
            self.refuse(target, f"'{target.id}' is an array: give the loop variable another name")
        return target.id

    def affine(self, node: ast.AST, value: Value) -> Index:
        try:
            return self.math(node).affine(value)
        except Mismatch as mismatch:
            self.refuse(node, str(mismatch))

    def bound(self, node: ast.AST, value: Value, which: str) -> Sequence[Index]:
        """A bound as one or several index expressions."""
        return value.items if isinstance(value, Extreme) and value.which == which else [self.affine(node, value)]

    def nest(self, node: ast.For, headers: list[Header]) -> None:
        """The loops of the headers around the body of a for statement."""
        header, rest = headers[0], headers[1:]
        names, targets = assigned(node.body)
        if header.name in names - targets:
            self.refuse(node.target, f"'{header.name}' is assigned in its own loop: use another name there")
        before = self.env.pop(header.name, None)
        carried = self.carried(node)
        if header.kind == "parallel" and carried:
            self.refuse(
                node,
                f"a parallel loop cannot carry '{carried[0]}' from iteration to iteration; "
                "use range, or give each iteration an element of an array",
            )
        monoid = None if rest else self.reduction(node, carried)

        def body(index: SSAValue, arguments: Sequence[SSAValue], kinds: list[Kind]) -> list[Value]:
            """Read the body; the values of the variables after it, or the values that are combined with them."""
            counter: Value = Index.of(index)
            if header.first is not None:
                b = self.math(node)
                counter = b.binary("+", header.first, b.binary("*", counter, header.by))
            self.env[header.name] = counter
            if monoid is not None:
                return self.contributions(node, carried)
            self.enter(carried, arguments, kinds)
            if rest:
                self.nest(node, rest)
            else:
                self.run(node.body)
            return [self.current(node, *pair) for pair in zip(carried, kinds, strict=True)]

        def attempt(kinds: list[Kind]) -> list[Kind]:
            index, *arguments = Block(arg_types=[index_type, *(default(kind) for kind in kinds)]).args
            return after(kinds, body(index, arguments, kinds))

        def after(kinds: list[Kind], values: list[Value]) -> list[Kind]:
            found = [kind_of(value) for value in values]
            return found if monoid is None else [meet_kinds(*pair) for pair in zip(kinds, found, strict=True)]

        carried, kinds = self.without_unset(carried, self.kinds(node, carried, attempt))
        if any(is_rounded(default(kind)) for kind in kinds):
            monoid = None  # each step is rounded
        bounds = [as_map(header.lower), as_map(header.upper)]
        loop = ForOp.build_loop(
            *bounds,
            step=header.step,
            kind=header.kind if monoid is None else "reduce",
            monoid=monoid,
            inits=self.inits(node, carried, kinds),
            name=self.fresh(header.name),
        )
        arguments = loop.body.block.args[1:]
        for argument, variable in zip(arguments, carried, strict=False):
            hint(argument, variable)
        with self.fork(loop.body.block):
            values = body(loop.index, arguments, kinds)
            for variable, kind, found in zip(carried, kinds, after(kinds, values), strict=True):
                self.joined(node, variable, kind, found)
            b = self.math(node)
            self.end(node, [b.scalar(value, default(kind)) for value, kind in zip(values, kinds, strict=True)])
        self.insert(loop, node)
        self.leave(node, carried, kinds, loop.results)
        if header.name in self.live.get(node, set()):
            self.keep_last(node, header, before)

    def keep_last(self, node: ast.For, header: Header, before: Value | Array | Packed | None) -> None:
        """The variable of a loop keeps its last value; that from before, if the loop does not run."""
        b = self.math(node)
        first: Value = Extreme("max", tuple(header.lower)) if len(header.lower) > 1 else header.lower[0]
        stop: Value = Extreme("min", tuple(header.upper)) if len(header.upper) > 1 else header.upper[0]
        count = b.binary("//", b.binary("-", b.binary("-", stop, first), Number(1)), Number(header.step))
        last = b.binary("+", first, b.binary("*", count, Number(header.step)))
        if header.first is not None:
            last = b.binary("+", header.first, b.binary("*", last, header.by))
        if before is not None and not isinstance(before, Array | Packed | Unset):
            runs = b.compare("lt", first, stop)
            kind = self.joined(node, header.name, kind_of(before), "whole")
            if not isinstance(runs, Number):
                chosen = b.builder.select(b.truth(runs), b.scalar(last, default(kind)), b.scalar(before, default(kind)))
                last = held(chosen, kind)
            elif not runs.value:
                last = before
        self.env[header.name] = last
        self.lost.pop(header.name, None)

    # -- reductions

    def update(self, statement: ast.stmt) -> Update | None:
        """The update of a variable that a statement is."""
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            monoid, negated = _REDUCTIONS.get(type(statement.op)), isinstance(statement.op, ast.Sub)
            return None if monoid is None else Update(statement.target.id, monoid, statement.value, 1, negated)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return None
        target, call = statement.targets[0], statement.value
        if not isinstance(target, ast.Name) or not isinstance(call, ast.Call) or len(call.args) != 2 or call.keywords:
            return None
        monoid, _ = canonical(self.resolve(call.func))
        for k, arg in enumerate(call.args):
            if monoid in ("min", "max") and isinstance(arg, ast.Name) and arg.id == target.id:
                return Update(target.id, monoid, call.args[1 - k], 2)
        return None

    def reduction(self, node: ast.For, carried: list[str]) -> str | None:
        """The monoid when every carried variable is only combined with contributions, each by one statement."""
        monoids: set[str] = set()
        for variable in dict.fromkeys(map(variable_of, carried)):
            updates = [u for s in node.body if (u := self.update(s)) is not None and u.variable == variable]
            if len(updates) != 1:
                return None
            mentions = sum(isinstance(n, ast.Name) and n.id == variable for s in node.body for n in ast.walk(s))
            if mentions != updates[0].mentions:
                return None
            if isinstance(packed := self.env.get(variable), Packed) and not (packed.is_complex and updates[0].monoid == "add"):
                return None
            monoids.add(updates[0].monoid)
        return monoids.pop() if len(monoids) == 1 else None

    def contributions(self, node: ast.For, carried: list[str]) -> list[Value]:
        """Read the body of a reduction; the values that are combined with each variable."""
        found: dict[str, Value] = {}
        variables = set(map(variable_of, carried))
        for statement in node.body:
            update = self.update(statement)
            if update is None or update.variable not in variables:
                self.run([statement])
                continue
            b = self.math(statement)
            if isinstance(self.env.get(update.variable), Packed):
                for k, part in enumerate(Complex.of(self.number_of(update.contribution)).items):
                    found[item_name(update.variable, k)] = b.negate(part) if update.negated else part
                continue
            value = self.value(update.contribution)
            found[update.variable] = b.negate(value) if update.negated else value
        return [found[v] for v in carried]

    # -- while

    def do_While(self, node: ast.While) -> None:
        carried = self.carried(node)

        def condition() -> SSAValue | None:
            test = self.value(node.test)
            if isinstance(test, Number):
                if not test.value:
                    return None
                self.refuse(node.test, "this condition is always True, and the loop has no break: it would never end")
            try:
                return self.math(node.test).truth(test)
            except Mismatch as mismatch:
                self.refuse(node.test, str(mismatch))

        def body(arguments: Sequence[SSAValue], kinds: list[Kind]) -> list[Value]:
            self.enter(carried, arguments, kinds)
            self.run(node.body)
            return [self.current(node, *pair) for pair in zip(carried, kinds, strict=True)]

        def attempt(kinds: list[Kind]) -> list[Kind]:
            arguments = Block(arg_types=[default(kind) for kind in kinds]).args
            return [kind_of(value) for value in body(arguments, kinds)]

        carried, kinds = self.without_unset(carried, self.kinds(node, carried, attempt))
        inits = self.inits(node, carried, kinds)
        for variable, init, kind in zip(carried, inits, kinds, strict=True):
            self.env[variable] = held(init, kind)  # the condition reads them as the loop will
        start = condition()
        if start is None:
            return  # it never runs
        loop = WhileOp.build_loop(start, inits, [*map(hint_of, carried)])
        with self.fork(loop.body.block):
            after = body(loop.body.block.args, kinds)
            for variable, value, kind in zip(carried, after, kinds, strict=True):
                self.joined(node, variable, kind, kind_of(value))
                self.env[variable] = held(self.math(node).scalar(value, default(kind)), kind)
            going = condition()
            assert going is not None
            values = [self.current(node, *pair) for pair in zip(carried, kinds, strict=True)]
            self.end(node, [going, *map(self.math(node).scalar, values)])
        self.insert(loop, node)
        self.leave(node, carried, kinds, loop.results)

"""Random Python functions with control flow: what `jit` captures of them against Python's own run, equal in every bit; and what
`lm.compile` makes of functions that change and read state outside, call by call, with that state changed in between.

All values are integers, so that no rounding decides a branch.

python tests/random_python.py [--state] [COUNT [SEED]]     seeds from SEED on, 0 by default; forever without a count
"""

from __future__ import annotations

import itertools
import linecache
import random
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import lamina as lm
import numpy as np

NAMES = ("a", "b", "c")
RETURN = "return a, b, c, v, sum(out)"
DEEPEST = 3
"""Statements inside of statements."""


class Writer:
    """The source of a function: three numbers and a vector of four come in, and they come out, and the sum of a list."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.count = 0
        self.locals: list[str] = []
        self.may_have_returned = False
        """After that the list does not grow, or how long it is would depend on a value."""

    def source(self) -> str:
        body = [
            "out = []",
            "def bump(x):",
            "    nonlocal c",
            *self.indented(["if x > c:", *self.indented(["c = (c + x) % 31"])]),
            "    return x - 1",
            "def halves(x):",
            *self.indented(["for k in range(2):", *self.indented(self.chosen("yield {}", ["x", "k"]))]),
            *[line for _ in range(self.rng.randint(2, 4)) for line in self.statement(0, None)],
            RETURN,
        ]
        return "def program(a, b, c, v):\n" + textwrap.indent("\n".join(body), "    ") + "\n"

    def indented(self, lines: list[str]) -> list[str]:
        return [f"    {line}" for line in lines]

    def fresh(self) -> str:
        self.count += 1
        return f"t{self.count}"

    # -- expressions

    def number(self, depth: int = 2, names: list[str] | None = None) -> str:
        known = [*NAMES, *self.locals] if names is None else names
        kind = self.rng.randrange(11) if depth else self.rng.randrange(3)
        x, y = (self.number(depth - 1, names) if depth else "" for _ in range(2))
        match kind:
            case 0 | 1:
                return self.rng.choice(known)
            case 2:
                return str(self.rng.randint(-3, 7))
            case 3:
                return f"v[{x} % 4]"
            case 4 | 5:
                return f"({x} {self.rng.choice(['+', '-', '*', '//'])} {y if self.rng.random() < 0.5 else 3})".replace(
                    f"// {y}", f"// (1 + abs({y}))"
                )
            case 6:
                return f"({x} if {self.condition(depth - 1, names)} else {y})"
            case 7:
                return f"{self.rng.choice(['min', 'max'])}({x}, {y})"
            case 8:
                return f"sum(w * {self.rng.randint(1, 3)} for w in v if w > {x})"
            case 9:
                return f"max((w for w in v if w % 3 == {x} % 3), default={y})"
            case _:
                return f"bump({x})" if names is None and not self.locals else f"abs({x})"

    def condition(self, depth: int = 1, names: list[str] | None = None) -> str:
        x, y, z = (self.number(max(depth, 0), names) for _ in range(3))
        match self.rng.randrange(8) if depth > 0 else self.rng.randrange(4):
            case 0 | 1:
                return f"{x} {self.rng.choice(['<', '>', '<=', '>=', '==', '!='])} {y}"
            case 2:
                return f"{x} % 2 == 0"
            case 3:
                return f"{x} < {y} < {z}"
            case 4:
                return f"({self.condition(0, names)} and {self.condition(0, names)})"
            case 5:
                return f"({self.condition(0, names)} or {self.condition(0, names)})"
            case 6:
                return f"not {self.condition(0, names)}"
            case _:
                return f"any(w > {x} for w in v if w != {y})"

    # -- statements

    def statement(self, depth: int, loop: str | None) -> list[str]:
        """A statement; `loop`: what `break` and `continue` would be of."""
        target = self.rng.choice(NAMES)
        plain = depth >= DEEPEST
        kind = self.rng.randrange(5 if plain else 17)
        if kind < 3:
            return [f"{target} = ({self.number()}) % 97"]
        if kind == 3:
            return [f"{target} {self.rng.choice(['+', '-', '*'])}= {self.number(1)}", f"{target} %= 89"]
        if kind == 4:
            return [f"v[{self.number(1)} % 4] = ({self.number(1)}) % 97"]
        if kind < 8:
            return self.branch(depth, loop)
        if kind == 8 and loop is not None:
            word = self.rng.choice(["break", "continue"])
            return [f"if {self.condition()}:", *self.indented([word])]
        if kind == 9:
            self.may_have_returned = True
            return [f"if {self.condition()}:", *self.indented([RETURN])]
        if kind == 10 and depth == 0 and not self.may_have_returned:
            return self.chosen("out.append({})", [*NAMES])
        if kind == 11:
            return ["try:", *self.block(depth, None), "finally:", *self.indented([f"{target} = ({target} + 1) % 97"])]
        if kind == 12:
            return self.match(depth, loop)
        if kind == 13:
            return [f"for {(name := self.fresh())} in halves({self.number(1)}):", *self.within(depth, name)]
        lines = self.loop(depth)
        return [*lines, "else:", *self.block(depth, loop)] if self.rng.random() < 0.25 else lines

    def block(self, depth: int, loop: str | None) -> list[str]:
        return self.indented([line for _ in range(self.rng.randint(1, 3)) for line in self.statement(depth + 1, loop)])

    def within(self, depth: int, name: str | None, first: list[str] | None = None) -> list[str]:
        """The body of a loop whose variable is `name`."""
        if name is not None:
            self.locals.append(name)
        body = self.block(depth, "loop")
        if name is not None:
            self.locals.remove(name)
        return [*self.indented(first or []), *body]

    def chosen(self, form: str, names: list[str]) -> list[str]:
        """One statement on both paths."""
        lines = [f"if {self.condition(1, names)}:", *self.indented([form.format(self.number(1, names))]), "else:"]
        return [*lines, *self.indented([form.format(self.number(1, names))])]

    def branch(self, depth: int, loop: str | None) -> list[str]:
        lines = [f"if {self.condition()}:", *self.block(depth, loop)]
        if self.rng.random() < 0.3:
            lines += [f"elif {self.condition()}:", *self.block(depth, loop)]
        if self.rng.random() < 0.6:
            lines += ["else:", *self.block(depth, loop)]
        return lines

    def match(self, depth: int, loop: str | None) -> list[str]:
        cases = [("0 | 1", ""), ("other", f" if {self.condition(0)}"), ("_", "")]
        lines = [f"match {self.rng.choice(NAMES)} % 4:"]
        for pattern, guard in cases:
            lines += self.indented([f"case {pattern}{guard}:", *self.block(depth, loop)])
        return ["other = 0", *lines]

    def loop(self, depth: int) -> list[str]:
        kind, name = self.rng.randrange(4), self.fresh()
        if kind == 0:
            return [f"for {name} in range({self.rng.randint(1, 7)}):", *self.within(depth, name)]
        if kind == 1:
            return [f"for {name} in range({self.number(1)} % 5):", *self.within(depth, name)]
        if kind == 2:
            return [f"for {name} in v.copy():", *self.within(depth, name)]
        going = f"{name} < {self.rng.randint(1, 6)} and {self.condition()}"
        return [f"{name} = 0", f"while {going}:", *self.within(depth, name, [f"{name} += 1"])]


class StateWriter(Writer):
    """The source of a function that changes and reads a list, a dict, an object and variables of its module."""

    STATE = """
import contextlib
from types import SimpleNamespace
G, LOG, TABLE, OBJ = 2, [], {"k": 3}, SimpleNamespace(count=0, best=None, items=[], total=0.0)
def remember(key, x):
    TABLE[key] = x
    return len(TABLE)
@contextlib.contextmanager
def watched(name):
    LOG.append("enter " + name)
    try:
        yield name
    finally:
        LOG.append("leave")
"""

    def source(self) -> str:
        lines = [line for _ in range(self.rng.randint(3, 7)) for line in self.statement(0, None)]
        body = ["global G", "out = []", *(line.replace("sum(out)", "out") for line in lines), RETURN.replace("sum(out)", "out")]
        return self.STATE + "def program(a, b, c, v, other):\n" + textwrap.indent("\n".join(body), "    ") + "\n"

    def known(self) -> str:
        """A number that Python knows."""
        rows = ["G", "len(LOG)", "len(other)", "OBJ.count", "TABLE['k']", "len(TABLE)", str(self.rng.randint(-2, 5))]
        return self.rng.choice(rows)

    def number(self, depth: int = 2, names: list[str] | None = None) -> str:
        if self.rng.random() < 0.2:
            return self.rng.choice([self.known(), f"(a * {self.known()})", f"int(b + {self.known()})", "c.item()", "float(c)"])
        x = super().number(depth, names)
        return x if "bump" not in x else "abs(a)"

    def statement(self, depth: int, loop: str | None) -> list[str]:
        if self.rng.random() < (0.35 if depth else 0.25):
            lines = super().statement(depth, loop) if depth < 2 else ["a = a + 1"]
            return lines if not any("halves" in line for line in lines) else ["a = a + 1"]
        target, x, known = self.rng.choice(NAMES), self.number(1), self.known()
        key = self.rng.choice(["'k'", "'new'", known, f"('p', {known})"])
        rows = [
            [f"LOG.append({x})"], [f"other.append({x})"], [f"OBJ.items.append({target})"], [f"TABLE[{key}] = {x}"],
            [f"{target} = {target} + TABLE.get({key}, 1)"], ["OBJ.count += 1"], [f"OBJ.count = {known} % 7"],
            [f"OBJ.best = {x}"], [f"G = {known} % 5"], ["G += 1"], [f"remember({key}, {x})"], ["LOG.append('text')"],
            [f"out.append(({target}, {known}))"], [f"if {known} > {self.known()}:", *self.within_state(depth)],
            [f"if {self.condition(1)}:", *self.within_state(depth)], [f"{target} += len(LOG) + {known}"],
            ["if LOG:", f"    {target} = {target} + (LOG.pop() != 'text')"], [f"TABLE.setdefault({key}, {x})"],
            [f"if {key} in TABLE and len(TABLE) > 1 and {key} != 'k':", f"    del TABLE[{key}]"],
            [f"{target} = other[-1] if other and other[-1] is not None else {target}"],
            [f"for item in other[:{self.rng.randint(1, 3)}]:", f"    {target} = {target} + item"],
            [f"with watched('{target}') as name:", *self.within_state(depth)],
            ["try:", *self.within_state(depth), f"    {target} = {target} + TABLE[{key}]", "except (KeyError, TypeError) as e:",
             *self.within_state(depth), "    LOG.append(type(e).__name__)"],
            ["try:", *self.within_state(depth), "finally:", "    OBJ.count += 1"],
            [f"match {known} % 3:", "    case 0 | 1:", *self.indented(self.within_state(depth)),
             "    case n if n > 1:", *self.indented(self.within_state(depth))],
            [f"LOG.append(f'{{{target}}}')"], [f"OBJ.total += {self.known()}"], ["LOG.extend([a, b])"],
            [f"other[0:1] = [{x}]"], [f"if other: other[0] = {x}"], ["OBJ.items = other"], ["LOG.append(other)"],
            ["same = OBJ.items", f"same.append({known})"], [f"{target} = {target} * (other is OBJ.items)"],
            [f"while len(LOG) > {self.rng.randint(3, 6)}:", "    LOG.pop(0)"],
            [f"OBJ.best, TABLE[{key}] = TABLE['k'], {x}"],
            [f"x{depth} = {{'n': {x}}}", f"LOG.append(x{depth})", f"x{depth}['m'] = {target}"],
        ]  # fmt: skip
        return self.rng.choice(rows)

    def within_state(self, depth: int) -> list[str]:
        return self.block(depth, None) if depth < 2 else self.indented([f"LOG.append({self.known()})"])


def stateful(seed: int) -> tuple[dict[str, Any], str]:
    """The module of a seed's function, and its source."""
    source, file = StateWriter(seed).source(), f"<random function with state {seed}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    space: dict[str, Any] = {"__name__": "random_function"}
    exec(compile(source, file, "exec"), space)
    return space, source


def disturb(space: dict[str, Any], rng: random.Random) -> None:
    """Change what a function reads."""
    kind = rng.randrange(9)
    if kind == 0:
        space["G"] = rng.randrange(5)
    elif kind == 1:
        space["LOG"].clear()
    elif kind == 2:
        space["TABLE"] = {"k": rng.randrange(4), "new": 2}
    elif kind == 3:
        space["OBJ"].count = rng.randrange(9)
    elif kind == 4:
        space["OBJ"].items = space["LOG"]
    elif kind == 5:
        space["TABLE"].pop("new", None)


def plain(x: Any, seen: tuple[int, ...] = ()) -> Any:
    """A value as text that two runs can compare: numbers by value and kind, containers by their items."""
    if id(x) in seen:
        return "itself"
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype.kind, x.shape, x.tolist()
    if isinstance(x, list | tuple):
        return type(x).__name__, [plain(y, (*seen, id(x))) for y in x]
    if isinstance(x, dict):
        return [(plain(k), plain(y, (*seen, id(x)))) for k, y in x.items()]
    return type(x).__name__, repr(x)


def check_state(seed: int, runs: int = 6) -> None:
    """Compare some calls of one function that has state.

    Raises:
        AssertionError: results, errors or state differ, with the source.
    """
    told = []
    for transform in (lambda f: f, lm.compile):
        space, source = stateful(seed)
        function, rng, said = transform(space["program"]), random.Random(seed), []
        other: list[Any] = []
        for k in range(runs):
            a, b, c, v = arguments(seed, k)
            if rng.random() < 0.3:
                other = [space["LOG"], space["OBJ"].items, [a]][rng.randrange(3)]
            try:
                result = function(a, b, c, v, other)
            except Exception as error:
                result = "TypeError or IndexError" if isinstance(error, TypeError | IndexError) else type(error).__name__
            state = [space["LOG"], space["TABLE"], vars(space["OBJ"]), space["G"], other, v]
            said.append((plain(result), [plain(x) for x in state], space["OBJ"].items is other))
            disturb(space, rng)
        told.append((said, source))
    (want, source), (got, _) = told
    for k, (x, y) in enumerate(zip(want, got, strict=True)):
        assert x == y, f"seed {seed}, call {k}: compiled {y}, in Python {x}\n{source}"


def program(seed: int) -> tuple[Callable[..., Any], str]:
    """The function of a seed, and its source."""
    source, file = Writer(seed).source(), f"<random function {seed}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    space: dict[str, Any] = {}
    exec(compile(source, file, "exec"), space)
    return space["program"], source


def arguments(seed: int, k: int) -> tuple[Any, ...]:
    rng = np.random.default_rng((seed, k))
    return (*rng.integers(0, 12, 3), rng.integers(-4, 12, 4))


def check(seed: int, runs: int = 3) -> None:
    """Compare some calls of one program.

    Raises:
        AssertionError: the results differ, with the source.
    """
    function, source = program(seed)
    compiled = lm.jit(function)
    for k in range(runs):
        want = function(*arguments(seed, k))
        try:
            got = compiled(*arguments(seed, k))
        except Exception as error:
            raise AssertionError(f"seed {seed} raises {type(error).__name__}: {error}\n{source}") from error
        flat, expected = lm.tree.leaves(got), lm.tree.leaves(want)
        is_equal = len(flat) == len(expected) and all(np.array_equal(x, y) for x, y in zip(flat, expected, strict=True))
        assert is_equal, f"seed {seed}, call {k}: captured {got}, in Python {want}\n{source}"


def main(arguments: list[str]) -> int:
    compare = check_state if "--state" in arguments else check
    arguments = [a for a in arguments if a != "--state"]
    count, first = (int(x) for x in [*arguments, *("0", "0")[len(arguments) :]][:2])
    failed = 0
    for seed in range(first, first + count) if count else itertools.count(first):
        try:
            compare(seed)
        except AssertionError as error:
            failed += 1
            print(error, flush=True)
    print(f"{count} functions, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

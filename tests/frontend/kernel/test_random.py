"""Random kernels of integers: expressions and whole programs, computed by the IR and by machine code, as by Python."""

from __future__ import annotations

import itertools
import linecache
import random
from typing import Any

import lamina as lm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.frontend.kernel.build import build_kernel
from lamina.runtime.interpreter import Interpreter

A = [3, -7, 0, 12, 5]
M = [-2, 9, 1, 0, -5]
Q = -4
PRIME = 1009
_numbers = itertools.count()


def function_of(body: list[str], size: str = '"N"') -> Any:
    """A kernel of these lines; its source can be read like that of a file."""
    head = ["import lamina as lm", f'def k(a: lm.i64[{size}], m: lm.i32["N"], y: lm.i64[5], q: lm.i64):']
    text = "".join(f"{line}\n" for line in [*head, *("    " + line for line in body)])
    filename = f"<random kernel {next(_numbers)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    space: dict[str, Any] = {"N": len(A)}
    exec(compile(text, filename, "exec"), space)
    return space["k"]


def by_python(function: Any) -> list[int]:
    """What Python computes, with integers of any size."""
    y = [0] * 5
    function(A, M, y, Q)
    return y


def arrays() -> list[np.ndarray]:
    return [np.array(A), np.array(M, np.int32), np.zeros(5, np.int64)]


def interpreted(function: Any) -> list[int]:
    module = build_kernel(function)
    module.verify()
    args = arrays()
    Interpreter(module).launch("k", [*args, Q, len(A)])
    return args[2].tolist()


def natively(function: Any) -> list[int]:
    args = arrays()
    lm.kernel(function)(*args, Q)
    return args[2].tolist()


# -- expressions; products, shifts and depth are limited, so that nothing leaves 64 bits, nor i32 where all operands are


def conditions(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    comparison = st.builds("{} {} {}".format, values, st.sampled_from("< <= > >= == !=".split()), values)
    chain = st.builds("{} < {} <= {}".format, values, values, values)
    one = comparison | chain | st.builds("not {} < {}".format, values, values)
    return one | st.builds("({} {} {})".format, one, st.sampled_from(["and", "or", "!=", "=="]), st.builds("({})".format, one))


def expressions(leaves: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    divisors = st.sampled_from(["2", "3", "8", "(-3)", "(-1)", "(q | 1)", "N", "1"])

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "&", "|", "^"]), inner),
            st.builds("({} * {})".format, inner, leaves),
            st.builds("({} {} {})".format, inner, st.sampled_from(["//", "%"]), divisors),
            st.builds("({} {} ({} | 1))".format, leaves, st.sampled_from(["//", "%"]), inner),
            st.builds("({} << {})".format, leaves, st.integers(0, 5)),
            st.builds("({} >> {})".format, inner, st.integers(0, 5)),
            st.builds("({} ** {})".format, leaves, st.integers(0, 3)),
            st.builds("({}{})".format, st.sampled_from(["-", "~", "+"]), inner),
            st.builds("abs({})".format, inner),
            st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
            st.builds("max({}, {}, {})".format, inner, leaves, inner),
            st.builds("({} if {} else {})".format, inner, conditions(inner), inner),
            st.builds("int({})".format, conditions(inner)),
        )

    return st.recursive(leaves, grow, max_leaves=6)


NUMBERS = st.integers(-9, 9).map(lambda n: f"({n})" if n < 0 else str(n))
LEAVES = st.sampled_from(["i", "N", "q", "a[i]", "m[i]", "a[N - 1 - i]", "len(a)"]) | NUMBERS


@settings(max_examples=100, deadline=None)
@given(expressions(LEAVES))
def test_expressions(text: str) -> None:
    function = function_of(["for i in range(N):", f"    y[i] = {text}"])
    assert interpreted(function) == by_python(function)


@settings(max_examples=40, deadline=None)
@given(expressions(st.sampled_from(["i", "j", "N", "4 * i"]) | NUMBERS), st.sampled_from([5, 2, 3]))
def test_subscripts(text: str, step: int) -> None:
    """Whatever is affine of a subscript or a bound stays so, and means the same."""
    function = function_of(
        [
            f"for i in range(0, 5, {step}):",
            f"    for j in range(({text.replace('j', 'i')}) % 4, min(5, 4 - i, {text.replace('j', 'N')})):",
            f"        y[({text}) % 5] += a[({text}) % N] + j",
        ]
    )
    assert interpreted(function) == by_python(function)


# -- programs


class Program:
    """Nested loops and conditionals over variables that all exist from the start, and some that do inside only."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.names = itertools.count()
        self.lines = ["u, v, w = 0, q, 1"]
        self.block(["u", "v", "w", "q", "N"], 0, "")
        self.lines += ["y[0] += u", "y[1] += v * 3", "y[2] -= w"]

    def pick(self, *things: Any) -> Any:
        return self.random.choice(things)

    def expression(self, scope: list[str], depth: int = 2) -> str:
        leaf = self.pick(*scope, "a[1]", "y[2]", "3", "(-2)", "0")
        if depth == 0 or self.random.random() < 0.2:
            return leaf
        x, y = self.expression(scope, depth - 1), self.expression(scope, depth - 1)
        return self.pick(
            f"({x} {self.pick(*'+-&|^')} {y})",
            f"({x} * {leaf})",
            f"({x} {self.pick('//', '%')} {self.pick(2, 5, '(-3)', '(q | 1)')})",
            f"{self.pick('min', 'max')}({x}, {y})",
            f"({x} if {self.condition(scope, depth - 1)} else {y})",
            f"abs({x})",
        )

    def condition(self, scope: list[str], depth: int = 1) -> str:
        x, y = self.expression(scope, depth), self.expression(scope, depth)
        one = f"{x} {self.pick('<', '<=', '==', '!=')} {y}"
        return self.pick(one, f"{one} {self.pick('and', 'or')} y[3] < {x}", f"not ({one})", f"-3 < {x} <= {y}")

    def block(self, scope: list[str], depth: int, indent: str) -> None:
        inner, count = list(scope), len(self.lines)
        for _ in range(self.random.randint(1, 3 if depth else 5)):
            self.statement(inner, depth, indent)
        if len(self.lines) == count:
            self.lines.append(f"{indent}pass")

    def statement(self, scope: list[str], depth: int, indent: str) -> None:
        kinds = ["=", "+=", "min", "y", "swap", "local"] + ["if", "else", "for", "for", "while"] * (depth < 3)
        kind, target = self.pick(*kinds), self.pick("u", "v", "w")
        leaf = self.pick(*scope[3:], "a[3]", "2")
        deeper = indent + "    "
        if kind in ("=", "y", "local"):
            name = target if kind == "=" else f"t{next(self.names)}x"
            place = f"y[{self.expression(scope)} % 5]" if kind == "y" else name
            self.lines.append(f"{indent}{place} = {self.expression(scope)} % {PRIME}")
            if kind == "local":
                scope.append(name)
        elif kind == "+=":
            self.lines.append(f"{indent}{target} {self.pick('+=', '-=')} {leaf} % 7")
        elif kind == "min":
            self.lines.append(f"{indent}{target} = {self.pick('min', 'max')}({target}, {leaf})")
        elif kind == "swap":
            self.lines.append(f"{indent}u, v = v, {leaf}")
        elif kind in ("if", "else"):
            self.lines.append(f"{indent}if {self.condition(scope)}:")
            self.block(scope, depth + 1, deeper)
            if kind == "else":
                self.lines.append(f"{indent}else:")
                self.block(scope, depth + 1, deeper)
        elif kind == "for":
            name = self.pick(*sorted({"i", "j"} - set(scope)), f"k{next(self.names)}x")
            bounds = self.pick("3", "1, 4", "3, -1, -1", "4, 0, -3", f"{leaf} % 4", f"min({leaf} % 5, 3)", f"-{leaf} % 3, 4, 2")
            self.lines.append(f"{indent}for {name} in range({bounds}):")
            self.block([*scope, name], depth + 1, deeper)
        else:
            name = f"c{next(self.names)}x"
            self.lines += [f"{indent}{name} = 0", f"{indent}while {name} < 3 and ({self.condition(['u', 'v', 'w'])}):"]
            self.lines.append(f"{deeper}{name} += 1")
            self.block([*scope, name], depth + 1, deeper)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_programs(seed: int) -> None:
    for k in range(15):
        lines = Program(100 * seed + k).lines
        function = function_of(lines, "5")
        assert interpreted(function) == by_python(function), "\n".join(lines)


def test_programs_natively() -> None:
    for seed in range(1000, 1012):
        lines = Program(seed).lines
        function = function_of(lines, "5")
        assert natively(function) == by_python(function), "\n".join(lines)

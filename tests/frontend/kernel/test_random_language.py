"""Random kernels of the whole language: types, jumps, helpers, tuples, views, tables; as by Python, whatever the threads."""

from __future__ import annotations

import itertools
import linecache
import random
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.frontend.kernel.build import build_kernel
from lamina.runtime.interpreter import Interpreter

ROWS, COLUMNS = 6, 5
PRIME = 1009
_numbers = itertools.count()
HEAD = """\
import math
import numpy as np
import lamina as lm

TABLE = np.array([3, 1, 4, 1, 5, 9, 2, 6])
FACTORS = (2, -3, 5)
WEIGHTS = (0.5, 2.0, -0.25)
"""
PARAMETERS = (
    'a: lm.i64["M", "N"], b: lm.i32["M"], c: lm.ui8["M"], x: lm.f64["M", "N"], z: lm.f32["N"], on: lm.bool_["M"], n: int, '
    'y: lm.i64["M", "N"], r: lm.f64["M", "N"]'
)


class Program:
    """Random functions; every value stays small, and every float is a multiple of 1/64, so that nothing is rounded."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.names = itertools.count()
        self.helpers: list[tuple[str, str]] = []
        self.lines: list[str] = []
        self.depth = 0
        for k in range(self.random.randint(1, 3)):
            self.helper(k)
        self.text = self.kernel()

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    # -- expressions

    def integer(self, scope: dict[str, str], depth: int = 2) -> str:
        names = [name for name, kind in scope.items() if kind == "int"]
        leaf = self.pick(*names, str(self.random.randint(-9, 9)), *self.reads(scope))
        if depth == 0 or self.random.random() < 0.25:
            return leaf
        one, two = self.integer(scope, depth - 1), self.integer(scope, depth - 1)
        calls = [f"{name}({one}, {two})" for name, kind in self.helpers if kind == "int"]
        calls += [f"{name}({one}, {two})[{self.pick(0, 1, -1)}]" for name, kind in self.helpers if kind == "pair"]
        return self.pick(
            f"({one} {self.pick('+', '-', '&', '|', '^')} {two})",
            f"({one} * {self.pick(2, -3, 5)})",
            f"({one} {self.pick('//', '%')} {self.pick(3, 7, -4)})",
            f"{self.pick('min', 'max')}({one}, {two})",
            f"({one} if {self.condition(scope)} else {two})",
            f"abs({one})",
            f"int({self.condition(scope)})",
            f"TABLE[{one} & 7]",
            f"FACTORS[{self.pick(0, 1, 2, -1)}]",
            f"math.gcd({one}, {two})",
            f"({one} or {two})",
            *calls,
        )

    def reads(self, scope: dict[str, str]) -> list[str]:
        found = ["int(b[0])", "n"] if "i" in scope else ["3"]
        for name, kind in scope.items():
            if kind == "row":
                found += [f"a[{name}, 0]", f"a[{name}][-1]", f"int(b[{name}])", f"int(c[{name}])", f"int(x[{name}, 1] * 4)"]
            if kind == "pair":
                found += [f"{name}[0]", f"{name}[1]"]
            if kind == "view":
                found += [f"{name}[0]", f"{name}[-1]", f"len({name})"]
        return found

    def real(self, scope: dict[str, str], depth: int = 1) -> str:
        names = [name for name, kind in scope.items() if kind == "float"]
        rows = [f"x[{name}, 2]" for name, kind in scope.items() if kind == "row"]
        leaf = self.pick(*names, *rows, "WEIGHTS[1]", "0.75", *(["float(z[1])"] if rows else []))
        if depth == 0:
            return leaf
        one, two = self.real(scope, depth - 1), self.real(scope, depth - 1)
        return self.pick(
            leaf,
            f"({one} {self.pick('+', '-')} {two})",
            f"({one} * {self.pick(2, 0.5, -1)})",
            f"{self.pick('np.minimum', 'np.maximum', 'max', 'min')}({one}, {two})",
            f"({one} if {self.condition(scope)} else {two})",
            f"abs({one})",
            f"math.copysign({one}, {two})",
            f"float({self.integer(scope, 1)})",
            f"np.trunc({one})",
        )

    def condition(self, scope: dict[str, str]) -> str:
        one, two = self.integer(scope, 0), self.integer(scope, 0)
        test = f"{one} {self.pick('<', '<=', '==', '!=', '>')} {two}"
        return self.pick(
            test,
            f"not {test}",
            f"{test} {self.pick('and', 'or')} {two} > 1",
            f"{one} in (1, {two}, 5)",
            *([f"on[{len(one) % ROWS}]"] if "i" in scope else []),
            f"-4 < {one} <= {two}",
            f"{one}",
        )

    # -- statements

    def block(self, scope: dict[str, str], indent: str, *, loop: bool, result: str | None, depth: int) -> list[str]:
        inner, lines = dict(scope), []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(inner, indent, loop=loop, result=result, depth=depth)
        if self.random.random() < 0.12:
            lines.append(f"{indent}{self.jump(inner, loop, result)}")
        return lines

    def jump(self, scope: dict[str, str], loop: bool, result: str | None) -> str:
        ways = ["pass"] + ["break", "continue"] * (2 if loop else 0)
        if result == "int":
            ways.append(f"return {self.integer(scope, 1)} % {PRIME}")
        if result == "pair":
            ways.append(f"return {self.integer(scope, 1)} % {PRIME}, {self.integer(scope, 0)} % {PRIME}")
        if result == "none":
            ways.append("return")
        return self.pick(*ways)

    def statement(self, scope: dict[str, str], indent: str, *, loop: bool, result: str | None, depth: int) -> list[str]:
        deeper = indent + "    "
        integers = [name for name, kind in scope.items() if kind == "int" and name in "uvw"]
        kinds = ["=", "+=", "float", "pair", "swap", "jump"] + ["if", "if", "for", "while", "match", "unrolled"] * (depth < 3)
        if any(kind == "row" for kind in scope.values()):
            kinds += ["store", "store", "view"]
        kind, target = self.pick(*kinds), self.pick(*integers)
        new = f"t{next(self.names)}x"
        if kind == "=":
            return [f"{indent}{target} = {self.integer(scope)} % {PRIME}"]
        if kind == "+=":
            return [f"{indent}{target} {self.pick('+=', '-=')} {self.integer(scope, 1)} % 7"]
        if kind == "float":
            return [f"{indent}p = math.fmod({self.real(scope)}, 16.0)"]
        if kind == "pair":
            made = f"{indent}{new} = ({self.integer(scope, 1)} % {PRIME}, {self.integer(scope, 0)} % {PRIME})"
            scope[new] = "pair"
            return [made]
        if kind == "swap":
            return [f"{indent}u, (v, w) = {target}, (u, {self.integer(scope, 0)} % {PRIME})"]
        if kind == "view":
            row = next(name for name, kind in scope.items() if kind == "row")
            scope[new] = "view"
            return [f"{indent}{new} = a[{row}, {self.pick(':', '1:', '::2', ':-1')}]"]
        if kind == "store":
            row = next(name for name, kind in scope.items() if kind == "row")
            if self.random.random() < 0.3:
                return [f"{indent}r[{row}, {self.pick(0, 1, -1)}] = math.fmod({self.real(scope)}, 16.0)"]
            return [
                f"{indent}y[{row}, {self.pick(0, 1, -1, 'abs(u) % 5')}] {self.pick('=', '+=')} {self.integer(scope)} % {PRIME}"
            ]
        if kind == "jump":
            return [f"{indent}if {self.condition(scope)}:", f"{deeper}{self.jump(scope, loop, result)}"]
        if kind == "if":
            lines = [f"{indent}if {self.condition(scope)}:"]
            lines += self.block(scope, deeper, loop=loop, result=result, depth=depth + 1)
            if self.random.random() < 0.5:
                lines += [f"{indent}else:", *self.block(scope, deeper, loop=loop, result=result, depth=depth + 1)]
            return lines
        if kind == "match":
            lines = [f"{indent}match {self.integer(scope, 1)} % 4:"]
            for case in ("0", "1 | 2", "_"):
                lines.append(f"{deeper}case {case}:")
                lines += self.block(scope, deeper + "    ", loop=loop, result=result, depth=depth + 1)
            return lines
        if kind == "unrolled":
            what = self.pick(f"for {new} in FACTORS:", f"for {new} in (1, {self.integer(scope, 0)}):")
            return [indent + what, *self.block({**scope, new: "int"}, deeper, loop=True, result=result, depth=depth + 1)]
        lines = []
        if kind == "while":
            lines = [f"{indent}{new} = 0", f"{indent}while {self.pick('True', self.condition(scope))}:"]
            lines += [f"{deeper}{new} += 1", f"{deeper}if {new} > 4:", f"{deeper}    break"]
        else:
            steps = ["0, 5, abs(n)", "2, 0, -abs(n)"] if "i" in scope else []
            bounds = self.pick("3", "1, 4", "3, -1, -1", f"abs({self.integer(scope, 0)}) % 4", *steps)
            over = self.pick(f"range({bounds})", "TABLE", f"reversed(range({bounds}))")
            lines = [f"{indent}for {new} in {over}:"]
        lines += self.block({**scope, new: "int"}, deeper, loop=True, result=result, depth=depth + 1)
        if self.random.random() < 0.3:
            lines += [f"{indent}else:", *self.block(scope, deeper, loop=loop, result=result, depth=depth + 1)]
        return lines

    # -- functions

    def helper(self, k: int) -> None:
        result = self.pick("int", "pair")
        scope = {"u": "int", "v": "int", "w": "int", "p": "float"}
        body = [f"def helper{k}f(u, v):", "    w = 1", "    p = 0.5"]
        for _ in range(self.random.randint(1, 3)):
            body += self.statement(scope, "    ", loop=False, result=result, depth=1)
        body.append(f"    return u % {PRIME}" + (f", v % {PRIME}" if result == "pair" else ""))
        self.lines += ["", "", *body]
        self.helpers.append((f"helper{k}f", result))

    def kernel(self) -> str:
        loop = self.pick("range(a.shape[0])", "range(a.shape[0])", "lm.parallel(a.shape[0])")
        lines = [f"def k({PARAMETERS}):", f"    for i in {loop}:", "        u, v, w, p = 1, 2, int(b[i]), 0.25"]
        scope = {"i": "row", "u": "int", "v": "int", "w": "int", "p": "float"}
        is_serial = "parallel" not in loop
        for _ in range(self.random.randint(2, 5)):
            body = self.statement(scope, "        ", loop=is_serial, result="none" if is_serial else None, depth=1)
            lines += body
        lines += [f"        y[i, 2] = (u + v + w) % {PRIME}", "        r[i, 3] = p"]
        return "\n".join([HEAD, *self.lines, "", "", *lines, ""])


def function_of(text: str) -> Any:
    """The function `k` of a source text, which can be read like that of a file."""
    filename = f"<random kernel of the language {next(_numbers)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    space: dict[str, Any] = {"__name__": "random_kernels"}
    exec(compile(text, filename, "exec"), space)
    return space["k"]


def arguments() -> list[Any]:
    rng = np.random.default_rng(0)
    a = rng.integers(-9, 10, (ROWS, COLUMNS))
    b, c = rng.integers(-9, 10, ROWS).astype(np.int32), rng.integers(0, 10, ROWS).astype(np.uint8)
    x, z = rng.integers(-32, 33, (ROWS, COLUMNS)) / 8, (rng.integers(-32, 33, COLUMNS) / 8).astype(np.float32)
    shape = ROWS, COLUMNS
    return [a, b, c, x, z, rng.integers(0, 2, ROWS).astype(bool), 2, np.zeros(shape, np.int64), np.zeros(shape)]


def by_python(function: Any) -> list[Any]:
    args = arguments()
    with np.errstate(all="ignore"):
        function(*args)
    return args[-2:]


def interpreted(function: Any) -> list[Any]:
    module = build_kernel(function)
    module.verify()
    module = parse_module(make_context(), str(module))
    args = arguments()
    Interpreter(module).launch("k", [*args[:6], np.int64(args[6]), *args[7:], ROWS, COLUMNS])
    return args[-2:]


def check(seed: int, threads: tuple[int, ...] = (1, 2, 7)) -> None:
    """A random kernel gives what Python gives, in IR and as machine code."""
    text = Program(seed).text
    function = function_of(text)
    want = by_python(function)
    results = [interpreted(function)]
    kernel = lm.kernel(function)
    for count in threads:
        args = arguments()
        kernel(*args, threads=count)
        results.append(args[-2:])
    for got in results:
        for one, other in zip(got, want, strict=True):
            assert one.tobytes() == other.tobytes() or np.array_equal(one, other), f"seed {seed}\n{text}\n{one}\n{other}"


@pytest.mark.parametrize("seed", range(8))
def test_whole_language(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_whole_language_at_length(part: int) -> None:
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        check(seed)

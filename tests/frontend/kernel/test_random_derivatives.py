"""Random kernels: reverse mode is the transpose of forward mode, and forward mode is the limit of differences.

Kernels have loops in both directions and with steps, branches, carried values, updates in place and at indices from data.
"""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import KernelError

HEAD = """\
import math

import lamina as lm
import numpy as np


@lm.kernel
def k(x: lm.f64["N"], A: lm.f64["N", "N"], idx: lm.i64["N"], a: lm.f64, y: lm.f64["N"], B: lm.f64["N", "N"]):
    s = 0.3
"""
RANGES = ("range(N)", "range(N)", "range(1, N)", "range(N - 1, -1, -1)", "range(0, N, 2)", "range(3)")
SIZE = 4


class Writer:
    """Writes one kernel."""

    def __init__(self, seed: int):
        self.draw, self.count = random.Random(seed), 0

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def index(self, loops: list[str]) -> str:
        v = self.draw.choice(loops)
        return self.draw.choice([v, v, v, f"idx[{v}]", f"N - 1 - {v}", f"max({v} - 1, 0)"])

    def element(self, array: str, loops: list[str]) -> str:
        return f"{array}[{self.index(loops)}{', ' + self.index(loops) if array in 'AB' else ''}]"

    def expression(self, loops: list[str], names: list[str], depth: int = 2) -> str:
        if depth == 0 or self.draw.random() < 0.25:
            kinds = [self.element(array, loops) for array in "xAyB"]
            return self.draw.choice([*kinds, "a", *names, f"{self.draw.uniform(0.2, 1.5):.2f}"])
        one, two, three = (self.expression(loops, names, depth - 1) for _ in range(3))
        function = self.draw.choice(["sin", "tanh", "cos"])
        forms = [f"({one} + {two})", f"({one} - {two})", f"0.7 * {one} * {two}", f"math.{function}({one})"]
        forms += [f"max({one}, {two})", f"min({one}, {two})", f"({one} / (2.0 + math.cos({two})))"]
        return self.draw.choice([*forms, f"({one} if {two} > 0.3 else {three})"])

    def value(self, loops: list[str], names: list[str]) -> str:
        return f"math.tanh({self.expression(loops, names)})"  # what is kept in arrays and carried stays small

    def block(self, loops: list[str], names: list[str], depth: int) -> list[str]:
        found: list[str] = []
        names = list(names)
        for _ in range(self.draw.randint(1, 3)):
            kind = self.draw.randrange(8)
            if kind < 3:
                target = self.element(self.draw.choice("yB"), loops)
                found.append(f"{target} {self.draw.choice(['=', '+=', '-=', '*='])} {self.value(loops, names)}")
            elif kind == 3:
                name = self.fresh("t")
                found.append(f"{name} = {self.value(loops, names)}")
                names.append(name)
            elif kind == 4:
                found.append(f"{self.draw.choice(names)} {self.draw.choice(['=', '+='])} {self.value(loops, names)}")
            elif kind == 5:
                found.append(f"if {self.expression(loops, names, 1)} > 0.2:")
                found += [f"    {line}" for line in self.block(loops, names, depth)]
            elif depth < 3:
                v = self.fresh("i")
                found.append(f"for {v} in {self.draw.choice([*RANGES, f'range({loops[-1]} + 1)'])}:")
                found += [f"    {line}" for line in self.block([*loops, v], names, depth + 1)]
        return found or ["s += 0.1"]

    def kernel(self) -> str:
        lines: list[str] = []
        for _ in range(2):
            v = self.fresh("i")
            lines.append(f"    for {v} in {self.draw.choice(['range(N)', 'range(1, N)', 'range(N - 1, -1, -1)'])}:")
            lines += [f"        {line}" for line in self.block([v], ["s"], 1)]
        return HEAD + "\n".join(lines) + "\n    y[0] += s\n    B[0, 0] += y[N - 1]\n"


def check(seed: int, folder: Path) -> bool:
    """Compare the derivatives of a kernel; whether it was one."""
    path = folder / f"random_{seed}.py"
    path.write_text(Writer(seed).kernel(), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        assert module.k.module
    except KernelError:  # a variable without a value on some way
        return False
    draw = np.random.default_rng(seed)
    shapes = [(SIZE,), (SIZE, SIZE), (), (SIZE,), (SIZE, SIZE)]
    args = [draw.normal(size=shape) for shape in shapes]
    along = tuple(draw.normal(size=shape) for shape in shapes)
    index, weights = draw.integers(0, SIZE, SIZE), [draw.normal(size=shape) for shape in shapes[3:]]

    def value(x: Any, A: Any, a: Any, y: Any, B: Any) -> Any:
        results = lm.call_kernel(module.k, x, A, index, a, out=(y, B))
        return sum((r * w).sum() for r, w in zip(results, weights, strict=True))

    text = path.read_text()
    gradients = lm.jit(lm.grad(value, tuple(range(5))))(*args)
    _, forward = lm.jit(lambda *args: lm.jvp(value, args, along))(*args)
    backward = sum(np.sum(g * t) for g, t in zip(gradients, along, strict=True))
    np.testing.assert_allclose(backward, forward, rtol=1e-9, atol=1e-9, err_msg=text)
    ends = [value(*(x + s * t for x, t in zip(args, along, strict=True))) for s in (1e-7, -1e-7)]
    np.testing.assert_allclose((ends[0] - ends[1]) / 2e-7, forward, rtol=1e-4, atol=1e-5, err_msg=text)
    return True


@pytest.mark.thorough(every=6)
@pytest.mark.parametrize("seed", range(24))
def test_random_kernels(seed: int, tmp_path: Path):
    check(seed, tmp_path)


@pytest.mark.slow
def test_many_random_kernels(tmp_path: Path):
    assert sum(check(seed, tmp_path) for seed in range(100, 500)) >= 200

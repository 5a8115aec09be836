"""Random programs of branches that are finite where they are taken and need not be elsewhere, and their derivatives.

Each is text for two libraries: for ours some branches are Python's `if`, `break` and `return`. As a program this file reads
texts as JSON, runs them with jax, and prints their derivatives.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

XS = [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]
SAFE = ("w", "w * x", "sin(w * x)", "w * w + x", "x * 0.5 + w", "exp(0.1 * w) * x")
GUARDED = {
    "x != 0": ("w / x", "log(abs(x)) * w", "w * w / (x * x)"),
    "x > 0": ("sqrt(x) * w", "log(x) * w", "x ** w", "w / x"),
    "x > 1": ("w * log(x - 1)", "w / (x - 1)", "sqrt(w * (x - 1))", "log(w * x - w)"),
    "x < 1": ("w * log(1 - x)", "sqrt(1 - x) * w", "w / (1 - x)"),
}


class Program:
    """One random function `f(w, x)` of numbers, as text for ours and for jax."""

    def __init__(self, seed: int, depth: int = 3):
        self.random = random.Random(seed)
        self.helpers: list[tuple[str, str]] = []
        body = self.value(depth, SAFE)
        self.ours, self.jax = ("".join(text[k] for text in self.helpers) + f"def f(w, x):\n    return {body}\n" for k in (0, 1))

    def value(self, depth: int, allowed: tuple[str, ...]) -> str:
        """An expression of w and x, for where `allowed` are finite."""
        if depth == 0 or self.random.random() < 0.15:
            return f"({self.random.choice(allowed)})"
        form = self.random.choice(("cond", "cond", "switch", "scan", "if", "break", "sum"))
        if form == "sum":
            return f"({self.value(depth - 1, allowed)} + {self.random.choice(allowed)})"
        if form == "scan":
            return f"scan(lambda w, k: ({self.value(depth - 1, allowed)} * 0.5 + w, None), w, arange(3.0))[0]"
        condition, more = self.random.choice(list(GUARDED.items()))
        taken, other = self.value(depth - 1, (*more, *more, *allowed)), self.value(depth - 1, allowed)
        if form == "switch":
            third = self.value(depth - 1, allowed)
            branches = ", ".join(f"lambda w, x: {text}" for text in (other, third, taken))
            return f"switch(where({condition}, 2, where(x == 0.5, 1, 0)), [{branches}], w, x)"
        chosen = f"cond({condition}, lambda w, x: {taken}, lambda w, x: {other}, w, x)"
        if form == "cond":
            return chosen
        name = f"h{len(self.helpers)}"
        if form == "if":
            mine = f"def {name}(w, x):\n    if {condition}:\n        return {taken}\n    return {other}\n"
            self.helpers.append((mine, f"def {name}(w, x):\n    return {chosen}\n"))
        else:
            step, head = f"        w = 0.5 * w + {taken} * 0.25\n", "    for _ in range(3):\n"
            leave = f"        if not ({condition}):\n            break\n"
            mine = f"def {name}(w, x):\n{head}{leave}{step}    return w\n"
            inside = f"def {name}_steps(w, x):\n{head}{step}    return w\n"
            whole = f"    return cond({condition}, {name}_steps, lambda w, x: w, w, x)\n"
            self.helpers.append((mine, f"{inside}def {name}(w, x):\n{whole}"))
        return f"{name}(w, x)"


def derivatives(f: Callable[..., Any], lib: Any, xs: Any) -> list[Any]:
    """Values and derivatives at w = 1.5, in both orders of batching and differentiating, to order 2."""

    def total(w: Any, xs: Any) -> Any:
        return lib.vmap(lambda x: f(w, x))(xs).sum()

    def each(transform: Callable[..., Any]) -> Any:
        return lib.vmap(transform, in_axes=(None, 0))

    def run(w: Any, xs: Any) -> list[Any]:
        slope = lib.grad(total)
        return [
            each(f)(w, xs),
            slope(w, xs),
            lib.grad(total, 1)(w, xs),
            lib.jvp(total, (w, xs), (1.0, xs * 0.1))[1],
            lib.jvp(slope, (w, xs), (1.0, xs * 0))[1],
            lib.grad(slope)(w, xs),
            each(lib.grad(f, (0, 1)))(w, xs)[1],
            each(lib.grad(lib.grad(f)))(w, xs),
        ]

    return lib.jit(run)(1.5, xs)


def names(lib: Any, numpy: Any, lax: Any) -> dict[str, Any]:
    """What the text of a program calls."""
    of_numpy = ("abs", "arange", "exp", "log", "sin", "sqrt", "where")
    return {"cond": lax.cond, "scan": lax.scan, "switch": lax.switch, **{name: getattr(numpy, name) for name in of_numpy}}


def load(text: str, path: Path, known: dict[str, Any]) -> Callable[..., Any]:
    """The function of a text, which is kept in a file: capture reads it there."""
    path.write_text(text)
    module = ModuleType(path.stem)
    module.__dict__.update(known)
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module.__dict__["f"]


if __name__ == "__main__":
    import jax
    import numpy as np

    jax.config.update("jax_enable_x64", True)
    known = names(jax, jax.numpy, jax.lax)
    for text in json.load(sys.stdin):
        f = load(text, Path(sys.argv[1]) / "of_jax.py", known)
        print(json.dumps([np.asarray(y).tolist() for y in derivatives(f, jax, np.array(XS))]), flush=True)

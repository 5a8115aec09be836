"""Programs of a symbolic size, beside themselves compiled for that size: one compilation serves all.

    python benchmarks/bench_open_rows.py [part of a name]

Each figure is the time with the open size over that with the known one, medians of interleaved rounds; the last column is the
worst of a row. `LAMINA_NUM_THREADS=1` where the machine has other work.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
from measure import interleaved
from rich.console import Console
from rich.table import Table

SIZES = (1, 2, 3, 7, 8, 31, 32, 64, 1000)
ROUNDS = 15
LARGEST = 1 << 24
"""Largest argument, in elements: larger sizes are left out."""

Program = tuple[Callable[..., Any], tuple[int, ...], tuple[tuple[int, ...], ...]]
"""A function of `x` and other arrays, the shape of `x` but for its first dim, and the shapes of the others."""

PROGRAMS: dict[str, Program] = {
    "product 1024": (lambda x, w: x @ w, (1024,), ((1024, 1024),)),
    "product 256": (lambda x, w: x @ w, (256,), ((256, 256),)),
    "product b.T": (lambda x, w: x @ w.T, (1024,), ((1024, 1024),)),
    "layers": (
        lambda x, a, b, c: lnp.tanh(lm.nn.relu(x @ a) @ b) @ c,
        (784,),
        ((784, 512), (512, 512), (512, 10)),
    ),
    "softmax": (lambda x: lm.nn.softmax(x), (1000,), ()),
    "attention": (lambda x: lm.nn.attention(x, x, x), (8, 64, 64), ()),
    "convolution": (lambda x, w: lm.nn.relu(lm.nn.conv2d(x, w)), (32, 28, 28), ((64, 32, 3, 3),)),
}


def ratios(program: Program) -> dict[int, float]:
    """By size, the time of the one compilation over that for the size."""
    function, tail, others = program
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, dtype=np.float32)

    given = [drawn(*shape) for shape in others]
    opened = lm.jit(function, dynamic={"x": (lm.dim("n", min=1), *(None for _ in tail))})
    found: dict[int, float] = {}
    for n in SIZES:
        x = drawn(n, *tail)
        if x.size > LARGEST:
            continue
        known = lm.jit(function)
        # sums in another order, through two layers: hundreds of terms of about 20 whose errors of 2**-24 each add up
        np.testing.assert_allclose(opened(x, *given), known(x, *given), rtol=1e-3, atol=1e-3)
        calls = {"open": lambda x=x: opened(x, *given), "known": lambda x=x, known=known: known(x, *given)}
        seconds = interleaved(calls, rounds=ROUNDS)
        found[n] = seconds["open"] / seconds["known"]
    return found


def main() -> None:
    table = Table("open over known", *map(str, SIZES), "worst")
    for name, program in PROGRAMS.items():
        if len(sys.argv) < 2 or sys.argv[1] in name:
            found = ratios(program)
            shown = [f"{found[n]:.2f}" if n in found else "" for n in SIZES]
            table.add_row(name, *shown, f"{max(found.values()):.2f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()

"""The cost of an operation outside of `jit`: arrays of 8 float32, against NumPy, torch and jax, all outside of theirs.

python benchmarks/bench_dispatch.py [--rounds 31] [ROW ...]
python benchmarks/bench_dispatch.py --all   # all of lamina.numpy, with the arguments that the tests have for them
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import lamina.numpy as lnp
import numpy as np
import torch
from measure import interleaved
from rich.console import Console
from rich.table import Table

ROWS: dict[str, Callable[[Any, Any, Any, Any, Any], Any]] = {
    "a + b": lambda np, a, b, m, c: a + b,
    "a + 1.5": lambda np, a, b, m, c: a + 1.5,
    "m @ m": lambda np, a, b, m, c: m @ m,
    "a.sum()": lambda np, a, b, m, c: a.sum(),
    "a[1:3]": lambda np, a, b, m, c: a[1:3],
    "exp(a)": lambda np, a, b, m, c: np.exp(a),
    "add(a, b)": lambda np, a, b, m, c: np.add(a, b),
    "add(a, 1.5)": lambda np, a, b, m, c: np.add(a, 1.5),
    "matmul(m, m)": lambda np, a, b, m, c: np.matmul(m, m),
    "sum(m, 0)": lambda np, a, b, m, c: np.sum(m, 0),
    "where(c, a, b)": lambda np, a, b, m, c: np.where(c, a, b),
    "reshape(m, (4, 16))": lambda np, a, b, m, c: np.reshape(m, (4, 16)),
}


def all_functions(rounds: int) -> None:
    """Print what calls take beyond NumPy's function of the same name: the middle one, how many stay below 1.5 us, the worst."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "frontend" / "run"))
    from test_eager import FUNCTIONS, KEYWORDS, arguments  # pyright: ignore[reportMissingImports]

    over: dict[str, tuple[float, float]] = {}
    for name in FUNCTIONS:
        args, options = arguments(name), KEYWORDS.get(name, {})
        calls = {"lamina": functools.partial(getattr(lnp, name), *args, **options)}
        try:
            calls["NumPy"] = functools.partial(getattr(np, name), *args)
            calls["NumPy"]()
        except (AttributeError, TypeError):  # NumPy has no such function, or other arguments
            continue
        for _ in range(5):
            calls["lamina"]()
        medians = interleaved(calls, rounds)
        over[name] = medians["lamina"] * 1e6, medians["NumPy"] * 1e6
    differences = {name: ours - theirs for name, (ours, theirs) in over.items()}
    cheap = sum(difference <= 1.5 for difference in differences.values())
    middle = statistics.median(differences.values())
    print(f"{len(over)} functions: {middle:.2f} us over NumPy in the middle, {cheap} within 1.5 us")
    for name in sorted(differences, key=lambda name: -differences[name])[:10]:
        print(f"{name:24} {over[name][0]:9.2f} us, NumPy {over[name][1]:.2f} us")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", default=[*ROWS], metavar="ROW")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--all", action="store_true", help="all functions of lamina.numpy: the median, the worst")
    given = parser.parse_args()
    if given.all:
        return all_functions(given.rounds)
    torch.set_num_threads(1)
    a, b, m = np.linspace(0.5, 2, 8, dtype=np.float32), np.ones(8, np.float32), np.full((8, 8), 0.5, np.float32)
    arrays = a, b, m, a > b
    libraries: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "lamina": (lnp, lambda x: lnp.where(np.True_, x, x)),  # a result of ours
        "lamina of NumPy arrays": (lnp, lambda x: x),
        "NumPy": (np, lambda x: x),
        "torch": (torch, torch.from_numpy),
        "jax": (jnp, jax.device_put),
    }
    table = Table(title="an operation outside of jit, 8 float32, in us")
    for name in ("row", *libraries, "lamina - NumPy"):
        table.add_column(name, justify="left" if name == "row" else "right")
    until = time.perf_counter() + 0.3
    while time.perf_counter() < until:  # a thread of ours is busy for a while after the first call of a process
        lnp.exp(a)
    for row in given.rows:
        calls = {}
        want = np.asarray(ROWS[row](np, *arrays))
        for name, (library, convert) in libraries.items():
            operands = [convert(x) for x in arrays]
            calls[name] = lambda row=row, library=library, operands=operands: ROWS[row](library, *operands)
            np.testing.assert_allclose(np.asarray(calls[name]()), want, rtol=1e-6)
        medians = interleaved(calls, given.rounds)
        over = medians["lamina"] - medians["NumPy"]
        table.add_row(row, *(f"{medians[name] * 1e6:.2f}" for name in libraries), f"{over * 1e6:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()

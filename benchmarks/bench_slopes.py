"""Elementwise functions and their derivatives: what `grad` costs beside the function itself, ours and jax's.

Each row is four programs of one array, timed in turn in each round: medians in milliseconds, and the derivative over the value.
Derivatives are compared with jax's first; where a saturated result has lost its slope, ours has it (docs/autodiff.md).

    python benchmarks/bench_slopes.py [--rounds 21] [--size 1000000] [NAME ...]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import lamina as lm
import lamina.numpy as lnp
import numpy as np

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "tanh": (lnp.tanh, jnp.tanh),
    "sigmoid": (lm.nn.sigmoid, jax.nn.sigmoid),
    "expm1": (lnp.expm1, jnp.expm1),
    "softplus": (lm.nn.softplus, jax.nn.softplus),
    "silu": (lm.nn.silu, jax.nn.silu),
    "gelu": (lm.nn.gelu, jax.nn.gelu),
    "erf": (lm.special.erf, jax.scipy.special.erf),
    "log1p": (lnp.log1p, jnp.log1p),
    "arctan": (lnp.arctan, jnp.arctan),
    "sqrt": (lnp.sqrt, jnp.sqrt),
}


def _seconds(function: Callable[[Any], Any], x: Any) -> float:
    start = time.perf_counter()
    jax.block_until_ready(function(x))
    return time.perf_counter() - start


def row(name: str, size: int, rounds: int) -> None:
    """Measure one function and print its line."""
    ours, theirs = FUNCTIONS[name]
    x = np.random.default_rng(0).uniform(0.1, 4, size).astype(np.float32)
    programs: list[tuple[Callable[[Any], Any], Any]] = []
    for lib, f, at in ((lm, ours, x), (jax, theirs, jnp.asarray(x))):
        slope = lib.grad(lambda x, f=f: f(x).sum())
        programs += [(lib.jit(f), at), (lib.jit(slope), at)]
    values = [np.asarray(function(at)) for function, at in programs]
    for k in range(2):
        np.testing.assert_allclose(values[k], values[2 + k], rtol=2e-4, atol=2e-6, err_msg=name)
    taken: list[list[float]] = [[] for _ in programs]
    for _ in range(rounds):
        for (function, at), seconds in zip(programs, taken, strict=True):
            seconds.append(_seconds(function, at))
    value, slope, of_jax, slope_of_jax = (1e3 * statistics.median(seconds) for seconds in taken)
    ratios = slope / value, slope_of_jax / of_jax
    print(
        f"{name:10} {value:8.3f} {slope:8.3f} {ratios[0]:6.2f} {of_jax:9.3f} {slope_of_jax:8.3f} {ratios[1]:6.2f}", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="all by default")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--size", type=int, default=1_000_000)
    options = parser.parse_args()
    print(f"{'':10} {'lamina':>8} {'slope':>8} {'ratio':>6} {'jax':>9} {'slope':>8} {'ratio':>6}")
    for name in options.names or FUNCTIONS:
        row(name, options.size, options.rounds)


if __name__ == "__main__":
    main()

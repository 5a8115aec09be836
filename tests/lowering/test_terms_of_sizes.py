"""Index arguments of kernels are not negative, whatever the terms of a size are: analyses and emission rely on it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.dialects.sizes.polynomial import substituted
from lamina.dialects.sizes.text import read
from lamina.lowering.fusion_to_loops import _not_negative

TERMS = {
    "below 0 from a number on": "floordiv(n - 33, 2) where n in 1..",
    "at most a number": "floordiv(5 - n, 3) where n in 1..",
    "of any sign": "floordiv(n - m, 2) where n in 1.., m in 1..",
    "a product of any sign": "floordiv(n - m, 2) * m where n in 1.., m in 1..",
    "never negative": "n * m where n in 1.., m in 1..",
}


@pytest.mark.parametrize("name", TERMS)
def test_a_term_is_a_sum_of_what_is_not_negative(name: str):
    term = read(TERMS[name])
    number, parts = _not_negative(term)
    for n, m in itertools.product((1, 2, 3, 32, 33, 34, 100), repeat=2):
        known = {"n": n, "m": m}
        at = lambda size: substituted(size, lambda symbol: known[symbol.name])  # noqa: B023, E731
        values = [at(part) for part, _ in parts]
        assert all(value >= 0 for value in values), (name, n, m, values)
        assert number + sum(sign * value for value, (_, sign) in zip(values, parts, strict=True)) == at(term)


def _half(n: int, m: int) -> int:
    return (n - m) // 2 + m


PROGRAMS: dict[str, Callable[..., Any]] = {
    "filled": lambda np, x, y: np.zeros(_half(len(x), len(y))) + x[0],
    "counted": lambda np, x, y: np.arange(_half(len(x), len(y))) * x[0],
    "running sums": lambda np, x, y: np.cumsum(np.arange(_half(len(x), len(y))) * y[-1]),
    "summed": lambda np, x, y: np.ones(_half(len(x), len(y))).sum() + x,
    "from a number on": lambda np, x, y: (np.arange((len(x) - 33) // 2 + 16) * x[0]).sum() + y,
    "rows": lambda np, x, y: np.ones((_half(len(x), len(y)), 1)) * y,
    "as a value": lambda np, x, y: x * ((len(x) - len(y)) // 3),
    "negative in the symbol": lambda np, x, y: np.arange(-(-len(x) // 2)) + y[0],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_with_a_term_that_may_be_negative(name: str):
    f = lm.jit(lambda x, y: PROGRAMS[name](lnp, x, y), dynamic={"x": ("n",), "y": ("m",)})
    for n, m in ((1, 1), (2, 1), (1, 2), (3, 8), (8, 3), (5, 17), (67, 16), (16, 67)):
        x, y = np.arange(1.0, n + 1), np.arange(2.0, m + 2)
        np.testing.assert_allclose(f(x, y), PROGRAMS[name](np, x, y), err_msg=f"{n}, {m}")

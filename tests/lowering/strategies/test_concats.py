"""Concats whose operands are computed in the memory of the result: values, other users of them, and loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

X = np.random.default_rng(0).normal(size=(16, 16))
Y = np.random.default_rng(1).normal(size=(16, 16))

PROGRAMS: dict[str, tuple[Callable[..., Any], bool]] = {
    "two products": (lambda m, x, y: m.concatenate([x @ y, y @ x]), True),
    "one twice": (lambda m, x, y: m.concatenate([a := x @ y, a]), False),
    "one that is read, too": (lambda m, x, y: (m.concatenate([a := x @ y, y @ x]), a.sum(axis=0)), False),
    "an argument": (lambda m, x, y: m.concatenate([x @ y, y]), False),
    "nested": (lambda m, x, y: m.concatenate([m.concatenate([x @ y, y @ x]), x @ x]), True),
    "of what is concatenated across": (lambda m, x, y: m.concatenate([m.concatenate([x @ y, y @ x], 1) for _ in "ab"]), False),
    "read again": (lambda m, x, y: m.concatenate([x @ y, y @ x]) @ x, True),
    "under ones": (lambda m, x, y: m.concatenate([(x @ y)[None], (y @ x)[None]], 1), False),
    "across": (lambda m, x, y: m.concatenate([x @ y, y @ x], 1), False),
    "scans": (lambda m, x, y: m.concatenate([m.cumsum(x, 1), m.sort(y, 1)]), True),
    "rows that are short": (lambda m, x, y: m.concatenate([x[:3, :3] @ y[:3, :3], y[:3, :3] @ x[:3, :3]]), False),
}


def launches_a_concat(function: Callable[..., Any], *args: Any) -> bool:
    text = lm.jit(function).lower(*args).as_text("loop")
    return any("@concat" in line for line in text.splitlines() if "loop.launch" in line)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values(name: str, dtype: str) -> None:
    program, is_in_place = PROGRAMS[name]
    x, y = X.astype(dtype), Y.astype(dtype)
    found = lm.jit(lambda x, y: program(lnp, x, y))(x, y)
    for one, other in zip(*map(as_tuple, (found, program(np, x, y))), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-5)
    assert launches_a_concat(lambda x, y: program(lnp, x, y), x, y) == (not is_in_place)


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def test_what_a_loop_carries() -> None:
    def step(_: int, x: Any) -> Any:
        return lnp.concatenate([x[8:] @ x, x[:8] @ x]) / 16

    expected = X
    for _ in range(3):
        expected = np.concatenate([expected[8:] @ expected, expected[:8] @ expected]) / 16
    np.testing.assert_allclose(lm.jit(lambda x: lm.fori_loop(0, 3, step, x))(X), expected, rtol=1e-12)


def test_an_argument_that_is_given_away() -> None:
    program = lm.jit(lambda x, y: lnp.concatenate([x[8:] @ y, x[:8] @ y]), donate_argnums=(0,))
    np.testing.assert_allclose(program(X.copy(), Y), np.concatenate([X[8:] @ Y, X[:8] @ Y]), rtol=1e-12)


def test_out() -> None:
    out = np.full((40, 16), np.nan)
    program = lm.jit(lambda x, y: lnp.concatenate([x @ y, y @ x]))
    program(X, Y, out=out[4:36])
    np.testing.assert_allclose(out[4:36], np.concatenate([X @ Y, Y @ X]), rtol=1e-12)
    assert np.isnan(out[:4]).all() and np.isnan(out[36:]).all()

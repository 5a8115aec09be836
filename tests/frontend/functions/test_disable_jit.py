"""`disable_jit`, `named_scope` and `grad(allow_int=)`: names of jax for debugging and for trees with integers."""

from __future__ import annotations

from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.dtypes import float0


def test_functions_and_loops_run_in_python() -> None:
    seen: list[str] = []

    def note(what: str, x: Any) -> Any:
        if type(x).__name__ == "Array":
            seen.append(what)
        return x

    @lm.jit
    def f(x: Any, times: Any = 2) -> Any:
        x[0] = 5
        for _ in range(times):
            x = x * 2
        total = lm.fori_loop(0, 3, lambda i, c: note("fori", c) + i, x.sum())
        total = lm.while_loop(lambda c: c < 100, lambda c: note("while", c) * 2, total)
        total = lm.cond(total > 0, lambda c: note("cond", c), lambda c: note("never", c), total)
        return lm.scan(lambda c, v: (c + v, note("scan", c)), total, x), lm.switch(9, [lambda c: -c, lambda c: c], total)

    x = np.ones(2)
    with lm.disable_jit():
        plain = f(x)
        with lm.disable_jit(False):
            assert lm.jit(lambda x: x.sum() if type(x).__name__ == "Tracer" else 0)(x) == 2
        out = np.zeros(2)
        assert lm.jit(lambda x: x + 1)(x, out=out) is out
        np.testing.assert_array_equal(out, [2, 2])
    assert seen == ["fori"] * 3 + ["while"] * 2 + ["cond"] + ["scan"] * 2
    np.testing.assert_array_equal(x, [1, 1])
    for a, b in zip(lm.tree.leaves(plain), lm.tree.leaves(f(x)), strict=True):
        np.testing.assert_array_equal(a, b)
    with lm.disable_jit():
        slope = lm.grad(lambda x: lm.jit(lambda x: lm.fori_loop(0, 3, lambda i, c: c * x, x))(x).sum())(np.float64(2))
    assert slope == 32


def test_scopes_have_names() -> None:
    @lm.named_scope("layer")
    def f(x: Any) -> Any:
        with lm.named_scope("inner"):
            return x + 1

    assert lm.jit(f)(1) == 2
    with pytest.raises(TypeError, match="named_scope"), lm.named_scope(3):  # pyright: ignore[reportArgumentType]
        pass


def test_gradients_of_integers_have_no_elements() -> None:
    def f(p: Any) -> Any:
        return (p["w"] * p["k"]).sum() + p["b"]

    slopes = lm.grad(f, allow_int=True)({"w": np.ones(3), "k": np.arange(3), "b": 1.0, "m": np.array([True])})
    np.testing.assert_array_equal(slopes["w"], [0, 1, 2])
    assert slopes["b"] == 1
    assert (slopes["k"].dtype, slopes["k"].shape, slopes["m"].shape) == (float0, (3,), (1,))
    value, (by_x, by_n, by_y) = lm.value_and_grad(lambda x, n, y: (x * n).sum() * y, (0, 1, 2), allow_int=True)(
        np.ones(2), 3, 2.0
    )
    assert (value, by_n.dtype, by_y) == (12, float0, 6)
    np.testing.assert_array_equal(by_x, [6, 6])
    by_n, aux = lm.grad(lambda x, n: (x * n, n + 1), 1, has_aux=True, allow_int=True)(1.0, 3)
    assert (by_n.dtype, aux) == (float0, 4)
    by_first, by_last = lm.grad(lambda n, f, x: f(x) * n, (0, 2), allow_int=True)(3, lnp.sin, 0.0)  # passed around the function
    assert (by_first.dtype, by_last) == (float0, 3)

    @lm.jit
    def step(p: Any) -> Any:
        slopes = lm.grad(f, allow_int=True)(p)
        return lm.tree.map(lambda x, s: x if s.dtype == float0 else x - s, p, slopes)

    assert step({"w": np.ones(3), "k": np.arange(3), "b": 1.0})["w"].tolist() == [1, 0, -1]
    with pytest.raises(lm.errors.DifferentiationError, match="needs float inputs"):
        lm.grad(f)({"w": np.ones(3), "k": np.arange(3), "b": 1.0})

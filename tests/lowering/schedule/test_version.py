"""Matmuls with a symbolic number of rows: one compilation, code for one row, for few, for some and for many."""

from __future__ import annotations

from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.lowering.strategies import skinny

SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 31, 32, 33, 64, 97, 254, 255, 256, 257, 300)
RNG = np.random.default_rng(0)


def drawn(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RNG.integers(-4, 5, shape).astype(dtype)


def equal_for_all(
    function: Any, name: str, make: Any, *rest: np.ndarray, sizes: tuple[int, ...] = SIZES, axis: int = 0
) -> None:
    """One compilation gives what NumPy gives, for all sizes: the numbers are small, so that products are exact."""
    rank = make(1).ndim
    compiled = lm.jit(function, dynamic={name: tuple("n" if d == axis else None for d in range(rank))})
    for n in sizes:
        x = make(n)
        wide = [a.astype(np.float64) for a in (x, *rest)]
        np.testing.assert_array_equal(np.asarray(compiled(x, *rest)).astype(np.float64), function(*wide), err_msg=str(n))


@pytest.mark.thorough
def test_every_number_of_rows_multiplies() -> None:
    equal_for_all(lambda x, w: (x * 2) @ (w - 1) + 1, "x", lambda n: drawn(n, 96), drawn(96, 80))
    equal_for_all(lambda x, w: x @ w.T, "x", lambda n: drawn(n, 96, dtype=np.float64), drawn(51, 96, dtype=np.float64))
    equal_for_all(lambda x, w: x.T @ w, "x", lambda n: drawn(70, n, dtype=np.int32), drawn(70, 65, dtype=np.int32), axis=1)
    equal_for_all(lambda x, w: x @ w, "x", lambda n: drawn(3, n, 70), drawn(70, 65), axis=1, sizes=(1, 2, 7, 40, 300))


def test_large_matrices_are_read_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_CACHE", "0")
    monkeypatch.setattr(skinny, "LEAST_BYTES", 0)
    sizes = (1, 2, 3, 5, 7, 8, 31, 32, 33, 130, 256)
    equal_for_all(lambda x, w: x @ w, "x", lambda n: drawn(n, 96), drawn(96, 1030), sizes=sizes)
    equal_for_all(lambda x, w: x @ w.T, "x", lambda n: drawn(n, 140), drawn(103, 140), sizes=sizes)


@pytest.mark.thorough
def test_a_condition_on_the_size_chooses() -> None:
    x, w = drawn(9, 96), drawn(96, 80)

    def text(**options: Any) -> str:
        with lm.config(**options):
            return lm.jit(lambda x, w: x @ w, dynamic={"x": ("n", None)}).lower(x, w).as_text("scheduled", "x86-64-v4")

    assert text().count("loop.if") == 3
    assert "arith.cmpi sle, %N" in text()
    assert "loop.if" not in text(variants=False)
    static = lm.jit(lambda x, w: x @ w).lower(x, w).as_text("scheduled", "x86-64-v4")
    assert "loop.if" not in static, "a size that is known needs no choice"


def test_small_products_have_one_form() -> None:
    x, w = drawn(9, 16), drawn(16, 32)
    f = lm.jit(lambda x, w: x @ w, dynamic={"x": ("n", None)})
    assert "loop.if" not in f.lower(x, w).as_text("scheduled", "x86-64-v4")
    np.testing.assert_array_equal(f(x, w), x @ w)


def test_derivatives_and_batches_of_open_rows() -> None:
    w = drawn(64, 80)

    def loss(w: Any, x: Any) -> Any:
        return lnp.sum(lm.nn.relu(x @ w) ** 2)

    slope = lm.jit(lm.grad(loss), dynamic={"x": ("n", None)})
    many = lm.jit(lm.vmap(lambda x, w: x @ w, (0, None)), dynamic={"x": ("n", None, None)})
    for n in (1, 3, 32, 70):
        x = drawn(n, 64)
        hidden = np.maximum(x.astype(np.float64) @ w, 0)
        np.testing.assert_allclose(slope(w, x), x.T @ (2 * hidden), rtol=1e-6)
        stack = drawn(n, 4, 64)
        np.testing.assert_array_equal(many(stack, w), stack @ w)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    w = RNG.standard_normal((200, 300)).astype(np.float32)
    f = lm.jit(lambda x, w: lnp.tanh(x @ w), dynamic={"x": ("n", None)})
    before = lm.get_threads()
    for n in (1, 5, 31, 100, 300):
        x = RNG.standard_normal((n, 200)).astype(np.float32)
        found = set()
        try:
            for threads in (1, 2, 7):
                lm.set_threads(threads)
                found.add(f(x, w).tobytes())
        finally:
            lm.set_threads(before)
        assert len(found) == 1
        np.testing.assert_allclose(f(x, w), np.tanh(x.astype(np.float64) @ w), rtol=2e-4, atol=1e-4)

"""Products of a matrix with itself, or with an epilogue that reads an operand, are scheduled as others, and share kernels."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(1, 5), (3, 1), (64, 64), (150, 40), (33, 130), (3, 40, 50)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_the_same_matrix(shape: tuple[int, ...], dtype: type) -> None:
    x = RNG.standard_normal(shape).astype(dtype)
    turned = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)

    def f(x: Any) -> Any:
        y = lm.numpy.transpose(x, turned)
        return x @ y, y @ x, lm.numpy.exp(x) @ lm.numpy.exp(y)

    wide = x.astype(np.float64)
    other = wide.transpose(turned)
    for found, expected in zip(lm.jit(f)(x), (wide @ other, other @ wide, np.exp(wide) @ np.exp(other)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 if dtype == np.float32 else 1e-10)


def test_the_argument_may_be_overwritten_after_both_reads() -> None:
    x = RNG.standard_normal((70, 70)).astype(np.float32)
    expected = x + x @ x.T
    given = x.copy()
    found = lm.jit(lambda x: x + x @ x.T, donate_argnums=(0,))(given)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_one_kernel_serves_both() -> None:
    def f(x: Any, y: Any) -> Any:
        return x @ x.T, x @ y.T

    x = np.zeros((40, 50), np.float32)
    text = lm.jit(f).lower(x, x).as_text("loop")
    assert text.count("loop.launch") == 2
    assert text.count("loop.kernel") == 1


RESIDUALS = {
    "right": lambda a, x: a @ x + x,
    "left": lambda a, x: lm.numpy.tanh(x @ a) * x,
    "both": lambda a, x: a @ x + x * a,
    "itself": lambda a, x: x @ x - x,
    "transposed": lambda a, x: x.T @ a + x,
    "transposed after": lambda a, x: a @ x + x.T,
    "twice": lambda a, x: a @ (a @ x + x) + x,
}


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("n", [7, 40, 63, 64, 65, 200, 300])
@pytest.mark.parametrize("name", RESIDUALS)
def test_an_epilogue_may_read_what_the_product_reads(name: str, n: int) -> None:
    a, x = (RNG.standard_normal((n, n)).astype(np.float32) / np.sqrt(n, dtype=np.float32) for _ in range(2))
    f = RESIDUALS[name]
    wide = [array.astype(np.float64) for array in (a, x)]
    expected = {"left": lambda a, x: np.tanh(x @ a) * x}.get(name, f)(*wide)
    np.testing.assert_allclose(lm.jit(f)(a, x), expected, atol=1e-4)
    np.testing.assert_allclose(lm.jit(f, donate_argnums=(1,))(a, x.copy()), expected, atol=1e-4)

"""Matmuls with few rows in the default schedule: the right operand is read once, in place, unpacked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.codegen.targets import get
from lamina.lowering.strategies import skinny

TARGET = "x86-64-v4"
"""What schedules are shown for; what they compute is computed on this machine."""
MACHINE = get(TARGET)
RNG = np.random.default_rng(0)


def random(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def product(x: Any, w: Any) -> Any:
    return x @ w


def scheduled(f: Callable[..., Any], *args: np.ndarray) -> str:
    return lm.jit(f).lower(*args).as_text("scheduled", TARGET)


def is_read_as_it_lies(text: str) -> bool:
    return "loop.prefetch %w" in text and "%w_packed" not in text


@pytest.fixture
def small_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of any size count as large, and blocks of columns are narrow."""
    monkeypatch.setenv("LAMINA_CACHE", "0")
    monkeypatch.setattr(skinny, "LEAST_BYTES", 0)
    monkeypatch.setattr(skinny, "LEAST_BLOCKS", 2)


def test_a_large_matrix_is_not_copied_and_asked_for_ahead():
    text = scheduled(product, random(32, 2048), random(2048, 4096))
    assert is_read_as_it_lies(text)
    assert "%x_packed = loop.alloc scratch" in text
    columns = MACHINE.vector_registers // 8 * MACHINE.lanes(32)
    tile = text.split("loop.prefetch %w")[1].split("loop.yield")[0]
    assert tile.count("loop.load %w") == columns // MACHINE.lanes(32)
    assert "loop.for parallel %jioo" in text


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ((1, 2048, 4096), "a vector"),
        ((skinny.ROWS_OF_REGISTER * MACHINE.vector_registers + 1, 2048, 4096), "rows that are worth a packed copy"),
        ((32, 128, 512), "a matrix that stays in the caches"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_products_are_not_for_it(shape, why):
    m, k, n = shape
    assert not is_read_as_it_lies(scheduled(product, random(m, k), random(k, n))), why


def test_columns_along_the_depth_are_summed_in_lanes():
    text = scheduled(lambda x, w: x @ w.T, random(8, 2048), random(4096, 2048))
    assert "packed" not in text
    rows = MACHINE.vector_registers // 8
    tile = text.split("reduce<add>")[1].split("loop.yield")[0]
    assert tile.count("loop.load %w") == skinny.COLUMNS_OF_DOTS
    assert tile.count("loop.load %x") == rows
    assert text.split("loop.yield")[1].count("reduce_lanes<add>") == rows * skinny.COLUMNS_OF_DOTS


DOTS = [(2, 64, 12), (5, 131, 49), (8, 1024, 48), (33, 1025, 25), (3, 2500, 31)]


@pytest.mark.thorough(every=8)
@pytest.mark.usefixtures("small_matrices")
@pytest.mark.parametrize("shape", DOTS, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_rows_with_columns_along_the_depth_multiply(shape, dtype):
    m, k, n = shape
    x, w, bias, residual = (random(*s, dtype=dtype) for s in ((m, k), (n, k), (n,), (m, n)))

    def f(x: Any, w: Any, bias: Any, residual: Any) -> Any:
        return (x @ w.T + bias) * residual

    assert "packed" not in scheduled(f, x, w, bias, residual)
    wide = [a.astype(np.float64) for a in (x, w, bias, residual)]
    tolerance = 4 * k * np.finfo(dtype).eps
    np.testing.assert_allclose(lm.jit(f)(x, w, bias, residual), f(*wide), rtol=tolerance, atol=tolerance * 4)


SHAPES = [(2, 6, 128), (2, 48, 300), (5, 49, 129), (8, 64, 191), (33, 53, 260), (64, 40, 193), (7, 101, 1000), (3, 300, 515)]


@pytest.mark.thorough(every=8)
@pytest.mark.usefixtures("small_matrices")
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("transposed", [False, True], ids=["n", "t"])
def test_few_rows_of_any_shape_multiply(shape, dtype, transposed):
    m, k, n = shape
    x, w = random(*((k, m) if transposed else (m, k)), dtype=dtype), random(k, n, dtype=dtype)
    bias, residual = random(n, dtype=dtype), random(m, n, dtype=dtype)

    def f(x: Any, w: Any, bias: Any, residual: Any) -> Any:
        return ((x.T if transposed else x) @ w + bias) * residual

    assert is_read_as_it_lies(scheduled(f, x, w, bias, residual))
    wide = [a.astype(np.float64) for a in (x, w, bias, residual)]
    tolerance = 4 * k * np.finfo(dtype).eps
    np.testing.assert_allclose(lm.jit(f)(x, w, bias, residual), f(*wide), rtol=tolerance, atol=tolerance * 4)


def test_a_matrix_of_halves_is_converted_in_registers():
    x, w = random(8, 1024), random(1024, 1040, dtype=np.float16)
    f = lm.jit(lambda x, w: x @ w.astype(np.float32))
    text = f.lower(x, w).as_text("scheduled", TARGET)
    assert is_read_as_it_lies(text)
    assert text.count("loop.launch") == 1
    np.testing.assert_allclose(f(x, w), x @ w.astype(np.float64), rtol=1e-5, atol=1e-4)


@pytest.mark.usefixtures("small_matrices")
@pytest.mark.parametrize("transposed", [False, True], ids=["n", "t"])
def test_results_do_not_depend_on_the_number_of_threads(transposed):
    x, w = random(9, 203), random(*((1500, 203) if transposed else (203, 1500)))
    f = lm.jit(lambda x, w: lm.numpy.tanh(x @ (w.T if transposed else w)))
    before = lm.get_threads()
    try:
        results = set()
        for threads in (1, 2, 7):
            lm.set_threads(threads)
            results.add(f(x, w).tobytes())
    finally:
        lm.set_threads(before)
    assert len(results) == 1
    np.testing.assert_allclose(f(x, w), np.tanh(x @ (w.T if transposed else w)), rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("small_matrices")
def test_non_finite_numbers_stay_where_they_are():
    x, w = random(5, 30), random(30, 200)
    x[4, 29], w[3, 199] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        want = x @ w
    np.testing.assert_allclose(lm.jit(product)(x, w), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("times", "versions"), [(1, 3), (3, 2), (35, 1), (1000, 0)])
def test_rows_that_are_multiples_have_versions_for_what_can_be(times: int, versions: int) -> None:
    """`35 * n` rows are never one or few."""
    w, b = random(256, 800), random(800)
    function = lm.jit(lambda x: x.reshape(-1, 256) @ w + b)
    text = function.lower(lm.TensorSpec((lm.dim("n"), times, 256), "float32")).as_text("scheduled", TARGET)
    assert text.count("loop.if") == versions
    for n in (1, 2, 5) if times < 100 else ():
        x = random(n, times, 256)
        np.testing.assert_allclose(
            lm.jit(lambda x: x.reshape(-1, 256) @ w + b, dynamic={"x": ("n", None, None)})(x),
            x.reshape(-1, 256) @ w + b,
            rtol=1e-4,
            atol=1e-4,
        )

"""`kernels/lu.py`: reconstructions, LAPACK's pivots, columns without a pivot, NaN, stacks, strides, and Python's meaning."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
import scipy.linalg
from lamina.kernels import lu as texts

sys.path.insert(0, str(Path(__file__).parent))

from matrices import DTYPES, STACKS, alternating, by_python, error, normal

SHAPES = ((0, 0), (0, 3), (3, 0), (1, 1), (1, 5), (5, 1), (2, 2), (7, 13), (13, 7), (37, 37), (65, 65), (66, 130), (131, 67))


@lm.jit
def factors(x: Any) -> Any:
    return lm.call_op("graph.lu", x)


def product(y: np.ndarray) -> np.ndarray:
    """`L U` of the factors in one matrix."""
    k = min(y.shape[-2:])
    low = np.tril(y[..., :k], -1) + np.eye(y.shape[-2], k, dtype=y.dtype)
    return low @ np.triu(y[..., :k, :])


def permuted(x: np.ndarray, pivots: np.ndarray) -> np.ndarray:
    x = x.copy()
    for place in np.ndindex(x.shape[:-2]):
        for k, p in enumerate(pivots[place]):
            x[place][[k, p]] = x[place][[p, k]]
    return x


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize(("shape", "dtype"), alternating(SHAPES), ids=str)
def test_factors(shape: tuple[int, int], dtype: Any) -> None:
    x = normal(*shape, dtype=dtype)
    y, pivots = map(np.asarray, factors(x))
    assert y.dtype == dtype and pivots.dtype == np.int32 and pivots.shape == (min(shape),)
    assert error(product(y), permuted(x, pivots), 10.0) < 1
    assert not y.size or np.abs(np.tril(y, -1)).max() <= (1.42 if y.dtype.kind == "c" else 1)
    if min(shape) and shape[0] == shape[1]:
        assert np.array_equal(scipy.linalg.lu_factor(x)[1], pivots)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [5, 70])
def test_columns_without_a_pivot_stay(n: int, dtype: Any) -> None:
    x = normal(n, n, dtype=dtype)
    x[:, 2] = 0
    x[:, -1] = x[:, 0]
    y, pivots = map(np.asarray, factors(x))
    assert np.isfinite(y).all() and not y[2:, 2].any()
    assert error(product(y), permuted(x, pivots), 10.0) < 1
    zero, order = factors(np.zeros((n, n), dtype))
    assert not np.asarray(zero).any() and np.array_equal(order, np.arange(n))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [5, 70])
def test_nan_is_no_pivot(n: int, dtype: Any) -> None:
    x = normal(n, n, dtype=dtype)
    x[1, 0] = np.nan
    y, pivots = map(np.asarray, factors(x))
    rest = np.abs(np.delete(x[:, 0].real, 1)) + np.abs(np.delete(x[:, 0].imag, 1))
    assert pivots[0] == np.flatnonzero(np.abs(x[:, 0].real) + np.abs(x[:, 0].imag) == rest.max())[0]
    assert np.isfinite(y[0]).all() and np.isnan(y[1:]).any()


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize(("shape", "dtype"), alternating([*STACKS, (9, 3, 5), (9, 5, 3)]), ids=str)
def test_stacks(shape: tuple[int, ...], dtype: Any) -> None:
    x = normal(*shape, dtype=dtype)
    for f in (factors, lm.jit(lm.vmap(factors))) if x.size else (factors,):
        y, pivots = map(np.asarray, f(x))
        assert error(product(y), permuted(x, pivots), 10.0) < 1
        for place in list(np.ndindex(x.shape[:-2]))[:3]:
            assert np.array_equal(scipy.linalg.lapack.get_lapack_funcs("getrf", [x])(x[place])[1], pivots[place])


@pytest.mark.parametrize("n", [5, 70])
def test_strides(n: int) -> None:
    x = np.zeros((2 * n, 3 * n), np.float32)
    x[::2, ::3] = normal(n, n, dtype=np.float32)
    part = x[::2, ::3]
    for given in (part, np.asfortranarray(part)):
        for one, other in zip(factors(given), factors(part.copy()), strict=True):
            assert np.array_equal(one, other)


@pytest.mark.thorough(every=4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", [texts.lu, texts.lu_in_lanes, texts.blocked_lu], ids=lambda text: text.__name__)
@pytest.mark.parametrize("shape", [(5, 5), (7, 4), (4, 7), (66, 66)], ids=str)
def test_the_text_run_by_python(shape: tuple[int, int], text: Any, dtype: Any) -> None:
    x = normal(*shape, dtype=dtype)
    y, pivots = np.empty_like(x), np.zeros(min(shape), np.int32)
    by_python(text, x, y, pivots)
    found, order = factors(x)
    assert np.array_equal(pivots, order) and error(found, y, 100.0) < 1

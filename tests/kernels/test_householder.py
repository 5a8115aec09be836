"""`kernels/householder.py`: reconstructions, orthogonality, dependent columns, scales, stacks, and Python's meaning."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.kernels import householder as texts

sys.path.insert(0, str(Path(__file__).parent))

from matrices import DTYPES, STACKS, adjoint, alternating, by_python, error, normal

SHAPES = ((0, 0), (0, 3), (3, 0), (1, 1), (1, 5), (5, 1), (2, 2), (7, 13), (13, 7), (37, 37), (65, 65), (66, 130), (131, 67))


@lm.jit
def reflectors(x: Any) -> Any:
    return lm.call_op("graph.householder", x)


def product(v: Any, columns: int) -> np.ndarray:
    return np.asarray(lm.jit(lambda v: lm.call_op("graph.householder_product", v, columns=columns))(v))


def check(x: np.ndarray, q: np.ndarray, r: np.ndarray) -> None:
    assert np.array_equal(r, np.triu(r)) and not np.diagonal(r, axis1=-2, axis2=-1).imag.any()
    assert error(q @ r, x, 10.0 * max(1.0, float(np.abs(x).max(initial=0)))) < 1
    assert (
        error(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1], dtype=x.dtype), (*q.shape[:-2], *[q.shape[-1]] * 2)), 10.0)
        < 1
    )


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize(("shape", "dtype"), alternating(SHAPES), ids=str)
def test_factors(shape: tuple[int, int], dtype: Any) -> None:
    x = normal(*shape, dtype=dtype)
    v, r = map(np.asarray, reflectors(x))
    k = min(shape)
    assert v.shape == (shape[0], k) and r.shape == (k, shape[1]) and v.dtype == r.dtype == dtype
    if k:
        check(x, product(v, k), r)
        if np.issubdtype(dtype, np.floating):  # of either sign on the diagonal
            assert error(np.abs(r), np.abs(np.linalg.qr(x)[1]), 1e3) < 1
        if k < shape[0]:
            check(x, product(v, shape[0])[:, :k], r)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [5, 70])
def test_dependent_columns_and_zeros(n: int, dtype: Any) -> None:
    x = normal(n, n, dtype=dtype)
    x[:, 2:] = x[:, :-2]
    x[:, 1] = 0
    v, r = map(np.asarray, reflectors(x))
    check(x, product(v, n), r)
    v, r = map(np.asarray, reflectors(np.zeros((n, n), dtype)))
    assert not v.any() and not r.any() and np.array_equal(product(v, n), np.eye(n))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", [-0.9, 0.9])
def test_no_square_overflows(exponent: float, dtype: Any) -> None:
    info = np.finfo(dtype)
    scale = (info.max if exponent > 0 else info.tiny) ** abs(exponent)
    x = (normal(9, 5, dtype=dtype) * scale).astype(dtype)
    v, r = map(np.asarray, reflectors(x))
    check((x / scale).astype(dtype), product(v, 5), (r / scale).astype(dtype))


@pytest.mark.parametrize("n", [5, 70])
def test_nan(n: int) -> None:
    x = normal(n, n, dtype=np.float64)
    x[2, n - 2] = np.nan
    v, r = map(np.asarray, reflectors(x))
    assert np.isfinite(v[:, : n - 2]).all() and np.isfinite(r[:, : n - 2]).all() and np.isnan(r[:, n - 2]).any()


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize(("shape", "dtype"), alternating([*STACKS, (9, 3, 5), (9, 5, 3)]), ids=str)
def test_stacks(shape: tuple[int, ...], dtype: Any) -> None:
    x = normal(*shape, dtype=dtype)
    for f in (reflectors, lm.jit(lm.vmap(reflectors))) if x.size else (reflectors,):
        v, r = map(np.asarray, f(x))
        check(x, product(v, min(shape[-2:])), r)


@pytest.mark.parametrize("n", [5, 70])
def test_strides(n: int) -> None:
    x = normal(n, n, dtype=np.float32)
    for one, other in zip(reflectors(np.asfortranarray(x)), reflectors(x), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.thorough(every=4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", [texts.householder, texts.blocked_householder], ids=lambda text: text.__name__)
def test_the_text_run_by_python(text: Any, dtype: Any) -> None:
    x = normal(66, 66, dtype=dtype)
    v, r, q = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    by_python(text, x, v, r)
    by_python(texts.householder_product, v, q)
    check(x, q, r)

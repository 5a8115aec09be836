"""`kernels/cholesky.py`: LAPACK's factors, matrices that are not positive definite, stacks, strides, and Python's meaning."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.kernels import cholesky as texts

sys.path.insert(0, str(Path(__file__).parent))

from matrices import DTYPES, STACKS, alternating

SIZES = (0, 1, 2, 3, 7, 13, 16, 37, 64, 65, 101, 128, 131)


def factor(x: Any) -> Any:
    return lm.call_op("graph.cholesky", x)


def positive(*shape: int, dtype: Any, seed: int = 0) -> np.ndarray:
    """Hermitian matrices with eigenvalues of 1 and more."""
    rng = np.random.default_rng((seed, *shape))
    x = rng.normal(size=shape)
    x = x + 1j * rng.normal(size=shape) if np.issubdtype(dtype, np.complexfloating) else x
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])).astype(dtype)


def close(found: Any, want: np.ndarray, a: np.ndarray) -> bool:
    """Whether factors agree, as far as the conditions of the matrices let them."""
    if not want.size:
        return np.asarray(found).shape == want.shape
    bound = 10 * a.shape[-1] * np.finfo(want.dtype).eps * np.linalg.cond(a).max() * np.abs(want).max()
    return bool(np.abs(np.asarray(found) - want).max() <= bound)


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize(("n", "dtype"), alternating(SIZES), ids=str)
def test_factors_are_those_of_lapack(n: int, dtype: Any) -> None:
    a = positive(n, n, dtype=dtype)
    found = np.asarray(lm.jit(factor)(a))
    assert found.dtype == dtype and close(found, np.linalg.cholesky(a), a)
    assert (np.triu(found, 1) == 0).all() and (np.diagonal(found).imag == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 5, 70])
def test_only_the_lower_triangle_is_read(n: int, dtype: Any) -> None:
    a = positive(n, n, dtype=dtype)
    b = np.where(np.tri(n, dtype=bool), a, np.nan)
    assert np.array_equal(lm.jit(factor)(b.astype(dtype)), lm.jit(factor)(a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [5, 70])
def test_ill_conditioned(n: int, dtype: Any) -> None:
    """The residual is small whatever the condition is."""
    q = np.linalg.qr(positive(n, n, dtype=dtype).astype(np.complex128))[0]
    q = q if np.issubdtype(dtype, np.complexfloating) else np.linalg.qr(q.real)[0]
    a = ((q * np.logspace(0, -0.7 * np.finfo(dtype).precision, n)) @ np.conj(q.T)).astype(dtype)
    low = np.asarray(lm.jit(factor)(a))
    mirrored = np.tril(a) + np.conj(np.tril(a, -1).T)
    assert np.abs(low @ np.conj(low.T) - mirrored).max() <= 10 * n * np.finfo(dtype).eps * np.abs(a).max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "at"), [(1, 0), (5, 0), (5, 4), (70, 3), (70, 63), (70, 64), (70, 69)])
@pytest.mark.parametrize("value", [-1.0, np.nan])
def test_all_is_nan_where_a_matrix_is_not_positive_definite(n: int, at: int, value: float, dtype: Any) -> None:
    a = positive(n, n, dtype=dtype)
    a[at, at] = value
    assert np.isnan(lm.jit(factor)(a)).all()


def test_singular() -> None:
    assert np.isnan(lm.jit(factor)(np.zeros((3, 3)))).all() and np.isnan(lm.jit(factor)(np.ones((70, 70)))).all()


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize(("shape", "dtype"), alternating(STACKS), ids=str)
def test_stacks(shape: tuple[int, ...], dtype: Any) -> None:
    a = positive(*shape, dtype=dtype)
    want = np.linalg.cholesky(a)
    assert close(lm.jit(factor)(a), want, a) if a.size else np.asarray(lm.jit(factor)(a)).shape == shape
    assert not a.size or close(lm.jit(lm.vmap(factor))(a), want, a)


def test_one_matrix_of_a_stack_that_is_not_definite() -> None:
    a = positive(9, 4, 4, dtype=np.float32)
    a[5, 2, 2] = -1
    low = np.asarray(lm.jit(factor)(a))
    assert np.isnan(low[5]).all() and np.isfinite(np.delete(low, 5, 0)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [5, 70])
def test_strides(n: int, dtype: Any) -> None:
    a = positive(n, n, dtype=dtype)
    wide = np.zeros((2 * n, 3 * n), dtype)
    wide[::2, ::3] = a
    want = np.asarray(lm.jit(factor)(a))
    assert np.array_equal(lm.jit(factor)(wide[::2, ::3]), want)
    assert np.array_equal(lm.jit(factor)(np.asfortranarray(a)), want)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("n", [5, 70])
def test_what_is_around_is_fused(n: int, dtype: Any) -> None:
    """Operands are computed where the kernel reads them: the loops are the op's own."""

    def f(x: Any) -> Any:
        return factor(2 * x + lnp.eye(n, dtype=dtype))

    a = positive(n, n, dtype=dtype)
    b = (2 * a + np.eye(n)).astype(dtype)
    assert close(lm.jit(f)(a), np.linalg.cholesky(b), b)


@pytest.mark.parametrize("n", [5, 63, 64, 70, 130])
def test_open_sizes(n: int) -> None:
    f = lm.jit(factor, dynamic={"x": ("n", "n")})
    a = positive(n, n, dtype=np.float64)
    assert close(f(a), np.linalg.cholesky(a), a)


@pytest.mark.thorough(every=4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", [texts.cholesky, texts.blocked_cholesky], ids=lambda text: text.__name__)
def test_the_text_run_by_python(text: Any, dtype: Any) -> None:
    a = positive(66, 66, dtype=dtype)
    found = np.empty_like(a)
    element = {np.dtype(t.dtype): t for t in (lm.f32, lm.f64, lm.complex64, lm.complex128)}[np.dtype(dtype)]
    text.specialize(T=element).__wrapped__(a, found)
    assert close(found, np.linalg.cholesky(a), a)
    assert close(lm.jit(factor)(a), found, a)

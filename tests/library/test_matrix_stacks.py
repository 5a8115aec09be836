"""Stacks of small matrices, which vectors hold one in each lane: sizes and counts around registers, against NumPy."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest

la = lm.linalg
THRESHOLD = 30
"""Units of rounding, as LAPACK's tests allow, times the size."""


def matrices(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    rng = np.random.default_rng(shape)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def assert_small(error: np.ndarray, like: np.ndarray) -> None:
    bound = THRESHOLD * np.finfo(like.dtype).eps * max(like.shape[-2:]) * max(1, np.max(np.abs(like), initial=0)) ** 2
    assert np.max(np.abs(error), initial=0) <= bound


@pytest.mark.thorough(every=7)
@pytest.mark.parametrize(
    ("lead", "n", "dtype"),
    [
        ((4,), 1, np.float32), ((7,), 3, np.float32), ((17,), 16, np.float32), ((9, 2), 5, np.float64), ((0,), 4, np.float32),
        ((5,), 0, np.float32), ((19,), 4, np.complex64),
    ],
)  # fmt: skip
def test_factors(lead: tuple[int, ...], n: int, dtype: Any) -> None:
    x = matrices((*lead, n, n), dtype)
    adjoint = np.conj(np.swapaxes(x, -1, -2))
    definite = x @ adjoint + np.eye(n, dtype=dtype)
    b = matrices((*lead, n, 1), dtype)

    @lm.jit
    def all_of(x: Any, definite: Any, b: Any) -> Any:
        return la.lu(x), la.cholesky(definite), la.qr(x), la.solve_triangular(definite, b, lower=True)

    (p, low, up), factor, (q, r), y = all_of(x, definite, b)
    assert_small(p @ low @ up - x, x)
    assert np.max(np.abs(low), initial=0) <= (1 if np.dtype(dtype).kind == "f" else np.sqrt(2)) * (1 + np.finfo(dtype).eps)
    assert_small(factor @ np.conj(np.swapaxes(factor, -1, -2)) - definite, x)
    assert_small(q @ r - x, x)
    assert_small(np.conj(np.swapaxes(q, -1, -2)) @ q - np.eye(n), x)
    assert_small((np.tril(definite) @ y - b) / (1 + np.max(np.abs(y), initial=0)), definite)


def test_rows_and_columns() -> None:
    for rows, columns in ((5, 3), (1, 6)):
        x = matrices((18, rows, columns), np.float32)
        (p, low, up), (q, r) = lm.jit(lambda x: (la.lu(x), la.qr(x)))(x)
        assert_small(p @ low @ up - x, x)
        assert_small(q @ r - x, x)


def test_pivots() -> None:
    """Ties take the first row; columns of zeros are left; NaN are no pivots; the other matrices of a vector are as alone."""
    x = matrices((20, 4, 4), np.float32)
    x[1] = [[1, 2, 3, 4], [-1, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 1]]
    x[2] = 0
    x[3, :, 1] = 0
    x[4, 2, 0] = np.nan
    x[5, 1, 2] = np.inf
    x[6] = np.eye(4)[::-1]
    with np.errstate(all="ignore"):
        factors, pivots = lm.jit(la.lu_factor)(x)
        for k in range(20):
            one, of_one = lm.jit(la.lu_factor)(x[k])
            np.testing.assert_array_equal(pivots[k], of_one)
            np.testing.assert_allclose(factors[k], one, rtol=1e-5, atol=1e-5)
    assert list(pivots[1][:1]) == [0] and list(pivots[2]) == [0, 1, 2, 3] and list(pivots[6]) == [3, 2, 2, 3]


def test_not_definite() -> None:
    x = np.broadcast_to(np.eye(6, dtype=np.float32), (21, 6, 6)).copy()
    x[3, 4, 4], x[20, 0, 0] = -1, 0
    found = lm.jit(la.cholesky)(x)
    lost = np.isnan(found).all((-1, -2))
    assert list(np.flatnonzero(lost)) == [3, 20] and (found[~lost] == np.eye(6)).all()


def test_derivatives_and_batching() -> None:
    x = matrices((6, 3, 3), np.float64) + 3 * np.eye(3)

    def loss(x: Any) -> Any:
        return lm.numpy.sum(la.inv(x)) + lm.numpy.sum(la.slogdet(x)[1])

    slope = lm.jit(lm.grad(loss))(x)
    inverse = np.swapaxes(np.linalg.inv(x), -1, -2)
    np.testing.assert_allclose(slope, -inverse @ np.ones((3, 3)) @ inverse + inverse, rtol=1e-9)
    np.testing.assert_allclose(lm.jit(lm.vmap(la.inv))(x), np.linalg.inv(x), rtol=1e-9)

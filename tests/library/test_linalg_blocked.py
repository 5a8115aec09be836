"""lamina.linalg of matrices larger than a block (64): sizes around whole blocks, and singular values of special matrices."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest
import scipy.linalg

from .test_linalg import THRESHOLD, norm1, units

la = lm.linalg
SIZES = (63, 64, 65, 127, 129)
DTYPES = (np.float32, np.complex128, np.float64, np.complex64)
every_case = pytest.mark.parametrize(("n", "dtype"), [*zip(SIZES, (*DTYPES, np.float32), strict=True), (130, np.complex64)])


def normal(*shape: int, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng((seed, *shape))
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.issubdtype(dtype, np.complexfloating) else x).astype(dtype)


def h(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


@every_case
def test_cholesky(n: int, dtype: Any) -> None:
    a = normal(2, n, n, dtype=dtype)
    a = (a @ h(a) + np.eye(n)).astype(dtype)
    low = np.asarray(lm.jit(la.cholesky)(a))
    assert np.array_equal(low, np.tril(low)) and not np.diagonal(low, axis1=-2, axis2=-1).imag.any()
    assert units(low @ h(low) - a, norm1(a), dtype=dtype) < THRESHOLD


@pytest.mark.parametrize("place", [0, 63, 64, 99])
def test_cholesky_of_an_indefinite_matrix(place: int) -> None:
    a = normal(100, 100)
    a = a @ a.T + np.eye(100)
    a[place, place] = -1
    assert np.isnan(lm.jit(la.cholesky)(a)).all()


@pytest.mark.thorough(every=8)
@every_case
@pytest.mark.parametrize("beside", [-20, 0, 70])
def test_lu(n: int, beside: int, dtype: Any) -> None:
    a = normal(n, n + beside, dtype=dtype)
    lu, pivots, order = map(np.asarray, lm.jit(lm.lax.linalg.lu)(a))
    k = min(a.shape)
    low, up = np.tril(lu[:, :k], -1) + np.eye(n, k, dtype=dtype), np.triu(lu[:k])
    assert units(low @ up - a[order], norm1(a), dtype=dtype) < THRESHOLD
    assert pivots.shape == (k,) and (np.abs(np.tril(lu, -1)).max() <= 1.42)


def test_lu_without_pivots_and_with_values_that_are_not_finite() -> None:
    a = normal(100, 100)
    a[:, 70:] = a[:, :30]
    lu, _, order = map(np.asarray, lm.jit(lm.lax.linalg.lu)(a))
    assert units((np.tril(lu, -1) + np.eye(100)) @ np.triu(lu) - a[order], norm1(a), dtype=np.float64) < THRESHOLD
    a[3, 80] = np.nan
    found = np.asarray(lm.jit(lm.lax.linalg.lu)(a)[0])
    assert np.isfinite(found[:, :80]).all() and np.isnan(found[:, 80]).any()


@pytest.mark.thorough(every=8)
@every_case
@pytest.mark.parametrize("columns", [1, 3, 64, 70])
def test_triangular_solve(n: int, columns: int, dtype: Any) -> None:
    a, y = normal(n, n, dtype=dtype) / n + np.eye(n, dtype=dtype), normal(n, columns, dtype=dtype, seed=1)
    for lower, trans, unit in ((True, 0, False), (True, 1, True), (False, 0, True), (False, 1, False)):
        solve = lm.jit(
            lambda a, y, lower=lower, trans=trans, unit=unit: lm.scipy.linalg.solve_triangular(
                a, y, trans, lower, unit_diagonal=unit
            )
        )
        want = scipy.linalg.solve_triangular(a, y, trans, lower, unit_diagonal=unit)
        assert np.abs(solve(a, y) - want).max() < 100 * n * np.finfo(dtype).eps * np.abs(want).max()


@pytest.mark.thorough(every=8)
@every_case
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr(n: int, mode: str, dtype: Any) -> None:
    for shape in ((n, n), (n, n + 70)) if mode == "reduced" else ((n, n - 20), (2, n + 65, n)):
        a = normal(*shape, dtype=dtype)
        q, r = map(np.asarray, lm.jit(lambda x: la.qr(x, mode))(a))
        assert np.array_equal(r, np.triu(r)) and not np.diagonal(r, axis1=-2, axis2=-1).imag.any()
        assert units(q @ r - a, norm1(a), dtype=dtype) < THRESHOLD
        assert units(h(q) @ q - np.eye(q.shape[-1]), dtype=dtype) < THRESHOLD


def test_qr_of_columns_that_repeat() -> None:
    a = normal(100, 100)
    a[:, 30:] = a[:, :70]
    a[:, 90] = 0
    q, r = map(np.asarray, lm.jit(la.qr)(a))
    assert units(q @ r - a, norm1(a), dtype=np.float64) < THRESHOLD
    assert units(q.T @ q - np.eye(100), dtype=np.float64) < THRESHOLD


@pytest.mark.thorough
def test_blocks_do_not_depend_on_the_batch() -> None:
    a = normal(3, 130, 130)
    for f in (la.qr, la.svd, lm.lax.linalg.lu, lambda x: la.cholesky(x @ np.swapaxes(x, -1, -2))):
        whole, mapped, alone = lm.jit(lambda a, f=f: (f(a), lm.vmap(f)(a), f(a[1])))(a)
        for x, y, z in zip(*(v if isinstance(v, tuple | list) else [v] for v in (whole, mapped, alone)), strict=True):
            np.testing.assert_array_equal(x, y)
            np.testing.assert_allclose(np.asarray(x)[1], z, rtol=0, atol=1e-10 * np.abs(z).max())


# --------------------------------------------------------------------------------------------------------------------
# Singular values


def special(n: int) -> dict[str, np.ndarray]:
    x, y = normal(n, n), normal(n, n, seed=1)
    q, w = (np.linalg.qr(v)[0] for v in (x, y))
    bidiagonal = np.diag(np.where(np.arange(n) == n // 2, 0, 1.0 + np.arange(n))) + np.diag(np.ones(n - 1), 1)
    return {
        "rows down": x * np.geomspace(1, 1e-20, n)[:, None],
        "rows up": x * np.geomspace(1e-20, 1, n)[:, None],
        "columns up": x * np.geomspace(1e-12, 1, n),
        "values down": q @ np.diag(np.geomspace(1, 1e-16, n)) @ w,
        "values alike": q @ np.diag(np.repeat([1.0, 0.5], [n // 2, n - n // 2])) @ w,
        "one far": q @ np.diag(np.where(np.arange(n) == 0, 1e12, 1.0)) @ w,
        "rank 3": x[:, :3] @ y[:3],
        "zero on the diagonal": bidiagonal,
        "shift": np.eye(n, k=1),
        "ones": np.ones((n, n)),
        "zero": np.zeros((n, n)),
        "subnormal": x * np.finfo(np.float32).tiny,
    }


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [6, 66])
def test_svd_of_special_matrices(n: int, dtype: Any) -> None:
    for name, x in special(n).items():
        a = x.astype(dtype) * (1j if np.issubdtype(dtype, np.complexfloating) else 1)
        u, s, vh = map(np.asarray, lm.jit(la.svd)(a))
        alone = np.asarray(lm.jit(la.svdvals)(a))
        wide = np.linalg.svd(a.astype(np.result_type(dtype, np.float64)), compute_uv=False)
        one = np.eye(n)
        assert np.array_equal(alone, s) and (np.diff(s) <= 0).all() and (s >= 0).all(), name
        for error, scale in (((u * s) @ vh - a, wide[0]), (s - wide, wide[0]), (h(u) @ u - one, 1), (vh @ h(vh) - one, 1)):
            assert units(error, scale, dtype=dtype) < 3, name


@pytest.mark.parametrize("shape", [(1, 7), (7, 1), (2, 100, 70), (70, 100), (0, 3), (3, 0), (4, 1, 1)])
def test_values_alone_have_no_vectors(shape: tuple[int, ...]) -> None:
    a = normal(*shape)
    lowered = lm.jit(la.svdvals).lower(a)
    assert 0 in shape or "square_svd values" in lowered.as_text("optimized")
    assert np.allclose(lm.jit(la.svdvals)(a), np.linalg.svd(a, compute_uv=False), atol=1e-13 * max(shape))


@pytest.mark.thorough
def test_derivatives_of_values() -> None:
    a, change = normal(70, 66), normal(70, 66, seed=1)
    weights = np.arange(66.0)
    slope = lm.grad(lambda x: (la.svdvals(x) * weights).sum())(a)
    step = 1e-6
    far = [(np.linalg.svd(a + sign * step * change, compute_uv=False) * weights).sum() for sign in (1, -1)]
    assert np.isclose((slope * change).sum(), (far[0] - far[1]) / (2 * step), rtol=1e-5)

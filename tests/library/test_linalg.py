"""lamina.linalg against NumPy and SciPy: values, residuals within the bounds of LAPACK's tests, what is special, errors."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import DifferentiationError, DTypeError, ShapeError

SIZES = (0, 1, 2, 5, 17, 70)
DTYPES = (np.float32, np.float64)
THRESHOLD = 30
"""LAPACK's tests accept residuals of so many units of rounding, times the size and the norm of the matrix."""

la = lm.linalg


def normal(*shape: int, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    return np.random.default_rng((seed, *shape)).normal(size=shape).astype(dtype)


def definite(n: int, dtype: Any) -> np.ndarray:
    x = normal(n, n, dtype=np.float64)
    return (x @ x.T + np.eye(n)).astype(dtype)


def t(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x, -1, -2)


def units(error: np.ndarray, *factors: Any, dtype: Any) -> float:
    """A residual in units of rounding, over the sizes and norms of what it is made of."""
    bound = np.prod(
        [np.finfo(dtype).eps, *(np.max(np.abs(f), initial=np.finfo(dtype).tiny) for f in factors)], dtype=np.longdouble
    )
    return float(np.max(np.abs(error), initial=0) / (max(error.shape[-1], 1) * bound)) if error.size else 0.0


def norm1(x: np.ndarray) -> Any:
    return np.abs(x).sum(-2).max(initial=0)


def graded(n: int, dtype: Any) -> np.ndarray:
    """Columns from 1 down to the square root of rounding."""
    return (normal(n, n) * np.logspace(0, np.log10(np.finfo(dtype).eps) / 2, n)).astype(dtype)


def deficient(n: int, dtype: Any) -> np.ndarray:
    """About half of full rank."""
    k = (n + 1) // 2
    return (normal(n, k) @ normal(k, n, seed=1)).astype(dtype)


def kinds(n: int, dtype: Any) -> dict[str, np.ndarray]:
    return {
        "random": normal(n, n, dtype=dtype),
        "graded": graded(n, dtype),
        "deficient": deficient(n, dtype),
        "zero": np.zeros((n, n), dtype),
        "identity": np.eye(n, dtype=dtype),
        "tiny": normal(n, n, dtype=dtype) * np.finfo(dtype).tiny * 1024,
        "huge": normal(n, n, dtype=dtype) * (np.finfo(dtype).max / 1e6),
    }


every_case = pytest.mark.parametrize(("n", "dtype"), [*zip(SIZES, DTYPES * 3, strict=True), (5, np.float32)])
"""Types take turns: what depends on them is tested of each op (tests/ops_table.py)."""
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


@every_case
def test_cholesky_residual(n: int, dtype: Any) -> None:
    a = definite(n, dtype)
    low = lm.jit(la.cholesky)(a)
    assert low.dtype == dtype and np.array_equal(low, np.tril(low))
    assert units(low @ low.T - a, norm1(a), dtype=dtype) < THRESHOLD
    np.testing.assert_array_equal(lm.jit(lambda x: la.cholesky(x, upper=True))(a), low.T)


@every_case
def test_lu_residual(n: int, dtype: Any) -> None:
    for name, a in kinds(n, dtype).items():
        y, pivots, order = lm.jit(lm.lax.linalg.lu)(a)
        assert (pivots.dtype, order.dtype) == (np.int32, np.int32)
        low, up = np.tril(y, -1) + np.eye(n), np.triu(y)
        assert np.abs(low).max(initial=0) <= 1, name
        with np.errstate(all="ignore"):
            assert units((low @ up.astype(np.float64)) - a[order], norm1(a), dtype=dtype) < THRESHOLD, name
        np.testing.assert_array_equal(lm.lax.linalg.lu_pivots_to_permutation(pivots, n), order)


@pytest.mark.thorough(every=8)
@every_dtype
@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("m", SIZES)
def test_qr_residual(m: int, mode: str, dtype: Any) -> None:
    for n in {m, m // 2 + 1} if mode == "reduced" else {2 * m}:
        a = normal(m, n, dtype=dtype)
        q, r = lm.jit(lambda x: la.qr(x, mode))(a)
        assert (q.shape, r.shape) == tuple(x.shape for x in np.linalg.qr(a, mode))
        assert np.array_equal(r, np.triu(r))
        assert units(q @ r - a, norm1(a), dtype=dtype) < THRESHOLD
        assert units(q.T @ q - np.eye(q.shape[1]), dtype=dtype) < THRESHOLD
        if mode == "reduced":
            np.testing.assert_array_equal(lm.jit(lambda x: la.qr(x, "r"))(a), r)


@every_case
def test_qr_of_special_matrices(n: int, dtype: Any) -> None:
    for name, a in kinds(n, dtype).items():
        q, r = (np.asarray(x, np.longdouble) for x in lm.jit(la.qr)(a))
        assert units(q @ r - a, norm1(a), dtype=dtype) < THRESHOLD, name
        assert units(q.T @ q - np.eye(n), dtype=dtype) < THRESHOLD, name


@every_case
def test_eigh_residual(n: int, dtype: Any) -> None:
    for name, a in kinds(n, dtype).items():
        a = (a / 2 + a.T / 2).astype(dtype)
        w, v = (np.asarray(x, np.longdouble) for x in lm.jit(la.eigh)(a))
        assert np.all(np.diff(w) >= 0), name
        assert units(a @ v - v * w, norm1(a), dtype=dtype) < THRESHOLD, name
        assert units(v.T @ v - np.eye(n), dtype=dtype) < THRESHOLD, name
        wide = np.linalg.eigvalsh(a.astype(np.float64)) if name != "huge" or dtype == np.float32 else np.linalg.eigvalsh(a)
        assert units(np.asarray(w - wide), norm1(a), dtype=dtype) < THRESHOLD, name


@pytest.mark.thorough(every=7)
@every_case
def test_svd_residual(n: int, dtype: Any) -> None:
    for name, a in kinds(n, dtype).items():
        u, s, vt = (np.asarray(x, np.longdouble) for x in lm.jit(la.svd)(a))
        assert np.all(np.diff(s) <= 0) and np.all(s >= 0), name
        assert units((u * s) @ vt - a, norm1(a), dtype=dtype) < THRESHOLD, name
        assert units(u.T @ u - np.eye(n), dtype=dtype) < THRESHOLD, name
        assert units(vt @ vt.T - np.eye(n), dtype=dtype) < THRESHOLD, name
        assert units(np.asarray(s - np.linalg.svd(a, compute_uv=False)), norm1(a), dtype=dtype) < THRESHOLD, name


OTHER_SHAPES = ((5, 3), (3, 5), (70, 3), (0, 3), (3, 0), (2, 4, 3), (0, 4, 3), (1, 1))


@pytest.mark.thorough(every=5)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("k", range(len(OTHER_SHAPES)), ids=map(str, OTHER_SHAPES))
def test_svd_of_other_shapes(k: int, full: bool) -> None:
    shape, dtype = OTHER_SHAPES[k], DTYPES[(k + full) % 2]
    a = normal(*shape, dtype=dtype)
    u, s, vt = lm.jit(lambda x: la.svd(x, full))(a)
    assert tuple(x.shape for x in (u, s, vt)) == tuple(x.shape for x in np.linalg.svd(a, full))
    k = s.shape[-1]
    np.testing.assert_allclose((u[..., :k] * s[..., None, :]) @ vt[..., :k, :], a, atol=1e-5 if dtype == np.float32 else 1e-13)
    np.testing.assert_allclose(t(u) @ u, np.broadcast_to(np.eye(u.shape[-1]), (t(u) @ u).shape), atol=1e-5)
    np.testing.assert_allclose(vt @ t(vt), np.broadcast_to(np.eye(vt.shape[-2]), (vt @ t(vt)).shape), atol=1e-5)


@pytest.mark.thorough(every=7)
@every_case
def test_solve_residual(n: int, dtype: Any) -> None:
    for a in (normal(n, n, dtype=dtype), graded(n, dtype)):
        y = normal(n, 3, dtype=dtype, seed=2)
        for right in (y, y[:, 0]):
            x = lm.jit(la.solve)(a, right)
            assert x.shape == right.shape
            assert units(np.atleast_2d(a @ x - right), norm1(a), x, dtype=dtype) < THRESHOLD
            factors = lm.jit(la.lu_factor)(a)
            back = lm.jit(lambda f, b: la.lu_solve(f, b, 1))(factors, right)
            assert units(np.atleast_2d(a.T @ back - right), norm1(a.T), back, dtype=dtype) < THRESHOLD
    a = definite(n, dtype)
    for lower in (False, True):
        x = la.cho_solve(la.cho_factor(a, lower), y)
        assert units(a @ x - y, norm1(a), x, dtype=dtype) < THRESHOLD


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("trans", [0, 1, "T"])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangles_are_read_alone(trans: Any, lower: bool, unit: bool) -> None:
    import scipy.linalg

    for n in (1, 5, 70):
        a, y = normal(n, n) / n + 2 * np.eye(n), normal(n, 2)
        options = {"trans": trans, "lower": lower, "unit_diagonal": unit}
        want = scipy.linalg.solve_triangular(a, y, **options)
        np.testing.assert_allclose(lm.jit(lambda a, y: la.solve_triangular(a, y, **options))(a, y), want, rtol=1e-11)  # noqa: B023
        outside = np.tri(n, k=-1) if not lower else np.tri(n, k=-1).T
        lost = np.where(outside > 0, np.nan, a)
        np.testing.assert_allclose(la.solve_triangular(lost, y, **options), want, rtol=1e-11)


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
def test_lax_triangular_solve(left: bool, lower: bool, transpose: bool) -> None:
    a, y = normal(2, 4, 4) + 4 * np.eye(4), normal(2, 4, 4, seed=1)
    triangle = np.tril(a) if lower else np.triu(a)
    triangle = t(triangle) if transpose else triangle
    x = lm.lax.linalg.triangular_solve(a, y, left_side=left, lower=lower, transpose_a=transpose)
    np.testing.assert_allclose(triangle @ x if left else x @ triangle, y, atol=1e-12)


# --------------------------------------------------------------------------------------------------------------------
# What follows from factorizations

SAME: dict[str, Any] = {
    "det": (lambda np: np.linalg.det, (2, 4, 4)),
    "det_1": (lambda np: np.linalg.det, (1, 1)),
    "det_0": (lambda np: np.linalg.det, (0, 0)),
    "inv": (lambda np: np.linalg.inv, (2, 4, 4)),
    "inv_0": (lambda np: np.linalg.inv, (0, 0)),
    "slogdet": (lambda np: np.linalg.slogdet, (2, 4, 4)),
    "pinv": (lambda np: lambda x: np.linalg.pinv(x, 1e-9), (2, 4, 3)),
    "pinv_wide": (lambda np: lambda x: np.linalg.pinv(x, 1e-9), (3, 5)),
    "rank": (lambda np: np.linalg.matrix_rank, (2, 4, 3)),
    "rank_of_vector": (lambda np: np.linalg.matrix_rank, (4,)),
    "rank_tol": (lambda np: lambda x: np.linalg.matrix_rank(x, tol=1.0), (4, 3)),
    "eigvalsh": (lambda np: lambda x: np.linalg.eigvalsh(x, "U"), (4, 4)),
    "svdvals": (lambda np: np.linalg.svdvals, (2, 4, 3)),
    "cond": (lambda np: np.linalg.cond, (2, 4, 3)),
    **{f"cond_{p}": (lambda np, p=p: lambda x: np.linalg.cond(x, p), (2, 3, 3)) for p in (-2, 1, -1, np.inf, "fro")},
    **{f"norm_{p}": (lambda np, p=p: lambda x: np.linalg.norm(x, p), (3, 4)) for p in (2, -2, "nuc")},
    "norm_axes": (lambda np: lambda x: np.linalg.norm(x, 2, (2, 0)), (3, 2, 4)),
    "norm_kept": (lambda np: lambda x: np.linalg.norm(x, "nuc", (0, 2), keepdims=True), (3, 2, 4)),
    "matrix_norm": (lambda np: lambda x: np.linalg.matrix_norm(x, ord=-2), (2, 3, 4)),
    "power": (lambda np: lambda x: np.linalg.matrix_power(x, -3), (2, 3, 3)),
    "tensorinv": (lambda np: lambda x: np.linalg.tensorinv(x.reshape(4, 6, 8, 3)), (24, 24)),
    "tensorsolve": (lambda np: lambda x: np.linalg.tensorsolve(x.reshape(2, 3, 6), x[0].reshape(2, 3)), (6, 6)),
    "tensorsolve_axes": (lambda np: lambda x: np.linalg.tensorsolve(x.reshape(6, 2, 3), x[0].reshape(2, 3), axes=(0,)), (6, 6)),
    "qr_r": (lambda np: lambda x: abs(np.linalg.qr(x, "r")), (4, 3)),
}


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", SAME)
def test_same_as_numpy(name: str) -> None:
    make, shape = SAME[name]
    x = normal(*shape)
    want = make(np)(x)
    for f in (make(lm.numpy), lm.jit(make(lm.numpy))):
        got = f(x)
        for one, other in zip(got, want, strict=True) if isinstance(want, tuple) else ((got, want),):
            assert np.shape(one) == np.shape(other) and np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 4), (5, 1), (0, 3), (3, 0)])
@pytest.mark.parametrize("columns", [None, 2])
def test_lstsq(shape: tuple[int, int], columns: int | None) -> None:
    a = normal(*shape)
    y = normal(shape[0], seed=3) if columns is None else normal(shape[0], columns, seed=3)
    for got, want in zip(lm.jit(la.lstsq)(a, y), np.linalg.lstsq(a, y), strict=True):
        assert np.shape(got) == np.shape(want) or (shape[0] == 0 or shape[1] == 0)
        if np.shape(got) == np.shape(want):
            np.testing.assert_allclose(got, want, atol=1e-12)


@pytest.mark.thorough
def test_scipy_names() -> None:
    import scipy.linalg

    for x in (normal(4, 4), normal(3, 5), normal(5, 3), 30 * normal(3, 3)):
        for got, want in zip(lm.jit(la.lu)(x), scipy.linalg.lu(x), strict=True):
            np.testing.assert_allclose(got, want, atol=1e-12)
        for got, want in zip(la.lu(x, True), scipy.linalg.lu(x, True), strict=True):
            np.testing.assert_allclose(got, want, atol=1e-12)
    for scale in (1e-9, 0.1, 1.0, 30.0):
        x = scale * normal(2, 4, 4) / 4
        np.testing.assert_allclose(lm.jit(la.expm)(x), scipy.linalg.expm(x), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(la.expm(np.zeros((3, 3))), np.eye(3), atol=1e-15)
    assert np.isnan(la.expm(np.full((2, 2), 1e9))).all()
    a, tau = np.array([[1.0, 2], [3, 4], [5, 6]]), np.array([0.5, 0.25])
    (raw, given), _ = scipy.linalg.qr(a, mode="raw")
    np.testing.assert_allclose(
        lm.lax.linalg.householder_product(raw, given), scipy.linalg.qr(a, mode="economic")[0], atol=1e-14
    )
    assert lm.lax.linalg.householder_product(a, tau).shape == (3, 2)


# --------------------------------------------------------------------------------------------------------------------
# What has no factor


@every_dtype
@pytest.mark.parametrize("n", [1, 3, 70])
def test_indefinite_is_nan(n: int, dtype: Any) -> None:
    good, bad = definite(n, dtype), definite(n, dtype)
    bad[n // 2, n // 2] = -1
    got = lm.jit(la.cholesky)(np.stack([good, bad, 0 * good]))
    assert np.isfinite(got[0]).all() and np.isnan(got[1:]).all()
    np.testing.assert_array_equal(np.isnan(la.cholesky(bad)), True)


@pytest.mark.thorough
@every_dtype
def test_singular_and_not_finite(dtype: Any) -> None:
    a = np.array([[1, 2], [2, 4]], dtype)
    assert la.det(a) == 0 and lm.jit(la.det)(a) == 0
    assert la.slogdet(a)[0] == 0 and la.slogdet(a)[1] == -np.inf
    assert not np.isfinite(lm.jit(la.inv)(a)).all()
    np.testing.assert_allclose(lm.jit(lm.grad(la.det))(a), [[4, -2], [-2, 1]], rtol=1e-5)
    np.testing.assert_array_equal(lm.grad(la.det)(np.zeros((3, 3), dtype)), np.zeros((3, 3)))
    for value in (np.nan, np.inf):
        x = np.eye(5, dtype=dtype)
        x[3, 1] = x[1, 3] = value
        for result in (*lm.jit(la.eigh)(x), *lm.jit(la.svd)(x)):
            assert np.isnan(result).any()


def test_signs_of_vectors() -> None:
    for n in (1, 2, 9, 40):
        a = normal(n, n)
        _, v = lm.jit(la.eigh)(a)
        size = np.abs(v)
        first = np.argmax(size >= size.max(0) / 2, 0)
        assert (v[first, np.arange(n)] > 0).all()
        for got, want in zip(la.eigh(a), lm.jit(la.eigh)(a), strict=True):
            np.testing.assert_allclose(got, want, atol=1e-10)


@pytest.mark.thorough
def test_results_do_not_depend_on_threads_or_batch() -> None:
    a = normal(40, 12, 12, dtype=np.float32)
    for f in (la.inv, lambda x: la.qr(x)[0], lambda x: la.eigh(x)[1], lambda x: la.svd(x)[0]):
        whole = lm.jit(f)(a)
        # one matrix has a kernel of its own, and vectors move by its rounding over the gap between two values
        np.testing.assert_allclose(whole[7], lm.jit(f)(a[7]), rtol=2e-3, atol=2e-3)
        np.testing.assert_array_equal(whole, lm.jit(lm.vmap(f))(a))
        np.testing.assert_array_equal(whole, lm.jit(f)(a))


# --------------------------------------------------------------------------------------------------------------------
# Derivatives that tests/transforms does not have


@pytest.mark.thorough
@pytest.mark.parametrize("n", [2, 70])
def test_gradients_of_blocked_factors(n: int) -> None:
    a, c = definite(n, np.float64) / n + np.eye(n), normal(n, n, seed=5)
    for f in (la.cholesky, la.inv, lambda x: la.solve(x, c), lambda x: la.qr(x)[1], lambda x: la.slogdet(x)[1] * np.eye(n)):

        def total(x: Any, f: Any = f) -> Any:
            return (f(x) * c).sum()

        direction = normal(n, n, seed=6)
        step = 1e-6
        run = lm.jit(lambda x, t, f=total: (f(x), lm.grad(f)(x), lm.jvp(f, (x,), (t,))[1]))
        want = (run(a + step * direction, direction)[0] - run(a - step * direction, direction)[0]) / (2 * step)
        _, gradient, tangent = run(a, direction)
        np.testing.assert_allclose((gradient * direction).sum(), want, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(tangent, want, rtol=1e-6, atol=1e-6)


def test_second_derivative_of_a_logarithm_of_a_determinant() -> None:
    a = definite(3, np.float64)

    def f(x: Any) -> Any:
        return la.slogdet(x)[1]

    inverse = np.linalg.inv(a)
    np.testing.assert_allclose(lm.grad(f)(a), inverse.T, rtol=1e-9)
    want = -np.einsum("li,jk->ijkl", inverse, inverse)
    np.testing.assert_allclose(lm.hessian(f)(a), want, rtol=1e-8, atol=1e-12)


# --------------------------------------------------------------------------------------------------------------------
# Errors

ERRORS: dict[str, Any] = {
    "cholesky": (lambda: la.cholesky(np.ones((2, 3))), ShapeError, r"cholesky needs square matrices.*got shape \[2, 3\]"),
    "vector": (lambda: la.qr(np.ones(3)), ShapeError, r"qr needs matrices, the last two dims, got shape \[3\]"),
    "mode": (lambda: la.qr(np.ones((2, 2)), "full"), ShapeError, r"must be 'reduced', 'complete', 'r' or 'raw', got 'full'"),
    "rows": (lambda: la.solve(np.eye(2), np.ones(3)), ShapeError, r"solve needs as many rows on the right side.*\[2, 2\]"),
    "batch": (lambda: la.solve(np.ones((2, 2, 2)), np.ones((3, 2, 2))), ShapeError, r"leading dims do not broadcast"),
    "uplo": (lambda: la.eigh(np.eye(2), "X"), ShapeError, r"UPLO must be 'L' or 'U', got 'X'"),
    "trans": (lambda: la.solve_triangular(np.eye(2), np.ones(2), trans=5), ShapeError, r"trans must be 0, 1, 2"),
    "lstsq": (lambda: la.lstsq(np.ones((2, 3)), np.ones(3)), ShapeError, r"lstsq needs a matrix and as many rows"),
    "norm": (lambda: la.norm(np.ones((2, 2)), 3), ShapeError, r"there is no norm 3 of a matrix"),
    "tensorinv": (lambda: la.tensorinv(np.ones((2, 3))), ShapeError, r"equal products of dims"),
    "tensorsolve": (lambda: la.tensorsolve(np.ones((2, 3)), np.ones(2)), ShapeError, r"needs a square matrix"),
    "pivots": (lambda: lm.lax.linalg.lu_pivots_to_permutation(np.arange(3), 2), ShapeError, r"at most 2 elements"),
    "lax": (lambda: lm.lax.linalg.triangular_solve(np.eye(2), np.ones((3, 3))), ShapeError, r"sizes that go together"),
    "wide": (lambda: lm.grad(lambda x: la.qr(x)[1].sum())(np.ones((2, 3))), DifferentiationError, r"where R is square"),
    "full": (lambda: lm.grad(lambda x: la.svd(x)[1].sum())(np.ones((2, 3))), DifferentiationError, r"complete factors"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    act, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        act()


def test_integers_are_float64() -> None:
    a = np.array([[2, 1], [1, 3]])
    for f in (la.cholesky, la.inv, la.det):
        assert np.asarray(f(a)).dtype == np.float64
        np.testing.assert_allclose(f(a), f(a.astype(float)))
    assert np.asarray(la.solve(a.astype(np.float32), a)).dtype == np.float64
    with pytest.raises((DTypeError, TypeError)):
        la.inv(a.astype(str))

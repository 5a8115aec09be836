"""lamina.linalg of complex matrices: residuals, LAPACK's conventions, derivatives against differences, planes in the IR."""

from __future__ import annotations

import os
from typing import Any

import lamina as lm
import numpy as np
import pytest
import scipy.linalg

from .test_linalg import THRESHOLD, norm1, units

la = lm.linalg
SEED = int(os.environ.get("LAMINA_TEST_SEED", "0"))
DTYPES = (np.complex64, np.complex128)


def normal(*shape: int, dtype: Any = np.complex128, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng((SEED, seed, *shape))
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def h(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 5, 17])
def test_residuals(n: int, dtype: Any) -> None:
    a, y = normal(n, n, dtype=dtype), normal(n, 2, dtype=dtype, seed=1)
    p = (a @ h(a) + np.eye(n)).astype(dtype)

    @lm.jit
    def factors(a: Any, p: Any, y: Any) -> Any:
        return la.cholesky(p), lm.lax.linalg.lu(a), la.qr(a), la.eigh(a + h(a)), la.svd(a), la.solve(a, y)

    low, (lu, _, order), (q, r), (w, v), (u, s, vh), x = factors(a, p, y)
    one, tiny = np.eye(n), np.finfo(dtype).tiny
    both = a + h(a)
    residuals = {
        "cholesky": (low @ h(low) - p, norm1(p)),
        "lu": ((np.tril(lu, -1) + one) @ np.triu(lu) - a[order], norm1(a)),
        "qr": (q @ r - a, norm1(a)),
        "q": (h(q) @ q - one, 1),
        "eigh": (both @ v - v * w, norm1(both)),
        "v": (h(v) @ v - one, 1),
        "w": (w - np.linalg.eigvalsh(both), norm1(both)),
        "svd": ((u * s) @ vh - a, norm1(a)),
        "u": (h(u) @ u - one, 1),
        "vh": (vh @ h(vh) - one, 1),
        "solve": (a @ x - y, norm1(a) * np.abs(x).max(initial=tiny)),
    }
    for name, (error, norm) in residuals.items():
        assert units(error, max(norm, tiny), dtype=dtype) < THRESHOLD, name
    assert w.dtype == s.dtype == low.real.dtype
    assert np.array_equal(low, np.tril(low)) and np.array_equal(np.diagonal(low).imag, np.zeros(n))
    assert np.array_equal(r, np.triu(r)) and np.array_equal(np.diagonal(r).imag, np.zeros(n))
    size = np.abs(v)
    if n:
        first = v[np.argmax(size >= size.max(0) / 2, 0), np.arange(n)]
        np.testing.assert_allclose(first, np.abs(first), atol=8 * np.finfo(dtype).eps)


@pytest.mark.thorough
def test_large_ones_are_split_while_numbers_are_whole() -> None:
    a = normal(2, 70, 70)
    p = a @ h(a) + np.eye(70)
    low, x = lm.jit(lambda p, y: (la.cholesky(p), la.solve(y, p)))(p, a)
    assert units(low @ h(low) - p, np.abs(p).max() * 70, dtype=np.complex128) < THRESHOLD
    assert units(a @ x - p, norm1(a), x, dtype=np.complex128) < THRESHOLD
    q, r = lm.jit(la.qr)(a[0])
    np.testing.assert_allclose(q @ r, a[0], atol=1e-12)
    # reflectors are those of LAPACK, so that both factors are the same
    np.testing.assert_allclose(r, np.linalg.qr(a[0])[1], atol=1e-12)


ALIKE: dict[str, Any] = {
    "det": (lambda np: np.linalg.det, (2, 3, 3)),
    "slogdet": (lambda np: np.linalg.slogdet, (2, 3, 3)),
    "inv": (lambda np: np.linalg.inv, (2, 3, 3)),
    "pinv": (lambda np: lambda x: np.linalg.pinv(x, 1e-9), (2, 4, 3)),
    "rank": (lambda np: np.linalg.matrix_rank, (2, 4, 3)),
    "cond": (lambda np: np.linalg.cond, (2, 4, 3)),
    "norm_2": (lambda np: lambda x: np.linalg.norm(x, 2), (3, 4)),
    "norm_nuc": (lambda np: lambda x: np.linalg.norm(x, "nuc"), (3, 4)),
    "norm_1": (lambda np: lambda x: np.linalg.norm(x, 1), (3, 4)),
    "power": (lambda np: lambda x: np.linalg.matrix_power(x, -3), (3, 3)),
    "eigvalsh": (lambda np: lambda x: np.linalg.eigvalsh(x, "U"), (4, 4)),
    "qr_r": (lambda np: lambda x: np.linalg.qr(x, "r"), (4, 3)),
    "qr_wide": (lambda np: lambda x: np.linalg.qr(x), (3, 4)),
    "svd_wide": (lambda np: lambda x: np.linalg.svd(x)[1], (3, 4)),
    "cholesky": (lambda np: lambda x: np.linalg.cholesky(x @ x.conj().T, upper=True), (3, 3)),
    "lstsq": (lambda np: lambda x: np.linalg.lstsq(x, x[:, 0] * 2j), (5, 3)),
}


@pytest.mark.thorough
def test_same_as_numpy() -> None:
    names = list(ALIKE)
    xs = [normal(*ALIKE[name][1]) for name in names]
    compiled = lm.jit(lambda xs: [ALIKE[name][0](lm.numpy)(x) for name, x in zip(names, xs, strict=True)])(xs)
    for name, x, got in zip(names, xs, compiled, strict=True):
        want = ALIKE[name][0](np)(x)
        for found in (got, ALIKE[name][0](lm.numpy)(x)):
            for one, other in zip(found, want, strict=True) if isinstance(want, tuple) else ((found, want),):
                assert np.asarray(one).dtype == np.asarray(other).dtype, name
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9, err_msg=name)


def test_same_as_scipy() -> None:
    a, y = normal(3, 3), normal(3, 2, seed=1)
    np.testing.assert_allclose(la.expm(a), scipy.linalg.expm(a), rtol=1e-11, atol=1e-12)
    for trans in (0, 1, 2):
        want = scipy.linalg.solve_triangular(a, y, trans=trans, lower=True)
        np.testing.assert_allclose(lm.jit(la.solve_triangular, static_argnums=(2, 3))(a, y, trans, True), want, rtol=1e-10)
        want = scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), y, trans)
        np.testing.assert_allclose(la.lu_solve(la.lu_factor(a), y, trans), want, rtol=1e-9)
    p = a @ h(a) + np.eye(3)
    for lower in (False, True):
        np.testing.assert_allclose(p @ la.cho_solve(la.cho_factor(p, lower), y), y, atol=1e-11)
    for left in (False, True):
        x = lm.lax.linalg.triangular_solve(
            a, normal(3, 3, seed=2), left_side=left, lower=True, transpose_a=True, conjugate_a=True
        )
        triangle = h(np.tril(a))
        np.testing.assert_allclose(triangle @ x if left else x @ triangle, normal(3, 3, seed=2), atol=1e-10)


SCALARS: dict[str, Any] = {
    # none of them depends on phases of vectors
    "cholesky": lambda a, c: (la.cholesky(a @ a.conj().T + np.eye(3)) * c).sum(),
    "lu": lambda a, c: (lm.lax.linalg.lu(a)[0] * c).sum(),
    "qr": lambda a, c: (la.qr(a)[0] * c).sum() + (la.qr(a)[1] * c).sum(),
    "solve": lambda a, c: (la.solve(a, c) * c).sum(),
    "triangular": lambda a, c: (la.solve_triangular(a, c, trans=2) * c).sum(),
    "det": lambda a, c: la.det(a) * c[0, 0],
    "slogdet": lambda a, c: la.slogdet(a)[1] + 0j,
    "eigvalsh": lambda a, c: (la.eigvalsh(a) * c[0]).sum(),
    "eigh": lambda a, c: (abs(la.eigh(a)[1]) * c).sum(),
    "svd": lambda a, c: (la.svd(a)[1] * c[0]).sum() + (abs(la.svd(a)[0]) * c).sum() + (abs(la.svd(a)[2]) * c).sum(),
    "pinv": lambda a, c: (la.pinv(a[:, :2]) * c[:2]).sum() + (la.pinv(a[:2]) * c[:, :2]).sum(),
}


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", SCALARS)
def test_derivatives_against_differences(name: str) -> None:
    # far from singular and with separated values for every seed
    a = normal(3, 3) / 8 + np.diag([1, 2j, -3])[:, [1, 0, 2]] if name == "lu" else normal(3, 3) / 8 + np.diag([1, 2, -3])
    c, da = normal(3, 3, seed=5), normal(3, 3, seed=6)

    def f(a: Any) -> Any:
        return SCALARS[name](a, c)

    step = 1e-6
    want = (np.asarray(f(a + step * da)) - np.asarray(f(a - step * da))) / (2 * step)
    got, gradient = lm.jit(lambda a, t: (lm.jvp(f, (a,), (t,))[1], lm.grad(lambda x: f(x).real)(a)))(a, da)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose((gradient * da).sum().real, want.real, rtol=1e-6, atol=1e-6)


def test_vmap() -> None:
    a = normal(4, 3, 3)
    for f in (la.inv, lambda x: la.qr(x)[1], lambda x: la.eigh(x)[0], lambda x: la.svd(x)[1]):
        np.testing.assert_allclose(lm.jit(lm.vmap(f))(a), np.stack([f(x) for x in a]), atol=1e-12)


def test_not_definite_not_finite_and_singular() -> None:
    bad = np.array([[1, 2j], [-2j, 1]])
    good = np.array([[2, 1j], [-1j, 2]])
    low, w, s, x = lm.jit(lambda x: (la.cholesky(x), la.eigh(x), la.svd(x), la.inv(x)))(
        np.stack([bad, good, np.full((2, 2), np.inf * 1j)])
    )
    assert np.isnan(low[0]).any() and np.isfinite(low[1]).all()
    for found in (*w, *s):
        assert np.isfinite(found[:2]).all() and np.isnan(found[2]).all()
    np.testing.assert_allclose(x[1] @ good, np.eye(2), atol=1e-14)
    scaled = lm.jit(lambda x: (la.svd(x)[1], la.eigh(x)[0], abs(la.qr(x)[1])))
    for size in (1e-290, 1e290):
        for got, want in zip(scaled(good * size), scaled(good), strict=True):
            np.testing.assert_allclose(got / size, want, rtol=1e-13, atol=1e-14)

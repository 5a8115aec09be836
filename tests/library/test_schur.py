"""Schur's form, and functions computed from it: residuals of matrices of all kinds, SciPy's values, derivatives, errors."""

from __future__ import annotations

from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
import scipy.linalg
from lamina.errors import DifferentiationError, ShapeError

from .test_eig import DTYPES, kinds, normal

la = lm.linalg
A, B, Q = normal(6, 6) + 4 * np.eye(6), normal(4, 4), normal(6, 4)


@pytest.mark.thorough(every=5)
@pytest.mark.parametrize(("n", "dtype"), [(n, dtype) for k, n in enumerate((1, 2, 3, 12, 33)) for dtype in DTYPES[k % 2 :: 2]])
def test_residuals(n: int, dtype: Any) -> None:
    unit, wide = 30 * float(np.finfo(dtype).eps) * n, np.clongdouble
    for name, a in kinds(n, dtype).items():
        for form in (la.schur, lambda a: la.hessenberg(a, calc_q=True)):
            for run in (lm.jit(form), form):  # by its loops, and by NumPy
                t, z = (np.asarray(x) for x in run(a))
                assert t.dtype == z.dtype == dtype
                rebuilt = z.astype(wide) @ t.astype(wide) @ np.conj(z.T).astype(wide)
                assert np.abs(rebuilt - a).max() <= unit * max(np.abs(a).max(), np.finfo(dtype).tiny), name
                assert np.abs(np.conj(z.T) @ z - np.eye(n)).max() <= unit, name
                has_blocks = np.dtype(dtype).kind == "f" or form is not la.schur
                assert not np.tril(t, -2 if has_blocks else -1).any(), name
                if form is la.schur and np.dtype(dtype).kind == "f":
                    at = np.flatnonzero(np.diag(t, -1))
                    assert not np.isin(at + 1, at).any(), name
                    assert (np.diag(t)[at] == np.diag(t)[at + 1]).all(), name
                    assert (np.sign(np.diag(t, 1)[at]) == -np.sign(np.diag(t, -1)[at])).all(), name


def test_nothing_not_finite_and_errors() -> None:
    f = lm.jit(la.schur)
    assert [x.shape for x in f(np.zeros((0, 0)))] == [(0, 0), (0, 0)]
    stack = np.stack([np.eye(2), [[1, np.nan], [0, 1]], [[0, 1], [-np.inf, 0]]])
    for g in (la.schur, f):
        t, z = g(stack)
        assert np.isfinite(t[0]).all() and np.isfinite(z[0]).all()
        assert np.isnan(t[1:, 0]).all() and np.isnan(z[1:]).all()
    with pytest.raises(DifferentiationError, match=r"eigenvalues in any order: sqrtm and solve_sylvester have"):
        lm.grad(lambda x: la.schur(x)[0].sum())(A)
    with pytest.raises(ShapeError, match="the output of schur must be"):
        la.schur(A, "rela")
    with pytest.raises(ShapeError, match=r"solve_sylvester needs a right side of its shape, got \[6, 6\], \[4, 4\], \[4, 6\]"):
        la.solve_sylvester(A, B, Q.T)
    with pytest.raises(ShapeError, match=r"n and n - 1 elements, got \[3\] and \[3\]"):
        la.eigh_tridiagonal(np.ones(3), np.ones(3))


@pytest.mark.thorough
def test_values() -> None:
    t, z = la.rsf2csf(*la.schur(A))
    np.testing.assert_allclose(z @ t @ np.conj(z.T), A, atol=1e-13)
    assert not np.tril(t, -1).any()
    np.testing.assert_allclose(la.sqrtm(A), scipy.linalg.sqrtm(A), atol=1e-13)
    np.testing.assert_allclose(la.funm(A, lnp.exp), scipy.linalg.expm(A), rtol=1e-11)
    assert 1e-16 < la.funm(A, lnp.exp, disp=False)[1] < 1e-13 and la.funm(np.eye(2) * 2, lnp.exp, disp=False)[1] < 1
    np.testing.assert_allclose(la.solve_sylvester(A, B, Q), scipy.linalg.solve_sylvester(A, B, Q), atol=1e-11)
    c = B + 1j * B.T
    x = la.solve_sylvester(A, c, Q)
    np.testing.assert_allclose(A @ x + x @ c, Q, atol=1e-12)
    one = np.eye(6)
    np.testing.assert_allclose(la.solve_continuous_lyapunov(A, one), scipy.linalg.solve_continuous_lyapunov(A, one), atol=1e-13)
    for a in (A / 9, A / 9 + 0.1j * A.T):
        x = la.solve_discrete_lyapunov(a, one)
        np.testing.assert_allclose(a @ x @ np.conj(a.T) - x + one, 0, atol=1e-12)
    d, e = normal(7), normal(6)
    for selected in ({}, {"select": "i", "select_range": (1, 3)}):
        want = scipy.linalg.eigh_tridiagonal(d, e, **selected)
        got = la.eigh_tridiagonal(d, e, **selected)
        np.testing.assert_allclose(got[0], want[0], atol=1e-13)
        np.testing.assert_allclose(np.abs(got[1]), np.abs(want[1]), atol=1e-12)
    assert la.eigh_tridiagonal(np.ones(1), np.ones(0), True) == 1


@pytest.mark.thorough
def test_roots_that_there_are_and_are_not() -> None:
    assert not la.sqrtm(np.zeros((3, 3))).any()
    assert np.isnan(la.sqrtm(np.array([[0.0, 1], [0, 0]]))).any()
    np.testing.assert_array_equal(la.sqrtm(np.diag([-4.0, 9])), np.diag([2j, 3]))
    assert la.sqrtm(np.zeros((0, 0))).shape == (0, 0)
    both = np.stack([A, A.T])
    np.testing.assert_allclose(lm.jit(lm.vmap(la.sqrtm))(both), la.sqrtm(both), atol=1e-13)
    assert la.sqrtm(A.astype(np.float32)).dtype == np.complex64


@pytest.mark.thorough
def test_derivatives() -> None:
    step = 1e-6
    cases: list[tuple[Any, tuple[np.ndarray, ...]]] = [
        (lambda a: (abs(la.sqrtm(a)) ** 2).sum(), (A,)),
        (lambda a, b, q: (la.solve_sylvester(a, b, q) ** 3).sum(), (A, B, Q)),
        (lambda a, q: (la.solve_discrete_lyapunov(a, q) ** 2).sum(), (A / 9, np.eye(6))),
        (lambda d, e: (la.eigh_tridiagonal(d, e, True) ** 3).sum(), (normal(5), normal(4))),
    ]
    for f, args in cases:
        moved = tuple(normal(*a.shape, seed=3 + k) for k, a in enumerate(args))
        ahead, behind = (f(*(a + s * m for a, m in zip(args, moved, strict=True))) for s in (step, -step))
        want = (ahead - behind) / (2 * step)
        np.testing.assert_allclose(
            lm.jit(lambda *xs, f=f: lm.jvp(f, xs[: len(xs) // 2], xs[len(xs) // 2 :])[1])(*args, *moved), want, rtol=1e-6
        )
        slopes = lm.jit(lm.grad(f, tuple(range(len(args)))))(*args)
        np.testing.assert_allclose(sum((s * m).sum() for s, m in zip(slopes, moved, strict=True)), want, rtol=1e-6)

    def of_scale(s: Any) -> Any:
        return la.sqrtm(A * s).real.sum()

    for second in (lm.grad(lm.grad(of_scale)), lm.hessian(of_scale)):
        np.testing.assert_allclose(second(1.0), -of_scale(1.0) / 4, rtol=1e-10)

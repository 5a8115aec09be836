"""lamina.linalg.eig and eigvals, lamina.numpy.roots: residuals, NumPy's values, special matrices, derivatives, errors."""

from __future__ import annotations

import os
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.errors import DifferentiationError, ShapeError, TracingError

la = lm.linalg
SEED = int(os.environ.get("LAMINA_TEST_SEED", "0"))
DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


def normal(*shape: int, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng((SEED, seed, *shape))
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def kinds(n: int, dtype: Any) -> dict[str, np.ndarray]:
    """Matrices with eigenvalues of all kinds: repeated, of no full set of vectors, of large and small scale, on circles."""
    x, one = normal(n, n, dtype=dtype), np.eye(n, dtype=dtype)
    info = np.finfo(dtype)
    steps = np.logspace(-6, 6, n)
    return {
        "random": x,
        "symmetric": x + np.conj(x.T),
        "skew": x - x.T,
        "upper": np.triu(x),
        "lower": np.tril(x),
        "zero": 0 * one,
        "identity": one,
        "cycle": np.roll(one, 1, 0),
        "jordan": 2 * one + np.eye(n, k=1, dtype=dtype),
        "nilpotent": np.eye(n, k=1, dtype=dtype),
        "rank one": np.ones((n, n), dtype),
        "companion": np.eye(n, k=-1, dtype=dtype) - np.outer(one[:1].sum(0), np.arange(1, n + 1)).astype(dtype),
        "huge": x * (info.max / 1e6),
        "tiny": x * info.tiny * 1024,
        "not balanced": ((steps[:, None] / steps) * x).astype(dtype),
        "twice": np.kron(np.eye(2), x)[:n, :n].astype(dtype),
    }


def distance(w: np.ndarray, v: np.ndarray) -> float:
    """How far eigenvalues are from others, each from the nearest one that is left."""
    left, far = list(v), 0.0
    for x in w:
        k = int(np.argmin(np.abs(np.array(left) - x)))
        far = max(far, abs(left.pop(k) - x))
    return far


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_residuals(n: int, dtype: Any) -> None:
    f = lm.jit(lambda a: (*la.eig(a), la.eigvals(a)))
    unit = float(np.finfo(dtype).eps) * n
    for name, a in kinds(n, dtype).items():
        w, v, values = f(a)
        assert w.dtype == v.dtype == np.result_type(dtype, np.complex64)
        np.testing.assert_array_equal(w, values, err_msg=name)
        wide, size = a.astype(np.clongdouble), float(np.abs(a).max())
        assert np.abs(wide @ v - v * w.astype(np.clongdouble)).max() <= 30 * unit * size, name
        np.testing.assert_allclose(np.sum(np.abs(v) ** 2, 0), 1, atol=50 * unit, err_msg=name)
        if np.dtype(dtype).kind == "f":
            # pairs are exact, and vectors of real values are real
            at = np.flatnonzero(w.imag > 0)
            np.testing.assert_array_equal(w[at + 1], np.conj(w[at]))
            np.testing.assert_array_equal(v[:, at + 1], np.conj(v[:, at]))
            np.testing.assert_array_equal(v[:, w.imag == 0].imag, 0)
        if name in ("random", "symmetric", "upper", "identity", "zero", "cycle", "huge"):
            # eigenvalues of normal matrices move by rounding, of random ones by as much as their condition says
            allowed = 1e4 if name == "random" or name == "huge" or name == "upper" else 50
            assert (
                distance(w, np.linalg.eigvals(a.astype(np.result_type(a, np.float64)))) <= allowed * unit * max(size, 1e-30) * n
            ), name


def test_same_order_and_phases_as_the_meaning() -> None:
    a = normal(3, 4, 4) / 4 + np.diag([1.0, 2, 3, 4])
    for one, other in zip(la.eig(a), lm.jit(la.eig)(a), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(lm.jit(lm.vmap(la.eigvals))(a), la.eigvals(a), atol=1e-12)
    size = np.abs(la.eig(a).eigenvectors)
    first = np.argmax(size >= size.max(-2, keepdims=True) / 2, -2)
    chosen = np.take_along_axis(np.asarray(la.eig(a)[1]), first[:, None], -2)
    np.testing.assert_allclose(chosen, np.abs(chosen), atol=1e-15)


def test_nothing_and_not_finite() -> None:
    f = lm.jit(la.eig)
    assert [x.shape for x in f(np.zeros((0, 0)))] == [(0,), (0, 0)]
    assert [x.shape for x in f(np.zeros((0, 3, 3)))] == [(0, 3), (0, 3, 3)]
    stack = np.stack([np.eye(2), [[1, np.nan], [0, 1]], [[0, 1], [-np.inf, 0]]])
    for g in (la.eig, f):
        w, v = g(stack)
        assert np.isfinite(w[0]).all() and np.isfinite(v[0]).all()
        assert np.isnan(w[1:]).all() and np.isnan(v[1:]).all()


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_derivative_of_values(dtype: Any) -> None:
    a = normal(4, 4, dtype=dtype) / 8 + np.array([[1, -3, 0, 0], [3, 1, 0, 0], [0, 0, 4, 0], [0, 0, 0, -2]])
    da, c = normal(4, 4, dtype=dtype, seed=1), 0.5 + 0.25j

    def f(x: Any) -> Any:
        return lnp.exp(la.eigvals(x) * c).sum()

    step = 1e-6
    want = (f(a + step * da) - f(a - step * da)) / (2 * step)
    got, gradient = lm.jit(lambda x, t: (lm.jvp(f, (x,), (t,))[1], lm.grad(lambda x: f(x).real)(x)))(a, da)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(np.sum(gradient * da).real, np.real(want), rtol=1e-6, atol=1e-7)


def test_left_vectors() -> None:
    a = normal(4, 4) / 4 + np.diag([1.0, 2, 3, 4])
    w, u, v = lm.lax.linalg.eig(a)
    np.testing.assert_allclose(np.conj(u.T) @ a, w[:, None] * np.conj(u.T), atol=1e-12)
    np.testing.assert_allclose(a @ v, v * w, atol=1e-12)
    np.testing.assert_allclose(np.sum(np.abs(u) ** 2, 0), 1)
    assert len(lm.lax.linalg.eig(a, compute_left_eigenvectors=False)) == 2
    (values,) = lm.lax.linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
    np.testing.assert_allclose(values, w, atol=1e-12)


def test_roots() -> None:
    for p in ([1, -6, 11, -6], [1, 0, 1], [2], [], [0, 0, 1, -1, 0, 0], [0, 0], [1.0, 2j], [3, 1, -4.0, 1, 5, 9]):
        got, want = lnp.roots(np.array(p)), np.roots(p)
        assert got.shape == want.shape and got.dtype.kind == "c", p
        assert distance(got, want) < 1e-9, p
    p = normal(5)
    assert distance(lm.jit(lambda p: lnp.roots(p, strip_zeros=False))(p), lm.jit(lambda: lnp.roots(p))()) < 1e-9
    np.testing.assert_allclose(lnp.poly(lnp.roots(p)), p / p[0], atol=1e-9)
    with pytest.raises(TracingError, match=r"roots the number of roots depends on.*strip_zeros=False"):
        lm.jit(lnp.roots)(p)
    with pytest.raises(ShapeError, match=r"roots takes a vector of coefficients, got shape \[2, 2\]"):
        lnp.roots(np.ones((2, 2)))


def test_errors() -> None:
    with pytest.raises(ShapeError, match=r"eig needs square matrices, the last two dims, got shape \[2, 3\]"):
        la.eig(np.ones((2, 3)))
    with pytest.raises(DifferentiationError, match=r"derivatives of eigenvalues alone.*use eigvals"):
        lm.grad(lambda x: abs(la.eig(x)[1]).sum())(np.eye(3))

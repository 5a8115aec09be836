"""`kernels/eigh.py`: residuals, orthogonality, order and phases, clusters, scales, stacks, NaN, and Python's meaning."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.kernels import eigh as texts

sys.path.insert(0, str(Path(__file__).parent))

from matrices import DTYPES, STACKS, adjoint, alternating, by_python, error, normal

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 37, 64, 65, 101)


@lm.jit
def decomposed(x: Any) -> Any:
    return lm.call_op("graph.eigh", x)


def hermitian(*shape: int, dtype: Any, seed: int = 0) -> np.ndarray:
    x = normal(*shape, dtype=dtype, seed=seed)
    return ((x + adjoint(x)) / 2).astype(dtype)


def check(x: np.ndarray, w: Any, v: Any) -> None:
    """A residual and an orthogonality of a few units of rounding, ascending values, and the phase of each vector."""
    w, v = np.asarray(w), np.asarray(v)
    assert w.shape == x.shape[:-1] and v.shape == x.shape and w.dtype == x.real.dtype and v.dtype == x.dtype
    if not x.size:
        return
    assert (np.diff(w) >= 0).all()
    norm = float(np.abs(x).max()) or 1.0
    assert error(x @ v, v * w[..., None, :], 10 * norm) < 1
    assert error(adjoint(v) @ v, np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape), 10) < 1
    sizes = np.abs(v)
    limit = sizes.max(axis=-2, keepdims=True) / 2
    first = np.take_along_axis(v, np.argmax(sizes >= limit * (1 - 1e-4), axis=-2)[..., None, :], -2)
    clear = ~((np.abs(sizes - limit) < 1e-4).any(axis=-2))  # no component on the edge of the rule
    assert (first[..., 0, :][clear].real > 0).all()
    assert np.abs(first[..., 0, :][clear].imag).max(initial=0) < 1e-5


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize(("n", "dtype"), alternating(SIZES), ids=str)
def test_values_and_vectors(n: int, dtype: Any) -> None:
    x = hermitian(n, n, dtype=dtype)
    w, v = decomposed(x)
    check(x, w, v)
    if n:
        wide = x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)
        assert np.abs(np.asarray(w) - np.linalg.eigvalsh(wide)).max() < 10 * n * np.finfo(dtype).eps * np.abs(x).max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [3, 40])
def test_the_upper_triangle_and_imaginary_parts_of_the_diagonal_are_not_read(n: int, dtype: Any) -> None:
    x = hermitian(n, n, dtype=dtype)
    given = x.copy()
    given[np.triu_indices(n, 1)] = np.nan
    if np.iscomplexobj(given):
        given.imag[np.diag_indices(n)] = np.nan
    for one, other in zip(decomposed(given), decomposed(x), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 4, 35])
def test_diagonal_matrices_and_zeros(n: int, dtype: Any) -> None:
    order = np.random.default_rng(0).permutation(n)
    w, v = decomposed(np.diag(order - 1.0).astype(dtype))
    assert np.array_equal(w, np.arange(n) - 1.0)
    want = np.zeros((n, n))
    want[np.argsort(order), np.arange(n)] = 1
    assert np.array_equal(v, want)
    w, v = decomposed(np.zeros((n, n), dtype))
    assert not np.asarray(w).any() and np.array_equal(v, np.eye(n))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [6, 50])
def test_clusters(n: int, dtype: Any) -> None:
    q = np.linalg.qr(normal(n, n, dtype=dtype))[0]
    values = np.repeat([-1.0, 2.0, 2.0 + 1e-6], [n // 3, n // 3, n - 2 * (n // 3)])
    x = ((q * values) @ adjoint(q)).astype(dtype)
    x = ((x + adjoint(x)) / 2).astype(dtype)
    check(x, *decomposed(x))
    one = np.ones((n, n), dtype)
    check(one, *decomposed(one))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", [-0.9, 0.9])
def test_scales(exponent: float, dtype: Any) -> None:
    info = np.finfo(dtype)
    scale = 2.0 ** np.floor(np.log2(float(info.max if exponent > 0 else info.tiny) ** abs(exponent)))
    x = hermitian(9, 9, dtype=dtype)
    w, v = decomposed((x * scale).astype(dtype))
    check(x, (np.asarray(w) / scale).astype(x.real.dtype), v)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", DTYPES)
def test_not_finite(dtype: Any, value: float) -> None:
    x = hermitian(5, 6, 6, dtype=dtype)
    x[2, 4, 1] = value
    x[3, 5, 5] = value
    w, v = map(np.asarray, decomposed(x))
    for k in (2, 3):
        assert np.isnan(w[k]).all() and np.isnan(v[k]).all()
    rest = [0, 1, 4]
    check(x[rest], w[rest], v[rest])


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize(("shape", "dtype"), alternating(STACKS), ids=str)
def test_stacks(shape: tuple[int, ...], dtype: Any) -> None:
    x = hermitian(*shape, dtype=dtype)
    for f in (decomposed, lm.jit(lm.vmap(decomposed))) if x.size else (decomposed,):
        check(x, *f(x))
    if x.size:
        alone = [decomposed(matrix) for matrix in x.reshape(-1, *shape[-2:])]
        together = [np.asarray(r) for r in decomposed(x)]
        assert np.array_equal(together[0].reshape(-1, shape[-1]), np.stack([np.asarray(w) for w, _ in alone]))


@pytest.mark.parametrize("n", [5, 40])
def test_strides(n: int) -> None:
    x = hermitian(n, n, dtype=np.float32)
    wide = np.zeros((2 * n, 3 * n), np.float32)
    wide[::2, ::3] = x
    for given in (wide[::2, ::3], np.asfortranarray(x)):
        for one, other in zip(decomposed(given), decomposed(x), strict=True):
            assert np.array_equal(one, other)


def test_operands_are_computed_where_they_are_read() -> None:
    x = hermitian(7, 7, dtype=np.complex128)
    check(2 * x + np.eye(7), *lm.jit(lambda x: lm.call_op("graph.eigh", 2 * x + lm.numpy.eye(7)))(x))


@pytest.mark.thorough(every=4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alignment", [32, 64])
def test_the_text_run_by_python(alignment: int, dtype: Any) -> None:
    x = hermitian(21, 21, dtype=dtype)
    w, v = np.empty(21, x.real.dtype), np.empty_like(x)
    by_python(texts.eigh_by(alignment), x, w, v)
    check(x, w, v)
    assert error(np.asarray(decomposed(x)[0]), w, 20) < 1

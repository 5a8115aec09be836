"""`kernels/svd.py`: reconstructions, orthogonality, order, ranks, scales, stacks, values alone, NaN, and Python's meaning."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.kernels import svd as texts

sys.path.insert(0, str(Path(__file__).parent))

from matrices import DTYPES, STACKS, adjoint, alternating, by_python, error, normal

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 37, 64, 65, 101)


@lm.jit
def decomposed(x: Any) -> Any:
    return lm.call_op("graph.square_svd", x, mode="vectors")


@lm.jit
def values(x: Any) -> Any:
    return lm.call_op("graph.square_svd", x, mode="values")


def check(x: np.ndarray, s: Any, u: Any, vh: Any) -> None:
    """A reconstruction and orthogonality of a few units of rounding, descending values, and the phase of each vector."""
    s, u, vh = map(np.asarray, (s, u, vh))
    assert s.shape == x.shape[:-1] and u.shape == vh.shape == x.shape and s.dtype == x.real.dtype and u.dtype == x.dtype
    if not x.size:
        return
    assert (np.diff(s) <= 0).all() and (s >= 0).all()
    norm = float(np.abs(x).max()) or 1.0
    unit = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    assert error((u * s[..., None, :]) @ vh, x, 10 * norm) < 1
    assert error(adjoint(u) @ u, unit, 10) < 1 and error(vh @ adjoint(vh), unit, 10) < 1
    sizes = np.abs(u)
    limit = sizes.max(axis=-2, keepdims=True) / 2
    first = np.take_along_axis(u, np.argmax(sizes >= limit * (1 - 1e-4), axis=-2)[..., None, :], -2)[..., 0, :]
    clear = ~((np.abs(sizes - limit) < 1e-4).any(axis=-2))  # no component on the edge of the rule
    assert (first[clear].real > 0).all() and np.abs(first[clear].imag).max(initial=0) < 1e-5


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize(("n", "dtype"), alternating(SIZES), ids=str)
def test_values_and_vectors(n: int, dtype: Any) -> None:
    x = normal(n, n, dtype=dtype)
    s, u, vh = decomposed(x)
    check(x, s, u, vh)
    if n:
        wide = x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)
        want = np.linalg.svd(wide, compute_uv=False)
        for found in (s, values(x)):
            assert np.abs(np.asarray(found) - want).max() < 10 * n * np.finfo(dtype).eps * np.abs(x).max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 4, 35])
def test_diagonal_matrices_and_zeros(n: int, dtype: Any) -> None:
    order = np.random.default_rng(0).permutation(n)
    x = np.diag(order - 1.0).astype(dtype)
    s, u, vh = decomposed(x)
    assert np.array_equal(s, np.sort(abs(order - 1.0))[::-1]) and np.array_equal(values(x), s)
    check(x, s, u, vh)
    check(np.zeros((n, n), dtype), *decomposed(np.zeros((n, n), dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [6, 50])
def test_ranks_and_clusters(n: int, dtype: Any) -> None:
    low = (normal(n, 3, dtype=dtype) @ normal(3, n, dtype=dtype, seed=1)).astype(dtype)
    check(low, *decomposed(low))
    q = np.linalg.qr(normal(n, n, dtype=dtype))[0]
    check(q, *decomposed(q))
    chain = np.diag(np.where(np.arange(n) == n // 2, 0, 1.0 + np.arange(n))) + np.diag(np.ones(n - 1), 1)
    check(chain.astype(dtype), *decomposed(chain.astype(dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", [-0.9, 0.9])
def test_scales(exponent: float, dtype: Any) -> None:
    info = np.finfo(dtype)
    scale = 2.0 ** np.floor(np.log2(float(info.max if exponent > 0 else info.tiny) ** abs(exponent)))
    x = normal(9, 9, dtype=dtype)
    s, u, vh = decomposed((x * scale).astype(dtype))
    check(x, (np.asarray(s) / scale).astype(x.real.dtype), u, vh)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", DTYPES)
def test_not_finite(dtype: Any, value: float) -> None:
    x = normal(5, 6, 6, dtype=dtype)
    x[2, 4, 1] = value
    x[3, 1, 5] = value
    found = [np.asarray(r) for r in (*decomposed(x), values(x))]
    for k in (2, 3):
        assert all(np.isnan(r[k]).all() for r in found)
    rest = [0, 1, 4]
    check(x[rest], *(r[rest] for r in found[:3]))


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize(("shape", "dtype"), alternating(STACKS), ids=str)
def test_stacks(shape: tuple[int, ...], dtype: Any) -> None:
    x = normal(*shape, dtype=dtype)
    for f in (decomposed, lm.jit(lm.vmap(decomposed))) if x.size else (decomposed,):
        check(x, *f(x))
    if x.size:
        alone = [np.asarray(values(matrix)) for matrix in x.reshape(-1, *shape[-2:])]
        assert np.array_equal(np.asarray(values(x)).reshape(-1, shape[-1]), np.stack(alone))


@pytest.mark.parametrize("n", [5, 40])
def test_strides(n: int) -> None:
    x = normal(n, n, dtype=np.float32)
    wide = np.zeros((2 * n, 3 * n), np.float32)
    wide[::2, ::3] = x
    for given in (wide[::2, ::3], np.asfortranarray(x)):
        for one, other in zip(decomposed(given), decomposed(x), strict=True):
            assert np.array_equal(one, other)


def test_operands_are_computed_where_they_are_read() -> None:
    x = normal(7, 7, dtype=np.complex128)
    f = lm.jit(lambda x: lm.call_op("graph.square_svd", 2 * x + lm.numpy.eye(7), mode="vectors"))
    check(2 * x + np.eye(7), *f(x))


@pytest.mark.thorough(every=4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alignment", [32, 64])
def test_the_text_run_by_python(alignment: int, dtype: Any) -> None:
    x = normal(21, 21, dtype=dtype)
    s, u, vh = np.empty(21, x.real.dtype), np.empty_like(x), np.empty_like(x)
    by_python(texts.svd_by(alignment), x, s, u, vh)
    check(x, s, u, vh)
    alone = np.empty_like(s)
    by_python(texts.values_by(alignment), x, alone)
    assert np.array_equal(alone, s) and error(np.asarray(values(x)), s, 20) < 1

"""Functions of arrays and views in kernels: NumPy's values and types."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest

T = lm.dtype("T")


@lm.kernel
def reduced(x: T["N"], A: T["M", "K"], B: T["M", "K", 2], out: lm.f64[14]):
    out[0] = np.sum(x)
    out[1] = x.max()
    out[2] = np.min(A)
    out[3] = A[1].sum()
    out[4] = A[:, 1].mean()
    out[5] = np.dot(A[0], A[-1])
    out[6] = np.prod(x[1:4])
    out[7] = max(x)
    out[8] = min(x[::2])
    out[9] = np.mean(B)
    out[10] = B.sum()
    out[11] = B[0].max()
    out[12] = A.prod()
    out[13] = np.amax(A) - np.amin(B)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int8", "uint8"])
def test_reductions(dtype: str):
    rng = np.random.default_rng(3)
    x, A, B = (rng.normal(size=s) * 3 if dtype[0] == "f" else rng.integers(0, 9, s) for s in (13, (3, 4), (3, 4, 2)))
    x, A, B = (v.astype(dtype) for v in (x, A, B))
    found = np.zeros(14)
    reduced(x, A, B, found)
    wanted: list[Any] = [x.sum(), x.max(), A.min(), A[1].sum(), A[:, 1].mean(), np.dot(A[0], A[-1]), x[1:4].prod(), x.max()]
    wanted += [x[::2].min(), B.mean(), B.sum(), B[0].max(), A.prod()]
    np.testing.assert_allclose(found[:13], [float(v) for v in wanted], rtol=3e-6 if dtype == "float32" else 1e-14)
    assert found[13] == float(A.max() - B.min())


def test_sums_of_integers_have_64_bits():
    @lm.kernel
    def sums(x: lm.i8["N"], b: lm.bool_["N"], u: lm.ui8["N"], out: lm.i64[3]):
        out[0] = np.sum(x)
        out[1] = b.sum()
        out[2] = lm.i64(u.sum())

    x, out = np.full(1000, 127, np.int8), np.zeros(3, np.int64)
    sums(x, x > 0, x.astype(np.uint8), out)
    np.testing.assert_array_equal(out, [127000, 1000, 127000])


def test_extremes_of_nothing_and_of_nan():
    @lm.kernel
    def extremes(x: lm.f64["N"], out: lm.f64[3]):
        out[0] = x.max()
        out[1] = np.min(x)
        out[2] = np.sum(x)

    out = np.zeros(3)
    extremes(np.zeros(0), out)
    np.testing.assert_array_equal(out, [-np.inf, np.inf, 0])
    extremes(np.array([1, np.nan, 3]), out)
    assert np.isnan(out).all()


def test_rounding_to_decimals():
    @lm.kernel
    def rounded(x: lm.f64["N"], y: lm.f64["N"], z: lm.i64["N"]):
        for i in range(N):
            y[i] = np.round(x[i], 2) + np.around(x[i], 0)
            z[i] = np.round(z[i], 1)

    x = np.random.default_rng(4).normal(size=40) * 100
    y, z = np.zeros(40), np.arange(40)
    rounded(x, y, z)
    np.testing.assert_array_equal(y, np.round(x, 2) + np.around(x, 0))
    np.testing.assert_array_equal(z, np.arange(40))

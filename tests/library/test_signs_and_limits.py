"""`signbit` and `copysign` of every kind of number, and the dtypes of `linspace` and its kin, against NumPy."""

from __future__ import annotations

from typing import Any

import lamina as lm
import lamina.numpy as lnp
import ml_dtypes
import numpy as np
import pytest

FLOATS = (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)
SIGNED = [np.nan, -np.nan, -0.0, 0.0, -1.0, 1.0, -np.inf, np.inf, -5e-324, 1e-45]


@pytest.mark.parametrize("dtype", FLOATS)
def test_signs_of_floats(dtype: Any):
    x = np.array(SIGNED).astype(dtype)
    size = np.arange(1, len(x) + 1).astype(dtype)
    for sign, copied in ((lnp.signbit, lnp.copysign), (lm.jit(lnp.signbit), lm.jit(lnp.copysign))):
        np.testing.assert_array_equal(sign(x), np.signbit(x))
        np.testing.assert_array_equal(copied(size, x), np.copysign(size, x))
        np.testing.assert_array_equal(np.signbit(copied(x, size)), np.signbit(np.copysign(x, size)))
    assert not lm.grad(lambda y: lnp.copysign(lnp.ones_like(y), y).sum())(x.astype(np.float64)).any()


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.bool_])
def test_signs_of_integers(dtype: Any):
    x = np.array([0, 1, -1]).astype(dtype)
    wanted = np.array([False, False, np.dtype(dtype).kind == "i"])
    np.testing.assert_array_equal(lnp.signbit(x), wanted)
    np.testing.assert_array_equal(lm.jit(lnp.signbit)(x), wanted)


@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.complex64])
def test_dtypes_of_limits(name: str, dtype: Any):
    for start, stop in ((dtype(1), dtype(3)), (np.array([1, 2], dtype), dtype(3)), (1, dtype(3)), (1.5, dtype(3))):
        wanted = getattr(np, name)(start, stop, 7)
        eager, traced = (f(start, stop, 7) for f in (getattr(lnp, name), lm.jit(getattr(lnp, name), static_argnums=2)))
        close = 1e-2 if dtype is np.float16 else 1e-6
        for found in (eager, traced):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=close)


def test_limits_that_are_stored_or_narrow():
    assert lnp.linspace(ml_dtypes.bfloat16(0), ml_dtypes.bfloat16(1), 3).dtype == ml_dtypes.bfloat16
    assert lnp.linspace(np.float32(0), 1.0, 3, dtype=np.float64).dtype == np.float64
    with lm.config(x64=False):
        assert lnp.linspace(0, 1, 3).dtype == np.float32


def test_limits_of_different_shapes():
    rng = np.random.default_rng(0)
    for start, stop in (((), (3,)), ((3,), ()), ((2, 1), (3,)), ((3,), (2, 3))):
        a, b = rng.uniform(1, 2, start), rng.uniform(2, 3, stop)
        for axis in (0, -1):
            np.testing.assert_allclose(lnp.linspace(a, b, 5, axis=axis), np.linspace(a, b, 5, axis=axis), rtol=1e-14)
        np.testing.assert_allclose(lm.jit(lambda a, b: lnp.logspace(a, b, 5))(a, b), np.logspace(a, b, 5), rtol=1e-13)


TRAPEZOIDS = [
    ((3,), (4, 3), -1), ((4, 3), (4, 3), 0), ((4, 3), (3,), -1), ((4, 3), (4,), 0),
    ((3,), (2, 4, 3), -1), ((2, 4, 3), (4, 3), -1),
]  # fmt: skip


@pytest.mark.parametrize(("values", "points", "axis"), TRAPEZOIDS)
def test_integrals_over_points_of_other_ranks(values: Any, points: Any, axis: int):
    rng = np.random.default_rng(0)
    y, x = rng.random(values), rng.random(points)
    np.testing.assert_allclose(lnp.trapezoid(y, x, axis=axis), np.trapezoid(y, x, axis=axis), rtol=1e-14)
    np.testing.assert_allclose(
        lm.jit(lambda y, x: lnp.trapezoid(y, x, axis=axis))(y, x), np.trapezoid(y, x, axis=axis), rtol=1e-14
    )

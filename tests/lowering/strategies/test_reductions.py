"""Reductions as the default schedule runs them: NumPy's results, bit-identical for any number of threads."""

from __future__ import annotations

import os
from functools import partial

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

RNG = np.random.default_rng(0)
SHAPES = {  # what is reduced: all of it, rows, columns, few long rows, narrow columns, the middle; full tiles and rests
    "all": ((300_007,), None),
    "all, not collapsed": ((130, 1031), None),
    "rows": ((1000, 777), 1),
    "few long rows": ((3, 100_003), 1),
    "columns": ((1003, 1500), 0),
    "narrow columns": ((50_021, 7), 0),
    "wide columns": ((70, 2100), 0),
    "middle": ((6, 700, 130), 1),
    "first and last": ((40, 50, 300), (0, 2)),
    "first two": ((40, 50, 300), (0, 1)),
}
FUNCTIONS = ["sum", "max", "mean", "any"]


@pytest.fixture
def threads():
    """Runs a function with one thread, then with two."""
    before = lm.get_threads()

    def both(f, *args):
        results = []
        for count in (1, min(2, os.cpu_count() or 1)):
            lm.set_threads(count)
            results.append(np.asarray(f(*args)).copy())
        return results

    yield both
    lm.set_threads(before)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_equal_to_numpy(threads, name: str, function: str) -> None:
    shape, axis = SHAPES[name]
    x = RNG.normal(size=shape).astype(np.float32)
    if function == "any":
        x = x > 4.3
    one, two = threads(lm.jit(lambda x: getattr(lnp, function)(x, axis)), x)
    assert one.tobytes() == two.tobytes()
    wanted = getattr(np, function)(x.astype(np.float64) if function in ("sum", "mean") else x, axis)
    np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-5 * np.sqrt(x.size / wanted.size) if x.dtype != bool else 0)


def test_integers_and_doubles(threads) -> None:
    x = RNG.integers(-1000, 1000, (2003, 1100))
    one, two = threads(lm.jit(lambda x: (lnp.sum(x, 0), lnp.min(x, 0))[0]), x)
    np.testing.assert_array_equal(one, x.sum(0))
    np.testing.assert_array_equal(one, two)
    y = x.astype(np.float64)
    one, two = threads(lm.jit(lambda x: lnp.sum(x * 2, 0)), y)
    np.testing.assert_array_equal(one, (y * 2).sum(0))
    np.testing.assert_array_equal(one, two)


def test_nan_is_found_in_every_part(threads) -> None:
    for at in (0, 511, 150_000, 299_999):
        x = RNG.normal(size=300_000).astype(np.float32)
        x[at] = np.nan
        assert np.isnan(threads(lm.jit(lnp.max), x)).all()
        assert threads(lm.jit(lnp.argmax), x) == [at, at]


def test_variance_of_columns(threads) -> None:
    x = RNG.normal(size=(800, 1100)).astype(np.float32) + 3
    one, two = threads(lm.jit(lambda x: lnp.var(x, 0)), x)
    assert one.tobytes() == two.tobytes()
    np.testing.assert_allclose(one, x.astype(np.float64).var(0), rtol=2e-5)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.bool_])
@pytest.mark.parametrize("shape", [(37, 1000), (5, 17), (3, 64), (2, 200_001), (300, 129)])
@pytest.mark.parametrize("function", ["argmax", "argmin"])
def test_positions(threads, function: str, shape: tuple[int, ...], dtype: type) -> None:
    """Ties, infinities and NaN: the first one, wherever vectors begin and end."""
    x = RNG.integers(-3, 4, shape).astype(dtype)
    if dtype in (np.float32, np.float64):
        x[0, :] = -np.inf if function == "argmax" else np.inf
        x[1, RNG.integers(0, shape[1], 4)] = np.nan
    for axis in (0, 1, None):
        one, two = threads(lm.jit(partial(getattr(lnp, function), axis=axis)), x)
        np.testing.assert_array_equal(one, getattr(np, function)(x, axis))
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_keep_a_nan_of_any_lane_and_only_there(name: str, dtype: type, axis: int) -> None:
    """Every third row and column has one, each at another place: in whole vectors, in the rest, first or last."""
    for size in (3, 40, 133, 646):
        x = RNG.normal(size=(size, size)).astype(dtype)
        x[0], x[-1] = np.inf, -np.inf
        third = np.arange(0, size, 3)
        x[third, third[::-1]] = np.nan
        got = lm.jit(lambda x: getattr(lnp, name)(x, axis))(x)
        np.testing.assert_array_equal(np.asarray(got), getattr(np, name)(x, axis))
    assert np.isnan(lm.jit(getattr(lnp, name))(x))

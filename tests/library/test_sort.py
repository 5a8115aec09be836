"""Sorting and functions of order against NumPy, bit for bit; derivatives and batching against jax."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

sys.path.insert(0, str(Path(__file__).parent.parent))
from oracles import by_jax

DTYPES = ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")
LENGTHS = (0, 1, 2, 3, 63, 64, 65, 127, 4095, 4096, 70001)
"""Around the lengths where loops become others: by ranks, by digits of 8 bits, of 11 bits, in blocks."""
EVERY_LENGTH = ("f4", "f8", "i2", "u1")
"""Of each width one: another type of it orders as other integers, in the same loops."""


def identical(got: Any, want: Any) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(got, want)
    assert got.tobytes() == want.tobytes()  # signs of zeros, bits of NaN


def values(dtype: str, shape: Any, seed: int = 0) -> np.ndarray:
    """Values with many ties, and floats with both zeros, NaN of two kinds and infinities."""
    rng = np.random.default_rng(seed)
    if dtype == "?":
        return rng.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        wide = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        return np.where(rng.random(shape) < 0.5, wide, wide % np.asarray(7, dtype)).astype(dtype)
    special = rng.choice([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0], shape)
    return np.where(rng.random(shape) < 0.5, rng.standard_normal(shape), special).astype(dtype)


def descending(x: np.ndarray) -> np.ndarray:
    """The indices of the last dim in descending order, equal elements in theirs."""
    return x.shape[-1] - 1 - np.argsort(x[..., ::-1], kind="stable")[..., ::-1]


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("dtype", DTYPES)
def test_lengths(dtype: str) -> None:
    for n in LENGTHS if dtype in EVERY_LENGTH else LENGTHS[3::3]:
        x = values(dtype, n, n)
        identical(lm.jit(lnp.sort)(x), np.sort(x, kind="stable"))
        identical(lm.jit(lnp.argsort)(x), np.argsort(x, kind="stable"))


@pytest.mark.thorough
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["f4", "i8"])
def test_a_million(dtype: str, threads: int) -> None:
    x = values(dtype, 10**6)
    before = lm.get_threads()
    lm.set_threads(threads)
    try:
        identical(lm.jit(lnp.sort)(x), np.sort(x, kind="stable"))
        identical(lm.jit(lnp.argsort)(x), np.argsort(x, kind="stable"))
        found, places = lm.jit(lambda x: lnp.top_k(x, 100))(x)
        identical(places, descending(x)[:100])
        identical(found, x[places])
    finally:
        lm.set_threads(before)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_axes(data: Any) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=6))
    x = data.draw(hnp.arrays(data.draw(st.sampled_from(["f4", "f8", "i4", "u1", "?"])), shape))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1) | st.none())
    identical(lnp.sort(x, axis), np.sort(x, axis, kind="stable"))
    identical(lnp.argsort(x, axis), np.argsort(x, axis, kind="stable"))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_several_keys(data: Any) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=70))
    dtypes = data.draw(st.lists(st.sampled_from(["f4", "f8", "i1", "u2", "i8", "?"]), min_size=1, max_size=3))
    keys = [values(dtype, shape, k) for k, dtype in enumerate(dtypes)]
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    identical(lnp.lexsort(keys, axis), np.lexsort(keys, axis))


def test_descending() -> None:
    for n in (5, 100):
        x = values("f4", (3, n))
        identical(lm.jit(lambda x: lnp.argsort(x, descending=True))(x), descending(x))
        identical(lm.jit(lambda x: lnp.sort(x, descending=True))(x), np.sort(x, kind="stable")[:, ::-1])


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("dtype", DTYPES)
def test_top_k(dtype: str) -> None:
    for shape, k in (((1,), 1), ((7,), 0), ((100,), 100), ((5, 70), 66), ((5000,), 10), ((20, 700), 1), ((40001,), 65)):
        x = values(dtype, shape)
        found, places = lm.jit(lambda x, k=k: lnp.top_k(x, k))(x)
        identical(places, descending(x)[..., :k])
        identical(found, np.take_along_axis(x, places, -1))


def test_top_k_where_all_are_equal() -> None:
    found, places = lnp.top_k(np.zeros(100_000, np.float32), 7)
    identical(places, np.arange(7))
    identical(found, np.zeros(7, np.float32))


@pytest.mark.thorough
def test_derivatives_and_batching() -> None:
    rng = np.random.default_rng(0)
    x, w, z = rng.permutation(np.arange(24.0)).reshape(4, 6), rng.standard_normal((4, 6)), rng.standard_normal((2, 4, 6))
    got = [
        lm.grad(lambda x: (lnp.sort(x, 0) * w).sum())(x),
        lm.grad(lambda x: lnp.median(x, 0).sum())(x),
        lm.grad(lambda x: (lnp.top_k(x, 2)[0] ** 2).sum())(x),
        lm.grad(lambda x: (lnp.sort(lnp.sort(x) * w) * w).sum())(x),
        lm.vmap(lnp.argsort)(x),
        lm.vmap(lambda z: lnp.sort(z, 0), in_axes=1)(z),
        lm.vmap(lambda z: lnp.top_k(z, 3)[1])(z),
    ]
    program = """
jax.config.update("jax_enable_x64", True)
results = [
    jax.grad(lambda x: (jnp.sort(x, 0) * w).sum())(x),
    jax.grad(lambda x: jnp.median(x, 0).sum())(x),
    jax.grad(lambda x: (lax.top_k(x, 2)[0] ** 2).sum())(x),
    jax.grad(lambda x: (jnp.sort(jnp.sort(x) * w) * w).sum())(x),
    jax.vmap(jnp.argsort)(x),
    jax.vmap(lambda z: jnp.sort(z, 0), in_axes=1)(z),
    jax.vmap(lambda z: lax.top_k(z, 3)[1])(z),
]
"""
    for one, other in zip(got, by_jax(program, {"x": x, "w": w, "z": z}), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("method", ["linear", "lower", "higher", "nearest", "midpoint"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_quantiles(dtype: str, method: str) -> None:
    x = (np.random.default_rng(0).standard_normal((6, 7, 5)) * 50).astype(dtype)
    for axis, keepdims in ((None, False), (0, True), (-1, False), ((0, 2), False)):
        options: dict[str, Any] = {"method": method, "keepdims": keepdims}
        got, want = (f.quantile(x, 0.3, axis, **options) for f in (lnp, np))
        assert (np.asarray(got).dtype, np.shape(got)) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-6 if dtype == "f4" else 1e-14)
    got, want = (f.percentile(x, [0, 25, 100], 1, method=method) for f in (lnp, np))
    np.testing.assert_allclose(got, want, atol=1e-5 if dtype == "f4" else 1e-13)


METHODS = (
    *("linear", "lower", "higher", "nearest", "midpoint", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased"),
    *("normal_unbiased", "averaged_inverted_cdf", "closest_observation", "inverted_cdf"),
)


@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize("n", [1, 4, pytest.param(7, marks=pytest.mark.thorough), pytest.param(16, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles_of_every_method_at_elements_and_between_them(name: str, n: int) -> None:
    rng = np.random.default_rng(n)
    x, points = rng.standard_normal((5, n)), np.r_[0, 1, np.arange(n + 1) / n, (np.arange(n) + 0.5) / n, rng.random(5)]
    for z in (x, np.where(rng.random(x.shape) < 0.3, np.nan, x), rng.integers(-9, 9, x.shape)):
        found = lm.jit(lambda z: [getattr(lnp, name)(z, points, axis=1, method=method) for method in METHODS])(z)
        for got, method in zip(found, METHODS, strict=True):
            want = getattr(np, name)(z, points, axis=1, method=method)
            assert got.dtype == want.dtype, method
            np.testing.assert_allclose(got, want, rtol=1e-13, err_msg=method)


def test_medians_and_nan() -> None:
    x = np.random.default_rng(0).standard_normal((9, 11))
    identical(lm.jit(lnp.median)(x), np.median(x))
    identical(lnp.median(x, 1), np.median(x, 1))
    x[0, 3] = x[5] = np.nan
    np.testing.assert_array_equal(lnp.median(x, 1), np.median(x, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of rows of NaN
        np.testing.assert_allclose(lnp.nanmedian(x, 1), np.nanmedian(x, 1))
        np.testing.assert_allclose(lnp.nanquantile(x, 0.7, 0), np.nanquantile(x, 0.7, 0))
        np.testing.assert_allclose(lnp.nanpercentile(x, [10, 70], 1), np.nanpercentile(x, [10, 70], 1))


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 64, 1000])
@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_places(dtype: str, n: int) -> None:
    a, v = np.sort(values(dtype, n)), values(dtype, (3, 50), 1)
    for side in ("left", "right"):
        identical(lm.jit(lambda a, v, side=side: lnp.searchsorted(a, v, side))(a, v), np.searchsorted(a, v, side))
    if n and dtype == "i4":
        for right in (False, True):
            identical(lnp.digitize(v, a, right), np.digitize(v, a, right))
            identical(lnp.digitize(v, a[::-1], right), np.digitize(v, a[::-1], right))
        identical(lm.jit(lnp.isin)(v, a), np.isin(v, a))


def test_counts() -> None:
    rng = np.random.default_rng(0)
    i, x, w = rng.integers(0, 9, 1000), rng.standard_normal(1000), rng.standard_normal(1000)
    identical(lm.jit(lambda i: lnp.bincount(i, length=12))(i), np.bincount(i, minlength=12))
    identical(lnp.bincount(i, w), np.bincount(i, w))
    for got, want in (
        (lm.jit(lambda x: lnp.histogram(x, 7))(x), np.histogram(x, 7)),
        (lnp.histogram(x, 7, (-1, 1)), np.histogram(x, 7, (-1, 1))),
        (lnp.histogram(x, np.array([-1, 0, 0.5, 2])), np.histogram(x, np.array([-1, 0, 0.5, 2]))),
    ):
        identical(got[0], want[0])
        np.testing.assert_allclose(got[1], want[1], rtol=1e-14)


def test_unique() -> None:
    x = np.array([3, 1, 3, 7, 1, 1, 9])
    got = lm.jit(lambda x: lnp.unique(x, True, True, True, size=4))(x)
    for one, other in zip(got, np.unique(x, True, True, True), strict=True):
        identical(one, other)
    identical(lnp.unique(x, size=6, fill_value=0), np.array([1, 3, 7, 9, 0, 0]))
    identical(lnp.unique(x, size=2), np.array([1, 3]))
    identical(lnp.unique(np.array([np.nan, 1, np.nan]), size=2), np.array([1, np.nan]))
    identical(lnp.union1d(x, np.array([2]), size=5), np.array([1, 2, 3, 7, 9]))


def test_refusals() -> None:
    with pytest.raises(lm.TracingError, match="with size="):
        lm.jit(lnp.unique)(np.arange(3))
    with pytest.raises(lm.ShapeError, match="give length="):
        lm.jit(lambda x: lnp.bincount(x))(np.arange(3))
    with pytest.raises(lm.ShapeError, match="out of bounds"):
        lnp.partition(np.arange(3), 3)
    with pytest.raises(lm.ShapeError, match="k must be within"):
        lnp.top_k(np.arange(3), 4)


@pytest.mark.thorough
def test_names_of_lax() -> None:
    """Several keys, others moved along, another dim; places as int32."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, (5, 7)), rng.standard_normal((5, 7))
    for dim in (0, 1, -1):
        order = np.argsort(a, axis=dim, kind="stable")
        keys, values = lm.lax.sort_key_val(a, b, dim)
        np.testing.assert_array_equal(keys, np.take_along_axis(a, order, dim))
        np.testing.assert_array_equal(values, np.take_along_axis(b, order, dim))
    order = np.lexsort([b, a])
    first, second = lm.jit(lambda a, b: lm.lax.sort((a, b), num_keys=2))(a, b)
    np.testing.assert_array_equal(first, np.take_along_axis(a, order, 1))
    np.testing.assert_array_equal(second, np.take_along_axis(b, order, 1))
    np.testing.assert_array_equal(lm.lax.sort(b, 0), np.sort(b, 0))
    values, places = lm.lax.top_k(b, 2)
    assert places.dtype == np.int32
    np.testing.assert_array_equal(values, np.take_along_axis(b, places, 1))
    with pytest.raises(lm.ShapeError, match=r"sort takes arrays of one shape, 2 of them keys, got shapes \[\[5, 7\], \[5\]\]"):
        lm.lax.sort((a, b[:, 0]), num_keys=2)

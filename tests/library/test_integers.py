"""Integers of every width: NumPy's dtypes, wrap-around and promotion, in programs, eager calls and kernels."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.dialects.element_types import TABLE, Kind
from lamina.dialects.graph.elementwise import convert_array

COMPUTED = [row.dtype for row in TABLE if not row.is_stored and row.kind is not Kind.COMPLEX]
INTEGERS = [row.dtype for row in TABLE if row.kind in (Kind.SIGNED, Kind.UNSIGNED) and not row.is_stored]
BYTES = [np.dtype(np.int8), np.dtype(np.uint8)]
BINARY = (
    *("add", "subtract", "multiply", "floor_divide", "remainder", "fmod", "maximum", "minimum", "true_divide"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
)
by_name = pytest.mark.parametrize("name", BINARY)
of_bytes = pytest.mark.parametrize("dtype", BYTES, ids=str)
of_integers = pytest.mark.parametrize("dtype", INTEGERS, ids=str)


@pytest.fixture(autouse=True)
def numpy_is_quiet() -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def pairs(dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of values of a type of one byte."""
    every = np.arange(256).astype(np.uint8).view(dtype)
    x, y = np.meshgrid(every, every)
    return x.ravel(), y.ravel()


def values(dtype: np.dtype[Any], rng: np.random.Generator, count: int = 80) -> np.ndarray:
    """Numbers of a type, extremes among them."""
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(dtype)
    if dtype.kind == "f":
        edges = [
            0.0,
            -0.5,
            0.5,
            np.inf,
            -np.inf,
            np.nan,
            *(s * (2.0**k + d) for s in (1, -1) for k in (7, 8, 31, 63) for d in (0, 1)),
        ]
        return np.resize(np.array([*edges, *(rng.normal(size=count) * 300)], dtype), count)
    limits = np.iinfo(dtype)
    drawn = rng.integers(limits.min, limits.max, count, dtype, endpoint=True)
    drawn[:4] = limits.min, limits.max, 0, 1
    return rng.permutation(drawn)


def same(got: Any, want: Any) -> None:
    """Equal numbers of one dtype; what NumPy computes in float16 is float32 here."""
    got, want = np.asarray(got), np.asarray(want)
    if want.dtype.kind == "f":
        np.testing.assert_allclose(got, want, rtol=1e-3 if want.dtype == np.float16 else 1e-6)
    else:
        np.testing.assert_array_equal(got, want)
    assert got.dtype == (np.float32 if want.dtype == np.float16 else want.dtype)


@of_bytes
@by_name
def test_all_pairs_of_bytes(dtype: np.dtype[Any], name: str) -> None:
    x, y = pairs(dtype)
    same(lm.jit(getattr(lnp, name))(x, y), getattr(np, name)(x, y))


UNARY: list[Callable[[Any, Any], Any]] = [
    lambda f, x: -x,
    lambda f, x: ~x,
    lambda f, x: abs(x),
    lambda f, x: f.sign(x),
    lambda f, x: x**3,
    lambda f, x: f.square(x),
    lambda f, x: f.round(x),
    lambda f, x: f.clip(x, 3, 100),
    lambda f, x: f.where(x > 3, x, 7),
    lambda f, x: f.sqrt(abs(x) // 4),
    lambda f, x: f.sum(x),
    lambda f, x: f.sum(x, dtype=f.int32),
    lambda f, x: f.prod(x, dtype=x.dtype),
    lambda f, x: f.mean(x),
    lambda f, x: f.max(x),
    lambda f, x: f.min(x),
    lambda f, x: f.argmax(x),
    lambda f, x: f.argmin(x),
    lambda f, x: f.cumsum(x),
    lambda f, x: f.cumsum(x, dtype=x.dtype),
    lambda f, x: x.reshape(-1, 8).T,
    lambda f, x: x.reshape(8, -1) @ x.reshape(-1, 8),
    lambda f, x: f.concatenate([x, x[::-2]]),
    lambda f, x: f.pad(x, 3, constant_values=2),
    lambda f, x: x + 1 > x,
]


@pytest.mark.thorough(every=8)
@of_integers
def test_functions(dtype: np.dtype[Any]) -> None:
    x = values(dtype, np.random.default_rng(0))
    for function in UNARY:
        want = function(np, x)
        same(lm.jit(lambda v, function=function: function(lnp, v))(x), want)
        same(function(lnp, lnp.array(x)), want)


WITH_INTEGERS = [pair for pair in itertools.product(COMPUTED, COMPUTED) if not set(pair).isdisjoint(INTEGERS)]


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize(("one", "other"), WITH_INTEGERS, ids=str)
def test_promotion(one: np.dtype[Any], other: np.dtype[Any]) -> None:
    rng = np.random.default_rng(1)
    x, y = values(one, rng), values(other, rng)

    def all_of(f: Any, x: Any, y: Any) -> list[Any]:
        return [f.add(x, y), f.multiply(x, y), f.less(x, y), f.where(x == y, x, y)]

    for got, want in zip(lm.jit(lambda x, y: all_of(lnp, x, y))(x, y), all_of(np, x, y), strict=True):
        same(got, want)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize(("source", "target"), list(itertools.product(COMPUTED, COMPUTED)), ids=str)
def test_conversion(source: np.dtype[Any], target: np.dtype[Any]) -> None:
    x = values(source, np.random.default_rng(2))
    same(lm.jit(lambda v: v.astype(target))(x), convert_array(x, target))
    same(lm.jit(lambda v: v.astype(target))(x[:1]), convert_array(x[:1], target))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_programs(data: st.DataObject) -> None:
    """Random expressions over integers of several types, in a program and eagerly."""
    dtypes = data.draw(st.lists(st.sampled_from(INTEGERS), min_size=2, max_size=3))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    arrays = [values(dtype, rng, 33) for dtype in dtypes]
    steps = data.draw(
        st.lists(st.tuples(st.sampled_from(BINARY[:7]), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=4)
    )

    def program(f: Any, *given: Any) -> Any:
        found = list(given)
        for name, i, j in steps:
            found.append(getattr(f, name)(found[i % len(found)], found[j % len(found)]))
        return found[-1]

    want = program(np, *arrays)
    if want.dtype.kind == "f":  # int64 beside uint64
        return
    same(lm.jit(lambda *xs: program(lnp, *xs))(*arrays), want)
    same(program(lnp, *arrays), want)


def test_indices() -> None:
    table, rng = np.arange(300.0), np.random.default_rng(3)
    for dtype in INTEGERS:
        places = rng.integers(0, 100, 9).astype(dtype)
        same(lm.jit(lambda t, i: t[i])(table, places), table[places])
        same(lm.jit(lambda t, i: t.at[i].add(1.0))(table, places), np.add.at(t := table.copy(), places, 1.0) or t)


def test_numbers_that_do_not_fit() -> None:
    x = np.zeros(3, np.uint8)
    with pytest.raises(OverflowError, match="300 out of bounds for uint8"):
        lnp.add(x, 300)
    with pytest.raises(OverflowError, match="-1 out of bounds for uint8"):
        lm.jit(lambda v: v * -1)(x)


def test_integers_have_no_slope() -> None:
    with pytest.raises(lm.DifferentiationError, match="uint8"):
        lm.grad(lambda v: v.astype(lnp.float32).sum())(np.zeros(3, np.uint8))

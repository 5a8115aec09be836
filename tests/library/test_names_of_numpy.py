"""Names of NumPy and jax that are composed, or NumPy's own: against NumPy over drawn arguments, in jit, grad and vmap."""

from __future__ import annotations

import itertools
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

FEW = settings(max_examples=25, deadline=None)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9)
BITS = hnp.arrays(np.int32, hnp.array_shapes(max_dims=3, max_side=19), elements=st.integers(0, 2))
BYTES = hnp.arrays(np.uint8, hnp.array_shapes(max_dims=3, max_side=5))


def same(got: Any, want: Any, **close: float) -> None:
    assert np.asarray(got).dtype == np.asarray(want).dtype
    np.testing.assert_allclose(got, want, **close)


@FEW
@given(BITS, st.sampled_from(["big", "little"]), st.data())
def test_packbits(x: np.ndarray, order: str, data: st.DataObject) -> None:
    axis = data.draw(st.sampled_from([None, *range(x.ndim), -1]))
    same(lnp.packbits(x, axis, order), np.packbits(x, axis, order))
    same(lm.vmap(lambda row: lnp.packbits(row, bitorder=order))(x[None])[0], np.packbits(x, bitorder=order))


@FEW
@given(BYTES, st.sampled_from(["big", "little"]), st.sampled_from([None, 0, 3, 11, 100, -2]), st.data())
def test_unpackbits(x: np.ndarray, order: str, count: int | None, data: st.DataObject) -> None:
    axis = data.draw(st.sampled_from([None, *range(x.ndim)]))
    same(lnp.unpackbits(x, axis, count, order), np.unpackbits(x, axis, count, order))


def test_packbits_refuses() -> None:
    with pytest.raises(lm.DTypeError, match="integers or bools"):
        lnp.packbits(np.ones(3))
    with pytest.raises(lm.DTypeError, match="uint8"):
        lnp.unpackbits(np.ones(3, int))
    with pytest.raises(lm.ShapeError, match="bitorder"):
        lnp.packbits(np.ones(3, int), bitorder="middle")


@FEW
@given(hnp.arrays(np.float64, hnp.array_shapes(max_dims=2, max_side=12), elements=st.floats(-30, 30)), st.data())
def test_unwrap(x: np.ndarray, data: st.DataObject) -> None:
    axis, period = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.sampled_from([2 * np.pi, 3.5, 1.0]))
    discont = data.draw(st.sampled_from([None, 4.0]))
    got, want = lnp.unwrap(x, discont, axis, period=period), np.unwrap(x, discont, axis, period=period)
    # a jump of half a period may go either way by the last bit
    off = (np.asarray(got) - want) / period
    step = np.diff(x, axis=axis) / period
    if (np.abs(np.abs(step - np.rint(step)) - 0.5) > 1e-9).all():
        np.testing.assert_allclose(off, 0, atol=1e-9)


def test_unwrap_of_integers() -> None:
    for x, period in (([0, 1, 2, -1, 0], 4), ([1, 2, 3, 4, 5, 6, 1, 2, 3], 6), ([0, 3, 1, 7], 5)):
        same(lnp.unwrap(np.array(x), period=period), np.unwrap(np.array(x), period=period))
    for dtype in (np.int8, np.uint8, np.int16, np.bool_):
        x = np.array([[0, 100, 3, 90], [7, -120, 127, 1]]).astype(dtype)
        same(lnp.unwrap(x), np.unwrap(x), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spacing(dtype: Any) -> None:
    x = np.array([0.0, 1.0, -1.0, 2.0, 1e30, -3e-39, np.nan, 0.1], dtype)
    same(lnp.spacing(x), np.spacing(x))


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.int32])
def test_spacing_of_integers(dtype: Any) -> None:
    x = np.array([0, 1, 300], dtype)
    same(lnp.spacing(x), np.spacing(x))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8])
def test_mean_in_integers(dtype: Any) -> None:
    """The sum in the dtype, which wraps, and the quotient truncated to it."""
    x = np.array([[1, 2, 4], [-7, 100, 90]], np.int32)
    for options in ({}, {"axis": 1}, {"axis": 0, "keepdims": True}, {"where": x > 1}):
        same(lnp.mean(x, dtype=dtype, **options), np.mean(x, dtype=dtype, **options))
        same(lm.jit(lambda x, o=options: x.mean(dtype=dtype, **o))(x), x.mean(dtype=dtype, **options))


@pytest.mark.thorough
@FEW
@given(hnp.arrays(np.float64, st.integers(0, 7), elements=st.floats(-3, 3)))
def test_poly(x: np.ndarray) -> None:
    same(lnp.poly(x), np.asarray(np.poly(x), np.float64), rtol=1e-9, atol=1e-9)
    if x.size:
        e = 1e-6 * np.cos(np.arange(x.size))
        along = (np.poly(x + e) - np.poly(x - e)) / 2e-6
        np.testing.assert_allclose(lm.jvp(lnp.poly, (x,), (e / 1e-6,))[1], along, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("f", ["sum", "cumsum", "outer"])
def test_apply_along_axis(axis: int, f: str) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4))
    of = {"sum": lambda m, v: v.sum(), "cumsum": lambda m, v: m.cumsum(v), "outer": lambda m, v: m.outer(v, v)}[f]
    want = np.apply_along_axis(lambda v: of(np, v), axis, x)
    same(lnp.apply_along_axis(lambda v: of(lnp, v), axis, x), want, rtol=1e-12)
    same(lm.jit(lambda x: lnp.apply_along_axis(lambda v: of(lnp, v), axis, x))(x), want, rtol=1e-12)


def test_apply_over_axes() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for axes in (0, [0, 2], (1, -1)):
        same(lnp.apply_over_axes(lnp.sum, x, axes), np.apply_over_axes(np.sum, x, axes))


VECTORIZED = [
    (None, lambda m: lambda a, b: m.sin(a) + b, [(3, 1), (4,)]),
    ("(n),(n)->()", lambda m: lambda a, b: m.dot(a, b), [(5, 4), (4,)]),
    ("(m,n),(n)->(m)", lambda m: lambda a, b: m.matmul(a, b), [(2, 1, 3, 4), (5, 4)]),
    ("(n)->(n),()", lambda m: lambda a: (m.cumsum(a), a.sum()), [(2, 3, 4)]),
    ("(),(n)->(n)", lambda m: lambda a, b: a * b, [(), (4,)]),
]


@pytest.mark.parametrize(("signature", "make", "shapes"), VECTORIZED, ids=[str(row[0]) for row in VECTORIZED])
def test_vectorize(signature: str | None, make: Any, shapes: Any) -> None:
    args = [np.random.default_rng(k).standard_normal(shape) for k, shape in enumerate(shapes)]
    got = lnp.vectorize(make(lnp), signature=signature)(*args)
    want = np.vectorize(make(np), signature=signature)(*args)
    for g, w in zip(*((x if isinstance(x, tuple) else (x,)) for x in (got, want)), strict=True):
        same(g, w, rtol=1e-12)
    with pytest.raises(lm.ShapeError):
        lnp.vectorize(make(lnp), signature="(a,b),(c,d),(e)->()")(*args)


def test_vectorize_excludes() -> None:
    f = lnp.vectorize(lambda x, n: x * len(n), excluded={1})
    assert f(np.ones(3), "abcd").tolist() == [4, 4, 4]


@pytest.mark.parametrize("bins", [4, [3, 5], "edges"])
@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_histograms_of_several_dims(bins: Any, density: bool, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (2, 40))
    edges = [np.array([-1, 0, 0.5, 1.0]), np.array([-0.5, 0, 2.0])] if bins == "edges" else bins
    weights = rng.uniform(0, 1, 40) if weighted else None
    for got, want in zip(
        lnp.histogram2d(x, y, edges, None, density, weights), np.histogram2d(x, y, edges, None, density, weights), strict=True
    ):
        same(got, want, rtol=1e-12)
    counts, found = lnp.histogramdd(np.stack([x, y], 1), edges, density=density, weights=weights)
    same(counts, np.histogramdd(np.stack([x, y], 1), edges, density=density, weights=weights)[0], rtol=1e-12)
    assert len(found) == 2
    one = lm.jit(lambda x, y: lnp.histogram2d(x, y, edges, [[-1, 1], [-1, 1]])[0])(x, y)
    same(one, np.histogram2d(x, y, edges, [[-1, 1], [-1, 1]])[0])


INTEGERS = hnp.arrays(np.int64, st.integers(0, 9), elements=st.integers(-3, 3))


@FEW
@given(INTEGERS, INTEGERS)
def test_results_of_open_size(x: np.ndarray, y: np.ndarray) -> None:
    for name in ("intersect1d", "setdiff1d", "setxor1d", "union1d"):
        got = getattr(lnp, name)(x, y)
        assert type(got) is lm.Array
        same(got, getattr(np, name)(x, y))
    for name in ("unique", "trim_zeros", "unique_values"):
        same(getattr(lnp, name)(x), getattr(np, name)(x))
    for got, want in zip(lnp.unique_all(x), np.unique_all(x), strict=True):
        same(got, want)
    for got, want in zip(lnp.unique(x, True, True, True), np.unique(x, True, True, True), strict=True):
        same(got, want)


@pytest.mark.parametrize("name", ["unique", "setdiff1d", "trim_zeros"])
def test_results_of_open_size_while_tracing(name: str) -> None:
    x = np.array([0, 2, 1, 2, 0])
    f = lambda x: getattr(lnp, name)(x, *([np.array([1])] if name == "setdiff1d" else [])).sum()  # noqa: E731
    with pytest.raises(lm.TracingError, match=rf"{name} has a result whose size depends on .* size="):
        lm.jit(f)(x)
    assert lm.vmap(lambda y, x: y + f(x), in_axes=(0, None))(np.zeros(2, int), x).tolist() == [f(x)] * 2
    with pytest.raises(lm.TracingError, match="size depends on"):  # of floats it were a constant to the derivative
        lm.grad(f)(x.astype(float))


def test_functions_of_numbers() -> None:
    for name in ("bartlett", "blackman", "hamming", "hanning"):
        for n in (0, 1, 8, 9):
            got = getattr(lnp, name)(n)
            assert type(got) is lm.Array
            same(got, getattr(np, name)(n))
    same(lnp.kaiser(7, 2.5), np.kaiser(7, 2.5))
    assert lnp.isscalar(3) and not lnp.isscalar(np.ones(1)) and lnp.iterable([1]) and not lnp.iterable(1)
    same(lnp.frombuffer(b"\1\2", np.uint8), np.array([1, 2], np.uint8))
    same(lnp.from_dlpack(np.arange(3.0)), np.arange(3.0))
    same(lnp.fromiter([1.0, 2.0], float), np.array([1.0, 2.0]))
    assert lnp.einsum_path("ij,jk->ik", np.ones((2, 2)), np.ones((2, 2)))[0] == ["einsum_path", (0, 1)]
    assert lm.jit(lambda x: (x * lnp.hanning(4)).sum())(np.ones(4)) == np.hanning(4).sum()


def test_names_of_types() -> None:
    x = np.array([1.0, 2.5], np.float32)
    for name, dtype in {
        "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "single": np.float32, "double": np.float64, "int_": np.int64,
        "float_": np.float64, "uint": np.uint64,
    }.items():  # fmt: skip
        assert lm.jit(lambda x, name=name: x.astype(getattr(lnp, name)))(x).dtype == np.dtype(dtype)
    assert lnp.finfo(lnp.bfloat16).eps == 2**-7 and lnp.finfo(np.float32).eps == np.finfo(np.float32).eps
    assert lnp.bfloat16(1.5) == 1.5 and lnp.issubdtype(lnp.float16, lnp.floating)
    same(lnp.around(x, 0), np.round(x))


def test_functions_of_narrow_integers():
    """Each raised an error of Python or of the compiler."""
    assert np.asarray(lm.nn.hard_tanh(np.array([0, 1, 5], np.uint8))).tolist() == [0, 1, 1]
    with lm.config(x64=False):
        assert lnp.bincount(np.array([1, 2, 1], np.int32)).dtype == np.int32
        assert lnp.bincount(np.array([1, 2, 1], np.int32), weights=np.ones(3)).tolist() == [0, 2, 1]
        assert lnp.spacing(np.array([1, 2], np.int32)).tolist() == np.spacing(np.float32([1, 2])).tolist()


@pytest.mark.thorough
def test_sets_of_a_given_size() -> None:
    rng = np.random.default_rng(0)
    forms = list(itertools.product((None, -1), (0, 1, 7), ("setdiff1d", "intersect1d", "setxor1d")))
    sizes = ((0, 0), (40, 3), (0, 3), (5, 40), (1, 0), (1, 1), (40, 40), (5, 3), (3, 1))
    for k, (n, m) in enumerate(sizes):
        dtype = (np.int32, np.float32)[k % 2]
        a, b = rng.integers(0, 9, n).astype(dtype), rng.integers(0, 9, m).astype(dtype)
        for fill, size, name in (forms[(3 * k + j) % len(forms)] for j in range(3)):
            found = getattr(np, name)(a, b)
            rest = fill if fill is not None else 0 if name == "setdiff1d" or not found.size else found[0]
            want = np.concatenate([found, np.full(size, rest, dtype)])[:size]
            given = {"size": size, "fill_value": fill}
            np.testing.assert_array_equal(
                lm.jit(lambda a, b, name=name, given=given: getattr(lnp, name)(a, b, **given))(a, b), want
            )
        found = np.intersect1d(a, b, return_indices=True)
        for got, want, rest in zip(lnp.intersect1d(a, b, return_indices=True, size=9), found, (None, n, m), strict=True):
            np.testing.assert_array_equal(got[: len(want)], want)
            assert rest is None or (got[len(want) :] == rest).all()
    values, first, inverse, counts = lm.jit(lambda x: lnp.unique_all(x, size=4, fill_value=0))(np.array([3, 1, 3]))
    np.testing.assert_array_equal(np.stack([values, first, counts]), [[1, 3, 0, 0], [1, 0, 1, 1], [1, 2, 0, 0]])
    np.testing.assert_array_equal(inverse, [1, 0, 1])
    np.testing.assert_array_equal(lnp.setdiff1d(np.array([5, 3, 5]), np.array([1]), True, size=4), [5, 3, 5, 0])

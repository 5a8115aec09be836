"""Indexing by arrays, updates at indices, running sums and segment sums against NumPy and jax."""

from __future__ import annotations

import sys
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

X = np.random.default_rng(0).standard_normal((4, 5, 3))
IDS = np.array([3, 0, 0, -1, 2])
UPDATES = ("set", "add", "mul", "min", "max")
AT = {"add": np.add.at, "mul": np.multiply.at, "min": np.minimum.at, "max": np.maximum.at}


def same(got: Any, want: Any) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, f"{got.dtype}{got.shape} for {want.dtype}{want.shape}"
    np.testing.assert_array_equal(got, want)


def evaluate(function: Any, *args: Any) -> Any:
    """The meaning of a traced function, without compiling it."""
    from lamina.frontend.run.eager import EagerTrace

    with EagerTrace() as trace:
        return trace.result(function(*(trace.lift(a) for a in args)))


@st.composite
def indexings(draw: Any) -> tuple[np.ndarray, list[Any], list[bool]]:
    """An array, an index with at least one array in it, and which of its entries are traced."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    count = draw(st.integers(1, len(shape)))
    points = draw(st.sampled_from([(), (1,), (3,), (2, 3), (0,)]))
    ellipsis = draw(st.integers(0, count))  # where it stands, if it does: what follows is of the last dims
    sizes = [*shape[:ellipsis], *shape[len(shape) - count + ellipsis :]]
    entries: list[Any] = []
    for n in sizes:
        array = hnp.arrays(np.int64, st.sampled_from([points, points[-1:]]), elements=st.integers(-n, n - 1))
        part = st.slices(n) | st.integers(-n, n - 1) | array | st.just(slice(None))
        entries.append(draw(part))
    if not any(isinstance(e, np.ndarray) for e in entries):
        entries[0] = draw(hnp.arrays(np.int64, points, elements=st.integers(-sizes[0], sizes[0] - 1)))
    if ellipsis != count or draw(st.booleans()):
        entries.insert(ellipsis, Ellipsis)
    if draw(st.booleans()):
        entries.insert(draw(st.integers(0, len(entries))), None)
    x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    return x, entries, [isinstance(e, np.ndarray) and draw(st.booleans()) for e in entries]


def with_index(entries: list[Any], traced: list[bool], function: Any) -> tuple[Any, list[np.ndarray]]:
    """`function(x, index)` as a function of x and the traced entries; these entries."""
    given = [e for e, t in zip(entries, traced, strict=True) if t]

    def run(x: Any, *tracers: Any) -> Any:
        rest = iter(tracers)
        return function(x, tuple(next(rest) if t else e for e, t in zip(entries, traced, strict=True)))

    return run, given


@given(indexings())
@settings(max_examples=200, deadline=None)
def test_reads_as_numpy(case: Any) -> None:
    x, entries, traced = case
    function, given_ = with_index(entries, traced, lambda x, index: x[index])
    same(evaluate(function, x, *given_), np.asarray(x[tuple(entries)]))


@pytest.mark.thorough
@given(indexings(), st.sampled_from(UPDATES), st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_updates_as_numpy(case: Any, kind: str, dropped: int) -> None:
    x, entries, traced = case
    shape = x[tuple(entries)].shape
    values = np.arange(2.0, 2 + np.prod(shape)).reshape(shape)
    if values.ndim and dropped == 1:
        values = values[..., :1]
    want = x.copy()
    if kind == "set":
        want[tuple(entries)] = values
    else:
        AT[kind](want, tuple(entries), values)
    function, given_ = with_index(entries, traced, lambda x, index: getattr(x.at[index], kind)(values))
    same(evaluate(function, x, *given_), want)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize(
    "index",
    [1, -1, slice(1, 3), (slice(None), slice(0, 2)), (1, None, slice(2, 4)), slice(None), slice(4, 1, -2), slice(3, 1), ...],
)
@pytest.mark.parametrize("kind", UPDATES)
def test_updates_of_slices(index: Any, kind: str) -> None:
    want = X.copy()
    if kind == "set":
        want[index] = 0.5
    else:
        AT[kind](want, index, 0.5)
    same(evaluate(lambda x: getattr(x.at[index], kind)(0.5), X), want)
    same(lm.jit(lambda x: getattr(x.at[index], kind)(0.5))(X), want)


def test_outside_is_never_touched() -> None:
    wild = np.array([0, 4, -5, 2**62, -(2**63), 3])
    x = X[:, 0, 0]
    read = lm.jit(lambda x, i: x[i])(x, wild)
    same(read, x[[0, 3, 0, 3, 0, 3]])
    want = x.copy()
    want[[0, 3]] += 1
    same(lm.jit(lambda x, i: x.at[i].add(1.0))(x, wild), want)
    same(lm.jit(lambda x, i: x.at[i].add(1.0, mode="clip"))(x, wild), x + np.array([3, 0, 0, 3]))
    same(lm.jit(lambda x, i: lnp.take(x, i, mode="fill", fill_value=7.0))(x, wild), [x[0], 7, 7, 7, 7, x[3]])
    same(lm.jit(lambda x, i: x.at[i].get(mode="fill"))(x, wild), [x[0], *[np.nan] * 4, x[3]])


def test_modes_of_take() -> None:
    for mode in ("clip", "wrap"):
        for ids in (np.array([[0, 9], [-1, -7]]), np.array([2], np.int32)):
            want = np.take(X, ids, axis=1, mode=mode)  # pyright: ignore
            same(lnp.take(X, ids, axis=1, mode=mode), want)
            same(lm.jit(lambda x, i, mode=mode: lnp.take(x, i, axis=1, mode=mode))(X, ids), want)
    same(lnp.take(X, [-1, 2]), np.take(X, [-1, 2]))
    same(lnp.take(X, 3, axis=0), np.take(X, 3, axis=0))
    same(np.take(X, IDS, 0), evaluate(lambda x, i: np.take(x, i, 0), X, IDS))
    with pytest.raises(lm.ShapeError, match="index 4 is out of bounds for dim 0 of size 4"):
        lnp.take(X, [4], axis=0)
    with pytest.raises(lm.TracingError, match="traced indices cannot be checked"):
        lm.jit(lambda x, i: lnp.take(x, i, mode="raise"))(X, IDS)
    with pytest.raises(lm.ShapeError, match="mode must be one of"):
        lnp.take(X, IDS, mode="nearest")


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_take_along_axis(data: Any) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    sizes = [data.draw(st.sampled_from([1, n])) for n in shape]
    sizes[axis] = data.draw(st.integers(0, 5))
    n = shape[axis]
    ids = data.draw(hnp.arrays(np.int64, tuple(sizes), elements=st.integers(-n, n - 1)))
    x = np.arange(np.prod(shape)).reshape(shape)
    want = np.take_along_axis(x, ids, axis)
    same(evaluate(lambda x, i: lnp.take_along_axis(x, i, axis), x, ids), want)
    same(lnp.take_along_axis(x, ids, axis), want)


def test_masks_are_refused() -> None:
    for function in (lambda x: x[x > 0], lambda x: x.at[x > 0].set(0), lambda x: lnp.take(x, x > 0)):
        with pytest.raises(lm.TracingError, match=r"boolean mask.*lnp.where"):
            lm.jit(function)(X)
    with pytest.raises(lm.TracingError, match=r"x.at\[index\].set"):
        lm.jit(lambda x: x.__setitem__(0, 1))(X)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
def test_cumulative(name: str, dtype: str) -> None:
    x = (X * 3).astype(dtype)
    for axis in (None, 0, 1, -1):
        want = getattr(np, name)(x, axis)
        same(getattr(lnp, name)(x, axis), want)
        same(lm.jit(lambda x, axis=axis: getattr(x, name)(axis))(x), want)
    same(getattr(lnp, name)(x, 1, reverse=True), getattr(np, name)(x[:, ::-1], 1)[:, ::-1])


def test_running_extremes() -> None:
    x = np.where(X > 1.5, np.nan, X)
    for axis in (0, 1, 2):
        same(lm.jit(lambda x, axis=axis: lnp.cummax(x, axis))(x), np.maximum.accumulate(x, axis))
        same(
            lm.jit(lambda x, axis=axis: lnp.cummin(x, axis, reverse=True))(x),
            np.flip(np.minimum.accumulate(np.flip(x, axis), axis), axis),
        )


def test_segment_sum() -> None:
    ids = np.array([0, 5, -1, 2, 2])
    data = np.random.default_rng(1).standard_normal((5, 40)).astype(np.float32)
    want = np.zeros((4, 40), np.float32)
    np.add.at(want, [0, 2, 2], data[[0, 3, 4]])
    same(lm.jit(lambda d, i: lm.segment_sum(d, i, 4))(data, ids), want)
    same(lnp.segment_sum(data[:, 0], np.abs(ids)), np.bincount(np.abs(ids), data[:, 0]).astype(np.float32))
    same(lnp.segment_sum(data, ids, 0), np.zeros((0, 40), np.float32))
    with pytest.raises(lm.TracingError, match="num_segments="):
        lm.jit(lm.segment_sum)(data, ids)
    with pytest.raises(lm.ShapeError, match="one id for each row"):
        lm.segment_sum(data, ids[:3])


@pytest.mark.parametrize("columns", [64, 72, 128])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_segment_sum_of_many_rows(columns: int, threads: int) -> None:
    """Columns are divided among threads; the rows of a segment are added in their order, those without one left out."""
    rng = np.random.default_rng(3)
    data = rng.standard_normal((5000, columns)).astype(np.float32)
    ids = rng.integers(-3, 100, 5000)
    want, inside = np.zeros((90, columns), np.float32), (ids >= 0) & (ids < 90)
    np.add.at(want, ids[inside], data[inside])
    before = lm.get_threads()
    try:
        lm.set_threads(threads)
        same(lm.jit(lambda d, i: lm.segment_sum(d, i, 90))(data, ids), want)
    finally:
        lm.set_threads(before)


def test_same_result_on_any_number_of_threads() -> None:
    rng = np.random.default_rng(2)
    data = rng.standard_normal((20_000, 64)).astype(np.float32)
    ids = rng.integers(-3, 300, 20_000)
    function = lm.jit(lambda d, i: (lm.segment_sum(d, i, 256), lnp.cumsum(d, 0), lnp.cumsum(d, 1), d[i]))
    threads = lm.get_threads()
    try:
        results = []
        for n in (1, 2, 3):
            lm.set_threads(n)
            results.append(function(data, ids))
    finally:
        lm.set_threads(threads)
    want = np.zeros((256, 64), np.float32)
    kept = (ids >= 0) & (ids < 256)
    np.add.at(want, ids[kept], data[kept])
    sums, columns, rows, taken = results[0]
    for got, expected in ((sums, want), (rows, np.cumsum(data, 1)), (taken, data[ids])):
        same(got, expected)
    exact, magnitudes = np.cumsum(data, 0, dtype=np.float64), np.cumsum(abs(data), 0, dtype=np.float64)
    assert (abs(columns - exact) <= 2**-20 * magnitudes).all()  # 20,000 terms, which are added in blocks
    for result in results[1:]:
        for got, expected in zip(result, results[0], strict=True):
            same(got, expected)


def test_embedding_and_its_gradient() -> None:
    table = np.random.default_rng(3).standard_normal((7, 5)).astype(np.float32)
    ids = np.array([[0, 6, 6], [-1, 3, 0]])
    same(lm.nn.embedding(ids, table), table[ids])
    same(lm.jit(lm.nn.embedding)(ids, table), table[ids])
    gradient = lm.grad(lambda t: (lm.nn.embedding(ids, t) * 2.0).sum())(table)
    same(gradient, np.bincount((ids % 7).ravel(), minlength=7)[:, None].astype(np.float32) * np.full((7, 5), 2, np.float32))
    with pytest.raises(lm.ShapeError, match="out of bounds"):
        lm.nn.embedding(np.array([7]), table)
    with pytest.raises(lm.ShapeError, match="rows and features"):
        lm.nn.embedding(ids, table[0])


def test_blocks_at_traced_places() -> None:
    take = lm.jit(lambda x, i, j: lnp.dynamic_slice(x, (i, j, 0), (2, 3, 3)))
    put = lm.jit(lambda x, u, i: lnp.dynamic_update_slice(x, u, (i, 0, 1)))
    for i, start in ((0, 0), (1, 1), (-1, 2), (9, 2), (-9, 0)):
        same(take(X, i, i), X[start : start + 2, min(max(i if i >= 0 else i + 5, 0), 2) :][:, :3])
        want = X.copy()
        want[start : start + 2, :2, 1:] = 5
        same(put(X, np.full((2, 2, 2), 5.0), i), want)
    with pytest.raises(lm.ShapeError, match="does not fit"):
        lnp.dynamic_slice(X, (0, 0, 0), (5, 1, 1))


JAX = """
results = []
for kind in ("set", "add", "min", "max"):
    def loss(a, b):
        y = getattr(a.at[ids], kind)(b)
        return (jnp.sin(y) * y).sum()
    results += jax.grad(loss, argnums=(0, 1))(x, u)
for name in ("cumsum", "cumprod"):
    results.append(jax.grad(lambda a: (getattr(jnp, name)(a, 1) ** 2).sum())(x))
results.append(jax.vmap(lambda a, i: a[i])(x, ids[:4]))
"""


@pytest.mark.thorough
def test_against_jax() -> None:
    x, u = X[:, :, 0].astype(np.float32), np.random.default_rng(4).standard_normal((5, 5)).astype(np.float32)
    want = iter(by_jax(JAX, {"x": x, "u": u, "ids": IDS}))
    for kind in ("set", "add", "min", "max"):

        def loss(a: Any, b: Any, kind: str = kind) -> Any:
            y = getattr(a.at[IDS], kind)(b)
            return (lnp.sin(y) * y).sum()

        for got in lm.grad(loss, argnums=(0, 1))(x, u):
            np.testing.assert_allclose(got, next(want), rtol=1e-5, atol=1e-6)
    for name in ("cumsum", "cumprod"):
        got = lm.grad(lambda a: (getattr(lnp, name)(a, 1) ** 2).sum())(x)  # noqa: B023
        np.testing.assert_allclose(got, next(want), rtol=2e-5, atol=1e-6)
    np.testing.assert_array_equal(lm.vmap(lambda a, i: a[i])(x, IDS[:4]), next(want))


@pytest.mark.parametrize("columns", [32, 100, 128])
@pytest.mark.parametrize("start", [0, 3])
def test_take_of_much_goes_past_the_caches(columns: int, start: int) -> None:
    rng = np.random.default_rng(columns)
    table = rng.standard_normal((70, columns)).astype(np.float32)
    index = rng.integers(-70, 70, 5_000_000 // (4 * columns))
    function = lm.jit(lambda t, i: lnp.take(t, i, axis=0))
    assert "streamed" in function.lower(table, index).as_text("scheduled")
    memory = np.zeros(index.size * columns + start, np.float32)
    out = memory[start:].reshape(index.size, columns)
    same(function(table, index), table[index])
    function(table, index, out=out)
    same(out, table[index])

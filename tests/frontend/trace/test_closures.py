"""Values that traced functions read beside their arguments: those of enclosing traces, and Python's own state."""

from __future__ import annotations

import itertools
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import ml_dtypes
import numpy as np
import pytest
from lamina.executor import executor

X = np.arange(12.0).reshape(3, 4)

USES = {
    "index": lambda r, i: r[i],
    "index of a row": lambda r, i: r[i:][0] if isinstance(i, int) else r[i],
    "index array": lambda r, i: r[lnp.stack([i, i + 1])].sum(),
    "take": lambda r, i: lnp.take(r, i, mode="wrap"),
    "fill": lambda r, i: lnp.take(r, i + 3, mode="fill", fill_value=7.0),
    "take_along_axis": lambda r, i: lnp.take_along_axis(r, lnp.reshape(i, (1,)), 0)[0],
    "dynamic_slice": lambda r, i: lnp.dynamic_slice(r, [i], [2]).sum(),
    "dynamic_update_slice": lambda r, i: lnp.dynamic_update_slice(r, r[:2] * 9, [i]).sum(),
    "at": lambda r, i: r.at[i].add(5.0)[i],
    "at set": lambda r, i: r.at[i].set(r[0] * i).sum(),
    "at clip": lambda r, i: r.at[i + 7].multiply(3.0, mode="clip").sum(),
    "bound": lambda r, i: lm.fori_loop(0, i, lambda k, v: v + r[k], 0.0),
    "lower bound": lambda r, i: lm.fori_loop(i, 3, lambda k, v: v + r[k] * i, 0.0),
    "loop body": lambda r, i: lm.fori_loop(0, 2, lambda k, v: v + r[i + k], 0.0),
    "scan body": lambda r, i: lm.scan(lambda c, y: (c + y * r[i], c), 0.0, r)[0],
    "where": lambda r, i: lnp.where(i > 0, r, -r).sum(),
    "reshape": lambda r, i: lnp.broadcast_to(lnp.reshape(i, (1, 1)), (2, 2)).sum() * r[0],
    "pad": lambda r, i: lnp.pad(r, 1, constant_values=i).sum(),
    "gradient": lambda r, i: lm.grad(lambda q: (q * q)[i] * i)(r).sum(),
    "inner vmap": lambda r, i: lm.vmap(lambda e: e * r[i] + i)(r).sum(),
    "jvp": lambda r, i: lm.jvp(lambda q: q[i] ** 2, (r,), (r,))[1],
}
"""Functions of a row and an integer, which come from any two of the traces around them."""


def _vmapped(use: Any) -> Any:
    return lambda x, i: lm.vmap(lambda r: use(r, i))(x)


def _looped(use: Any) -> Any:
    return lambda x, i: lm.fori_loop(0, 3, lambda k, t: t + use(x[k], i), 0.0)


def _by_index(use: Any) -> Any:
    return lambda x, i: lm.fori_loop(0, 3, lambda k, t: t + use(x[i], k), 0.0)


def _scanned(use: Any) -> Any:
    return lambda x, i: lm.scan(lambda c, r: (c, use(r, i)), 0, x)[1]


def _differentiated(use: Any) -> Any:
    return lambda x, i: lm.grad(lambda w: sum(use(w[k], i) for k in range(3)))(x)


AROUND = {"vmap": _vmapped, "loop": _looped, "loop index": _by_index, "scan": _scanned, "grad": _differentiated}


PAIRS = [
    (name, around)
    for name, around in itertools.product(USES, AROUND)
    if around != "grad" or "bound" not in name  # a loop whose count is computed is differentiated forward only
]


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize(("name", "around"), PAIRS)
def test_values_of_enclosing_traces(name: str, around: str) -> None:
    """Against the same with a Python loop, in which the integer is a traced argument of the innermost function."""
    use, i = USES[name], np.int64(1)
    one = lm.jit(use)
    with np.errstate(all="ignore"):
        if around == "grad":
            wanted = np.stack([lm.jit(lm.grad(use))(x, i) for x in X])
        else:
            wanted = np.stack([one(X[i], np.int64(k)) if around == "loop index" else one(X[k], i) for k in range(3)])
            wanted = wanted.sum() if "loop" in around else wanted
    np.testing.assert_allclose(lm.jit(AROUND[around](use))(X, i), wanted, rtol=1e-12)


def test_nested_loops_update_by_both_indices() -> None:
    def outer(i: Any, t: Any) -> Any:
        return lm.fori_loop(0, 4, lambda j, t: t.at[i, j].set(t[i, j] * 2 + i - j), t)

    np.testing.assert_array_equal(
        lm.jit(lambda t: lm.fori_loop(0, 3, outer, t))(X), X * 2 + np.subtract.outer(range(3), range(4))
    )


# --------------------------------------------------------------------------------------------------------------------
# State of the program around


class Reader:
    """A function that reads an array and a number which change between calls."""

    def __init__(self) -> None:
        self.data = np.array([1.0, 2.0])
        self.scale = 1.0

    def __call__(self, w: Any) -> Any:
        return ((w * self.data) ** 2).sum() * self.scale

    def change(self, k: int) -> None:
        self.data = self.data + k
        self.scale = 1.0 + k


W = np.array([0.5, -1.5])


def _expected(f: Reader) -> tuple[Any, Any]:
    return ((W * f.data) ** 2).sum() * f.scale, 2 * W * f.data**2 * f.scale


TRANSFORMED = {
    "grad": lambda f: lm.grad(f)(W),
    "value_and_grad": lambda f: lm.value_and_grad(f)(W)[1],
    "vjp": lambda f: lm.vjp(f, W)[1](1.0)[0],
    "jvp": lambda f: np.stack([lm.jvp(f, (W,), (e,))[1] for e in np.eye(2)]),
    "vmap": lambda f: lm.vmap(lm.grad(f))(W[None])[0],
    "fori_loop": lambda f: lm.fori_loop(0, 1, lambda i, v: lm.grad(f)(v), W),
    "scan": lambda f: lm.scan(lambda c, x: (c, lm.grad(f)(x)), 0, W[None])[1][0],
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformations_read_the_state_of_each_call(name: str) -> None:
    f = Reader()
    for k in range(6):
        np.testing.assert_allclose(TRANSFORMED[name](f), _expected(f)[1], rtol=1e-12)
        f.change(k)
    f.data[0] = 17.0  # in place
    np.testing.assert_allclose(TRANSFORMED[name](f), _expected(f)[1], rtol=1e-12)


def test_one_transformed_function_reads_the_state_of_each_call() -> None:
    f = Reader()
    gradient, mapped = lm.grad(f), lm.vmap(f)
    for k in range(5):
        np.testing.assert_allclose(gradient(W), _expected(f)[1], rtol=1e-12)
        np.testing.assert_allclose(mapped(W[None]), _expected(f)[0][None], rtol=1e-12)
        f.change(k)


def test_random_numbers_are_drawn_in_each_call() -> None:
    rng = np.random.default_rng(0)
    gradient = lm.grad(lambda w: (w * rng.random(2)).sum())
    assert len({tuple(gradient(W)) for _ in range(4)}) == 4
    value, pull = lm.vjp(lambda w: w * rng.random(2), W)
    np.testing.assert_array_equal(pull(W)[0] * W, value * W)  # of one draw
    np.testing.assert_array_equal(pull(W)[0] * W, value * W)


def test_pulls_differentiate_where_the_function_was_called() -> None:
    f, w = Reader(), W.copy()
    _, pull = lm.vjp(f, w)
    wanted = _expected(f)[1]
    f.change(3)
    w[:] = 0
    np.testing.assert_allclose(pull(1.0)[0], wanted, rtol=1e-12)

    def staged(w: Any) -> Any:
        value, pull = lm.vjp(f, w)
        return lm.fori_loop(0, 2, lambda i, v: v + pull(1.0)[0], w * 0 * value)

    np.testing.assert_allclose(lm.jit(staged)(W), 2 * _expected(f)[1], rtol=1e-12)


def test_numbers_that_change_do_not_compile_a_program_a_call() -> None:
    def made() -> int:
        return executor.statistics().loaded + executor.statistics().built

    before = made()
    rate = 1.0

    def loss(w: Any) -> Any:
        return (lnp.sin(w) * lnp.cosh(w) * rate).sum() * 0.123

    gradient = lm.grad(loss)
    for k in range(12):
        rate = 1.0 + k
        np.testing.assert_allclose(gradient(W), 0.123 * rate * (np.cos(W) * np.cosh(W) + np.sin(W) * np.sinh(W)), rtol=1e-12)
    assert made() - before == 3  # the numbers of two calls, then the program in which they are an argument
    for k in range(3):
        rate = -1.0 - k
        lm.grad(loss)(W)
    assert made() - before == 3


# --------------------------------------------------------------------------------------------------------------------
# Arrays that the function writes while it is traced


@pytest.mark.parametrize("size", [3, 5000])
@pytest.mark.parametrize("jitted", [False, True])
def test_scratch_arrays_have_their_contents_at_each_use(size: int, jitted: bool) -> None:
    def function(x: Any) -> Any:
        scratch, total = np.zeros(size), x * 0
        for k in range(4):
            scratch[:] = k
            scratch[0] = -k
            total = total + x * scratch
        return total + lm.vmap(lambda e: e * scratch)(x[None])[0]

    x = np.linspace(1, 2, size)
    sums = np.full(size, 9.0)
    sums[0] = -9
    run = lm.jit(function) if jitted else lambda x: lm.vmap(function)(x[None])[0]
    np.testing.assert_allclose(run(x), x * sums, rtol=1e-12)


def test_an_array_that_stays_is_captured_once() -> None:
    table = np.random.default_rng(0).random(5000)
    lowered = lm.jit(lambda x: lm.vmap(lambda e: e * table)(x) + table * lm.grad(lambda y: (y * table).sum())(table)).lower(
        lm.TensorSpec((2, 5000), "float64")
    )
    assert len(lowered.traced.captured) == 1
    negative, positive = np.full(5000, -0.0), np.zeros(5000)

    def signs(x: Any) -> Any:
        first = 1 / (x * negative)
        negative[:] = positive  # equal, but not the same
        return first + 1 / (x * negative)

    assert np.isnan(lm.jit(signs)(np.ones(5000))).all()


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e4m3fn", "int4", "uint8", "complex64", "bool"])
@pytest.mark.parametrize("size", [0, 1, 12, 120_000], ids=str)
def test_arrays_that_a_function_closes_over_keep_their_dtype(name, size):
    held = (np.arange(size) % 2).astype(getattr(ml_dtypes, name, name))
    functions = (lambda: held, lambda: lnp.asarray(held), lambda: lnp.concatenate([held, held]), lambda: lnp.flip(held))
    for f in functions:
        got, want = lm.jit(f)(), f()
        assert got.dtype == want.dtype == held.dtype
        np.testing.assert_array_equal(np.asarray(got, complex), np.asarray(want, complex))
    within = lm.jit(lambda x: (x, lm.cond(x > 0, lambda: lnp.asarray(held), lambda: lnp.zeros_like(held))))(np.float32(1))[1]
    assert within.dtype == held.dtype
    np.testing.assert_array_equal(np.asarray(within, complex), np.asarray(held, complex))

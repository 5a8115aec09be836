"""`fori_loop` and `scan`: against loops in NumPy, finite differences, and unrolled loops of the same body."""

from __future__ import annotations

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.runtime.interpreter import interpret

RNG = np.random.default_rng(5)
W = RNG.uniform(-0.7, 0.7, (3, 3))
H0 = RNG.uniform(-1, 1, 3)
XS = RNG.uniform(-1, 1, (5, 3))


def cell(w, h, x):
    h = lnp.tanh(w @ h + x)
    return h, lnp.sum(h * x)


def looped(w, h0, xs, reverse=False):
    return lm.scan(lambda h, x: cell(w, h, x), h0, xs, reverse=reverse)


def unrolled(w, h0, xs, reverse=False):
    """The same with a Python loop, which tracing unrolls."""
    n = xs.shape[0]
    h, ys = h0, [None] * n
    for k in range(n - 1, -1, -1) if reverse else range(n):
        h, ys[k] = cell(w, h, xs[k])
    return h, lnp.stack(ys)


def loss(run, reverse=False):
    def of(w, h0, xs):
        h, ys = run(w, h0, xs, reverse)
        return lnp.sum(h * h) + lnp.sum(lnp.sin(ys))

    return of


def same(found, wanted, rtol=1e-12):
    for x, y in zip(lm.tree.leaves(found), lm.tree.leaves(wanted), strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_is_the_unrolled_loop(reverse):
    same(lm.jit(looped, static_argnums=3)(W, H0, XS, reverse), lm.jit(unrolled, static_argnums=3)(W, H0, XS, reverse))


@pytest.mark.thorough
@pytest.mark.parametrize("reverse", [False, True])
def test_gradients_are_those_of_the_unrolled_loop(reverse):
    for argnums in (0, 1, 2, (0, 1, 2)):
        found = lm.grad(loss(looped, reverse), argnums=argnums)(W, H0, XS)
        same(found, lm.grad(loss(unrolled, reverse), argnums=argnums)(W, H0, XS), 1e-11)


def test_gradient_is_the_finite_difference():
    gradient, eps = lm.grad(loss(looped))(W, H0, XS), 1e-6
    f = lm.jit(loss(looped))
    for k in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[k] = eps
        np.testing.assert_allclose(gradient[k], (f(W + step, H0, XS) - f(W - step, H0, XS)) / (2 * eps), rtol=1e-7, atol=1e-8)


def test_forward_mode_and_second_derivatives():
    tangents = W + 0.1, H0 - 0.3, XS * 0.5
    same(lm.jvp(loss(looped), (W, H0, XS), tangents), lm.jvp(loss(unrolled), (W, H0, XS), tangents), 1e-11)

    def hvp(run):
        return lm.jvp(lambda w: lm.grad(loss(run))(w, H0, XS), (W,), (W + 1,))[1]

    same(hvp(looped), hvp(unrolled), 1e-10)

    def norm(run):
        return lm.grad(lambda w: lnp.sum(lm.grad(loss(run))(w, H0, XS) ** 2))(W)

    same(norm(looped), norm(unrolled), 1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("axes", [(None, None, 0), (0, None, None), (None, 1, 2), (0, 0, 0)])
def test_batches(axes):
    sizes = [W, H0, XS]
    batched = [a if k is None else np.stack([a, a * 0.5, a - 0.2, a + 1], axis=k) for a, k in zip(sizes, axes, strict=True)]
    same(lm.vmap(looped, axes)(*batched), lm.vmap(unrolled, axes)(*batched), 1e-12)
    gradient = lm.vmap(lm.grad(loss(looped), argnums=(0, 2)), axes)(*batched)
    same(gradient, lm.vmap(lm.grad(loss(unrolled), argnums=(0, 2)), axes)(*batched), 1e-10)


@given(st.integers(-3, 6), st.integers(-3, 9), st.booleans(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_bounds_of_fori_loop(lower, upper, computed, also):
    wanted = 1.5
    for i in range(lower, upper):
        wanted = wanted * 0.5 + i
    first, last = np.int64(lower), np.int64(upper)

    def run(x, first, last):
        return lm.fori_loop(first if computed else lower, last if also else upper, lambda i, v: v * 0.5 + i, x)

    found = lm.jit(run)(np.float64(1.5), first, last)
    assert found.dtype == np.float64 and found == wanted


def test_trees_numbers_and_no_slices():
    def body(i, state):
        return {"a": state["a"] + i, "b": (state["b"][0] * 2,)}

    found = lm.fori_loop(0, 4, body, {"a": 0, "b": (np.ones(2, np.float32),)})
    assert found["a"] == 6 and found["a"].dtype == np.int64
    np.testing.assert_array_equal(found["b"][0], np.full(2, 16, np.float32))
    total, nothing = lm.scan(lambda c, x: (c + x, None), 0.0, np.float32([1, 2, 4]))
    assert total == 7 and total.dtype == np.float32 and nothing is None
    last, counts = lm.scan(lambda c, _: (c + 1, c), 0, length=3)
    assert last == 3 and counts.tolist() == [0, 1, 2]


def test_swapped_and_unchanged_carries():
    x, y = np.float32([1, 2]), np.float32([3, 4])
    for count in range(4):
        a, b, c = lm.fori_loop(0, count, lambda i, s: (s[1], s[0], s[2]), (x, y, x))
        np.testing.assert_array_equal(a, y if count % 2 else x)
        np.testing.assert_array_equal(b, x if count % 2 else y)
        np.testing.assert_array_equal(c, x)
    assert x.tolist() == [1, 2] and y.tolist() == [3, 4]


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("unroll", [1, 2, 3, 100, True])
@pytest.mark.parametrize("bounds", [(0, 0), (0, 1), (2, 9), (5, 3), (-3, 4)])
def test_unrolled_fori_loop(bounds, unroll):
    x = np.arange(4, dtype=np.float32)

    def loop(x, **options):
        return lm.fori_loop(*bounds, lambda i, v: v * 1.5 + i * x, x, **options)

    got, want = loop(x, unroll=unroll), loop(x)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    gradient = lm.grad(lambda x: loop(x, unroll=unroll).sum())(x)
    np.testing.assert_allclose(gradient, lm.grad(lambda x: loop(x).sum())(x), rtol=1e-6)
    with pytest.raises(ValueError, match="bounds that are numbers"):
        lm.jit(lambda n: lm.fori_loop(0, n, lambda i, v: v + i, 0, unroll=2))(3)
    with pytest.raises(ValueError, match="at least 1"):
        lm.fori_loop(0, 3, lambda i, v: v + i, 0, unroll=0)


@pytest.mark.parametrize("donated", [(), (0,), (1,), (0, 1)])
def test_donated_arguments_are_read_before_they_are_written(donated):
    for count in range(4):
        w, h = np.full(5000, 2, np.float32), np.arange(5000, dtype=np.float32)
        wanted = h.copy()
        for _ in range(count):
            wanted = wanted * w + 1

        def run(w, h, count=count):
            return lm.fori_loop(0, count, lambda i, v: v * w + 1, h)

        np.testing.assert_array_equal(lm.jit(run, donate_argnums=donated)(w, h), wanted)


def test_no_iterations():
    carry, ys = lm.scan(lambda c, x: (c + x, c * x), np.float32(2), np.zeros((0,), np.float32))
    assert carry == 2 and ys.shape == (0,)
    gradient = lm.grad(lambda c: lm.fori_loop(0, 0, lambda i, v: v * v, c))(np.float32(3))
    assert gradient == 1


def test_loops_in_loops():
    def table(x):
        def row(acc, y):
            s = lm.fori_loop(0, 3, lambda j, s: s + lnp.sin(s * j) * y, acc[0])
            return acc + s, s

        return lnp.sum(lm.scan(row, x, x)[0])

    def plain(x):
        acc = x
        for i in range(4):
            s = acc[0]
            for j in range(3):
                s = s + lnp.sin(s * j) * x[i]
            acc = acc + s
        return lnp.sum(acc)

    x = RNG.uniform(-1, 1, 4)
    same(lm.value_and_grad(table)(x), lm.value_and_grad(plain)(x), 1e-10)


def test_the_interpreter_agrees_at_every_level():
    lowered = lm.jit(lambda w, h0, xs: (looped(w, h0, xs), lm.grad(loss(looped))(w, h0, xs))).lower(W, H0, XS)
    wanted = lm.tree.leaves(lm.jit(lambda w, h0, xs: (looped(w, h0, xs), lm.grad(loss(looped))(w, h0, xs)))(W, H0, XS))
    for phase in ("optimized", "loop", "scheduled", "program"):
        module = parse_module(make_context(), lowered.as_text(phase))
        for x, y in zip(interpret(module, "main", [W, H0, XS]), wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def test_what_is_refused():
    with pytest.raises(TypeError, match=r"carries value of float32, but .* returns float64"):
        lm.fori_loop(0, 3, lambda i, v: v * np.float64(2), np.float32(1))
    with pytest.raises(lm.ShapeError, match=r"carries value of shape \[2\], but .* returns \[2, 2\]"):
        lm.fori_loop(0, 3, lambda i, v: lnp.outer(v, v), np.ones(2))
    with pytest.raises(TypeError, match="carries"):
        lm.fori_loop(0, 3, lambda i, v: (v, v), np.ones(2))
    with pytest.raises(TypeError, match="bounds must be integers, got float"):
        lm.fori_loop(0, 3.5, lambda i, v: v, 1)
    with pytest.raises(lm.ShapeError, match="one first dim"):
        lm.scan(lambda c, x: (c, x), 0.0, (np.ones(3), np.ones(4)))
    with pytest.raises(lm.ShapeError, match="one first dim"):
        lm.scan(lambda c, x: (c, x), 0.0, np.ones(3), length=4)
    with pytest.raises(TypeError, match="return a pair"):
        lm.scan(lambda c, x: c, 0.0, np.ones(3))
    with pytest.raises(lm.DifferentiationError, match="how often it runs must be known"):
        lm.grad(lambda x, n: lm.fori_loop(0, n, lambda i, v: v * 2, x))(np.float64(1), np.int64(3))
    assert lm.jvp(lambda x: lm.fori_loop(0, lnp.sum(lnp.ones(3, np.int64)), lambda i, v: v * 2, x), (1.0,), (1.0,))[1] == 8


@pytest.mark.parametrize("axes", [(0, 0, 0), (None, 0, 0), (0, None, 0), (0, 0, None), (None, None, 0)])
def test_batches_of_loops_with_bounds_of_their_own(axes):
    """Elements whose count is reached keep what they carry, also while others divide by zero in their place."""

    def run(x, first, last):
        return lm.fori_loop(first, last, lambda i, v: (v[0] * 0.5 + i / v[1], v[1] - 1), (x, x * 0 + 4))

    given = [np.array([0.5, 2.0, -1.0, 3.0]), np.array([0, 2, -1, 3]), np.array([4, 1, 2, 9])]
    given = [a if axis == 0 else a[1] for a, axis in zip(given, axes, strict=True)]
    found = lm.vmap(run, axes)(*given)
    for k in range(4):
        one = [a[k] if axis == 0 else a for a, axis in zip(given, axes, strict=True)]
        same([leaf[k] for leaf in found], lm.jit(run)(*one))
    tangent = lm.vmap(lambda x, a, b: lm.jvp(lambda x: run(x, a, b)[0], (x,), (1.0,))[1], axes)(*given)
    for k in range(4):
        one = [a[k] if axis == 0 else a for a, axis in zip(given, axes, strict=True)]
        wanted = lm.jit(lambda x, a, b: lm.jvp(lambda x: run(x, a, b)[0], (x,), (1.0,))[1])(*one)
        same([tangent[k]], [wanted])


def test_nested_batches_and_loops_whose_count_is_an_index():
    def triangle(n):
        return lm.fori_loop(0, n, lambda i, total: total + lm.fori_loop(0, i + n, lambda j, c: c + 1, 0), 0)

    n = np.arange(6).reshape(2, 3)
    wanted = [[sum(i + m for i in range(m)) for m in row] for row in n.tolist()]
    assert lm.vmap(lm.vmap(triangle))(n).tolist() == wanted

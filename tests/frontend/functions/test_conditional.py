"""`while_loop`, `cond`, `switch`: against Python's own control flow, finite differences, and interpreted."""

from __future__ import annotations

import re

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina import lax
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.runtime.interpreter import interpret

RNG = np.random.default_rng(7)
ALL_DTYPES = "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 ?".split()


def same(found, wanted, rtol=1e-12):
    for x, y in zip(lm.tree.leaves(found), lm.tree.leaves(wanted), strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


def newton(x):
    """A square root, in as many steps as it takes."""

    def goes_on(state):
        _, root, before = state
        return lnp.abs(root - before) > 1e-13

    def step(state):
        k, root, _ = state
        return k + 1, 0.5 * (root + x / root), root

    return lm.while_loop(goes_on, step, (0, x, x * 0 - 1.0))[1]


# while_loop


@pytest.mark.parametrize("run", [lambda f: f, lm.jit])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 10])
def test_while_is_pythons(run, n):
    def loop(x, n):
        return lm.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 0.5 + s[0]), (0, x))

    x = wanted = np.float32([1, -2, 3])
    for k in range(n):
        wanted = wanted * np.float32(0.5) + np.float32(k)
    k, found = run(loop)(x, n)
    assert k == n and k.dtype == np.int64
    np.testing.assert_array_equal(found, wanted)
    assert x.tolist() == [1, -2, 3]


@pytest.mark.thorough(every=5)
@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7, 3)])
def test_while_carries_every_type(dtype, shape):
    x = np.ones(shape, dtype)

    def step(state):
        k, x, y = state
        return k + 1, y, x ^ True if dtype == "?" else x + x

    def loop(x):
        return lm.while_loop(lambda s: s[0] < 5, step, (np.int8(0), x, x))

    a = b = x
    for _ in range(5):
        a, b = b, a ^ True if dtype == "?" else a + a
    k, found_a, found_b = lm.jit(loop)(x)
    assert k == 5 and k.dtype == np.int8
    for found, wanted in ((found_a, a), (found_b, b)):
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, wanted)


@given(st.permutations(range(4)), st.integers(0, 7), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_carried_values_that_change_places(order, n, size):
    """Some of them in place, some in turns: whatever the order, none is read after it is overwritten."""
    start = [np.arange(size) * 10.0 + k for k in range(4)]

    def step(state):
        k, xs = state
        return k + 1, [xs[i] + (j == 2) for j, i in enumerate(order)]

    def loop(xs):
        return lm.while_loop(lambda s: s[0] < n, step, (0, xs))[1]

    wanted = start
    for _ in range(n):
        wanted = [wanted[i] + (j == 2) for j, i in enumerate(order)]
    same(lm.jit(loop)(start), wanted)


def test_closures_numbers_and_trees():
    limit, w = np.float32(50), np.float32([[0.5, 1], [1, 2]])

    @lm.jit
    def f(x, y):
        z = x * y

        def step(state):
            return {"a": state["a"] + 1, "b": [w @ state["b"][0] + z]}

        return lm.while_loop(lambda s: s["b"][0].sum() < limit + y.sum(), step, {"a": 0.0, "b": [x]})

    x, y = np.float32([1, 2]), np.float32([2, 0.5])
    a, b = 0.0, x
    while b.sum() < limit + y.sum():
        a, b = a + 1, w @ b + x * y
    found = f(x, y)
    assert list(found) == ["a", "b"] and found["a"] == a
    np.testing.assert_allclose(found["b"][0], b, rtol=1e-6)


def test_numbers_take_the_dtype_of_what_the_body_makes_of_them():
    x = np.float32([1, 2])
    total, k = lm.while_loop(lambda s: s[1] < 3, lambda s: (s[0] + x.sum(), s[1] + 1), (0, 0))
    assert total == 9 and total.dtype == np.float32 and k.dtype == np.int64
    found = lm.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, 0.0), (0, np.float32(2)))[1]
    assert found == 0 and found.dtype == np.float32
    assert (lm.jit(lambda x: lm.while_loop(lambda k: k < 3, lambda k: k + 1, 0) * x)(x)).dtype == np.float32


def test_arrays_are_updated_in_place():
    """What reads the array goes before what changes it, so that no iteration copies it."""

    def sieve(n):
        def step(state):
            k, marked, count = state
            fresh = ~marked[k]
            marked = marked.at[k * k % n].set(True)
            return k + 1, marked, count + fresh

        return lm.while_loop(lambda s: s[0] < n, step, (0, np.zeros(n, bool), 0))

    text = lm.jit(lambda: sieve(1000)).lower().as_text("program")
    (body,) = re.findall(r"program.func private @step_while_counted\w*\((.*)\n", text)
    assert re.search(r"%result\d: memref<1000xi1> over", body)
    (loop,) = re.findall(r"loop.repeat .* carry\((.*?)\) spare\((.*?)\)", text)
    assert loop[0] == loop[1]
    marked, count = np.zeros(1000, bool), 0
    for k in range(1000):
        count += not marked[k]
        marked[k * k % 1000] = True
    _, found, found_count = lm.jit(lambda: sieve(1000))()
    np.testing.assert_array_equal(found, marked)
    assert found_count == count


def test_what_is_read_after_a_change_is_read_before_it_is_overwritten():
    def step(state):
        k, x = state
        y = x.at[k].set(x[k - 1] + 1)
        return k + 1, y.at[0].add(x.sum() + y[k] - y[k])  # both the array before and after the change

    x = wanted = np.arange(6.0)
    for k in range(1, 6):
        before, wanted = wanted, wanted.copy()
        wanted[k] = before[k - 1] + 1
        wanted[0] += before.sum()
    found = lm.jit(lambda x: lm.while_loop(lambda s: s[0] < 6, step, (1, x))[1])(x)
    np.testing.assert_array_equal(found, wanted)


def test_forward_mode_of_while():
    x, t = np.array([2.0, 9.0, 0.3])[1], np.float64(0.7)
    value, slope = lm.jvp(newton, (x,), (t,))
    same(value, np.sqrt(x))
    same(slope, t / (2 * np.sqrt(x)), 1e-10)
    second = lm.jvp(lambda v: lm.jvp(newton, (v,), (t,))[1], (x,), (t,))[1]
    same(second, -(t**2) / (4 * x**1.5), 1e-9)


def test_reverse_mode_of_while_says_what_to_write():
    message = r"'graph.while' op has no gradient: .* write lm.fori_loop with numbers as bounds, or lm.scan"
    with pytest.raises(lm.DifferentiationError, match=message):
        lm.grad(newton)(np.float64(2))
    # what has no tangent needs none
    same(lm.grad(lambda x: x * newton(lm.stop_gradient(x)))(np.float64(4)), np.float64(2))
    same(lm.grad(lambda x: x * lm.while_loop(lambda k: k < 3, lambda k: k + 1, 0))(np.float64(4)), np.float64(3))


def collatz(n):
    step = lambda s: (lnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1)  # noqa: E731
    return lm.while_loop(lambda s: s[0] > 1, step, (n, 0))[1]


def test_reverse_mode_of_a_while_that_carries_no_tangents():
    """Its body reads what is differentiated by `stop_gradient` alone."""

    def scaled_root(a):
        fixed = lm.stop_gradient

        def body(c):
            return 0.5 * (c + fixed(a) / c)

        return a * lm.while_loop(lambda c: abs(c * c - fixed(a)) > 1e-9 * fixed(a), body, fixed(a))

    slopes = lm.grad(scaled_root)
    for run in (
        slopes,
        lm.jit(slopes),
        lambda a: lm.vmap(slopes)(np.array([a]))[0],
        lambda a: lm.jvp(scaled_root, (a,), (1.0,))[1],
    ):
        np.testing.assert_allclose(run(4.0), 2.0, rtol=1e-9)
    with pytest.raises(lm.DifferentiationError, match="has no gradient"):
        lm.grad(lambda a: lm.while_loop(lambda c: c < 9.0, lambda c: c + a, 1.0))(2.0)
    with pytest.raises(lm.DifferentiationError, match="has no gradient"):  # what moves reaches the result by the other value
        lm.grad(lambda a: lm.while_loop(lambda c: c[0] < 9.0, lambda c: (c[0] + c[1], a), (1.0, 2.0))[0])(2.0)


def test_batches_of_while():
    def length(n):
        count = 0
        while n > 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        return count

    ns = np.array([1, 7, 27, 2, 0, 97])
    assert lm.vmap(collatz)(ns).tolist() == [length(n) for n in ns]
    assert lm.jit(lm.vmap(lm.vmap(collatz)))(ns.reshape(2, 3)).ravel().tolist() == [length(n) for n in ns]
    xs = RNG.uniform(0.5, 9, 5)
    same(lm.vmap(newton)(xs), np.sqrt(xs))
    same(lm.vmap(lambda x: lm.jvp(newton, (x,), (x,))[1])(xs), np.sqrt(xs) / 2, 1e-10)


def test_a_condition_that_is_the_same_for_all_stays_one():
    def loop(x, n):
        return lm.while_loop(lambda s: s[0] * s[0] < n * n, lambda s: (s[0] + 1, s[1] * 2, s[2]), (0, x, n))

    xs = np.arange(6.0).reshape(3, 2)
    mapped = lm.jit(lm.vmap(loop, (0, None)))
    k, found, n = mapped(xs, 3)
    np.testing.assert_array_equal(found, xs * 8)
    assert k.tolist() == n.tolist() == [3, 3, 3]
    text = mapped.lower(xs, 3).as_text("optimized")
    assert "graph.while" in text and "graph.select" not in text and "graph.reduce" not in text


def test_while_errors():
    x = np.float32([1, 2])
    with pytest.raises(TypeError, match=r"while_loop\(\) needs .*\(\) to return a scalar bool, it returns float32\[2\]"):
        lm.while_loop(lambda v: v, lambda v: v, x)
    with pytest.raises(TypeError, match=r"to return a scalar bool, it returns tuple"):
        lm.while_loop(lambda v: (True,), lambda v: v, x)
    with pytest.raises(lm.ShapeError, match=r"while_loop\(\) carries value\[0\] of shape \[2\], but .*\(\) returns \[1\]"):
        lm.while_loop(lambda v: True, lambda v: (v[0][:1], v[1]), (x, 1))
    with pytest.raises(TypeError, match=r"carries value of float32, but .*\(\) returns float64: convert one with .astype"):
        lm.while_loop(lambda v: True, lambda v: v.astype(np.float64), x)
    with pytest.raises(TypeError, match=r"carries \(\*, \*\), but .*\(\) returns \*"):
        lm.while_loop(lambda v: True, lambda v: v[0], (x, 1))
    with pytest.raises(TypeError, match=r"carries value of int32, but .*\(\) returns float64"):
        lm.while_loop(lambda v: True, lambda v: 0.5, np.int32(3))


# cond and switch


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("run", [lambda f: f, lm.jit])
@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_cond_takes_one_branch(run, dtype):
    x = np.array([[0, 1], [1, 1]]).astype(dtype)

    def f(p, x):
        return lm.cond(p, lambda a: (a, a[0]), lambda a: (a[::-1], a[1]), x)

    for p in (True, False, np.bool_(True), 1, 0, 2.5, np.float32(0)):
        found = run(f)(p, x)
        wanted = (x, x[0]) if p else (x[::-1], x[1])
        same(found, wanted)


def test_switch_is_clamped():
    branches = [lambda a: a + 1, lambda a: a * a, lambda a: -a]
    for dtype in (np.int8, np.int64, np.uint8, np.uint64):
        for k in (0, 1, 2, 3, 100):
            same(lm.jit(lambda k: lm.switch(k, branches, np.float64(3)))(dtype(k)), np.float64([4, 9, -3][min(k, 2)]))
    same(lm.switch(-5, branches, np.float64(3)), np.float64(4))
    same(lm.jit(lambda k: lm.switch(k, branches, np.float64(3)))(np.uint64(2**63 + 1)), np.float64(-3))
    same(lm.switch(9, branches[1:2], np.float64(3)), np.float64(9))


def test_branches_without_operands_and_with_one():
    x, y = np.float32([1, 2]), np.float32(3)
    same(lm.cond(True, lambda: x, lambda: -x), x)
    same(lm.cond(False, lambda v: v, lambda v: -v, operand=x), -x)
    same(lm.cond(True, lambda v: y, lambda v: y + v, operand=np.float32(1)), y)
    assert lm.cond(True, lambda v: (), lambda v: (), x) == ()
    assert lm.cond(True, lambda: None, lambda: None) is None


def test_numbers_of_branches_take_the_dtype_of_the_others():
    x = np.float32(2)
    same(lm.cond(True, lambda: x, lambda: 0), x)
    same(lm.cond(True, lambda: 1.5, lambda: x), np.float32(1.5))
    assert lm.cond(True, lambda: 1, lambda: 2).dtype == np.int64
    assert lm.cond(False, lambda: 1, lambda: 2.5).dtype == np.float64


def test_branch_errors():
    x = np.float32([1, 2])
    with pytest.raises(TypeError, match=r"cond\(\) needs a scalar predicate, got .*\[2\]: use lnp.where"):
        lm.cond(x > 0, lambda: 1, lambda: 2)
    with pytest.raises(TypeError, match=r"switch\(\) needs a scalar integer as index, got float32\[2\]"):
        lm.switch(x, [lambda: 1, lambda: 2])
    with pytest.raises(ValueError, match=r"switch\(\) needs a branch"):
        lm.switch(0, [])
    with pytest.raises(lm.ShapeError, match=r"cond\(\) needs functions that return equal shapes: result of .* float32\[2\]"):
        lm.cond(True, lambda v: v, lambda v: v[0], x)
    with pytest.raises(TypeError, match=r"equal dtypes: result\[1\] of .* is float64\[\], of .* it is float32\[\]"):
        lm.cond(True, lambda v: (v, v[0]), lambda v: (v, v[0].astype(np.float64)), x)
    with pytest.raises(TypeError, match=r"one structure: .* returns \*, .* returns \(\*, \*\)"):
        lm.cond(True, lambda v: (v, v), lambda v: v, x)
    with pytest.raises(TypeError, match=r"cond\(\) takes operands by position, or one as operand=, got linear"):
        lm.cond(True, lambda v: v, lambda v: v, x, linear=True)


def piecewise(x, w):
    """A function with a branch inside of a loop, which reads what is closed over."""

    def step(h, v):
        return lm.cond(h.sum() > 0, lambda h: (lnp.sin(h) * w + v, h[0]), lambda h: (h * v - w[0], v * h[1] * 0), h)

    h, ys = lm.scan(step, x, lnp.arange(4) * 0.3 - 0.4)
    return lnp.sum(h * h) + lnp.sum(ys)


def piecewise_in_numpy(x, w):
    total, h = 0.0, x
    for v in np.arange(4) * 0.3 - 0.4:
        if h.sum() > 0:
            total, h = total + h[0], np.sin(h) * w + v
        else:
            h = h * v - w[0]
    return np.sum(h * h) + total


def test_derivatives_of_branches_in_loops():
    compiled, slopes = lm.jit(piecewise), lm.jit(lm.grad(piecewise, argnums=(0, 1)))
    for _ in range(6):
        x, w = RNG.normal(size=3), RNG.normal(size=3)
        same(compiled(x, w), np.asarray(piecewise_in_numpy(x, w)), 1e-12)
        gradients = slopes(x, w)
        for number, gradient in enumerate(gradients):
            for k in range(3):
                step = [np.zeros(3), np.zeros(3)]
                step[number][k] = 1e-6
                up, down = (piecewise_in_numpy(x + s * step[0], w + s * step[1]) for s in (1, -1))
                np.testing.assert_allclose(gradient[k], (up - down) / 2e-6, rtol=1e-6, atol=1e-7)
        t = RNG.normal(size=3)
        same(lm.jvp(piecewise, (x, w), (t, w * 0))[1], gradients[0] @ t, 1e-11)
        hessian = lm.hessian(piecewise)(x, w)
        same(hessian, lm.jacfwd(lm.jacfwd(piecewise))(x, w), 1e-10)
        np.testing.assert_allclose(hessian, hessian.T, rtol=1e-10, atol=1e-10)


def test_batches_of_branches():
    branches = [lambda a, b: a + b, lambda a, b: a * 2, lambda a, b: b]
    xs, b, ks = RNG.normal(size=(5, 3)), RNG.normal(size=3), np.array([0, 1, 2, 7, -4])
    wanted = np.stack([branches[min(max(k, 0), 2)](x, b) for k, x in zip(ks, xs, strict=True)])
    same(lm.vmap(lambda k, x: lm.switch(k, branches, x, b))(ks, xs), wanted)
    same(lm.vmap(lambda x, p: lm.cond(p, lambda v: v, lambda v: -v, x))(xs, ks > 0), np.where(ks[:, None] > 0, xs, -xs))
    one = lm.jit(lm.vmap(lambda k, x: lm.switch(k, branches, x, b), (None, 0)))
    for k in range(3):
        same(one(k, xs), branches[k](xs, np.broadcast_to(b, xs.shape)))
    text = one.lower(1, np.zeros((500, 3))).as_text("optimized")  # small ones become a select
    assert "graph.case" in text and "graph.select" not in text
    gradient = lm.vmap(lm.grad(lambda x, k: lnp.sum(lm.switch(k, branches, x, b) ** 2)))(xs, ks)
    same(gradient, np.stack([[2 * (x + b), 8 * x, 0 * x][min(max(k, 0), 2)] for k, x in zip(ks, xs, strict=True)]))


# Nesting


def nested(x, n):
    """A while loop in a branch in a scan, in a while loop."""

    def halve(v):
        return lm.while_loop(lambda u: u[0] > 1, lambda u: (u[0] * 0.5, u[1] + 1), (v, 0.0))

    def step(c, v):
        y, k = lm.cond(v > c, lambda v: halve(v * 8), lambda v: (v, 0.25), v)
        return c + y * 0.5, (k, y)

    def outer(state):
        k, c, _ = state
        c, (counts, _) = lm.scan(step, c, x * (k + 1.0))
        return k + 1, c * 0.5, counts

    return lm.while_loop(lambda s: s[0] < n, outer, (0, x[0] * 0, x * 0))


def nested_in_numpy(x, n):
    c, counts = 0.0, x * 0
    for k in range(n):
        counts = np.zeros_like(x)
        for j, v in enumerate(x * (k + 1.0)):
            y, count = v, 0.25
            if v > c:
                y, count = v * 8, 0.0
                while y > 1:
                    y, count = y * 0.5, count + 1
            c, counts[j] = c + y * 0.5, count
        c *= 0.5
    return np.int64(n), np.float64(c), counts


@pytest.mark.thorough
@pytest.mark.parametrize("n", [0, 1, 3])
def test_any_nesting(n):
    x = RNG.normal(size=6)
    same(lm.jit(nested)(x, n), nested_in_numpy(x, n))
    mapped = lm.jit(lm.vmap(nested, (0, None)))(np.stack([x, -x, x * 2]), n)
    for k, row in enumerate([x, -x, x * 2]):
        same([leaf[k] for leaf in mapped], nested_in_numpy(row, n))
    counts = lm.vmap(nested, (None, 0))(x, np.array([0, 2, 1]))
    for k, times in enumerate([0, 2, 1]):
        same([leaf[k] for leaf in counts], nested_in_numpy(x, times))
    t = RNG.normal(size=6)
    slope = lm.jvp(lambda x: nested(x, n)[1], (x,), (t,))[1]
    up, down = (nested_in_numpy(x + s * 1e-7 * t, n)[1] for s in (1, -1))
    np.testing.assert_allclose(slope, (up - down) / 2e-7, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("phase", ["graph", "optimized", "loop", "scheduled", "program"])
def test_every_phase_is_the_interpreted_program(phase):
    x = RNG.normal(size=5)
    text = lm.jit(nested).lower(x, 2).as_text(phase)
    found = interpret(parse_module(make_context(), text), "main", [x, np.asarray(2)])
    same(list(found), list(nested_in_numpy(x, 2)))


def test_threads_in_a_body():
    x = np.linspace(0, 1, 1 << 17).astype(np.float32)

    def loop(x):
        return lm.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, lnp.sin(s[1]) * lnp.exp(s[1])), (0, x))[1]

    run, before, found = lm.jit(loop), lm.get_threads(), []
    try:
        for threads in (1, 2):
            lm.set_threads(threads)
            found.append(run(x))
    finally:
        lm.set_threads(before)
    np.testing.assert_array_equal(found[0], found[1])
    unrolled = x
    for _ in range(3):
        unrolled = lnp.sin(unrolled) * lnp.exp(unrolled)
    np.testing.assert_array_equal(found[0], unrolled)


def test_names_of_lax():
    x = np.float32([1, 2, 3])
    assert lax.while_loop is lm.while_loop and lax.cond is lm.cond and lax.switch is lm.switch
    same(lm.map(lambda v: v * 2, x), x * 2)
    same(lm.associative_scan(lnp.add, x), np.cumsum(x))


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8])
def test_unrolled_scans_are_scans(count, reverse):
    xs = RNG.normal(size=(count, 2)), np.arange(count)

    def step(carry, x):
        value, i = x
        return carry * 0.9 + value, {"y": carry * i, "i": i}

    def run(xs, unroll):
        return lm.scan(step, np.zeros(2), xs, reverse=reverse, unroll=unroll)

    wanted = lm.jit(lambda xs: run(xs, 1))(xs)
    for unroll in (2, 3, 100, True):
        same(lm.jit(lambda xs, n=unroll: run(xs, n))(xs), wanted)
    if count:
        gradient = lambda unroll: lm.grad(lambda x: lnp.sum(run((x, xs[1]), unroll)[1]["y"] ** 2))(xs[0])  # noqa: E731
        same(gradient(3), gradient(1), 1e-11)
        with pytest.raises(ValueError, match=r"scan\(\) unroll must be at least 1, got 0"):
            run(xs, 0)


@pytest.mark.parametrize("batch_size", [None, 1, 2, 3, 5, 7])
def test_map_by_batches(batch_size):
    xs = {"a": RNG.normal(size=(5, 3)), "b": RNG.normal(size=5)}
    found = lm.map(lambda x: (x["a"] * x["b"], x["b"]), xs, batch_size=batch_size)
    same(found, (xs["a"] * xs["b"][:, None], xs["b"]))


# Bodies at random: what stays in one buffer and what does not must not show

_MOVES = st.lists(
    st.tuples(
        st.sampled_from(("set", "add", "whole", "swap", "sum", "cond", "cond_set", "loop", "while", "keep", "switch")),
        st.integers(0, 2),
        st.integers(0, 2),
        st.integers(0, 4),
    ),
    min_size=1,
    max_size=5,
)


def _moved(moves, k, xs, tools):
    """A body: each move changes one of three arrays by one, with the tools of a library."""
    put, add, cond, repeat, goes_on, switch = tools
    xs = list(xs)
    first = list(xs)
    for kind, a, b, i in moves:
        x, y = xs[a], xs[b]
        if kind == "set":
            xs[a] = put(x, i, y[(i + 1) % 5] + 1)
        elif kind == "add":
            xs[a] = add(x, i, first[b][i] * 0.5)
        elif kind == "whole":
            xs[a] = x * 0.5 + y
        elif kind == "swap":
            xs[a], xs[b] = y, x
        elif kind == "sum":
            xs[a] = put(x, i, first[b].sum() * 0.1 + y[0])
        elif kind == "cond":
            xs[a] = cond(x[i] > y[i], lambda v, w: v, lambda v, w: w * 0.5, x, y)
        elif kind == "cond_set":
            xs[a] = cond(y[i] > 0, lambda v, w, i=i: put(v, i, w[0]), lambda v, w: v, x, y)
        elif kind == "loop":
            xs[a] = repeat(3, lambda j, v, w=y: add(v, j, w[j] * 0.25), x)
        elif kind == "while":
            xs[a] = goes_on(lambda v: abs(v[1]) > 1, lambda v, w=y: put(v * 0.5, 0, w[2]), x)
        elif kind == "switch":
            xs[a], xs[b] = switch(k % 3, [lambda v, w: (v, w), lambda v, w: (w, v), lambda v, w: (w, put(w, 1, v[1]))], x, y)
    return xs


def _put(x, i, value):
    x = x.copy()
    x[i] = value
    return x


def _add(x, i, value):
    return _put(x, i, x[i] + value)


def _repeat(n, body, x):
    for j in range(n):
        x = body(j, x)
    return x


def _goes_on(condition, body, x):
    while condition(x):
        x = body(x)
    return x


_OF_NUMPY = (
    _put,
    _add,
    lambda p, yes, no, *xs: (yes if p else no)(*xs),
    _repeat,
    _goes_on,
    lambda k, branches, *xs: branches[k](*xs),
)
_OF_LAMINA = (
    lambda x, i, v: x.at[i].set(v),
    lambda x, i, v: x.at[i].add(v),
    lm.cond,
    lambda n, body, x: lm.fori_loop(0, n, body, x),
    lm.while_loop,
    lm.switch,
)


@pytest.mark.thorough
@given(_MOVES, st.integers(0, 4), st.booleans())
@settings(max_examples=25, deadline=None)
def test_random_bodies(moves, n, counted):
    start = [np.array([1.5, -2, 0.5, 3, -1]) * (k + 1) for k in range(3)]

    def run(a, b, c, n):
        if counted:
            return lm.fori_loop(0, n, lambda k, xs: _moved(moves, k, xs, _OF_LAMINA), [a, b, c])
        body = lambda s: (s[0] + 1, _moved(moves, s[0], s[1], _OF_LAMINA))  # noqa: E731
        return lm.while_loop(lambda s: s[0] < n, body, (0, [a, b, c]))[1]

    wanted = start
    for k in range(n):
        wanted = _moved(moves, k, wanted, _OF_NUMPY)
    compiled = lm.jit(run)
    same(compiled(*start, n), wanted, 1e-13)
    text = compiled.lower(*start, n).as_text("program")
    same(interpret(parse_module(make_context(), text), "main", [*start, np.asarray(n)]), wanted, 1e-13)


def test_results_of_loops_that_nothing_uses_with_branches_inside() -> None:
    def body(i, c):
        x, y = c
        return lm.cond(i > 1, lambda x: x * 2, lambda x: x + 1, x), lm.cond(i > 2, lambda y: y - x, lambda y: y, y)

    x = np.arange(3.0)
    got = lm.jit(lambda x: lm.fori_loop(0, 4, body, (x, x))[0])(x)
    np.testing.assert_array_equal(got, ((x + 2) * 2) * 2)
    got = lm.jit(lambda x: lm.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, *body(c[0], c[1:])), (0, x, x))[1])(x)
    np.testing.assert_array_equal(got, ((x + 2) * 2) * 2)


def test_operands_of_each_branch():
    for x, y, want in ((2.0, 3.0, 4.0), (-2.0, 3.0, 2.0)):
        assert lm.cond(x > 0, x, lambda v: v * 2, y, lambda v: v - 1) == want
        found = lm.jit(lm.value_and_grad(lambda x, y: lm.cond(x > 0, (x, y), lambda v: v[0] * v[1], y, lambda v: v**2)))(x, y)
        assert found == ((x * y, y) if x > 0 else (y**2, 0))

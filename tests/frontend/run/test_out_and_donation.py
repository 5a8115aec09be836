"""Results in arrays of the caller: `out=`, and arguments that are given away."""

from __future__ import annotations

import os
import subprocess
import sys

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

RNG = np.random.default_rng(0)
X, Y = (RNG.normal(size=(20, 30)).astype(np.float32) for _ in range(2))


@pytest.fixture(scope="module")
def both():
    return lm.jit(lambda x, y: (x * y, x + y))


@pytest.fixture(scope="module")
def one():
    return lm.jit(lambda x, y: x * 2 + y)


def test_out_is_filled_and_returned(both, one):
    for _ in range(2):  # the first call compiles, the second one is native
        z = np.zeros_like(X)
        assert one(X, Y, out=z) is z
        np.testing.assert_array_equal(z, X * 2 + Y)
        out = np.zeros_like(X), np.zeros_like(X)
        got = both(X, Y, out=out)
        assert got[0] is out[0] and got[1] is out[1]
        np.testing.assert_array_equal(out, (X * Y, X + Y))
    assert one(X, Y, out=None) is not one(X, Y, out=None)


def test_out_has_the_structure_of_the_results():
    f = lm.jit(lambda x: {"a": x + 1, "b": [x * 2]})
    out = {"a": np.zeros_like(X), "b": [np.zeros_like(X)]}
    assert f(X, out=out) is out
    np.testing.assert_array_equal(out["b"][0], X * 2)
    with pytest.raises(TypeError, match="has results"):
        f(X, out=(out["a"], out["b"][0]))


def test_an_argument_may_be_the_out(one, both):
    x = X.copy()
    assert one(x, Y, out=x) is x
    np.testing.assert_array_equal(x, X * 2 + Y)
    x, y = X.copy(), Y.copy()
    both(x, y, out=(y, x))
    np.testing.assert_array_equal((y, x), (X * Y, X + Y))


def test_out_may_overlap_arguments_in_part():
    f = lm.jit(lambda x: lnp.flip(x) + x)
    memory = np.arange(50.0)
    wanted = memory[5:35][::-1] + memory[5:35]
    f(memory[5:35], out=memory[8:38])
    np.testing.assert_array_equal(memory[8:38], wanted)


def test_out_that_does_not_fit(one, both):
    z = np.zeros_like(X)
    frozen = z.copy()
    frozen.flags.writeable = False
    for wrong in (z[:5], z.astype(np.float64), z.ravel(), np.zeros((), np.float32)):
        with pytest.raises(ValueError, match=r"result 0: expected an array float32\[20,30\]"):
            one(X, Y, out=wrong)
    for wrong in (frozen, np.zeros((30, 20), np.float32).T, np.zeros((20, 60), np.float32)[:, ::2]):
        with pytest.raises(ValueError, match="must be writable, C-contiguous and aligned"):
            one(X, Y, out=wrong)
    with pytest.raises(ValueError, match="result 0: expected an array"):
        one(X, Y, out=3.0)
    with pytest.raises(ValueError, match="result 1 overlaps another result"):
        both(X, Y, out=(z, z))
    for wrong in (z, (z,), (z, z, z), [z, z]):
        with pytest.raises(TypeError, match="has results"):
            both(X, Y, out=wrong)
    assert not z.any()


def test_out_with_numbers_and_other_layouts(one):
    z = np.zeros_like(X)
    one(X, 1.0, out=z)
    np.testing.assert_array_equal(z, X * 2 + 1)
    one(np.asfortranarray(X), Y[::-1], out=z)
    np.testing.assert_array_equal(z, X * 2 + Y[::-1])


def test_a_parameter_of_that_name_is_an_argument():
    f = lm.jit(lambda x, out: x - out)
    np.testing.assert_array_equal(f(X, out=Y), X - Y)
    np.testing.assert_array_equal(f(X, out=Y), X - Y)
    g = lm.jit(lambda x, **named: x - named["out"])
    np.testing.assert_array_equal(g(X, out=Y), X - Y)


def test_out_inside_of_a_traced_function(one):
    with pytest.raises(TypeError, match="called with out= in a function that is traced"):
        lm.jit(lambda x: one(x, x, out=np.zeros_like(X)))(X)


def test_static_arguments_with_out():
    f = lm.jit(lambda x, n: x * n, static_argnums=1)
    z = np.zeros_like(X)
    assert f(X, 3, out=z) is z
    np.testing.assert_array_equal(z, X * 3)


# Donation


def test_a_result_is_the_donated_array():
    step = lm.jit(lambda w, g: w - 0.5 * g, donate_argnums=0)
    for _ in range(2):
        w = X.copy()
        assert step(w, Y) is w
        np.testing.assert_array_equal(w, X - np.float32(0.5) * Y)


def test_leaves_of_trees_are_donated():
    step = lm.jit(lambda rate, w, g: {k: w[k] - rate * g[k] for k in w}, donate_argnums=(1,), static_argnums=0)
    w, g = {"a": X.copy(), "b": np.ones(3)}, {"a": Y, "b": np.ones(3)}
    got = step(0.5, w, g)
    assert got["a"] is w["a"] and got["b"] is w["b"]
    np.testing.assert_array_equal(w["b"], [0.5] * 3)


NOT_REUSED = {
    "read elsewhere": (lambda x, y: lnp.flip(x) + y, 0),
    "another shape": (lambda x, y: (x * y).sum(0), 0),
    "another dtype": (lambda x, y: x > y, 0),
    "read after": (lambda x, y: (x + 1) @ (x * y).T @ x, 0),
}


@pytest.mark.parametrize("name", NOT_REUSED)
def test_an_argument_that_no_result_can_be_stored_over_is_left_alone(name):
    function, donated = NOT_REUSED[name]
    x = X.copy()
    got = lm.jit(function, donate_argnums=donated)(x, Y)
    assert got is not x
    np.testing.assert_array_equal(x, X)
    np.testing.assert_allclose(got, np.asarray(function(X, Y)), rtol=1e-4, atol=1e-4)


def test_not_writeable_or_shared_arguments_are_left_alone():
    step = lm.jit(lambda w, g: w - 0.5 * g, donate_argnums=0)
    memory = np.arange(100, dtype=np.float32)
    for w, g in ((memory[:50], memory[10:60]), (memory, memory)):
        before = w.copy(), g.copy()
        got = step(w, g)
        assert got is not w
        np.testing.assert_array_equal((w, g), before)
        np.testing.assert_array_equal(got, before[0] - 0.5 * before[1])
    memory.flags.writeable = False
    assert step(memory, np.ones_like(memory)) is not memory
    assert memory[0] == 0


def test_out_comes_before_donation():
    step = lm.jit(lambda w, g: w - 0.5 * g, donate_argnums=0)
    w, z = X.copy(), np.zeros_like(X)
    for _ in range(2):
        assert step(w, Y, out=z) is z
        np.testing.assert_array_equal(w, X)


def test_each_donated_array_becomes_one_result():
    f = lm.jit(lambda x, y: (x + y, x - y, x * y), donate_argnums=(0, 1))
    x, y = X.copy(), Y.copy()
    got = f(x, y)
    np.testing.assert_array_equal(got, (X + Y, X - Y, X * Y))
    assert len({id(z) for z in got}) == 3


@pytest.mark.parametrize("size", [3, 600])
def test_arrays_that_a_function_closes_over_stay_its_own(size):
    held = RNG.normal(size=(size, size)).astype(np.float32)
    before, other = held.copy(), np.ones_like(held)
    f = lm.jit(lambda w: w - held, donate_argnums=0)
    np.testing.assert_array_equal(f(held), np.zeros_like(held))  # small arrays were copied, large ones are not given away
    np.testing.assert_array_equal(f(other), 1 - before)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"donate_argnums": "w"}, TypeError, "as positions"),
        ({"donate_argnums": True}, TypeError, "as positions"),
        ({"donate_argnums": (0,), "static_argnums": 0}, ValueError, "argument 0 is static"),
        ({"donate_argnums": -1, "static_argnums": 1}, ValueError, "argument 1 is static"),
    ],
)
def test_what_cannot_be_donated(options, error, message):
    with pytest.raises(error, match=message):
        lm.jit(lambda w, g: w - g, **options)


PROGRAMS = [
    lambda x, y: (x + y, x * 2),
    lambda x, y: (x.T.T + 1, y * x),
    lambda x, y: (lnp.exp(x) / lnp.exp(x).sum(0), y),
    lambda x, y: ((x + y) * x.sum(), x - y),
    lambda x, y: (x, y, x + y),
    lambda x, y: (y, x),
    lambda x, y: (lnp.flip(x + 1), lnp.flip(y)),
    lambda x, y: (x @ y.T @ x, y + 1),
    lambda x, y: (lnp.concatenate([x[3:], y[:3]]), lnp.roll(y, 1, 0)),
    lambda x, y: (lnp.cumsum(x, 1), y.reshape(30, 20).T.reshape(20, 30)),
]


@pytest.mark.thorough
@settings(max_examples=40, deadline=None)
@given(st.integers(0, len(PROGRAMS) - 1), st.sampled_from([(0,), (1,), (0, 1)]))
def test_programs_give_the_same_with_and_without_donation(number, donated):
    program = PROGRAMS[number]
    wanted = lm.jit(program)(X, Y)
    got = lm.jit(program, donate_argnums=donated)(X.copy(), Y.copy())
    for one, other in zip(wanted, got, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.thorough
def test_through_ctypes():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__, "-k", "not ctypes and not programs"],
        env={**os.environ, "LAMINA_ENTRY": "ctypes"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:]

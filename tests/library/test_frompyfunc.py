"""`lnp.frompyfunc`: calls and methods against NumPy's universal functions, eager, compiled and differentiated."""

from __future__ import annotations

from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

X = np.random.default_rng(0).normal(size=(3, 4))
ADD = lnp.frompyfunc(lambda a, b: a + b, 2, 1, identity=0)
FIRST = lnp.frompyfunc(lambda a, b: 2 * a - b, 2, 1)  # not associative, without an identity


@pytest.mark.parametrize("axis", [0, 1, -1, None, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums(axis: Any, keepdims: bool) -> None:
    want = np.add.reduce(X, axis, keepdims=keepdims)
    for call in (ADD.reduce, lm.jit(ADD.reduce, static_argnames=("axis", "keepdims"))):
        np.testing.assert_allclose(call(X, axis=axis, keepdims=keepdims), want, rtol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_order_of_elements(n: int) -> None:
    by_numpy = np.frompyfunc(lambda a, b: 2 * a - b, 2, 1)
    x = X.ravel()[:n]
    np.testing.assert_allclose(FIRST.reduce(x), by_numpy.reduce(x.astype(object)), rtol=1e-14)
    np.testing.assert_allclose(FIRST.accumulate(x), by_numpy.accumulate(x.astype(object)).astype(float), rtol=1e-14)


def test_broadcast_and_outer() -> None:
    np.testing.assert_array_equal(ADD(X, X[0]), X + X[0])
    np.testing.assert_array_equal(ADD.outer(X[0], X[:, 0]), np.add.outer(X[0], X[:, 0]))
    np.testing.assert_array_equal(lm.vmap(ADD, (0, None))(X, 1.0), X + 1)


def test_derivatives() -> None:
    np.testing.assert_allclose(lm.grad(lambda x: ADD.reduce(x * x))(X[0]), 2 * X[0])
    np.testing.assert_allclose(lm.grad(lambda x: FIRST.reduce(x))(X[0]), [8, -4, -2, -1])


def test_at_and_reduceat() -> None:
    places = np.array([0, 2, 0])
    want = X[0].copy()
    np.add.at(want, places, np.arange(3.0))
    np.testing.assert_allclose(ADD.at(X[0], places, np.arange(3.0), inplace=False), want)
    np.testing.assert_allclose(ADD.reduceat(X, [0, 2, 1], axis=1), np.add.reduceat(X, [0, 2, 1], axis=1))


def test_no_elements() -> None:
    assert ADD.reduce(np.zeros(0)) == 0
    assert ADD.reduce(np.zeros((0, 2)), axis=0).shape == (2,)


def test_refused() -> None:
    with pytest.raises(TypeError, match="takes 2 arguments, got 1"):
        ADD(X)
    with pytest.raises(TypeError, match="two arguments and one result"):
        lnp.frompyfunc(lambda a: -a, 1, 1).reduce(X)
    with pytest.raises(lm.ShapeError, match="needs initial= or an identity"):
        FIRST.reduce(np.zeros(0))

"""Jacobians against derivatives one direction at a time, shapes without values, and lamina.lax."""

from __future__ import annotations

from functools import reduce
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

lax = lm.lax
X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


def f(x: Any) -> Any:
    return lnp.sin(x) @ x.T + x.sum()


@pytest.mark.parametrize("jacobian", [lm.jacfwd, lm.jacrev])
def test_columns_are_derivatives_along_unit_vectors(jacobian: Any) -> None:
    want = np.zeros((2, 2, 2, 3))
    for i, j in np.ndindex(2, 3):
        direction = np.zeros_like(X)
        direction[i, j] = 1
        want[:, :, i, j] = lm.jvp(f, (X,), (direction,))[1]
    for got in (jacobian(f)(X), lm.jit(jacobian(f))(X)):
        np.testing.assert_allclose(got, want, rtol=1e-14)
    batch = np.stack([X, X + 1])
    np.testing.assert_allclose(lm.vmap(jacobian(f))(batch)[0], want, rtol=1e-14)


@pytest.mark.parametrize("jacobian", [lm.jacfwd, lm.jacrev])
def test_trees(jacobian: Any) -> None:
    def g(p: Any, scale: float) -> Any:
        return {"a": p["w"] * scale, "b": (p["w"].sum() * p["c"],)}

    p = {"w": np.array([1.0, 2.0]), "c": np.float64(3.0)}
    got = jacobian(g)(p, 2.0)
    np.testing.assert_allclose(got["a"]["w"], 2 * np.eye(2))
    np.testing.assert_allclose(got["a"]["c"], [0, 0])
    np.testing.assert_allclose(got["b"][0]["w"], [3, 3])
    np.testing.assert_allclose(got["b"][0]["c"], 3)
    both = jacobian(lambda a, b: a * b, argnums=(0, 1))(X[0], X[1])
    np.testing.assert_allclose(both, [np.diag(X[1]), np.diag(X[0])])
    with pytest.raises(lm.DifferentiationError, match="float inputs"):
        jacobian(lambda k: k * 2)(np.arange(3))


def test_second_derivatives() -> None:
    got = lm.hessian(lambda v: (v**3).sum() * v[0])(X[0])
    want = np.diag(6 * X[0] * X[0, 0])
    want[0] += 3 * X[0] ** 2
    want[:, 0] += 3 * X[0] ** 2
    np.testing.assert_allclose(got, want, rtol=1e-12)
    value, push = lm.linearize(np.sin, X)
    np.testing.assert_allclose(value, np.sin(X))
    np.testing.assert_allclose(push(X), np.cos(X) * X)


def test_shapes_without_values() -> None:
    spec = lm.ShapeDtypeStruct((4, 5), "float32")
    got = lm.eval_shape(lambda v, k: {"m": v.T @ v, "n": (v.sum(0) + k).astype(lnp.int32)}, spec, 1.0)
    assert (got["m"].shape, got["m"].dtype) == ((5, 5), np.float32)
    assert (got["n"].shape, got["n"].dtype) == ((5,), np.int32)


def test_names_of_lax() -> None:
    for dims in ((0,), (0, 1)):
        for op, of in ((lax.add, np.sum), (lax.mul, np.prod), (lax.max, np.max), (lax.min, np.min)):
            np.testing.assert_allclose(lax.reduce(X, np.float64(0.5), op, dims), reduce(op, [of(X, dims), 0.5]))
    assert lax.div(np.array([7, -7]), 2).tolist() == [3, -3]
    np.testing.assert_array_equal(lax.slice(X, (0, 1), (2, 3), (1, 1)), X[:, 1:3])
    np.testing.assert_array_equal(lax.slice_in_dim(X, -2, None, axis=1), X[:, -2:])
    np.testing.assert_array_equal(lax.dynamic_index_in_dim(X, 1, 1, keepdims=False), X[:, 1])
    np.testing.assert_array_equal(lax.dynamic_update_index_in_dim(X, X[0], 1, 0), X[[0, 0]])
    np.testing.assert_array_equal(lax.pad(np.arange(3), 9, ((1, -1, 1),)), [9, 0, 9, 1, 9])
    np.testing.assert_array_equal(lax.broadcast_in_dim(X[0], (2, 3, 1), (1,))[:, :, 0], X[[0, 0]])
    np.testing.assert_array_equal(lax.select_n(np.array([0, 2, 1]), X[0], X[1], X[0] * 2), [X[0, 0], X[0, 1] * 2, X[1, 2]])
    with pytest.raises(lm.ShapeError, match="does not fit dim 1"):
        lax.slice(X, (0, 1), (2, 4))


@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_prefixes_of_what_is_not_commutative(n: int, reverse: bool) -> None:
    a = np.random.default_rng(0).normal(size=(n, 2, 2))
    got = lax.associative_scan(lambda x, y: x @ y, a, reverse=reverse)
    rows = a[::-1] if reverse else a
    want = [reduce(np.matmul, rows[: k + 1]) for k in range(n)]
    np.testing.assert_allclose(got, np.reshape(want[::-1] if reverse else want, a.shape), rtol=1e-12)

"""Derivatives of functions that return a pair, mapping without mapped arguments, donation by name, types of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

X = np.array([0.5, -1.0, 2.0])


def pair(x: Any) -> Any:
    return lnp.sin(x) * x[0], {"norm": (x**2).sum(), "n": lnp.arange(2)}


def first(x: Any) -> Any:
    return pair(x)[0]


def check(got: Any, wanted: Any) -> None:
    value, aux = got
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(aux["norm"], 5.25)
    np.testing.assert_array_equal(aux["n"], [0, 1])


@pytest.mark.parametrize("wrap", [lambda f: f, lm.jit], ids=["eager", "jit"])
def test_the_second_result_is_passed_on(wrap: Callable[[Any], Any]) -> None:
    def summed(x: Any) -> Any:
        y, aux = pair(x)
        return y.sum(), aux

    check(wrap(lm.jacfwd(pair, has_aux=True))(X), lm.jacfwd(first)(X))
    check(wrap(lm.jacrev(pair, has_aux=True))(X), lm.jacrev(first)(X))
    check(wrap(lm.hessian(summed, has_aux=True))(X), lm.hessian(lambda x: first(x).sum())(X))

    def pushed(x: Any) -> Any:
        y, dy, aux = lm.jvp(pair, (x,), (x + 1,), has_aux=True)
        return lnp.stack([y, dy]), aux

    def linear(x: Any) -> Any:
        y, push, aux = lm.linearize(pair, x, has_aux=True)
        return lnp.stack([y, push(x + 1)]), aux

    wanted = np.stack(lm.jvp(first, (X,), (X + 1,)))
    check(wrap(pushed)(X), wanted)
    check(wrap(linear)(X), wanted)


def test_what_is_no_pair() -> None:
    for call in (
        lambda x: lm.jvp(first, (x,), (x,), has_aux=True),
        lambda x: lm.linearize(first, x, has_aux=True),
        lambda x: lm.vjp(first, x, has_aux=True),
    ):
        for wrapped in (call, lm.jit(call)):
            with pytest.raises(lm.errors.DifferentiationError, match=r"has_aux=True needs a function that returns a pair"):
                wrapped(X)


def test_a_map_over_nothing_has_a_size() -> None:
    def scaled(x: Any, y: Any) -> Any:
        return x * 2, y.sum()

    for f in (lm.vmap(scaled, in_axes=None, axis_size=4), lm.jit(lm.vmap(scaled, in_axes=(None, None), axis_size=4))):
        double, total = f(X, X)
        np.testing.assert_array_equal(double, np.tile(X * 2, (4, 1)))
        np.testing.assert_array_equal(total, np.full(4, X.sum()))
    np.testing.assert_array_equal(lm.vmap(lambda x: x + 1, axis_size=3)(X), X + 1)
    with pytest.raises(lm.errors.ShapeError, match="one size along the mapped dims: axis_size has 2"):
        lm.vmap(lambda x: x, axis_size=2)(X)
    with pytest.raises(lm.errors.ShapeError, match="no argument is mapped"):
        lm.vmap(lambda x: x, in_axes=None)(X)


def test_donation_by_name() -> None:
    step = lm.jit(lambda w, g: w - 0.5 * g, donate_argnames="w")
    w = np.ones(3, np.float32)
    assert step(w, np.ones(3, np.float32)) is w and w[0] == 0.5
    with pytest.raises(ValueError, match="donate_argnames 'v', which is no parameter"):
        lm.jit(lambda w: w, donate_argnames=("v",))
    with pytest.raises(ValueError, match="argument 0 is static"):
        lm.jit(lambda w: w, static_argnames="w", donate_argnames="w")


def test_types_of_values() -> None:
    assert lm.typeof(X.astype(np.float32)) == lm.ShapeDtypeStruct((3,), "float32") and lm.typeof(1.0).shape == ()
    seen = []
    lm.jit(lambda x: seen.append(lm.typeof(x @ x)) or x)(np.ones((2, 2)))
    assert seen == [lm.ShapeDtypeStruct((2, 2), "float64")]
    with pytest.raises(TypeError, match="typeof"):
        lm.typeof("x")


def test_reductions_without_a_mask() -> None:
    """`where=None` is no mask, in methods of results too, where NumPy's are given."""
    x = lnp.asarray(X)
    for name in ("sum", "prod", "mean", "var", "std", "max", "min", "any", "all"):
        assert getattr(x, name)(where=None) == getattr(X, name)() == lm.jit(lambda x, n=name: getattr(x, n)(where=None))(X)
    assert x.sum(where=X > 0) == 2.5


def test_logarithms_of_weighted_sums() -> None:
    special = pytest.importorskip("scipy.special")
    x = np.random.default_rng(0).normal(size=(3, 4)) * 300
    b = np.array([1.0, -2.0, 0.0, 0.5])
    x[2] = -np.inf
    with np.errstate(invalid="ignore", divide="ignore"):
        for options in ({"axis": 1}, {"axis": None}, {"axis": 0, "keepdims": True}, {"axis": (0, 1), "return_sign": True}):
            wanted = special.logsumexp(x, b=b, **options)
            for f in (lm.special.logsumexp, lm.jit(lm.special.logsumexp, static_argnames=("axis", "keepdims", "return_sign"))):
                for one, other in zip(np.atleast_1d(f(x, b=b, **options)), np.atleast_1d(wanted), strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-13)
    assert lm.nn.logsumexp(np.array([np.inf, 2.0]), b=np.array([0.0, 1.0])) == 2  # a factor of 0: counts for nothing
    assert lm.nn.logsumexp(np.array([np.inf, 2.0]), b=np.zeros(2)) == -np.inf
    y, sign = lm.nn.logsumexp(X, return_sign=True)
    np.testing.assert_allclose([y, sign], special.logsumexp(X, return_sign=True))
    gradient = lm.grad(lambda x: lm.nn.logsumexp(x, b=np.array([1.0, 0.0, 3.0])))(X)
    weights = np.array([1.0, 0.0, 3.0]) * np.exp(X)
    np.testing.assert_allclose(gradient, weights / weights.sum(), rtol=1e-12)

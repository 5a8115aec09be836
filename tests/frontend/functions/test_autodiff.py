"""`grad`, `vjp`, `jvp`, `vmap`: results, nesting, trees, closures, and what they refuse."""

from __future__ import annotations

from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

X = np.array([0.5, -1.0, 2.0])


def test_grad_of_arrays_and_numbers() -> None:
    np.testing.assert_allclose(lm.grad(lambda x: (lnp.sin(x) * x).sum())(X), np.cos(X) * X + np.sin(X))
    assert lm.grad(lambda x: x**3)(2.0) == 12
    value, gradient = lm.value_and_grad(lambda x: (x * x).sum())(X)
    assert value == (X * X).sum()
    np.testing.assert_allclose(gradient, 2 * X)


def test_grad_by_several_arguments_and_trees() -> None:
    def loss(p: Any, x: Any, y: Any) -> Any:
        return ((x @ p["w"] + p["b"] - y) ** 2).mean()

    rng = np.random.default_rng(0)
    p = {"w": rng.standard_normal((3, 2)), "b": rng.standard_normal(2)}
    x, y = rng.standard_normal((5, 3)), rng.standard_normal((5, 2))
    by_p, by_y = lm.grad(loss, argnums=(0, 2))(p, x, y)
    rest = x @ p["w"] + p["b"] - y
    np.testing.assert_allclose(by_p["w"], x.T @ rest / 5)
    np.testing.assert_allclose(by_p["b"], rest.sum(0) / 5)
    np.testing.assert_allclose(by_y, -rest / 5)
    np.testing.assert_allclose(lm.grad(loss, argnums=-1)(p, x, y), by_y)


def test_grad_with_aux() -> None:
    function = lambda x: ((x * x).sum(), {"double": 2 * x, "count": lnp.sum(x > 0)})  # noqa: E731
    gradient, aux = lm.grad(function, has_aux=True)(X)
    np.testing.assert_allclose(gradient, 2 * X)
    np.testing.assert_allclose(aux["double"], 2 * X)
    assert aux["count"] == 2
    (value, _), _ = lm.value_and_grad(function, has_aux=True)(X)
    assert value == (X * X).sum()


def test_derivatives_of_derivatives() -> None:
    f = lambda x: lnp.sin(x) * x  # noqa: E731
    third = lm.grad(lm.grad(lm.grad(f)))
    np.testing.assert_allclose(third(0.7), -3 * np.sin(0.7) - 0.7 * np.cos(0.7))
    np.testing.assert_allclose(lm.jit(third)(0.7), third(0.7))
    second = lm.jvp(lm.grad(f), (0.7,), (1.0,))[1]
    np.testing.assert_allclose(second, 2 * np.cos(0.7) - 0.7 * np.sin(0.7))


def test_closures_over_outer_variables_of_differentiation() -> None:
    # d/dx x * (d/dy (x + y) y at y = x) = d/dx (x * 3x) = 6x
    assert lm.grad(lambda x: x * lm.grad(lambda y: (x + y) * y)(x))(2.0) == 12


def test_vjp_and_jvp() -> None:
    def function(x: Any, w: Any) -> Any:
        return {"y": x * w, "s": (x + w).sum()}

    w = np.array([1.0, 2.0, 3.0])
    value, pull = lm.vjp(function, X, w)
    np.testing.assert_allclose(value["y"], X * w)
    by_x, by_w = pull({"y": np.ones(3), "s": 2.0})
    np.testing.assert_allclose(by_x, w + 2)
    np.testing.assert_allclose(by_w, X + 2)
    out, moved = lm.jvp(function, (X, w), (np.ones(3), np.zeros(3)))
    np.testing.assert_allclose(out["s"], (X + w).sum())
    np.testing.assert_allclose(moved["y"], w)
    value, pull, aux = lm.vjp(lambda x: (x * 2, x + 1), X, has_aux=True)
    np.testing.assert_allclose(aux, X + 1)
    np.testing.assert_allclose(pull(np.ones(3))[0], 2 * np.ones(3))


def test_vjp_under_jit() -> None:
    def product(x: Any, v: Any) -> Any:
        _, pull = lm.vjp(lambda x: lnp.exp(x), x)
        return pull(v)[0]

    np.testing.assert_allclose(lm.jit(product)(X, X), np.exp(X) * X)


def test_tangents_of_integer_results_are_zero() -> None:
    out, moved = lm.jvp(lambda x: (x * 2, x.argmax()), (X,), (np.ones(3),))
    assert out[1] == 2 and moved[1] == 0 and moved[1].dtype == np.int64


def test_gradients_of_no_parameters() -> None:
    for call in (lm.grad, lambda f, **k: lm.jit(lm.grad(f, **k))):
        assert call(lambda p, x: x.sum())({}, X) == {}
        assert call(lambda p, x: (x.sum(), x), has_aux=True)((), X)[0] == ()


def test_stop_gradient() -> None:
    np.testing.assert_allclose(lm.grad(lambda x: (lm.stop_gradient(x) * x).sum())(X), X)
    assert lm.stop_gradient({"a": X})["a"] is X


def test_vmap() -> None:
    m = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(lm.vmap(lambda x: (x * x).sum())(m), (m * m).sum(1))
    np.testing.assert_allclose(lm.vmap(lambda x: x.sum(), in_axes=1)(m), m.sum(0))
    np.testing.assert_allclose(lm.vmap(lambda x, w: x @ w, in_axes=(0, None))(m, X), m @ X)
    np.testing.assert_allclose(lm.vmap(lambda x: x * 2, out_axes=1)(m), (m * 2).T)
    out = lm.vmap(lambda t: {"s": t["a"] + t["b"], "b": t["b"]}, in_axes=({"a": 0, "b": None},), out_axes={"s": 0, "b": None})(
        {"a": m, "b": X}
    )
    np.testing.assert_allclose(out["s"], m + X)
    np.testing.assert_allclose(out["b"], X)
    np.testing.assert_allclose(lm.vmap(lm.vmap(lambda x, y: x * y, (None, 0)), (0, None))(X, X), np.outer(X, X))


def test_vmap_of_grad_and_grad_of_vmap() -> None:
    m = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(lm.vmap(lm.grad(lambda x: (x**3).sum()))(m), 3 * m**2)
    np.testing.assert_allclose(lm.grad(lambda m: lm.vmap(lambda x: (x**2).sum())(m).sum())(m), 2 * m)
    jacobian = lm.vmap(lambda v: lm.vjp(lambda x: x * x, X)[1](v)[0])(np.eye(3))
    np.testing.assert_allclose(jacobian, np.diag(2 * X))


def test_functions_are_traced_anew_and_those_of_jit_once() -> None:
    traces: list[int] = []

    def loss(x: Any) -> Any:
        traces.append(1)
        return (x * x).sum()

    gradient = lm.grad(loss)
    for _ in range(3):
        gradient(X)
    assert len(traces) == 3
    gradient = lm.grad(lm.jit(loss))
    for _ in range(3):
        gradient(X)
    assert len(traces) == 4
    assert gradient.__name__ == "loss"


def test_the_op_is_in_the_graph() -> None:
    text = str(lm.make_graph(lm.value_and_grad(lambda x: (x * x).sum()))(X))
    assert "graph.vjp @" in text and "wrt [0]" in text


REFUSED = [
    (lambda: lm.grad(lambda x: x * 2)(X), r"scalar float result, got float64\[3\]: reduce the result with \.sum\(\)"),
    (lambda: lm.grad(lambda x: (x > 0).sum())(X), r"scalar float result, got int64\[\]"),
    (lambda: lm.grad(lambda x: (x.sum(), x))(X), "has_aux=True"),
    (lambda: lm.grad(lambda x: x.sum(), has_aux=True)(X), r"needs a result \(value, aux\)"),
    (lambda: lm.grad(lambda x: x.sum() * 1.0)(np.arange(3)), r"needs float inputs, argument x is int64\[3\]"),
    (lambda: lm.grad(lambda p: p["a"].sum() * 1.0)({"a": np.arange(3)}), r"argument p\['a'\] is int64\[3\]"),
    (lambda: lm.grad(lambda x: x * 1.0)(3), r"argument x is int64\[\]"),
    (lambda: lm.grad(lambda x: x.sum(), argnums=1)(X), "argnums 1, the call has 1 arguments"),
    (lambda: lm.jvp(lambda x: x, X, X), "as tuples"),
    (lambda: lm.jvp(lambda x: x, (X,), (np.ones(2),)), r"must be float64\[3\], got float64\[2\]"),
    (lambda: lm.jvp(lambda x: x, (X,), (X, X)), "must have the structure"),
    (lambda: lm.vjp(lambda x: x, X)[1]((X, X)), "must have the structure"),
]


@pytest.mark.parametrize(("call", "match"), REFUSED)
def test_refused(call: Any, match: str) -> None:
    with pytest.raises(lm.DifferentiationError, match=match):
        call()


def test_leaves_that_are_no_arrays() -> None:
    with pytest.raises(TypeError, match="argument mode: expected an array or a number, got str"):
        lm.grad(lambda x, mode: x.sum(), (0, 1))(X, "fast")


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (
            lambda: lm.vmap(lambda x, y: x + y)(np.ones((2, 3)), np.ones((4, 3))),
            "one size along the mapped dims: x has 2, y has 4",
        ),
        (lambda: lm.vmap(lambda x: x, in_axes=None)(X), "no argument is mapped"),
        (lambda: lm.vmap(lambda x: x, in_axes=2)(X), "axis 2 is out of range for argument x"),
        (lambda: lm.vmap(lambda x: x, in_axes=(0, 0))(X), "2 entries for 1 values"),
        (lambda: lm.vmap(lambda x: x)(1.0), "axis 0 is out of range"),
    ],
)
def test_vmap_refuses(call: Any, match: str) -> None:
    with pytest.raises(lm.ShapeError, match=match):
        call()


STOPPED = {
    "map": lambda f, v: lm.lax.map(f, v).sum(),
    "scan": lambda f, v: lm.scan(lambda total, x: (total + f(x), None), 0.0, v)[0],
    "for": lambda f, v: lm.fori_loop(0, 2, lambda i, total: total + f(v[i]), 0.0),
    "branch": lambda f, v: lm.cond(v[0] > 0, f, lambda x: x, v).sum(),
    "lanes": lambda f, v: lm.vmap(lambda x: lm.cond(x > 0, f, lambda x: x, x))(v).sum(),
    "checkpoint": lambda f, v: lm.checkpoint(f)(v).sum(),
}


@pytest.mark.parametrize("name", STOPPED)
def test_second_derivatives_see_what_is_stopped(name):
    def f(v):
        return STOPPED[name](lambda x: lnp.sin(x) * lm.stop_gradient(x), v)

    x, one = np.array([1.3, 0.4]), np.ones(2)
    for second in (
        lm.grad(lambda v: lm.grad(f)(v).sum()),
        lambda v: lm.jvp(lm.grad(f), (v,), (one,))[1],
        lm.grad(lambda v: lm.jvp(f, (v,), (one,))[1]),
    ):
        np.testing.assert_allclose(second(x), -np.sin(x) * x, rtol=1e-14)

"""Values in functions under trace: they are there in transformations of arrays; under `jit` an error says what to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.frontend.trace import concrete_values
from lamina.frontend.trace.tracing import concrete_array


def branch(x: Any) -> Any:
    if x.sum() > 0:
        return (x * x).sum()
    return -(x**3).sum()


def newton(a: Any) -> Any:
    x = a
    while abs(x * x - a) > 1e-13:
        x = (x + a / x) / 2
    return x


def read(x: Any) -> Any:
    """Each way to a value, which is a constant to the derivative."""
    n = int(x[0]) + [5, 7][lnp.argmax(x)] + x.astype(int).tolist()[1] + len(f"{x[0]:.2f}")
    scale = float(x[1]) + x[0].item() + np.asarray(lm.stop_gradient(x)).max() + complex(x[0]).real + (2.0 in x)
    return (x * scale * n).sum()


def repeated(x: Any) -> Any:
    y = x
    for _ in range(int(lnp.ceil(x.max()))):
        y = y * x
    return y.sum()


FUNCTIONS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "branch, then": (branch, np.array([1.0, 2.0])),
    "branch, else": (branch, np.array([-1.0, -2.0])),
    "newton": (newton, np.array(3.0)),
    "repeated": (repeated, np.array([0.5, 2.5])),
}
STEP = 1e-6


def slope(f: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    """By differences of the function on arrays, where there is no trace."""
    result = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[at] = STEP
        result[at] = (float(f(lnp.asarray(x + e))) - float(f(lnp.asarray(x - e)))) / (2 * STEP)
    return result


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_the_run(name: str) -> None:
    f, x = FUNCTIONS[name]
    want = slope(f, x)
    close = {"rtol": 1e-6, "atol": 1e-8}
    np.testing.assert_allclose(lm.grad(f)(x), want, **close)
    value, gradient = lm.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(lnp.asarray(x)), rtol=1e-14)
    np.testing.assert_allclose(gradient, want, **close)
    np.testing.assert_allclose(lm.jvp(f, (x,), (np.ones_like(x),))[1], want.sum(), **close)
    np.testing.assert_allclose(lm.vjp(f, x)[1](1.0)[0], want, **close)
    np.testing.assert_allclose(lm.jacfwd(f)(x), want, **close)
    second = slope(lambda y: lm.grad(f)(y).sum(), x)
    np.testing.assert_allclose(lm.grad(lambda y: lm.grad(f)(y).sum())(x), second, rtol=1e-5, atol=1e-6)


def test_what_is_read_is_a_constant() -> None:
    x = np.array([1.5, 2.5], np.float64)
    n, scale = 1 + 7 + 2 + 4, 2.5 + 1.5 + 2.5 + 1.5
    np.testing.assert_allclose(lm.grad(read)(x), np.full(2, n * scale))


def test_large_arrays_and_nested_transformations() -> None:
    def f(x: Any) -> Any:
        rows = lm.vmap(lambda row: (row * row).sum())(x @ x)  # an op that calls, and work that is compiled
        inner = lm.grad(lambda y: (y**2).sum())(x)
        return x.sum() * 2 if float(rows[0]) + float(inner[0, 0]) > 0 else x.sum()

    np.testing.assert_array_equal(lm.grad(f)(np.ones((96, 96))), np.full((96, 96), 2.0))


def test_vmap_knows_what_is_not_mapped() -> None:
    f = lm.vmap(lambda x, n: x * int(n) if n > 1 else x, in_axes=(0, None))
    np.testing.assert_array_equal(f(np.arange(3.0), np.int64(4)), np.arange(3.0) * 4)
    with pytest.raises(lm.TracingError, match=r"differ along the dim that vmap maps over: use lnp.where"):
        lm.vmap(lambda x: x if x > 0 else -x)(np.ones(3))


def test_a_closed_over_array_has_a_value() -> None:
    w = np.arange(2000.0)
    f = lm.grad(lambda x: (x * 3).sum() if (x[:1] * w).sum() > 5 else x.sum())
    assert f(np.ones(2)).tolist() == [3, 3] and f(-np.ones(2)).tolist() == [1, 1]


READS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "if": (lambda x: x if x > 0 else -x, r"lnp.where\(condition, a, b\), lm.cond or lm.while_loop"),
    "float": (lambda x: x * float(x), r"\.astype"),
    "int": (lambda x: x * int(x), "static_argnums"),
    "range": (lambda x: sum(x for _ in range(lnp.int64(2) * (x > 0))), "static_argnums"),
    "array": (lambda x: np.asarray(x) * x, "functions of lamina.numpy"),
    "item": (lambda x: x * x.item(), "read it outside"),
}


@pytest.mark.parametrize("name", READS)
def test_under_jit_the_error_says_what_to_write(name: str) -> None:
    f, remedy = READS[name]
    loop = lambda x: lm.scan(lambda c, _: (f(c), None), x, None, 2)  # noqa: E731
    jit = lambda f: lm.jit(f, capture="trace")  # noqa: E731
    for transformed in (jit(f), jit(lm.grad(f)), lm.grad(jit(f)), loop):
        with pytest.raises(lm.TracingError, match=rf"not known while tracing: .*{remedy}"):
            transformed(2.0)


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        print(x, f"{x.sum():.1f}", repr(x))
        return x.sum()

    lm.grad(f)(np.array([1.0, 2.0]))
    assert capsys.readouterr().out == "[1. 2.] 3.0 Tracer(float64[2])\n"
    lm.jit(lambda x: (print(x), x)[1])(np.ones(2))
    assert capsys.readouterr().out == "Tracer(float64[2])\n"


def test_values_are_copies() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        known = np.asarray(lm.stop_gradient(y))
        known[:] = 0
        return (y * y).sum() if float(y.sum()) > 0 else y.sum()

    assert lm.grad(f)(np.ones(2)).tolist() == [8, 8]


def test_nothing_runs_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concrete_values, "_run", lambda *_: pytest.fail("an op was run"))
    assert lm.grad(lambda x: (x * x).sum())(np.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize("f", [np.asarray, np.arange(2.0).dot, lambda x: np.arange(2.0).searchsorted(x), concrete_array])
def test_nothing_makes_a_constant_of_a_float_unseen(f: Callable[[Any], Any]) -> None:
    with pytest.raises(lm.TracingError, match=r"derivatives do not see: .*np.asarray\(lm.stop_gradient\(x\)\)"):
        lm.grad(lambda x: (x * f(x)).sum())(np.array([1.0, 2.0]))


def test_arrays_take_traced_indices_and_factors() -> None:
    table = lnp.asarray(np.arange(10.0))
    assert lm.jit(lambda k: table[k])(np.int64(3)) == 3
    assert lm.scan(lambda c, k: (c + table[k], None), 0.0, np.arange(4))[0] == 6
    assert lm.grad(lambda x: lnp.asarray([2.0, 3.0]).dot(x))(np.ones(2)).tolist() == [2, 3]
    assert lm.vmap(lambda k: table[k, None])(np.array([1, 5])).tolist() == [[1], [5]]
    with pytest.raises(IndexError):
        table[11]

"""Derivatives of batches of branches: a branch that an element does not take has no share in them, whatever it would give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

XS = np.array([0.0, 1.0, 2.0])


def by_cond(w: Any, x: Any) -> Any:
    return lm.cond(x != 0, lambda: w / x, lambda: w)


def by_switch(w: Any, x: Any) -> Any:
    index = lnp.where(x == 0, 0, lnp.where(x == 1, 1, 2))
    return lm.lax.switch(index, [lambda x: w, lambda x: w / x, lambda x: w * lnp.log(x) / x], x)


def in_scan(w: Any, x: Any) -> Any:
    def step(carry: Any, k: Any) -> Any:
        return lm.cond(x != 0, lambda c: c + w / x, lambda c: c + w, carry), None

    return lm.scan(step, w, np.arange(3.0))[0]


def of_unbatched(w: Any, x: Any) -> Any:
    """No element takes the first branch, whose slope at w - 2 is infinite."""
    return lm.cond(x > 5, lambda: lnp.sqrt(w - 2), lambda: w * x)


def nested(w: Any, x: Any) -> Any:
    return lm.cond(x != 0, lambda: lm.cond(x > 1, lambda: w**2 * lnp.log(x - 1 + w), lambda: w / x), lambda: w**3)


CASES: list[tuple[Callable[..., Any], Callable[[float, float], float]]] = [
    (by_cond, lambda w, x: w / x if x else w),
    (by_switch, lambda w, x: w if x == 0 else w / x if x == 1 else w * np.log(x) / x),
    (in_scan, lambda w, x: w + 3 * (w / x if x else w)),
    (of_unbatched, lambda w, x: w * x),
    (nested, lambda w, x: (w**2 * np.log(x - 1 + w) if x > 1 else w / x) if x else w**3),
]


@pytest.mark.parametrize(("f", "plain"), CASES, ids=lambda f: getattr(f, "__name__", ""))
def test_of_shared_value(f: Callable[..., Any], plain: Callable[[float, float], float]):
    def total(w: Any) -> Any:
        return lm.vmap(lambda x: f(w, x))(XS).mean()

    def expected(w: float) -> float:
        return float(np.mean([plain(w, x) for x in XS]))

    value, slope = lm.value_and_grad(total)(2.0)
    step = 1e-4
    wanted = (expected(2 + step) - expected(2 - step)) / (2 * step)
    curved = (expected(2 + step) - 2 * expected(2) + expected(2 - step)) / step**2
    np.testing.assert_allclose(value, expected(2.0), rtol=1e-14)
    np.testing.assert_allclose(slope, wanted, rtol=1e-7)
    np.testing.assert_allclose(lm.jit(lm.grad(total))(2.0), wanted, rtol=1e-7)
    np.testing.assert_allclose(lm.jvp(total, (2.0,), (1.0,))[1], wanted, rtol=1e-7)
    np.testing.assert_allclose(lm.grad(lm.grad(total))(2.0), curved, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(lm.jvp(lm.grad(total), (2.0,), (1.0,))[1], curved, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("xs", [XS, np.zeros(3), np.ones(1), np.zeros(0)], ids=["some", "none", "one", "empty"])
def test_of_batched_value(xs: np.ndarray):
    def total(xs: Any) -> Any:
        return lm.vmap(lambda x: lm.cond(x != 0, lambda: 1 / x, lambda: x))(xs).sum()

    with np.errstate(divide="ignore"):
        wanted = np.where(xs != 0, -1 / xs**2, 1.0)
    np.testing.assert_allclose(lm.grad(total)(xs), wanted)


def test_of_two_batches():
    xs = np.array([[0.0, 1.0], [0.0, 0.0], [2.0, 0.0]])

    def total(w: Any) -> Any:
        return lm.vmap(lm.vmap(lambda x: by_cond(w, x)))(xs).sum()

    np.testing.assert_allclose(lm.grad(total)(2.0), 1 + 0.5 + 4)


def early_return(w: Any, x: Any) -> Any:
    if x != 0:
        return w / x
    return w


def leaving_loop(w: Any, x: Any) -> Any:
    y = w
    for _ in range(3):
        if x == 0:
            break
        y = y + w / x
    return y


@pytest.mark.parametrize(("f", "slope"), [(early_return, 2.5), (leaving_loop, 1 + 4 + 2.5)])
def test_of_captured_control_flow(f: Callable[..., Any], slope: float):
    def total(w: Any) -> Any:
        return lm.vmap(lambda x: f(w, x))(XS).sum()

    np.testing.assert_allclose(lm.jit(lm.grad(total))(2.0), slope)

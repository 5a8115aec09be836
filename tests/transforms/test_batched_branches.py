"""Derivatives of batches of branches: a branch that an element does not take has no share in them, whatever it would give."""

from __future__ import annotations

import re
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


def test_infinite_slopes_stay_with_their_elements():
    """Values of an element that takes a branch stand for those of others, whose slopes there are not its own."""

    def total(w: Any, xs: Any) -> Any:
        return lm.vmap(lambda x: lm.lax.cond(x >= 0, lambda: lnp.sqrt(x) + w * x, lambda: 0.0 * x))(xs).sum()

    for xs in ([0.0, -1.0], [-1.0, 0.0], [-1.0, 0.0, -2.0, 4.0]):
        slopes = lm.jit(lm.grad(total, (0, 1)))(3.0, np.array(xs))
        np.testing.assert_allclose(slopes[0], sum(x for x in xs if x > 0))
        np.testing.assert_allclose(slopes[1], [0.0 if x < 0 else np.inf if x == 0 else 0.5 / np.sqrt(x) + 3 for x in xs])


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


@pytest.mark.parametrize("f", [by_cond, by_switch, in_scan, nested], ids=lambda f: f.__name__)
def test_of_a_size_that_only_a_call_knows(f: Callable[..., Any]):
    def total(w: Any, xs: Any) -> Any:
        return lm.vmap(lambda x: f(w, x))(xs).sum()

    plain = dict(CASES)[f]
    slopes = lm.jit(
        lambda w, xs: (lm.grad(total)(w, xs), lm.jvp(lm.grad(total), (w, xs), (1.0, xs))[1]), dynamic={"xs": ("n",)}
    )
    for xs in (XS, np.zeros(2), np.zeros(0), np.full(5, 3.0)):
        step = 1e-4
        low, middle, high = (sum(plain(w, x) for x in xs) for w in (2 - step, 2.0, 2 + step))
        slope, _ = slopes(2.0, xs)
        np.testing.assert_allclose(slope, (high - low) / (2 * step), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(
            lm.jvp(lm.grad(total), (2.0, xs), (1.0, 0 * xs))[1], (high - 2 * middle + low) / step**2, rtol=1e-5, atol=1e-5
        )


def test_of_a_branch_with_effects(capfd: pytest.CaptureFixture[str]):
    def noisy(w: Any, x: Any) -> Any:
        def taken() -> Any:
            lm.debug.print("at {}", x)
            return w / x

        return lm.cond(x != 0, taken, lambda: w)

    def total(w: Any, xs: Any) -> Any:
        return lm.vmap(lambda x: noisy(w, x))(xs).sum()

    assert lm.grad(total)(2.0, XS) == 2.5
    assert capfd.readouterr().out.split() == ["at", "1.0", "at", "2.0"]
    assert lm.jvp(lm.grad(total), (2.0, XS), (1.0, XS))[1] == -1.5
    np.testing.assert_allclose(lm.grad(total, 1)(2.0, XS), [0, -2, -0.5])


def test_costs_nothing_where_nothing_is_differentiated():
    """The ops of a batch of branches are those of both, and one selection, unless it is differentiated."""

    def values(w: Any, xs: Any) -> Any:
        return lm.vmap(lambda x: by_cond(w, x))(xs)

    def ops(f: Callable[..., Any]) -> list[str]:
        return re.findall(r"graph\.(\w+)", lm.jit(f).lower(2.0, XS).as_text("optimized"))

    assert not {"case", "gather"} & set(ops(values))
    assert "gather" in ops(lm.grad(lambda w, xs: values(w, xs).sum()))

"""Programs in every form of control flow: unrolled, rolled, branch-free, outlined; each computes what it did before."""

from __future__ import annotations

import itertools
import os
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.dialects.context import make_context
from lamina.passes import run_passes
from lamina.runtime.interpreter import interpret
from random_programs import Drawn, compare, exact_results
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

SEED = int(os.environ.get("LAMINA_TEST_SEED", "0"))

FORMS = (
    "graph-while-to-for,graph-unroll{limit=200 factor=2},graph-ifs-to-case,graph-fold-conditions,graph-simplify",
    "graph-reroll{least=2},graph-hoist-invariants,graph-if-to-select{limit=10000},graph-simplify,graph-dce",
    "graph-unroll{limit=1000},graph-reroll{least=4},graph-outline-branches{least=1},graph-if-to-select",
)
"""There and back, in several orders."""


def changed(module: ModuleOp, passes: str) -> ModuleOp:
    module, is_valid = module.clone(), True
    try:
        module.verify()
    except VerifyException:  # a trace may hold consts of halves, which the verifier refuses
        is_valid = False
    run_passes(module, make_context(), passes, verify_each=is_valid)
    return module


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("seed", range(1 + 2 * SEED, 21 + 2 * SEED, 2))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    drawn = Drawn(seed)
    args = drawn.arrays(5, 3)
    module = lm.jit(drawn).lower(*args).module
    wanted, exact = interpret(module, "main", args), exact_results(module)
    for passes in FORMS:
        found = interpret(changed(module, passes), "main", args)
        for k, (x, y, is_exact) in enumerate(zip(found, wanted, exact, strict=True)):
            compare(x, y, is_exact, f"seed {seed}, {passes}, result {k}")


def layers(n: int, d: int = 4) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(SEED + n)
    weights = [{"w": rng.normal(size=(d, d)) * 0.5, "b": rng.normal(size=d) * 0.1} for _ in range(n)]

    def loss(weights: Any, x: Any) -> Any:
        for p in weights:
            h = lnp.tanh(x @ p["w"] + p["b"])
            x = x + lnp.where(h > 0, h, 0.1 * lnp.expm1(h)) * lnp.exp(-lnp.mean(h * h, -1, keepdims=True))
        return lnp.sum(x * x)

    return loss, weights, rng.normal(size=(3, d))


@pytest.mark.thorough
@pytest.mark.parametrize("n", [1, 7, 12])
def test_networks_of_equal_layers(n: int) -> None:
    """Values and derivatives are those of the unrolled network, whether its layers become functions or not."""
    loss, weights, x = layers(n)
    step = lm.jit(lm.value_and_grad(loss))
    value, slopes = step(weights, x)
    plain_value, plain = lm.value_and_grad(loss)(weights, x)  # a tape of single ops, or one layer after the other
    np.testing.assert_allclose(value, plain_value, rtol=1e-12)
    for mine, other in zip(lm.tree.leaves(slopes), lm.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12)
    epsilon, direction = 1e-6, lm.tree.map(np.ones_like, weights)
    ahead, back = (loss(lm.tree.map(lambda a, s=s: a + s * epsilon, weights), x) for s in (1, -1))
    total = sum(np.sum(leaf) for leaf in lm.tree.leaves(slopes))
    np.testing.assert_allclose(total, (ahead - back) / (2 * epsilon), rtol=1e-6)
    pushed = lm.jit(lambda w: lm.jvp(lambda v: loss(v, x), (w,), (direction,))[1])(weights)
    np.testing.assert_allclose(pushed, total, rtol=1e-10)
    xs = np.stack([x, 2 * x])
    batched = lm.jit(lm.vmap(lm.grad(loss), (None, 0)))(weights, xs)
    second = lm.jit(lm.grad(loss))(weights, xs[1])
    for mine, other in zip(lm.tree.leaves(batched), lm.tree.leaves(second), strict=True):
        np.testing.assert_allclose(mine[1], other, rtol=1e-10, atol=1e-12)


def test_layers_become_one_function() -> None:
    loss, weights, x = layers(12)
    text = lm.jit(lm.grad(loss)).lower(weights, x).as_text("optimized")
    forward = [line for line in text.splitlines() if "graph.call @" in line and "saving" in line]
    backward = [line for line in text.splitlines() if "graph.call @" in line and "transposed" in line]
    names = {line.partition("@")[2].partition("(")[0] for line in (*forward, *backward)}
    assert len(forward) >= 11 and len(backward) >= 11
    assert len(names) <= 6  # the first and the last layer may need less
    hessian = lm.jit(lambda w: lm.grad(lambda v: lnp.sum(lm.grad(loss)(v, x)[0]["w"] ** 2))(w)[0]["w"])
    epsilon = 1e-6
    moved = [dict(p) for p in weights]
    moved[0]["w"] = weights[0]["w"] + epsilon

    def norm(w: Any) -> Any:
        return np.sum(np.asarray(lm.grad(loss)(w, x)[0]["w"]) ** 2)

    np.testing.assert_allclose(np.sum(hessian(weights)), (norm(moved) - norm(weights)) / epsilon, rtol=1e-4)


def test_branches_keep_what_their_reverse_needs() -> None:
    """A branch with a product returns residuals; its transpose computes no product of the forward branch again."""

    def f(x: Any, p: Any) -> Any:
        return lnp.sum(lm.cond(p, lambda v: lnp.tanh(v @ v), lambda v: lnp.exp(v) * 2, x))

    x = np.random.default_rng(SEED).normal(size=(4, 4)) * 0.3
    gradient = lm.jit(lm.grad(f))
    for p, wanted in ((True, lambda v: np.tanh(v @ v)), (False, lambda v: np.exp(v) * 2)):
        numeric = np.zeros_like(x)
        for k in itertools.product(range(4), range(4)):
            step = np.zeros_like(x)
            step[k] = 1e-6
            numeric[k] = (wanted(x + step).sum() - wanted(x - step).sum()) / 2e-6
        np.testing.assert_allclose(gradient(x, p), numeric, rtol=1e-6, atol=1e-8)
    text = gradient.lower(x, True).as_text("optimized")
    assert "saving" in text and text.count("graph.dot") == 3  # one of the forward branch, two of its transpose


def test_callbacks_in_branches_are_called_once_in_reverse() -> None:
    calls: list[float] = []

    def host(v: Any) -> Any:
        calls.append(float(v))
        return np.float64(3.0)

    def f(x: Any) -> Any:
        def yes(v: Any) -> Any:
            return v * v * lm.io_callback(host, lm.ShapeDtypeStruct((), np.float64), lm.stop_gradient(v))

        return lm.cond(x > 0, yes, lambda v: v, x)

    assert lm.jit(lm.grad(f))(2.0) == 12.0
    assert calls == [2.0]


def test_while_loops_that_count_have_gradients() -> None:
    def f(x: Any) -> Any:
        return lm.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + 2, s[1] * s[1]), (1, x))[1]

    assert lm.jit(lm.grad(f))(1.1) == pytest.approx(16 * 1.1**15, rel=1e-12)
    for lower, upper, step in ((0, 10, 3), (5, 5, 1), (7, 3, 2), (10, 0, -3), (-4, 4, 1)):

        def count(x: Any, lower: int = lower, upper: int = upper, step: int = step) -> Any:
            def going(s: Any) -> Any:
                return s[0] < upper if step > 0 else s[0] > upper

            return lm.while_loop(going, lambda s: (s[0] + step, s[1] + s[0] * x), (lower, x * 0))

        last, total = lm.jit(count)(1.0)
        numbers = range(lower, upper, step)
        assert total == sum(numbers) and last == (numbers[-1] + step if len(numbers) else lower)
    for n in (-5, 0, 1, 7):
        found = lm.jit(lambda n, x: lm.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (0, x)))(n, 1.0)
        assert (int(found[0]), float(found[1])) == (max(n, 0), 2.0 ** max(n, 0))


def test_unrolled_loops_equal_scan() -> None:
    xs = np.random.default_rng(SEED).normal(size=(7, 3))

    def f(xs: Any) -> Any:
        return lm.scan(lambda c, x: (c * 0.5 + x, c * x), lnp.zeros(3), xs, reverse=True)

    module = lm.jit(f).lower(xs).module
    wanted = interpret(module, "main", [xs])
    for factor in (2, 3, 7, 8):
        found = interpret(changed(module, f"graph-unroll{{limit=1 factor={factor}}}"), "main", [xs])
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)

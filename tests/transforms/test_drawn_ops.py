"""Derivatives and batching of every op on random shapes and properties: differences, agreement of the modes, a Python loop.

LAMINA_TEST_EXAMPLES says how many draws there are for each op (times 20), LAMINA_TEST_SEED from which seed on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from drawn_cases import CASE_DRAWS
from graphs import EXPAND, Case, derivatives, mapped, run
from lamina.dialects.dominance import verify_module
from lamina.dialects.graph.base import to_attribute
from lamina.dialects.graph.convolution import Convolution, dilated
from lamina.runtime.interpreter import interpret
from sketches import Sketch

EXAMPLES = max(1, int(os.environ.get("LAMINA_TEST_EXAMPLES", "320")) // 20)
FIRST_SEED = int(os.environ.get("LAMINA_TEST_SEED", "0"))
STEP = 1e-6


def every_draw(name: str, check: Callable[[Case], None]) -> None:
    """Check the draws of an op; what fails says its seed."""
    for seed in range(FIRST_SEED, FIRST_SEED + EXAMPLES):
        case = CASE_DRAWS[name](Sketch(seed))
        try:
            check(case)
        except Exception as error:
            error.add_note(f"LAMINA_TEST_SEED={seed} {name}\n{derivatives(case)}")
            raise


def random_like(arrays: list[np.ndarray], seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.uniform(-1, 1, a.shape)) for a in arrays]


def inner(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    return sum(float(np.sum(x * y)) for x, y in zip(a, b, strict=True))


def along(f: Callable[..., list[np.ndarray]], x: list[np.ndarray], t: list[np.ndarray]) -> list[np.ndarray]:
    """Central differences of f at x along t."""
    plus, minus = (f([a + sign * STEP * v for a, v in zip(x, t, strict=True)]) for sign in (1, -1))
    return [(p - m) / (2 * STEP) for p, m in zip(plus, minus, strict=True)]


def close(got: list[np.ndarray], want: list[np.ndarray], tol: float) -> None:
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=tol, atol=tol)


def check_derivatives(case: Case) -> None:
    """To second order: forward against differences, reverse against forward; the same of the gradient."""
    module = run(derivatives(case), EXPAND)
    verify_module(module)
    args = case.arguments()
    n = len(case.shapes)
    x, rest = args[:n], args[n:]
    f = lambda a: list(interpret(module, "f", [*a, *rest]))  # noqa: E731
    values = f(x)
    assert all(np.isfinite(v).all() for v in values)
    t, ct = random_like(x, 1), random_like(values, 2)
    tangents = list(interpret(module, "jvp", [*args, *t]))[len(values) :]
    close(tangents, along(f, x, t), 1e-6)
    gradients = list(interpret(module, "vjp", [*args, *ct]))
    assert [g.shape for g in gradients] == [a.shape for a in x]
    np.testing.assert_allclose(inner(gradients, t), inner(ct, tangents), rtol=1e-10, atol=1e-12)

    grad = lambda a: list(interpret(module, "vjp", [*a[:n], *rest, *a[n:]]))  # noqa: E731
    point = [*x, *ct]
    u, back = random_like(point, 3), random_like(x, 4)
    order = [*x, *rest, *ct]
    second = list(interpret(module, "jvp_vjp", [*order, *u]))[n:]
    close(second, along(grad, point, u), 1e-5)
    twice = list(interpret(module, "vjp_vjp", [*order, *back]))[n:]
    np.testing.assert_allclose(inner(back, second), inner(twice, u), rtol=1e-9, atol=1e-10)


def check_batching(case: Case, seed: int) -> None:
    """Some arguments batched, each along any of its dims: the same as one call after the other."""
    rng = np.random.default_rng(seed)
    args = case.arguments()
    axes = [int(rng.integers(0, a.ndim + 1)) if rng.random() < 0.7 else -1 for a in args]
    if all(axis < 0 for axis in axes):
        axes[0] = 0
    size = int(rng.choice((1, 2, 3)))
    module, stacked = mapped(case, axes, size)
    rows = [
        interpret(module, "f", [a if axis < 0 else np.take(a, k, axis) for a, axis in zip(stacked, axes, strict=True)])
        for k in range(size)
    ]
    got = interpret(run(module, "graph-vmap"), "main", stacked)
    close(list(got), [np.stack(column) for column in zip(*rows, strict=True)], 1e-12)


@pytest.mark.parametrize("spatial", [1, 2])
def test_properties_of_convolutions_are_canonical(spatial: int) -> None:
    """What is in order is left out, so that equal convolutions have equal properties; what is not stays."""
    ones, none, order = (1,) * spatial, (0,) * spatial, tuple(range(spatial + 2))
    assert (dilated(0, 3), dilated(1, 3), dilated(3, 2)) == (0, 1, 5)
    plain = Convolution(ones, none, none, ones, ones, order, order, order, 1)
    assert all(plain.properties()[name] == () for name in ("base_dilation", "dilation", "x_dims", "w_dims", "y_dims"))
    twos, last = (2,) * spatial, (0, spatial + 1, *range(1, spatial + 1))
    other = Convolution(twos, ones, twos, twos, twos, last, last, last, 3, ones)
    assert other.properties() == {name: getattr(other, name) for name in other.properties()}
    assert other.direct == ones and replace(other, tile=twos).direct == plain.direct == ()
    for conv in (plain, other):
        assert Convolution.of({name: to_attribute(value) for name, value in conv.properties().items()}) == conv


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", CASE_DRAWS)
def test_derivatives_of_drawn(name: str) -> None:
    every_draw(name, check_derivatives)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", CASE_DRAWS)
def test_batching_of_drawn(name: str) -> None:
    for k in range(3):
        every_draw(name, lambda case, k=k: check_batching(case, k))

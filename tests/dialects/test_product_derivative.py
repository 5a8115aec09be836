"""Derivatives of products over dims where a quotient by the element would fail: zeros, infinities, underflow."""

from __future__ import annotations

import itertools
import sys
from functools import cache
from math import prod
from pathlib import Path

import numpy as np
import pytest
from lamina.runtime.interpreter import interpret
from xdsl.dialects.builtin import ModuleOp

sys.path.insert(0, str(Path(__file__).parent.parent / "transforms"))
from graphs import EXPAND, Case, derivatives, run


@cache
def module(shape: tuple[int, ...], dims: tuple[int, ...]) -> ModuleOp:
    case = Case("product", (shape,), lambda b, x: b.reduce(x, kind="mul", dims=dims))
    return run(derivatives(case), EXPAND)


def gradient_and_hessian(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    m, ct, still = module(x.shape, (0,)), np.array(1.0), np.array(0.0)
    (gradient,) = interpret(m, "vjp", [x, ct])
    rows = [interpret(m, "jvp_vjp", [x, ct, e, still])[1] for e in np.eye(len(x))]
    return gradient, np.array(rows).reshape(len(x), len(x))


def product_without(x: np.ndarray, *left_out: int) -> float:
    return prod(float(v) for k, v in enumerate(x) if k not in left_out)


@pytest.mark.thorough(every=7)
@pytest.mark.parametrize("n", range(7))
def test_zeros_to_second_order(n: int) -> None:
    """With any of the elements zero, gradient and Hessian are the products of all others."""
    for zeros in itertools.product((False, True), repeat=n):
        x = np.where(zeros, 0.0, np.arange(2.0, n + 2))
        gradient, hessian = gradient_and_hessian(x)
        np.testing.assert_array_equal(gradient, [product_without(x, i) for i in range(n)])
        want = [[product_without(x, i, j) if i != j else 0.0 for j in range(n)] for i in range(n)]
        np.testing.assert_array_equal(hessian, np.reshape(want, (n, n)))


@pytest.mark.parametrize("x", [[np.inf, 2, 3], [1e-200, 1e-200, 1e300], [np.nan, 2], [-0.0, np.inf]])
def test_extremes(x: list[float]) -> None:
    values = np.array(x)
    (gradient,) = interpret(module(values.shape, (0,)), "vjp", [values, np.array(1.0)])
    np.testing.assert_array_equal(gradient, [product_without(values, i) for i in range(len(values))])


@pytest.mark.parametrize("dims", [(), (0,), (1,), (2,), (0, 2), (2, 0), (0, 1, 2)])
def test_dims(dims: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(-2, 3, (2, 3, 4)).astype(float)
    ct = rng.normal(size=[n for d, n in enumerate(x.shape) if d not in dims])
    (got,) = interpret(module(x.shape, dims), "vjp", [x, np.asarray(ct)])
    want = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        rest = x.copy()
        rest[at] = 1
        want[at] = np.expand_dims(np.prod(rest, axis=dims), dims)[tuple(0 if d in dims else i for d, i in enumerate(at))]
    np.testing.assert_allclose(got, want * np.expand_dims(ct, dims), rtol=1e-14, atol=0)

"""lamina.special against the functions of `math`, with no other oracle; derivatives where formulas change."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lamina as lm
import numpy as np
import pytest

special = lm.special
EDGE = [0.0, -0.0, np.inf, -np.inf, np.nan]


def of_math(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    def each(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):  # a pole
            return math.inf

    return lambda x: np.array([each(float(v)) for v in x])


def log_ndtr(x: float) -> float:
    # far out its asymptotic series
    if x > 0:
        return math.log1p(-0.5 * math.erfc(x / math.sqrt(2)))
    if x > -20:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2)))
    series = sum((-1) ** k * math.prod(range(1, 2 * k, 2)) / x ** (2 * k) for k in range(12))
    return -x * x / 2 - math.log(-x * math.sqrt(2 * math.pi)) + math.log(series)


SPREAD = np.concatenate([np.linspace(-9, 9, 181), [0.5, 1.0, -1.0, 1e-20]])
CASES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]] = {
    "erfc": (of_math(math.erfc), np.concatenate([SPREAD, EDGE])),
    "erf": (of_math(math.erf), np.concatenate([SPREAD, EDGE])),
    "gammaln": (of_math(math.lgamma), np.concatenate([np.linspace(0.01, 12, 300), [1.0, 2.0, 50.0, 1e5], [-0.5, -1.5, -3.7]])),
    "log_ndtr": (of_math(log_ndtr), np.concatenate([np.linspace(-30, 5, 141), [-1e3, -1e6]])),
    "i0": (np.i0, np.linspace(-20, 20, 101)),
    "expit": (lambda x: 1 / (1 + np.exp(-x)), SPREAD),
}


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_values(name: str, dtype: str) -> None:
    oracle, points = CASES[name]
    x = points.astype(dtype)
    want = oracle(x.astype(np.float64))
    for run in (getattr(special, name), lm.jit(getattr(special, name))):
        got = np.asarray(run(x))
        assert got.dtype == x.dtype
        limits = np.finfo(dtype)
        near = 8 * limits.eps if name == "gammaln" else limits.tiny  # near 1 and 2 that of `math` is no better
        np.testing.assert_allclose(got, want, rtol=float(64 * limits.eps), atol=float(near), err_msg=name)


def test_logarithms_at_zero() -> None:
    x = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 2.0])
    y = np.array([0.0, -1.0, np.inf, np.nan, np.e, 1.0])
    np.testing.assert_array_equal(special.xlogy(x, y).round(12), [0, 0, 0, np.nan, 1, 0])
    np.testing.assert_array_equal(special.entr(np.array([0.0, 1.0, -1.0, np.inf])), [0, 0, -np.inf, -np.inf])
    np.testing.assert_array_equal(
        special.rel_entr(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, -1.0, 1.0, 0.0])), [0, np.inf, 0, np.inf]
    )
    # the slope in x at 0 is the logarithm
    assert lm.grad(special.xlogy)(0.0, math.e) == pytest.approx(1.0)
    assert lm.grad(special.xlogy, 1)(0.0, 0.0) == 0.0


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("erfc", [-3.0, 0.0, 0.4999, 0.5, 0.5001, 3.0, 20.0]),
        ("log_ndtr", [-50.0, -1.0001, -1.0, 0.0, 4.0]),
        ("gammaln", [0.3, 0.5, 1.0, 2.0, 2.9999, 3.0, 8.0, 40.0, -0.5]),
        ("logit", [0.1, 0.25, 0.5, 0.75, 0.99]),
        ("i0e", [-9.0, -8.0, 0.5, 7.9, 8.0, 12.0]),
    ],
)
def test_slopes_are_those_of_differences(name: str, points: list[float]) -> None:
    function = getattr(special, name)
    x = np.array(points)
    h = 1e-5 * np.maximum(1, np.abs(x)) * (0.1 if name == "logit" else 1)
    want = (function(x + h) - function(x - h)) / (2 * h)
    got = lm.vmap(lm.grad(function))(x)
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-9)


def test_digamma_is_the_slope_of_gammaln() -> None:
    x = np.array([0.2, 0.5, 1.0, 1.4616, 2.5, 9.0, 1e3, -0.5, -2.3])
    np.testing.assert_allclose(special.digamma(x), lm.vmap(lm.grad(special.gammaln))(x), rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(special.digamma(np.array([0.0, -0.0, -1.0])), [-np.inf, np.inf, np.nan])


def test_activations_have_finite_slopes_far_out() -> None:
    x = np.array([-1e4, -100.0, -1.0, 0.0, 1.0, 100.0, 1e4], np.float32)
    for name in ("elu", "celu", "selu", "mish", "log_sigmoid", "squareplus", "soft_sign", "hard_swish", "softplus", "silu"):
        slopes = lm.vmap(lm.grad(getattr(lm.nn, name)))(x)
        assert np.isfinite(slopes).all(), name


def test_softmax_of_chosen_elements() -> None:
    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    mask = np.array([[True, False, True], [False, False, False]])
    want = np.exp(x[0, [0, 2]]) / np.exp(x[0, [0, 2]]).sum()
    got: Any = lm.jit(lambda v: lm.nn.softmax(v, where=mask))(x)
    np.testing.assert_allclose(got, [[want[0], 0, want[1]], [0, 0, 0]])
    slopes = lm.grad(lambda v: (lm.nn.softmax(v, where=mask) ** 2).sum())(x)
    assert np.isfinite(slopes).all() and not slopes[~mask].any()

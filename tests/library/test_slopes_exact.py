"""First and second derivatives over the whole range of a function, against closed forms in mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import mpmath as mp
import numpy as np
import pytest

special, nn = lm.special, lm.nn


def _s(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _pdf(x: Any) -> Any:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def _adjacent(x: Any) -> Any:
    return mp.sqrt((1 - x) * (1 + x))


# function, where: the ends by (f32, f64), or "unit", "above 1"; first and second derivative
TABLE: dict[str, tuple[Callable[[Any], Any], Any, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "tanh": (lnp.tanh, (42, 350), lambda x: mp.sech(x) ** 2, lambda x: -2 * mp.tanh(x) * mp.sech(x) ** 2),
    "sigmoid": (nn.sigmoid, (84, 700), lambda x: _s(x) * _s(-x), lambda x: -_s(x) * _s(-x) * mp.tanh(x / 2)),
    "softplus": (nn.softplus, (84, 700), _s, lambda x: _s(x) * _s(-x)),
    "log_sigmoid": (nn.log_sigmoid, (84, 700), lambda x: _s(-x), lambda x: -_s(x) * _s(-x)),
    "expm1": (lnp.expm1, (84, 700), mp.exp, mp.exp),
    "sinh": (lnp.sinh, (84, 700), mp.cosh, mp.sinh),
    "cosh": (lnp.cosh, (84, 700), mp.sinh, mp.cosh),
    "erf": (
        special.erf,
        (9.2, 26.5),
        lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x),
        lambda x: -4 * x / mp.sqrt(mp.pi) * mp.exp(-x * x),
    ),
    "ndtr": (special.ndtr, (13, 37), _pdf, lambda x: -x * _pdf(x)),
    "arcsin": (lnp.arcsin, "unit", lambda x: 1 / _adjacent(x), lambda x: x / _adjacent(x) ** 3),
    "arccos": (lnp.arccos, "unit", lambda x: -1 / _adjacent(x), lambda x: -x / _adjacent(x) ** 3),
    "arctanh": (lnp.arctanh, "unit", lambda x: _adjacent(x) ** -2, lambda x: 2 * x / _adjacent(x) ** 4),
    "arccosh": (
        lnp.arccosh,
        "above 1",
        lambda x: 1 / mp.sqrt((x - 1) * (x + 1)),
        lambda x: -x / mp.sqrt((x - 1) * (x + 1)) ** 3,
    ),
    "arcsinh": (lnp.arcsinh, (1e6, 1e6), lambda x: 1 / mp.sqrt(1 + x * x), lambda x: -x / mp.sqrt(1 + x * x) ** 3),
    "arctan": (lnp.arctan, (1e6, 1e6), lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2),
    "soft_sign": (
        nn.soft_sign,
        (1e6, 1e6),
        lambda x: (1 + abs(x)) ** -2,
        lambda x: -2 * mp.sign(x) / (1 + abs(x)) ** 3,
    ),
    "squareplus": (
        nn.squareplus,
        (1e5, 1e6),
        lambda x: 2 / (mp.sqrt(x * x + 4) * (mp.sqrt(x * x + 4) - x)),
        lambda x: 2 / mp.sqrt(x * x + 4) ** 3,
    ),
}


def _points(where: Any, dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    n = 60
    if where == "above 1":
        return (1 + np.exp(rng.uniform(math.log(1e-6), math.log(1e9), n))).astype(dtype)
    if where == "unit":
        small = np.exp(rng.uniform(math.log(1e-12), 0, n))
        x = np.where(rng.uniform(size=n) < 0.5, small, 1 - np.maximum(small, 1e-6)).astype(dtype)
        return np.minimum(x, 1 - np.finfo(dtype).epsneg) * rng.choice(np.array([-1, 1], dtype), n)
    size = np.exp(rng.uniform(math.log(1e-8), math.log(where[dtype == np.float64]), n))
    return (size * rng.choice([-1, 1], n)).astype(dtype)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float64)], ids=str)
def test_derivatives_within_eight_epsilon(dtype: np.dtype, order: int) -> None:
    rng = np.random.default_rng(order)
    points = {name: _points(row[1], dtype, rng) for name, row in TABLE.items()}

    def derivatives(xs: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for name, x in xs.items():
            f = TABLE[name][0]
            for _ in range(order):
                f = lm.grad(lambda v, f=f: f(v).sum())
            found[name] = f(x)
        return found

    wrong = {}
    with mp.workdps(60):
        for name, got in lm.jit(derivatives)(points).items():
            want = [TABLE[name][1 + order](mp.mpf(float(x))) for x in points[name]]
            errors = [float(abs((mp.mpf(float(g)) - w) / w)) for g, w in zip(np.asarray(got), want, strict=True)]
            kept = [4 * np.finfo(dtype).smallest_normal < abs(w) < np.finfo(dtype).max for w in want]
            worst = int(np.argmax(np.where(kept, errors, 0)))
            if kept[worst] and not errors[worst] <= 8 * np.finfo(dtype).eps:
                wrong[name] = float(points[name][worst]), float(np.asarray(got)[worst]), float(want[worst])
    assert not wrong


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_tanh(dtype: str) -> None:
    rng = np.random.default_rng(0)
    real = np.exp(rng.uniform(math.log(1e-6), math.log(42 if dtype == "complex64" else 350), 60)) * rng.choice([-1, 1], 60)
    z = (real + 1j * rng.uniform(-6, 6, 60)).astype(dtype)
    got = lm.jit(lambda v: lm.jvp(lnp.tanh, (v,), (lnp.ones_like(v),))[1])(z)
    with mp.workdps(60):
        for v, slope in zip(z, np.asarray(got), strict=True):
            want = mp.sech(mp.mpc(complex(v))) ** 2
            assert abs(mp.mpc(complex(slope)) - want) <= 16 * np.finfo(dtype).eps * abs(want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_that_saturates(dtype: str) -> None:
    x = np.array([40, 50, 60, 80, 90, 91], dtype)  # differences are exact
    with mp.workdps(60):
        weights = [mp.exp(float(v)) for v in x]
        p = [w / sum(weights) for w in weights]
        rest = [sum(p[:k] + p[k + 1 :]) for k in range(len(p))]
        want = np.array([[float(rest[i] if i == j else -p[j]) for j in range(len(p))] for i in range(len(p))])
        scaled = np.array([float(q) for q in p])[:, None] * want
    rtol = 16 * float(np.finfo(dtype).eps)
    for jacobian in (lm.jacrev, lm.jacfwd):
        np.testing.assert_allclose(lm.jit(jacobian(nn.log_softmax))(x), want, rtol=6 * rtol)
        np.testing.assert_allclose(lm.jit(jacobian(nn.softmax))(x), scaled, rtol=rtol, atol=float(np.finfo(dtype).tiny))


ROOTS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], float]] = {
    "silu": (nn.silu, lambda x: x / (1 + mp.exp(-x)), -1.2784645427610738),
    "mish": (nn.mish, lambda x: x * mp.tanh(mp.log1p(mp.exp(x))), -1.1924),
    "gelu": (lambda x: nn.gelu(x, approximate=False), lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2, -0.7517915246935645),
}
"""Functions with a minimum, and near where."""


@pytest.mark.thorough(every=3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ROOTS)
def test_derivatives_beside_their_zeros(name: str, dtype: str) -> None:
    """Errors are relative to the derivative, or to what it moves where the argument does, if that is more."""
    function, reference, near = ROOTS[name]
    with mp.workdps(50):
        root = float(mp.findroot(lambda x: mp.diff(reference, x), near))
        x = (root + np.array([0, 1e-7, -1e-7, 1e-4, -1e-4, 1e-3, 0.01, -0.01, 0.1, -0.1, 1, -1])).astype(dtype)
        derivative = function
        for order in (1, 2):
            derivative = (lambda f: lm.grad(lambda v: f(v).sum()))(derivative)
            for at, got in zip(x, np.asarray(lm.jit(derivative)(x)), strict=True):
                want, motion = (mp.diff(reference, mp.mpf(float(at)), order + k) for k in (0, 1))
                scale = max(abs(want), abs(motion * float(at))) * float(np.finfo(dtype).eps)
                assert abs(mp.mpf(float(got)) - want) <= 8 * scale, (order, at)

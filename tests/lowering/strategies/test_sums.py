"""The stated bound on rounding errors of long sums (docs/semantics.md), for every form of a sum."""

from __future__ import annotations

import math

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

U = 2.0**-24
FACTOR = 64
"""In units of U. The stated bound is for the worst order of signs and roundings; equal terms, which round to one side for long,
come to a tenth of it. With one accumulator these sums are off by 1,000 to 100,000 U."""
SUMS = {
    "all": ((3_000_001,), None),
    "rows": ((3, 700_001), 1),
    "columns": ((300_001, 7), 0),
    "wide columns": ((20_003, 130), 0),
    "middle": ((2, 150_001, 5), 1),
    "first two": ((700, 300, 9), (0, 1)),
}
PRODUCTS = {  # rows, depth, columns: matrices in blocks, few rows, vectors, dots, tiles
    "blocks": (64, 30_011, 64),
    "few rows": (16, 30_011, 512),
    "few rows, whole groups": (8, 24_576, 512),
    "vector and matrix": (1, 6_000, 4096),
    "matrix and vector": (256, 100_003, 1),
    "tile": (5, 100_003, 24),
    "dot": (1, 1_000_003, 1),
}


def terms(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers whose sums round to the same side for long: with one accumulator errors grow with the number of terms."""
    return np.full(shape, 0.1, np.float32)


def check(got: np.ndarray, want: np.ndarray) -> None:
    error = np.max(np.abs(np.asarray(got, np.float64) - want) / np.abs(want))
    assert error <= FACTOR * U, f"{error / U:.1f} u"


@pytest.mark.parametrize("function", ["sum", "mean"])
@pytest.mark.parametrize("name", SUMS)
def test_sums(name: str, function: str) -> None:
    shape, axis = SUMS[name]
    x = terms(shape)
    check(lm.jit(lambda x: getattr(lnp, function)(x, axis))(x), getattr(np, function)(x.astype(np.float64), axis))


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, transposed: bool) -> None:
    m, k, n = PRODUCTS[name]
    if transposed and k * n > 20_000_000:
        n //= 4
    x, y = terms((m, k)), np.random.default_rng(0).uniform(0.5, 1.5, (k, n)).astype(np.float32)
    if transposed:
        y = np.ascontiguousarray(y.T)
        got = lm.jit(lambda x, y: x @ y.T)(x, y)
        y = y.T
    else:
        got = lm.jit(lambda x, y: x @ y)(x, y)
    check(got[:1], x[:1].astype(np.float64) @ y.astype(np.float64))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"), [((1_000_000,), 0), ((3, 40_001), 1), ((20_011, 9), 0), ((129,), 0), ((16_385,), 0)]
)
def test_running_sums(shape: tuple[int, ...], axis: int, reverse: bool) -> None:
    x = terms(shape)
    f = (lambda x: lnp.flip(lnp.cumsum(lnp.flip(x, axis), axis), axis)) if reverse else (lambda x: lnp.cumsum(x, axis))
    want = np.cumsum(x.astype(np.float64), axis)
    check(lm.jit(f)(x), np.flip(want, axis) if reverse else want)


def test_random_signs_against_exact_sums() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=1_000_003).astype(np.float32)
    got, magnitude = float(lm.jit(lnp.sum)(x)), float(np.abs(x.astype(np.float64)).sum())
    assert abs(got - math.fsum(x.tolist())) <= 8 * U * magnitude
    running = lm.jit(lnp.cumsum)(x)
    exact = np.cumsum(x.astype(np.longdouble))
    assert np.max(np.abs(running - exact) / np.cumsum(np.abs(x).astype(np.longdouble))) <= 8 * U


def test_short_running_sums_are_those_of_numpy_to_the_last_bit() -> None:
    x = np.random.default_rng(0).normal(size=(5, 128)).astype(np.float32)
    x[0], x[1, 0] = -0.0, -0.0
    assert np.asarray(lm.jit(lambda x: lnp.cumsum(x, 1))(x)).tobytes() == np.cumsum(x, 1).tobytes()

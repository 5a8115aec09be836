"""Sums of floats whose author lets them be added in another order."""

from __future__ import annotations

import itertools
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.frontend.kernel.facts import facts_of


def total(x: lm.f32["N"], y: lm.f32[1]):
    s = 0.0
    for i in range(N):
        s += x[i] * x[i]
    y[0] = s


def softmax(x: lm.f64["B", "N"], y: lm.f64["B", "N"]):
    for b in range(B):
        top = x[b, 0]
        for i in range(N):
            top = max(top, x[b, i])
        s = 0.0
        for i in range(N):
            y[b, i] = np.exp(x[b, i] - top)
            s += y[b, i]
        for i in range(N):
            y[b, i] = y[b, i] / s


def rows(start: lm.i64["P"], v: lm.f64["Z"], column: lm.i64["Z"], x: lm.f64["M"], y: lm.f64["N"]):
    for i in range(N):
        s = 0.0
        for p in range(start[i], start[i + 1]):
            s += v[p] * x[column[p]]
        y[i] = s


def vectors(kernel: Any) -> list[str]:
    return [step.loop for step in kernel.default_schedule().steps if step.name == "loop-vectorize"]


def test_sums_become_vectors_only_then() -> None:
    assert vectors(lm.kernel(total, reassociate=True)) and not vectors(lm.kernel(total))


def test_the_text_says_so() -> None:
    text = str(lm.kernel(total, reassociate=True).module)
    assert ") reassociate {" in text and "reassociate" not in str(lm.kernel(total).module)


def test_the_cache_tells_them_apart() -> None:
    assert facts_of(total) != facts_of(total, reassociate=True)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 63, 64, 65, 257, 1000])
def test_a_sum_of_squares(n: int) -> None:
    x, y = np.random.default_rng(n).standard_normal(n).astype(np.float32), np.full(1, np.nan, np.float32)
    lm.kernel(total, reassociate=True)(x, y)
    np.testing.assert_allclose(y[0], np.sum(x.astype(np.float64) ** 2), rtol=1e-6, atol=0)


@pytest.mark.parametrize("n", [1, 3, 16, 33, 200])
def test_rows_of_exponentials_on_any_threads(n: int) -> None:
    x = np.random.default_rng(n).standard_normal((37, n))
    kernel, found = lm.kernel(softmax, reassociate=True), []
    for threads in (1, 2, 3):
        y = np.zeros_like(x)
        kernel(x, y, threads=threads)
        found.append(y)
    exact = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(found[0], exact / exact.sum(1, keepdims=True), rtol=1e-13)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_rows_of_lengths_from_memory() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 70, 50)
    start = np.concatenate([[0], np.cumsum(lengths)])
    v, column, x, y = rng.standard_normal(start[-1]), rng.integers(0, 40, start[-1]), rng.standard_normal(40), np.zeros(50)
    lm.kernel(rows, reassociate=True)(start, v, column, x, y)
    expected = [np.dot(v[a:b], x[column[a:b]]) for a, b in itertools.pairwise(start)]
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)

"""Recurrences along rows: how many rows are jammed, and that every bit stays as the loops are written."""

from __future__ import annotations

from itertools import product
from typing import Any

import lamina as lm
import numpy as np
import pytest


def gauss_seidel(u: lm.f64["M", "N"], f: lm.f64["M", "N"]):
    for i in range(1, M - 1):
        for j in range(1, N - 1):
            u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])


def warping(u: lm.f64["M", "N"], f: lm.f64["M", "N"]):
    for i in range(1, M):
        for j in range(1, N):
            u[i, j] = abs(f[i, j] - f[i - 1, j]) + min(u[i - 1, j], min(u[i, j - 1], u[i - 1, j - 1]))


def tridiagonal(u: lm.f64["M", "N"], f: lm.f64["M", "N"]):
    for s in range(M):
        for i in range(1, N):
            u[s, i] = (u[s, i] - f[s, i] * u[s, i - 1]) / (4.0 + f[s, i])
        for i in range(1, N):
            r = N - 1 - i
            u[s, r] = u[s, r] - 0.5 * u[s, r + 1]


def carried(u: lm.f64["M", "N"], f: lm.f64["M", "N"]):
    for i in range(M):
        s = 0.0
        for j in range(N):
            s = s / (1.5 + f[i, j] * f[i, j]) + u[i, j]
            u[i, j] = s


def reads_ahead(u: lm.f64["M", "N"], f: lm.f64["M", "N"]):
    for i in range(1, M):
        for j in range(1, N - 1):
            u[i, j] = 0.5 * u[i, j - 1] - (u[i - 1, j + 1] - f[i, j])


def in_one_row(u: lm.f64["M", "N"], f: lm.f64["M", "N"]):
    for i in range(M):
        for j in range(1, N):
            u[0, j] = u[0, j - 1] / 3.0 + f[i, j]


JAMMED = [gauss_seidel, warping]
KEPT = [reads_ahead, in_one_row]
EITHER = [tridiagonal, carried]


def rows_at_once(kernel: Any) -> list[int]:
    return [step.factor for step in kernel.default_schedule().steps if step.name == "loop-unroll-and-jam"]


@pytest.mark.parametrize("function", JAMMED, ids=lambda f: f.__name__)
def test_rows_that_wait_are_jammed(function: Any) -> None:
    assert max(rows_at_once(lm.kernel(function))) >= 4


@pytest.mark.parametrize("function", KEPT, ids=lambda f: f.__name__)
def test_rows_that_need_what_is_ahead_are_not(function: Any) -> None:
    assert not rows_at_once(lm.kernel(function))


@pytest.mark.parametrize("function", EITHER, ids=lambda f: f.__name__)
def test_independent_rows_are_vectors_or_jammed(function: Any) -> None:
    steps = [step.name for step in lm.kernel(function).default_schedule().steps]
    assert ("loop-vectorize" in steps) != ("loop-unroll-and-jam" in steps), "as the lanes of the target pay"


def test_ops_that_take_as_long_as_they_wait_are_not_jammed_far() -> None:
    @lm.kernel
    def align(a: lm.ui8["M"], b: lm.ui8["N"], H: lm.i32["P", "Q"]):
        for i in range(1, min(M, P)):
            for j in range(1, min(N, Q)):
                s = lm.i32(2) if a[i] == b[j] else lm.i32(-1)
                H[i, j] = max(lm.i32(0), max(H[i - 1, j - 1] + s, max(H[i - 1, j] - 1, H[i, j - 1] - 1)))

    assert max(rows_at_once(align), default=1) <= 2


@pytest.mark.parametrize("function", JAMMED + KEPT + EITHER, ids=lambda f: f.__name__)
def test_every_bit_stays(function: Any) -> None:
    rng = np.random.default_rng(0)
    jammed, written = lm.kernel(function), lm.kernel(function, schedule="none")
    for rows, columns in product((0, 1, 2, 3, 8, 9, 10, 19), (0, 1, 2, 7, 33)):
        u, f = rng.standard_normal((2, rows, columns))
        expected = u.copy()
        written(expected, f)
        for threads in (1, 2):
            found = u.copy()
            jammed(found, f, threads=threads)
            np.testing.assert_array_equal(found, expected, f"{rows} rows, {columns} columns, {threads} threads")


def test_the_loops_mean_what_python_means() -> None:
    rng = np.random.default_rng(0)
    u, f = rng.standard_normal((2, 11, 12))
    found, expected = u.copy(), u.copy()
    lm.kernel(warping)(found, f)
    for i in range(1, 11):
        for j in range(1, 12):
            before = min(expected[i - 1, j], expected[i, j - 1], expected[i - 1, j - 1])
            expected[i, j] = abs(f[i, j] - f[i - 1, j]) + before
    np.testing.assert_array_equal(found, expected)

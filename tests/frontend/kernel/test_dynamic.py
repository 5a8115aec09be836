"""Loops with many small chunks: the bits of any other schedule, whatever the number of threads."""

from __future__ import annotations

import lamina as lm
import numpy as np
import pytest
from lamina.errors import ScheduleError


@lm.kernel
def triangle(A: lm.f64["N", "N"], x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(N):
        s = 0.0
        for j in range(i + 1):
            s += A[i, j] * x[j]
        y[i] = s


@lm.kernel
def rows(offsets: lm.i64["N+1"], column: lm.i64["M"], value: lm.f64["M"], x: lm.f64["K"], y: lm.f64["N"]):
    for i in range(N):
        s = 0.0
        for p in range(offsets[i], offsets[i + 1]):
            s += value[p] * x[column[p]]
        y[i] = s


@pytest.mark.parametrize("size", [0, 1, 2, 63, 64, 65, 1000])
def test_rows_of_a_triangle(size: int) -> None:
    rng = np.random.default_rng(size)
    A, x = rng.normal(size=(size, size)), rng.normal(size=size)
    triangle.reset()
    want = np.zeros(size)
    triangle(A, x, want, threads=1)
    for schedule in ("static", "dynamic"):
        triangle.reset()
        triangle.schedule().parallelize("i", schedule=schedule)
        for threads in (1, 2, 7):
            y = np.zeros(size)
            triangle(A, x, y, threads=threads)
            assert np.array_equal(y, want)
    triangle.reset()


def test_rows_of_a_sparse_matrix() -> None:
    rng = np.random.default_rng(0)
    n = 5000
    lengths = np.where(rng.random(n) < 0.01, 2000, 3)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    column, value = rng.integers(0, n, offsets[-1]), rng.normal(size=offsets[-1])
    x, want = rng.normal(size=n), np.zeros(n)
    rows(offsets, column, value, x, want, threads=1)
    rows.schedule().parallelize("i", schedule="dynamic")
    for threads in (1, 2, 3, 7, 64):
        y = np.zeros(n)
        rows(offsets, column, value, x, y, threads=threads)
        assert np.array_equal(y, want)
    rows.reset()


def test_the_chunks_stay_small_through_other_steps() -> None:
    schedule = triangle.schedule()
    schedule.parallelize("i", schedule="dynamic")
    assert "dynamic threads" in schedule.finished().as_text()
    assert "schedule=dynamic" in str(schedule)
    schedule.split("i", 4)
    assert "dynamic" in schedule.as_text()
    schedule.serialize("io")
    assert "dynamic" not in schedule.as_text()
    schedule.parallelize("io", schedule="dynamic")
    schedule.kernel.verify()
    triangle.reset()


def test_what_is_refused() -> None:
    schedule = triangle.schedule()
    with pytest.raises(ScheduleError, match="schedule must be static or dynamic, got guided"):
        schedule.parallelize("i", schedule="guided")
    schedule.parallelize("i", schedule="dynamic")
    with pytest.raises(ScheduleError, match="an interchanged loop has one chunk a thread"):
        schedule.use_threads("i", interchange=True)
    triangle.reset()

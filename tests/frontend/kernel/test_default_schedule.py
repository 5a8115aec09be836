"""Kernels that nobody scheduled: which steps they get, and that results are those of the loops as they are written."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from running import default_steps

TARGET = "x86-64-v4"
"""What steps are shown for; kernels run with those for this machine."""
AUTO_OR_NONE: tuple[Any, ...] = ("auto", "none")


def both(function: Any) -> tuple[Any, Any]:
    """A kernel with the default schedule, and as it is written."""
    auto, written = (lm.kernel(function, schedule=schedule) for schedule in AUTO_OR_NONE)
    return auto, written


def sweep(A: lm.f32["M", "N"], B: lm.f32["M", "N"]):
    for i in range(1, M - 1):
        for j in range(1, N - 1):
            B[i, j] = 0.25 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])


inner = lm.kernel(sweep)


def jacobi(A: lm.f32["M", "N"], B: lm.f32["M", "N"], steps: lm.i64):
    for _ in range(steps):
        inner(A, B)
        inner(B, A)


def product(A: lm.f32["M", "K"], B: lm.f32["K", "N"], C: lm.f32["M", "N"]):
    for k in range(K):
        for i in range(M):
            for j in range(N):
                C[i, j] += A[i, k] * B[k, j]


def escape(c: lm.f64["M", "N"], steps: lm.i32["M", "N"]):
    for i in range(M):
        for j in range(N):
            x, n = 0.0, lm.i32(0)
            while n < 50 and x <= 4.0:
                x = x * x + c[i, j]
                n += 1
            steps[i, j] = n


def running(x: lm.f64["N"], y: lm.f64["N"]):
    total = 0.0
    for i in range(N):
        total += x[i]
        y[i] = total


def segments(x: lm.f32["E", "F"], node: lm.i64["E"], out: lm.f32["V", "F"]):
    for e in range(E):
        for f in range(F):
            out[node[e], f] += x[e, f]


def bags(table: lm.f32["R", "D"], index: lm.i64["B", "L"], out: lm.f32["B", "D"]):
    for b, d in lm.grid(out.shape):
        out[b, d] = 0.0
        for k in range(L):
            out[b, d] += table[index[b, k], d]


def random(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


def check(function: Any, arguments: list[Any]) -> str:
    """Compare with what is written, on several threads; the steps for `TARGET`."""
    auto, written = both(function)
    wanted = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    written(*wanted)
    for threads in (1, 2, 7):
        found = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
        auto(*found, threads=threads)
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(x, y)
    return str(default_steps(function, TARGET))


@pytest.mark.parametrize("rows", [2, 3, 32, 33, 34, 35, 66, 97])
def test_sweeps_run_in_strips(rows: int) -> None:
    steps = check(jacobi, [random(rows, 40), random(rows, 40) + 1, 3])
    assert "loop-interleave{first=i second=i2 size=32 halo=1}" in steps
    assert steps.count("loop-parallelize") == 2
    assert steps.count("loop-vectorize") == 3


@pytest.mark.parametrize("sizes", [(1, 1, 1), (6, 5, 64), (13, 20, 70), (40, 3, 200)])
def test_a_sum_outside_gets_rows_on_threads_and_a_register_tile(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    steps = check(product, [random(m, k), random(k, n), random(m, n)])
    assert steps.startswith("loop-reorder{loops=i,k,j}") or "loop-parallelize{loop=i}" in steps


def test_a_while_runs_on_lanes() -> None:
    steps = check(escape, [random(9, 37, dtype=np.float64), np.zeros((9, 37), np.int32)])
    assert "loop-parallelize{loop=i}" in steps
    assert "loop-vectorize{loop=j" in steps


def test_a_recurrence_stays_as_it_is_written() -> None:
    assert check(running, [random(100, dtype=np.float64), np.zeros(100)]) == ""


def test_rows_that_are_scattered_stay_in_order_and_threads_share_their_columns() -> None:
    node = np.random.default_rng(0).integers(0, 7, 50)
    steps = check(segments, [random(50, 19), node, random(7, 19)])
    assert "loop-vectorize{loop=f" in steps
    assert "loop-prefetch-rows{buffer=out at=e" in steps
    assert re.findall(r"loop-parallelize{loop=(\w+)}", steps) == ["fo"]


@pytest.mark.parametrize("sizes", [(5, 3, 64), (4, 20, 70), (1, 1, 16), (7, 0, 100)])
def test_bags_of_rows_take_turns_and_ask_ahead(sizes: tuple[int, int, int]) -> None:
    bags_, rows, columns = sizes
    index = np.random.default_rng(0).integers(0, 30, (bags_, rows))
    steps = check(bags, [random(30, columns), index, random(bags_, columns)])
    assert "loop-unroll-and-jam{loop=b factor=2}" in steps
    assert "loop-prefetch-rows{buffer=table at=k" in steps


def test_a_schedule_of_the_author_is_continued() -> None:
    kernel, written = both(product)
    assert "vector<" in kernel.as_text("scheduled")
    kernel.schedule()  # without a step it changes nothing
    assert kernel.as_text("scheduled") == lm.kernel(product).as_text("scheduled")
    kernel.schedule().unroll("k", 2)
    assert "vector<" in kernel.as_text("scheduled") and "unroll %ki" in kernel.as_text("scheduled")
    kernel.reset()
    assert kernel.as_text("scheduled") == lm.kernel(product).as_text("scheduled")
    written.schedule().unroll("k", 2)
    assert "vector<" not in written.as_text("scheduled")


def test_as_it_is_written() -> None:
    for schedule in ("none", None):
        kernel = lm.kernel(product, schedule=schedule)
        assert kernel.as_text("scheduled") == kernel.as_text("loop")
    with pytest.raises(ValueError, match=r"schedule must be \"auto\" or \"none\" \(as it is written\), got 'fast'"):
        lm.kernel(product, schedule="fast")  # pyright: ignore[reportArgumentType]


def solved(lower: lm.f32["N", "N"], b: lm.f32["N", "R"]):
    for i in range(len(b)):
        for k in range(i):
            factor = lower[i, k]
            for r in range(b.shape[1]):
                b[i, r] -= factor * b[k, r]
        for r in range(b.shape[1]):
            b[i, r] /= lower[i, i]


@pytest.mark.parametrize("sizes", [(9, 101), (5, 32), (3, 31), (4, 1), (0, 7)])
def test_parts_of_rows_in_registers_need_no_masks_but_the_last(sizes: tuple[int, int]) -> None:
    n, columns = sizes
    lower = np.tril(np.random.default_rng(0).standard_normal((n, n))) + 4 * np.eye(n)
    steps = check(solved, [lower.astype(np.float32), random(n, columns)])
    assert "loop-peel{loop=ro}" in steps
    assert re.search(r"vectorize\{loop=ri lanes=\d+\}", steps)
    assert re.search(r"vectorize\{loop=ri_rest lanes=\d+ tail=predicated\}", steps)

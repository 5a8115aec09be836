"""Kernels with sequential loops over rows: their columns are divided among threads, whatever the sizes are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.dialects.loop.loops import ForOp
from lamina.executor import kernels


@lm.kernel
def segment_sum(values: lm.f32["E", "D"], node: lm.i64["E"], out: lm.f32["N", "D"]):
    for e in range(E):
        for d in range(D):
            out[node[e], d] += values[e, d]


@lm.kernel
def weighted(values: lm.f32["E", "D"], weight: lm.f32["E"], node: lm.i64["E"], out: lm.f32["N", "D"]):
    for e in range(E):
        n = node[e]
        twice = 2.0 * weight[e]
        for d in range(D):
            out[n, d] += twice * values[e, d]


@lm.kernel
def gradient(g: lm.f64["B", "L", "D"], index: lm.i32["B", "L"], out: lm.f64["N", "D"]):
    for b in range(B):
        for k in range(L):
            for d in range(D):
                out[index[b, k], d] += g[b, k, d]


@lm.kernel
def recurrence(x: lm.f32["T", "D"], a: lm.f32["D"], h: lm.f32["T", "D"]):
    for t in range(1, T):
        for d in range(D):
            h[t, d] = a[d] * h[t - 1, d] + x[t, d]


@lm.kernel
def shifted(node: lm.i64["E"], out: lm.f32["N", "D"]):
    for e in range(E):
        for d in range(1, D):
            out[node[e], d] += out[node[e], d - 1]


@lm.kernel
def triangle(node: lm.i64["E"], out: lm.f32["N", "D"]):
    for e in range(E):
        for d in range(min(e, D)):
            out[node[e], d] += 1.0


COLUMNS = [0, 1, 3, 17, 32, 33, 64, 100, 257]
ROWS = [0, 1, 2, 700]


def steps(kernel: Any) -> list[str]:
    return [step.name for step in kernel.default_schedule().steps]


def on_threads(run: Callable[[], np.ndarray]) -> np.ndarray:
    """The result, the same bits for any number of threads."""
    before = lm.get_threads()
    found = []
    try:
        for count in (1, 2, 3):
            lm.set_threads(count)
            found.append(run())
    finally:
        lm.set_threads(before)
    assert all(np.array_equal(other, found[0]) for other in found[1:])
    return found[0]


@pytest.mark.parametrize("kernel", [segment_sum, weighted, gradient, recurrence])
def test_columns_are_divided(kernel: Any) -> None:
    schedule = kernel.default_schedule()
    outermost = next(op for op in kernels.find_kernel(schedule.module).body.block.ops if isinstance(op, ForOp))
    assert outermost.kind.data == "parallel" and "loop-split" in steps(kernel), schedule.module


@pytest.mark.parametrize("kernel", [shifted, triangle])
def test_columns_that_need_one_another_or_follow_the_rows_are_not(kernel: Any) -> None:
    assert not {"loop-split", "loop-parallelize"} & set(steps(kernel))


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("edges", ROWS)
def test_sums_of_segments(edges: int, columns: int) -> None:
    rng = np.random.default_rng(edges + columns)
    values, node = rng.standard_normal((edges, columns)).astype(np.float32), rng.integers(0, 9, edges)
    want = np.zeros((9, columns), np.float32)
    for e in range(edges):
        want[node[e]] += values[e]

    def run() -> np.ndarray:
        out = np.zeros_like(want)
        segment_sum(values, node, out)
        return out

    np.testing.assert_array_equal(on_threads(run), want)


@pytest.mark.parametrize("columns", [1, 33, 64, 100])
def test_what_belongs_to_a_row_is_read_by_each_part(columns: int) -> None:
    rng = np.random.default_rng(columns)
    values, weight = (rng.standard_normal(shape).astype(np.float32) for shape in ((700, columns), 700))
    node = rng.integers(0, 9, 700)
    want = np.zeros((9, columns), np.float32)
    for e in range(700):
        want[node[e]] += np.float32(2) * weight[e] * values[e]

    def run() -> np.ndarray:
        out = np.zeros_like(want)
        weighted(values, weight, node, out)
        return out

    np.testing.assert_allclose(on_threads(run), want, rtol=1e-4, atol=1e-4)  # products are added without rounding them


@pytest.mark.parametrize("columns", [0, 1, 17, 64, 130])
def test_a_sum_over_two_loops(columns: int) -> None:
    rng = np.random.default_rng(columns)
    g, index = rng.standard_normal((40, 30, columns)), rng.integers(0, 11, (40, 30)).astype(np.int32)
    want = np.zeros((11, columns))
    for b, k in np.ndindex(40, 30):
        want[index[b, k]] += g[b, k]

    def run() -> np.ndarray:
        out = np.zeros_like(want)
        gradient(g, index, out)
        return out

    np.testing.assert_array_equal(on_threads(run), want)


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("rows", ROWS)
def test_rows_that_follow_from_one_another(rows: int, columns: int) -> None:
    rng = np.random.default_rng(rows + columns)
    x, a = rng.standard_normal((rows, columns)).astype(np.float32), rng.uniform(-0.9, 0.9, columns).astype(np.float32)

    def run() -> np.ndarray:
        h = np.ones_like(x)
        recurrence(x, a, h)
        return h

    want = np.ones_like(x)
    for t in range(1, rows):
        want[t] = a * want[t - 1] + x[t]
    np.testing.assert_array_equal(on_threads(run), want)


def test_updates_of_one_row_follow_one_another() -> None:
    """Where all edges end at one node nothing may be lost."""
    values, node = np.ones((5000, 70), np.float32), np.full(5000, 1)

    def run() -> np.ndarray:
        out = np.zeros((3, 70), np.float32)
        segment_sum(values, node, out)
        return out

    found = on_threads(run)
    assert (found[1] == 5000).all() and not found[[0, 2]].any()


@lm.kernel
def solve(L: lm.f64["N", "N"], B: lm.f64["N", "R"]):
    for i in range(N):
        for k in range(i):
            for r in range(R):
                B[i, r] -= L[i, k] * B[k, r]
        for r in range(R):
            B[i, r] /= L[i, i]


def test_a_part_that_rows_update_again_and_again_stays_in_registers() -> None:
    assert "loop-accumulate" in steps(solve) and "loop-accumulate" not in steps(segment_sum)


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("rows", [0, 1, 2, 13])
def test_a_triangular_solve(rows: int, columns: int) -> None:
    rng = np.random.default_rng(rows + columns)
    L, B = np.tril(rng.standard_normal((rows, rows))) + 4 * np.eye(rows), rng.standard_normal((rows, columns))

    def run() -> np.ndarray:
        out = B.copy()
        solve(L, out)
        return out

    np.testing.assert_allclose(L @ on_threads(run), B, atol=1e-9)

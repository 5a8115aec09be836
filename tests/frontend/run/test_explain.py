"""The reports about a kernel: its loops as Python, and `explain`."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.frontend.kernel.decorator import Kernel


def product(schedule: str = "auto") -> Kernel:
    @lm.kernel(schedule=schedule)
    def matmul(A: lm.f32["M", "K"], B: lm.f32["K", "N"], C: lm.f32["M", "N"]):
        for i, j in lm.grid(C.shape):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]

    return matmul


def arrays(m: int, k: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(m + k + n)
    return (
        rng.integers(-4, 5, (m, k)).astype(np.float32),
        rng.integers(-4, 5, (k, n)).astype(np.float32),
        np.zeros((m, n), np.float32),
    )


@pytest.mark.parametrize("shape", [(0, 2, 3), (1, 1, 1), (7, 5, 9), (13, 4, 8)])
def test_the_python_of_a_schedule_computes_what_the_kernel_does(shape: tuple[int, int, int]) -> None:
    matmul = product()
    s = matmul.schedule()
    io, jo, ii, ji = s.tile(s["i", "j"], sizes=(4, 8))
    s.reorder((io, jo, s["k"], ii, ji))
    s.accumulate("C", at=s["k"])
    s.unroll(ii)
    scope = {"empty": lambda shape, dtype: np.full(shape, np.nan, dtype), "float32": np.float32}
    exec("from __future__ import annotations\n" + s.as_python(), scope)
    A, B, C = arrays(*shape)
    scope["matmul"](A, B, C, shape[0], shape[1], shape[2])
    np.testing.assert_array_equal(C, A @ B)
    D = np.zeros_like(C)
    matmul(A, B, D)
    np.testing.assert_array_equal(D, C)


def test_a_report_names_strides_and_the_reason_of_each_loop() -> None:
    report = str(product(schedule="none").explain())
    assert "for i in range(0, M): seq" in report
    assert "reads A[i, k]: stride K" in report
    assert "reads B[k, j]: stride 1 (contiguous)" in report
    assert "reads B[k, j]: stride N" in report
    assert "not vectorized: no step asks for it; schedule.vectorize('j'" in report
    assert "iteration k=0 writes C[0, 0] and iteration k=1 reads it" in report
    assert "roofline" not in report


def test_a_report_on_arguments_counts_and_measures() -> None:
    A, B, C = arrays(32, 16, 24)
    before = C.copy()
    report = str(product().explain(A, B, C))
    assert "matmul with M=32, K=16, N=24" in report
    assert "for k in range(0, K): seq, 16 iterations" in report
    assert f"{2 * 32 * 16 * 24:.4g} flop, at least {4 * (32 * 16 + 16 * 24 + 2 * 32 * 24):.4g} bytes" in report
    assert "measured limits" in report and "% of the limit" in report
    np.testing.assert_array_equal(C, before)  # measured on copies


def test_a_vectorized_loop_says_so() -> None:
    @lm.kernel
    def saxpy(a: lm.f32, x: lm.f32["N"], y: lm.f32["N"]):
        for i in range(len(x)):
            y[i] += a * x[i]

    s = saxpy.schedule()
    s.vectorize(s["i"], 8)
    assert "vectorized: 8 lanes an iteration" in str(saxpy.explain())
    assert "y[i:i + 8] = " in s.as_python()


def test_variables_of_a_loop_change_at_once_in_python() -> None:
    @lm.kernel
    def fibonacci(x: lm.i64["N"]):
        a, b = 1, 0
        for i in range(N):
            x[i] = a
            a, b = a + b, a

    text = fibonacci.schedule().as_python()
    scope: dict[str, Any] = {}
    exec("from __future__ import annotations\n" + text, scope)
    x = np.zeros(9, np.int64)
    scope["fibonacci"](x, 9)
    np.testing.assert_array_equal(x, [1, 1, 2, 3, 5, 8, 13, 21, 34])

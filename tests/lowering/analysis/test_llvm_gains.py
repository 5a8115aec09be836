"""Which kernels get LLVM's own optimizations, and that these change neither results nor what an object needs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.codegen.compile import external_names, optimized_llvm
from lamina.codegen.text import OPTIMIZED

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
from suite.plain_loops import median3

median = lm.kernel(median3)


@lm.kernel
def running(x: lm.f32["N"], y: lm.f32["N"]):
    s = 0.0
    for i in range(N):
        s += x[i]
        y[i] = s


@lm.kernel
def blur(x: lm.ui8["H", "W"], y: lm.ui8["H", "W"]):
    for i in range(1, H - 1):
        for j in range(1, W - 1):
            s = lm.i32(0)
            for a in range(3):
                for b in range(3):
                    s += lm.i32(x[i + a - 1, j + b - 1])
            y[i, j] = lm.ui8(s // 9)


@lm.kernel
def scale(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(N):
        y[i] = 2.0 * x[i]


@lm.kernel
def product(A: lm.f32["M", "K"], B: lm.f32["K", "N"], C: lm.f32["M", "N"]):
    for i in range(M):
        for j in range(N):
            for k in range(K):
                C[i, j] += A[i, k] * B[k, j]


@lm.kernel(schedule="none")
def cleared(x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(N):
        y[i] = 0.0
    for i in range(N):
        y[i] = x[i]


@pytest.mark.parametrize("kernel", [running, median, blur, cleared], ids=lambda k: k.__name__)
def test_scalar_loops_and_small_integers_do(kernel: Any) -> None:
    assert OPTIMIZED in kernel.as_text("llvmir")


@pytest.mark.parametrize("kernel", [scale, product], ids=lambda k: k.__name__)
def test_vectors_and_register_tiles_do_not(kernel: Any) -> None:
    assert OPTIMIZED not in kernel.as_text("llvmir")


def test_loops_become_no_calls_of_libc() -> None:
    text = optimized_llvm(cleared.as_text("llvmir"))
    assert not [name for name in external_names(text) if not name.startswith(("llvm.", "lamina_"))]


def test_a_median_of_nine() -> None:
    x = np.random.default_rng(0).standard_normal((20, 31)).astype(np.float32)
    y = np.zeros_like(x)
    median(x, y)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3)).reshape(18, 29, 9)
    np.testing.assert_array_equal(y[1:-1, 1:-1], np.median(windows, axis=-1))


@pytest.mark.parametrize("width", [2, 3, 4, 34, 35, 67])
def test_quotients_of_small_integers(width: int) -> None:
    x = np.random.default_rng(width).integers(0, 256, (9, width)).astype(np.uint8)
    x[:5] = 255
    y = np.zeros_like(x)
    blur(x, y)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3)) if width > 2 else np.zeros((7, 0, 3, 3), np.uint8)
    np.testing.assert_array_equal(y[1:-1, 1:-1], windows.astype(int).sum((-2, -1)) // 9)


@lm.kernel
def from_f32(x: lm.f32["N"], y: lm.i32["N"], z: lm.i64["N"]):
    last = lm.i64(0)
    for i in range(N):
        last = (last & lm.i64(0)) + lm.i64(x[i])
        y[i] = lm.i32(x[i])
        z[i] = last


@lm.kernel
def from_f64(x: lm.f64["N"], y: lm.i32["N"], z: lm.i64["N"]):
    last = lm.i64(0)
    for i in range(N):
        last = (last & lm.i64(0)) + lm.i64(x[i])
        y[i] = lm.i32(x[i])
        z[i] = last


@pytest.mark.parametrize(("kernel", "dtype"), [(from_f32, np.float32), (from_f64, np.float64)])
def test_floats_out_of_range_saturate(kernel: Any, dtype: type) -> None:
    assert OPTIMIZED in kernel.as_text("llvmir")
    limits = [sign * scale * 2.0**bits for bits in (31, 63) for sign in (1, -1) for scale in (0.5, 1, 2)]
    x = np.array([0, -0.0, 1.9, -1.9, *limits, np.inf, -np.inf, np.nan, 2.0**31 - 256, 2.0**63 - 2.0**40, 1e30], dtype)
    found = np.zeros(len(x), np.int32), np.zeros(len(x), np.int64)
    kernel(x, *found)
    for y in found:
        info = np.iinfo(y.dtype)
        assert y.tolist() == [0 if v != v else int(min(max(v, info.min), info.max)) for v in x.tolist()]

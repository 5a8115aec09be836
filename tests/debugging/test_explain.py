"""`f.explain`: variants with their reasons, neighbours, loops, and what bounds each kernel."""

from __future__ import annotations

import lamina as lm
import lamina.numpy as lnp
import numpy as np


def test_explain_tells_neighbours_loops_bounds_and_variants() -> None:
    @lm.jit
    def function(x, w):
        return lnp.cumsum(lnp.tanh(x @ w) + 1, axis=0)

    x, w = np.ones((32, 64), np.float32), np.ones((64, 10), np.float32)
    function(x, w)
    function(x[:5], w)
    report = function.explain(x, w)
    assert "  dot -> tanh: one kernel: its elements are computed where they are read\n" in report
    assert "-> scan: two kernels: " in report
    assert "vectorized: " in report and "not vectorized itself: " in report
    assert report.count("  bound by ") == report.count("\nkernel ")
    assert "  0: (x: float32[32,64], w: float32[64,10]): the first call\n" in report
    assert "  1: (x: float32[5,64], w: float32[64,10]): x was float32[32,64]" in report


def test_explain_of_sizes_that_a_call_knows() -> None:
    function = lm.jit(lambda x: x * 2 + 1, dynamic={"x": ("n",)})
    assert "bound: sizes are known at a call" in function.explain(np.ones(4, np.float32))

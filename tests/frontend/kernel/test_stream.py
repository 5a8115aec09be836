"""Non-temporal stores: the same results wherever a buffer begins, and what is refused."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import lamina as lm
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from running import default_steps

TARGET = "x86-64-v4"
"""What steps are shown for; kernels run with those for this machine."""


@lm.kernel
def doubled(x: lm.f32["M", "N"], y: lm.f32["M", "N"]):
    for i, j in lm.grid(x.shape):
        y[i, j] = 2.0 * x[i, j]


@lm.kernel
def summed(x: lm.f32["M", "N"], y: lm.f32["M", "N"]):
    for i, j in lm.grid(x.shape):
        y[i, j] += x[i, j]


def gathered(table: lm.f32["R", "D"], index: lm.i64["C"], out: lm.f32["C", "D"]):
    for i, d in lm.grid(out.shape):
        out[i, d] = table[index[i], d]


def repeated(table: lm.f32["R", "D"], index: lm.i64["C"], out: lm.f32["C", "D"], times: lm.i64):
    for _ in range(times):
        for i, d in lm.grid(out.shape):
            out[i, d] = table[index[i], d]


def at_offset(shape: tuple[int, ...], start: int) -> np.ndarray:
    """An array that begins so many elements after a cache line."""
    memory = np.zeros(np.prod(shape) + 64, np.float32)
    line = -memory.ctypes.data % 64 // 4
    return memory[line + start :][: np.prod(shape)].reshape(shape)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("start", [0, 1, 8, 13])
@pytest.mark.parametrize("columns", [16, 64, 37, 100])
@pytest.mark.parametrize("lanes", [4, 64])
@pytest.mark.parametrize("rows", [300, 70_000])
def test_results_are_the_same_wherever_they_begin(rows: int, columns: int, start: int, lanes: int) -> None:
    doubled.reset()
    s = doubled.schedule()
    s.parallelize(s["i"])
    s.vectorize(s["j"], lanes)
    s.stream("y")
    assert "streamed" in str(s.module)
    assert re.search(r"store <.*align (16|64), !nontemporal", doubled.as_text("llvmir"))
    x, y = np.random.default_rng(lanes).standard_normal((rows, columns), np.float32), at_offset((rows, columns), start)
    doubled(x, y)
    np.testing.assert_array_equal(y, 2 * x)


@pytest.mark.parametrize("shape", [(0, 64), (3, 5), (30_000, 40), (12_000, 100), (20_000, 64)])
def test_rows_that_are_gathered_go_past_the_caches(shape: tuple[int, int]) -> None:
    assert [step.name for step in default_steps(gathered, TARGET).steps[-2:]] == ["loop-stream", "loop-use-threads"]
    rng = np.random.default_rng(shape[0])
    table, index = rng.standard_normal((50, shape[1]), np.float32), rng.integers(0, 50, shape[0])
    out = np.zeros(shape, np.float32)
    lm.kernel(gathered)(table, index, out)
    np.testing.assert_array_equal(out, table[index])


def test_what_is_written_again_and_again_does_not() -> None:
    assert "loop-stream" not in [step.name for step in default_steps(repeated, TARGET).steps]


@pytest.mark.parametrize(
    ("kernel", "buffer", "steps", "reason"),
    [
        (summed, "y", [("vectorize", "j", 8)], "is read as well"),
        (doubled, "x", [("vectorize", "j", 8)], "is read as well"),
        (doubled, "y", [], "no vectors are stored"),
        (doubled, "y", [("vectorize", "i", 8)], "no vectors are stored"),
        (doubled, "y", [("vectorize", "j", 8, "predicated")], "no vectors are stored"),
        (doubled, "z", [], "no buffer"),
    ],
)
def test_what_cannot_go_past_the_caches(kernel, buffer: str, steps: list[tuple], reason: str) -> None:
    kernel.reset()
    s = kernel.schedule()
    for name, loop, *rest in steps:
        getattr(s, name)(s[loop], *rest)
    before = str(s.module)
    with pytest.raises(lm.ScheduleError, match=reason):
        s.stream(buffer)
    assert str(s.module) == before

"""`Schedule.auto`: what the author of a schedule has left is scheduled as by default, and results stay the same."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import ScheduleError


def softmax(x: lm.f32["B", "N"], y: lm.f32["B", "N"]):
    for i in range(B):
        m = x[i, 0]
        for j in range(N):
            m = max(m, x[i, j])
        s = lm.f32(0)
        for j in range(N):
            e = np.exp(x[i, j] - m)
            y[i, j] = e
            s += e
        for j in range(N):
            y[i, j] = y[i, j] / s


def filtered(x: lm.f32["N"], h: lm.f32["T"], y: lm.f32["M"]):
    for i in range(M):
        s = lm.f32(0)
        for t in range(T):
            s += x[i + t] * h[t]
        y[i] = s


def running(x: lm.f32["M", "N"], y: lm.f32["M", "N"]):
    for i in range(M):
        s = lm.f32(0)
        for j in range(N):
            s += x[i, j]
            y[i, j] = s


def results(function: Any, **options: Any) -> Any:
    """A kernel, and the arrays that it computes at some sizes and numbers of threads."""
    kernel = lm.kernel(function, **options)

    def run() -> list[np.ndarray]:
        found = []
        for n in (0, 1, 7, 33, 130):
            rng = np.random.default_rng(n)
            for threads in (1, 2, 7):
                y = np.zeros((n, 2 * n + 1), np.float32)
                if function is filtered:
                    y = np.zeros(n, np.float32)
                    kernel(rng.standard_normal(n + 4, np.float32), rng.standard_normal(5, np.float32), y, threads=threads)
                else:
                    kernel(rng.standard_normal(y.shape, np.float32), y, threads=threads)
                found.append(y)
        return found

    return kernel, run


STEPS = {
    "parallelize": lambda s: s.parallelize("i"),
    "split": lambda s: s.split("i", 8),
    "vectorize": lambda s: s.vectorize("j3", 8),
    "unroll": lambda s: s.unroll("j3", 4),
}


@pytest.mark.parametrize("step", STEPS)
def test_one_step_loses_nothing_of_the_rest(step: str) -> None:
    """The sum of exponentials is on vectors as without a step, and every bit as by default."""
    _, by_default = results(softmax)
    kernel, run = results(softmax)
    STEPS[step](kernel.schedule())
    for x, y in zip(by_default(), run(), strict=True):
        np.testing.assert_array_equal(x, y)
    text = kernel.as_text("scheduled")
    assert "vector<" in text and "threads" in text
    assert len(kernel.schedule().steps) == 1  # those of the author, which are continued in a copy


def test_a_loop_that_is_serialized_gets_no_threads() -> None:
    kernel, run = results(softmax)
    _, by_default = results(softmax)
    s = kernel.schedule()
    s.parallelize("i")
    s.serialize("i")
    text = kernel.as_text("scheduled")
    assert "vector<" in text and "threads" not in text
    for x, y in zip(by_default(), run(), strict=True):
        np.testing.assert_array_equal(x, y)


def test_the_steps_of_auto_are_steps() -> None:
    kernel, run = results(filtered)
    s = kernel.schedule()
    outer, _ = s.split("i", 64)
    made = s.auto()
    assert made and list(made) == s.steps[1:]
    assert str(s).startswith("loop-split{loop=i size=64},")
    assert s[outer.name].kind == "parallel"
    _, written = results(filtered, schedule="none")
    for x, y in zip(written(), run(), strict=True):
        np.testing.assert_array_equal(x, y)


def test_only_one_loop() -> None:
    kernel, _ = results(softmax)
    s = kernel.schedule()
    made = s.auto(only=s["j3"])
    assert [getattr(step, "loop", None) for step in made] == ["j3"]
    with pytest.raises(ScheduleError, match="no loop 'q' in kernel @softmax"):
        s.auto(only="q")


def test_nothing_is_left_of_a_kernel_without_a_default_schedule() -> None:
    """Its author's steps are the only ones."""
    kernel, run = results(softmax, schedule="none")
    kernel.schedule().parallelize("i")
    assert "vector<" not in kernel.as_text("scheduled")
    _, by_default = results(softmax)
    for x, y in zip(by_default(), run(), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5)


def test_a_recurrence_stays_in_order() -> None:
    kernel, run = results(running)
    kernel.schedule().split("j", 16)
    _, written = results(running, schedule="none")
    for x, y in zip(written(), run(), strict=True):
        np.testing.assert_array_equal(x, y)


def test_the_report_after_each_step() -> None:
    kernel, _ = results(filtered)
    s = kernel.schedule()
    assert "not vectorized: no step asks for it" in s.explain()
    s.vectorize("i", 8)
    assert "vectorized: 8 lanes an iteration" in s.explain()


def warped(a: lm.f64["N"], b: lm.f64["M"], D: lm.f64["N1", "M1"]):
    for i in range(1, N + 1):
        for j in range(1, M + 1):
            D[i, j] = abs(a[i - 1] - b[j - 1]) + min(D[i - 1, j], min(D[i, j - 1], D[i - 1, j - 1]))


def test_a_single_iteration_gets_no_vector() -> None:
    """It would keep the rows of the recurrence beside it from being jammed."""
    s = lm.kernel(warped).schedule()
    s.peel("j", 1)
    assert not any(step.name == "loop-vectorize" for step in s.auto())

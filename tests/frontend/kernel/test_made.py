"""Kernels from Python text and from IR, the text of schedules, and pickling."""

from __future__ import annotations

import pickle
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import CompileError, KernelError, LaminaError, ScheduleError

TEXT = """\
FACTOR = 3


def helper(v):
    return v * FACTOR + more


def scale(x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(N):
        y[i] = helper(x[i])
"""


def called(kernel: Any, size: int = 9) -> np.ndarray:
    x, y = np.arange(float(size)), np.zeros(size)
    kernel(x, y)
    return y


def test_from_source() -> None:
    k = lm.kernel_from_source(TEXT, names={"more": 0.5})
    assert k.__name__ == "scale"
    assert np.array_equal(called(k), np.arange(9.0) * 3 + 0.5)
    k.schedule().split("i", 4)
    assert np.array_equal(called(k), np.arange(9.0) * 3 + 0.5)
    assert not called(k, 0).size


def test_two_texts_do_not_meet() -> None:
    one, two = (lm.kernel_from_source(TEXT, "scale", names={"more": more}) for more in (0.0, 1.0))
    assert np.array_equal(called(one) + 1, called(two))


def test_messages_show_the_line() -> None:
    with pytest.raises(KernelError, match=r"<kernel \d+>:3:\d+: unknown name 'z'") as error:
        lm.kernel_from_source('def k(x: lm.f64["N"]):\n    for i in range(N):\n        x[i] = z\n').as_text()
    assert "x[i] = z" in str(error.value)
    with pytest.raises(KernelError, match="defines no function 'other'"):
        lm.kernel_from_source(TEXT, "other")
    with pytest.raises(KernelError, match="defines no function"):
        lm.kernel_from_source("x = 1")
    with pytest.raises(SyntaxError):
        lm.kernel_from_source("def k(:")


def test_type_variables_and_options() -> None:
    text = 'T = lm.dtype("T")\ndef k(x: T["N"]):\n    for i in range(N):\n        x[i] = x[i] + x[i]\n'
    k = lm.kernel_from_source(text)
    x = np.ones(3, np.float32)
    k(x)
    assert np.array_equal(x, [2, 2, 2])
    checked = lm.kernel_from_source('def k(x: lm.f64["N"], n: int):\n    x[n] = 1.0\n', check_bounds=True)
    with pytest.raises(IndexError):
        checked(np.zeros(3), 7)


@lm.kernel
def product(A: lm.f32["M", "K"], B: lm.f32["K", "N"], C: lm.f32["M", "N"]):
    for i, j in lm.grid(C.shape):
        for k in range(A.shape[1]):
            C[i, j] += A[i, k] * B[k, j]


STEPS = "loop-tile{loops=i,j sizes=4,8},loop-reorder{loops=io,jo,k,ii,ji},loop-vectorize{loop=ji lanes=8}"


def test_the_text_of_a_schedule() -> None:
    schedule = product.schedule()
    made = schedule.replay(STEPS)
    assert str(made[0]) == "ji" and str(schedule) == STEPS
    again = lm.kernel_from_ir(product.as_text()).schedule()
    for step in lm.parse_schedule(str(schedule)):
        again.take(step)
    assert again.as_text() == schedule.as_text()
    product.reset()


def test_a_text_with_a_wrong_step_changes_nothing() -> None:
    schedule = product.schedule()
    before = schedule.as_text()
    for text, error in (
        ("loop-split{loop=i size=4},loop-vectorize{loop=k lanes=4}", ScheduleError),
        ("loop-split{loop=i size=4},loop-nothing", LaminaError),
        ("loop-split{loop=i size=4},graph-cse", ScheduleError),
    ):
        with pytest.raises(error):
            schedule.replay(text)
        assert schedule.as_text() == before and not schedule.steps
        assert schedule["i"].kind == "seq"
    product.reset()


def arrays() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype(np.float32) for shape in ((13, 7), (7, 17), (13, 17))]


def test_from_ir() -> None:
    want, got = arrays(), arrays()
    product(*want)
    k = lm.kernel_from_ir(product.as_text())
    k(*got, threads=2)
    assert np.array_equal(got[2], want[2])
    k.schedule().replay(STEPS)
    got = arrays()
    k(*got)
    assert np.array_equal(got[2], want[2])
    assert "vector" in k.as_text("scheduled") and "memref" in k.as_text()
    got = arrays()
    k(A=got[0], B=got[1], C=got[2])
    assert np.array_equal(got[2], want[2])
    with pytest.raises(CompileError, match="no kernel @other"):
        lm.kernel_from_ir(product.as_text(), "other")
    scheduled = lm.kernel_from_ir(k.as_text("scheduled"), schedule="none")
    got = arrays()
    scheduled(*got)
    assert np.array_equal(got[2], want[2])


def test_accesses_of_ir_are_checked() -> None:
    text = """
    loop.kernel @set(%x: memref<?xf64>, %n: i64, %N: index) shapes(%x[%N]) {
      %one = arith.constant 1.0 : f64
      %at = arith.index_cast %n : i64 to index
      loop.store %one, %x[%at] : memref<?xf64>
    }"""
    k = lm.kernel_from_ir(text)
    x = np.zeros(3)
    k(x, 1)
    assert np.array_equal(x, [0, 1, 0])
    with pytest.raises(IndexError):
        k(x, 3)
    with pytest.raises(IndexError):
        k(x, -1)


def test_pickling() -> None:
    assert pickle.loads(pickle.dumps(product)) is product
    k = lm.kernel_from_source(TEXT, names={"more": 0.5})
    k.schedule().split("i", 4)
    again = pickle.loads(pickle.dumps(k))
    assert str(again.schedule()) == "loop-split{loop=i size=4}"
    assert np.array_equal(called(again), called(k))
    k = lm.kernel_from_ir(product.as_text())
    got, want = arrays(), arrays()
    pickle.loads(pickle.dumps(k))(*got)
    product(*want)
    assert np.array_equal(got[2], want[2])

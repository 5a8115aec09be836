"""`lm.pad_read` against `np.pad`, at sizes where no element is inside of all borders; the interior has no conditions."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import KernelError
from lamina.frontend.kernel.build import build_kernel

from .running import by_interpreter

MODES = ("constant", "edge", "reflect", "symmetric", "wrap")
TEXT = """\
def stencil(x: lm.f64["N", "M"], y: lm.f64["N", "M"]):
    for i in range(N):
        for j in range(M):
            s = 0.0
            for di in (-2, -1, 0, 1):
                for dj in (-1, 0, 3):
                    s += (1 + di * di + 0.5 * dj) * lm.pad_read(x, i + di, j + dj, mode=MODE, value=2.5)
            y[i, j] = s
"""
KERNELS = {mode: lm.kernel_from_source(TEXT, names={"MODE": mode}) for mode in MODES}


def expected(x: np.ndarray, mode: str) -> np.ndarray:
    more = {"constant_values": 2.5} if mode == "constant" else {}
    wide = np.pad(x, ((2, 1), (1, 3)), mode, **more)
    y = np.zeros_like(x)
    for di in (-2, -1, 0, 1):
        for dj in (-1, 0, 3):
            y = y + (1 + di * di + 0.5 * dj) * wide[2 + di : 2 + di + len(x), 1 + dj : 1 + dj + x.shape[1]]
    return y


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 2), (3, 4), (4, 3), (7, 8), (30, 41)])
def test_as_np_pad(mode: str, shape: tuple[int, int]) -> None:
    x = np.random.default_rng(shape).normal(size=shape)
    want = expected(x, mode)
    for threads in (1, 2, 7):
        y = np.zeros(shape)
        KERNELS[mode](x, y, threads=threads)
        np.testing.assert_allclose(y, want, rtol=1e-13, atol=1e-13)
    plain = lm.kernel_from_source(TEXT, names={"MODE": mode}, schedule="none")
    z = np.zeros(shape)
    plain(x, z)
    assert np.array_equal(y, z)


@pytest.mark.parametrize("mode", MODES)
def test_arrays_without_elements(mode: str) -> None:
    for shape in ((0, 0), (0, 3), (3, 0)):
        KERNELS[mode](np.zeros(shape), np.zeros(shape))


def far(x: lm.i32["N"], y: lm.i32["K"]):
    for k in range(K):
        y[k] = lm.pad_read(x, k - 10, mode="reflect") + lm.pad_read(x, 3 * k - 40, mode="wrap")


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_far_outside_and_in_python(size: int) -> None:
    x = np.arange(1, size + 1, dtype=np.int32)
    got, want = np.zeros(40, np.int32), np.zeros(40, np.int32)
    lm.kernel(far)(x, got)
    for k in range(40):
        want[k] = lm.pad_read(x, k - 10, mode="reflect") + lm.pad_read(x, 3 * k - 40, mode="wrap")
    wide = np.pad(x, 60, "reflect")[60 - 10 : 60 + 30] + np.pad(x, 140, "wrap")[140 - 40 + 3 * np.arange(40)]
    assert np.array_equal(want, wide)
    assert np.array_equal(got, want)
    assert np.array_equal(by_interpreter(far, [x, np.zeros(40, np.int32)])[1], want)


def test_the_interior_has_no_conditions() -> None:
    schedule = KERNELS["reflect"].schedule()
    schedule.partition("i")
    schedule.partition("j")
    text = schedule.as_python()
    inner = text[text.index("for i in range(2, N - 1)") :]
    inner = inner[inner.index("for j in range(1, M - 3)") :].partition("for j_end")[0]
    assert "if" not in inner and inner.count("x[") == 12
    KERNELS["reflect"].reset()
    assert "vectorize" in str(KERNELS["reflect"].default_schedule())


def wrong_mode(x: lm.f64["N"]):
    x[0] = lm.pad_read(x, 1, mode="mirror")


def wrong_dims(x: lm.f64["N"]):
    x[0] = lm.pad_read(x, 1, 2)


def no_array(x: lm.f64["N"]):
    x[0] = lm.pad_read(3, 1)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (wrong_mode, "mode is one of constant, edge, reflect, symmetric, wrap"),
        (wrong_dims, "an index for each of 1 dims, got 2"),
        (no_array, "pad_read takes an array"),
    ],
)
def test_mistakes(function: Any, message: str) -> None:
    with pytest.raises(KernelError, match=message) as error:
        build_kernel(function)
    assert "test_borders.py:" in str(error.value)
    with pytest.raises(ValueError, match="mode of pad_read"):
        lm.pad_read(np.zeros(3), 1, mode="mirror")

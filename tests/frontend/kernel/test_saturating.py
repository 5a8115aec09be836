"""`add_sat`, `sub_sat` and `convert_sat` in kernels, at the ends of every integer type."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import KernelError

T = lm.dtype("T")


@lm.kernel
def saturated(x: T["N"], y: T["N"], o: T["K", "N"], u: lm.ui8["N"], s: lm.i16["N"]):
    for i in range(len(x)):
        o[0, i] = lm.add_sat(x[i], y[i])
        o[1, i] = lm.sub_sat(x[i], y[i])
        o[2, i] = lm.add_sat(x[i], 3)
        u[i] = lm.convert_sat(x[i], lm.ui8)
        s[i] = lm.convert_sat(x[i], lm.i16)


def clipped(values: Any, dtype: Any) -> np.ndarray:
    info = np.iinfo(dtype)
    return np.array([min(max(int(v), info.min), info.max) for v in values], dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_ends_of_types(dtype: str) -> None:
    info = np.iinfo(dtype)
    ends = sorted({info.min, info.max, 0, 1, info.max - 1, info.min + 1, info.max // 2, *([-1, -2] if info.min else [])})
    x, y = (np.array(values, dtype) for values in zip(*((a, b) for a in ends for b in ends), strict=True))
    n = len(x)
    out, u, s = np.zeros((3, n), dtype), np.zeros(n, np.uint8), np.zeros(n, np.int16)
    saturated(x, y, out, u, s)
    exact = [int(a) for a in x], [int(b) for b in y]
    sums, differences = ([a + sign * b for a, b in zip(*exact, strict=True)] for sign in (1, -1))
    np.testing.assert_array_equal(
        out, [clipped(sums, dtype), clipped(differences, dtype), clipped([a + 3 for a in exact[0]], dtype)]
    )
    np.testing.assert_array_equal(u, clipped(x, np.uint8))
    np.testing.assert_array_equal(s, clipped(x, np.int16))
    assert [lm.add_sat(a, b) for a, b in zip(x, y, strict=True)] == list(out[0])  # the functions themselves
    assert [lm.sub_sat(a, b) for a, b in zip(x, y, strict=True)] == list(out[1])


def test_floats_are_converted() -> None:
    @lm.kernel
    def converted(x: lm.f32["N"], o: lm.ui8["N"]):
        for i in range(len(x)):
            o[i] = lm.convert_sat(x[i], lm.ui8)

    x = np.array([-3.5, 0.9, 254.9, 255.0, 256.0, 1e20, np.nan, -np.inf], np.float32)
    out = np.zeros(8, np.uint8)
    converted(x, out)
    assert list(out) == [0, 0, 254, 255, 255, 255, 0, 0] == [lm.convert_sat(v, lm.ui8) for v in x]


def test_instructions_of_the_target() -> None:
    asm = saturated.specialize(T=lm.ui8).as_text("asm", "x86-64-v3")
    assert "paddus" in asm and "psubus" in asm


def test_refused() -> None:
    @lm.kernel
    def floats(x: lm.f32["N"]):
        for i in range(len(x)):
            x[i] = lm.add_sat(x[i], 1)

    with pytest.raises(KernelError, match="takes integers of an element type, got f32"):
        floats.compile()

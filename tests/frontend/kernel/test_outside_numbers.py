"""Numbers from outside of a kernel: of Python, of NumPy, and of classes derived from these."""

from __future__ import annotations

import enum

import lamina as lm
import numpy as np
import pytest


class Level(enum.IntEnum):
    HIGH = 3


NUMBERS = [
    True,
    3,
    2.5,
    np.bool_(True),
    np.int8(3),
    np.uint16(3),
    np.int64(3),
    np.float16(2.5),
    np.float32(2.5),
    np.float64(2.5),
]
NUMBERS += [np.float64(2.5), np.longdouble(2.5), Level.HIGH]
NUMBER: object = 0


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: type(number).__name__)
def test_number_from_outside(number: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "NUMBER", number)

    @lm.kernel
    def add(x: lm.f64["N"]):
        for i in range(x.shape[0]):
            x[i] = x[i] + NUMBER

    @lm.kernel
    def put(x: lm.f64["N"]):
        for i in range(x.shape[0]):
            x[i] = NUMBER

    x, y = np.ones(5), np.ones(5)
    add(x)
    put(y)
    np.testing.assert_array_equal(x, np.full(5, 1 + float(number)))  # pyright: ignore
    np.testing.assert_array_equal(y, np.full(5, float(number)))  # pyright: ignore

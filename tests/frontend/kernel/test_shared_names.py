"""Names that math, NumPy and builtins share mean in a kernel what they mean in the module that they were taken from."""

from __future__ import annotations

import math
from typing import Any

import lamina as lm
import numpy as np
import pytest

NAN = math.nan
X = np.array([0.35, -0.35, 5.0, -5.0, 3.0, -3.0, 7.5, -0.0, 0.0, 1e300, 4.0, 2.5, -1.5, NAN])
Y = np.array([0.2, 0.2, 3.0, 3.0, 2.0, -2.0, 2.5, 1.0, -1.0, 7.0, -8.0, 1.0, 1.0, 1.0])


@lm.kernel
def of_floats(x: lm.f64["N"], y: lm.f64["N"], out: lm.f64[12, "N"]):
    for i in range(x.shape[0]):
        out[0, i] = math.remainder(x[i], y[i])
        out[1, i] = np.remainder(x[i], y[i])
        out[2, i] = math.fmod(x[i], y[i])
        out[3, i] = np.fmod(x[i], y[i])
        out[4, i] = np.mod(x[i], y[i])
        out[5, i] = x[i] % y[i]
        out[6, i] = math.pow(x[i], y[i])
        out[7, i] = np.power(x[i], y[i])
        out[8, i] = np.float_power(x[i], y[i])
        out[9, i] = math.fabs(x[i])
        out[10, i] = np.round(x[i])
        out[11, i] = np.floor(x[i])


def of_python(function: Any, *args: Any) -> float:
    """A function of math, with NaN and infinities where it raises."""
    try:
        return function(*args)
    except (ValueError, OverflowError):
        return NAN if function is not math.pow else float(np.power(*args))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_floats():
    out = np.zeros((12, len(X)))
    of_floats(X, Y, out)
    expected = np.array(
        [
            [of_python(math.remainder, x, y) for x, y in zip(X, Y, strict=True)],
            np.remainder(X, Y),
            [of_python(math.fmod, x, y) for x, y in zip(X, Y, strict=True)],
            np.fmod(X, Y),
            np.mod(X, Y),
            np.mod(X, Y),
            [of_python(math.pow, x, y) for x, y in zip(X, Y, strict=True)],
            np.power(X, Y),
            np.float_power(X, Y),
            np.fabs(X),
            np.round(X),
            np.floor(X),
        ]
    )
    for name, got, right in zip(("remainder", "np.remainder", "fmod", "np.fmod"), out, expected, strict=False):
        assert np.array_equal(got, right, equal_nan=True), name
        assert (np.signbit(got) == np.signbit(right))[~np.isnan(right)].all(), name
    assert np.allclose(out[4:], expected[4:], rtol=1e-14, equal_nan=True)


def test_remainder_of_random_numbers_is_exact():
    rng = np.random.default_rng(0)

    @lm.kernel
    def remainders(x: lm.f64["N"], y: lm.f64["N"], out: lm.f64["N"]):
        for i in range(x.shape[0]):
            out[i] = math.remainder(x[i], y[i])

    x = np.ldexp(rng.normal(size=4001), rng.integers(-30, 30, 4001))
    y = np.ldexp(rng.normal(size=4001), rng.integers(-30, 30, 4001))
    x[:200], y[:200] = rng.integers(-20, 20, 200) / 2, rng.integers(1, 6, 200)  # ties
    out = np.zeros(4001)
    remainders(x, y, out)
    assert (out == [math.remainder(a, b) for a, b in zip(x, y, strict=True)]).all()


@lm.kernel
def of_integers(x: lm.i64["N"], y: lm.i64["N"], whole: lm.i64[7, "N"], half: lm.f64[6, "N"]):
    for i in range(x.shape[0]):
        whole[0, i] = np.fmod(x[i], y[i])
        whole[1, i] = np.remainder(x[i], y[i])
        whole[2, i] = np.floor(x[i]) // 2
        whole[3, i] = np.ceil(x[i])
        whole[4, i] = np.round(x[i])
        whole[5, i] = round(x[i] / 2)
        whole[6, i] = math.floor(x[i] / 2)
        half[0, i] = math.fmod(x[i], y[i]) / 2
        half[1, i] = math.fabs(x[i]) / 2
        half[2, i] = np.fabs(x[i]) / 2
        half[3, i] = math.remainder(x[i], y[i])
        half[4, i] = math.pow(x[i], y[i])
        half[5, i] = np.rint(x[i]) / 2


def test_functions_of_integers():
    x, y = np.array([7, -7, 9, 5, -3, 8]), np.array([4, 4, -2, 3, 2, 3])
    whole, half = np.zeros((7, 6), np.int64), np.zeros((6, 6))
    of_integers(x, y, whole, half)
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    assert (whole == [np.fmod(x, y), x % y, x // 2, x, x, [round(a / 2) for a in x.tolist()], np.floor(x / 2)]).all()
    rows = [[math.fmod(*p) / 2 for p in pairs], abs(x) / 2, abs(x) / 2, [math.remainder(*p) for p in pairs]]
    assert np.allclose(half, [*rows, [math.pow(*p) for p in pairs], x / 2])


def test_known_numbers_give_what_numpy_gives():
    @lm.kernel
    def constants(out: lm.f64[4]):
        out[0] = np.log(0.0)
        out[1] = np.exp(1000.0)
        out[2] = np.sqrt(-1.0)
        out[3] = math.remainder(0.35, 0.2)

    out = np.zeros(4)
    constants(out)
    assert out[0] == -np.inf and out[1] == np.inf and np.isnan(out[2]) and out[3] == math.remainder(0.35, 0.2)

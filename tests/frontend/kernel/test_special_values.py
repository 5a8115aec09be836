"""Operators on the numbers where they are special: zeros, infinities, NaN, the ends of the integers, shifts too far."""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from running import by_interpreter, by_python, natively


def of_f64(a: lm.f64["N"], b: lm.f64["N"], out: lm.f64["N", 9]):
    for i in range(N):
        out[i, 0], out[i, 1], out[i, 2] = a[i] // b[i], a[i] % b[i], a[i] / b[i]
        out[i, 3], out[i, 4], out[i, 5] = np.maximum(a[i], b[i]), np.minimum(a[i], b[i]), np.fmod(a[i], b[i])
        out[i, 6] = (1 if a[i] < b[i] else 2) + (10 if a[i] != b[i] else 20) + (100 if not a[i] >= b[i] else 200)
        out[i, 7] = np.floor(a[i]) + np.rint(b[i])
        out[i, 8] = a[i] ** 2 - abs(b[i]) + np.sqrt(a[i]) + np.sign(b[i])


def of_f32(a: lm.f32["N"], b: lm.f32["N"], out: lm.f32["N", 9]):
    for i in range(N):
        out[i, 0], out[i, 1], out[i, 2] = a[i] // b[i], a[i] % b[i], a[i] / b[i]
        out[i, 3], out[i, 4], out[i, 5] = np.maximum(a[i], b[i]), np.minimum(a[i], b[i]), np.fmod(a[i], b[i])
        out[i, 6] = (1 if a[i] < b[i] else 2) + (10 if a[i] != b[i] else 20) + (100 if not a[i] >= b[i] else 200)
        out[i, 7] = np.floor(a[i]) + np.rint(b[i])
        out[i, 8] = a[i] * 1e300 - abs(b[i]) * 1e39


def of_i64(a: lm.i64["N"], b: lm.i64["N"], out: lm.i64["N", 12]):
    for i in range(N):
        out[i, 0], out[i, 1], out[i, 2] = a[i] // b[i], a[i] % b[i], a[i] << b[i]
        out[i, 3], out[i, 4], out[i, 5] = a[i] >> b[i], a[i] * b[i], a[i] - b[i]
        out[i, 6], out[i, 7], out[i, 8] = abs(a[i]), -a[i], a[i] ** 3
        out[i, 9], out[i, 10], out[i, 11] = a[i] // -1, a[i] % -1, min(a[i], b[i]) ^ ~b[i]


def of_i32(a: lm.i32["N"], b: lm.i32["N"], out: lm.i32["N", 12]):
    for i in range(N):
        out[i, 0], out[i, 1], out[i, 2] = a[i] // b[i], a[i] % b[i], a[i] << b[i]
        out[i, 3], out[i, 4], out[i, 5] = a[i] >> b[i], a[i] * b[i], a[i] - b[i]
        out[i, 6], out[i, 7], out[i, 8] = abs(a[i]), -a[i], a[i] ** 3
        out[i, 9], out[i, 10], out[i, 11] = a[i] // -1, a[i] % -1, min(a[i], b[i]) ^ ~b[i]


def specials(dtype: Any) -> list[Any]:
    if np.dtype(dtype).kind == "i":
        ends = np.iinfo(dtype)
        return [0, 1, -1, 2, 7, -7, 31, 32, 33, 63, 64, 65, 100, -64, ends.min, ends.min + 1, ends.max]
    ends = np.finfo(dtype)
    values = [0.0, 1.0, 3.5, 0.1, 1 / 3, ends.max, ends.tiny, ends.smallest_subnormal, math.inf, 2.0**23 + 1, 2.0**52, math.nan]
    return [sign * value for value in values for sign in (1, -1)]


@pytest.mark.parametrize("function", [of_f64, of_f32, of_i64, of_i32])
def test_all_pairs(function: Any) -> None:
    dtype = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "i32": np.int32}[function.__name__[3:]]
    pairs = np.array(list(itertools.product(specials(dtype), repeat=2)), dtype)
    args = [pairs[:, 0].copy(), pairs[:, 1].copy(), np.zeros((len(pairs), 12 if np.dtype(dtype).kind == "i" else 9), dtype)]
    want = by_python(function, args)[2]
    for run in (natively, by_interpreter):
        got = run(function, args)[2]
        for column in range(want.shape[1]):
            wrong = (got[:, column] != want[:, column]) & ~(np.isnan(got[:, column]) & np.isnan(want[:, column]))
            assert [(*pairs[k], got[k, column], want[k, column]) for k in np.flatnonzero(wrong)] == [], (column, run.__name__)


def test_bools_and_mixed_whole_numbers() -> None:
    def k(b: lm.bool_["N"], m: lm.i32["N"], out: lm.i64["N", 6], x: lm.f64["N"]):
        for i in range(N):
            out[i, 0] = abs(b[i]) + round(m[i]) * 10 + math.floor(m[i]) * 100 + int(b[i]) * 1000
            out[i, 1] = m[i] * 3 + b[i] - i
            out[i, 2] = (m[i] | 1) // (i + 1) + m[i] % (i + 3)
            out[i, 3] = 5 if b[i] == True else 6  # noqa: E712
            out[i, 4] = b[i] ^ (m[i] > 0)
            out[i, 5] = lm.i32(m[i]) // lm.i64(2) + int(lm.bool_(m[i]))
            x[i] = math.sqrt(b[i]) + np.exp(m[i]) + math.pow(m[i], 2) + math.pow(i + 1, -1) + m[i] / 2 + math.fabs(m[i])

    args = [np.array([True, False, True]), np.array([-3, 0, 7], np.int32), np.zeros((3, 6), np.int64), np.zeros(3)]
    want = by_python(k, args)
    for run in (natively, by_interpreter):
        got = run(k, args)
        np.testing.assert_array_equal(got[2], want[2])
        np.testing.assert_allclose(got[3], want[3], rtol=1e-14)

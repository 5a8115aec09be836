"""Sums of products of small integers, quotients by powers of two, extremes in place: right, and with the right instructions."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest


@lm.kernel
def of_bytes(a: lm.i8["N"], b: lm.i8["N"], y: lm.i32[1]):
    s = lm.i32(0)
    for k in range(N):
        s += lm.i32(a[k]) * lm.i32(b[k])
    y[0] = s


@lm.kernel
def of_words(a: lm.i16["N"], b: lm.i16["N"], y: lm.i32[1]):
    s = lm.i32(0)
    for k in range(N):
        s += lm.i32(a[k]) * lm.i32(b[k])
    y[0] = s


@lm.kernel
def of_both_signs(a: lm.ui8["N"], b: lm.i16["N"], y: lm.i32[1]):
    s = lm.i32(5)
    for k in range(N):
        s += lm.i32(a[k]) * lm.i32(b[k])
    y[0] = s


@lm.kernel
def of_unsigned_words(a: lm.ui16["N"], b: lm.ui16["N"], y: lm.i32[1]):
    """Products that `vpmaddwd` would take for negative ones."""
    s = lm.i32(0)
    for k in range(N):
        s += lm.i32(a[k]) * lm.i32(b[k])
    y[0] = s


def _ends(dtype: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    limits = np.iinfo(dtype)
    values = rng.integers(limits.min, limits.max + 1, n).astype(dtype)
    values[: n // 3] = limits.min
    values[n // 3 : n // 2] = limits.max
    return values


@pytest.mark.parametrize(
    "kernel,left,right,start",
    [
        (of_bytes, np.int8, np.int8, 0),
        (of_words, np.int16, np.int16, 0),
        (of_both_signs, np.uint8, np.int16, 5),
        (of_unsigned_words, np.uint16, np.uint16, 0),
    ],
)
def test_sums_of_products_wrap_at_32_bits(kernel: Any, left: Any, right: Any, start: int) -> None:
    rng = np.random.default_rng(0)
    for n in (0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 200, 1000):
        a, b, y = _ends(left, n, rng), _ends(right, n, rng), np.zeros(1, np.int32)
        kernel(a, b, y)
        exact = start + sum(int(x) * int(z) for x, z in zip(a, b, strict=True))
        assert int(y[0]) == (exact + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_pairs_of_products_are_one_instruction(target: str) -> None:
    for kernel in (of_bytes, of_words, of_both_signs, of_unsigned_words):
        again = lm.kernel(kernel.__wrapped__, schedule="none")  # by default the lanes are those of this machine
        again.schedule().vectorize("k", 64)
        assert ("pmaddwd" in again.as_text("asm", target)) == (kernel is not of_unsigned_words)


@lm.kernel
def quotients(x: lm.i32["N"], q: lm.i32["N"], r: lm.i32["N"]):
    for i in range(N):
        q[i] = x[i] // 8
        r[i] = x[i] % 8


def test_floors_of_quotients_by_powers_of_two() -> None:
    x = np.array([0, 1, 7, 8, 9, -1, -7, -8, -9, 2**31 - 1, -(2**31)], np.int32)
    q, r = np.zeros_like(x), np.zeros_like(x)
    quotients(x, q, r)
    np.testing.assert_array_equal(q, x // 8)
    np.testing.assert_array_equal(r, x % 8)


@lm.kernel
def relax(x: lm.f32["N"], y: lm.f32["N"]):
    for j in range(N):
        y[j] = min(y[j], x[j] + 1.0)


def test_an_extreme_in_place_needs_no_masked_store() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 53), np.float32)
    x[3], y[7], x[9], y[9] = np.nan, np.nan, np.inf, -np.inf
    expected = np.minimum(y, x + np.float32(1))
    relax(x, y)
    np.testing.assert_array_equal(y, expected)
    stores = [line for line in relax.as_text("asm", "x86-64-v3").splitlines() if "vmaskmovps\t%ymm" in line]
    assert len(stores) <= 4  # of the remainder of a vector of 32 lanes

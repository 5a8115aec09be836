"""Kernels at sizes 0, 1, 5 and 17: machine code and interpreter compute what plain Python computes on NumPy arrays."""

from __future__ import annotations

import math
import sys
from math import ceil, floor
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from running import arguments, check

HALF, TAPS, FLAG = 0.5, 3, True
SETTINGS = np.float64(0.25)


# -- loops


def forward_and_back(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(2, N, 3):
        y[i] = x[i - 2] + i
    for i in range(N - 1, -1, -2):
        y[i] += x[i]
    for i in range(N - 2, 1, -3):
        y[i] -= x[i + 1]


def down_to_a_variable(x: lm.i64["N"]):
    for i in range(N):
        for j in range(N - 1, i, -1):
            x[j] = x[j] + x[j - 1] * i


def bubble_sort(x: lm.f64["N"]):
    for i in range(N):
        for j in range(N - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]


def loops_of_one_name(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(N):
        y[i] = x[i]
    for i in range(N):
        for j in range(i):
            y[i] += x[j]
        for j in range(i, N):
            y[i] -= x[j]
    for _ in range(2):
        for _ in range(3):
            for i in range(N):
                y[i] = y[i] * 0.5 + 1.0


def counter_as_number(x: lm.f32["N"], k: lm.i64["N"], y: lm.f64["N"]):
    for i in range(N):
        x[i] = i * 0.5 + x[i] * i
        k[i] = i * i + (i // 2) * 3 - i % 3 + (5 - i) // 2 + (7 - 3 * i) % 4
        y[i] = i / 3 + i**2


def shadowed_number(k: lm.i64["N"], y: lm.i64["N"]):
    i = 7
    y[0] = i
    for i in range(N):
        y[i] = k[i] + i


def bounds_by_min_and_max(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(N):
        low = max(0, i - 2)
        for k in range(low, min(i + 3, N)):
            y[i] += x[k]
        for k in range(min(i + 2, N) - 1, max(i - 1, 0) - 1, -1):
            y[i] -= x[k] * 0.25


def by_blocks(A: lm.f32["M", "N"], y: lm.f32["M"]):
    for b in range(0, M, 4):
        for i in range(b, min(b + 4, M)):
            for j in range(N):
                y[i] += A[i, j]


def parallel_blocks(A: lm.f32["M", "N"], B: lm.f32["M", "N"]):
    for b in lm.parallel(0, M, 4):
        for i in range(b, min(b + 4, M)):
            for j in range(N):
                B[i, j] = A[i, j] * 2.0 + b


def parallel_rows(A: lm.f64["M", "N"], y: lm.f64["M"]):
    for i in lm.parallel(M):
        s = 0.0
        for j in range(A.shape[-1]):
            s += A[i, j]
        y[i] = s


def parallel_down(x: lm.f64["N"], y: lm.f64["N"]):
    for i in lm.parallel(N - 1, -1, -1):
        t = lm.zeros(3, lm.f64)
        for k in range(3):
            t[k] = x[i] * k
        y[i] = t[0] + t[1] * 10 + t[2] * 100


def over_grids(A: lm.i64["M", "N"], B: lm.i64["M", "N"]):
    for i, j in lm.grid(A.shape):
        B[i, j] = A[i, j] + i
    for i, j in lm.grid((M, 3)):
        if j < N:
            B[i, j] -= j
    for i in lm.grid(M):
        for j in range(N):
            B[i, j] *= 2


def sizes_from_shapes(A: lm.f32["M", "N"], y: lm.f32["M"]):
    rows, columns = A.shape
    for i in range(rows):
        for j in range(columns - 1):
            y[i] += A[i, j] * columns
    for i in range(len(y)):
        y[i] += A.shape[1]


def of_some_length(x: lm.f32["N"], n: lm.i64, k: lm.i32):
    for i in range(min(n, N)):
        x[i] += n + k


def while_loops(x: lm.i64["N"], y: lm.i64["N"]):
    i = 0
    while i < N:
        v, n = abs(x[i]) + 1, 0
        while v > 1 and n < 50:
            v = v // 2 if v % 2 == 0 else 3 * v + 1
            n += 1
        y[i] = n
        i += 1


def while_with_memory(x: lm.i64["N"], y: lm.i64["N"]):
    i = 0
    while i < N and x[i] != 3:
        y[i] = x[i]
        i = i + 1
    while i > 0 and (x[i - 1] > 0 or y[i - 1] > 0):
        i -= 1
        y[i] += 100


# -- variables


def reductions(x: lm.f64["N"], out: lm.f64[6]):
    total, product, least, most = 0.0, 1.0, math.inf, -math.inf
    for i in range(N):
        total += x[i]
    for i in range(N):
        product *= x[i]
    for i in range(N):
        least = min(least, x[i])
    for i in range(N):
        most = max(x[i], most)
    out[0], out[1], out[2], out[3] = total, product, least, most
    squares, cubes = 0.0, 1.0
    for i in range(N):
        squares += x[i] * x[i]
        cubes -= x[i] ** 3
    out[4], out[5] = squares, cubes


def mixed_reductions(x: lm.f64["N"], y: lm.f64["N"], out: lm.f64[3]):
    total, product, most = 0.0, 1.0, -100.0
    for i in range(N):
        total += x[i] * 2.0
        product *= 1.0 + x[i] * 0.1
        most = max(most, x[i] + total)
        y[i] = x[i] + 1.0
    out[0], out[1], out[2] = total, product, most


def reduction_beside_stores(x: lm.f32["N"], y: lm.f32["N"], out: lm.f32[1]):
    total = 0.0
    for i in range(N):
        y[i] = x[i] * 2.0
        total += y[i]
    out[0] = total


def whole_reductions(k: lm.i64["N"], b: lm.bool_["N"], out: lm.i64[4]):
    total, count, least, product = 10, 0, 1000, 1
    for i in range(N):
        total += k[i]
    for i in range(N):
        if b[i] and k[i] > 0:
            count += 1
    for i in range(N):
        least = min(least, k[i] * i)
    for i in range(N):
        product *= k[i] % 3 - 1
    out[0], out[1], out[2], out[3] = total, count, least, product


def nested_carried(A: lm.f64["M", "N"], out: lm.f64[3]):
    total, rows, at = 0.0, 0, -1
    for i in range(M):
        row = 0.0
        for j in range(N):
            row += A[i, j]
            total = total * 0.5 + A[i, j]
        if row > 0:
            rows += 1
            at = i
    out[0], out[1], out[2] = total, rows, at


def recurrence(x: lm.f64["N"], y: lm.f64["N"]):
    a, b, c = 0.0, 1.0, 2
    for i in range(N):
        a, b = b, a * 0.5 + x[i]
        c = c * 3 % 7
        y[i] = a - b + c


def weak_numbers(x: lm.f32["N"], y: lm.f32["N"]):
    scale, shift, n = 0.1, 1, 0
    for i in range(N):
        y[i] = x[i] * scale + shift / 3 + n * x[i]
        n += 2


def in_branches(x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(N):
        v, w = x[i], 1.0
        if v < -1:
            w = 2.0
            sign = -1
        elif v < 0:
            v = -v
            sign = 0
        elif v < 1:
            sign = 1
            w = v
        else:
            sign = 2
            if i % 2 == 0:
                w = 5.0
        y[i] = v * w + sign


def decided_from_outside(x: lm.f64["N"]):
    for i in range(N):
        if FLAG:
            x[i] += HALF
        else:
            x[i] = undefined
        x[i] = x[i] * TAPS if TAPS > 2 else undefined
        x[i] += SETTINGS


def typed_variables(x: lm.f32["N"], out: lm.f64[2]):
    total: lm.f64 = 0.0
    count: lm.i32 = 0
    for i in range(N):
        total += lm.f64(x[i]) * x[i]
        count += lm.i32(3)
    out[0] = total
    out[1] = count


# -- arrays


def strided(A: lm.f64["M", "N"].strided(), B: lm.f64["M", "N"].strided("ldb", 1), x: lm.f64["N"].strided(2)):
    for i in range(M):
        for j in range(N):
            B[i, j] = A[i, j] * 2 + x[j]


def offset_sizes(x: lm.f32["N + 2"], y: lm.f32["N"], z: lm.f32["N + 1", 2]):
    for i in range(N):
        y[i] = x[i] + x[i + 1] + x[i + 2]
    for i in range(N + 1):
        z[i, 0], z[i, 1] = x[i], x[i + 1]


def fixed_sizes(A: lm.i32[3, 4], b: lm.i64[4], x: lm.f32[()]):
    for j in range(4):
        b[j] = 0
        for i in range(3):
            b[j] += A[i, j] * (i + 1)
    x[()] = x[()] * 2.0


def local_arrays(x: lm.f32["N"], y: lm.f32["N"]):
    t = lm.zeros((N, 3), lm.f32)
    u = lm.empty(N + 1, lm.f32)
    s = lm.zeros((2, 2))
    u[0] = 1.0
    for i in range(N):
        u[i + 1] = u[i] * 0.5 + x[i]
        for k in range(3):
            t[i, k] += x[i] * k
    for i in range(N):
        v = lm.zeros(4, dtype=lm.f64)
        v[i % 4] = 1.0
        y[i] = u[i + 1] + t[N - 1 - i, 2] + v[0] + v[3] + s[1, 1]


def local_whole(k: lm.i64["N"], y: lm.i64["N"]):
    seen = lm.zeros(21, lm.bool_)
    count = lm.zeros(21, lm.i32)
    for i in range(N):
        if not seen[k[i] + 9]:
            seen[k[i] + 9] = True
        else:
            count[k[i] + 9] += 1
    for i in range(N):
        y[i] = count[k[i] + 9]


def bools(b: lm.bool_["N"], c: lm.bool_["N"], x: lm.f64["N"]):
    for i in range(N):
        c[i] = (b[i] and not c[i]) or x[i] > 1
        b[i] = (b[i] != c[i]) == (x[i] < 0)
        x[i] = b[i] * 4 + (c[i] & b[i]) * 2 + (b[i] ^ c[i]) * x[i]


def small_whole(a: lm.i32["N"], b: lm.i32["N"], y: lm.i32["N"], z: lm.i64["N"]):
    for i in range(N):
        y[i] = a[i] * 100 + b[i] // 2 - (a[i] << 3) + (b[i] ^ a[i])
        z[i] = a[i] * i + lm.i64(b[i]) * 1000000000000
        a[i] += 1
        b[i] = min(a[i], b[i], 3)


# -- expressions


def division(a: lm.i64["N"], b: lm.i64["N"], q: lm.i64["N"], r: lm.i64["N"], t: lm.f64["N"]):
    for i in range(N):
        q[i] = a[i] // b[i] + a[i] // 3 * 100 + a[i] // -4 * 10000 + 20 // b[i]
        r[i] = a[i] % b[i] + a[i] % 3 * 100 + a[i] % -4 * 10000 + 20 % b[i]
        t[i] = a[i] / b[i]
        a[i] //= 2
        b[i] %= 3


def float_division(a: lm.f64["N"], b: lm.f64["N"], q: lm.f64["N"], r: lm.f64["N"]):
    for i in range(N):
        q[i] = a[i] // b[i] + a[i] // 2
        r[i] = a[i] % b[i] + a[i] % -2.5


def shifts(a: lm.i64["N"], b: lm.i64["N"], y: lm.i64["N"]):
    for i in range(N):
        n = abs(b[i])
        y[i] = (a[i] << n) ^ (a[i] >> n) | (a[i] & ~b[i])
        a[i] <<= 2
        a[i] |= 1
        b[i] >>= 1
        b[i] ^= 5
        b[i] &= 0xFF


def conversions(x: lm.f64["N"], f: lm.f32["N"], k: lm.i64["N"], b: lm.bool_["N"], y: lm.f64["N"]):
    for i in range(N):
        y[i] = int(x[i]) + float(k[i]) / 3 + lm.f32(x[i]) + int(b[i]) + bool(k[i]) + np.float64(f[i])
        k[i] = int(x[i] * 10) + lm.i64(f[i] * 10) + int(3.7) + int(True) + np.int64(x[i])
        b[i] = bool(k[i]) or bool(x[i] * 0.0)


def rounding(x: lm.f64["N"], y: lm.f64["N"], k: lm.i64["N"]):
    for i in range(N):
        v = x[i] * 4
        y[i] = np.floor(v) + np.ceil(v) * 10 + np.rint(v) * 100 + abs(v) + np.abs(v) + math.fabs(v)
        k[i] = floor(v) + ceil(v) * 10 + round(v) * 100 + math.floor(k[i]) * 1000 + round(k[i]) + abs(k[i])


def elementary(x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(N):
        a = abs(x[i]) + 0.5
        y[i] = math.exp(-a) + math.log(a) + math.sqrt(a) + math.sin(a) - math.cos(x[i]) + math.tanh(x[i]) + math.tan(0.3)
        y[i] += np.exp(x[i]) + np.log1p(a) * np.expm1(x[i]) + math.erf(x[i]) + math.atan2(x[i], a) + math.pow(a, 0.3)
        y[i] += lm.numpy.tanh(x[i]) + lm.numpy.maximum(x[i], 0.0) + np.minimum(x[i], a) + a**1.5 + 2.0 ** x[i] + pow(a, 2)


def elementary_f32(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(N):
        y[i] = np.exp(x[i]) / (1 + np.exp(x[i])) + np.sqrt(np.abs(x[i])) + np.tanh(x[i]) * 0.5 + x[i] ** 2 - x[i] ** 0


def powers(x: lm.f64["N"], k: lm.i64["N"], y: lm.f64["N"]):
    for i in range(N):
        y[i] = x[i] ** 3 + x[i] ** -1 + k[i] ** 3 + x[i] ** 13 + 2**3 * i**2 + i**0


def ternaries(x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(N):
        y[i] = x[i - 1] if i > 0 else -1.0
        y[i] += x[i + 1] if i + 1 < N else (x[i - 1] if i > 0 else 2)
        y[i] += (1 if x[i] > 0 else 2) * x[i] + (i if i % 2 == 1 else -i if x[i] > 0 else 0) if i != 3 else 0.5


def short_circuits(x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(N):
        y[i] = 0.0
        if i > 0 and x[i - 1] > 0 and ((i > 1 and x[i - 2] > 0) or (i + 1 < N and x[i + 1] > 0)):
            y[i] = 1.0
        if not (i + 1 == N or x[i + 1] <= 0):
            y[i] += 2.0
        if 0 < i < N - 1 < N and x[i - 1] < x[i] < x[i + 1]:
            y[i] += 4.0
        if i < N - 1 < x[i + 1] + N:
            y[i] += 8.0


def comparisons(a: lm.i64["N"], x: lm.f32["N"], y: lm.i64["N"]):
    for i in range(N):
        y[i] = 0
        if -3 <= a[i] < 4 != i:
            y[i] += 1
        if x[i] == 0.5 or x[i] >= i or a[i] != i:
            y[i] += 2
        if (a[i] > 0) == (x[i] > 0):
            y[i] += 4
        if i < N // 2:
            y[i] += 8


def extremes(x: lm.f64["N"], k: lm.i64["N"], y: lm.f64["N"]):
    for i in range(N):
        y[i] = min(x[i], 0.5) + max(x[i], k[i], 0) + max(i, 3) + min(i, k[i]) + min(2, 3) + max(HALF, x[i])


# -- kernels that call kernels


@lm.kernel
def scale(x: lm.f64["L"], by: lm.f64):
    for i in range(L):
        x[i] *= by


@lm.kernel
def matrix_vector(A: lm.f64["R", "C"], x: lm.f64["C"], y: lm.f64["R"]):
    """y = A @ x"""
    for i in range(R):
        total = 0.0
        for j in range(C):
            total += A[i, j] * x[j]
        y[i] = total


@lm.kernel
def pair_sums(x: lm.f64["K + 1"], y: lm.f64["K"]):
    for i in range(K):
        y[i] = x[i] + x[i + 1]


def calls(A: lm.f64["M", "N"], x: lm.f64["N"], y: lm.f64["M"], z: lm.f64["M + 1"]):
    matrix_vector(A, x, y)
    scale(y, 3)
    scale(z, y[0] if M > 0 else 1.0)
    pair_sums(z, y)
    t = lm.zeros(M, lm.f64)
    matrix_vector(A, x, t)
    for i in range(M):
        scale(t, 0.5)
        y[i] += t[i]


def positive(shape: tuple[int, ...], rng: Any) -> Any:
    return rng.random(shape) + 0.1


def nonzero(shape: tuple[int, ...], rng: Any) -> Any:
    return rng.integers(1, 9, shape) * rng.choice([-1, 1], shape)


CASES: list[tuple[Any, dict[str, Any]]] = [
    *((f, {}) for f in (forward_and_back, down_to_a_variable, bubble_sort, loops_of_one_name, counter_as_number)),
    *((f, {}) for f in (bounds_by_min_and_max, by_blocks, parallel_blocks, parallel_rows, parallel_down)),
    *((f, {}) for f in (over_grids, sizes_from_shapes, while_loops, while_with_memory, reductions, mixed_reductions)),
    *((f, {}) for f in (reduction_beside_stores, whole_reductions, nested_carried, recurrence, weak_numbers, in_branches)),
    *((f, {}) for f in (decided_from_outside, typed_variables, offset_sizes, fixed_sizes, local_arrays, local_whole, bools)),
    *((f, {}) for f in (small_whole, shifts, conversions, rounding, elementary, elementary_f32, ternaries, short_circuits)),
    *((f, {}) for f in (comparisons, extremes, calls)),
    (shadowed_number, {"least": 1}),
    (of_some_length, {"n": 4, "k": 2}),
    (division, {"b": nonzero}),
    (float_division, {"b": nonzero}),
    (powers, {"x": positive}),
]


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize(("function", "given"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_three_ways(function: Any, given: dict[str, Any]) -> None:
    for n in (0, 1, 5, 17):
        if n >= given.get("least", 0):
            check(function, arguments(function, {"N": n, "M": n if n != 5 else 6}, given))


def test_strided_arrays() -> None:
    rng = np.random.default_rng(5)
    for m, n in ((0, 3), (1, 1), (5, 4), (17, 9)):
        a = rng.standard_normal((2 * m, 3 * n))[::2, ::3]
        b = rng.standard_normal((m + 2, n + 3))[1 : m + 1, 2 : n + 2]
        x = rng.standard_normal(2 * n)[::2]
        check(strided, [a, b, x])
        check(strided, [a[::-1], b, x])
        check(strided, [rng.standard_normal((n, m)).T, b, x])


def test_a_local_array_of_a_negative_size_is_named() -> None:
    def kernel(x: lm.f32["N"], n: lm.i64, m: lm.i64, y: lm.f32["N"]):
        t = lm.zeros((n, m), lm.f32)
        for i in lm.parallel(N):
            y[i] = x[i]
        for i in range(n):
            t[i, 0] = 1
            y[0] = t[i, 0]

    made, x, y = lm.kernel(kernel), np.ones(3, np.float32), np.zeros(3, np.float32)
    made(x, 2, 2, y)
    assert y.tolist() == [1, 1, 1]
    for n, m in ((-1, 1), (2, -7), (-1, -1), (-(2**62), 2), (2**62, -3)):
        with pytest.raises(ValueError, match=f"'kernel': a local array has a size of {min(n, m)}: sizes must not be negative"):
            made(x, n, m, y)
    with pytest.raises(MemoryError, match="got no memory for its local arrays"):
        made(x, 2**62, 2**62, y)

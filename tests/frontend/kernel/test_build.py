"""Kernels from Python source: the IR, interpreted, against the same function run by Python on NumPy arrays."""
# ruff: noqa: B007, RUF021  kernels are written as users write them

from __future__ import annotations

import math
import types
from typing import Any

import numpy as np
import pytest
from lamina.dialects.context import make_context
from lamina.dialects.loop.loops import KernelOp
from lamina.dialects.parsing import parse_module
from lamina.executor.kernels import find_kernel
from lamina.frontend.kernel import annotations as lm
from lamina.frontend.kernel.build import build_kernel
from lamina.runtime.interpreter import Interpreter
from lamina.runtime.module_signatures import kernel_signature_of
from lamina.runtime.signature import ArrayParam

HALF = 0.5
TAPS = 3
RNG = np.random.default_rng(7)


def floats(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def integers(*shape: int, low: int = -9, high: int = 10, dtype: Any = np.int64) -> np.ndarray:
    return RNG.integers(low, high, shape).astype(dtype)


def symbols_of(function: Any, args: tuple[Any, ...]) -> dict[str, int]:
    """What the sizes are for these arguments."""
    signature = kernel_signature_of(find_kernel(build_kernel(function)))
    found: dict[str, int] = {}
    for param, arg in zip(signature.params, args, strict=True):
        if isinstance(param, ArrayParam):
            for dim, size in zip(param.dims, arg.shape, strict=True):
                if dim.symbol is not None:
                    found[signature.symbols[dim.symbol]] = size - dim.constant
            for dim, stride in zip(param.strides or (), arg.strides, strict=False):
                if dim.symbol is not None:
                    found[signature.symbols[dim.symbol]] = stride // arg.itemsize
    return {name: found[name] for name in signature.symbols}


def interpreted(function: Any, *args: Any) -> list[Any]:
    """The arrays after the kernel's IR ran on copies; the IR must survive being printed and parsed."""
    module = build_kernel(function)
    module.verify()
    again = module
    if find_kernel(module).body.block.ops:  # an empty one prints a block label that cannot be read
        again = parse_module(make_context(), str(module))
        again.verify()
        assert str(again) == str(module)
    copies = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    name = find_kernel(module).sym_name.data
    Interpreter(again).launch(name, [*copies, *symbols_of(function, args).values()])
    return copies


def by_python(function: Any, *args: Any) -> list[Any]:
    """The arrays after Python ran the function on copies; sizes are given to it as globals."""
    copies = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    names = {**function.__globals__, **symbols_of(function, args)}
    plain = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    with np.errstate(all="ignore"):
        plain(*copies)
    return copies


def check(function: Any, *args: Any) -> None:
    """Both agree on every array: integers exactly, floats up to the fused multiply-adds."""
    for got, want in zip(interpreted(function, *args), by_python(function, *args), strict=True):
        if isinstance(want, np.ndarray) and want.dtype.kind == "f":
            single = want.dtype == np.float32
            np.testing.assert_allclose(got, want, rtol=2e-5 if single else 1e-12, atol=1e-6 if single else 1e-15)
        else:
            np.testing.assert_array_equal(got, want)


def kernel_of(function: Any) -> KernelOp:
    return find_kernel(build_kernel(function))


def ops(function: Any, kind: type) -> list[Any]:
    return [op for op in kernel_of(function).walk() if isinstance(op, kind)]


def names(function: Any) -> list[str]:
    return [op.name for op in kernel_of(function).walk()]


# -- loops


def matmul(A: lm.f32["M", "K"], B: lm.f32["K", "N"], C: lm.f32["M", "N"]):
    """C += A @ B"""
    for i in range(M):
        for j in range(N):
            for k in range(K):
                C[i, j] += A[i, k] * B[k, j]


def saxpy(a: lm.f32, x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(x.shape[0]):
        y[i] = a * x[i] + y[i]


def over_a_grid(A: lm.f32["M", "N"], B: lm.f32["M", "N"]):
    for i, j in lm.grid(A.shape):
        B[i, j] = A[i, j] * 2.0
    for i, j in lm.grid(M, N):
        B[i, j] += 1


def in_parallel(A: lm.f64["M", "N"]):
    for i in lm.parallel(M):
        for j in range(N):
            A[i, j] = A[i, j] * HALF + i


def stepped(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(1, N, 3):
        y[i] = x[i - 1]


def backwards(x: lm.f64["N"]):
    for i in range(N - 2, -1, -1):
        x[i] += x[i + 1] * 0.5


def backwards_by_two(x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(N - 1, 0, -2):
        y[i] = x[i] - x[i - 1]


def triangle(A: lm.f64["N", "N"]):
    for i in range(N):
        for j in range(i + 1, N):
            A[i, j] = A[j, i]


def empty_loop(x: lm.f64["N"]):
    for i in range(N, 0):
        x[i] = 1.0
    for i in range(0):
        x[i] = 2.0


def clipped_bounds(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(N):
        for k in range(max(0, i - 1), min(N, i + 2)):
            y[i] += x[k]


def banded(A: lm.f64["N", "N"], x: lm.f64["N"], y: lm.f64["N"]):
    for b in range(0, N, 4):
        for i in range(b, min(N, b + 4)):
            for j in range(N):
                y[i] += A[i, j] * x[j]


def bounds_from_memory(rows: lm.i64["M + 1"], columns: lm.i64["Z"], values: lm.f64["Z"], x: lm.f64["N"], y: lm.f64["M"]):
    for i in range(M):
        for p in range(rows[i], rows[i + 1]):
            y[i] += values[p] * x[columns[p]]


def pooled(x: lm.f32["N"], y: lm.f32["M"]):
    for i in range(M):
        best = x[2 * i]
        for k in range(1, 2):
            best = max(best, x[2 * i + k])
        y[i] = best


# -- variables


def dot(x: lm.f32["N"], y: lm.f32["N"], out: lm.f32[1]):
    total = 0.0
    for i in range(N):
        total += x[i] * y[i]
    out[0] = total


def prefix_sums(x: lm.i64["N"], y: lm.i64["N"]):
    total = 0
    for i in range(N):
        total += x[i]
        y[i] = total


def fibonacci(y: lm.i64["N"]):
    a, b = 0, 1
    for i in range(N):
        y[i] = a
        a, b = b, a + b


def minimum_and_place(x: lm.f64["N"], where: lm.i64[1]):
    best = x[0]
    at = 0
    for i in range(N):
        if x[i] < best:
            best = x[i]
            at = i
    where[0] = at


def signs(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(N):
        if x[i] > 0:
            y[i] = 1
        elif x[i] < 0:
            y[i] = -1
        else:
            y[i] = 0


def branch_values(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(N):
        v = x[i]
        if v < 0:
            v = -v
            w = 2.0
        else:
            w = 3.0
        y[i] = v * w


def typed_local(x: lm.f32["N"], out: lm.f64[1]):
    total: lm.f64 = 0.0
    for i in range(N):
        total += x[i]
    out[0] = total


def converted(x: lm.f32["N"], out: lm.f64[1]):
    total = lm.f64(0)
    for i in range(N):
        total = total + lm.f64(x[i]) * x[i]
    out[0] = total


def product(x: lm.f64["N"], out: lm.f64[3]):
    p = 1.0
    low, high = x[0], x[0]
    for i in range(N):
        p *= x[i]
    for i in range(N):
        low = min(low, x[i])
    for i in range(N):
        high = max(x[i], high)
    out[0], out[1], out[2] = p, low, high


def collatz(x: lm.i64["N"], steps: lm.i64["N"]):
    for i in range(N):
        v = x[i]
        n = 0
        while v != 1:
            if v % 2 == 0:
                v //= 2
            else:
                v = 3 * v + 1
            n += 1
        steps[i] = n


def newton(x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(N):
        guess = x[i]
        while abs(guess * guess - x[i]) > 1e-12 * x[i]:
            guess = 0.5 * (guess + x[i] / guess)
        y[i] = guess


def while_over_memory(x: lm.i64["N"], n: lm.i64[1]):
    k = 0
    while k < N and x[k] != 0:
        k += 1
    n[0] = k


def while_of_nothing_carried(x: lm.i64[1]):
    while x[0] > 3:
        x[0] -= 3


# -- arrays


def local_array(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(N):
        t = lm.zeros((2, 3), lm.f32)
        for a, b in lm.grid(2, 3):
            t[a, b] += x[i] + a * b
        y[i] = t[1, 2] + t[0, 0]


def local_vector(x: lm.f64["N"], y: lm.f64["N"]):
    t = lm.empty(N, lm.f64)
    for i in range(N):
        t[i] = x[i] * 2
    for i in range(N):
        y[i] = t[N - 1 - i]


def scratch_rows(A: lm.f32["M", "N"], B: lm.f32["M", "N"]):
    t = lm.zeros((N + 1, 2), lm.f32)
    for i in range(M):
        for j in range(N):
            t[j + 1, i % 2] = t[j, i % 2] + A[i, j]
        for j in range(N):
            B[i, j] = t[j + 1, i % 2]


def transposed(A: lm.f32["M", "N"], B: lm.f32["N", "M"]):
    for i in range(len(A)):
        for j in range(A.shape[1]):
            B[j, i] = A[i, j]


def strided(A: lm.f64["M", "N"].strided(), B: lm.f64["M", "N"].strided("ldb", 1)):
    for i, j in lm.grid(M, N):
        B[i, j] = A[i, j]


def padded(x: lm.f32["N + 2"], y: lm.f32["N"]):
    for i in range(N):
        y[i] = (x[i] + x[i + 1] + x[i + 2]) / 3


def affine_subscripts(x: lm.i64["N"], y: lm.i64["N"]):
    for i in range(N // 2):
        y[2 * i] = x[2 * i + 1]
        y[2 * i + 1] = x[i % 3] - x[(i + 2) // 2]


def indirect(at: lm.i64["M"], x: lm.f32["N"], y: lm.f32["M"]):
    for i in range(M):
        y[i] = x[at[i]] + x[at[i] // 2]


def histogram(x: lm.i32["N"], counts: lm.i64["B"]):
    for i in range(N):
        counts[x[i]] += 1


def by_scalar(x: lm.f32["N"], n: lm.i64, k: lm.i32):
    for i in range(n):
        x[i * k] = n


def fixed(A: lm.f32[4, 3], b: lm.bool_[4]):
    for i, j in lm.grid(4, 3):
        if b[i] and A[i, j] > 0:
            A[i, j] = 0
    for i in range(4):
        b[i] = not b[i]


# -- expressions


def elementary(x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(N):
        a = abs(x[i]) + 1
        y[i] = math.exp(-a) + math.sqrt(a) + math.log(a) + math.sin(a) * math.cos(a) + math.tan(a) + math.tanh(a)
        y[i] += math.erf(a) + np.exp(-a) + np.log1p(a) + np.expm1(-a) + math.pow(a, 0.3) + a**1.5 + math.atan2(a, 2.0)


def of_floats(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(N):
        y[i] = np.maximum(np.exp(x[i]), 1.5) + np.sqrt(np.abs(x[i])) - np.tanh(x[i])


def rounding(x: lm.f64["N"], y: lm.f64["N"], z: lm.i64["N"]):
    for i in range(N):
        y[i] = np.floor(x[i]) + np.ceil(x[i]) * 10 + np.rint(x[i]) * 100
        z[i] = math.floor(x[i]) + math.ceil(x[i]) * 10 + round(x[i]) * 100 + int(x[i]) * 1000


def divided(a: lm.i64["N"], b: lm.i64["N"], q: lm.i64["N"], r: lm.i64["N"], t: lm.f64["N"]):
    for i in range(N):
        q[i] = a[i] // b[i]
        r[i] = a[i] % b[i]
        t[i] = a[i] / b[i]


def floor_of_floats(a: lm.f64["N"], b: lm.f64["N"], q: lm.f64["N"], r: lm.f64["N"]):
    for i in range(N):
        q[i] = a[i] // b[i]
        r[i] = a[i] % b[i]


def bits(a: lm.i64["N"], b: lm.i64["N"], y: lm.i64["N"]):
    for i in range(N):
        y[i] = ((a[i] & b[i]) << 3) ^ (a[i] | ~b[i]) + (a[i] >> 1)


def conditions(x: lm.f64["N"], y: lm.i64["N"]):
    for i in range(N):
        y[i] = 1 if -1 < x[i] <= 1 and not x[i] == 0 or i == 3 else 0
        y[i] += 10 if (x[i] > 0) != (i > 2) else 20
        y[i] += int(x[i] > 0) * 100


def guarded(x: lm.f64["N"], y: lm.f64["N"]):
    for i in range(N):
        y[i] = x[i - 1] if i > 0 else 0.0
        if i + 1 < N and x[i + 1] > 0:
            y[i] += 1


def powers(x: lm.f64["N"], k: lm.i64["N"], y: lm.f64["N"]):
    for i in range(N):
        y[i] = x[i] ** 2 + x[i] ** 3 - k[i] ** 2 + 2.0 ** k[i] + x[i] ** 0


def mixed_types(x: lm.f32["N"], y: lm.f64["N"], k: lm.i32["N"], out: lm.f64["N"]):
    for i in range(N):
        out[i] = x[i] * 3 + x[i] * y[i] + k[i] / 2 + i


def closure_constants(x: lm.f64["N"]):
    for i in range(N):
        x[i] = x[i] * HALF + TAPS + math.pi + np.pi


def of_nothing():
    pass


def documented(x: lm.f32["N"]):
    """Nothing happens."""
    for i in range(N):
        pass


# -- kernels that call kernels


def scale(x: lm.f64["L"], by: lm.f64):
    for i in range(L):
        x[i] *= by


def shift(x: lm.f64["L"], by: lm.f64):
    n = len(x)
    for i in range(n):
        x[i] += by


def affinely(x: lm.f64["N"], y: lm.f64["N"], a: lm.f64):
    scale(x, a)
    shift(y, a + 1)
    for i in range(N):
        y[i] += x[i]
    scale(y, 2)


CASES: list[tuple[Any, ...]] = [
    (matmul, floats(3, 4), floats(4, 5), floats(3, 5)),
    (saxpy, 0.5, floats(7), floats(7)),
    (over_a_grid, floats(3, 5), floats(3, 5)),
    (in_parallel, floats(3, 5, dtype=np.float64)),
    (stepped, floats(8), floats(8)),
    (stepped, floats(1), floats(1)),
    (backwards, floats(6, dtype=np.float64)),
    (backwards, floats(0, dtype=np.float64)),
    (backwards_by_two, floats(6, dtype=np.float64), floats(6, dtype=np.float64)),
    (backwards_by_two, floats(7, dtype=np.float64), floats(7, dtype=np.float64)),
    (triangle, floats(5, 5, dtype=np.float64)),
    (empty_loop, floats(4, dtype=np.float64)),
    (clipped_bounds, floats(5), floats(5)),
    (banded, floats(6, 6, dtype=np.float64), floats(6, dtype=np.float64), floats(6, dtype=np.float64)),
    (
        bounds_from_memory,
        np.array([0, 2, 2, 5]),
        np.array([0, 3, 1, 2, 0]),
        floats(5, dtype=np.float64),
        floats(4, dtype=np.float64),
        floats(3, dtype=np.float64),
    ),
    (pooled, floats(8), floats(4)),
    (dot, floats(9), floats(9), floats(1)),
    (dot, floats(0), floats(0), floats(1)),
    (prefix_sums, integers(6), integers(6)),
    (fibonacci, integers(10)),
    (minimum_and_place, floats(9, dtype=np.float64), integers(1)),
    (signs, np.array([1.5, -2, 0, np.nan], np.float32), floats(4)),
    (branch_values, floats(6), floats(6)),
    (typed_local, np.arange(6, dtype=np.float32), floats(1, dtype=np.float64)),  # Python would add in float32
    (converted, floats(6), floats(1, dtype=np.float64)),
    (product, floats(6, dtype=np.float64), floats(3, dtype=np.float64)),
    (collatz, np.array([1, 2, 7, 27]), integers(4)),
    (newton, np.abs(floats(4, dtype=np.float64)) + 0.1, floats(4, dtype=np.float64)),
    (while_over_memory, np.array([3, 1, 0, 5]), integers(1)),
    (while_over_memory, np.array([3, 1, 2, 5]), integers(1)),
    (while_of_nothing_carried, np.array([17])),
    (local_array, floats(4), floats(4)),
    (local_vector, floats(4, dtype=np.float64), floats(4, dtype=np.float64)),
    (scratch_rows, floats(4, 3), floats(4, 3)),
    (transposed, floats(3, 4), floats(4, 3)),
    (padded, floats(7), floats(5)),
    (affine_subscripts, integers(8), integers(8)),
    (indirect, np.array([4, 0, 2]), floats(5), floats(3)),
    (histogram, integers(20, low=0, high=4, dtype=np.int32), integers(4)),
    (by_scalar, floats(9), 4, 2),
    (fixed, floats(4, 3), np.array([True, False, True, False])),
    (elementary, floats(6, dtype=np.float64), floats(6, dtype=np.float64)),
    (of_floats, floats(6), floats(6)),
    (rounding, np.array([-2.5, -1.5, -0.2, 0.5, 1.5, 2.7]), floats(6, dtype=np.float64), integers(6)),
    (
        divided,
        np.array([7, -7, 7, -7, 6, -6, 0]),
        np.array([2, 2, -2, -2, 3, 3, 5]),
        *(integers(7), integers(7), floats(7, dtype=np.float64)),
    ),
    (
        floor_of_floats,
        np.array([7.5, -7.5, 7.5, -7.5, 6.0, 1.0, 0.0, 5.0, -5.0]),
        np.array([2.0, 2.0, -2.0, -2.0, 3.0, 0.1, -3.0, np.inf, np.inf]),
        *(floats(9, dtype=np.float64), floats(9, dtype=np.float64)),
    ),
    (bits, integers(9), integers(9), integers(9)),
    (conditions, np.array([-2, -1, 0.5, 0, 1, 1.5]), integers(6)),
    (guarded, floats(6, dtype=np.float64), floats(6, dtype=np.float64)),
    (powers, floats(5, dtype=np.float64), integers(5), floats(5, dtype=np.float64)),
    (
        mixed_types,
        floats(5),
        floats(5, dtype=np.float64),
        integers(5, dtype=np.int32),
        floats(5, dtype=np.float64),
    ),
    (closure_constants, floats(4, dtype=np.float64)),
    (of_nothing,),
    (documented, floats(3)),
]


@pytest.mark.parametrize(
    ("function", "args"), [(case[0], case[1:]) for case in CASES], ids=lambda x: getattr(x, "__name__", "")
)
def test_as_python(function: Any, args: tuple[Any, ...]) -> None:
    check(function, *args)


def test_strided_arrays() -> None:
    whole, other = floats(8, 9, dtype=np.float64), floats(6, 7, dtype=np.float64)
    a, b = whole[::2, 1::3], other[1:5, 2:5]
    module = build_kernel(strided)
    signature = kernel_signature_of(find_kernel(module))
    assert signature.params[0].strides is not None and signature.params[1].strides[0].spell(signature.symbols) == "ldb"  # pyright: ignore
    Interpreter(module).launch("strided", [a, b, *symbols_of(strided, (a, b)).values()])
    np.testing.assert_array_equal(a, b)

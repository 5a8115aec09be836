"""f16 and bf16 in kernels: each operation is NumPy's or ml_dtypes', with one rounding."""

from __future__ import annotations

from typing import Any

import lamina as lm
import ml_dtypes
import numpy as np
import pytest
from lamina.errors import KernelError

T = lm.dtype("T")
DTYPES = (np.float16, ml_dtypes.bfloat16)
ELEMENTS = {np.float16: lm.f16, ml_dtypes.bfloat16: lm.bf16}


@lm.kernel
def arithmetic(x: T["N"], y: T["N"], o: T["K", "N"]):
    for i in range(len(x)):
        o[0, i] = x[i] + y[i]
        o[1, i] = x[i] - y[i]
        o[2, i] = x[i] * y[i]
        o[3, i] = x[i] / y[i]
        o[4, i] = -x[i]
        o[5, i] = abs(x[i])
        o[6, i] = x[i] * y[i] + x[i]
        o[7, i] = max(x[i], y[i])
        o[8, i] = x[i] * 0.1 + 3
        o[9, i] = x[i] if x[i] < y[i] else y[i] * 2
        o[10, i] = np.sqrt(abs(x[i]))
        o[11, i] = x[i] // y[i]
        o[12, i] = x[i] % y[i]
        o[13, i] = x[i] ** 2
        o[14, i] += x[i] * y[i]
        o[15, i] = np.exp(x[i])
        o[16, i] = i


def by_numpy(x: Any, y: Any, dtype: Any) -> list[Any]:
    i = np.arange(len(x))
    with np.errstate(all="ignore"):
        chosen = np.where(x < y, x, y * dtype(2))
        sums = [x * y + x, np.maximum(x, y), x * dtype(0.1) + dtype(3), chosen, np.sqrt(abs(x)), x // y, x % y, x ** dtype(2)]
        return [x + y, x - y, x * y, x / y, -x, abs(x), *sums, y + x * y, np.exp(x), i.astype(dtype)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 7, 33, 500])
def test_operations_round_once(dtype: Any, n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = ((rng.standard_normal(n) * 3).astype(dtype) for _ in range(2))
    x[: n and 5] = np.array([0, 65504, np.inf, np.nan, 1e-7][:n], dtype)
    out = np.zeros((17, n), dtype)
    out[14] = y
    arithmetic(x, y, out)
    for k, want in enumerate(by_numpy(x, y, dtype)):
        np.testing.assert_array_equal(out[k].astype(np.float64), want.astype(np.float64), str(k))


@lm.kernel
def sums(x: T["N"], o: T["K"]):
    s = T(0)
    for i in range(len(x)):
        s += x[i]
    o[0] = s
    o[1] = np.sum(x)
    o[2] = np.dot(x, x)
    o[3] = np.mean(x)
    t = lm.zeros(2, T)
    for i in range(len(x)):
        t[i % 2] += x[i]
    o[4] = t[1]
    a, n = T(0), 0
    while a < 20 and n < len(x):
        a += abs(x[n])
        n += 1
    o[5] = a


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_loop_rounds_each_step_and_a_sum_of_an_array_once(dtype: Any) -> None:
    x = (np.random.default_rng(0).standard_normal(300) * 2).astype(dtype)
    out = np.zeros(6, dtype)
    sums(x, out)

    def added(values: Any) -> Any:
        total = dtype(0)
        for value in values:
            total = total + value
        return total

    wide = x.astype(np.float32)
    stop = next(k for k in range(300) if added(abs(x[:k])) >= 20)
    assert out[0] == added(x)
    np.testing.assert_allclose(
        out[1:4].astype(float), [wide.sum(), wide @ wide, wide.mean()], rtol=2 * float(ml_dtypes.finfo(dtype).eps)
    )
    assert out[4] == added(x[1::2])
    assert out[5] == added(abs(x[:stop]))


def test_products_of_matrices() -> None:
    @lm.kernel
    def product(a: lm.f16["M", "K"], b: lm.f16["K", "N"], c: lm.f16["M", "N"]):
        c += a @ b

    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((5, 7), (7, 9)))
    c = np.ones((5, 9), np.float16)
    product(a, b, c)
    want = 1 + (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
    np.testing.assert_allclose(c, want, rtol=2e-3, atol=2e-3)


def test_numbers_and_results() -> None:
    @lm.kernel
    def scaled(a: lm.f16, x: lm.f16["N"]):
        for i in range(len(x)):
            x[i] = a * x[i]
        return x[0], lm.f32(a)

    x = np.array([1.5, 3], np.float16)
    first, factor = scaled(np.float16(0.1), x)
    assert first == np.float16(0.1) * np.float16(1.5)
    assert factor == np.float32(np.float16(0.1))


def test_two_types_need_a_conversion() -> None:
    @lm.kernel
    def mixed(x: lm.f16["N"], y: lm.bf16["N"], o: lm.f32["N"]):
        for i in range(len(x)):
            o[i] = x[i] + y[i]

    with pytest.raises(KernelError, match=r"f16 and bf16 have no common type: convert one, lm.f32\(...\)"):
        mixed.compile()


def test_functions_that_depend_on_the_type() -> None:
    @lm.kernel
    def stepped(x: lm.f16["N"]):
        for i in range(len(x)):
            x[i] = np.nextafter(x[i], 1)

    with pytest.raises(KernelError, match="takes no f16"):
        stepped.compile()

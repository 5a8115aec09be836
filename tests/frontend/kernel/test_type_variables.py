"""Type variables of kernels: the type of real parts, and the limits of an element type."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import KernelError

T = lm.dtype("T")
ELEMENTS = {np.float32: lm.f32, np.float64: lm.f64, np.complex64: lm.complex64, np.complex128: lm.complex128}


@lm.kernel
def sizes(x: T["N"], o: T.real["N"], total: T.real["M"]):
    kept = np.empty(len(x), T.real)
    for i in range(len(x)):
        kept[i] = abs(x[i].real)
    s = T(0).real
    for i in range(len(x)):
        o[i] = kept[i]
        s += kept[i]
    for j in range(len(total)):
        total[j] = s


@lm.kernel
def limits(x: T["N"], o: T.real["M"]):
    o[0] = np.finfo(T).eps
    o[1] = np.finfo(T).tiny
    o[2] = np.finfo(x.dtype).max
    o[3] = -np.finfo(T.real).max
    o[4] = np.finfo(np.float32).eps
    o[5] = limit_of(x)


def limit_of(x: Any) -> Any:
    return np.finfo(x.dtype).smallest_normal


@lm.kernel
def of_integers(x: T["N"], o: lm.i64["M"]):
    copy = np.zeros(len(x), x.dtype)
    for i in range(len(x)):
        copy[i] = x[i]
    o[0] = np.iinfo(T).max
    o[1] = np.iinfo(x.dtype).min
    o[2] = np.iinfo(copy.dtype).bits


def test_the_element_types_of_parts() -> None:
    assert lm.complex64.real is lm.f32 and lm.complex128.real is lm.f64
    assert lm.f32.real is lm.f32 and lm.i8.real is lm.i8
    assert T.real.real == T.real or T.real.real.whole is T
    assert repr(T.real) == "lamina.dtype('T').real"


@pytest.mark.parametrize("dtype", [*ELEMENTS, np.int32])
def test_real_parts(dtype: Any) -> None:
    x = np.arange(-3, 4).astype(dtype)
    part = np.real(x).dtype
    o, total = np.zeros(7, part), np.zeros(1, part)
    sizes(x, o, total)
    assert np.array_equal(o, abs(np.real(x))) and total[0] == 12


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_limits(dtype: Any) -> None:
    info = np.finfo(dtype)
    x, o = np.zeros(1, dtype), np.zeros(6, info.dtype)
    limits(x, o)
    want = [info.eps, info.tiny, info.max, -info.max, np.finfo(np.float32).eps, info.smallest_normal]
    assert o.tolist() == np.array(want, info.dtype).tolist()
    by_python = np.zeros_like(o)
    limits.specialize(T=ELEMENTS[dtype]).__wrapped__(x, by_python)
    assert by_python.tolist() == o.tolist()


@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.int64])
def test_limits_of_integers(dtype: Any) -> None:
    info, o = np.iinfo(dtype), np.zeros(3, np.int64)
    of_integers(np.zeros(2, dtype), o)
    assert o.tolist() == [info.max, info.min, info.bits]


def test_the_type_of_a_limit_is_that_of_numpy() -> None:
    @lm.kernel
    def wide(x: lm.f32["N"], o: lm.f64["N"]):
        for i in range(len(x)):
            o[i] = x[i] * np.finfo(np.float64).eps
            o[i] = o[i] + x[i] * np.finfo(np.float32).eps

    x, o = np.float32([1 / 3]), np.zeros(1)
    wide(x, o)
    assert o[0] == np.float64(x[0]) * np.finfo(np.float64).eps + x[0] * np.finfo(np.float32).eps


def test_eager_annotations() -> None:
    def halves(x, o):
        for i in range(len(x)):
            o[i] = x[i].real / 2

    halves.__annotations__ = {"x": T["N"], "o": T.real["N"]}
    o = np.zeros(2, np.float32)
    lm.kernel(halves)(np.array([2 + 1j, 4], np.complex64), o)
    assert o.tolist() == [1, 2]


def test_refused() -> None:
    @lm.kernel
    def of_floats(x: T["N"]):
        x[0] = np.iinfo(T).max

    @lm.kernel
    def of_an_array(x: T["N"]):
        x[0] = np.finfo(x).eps

    @lm.kernel
    def no_such_number(x: T["N"]):
        x[0] = np.finfo(T).epsilon

    @lm.kernel
    def no_number(x: T["N"]):
        x[0] = x.dtype

    for kernel, match in (
        (of_floats, r"np.iinfo\(\) is of integers, not of float32"),
        (of_an_array, r"np.finfo\(\) takes an element type: np.finfo\(T\), or np.finfo\(x.dtype\) of an array"),
        (no_such_number, r"np.finfo\(\) has no number 'epsilon' in kernels: take eps, tiny, max or min"),
        (no_number, r"a dtype is no number: use it as in np.finfo\(x.dtype\).eps"),
    ):
        with pytest.raises(KernelError, match=match):
            kernel.specialize(T=lm.f32).as_text()

    @lm.kernel
    def unknown(o: T.real["N"]):
        o[0] = 1

    with pytest.raises(KernelError, match=r"no parameter says what T is, of which 'o' has the real parts: give one the type T"):
        unknown(np.zeros(1))

"""Loops that are skewed, interchanged where bounds depend on each other, tiled in time: the bits of the plain loops."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import ScheduleError


@lm.kernel(schedule="none")
def wavefront(x: lm.f64["N", "M"]):
    for i in range(1, N):
        for j in range(1, M):
            x[i, j] = 0.5 * x[i - 1, j] + 0.25 * x[i, j - 1] + 0.125 * x[i - 1, j - 1]


@lm.kernel(schedule="none")
def seidel(x: lm.f32["N", "M"], T: int):
    for t in range(T):  # noqa: B007
        for i in range(1, N - 1):
            for j in range(1, M - 1):
                x[i, j] = 0.25 * (x[i - 1, j] + x[i, j - 1] + x[i + 1, j] + x[i, j + 1])


@lm.kernel(schedule="none")
def heat(u: lm.f64[2, "N"], T: int):
    for t in range(1, T):
        for j in range(1, N - 1):
            u[t % 2, j] = 0.25 * u[(t - 1) % 2, j - 1] + 0.5 * u[(t - 1) % 2, j] + 0.25 * u[(t - 1) % 2, j + 1]


@lm.kernel(schedule="none")
def lower(A: lm.f64["N", "N"], B: lm.f64["N", "N"]):
    for i in range(N):
        for j in range(i + 1):
            B[i, j] = A[i, j] + B[i, j] * 3


@lm.kernel(schedule="none")
def band(A: lm.f64["N", "M"]):
    for i in range(N):
        for j in range(max(0, 2 * i - 3), min(M, 3 * i + 2)):
            A[i, j] += i + 10.0 * j


def skewed_wavefront(s: Any) -> None:
    s.skew("j", "i")
    s.reorder(("j", "i"), triangular=True)
    s.parallelize("i", schedule="dynamic")


def skewed_seidel(s: Any) -> None:
    s.skew("i", "t", 1)
    s.skew("j", "t", 1)
    s.skew("j", "i", 1)
    s.reorder(("j", "t", "i"), triangular=True)
    s.parallelize("t")


def tiled_in_time(s: Any) -> None:
    s.skew("j", "t")
    _, ti = s.split("t", 8)
    s.reorder(("j", ti), triangular=True)
    _, ji = s.split("j", 32)
    s.reorder((ti, ji), triangular=True)
    s.vectorize(ji, 4)


def interchanged(s: Any) -> None:
    s.reorder(("j", "i"), triangular=True)


def tiled_triangle(s: Any) -> None:
    io, ii = s.split("i", 4)
    jo, ji = s.split("j", 8)
    s.reorder((io, jo, ii, ji), triangular=True)
    s.parallelize(io)


def negative(s: Any) -> None:
    s.skew("j", "i", -2)
    s.shift("i", 5)
    s.shift("j", -3)
    s.reorder(("j", "i"), triangular=True)


CASES = [
    (wavefront, skewed_wavefront, ()),
    (wavefront, lambda s: s.shift("i", -1), ()),
    (lower, interchanged, ()),
    (lower, tiled_triangle, ()),
    (lower, negative, ()),
    (band, interchanged, ()),
    (band, negative, ()),
    (seidel, skewed_seidel, (5,)),
    (heat, tiled_in_time, (20,)),
    (heat, tiled_in_time, (1,)),
]
SHAPES = [(0, 0), (1, 1), (1, 5), (5, 1), (2, 2), (3, 11), (11, 3), (17, 17), (40, 37)]


def arrays(kernel: Any, shape: tuple[int, int]) -> list[np.ndarray]:
    rng = np.random.default_rng(shape)
    if kernel is heat:
        return [rng.normal(size=(2, 8 * shape[1]))]
    if kernel is lower:
        return [rng.normal(size=(shape[0], shape[0])) for _ in "AB"]
    return [rng.normal(size=shape).astype(np.float32 if kernel is seidel else np.float64)]


@pytest.mark.parametrize(("kernel", "take", "more"), CASES)
def test_the_bits_stay(kernel: Any, take: Any, more: tuple[int, ...]) -> None:
    try:
        for shape in SHAPES:
            kernel.reset()
            given = arrays(kernel, shape)
            want = [array.copy() for array in given]
            kernel(*want, *more)
            take(kernel.schedule())
            for threads in (1, 2, 7):
                got = [array.copy() for array in given]
                kernel(*got, *more, threads=threads)
                for one, other in zip(got, want, strict=True):
                    assert np.array_equal(one, other), (shape, threads)
    finally:
        kernel.reset()


@pytest.fixture
def schedule() -> Any:
    yield wavefront.schedule()
    wavefront.reset()


def test_dependences_decide(schedule: Any) -> None:
    with pytest.raises(ScheduleError, match="two iterations touch one element"):
        schedule.parallelize("i")
    schedule.skew("j", "i")
    with pytest.raises(ScheduleError, match="the bounds of j depend on i, which would be inside; triangular=true"):
        schedule.reorder(("j", "i"))
    schedule.reorder(("j", "i"), triangular=True)
    with pytest.raises(ScheduleError, match="two iterations touch one element"):
        schedule.parallelize("j")
    schedule.parallelize("i")


def test_an_order_that_reverses_a_dependence_is_refused() -> None:
    schedule = heat.schedule()
    with pytest.raises(ScheduleError, match="two dependent iterations would be reordered"):
        schedule.reorder(("j", "t"), triangular=True)
    schedule.skew("j", "t", -1)
    with pytest.raises(ScheduleError, match="two dependent iterations would be reordered"):
        schedule.reorder(("j", "t"), triangular=True)
    heat.reset()


def test_what_is_refused(schedule: Any) -> None:
    with pytest.raises(ScheduleError, match="'j' is no loop around 'i'"):
        schedule.skew("i", "j")
    with pytest.raises(ScheduleError, match="the factor must not be 0"):
        schedule.skew("j", "i", 0)
    schedule.split("i", 2)
    schedule.unroll("ii")
    with pytest.raises(ScheduleError, match="the loop is unroll"):
        schedule.shift("ii", 1)
    with pytest.raises(ScheduleError, match="'ii' is unroll"):
        schedule.skew("j", "ii")


def test_bounds_that_cannot_be_solved(schedule: Any) -> None:
    schedule.skew("j", "i")
    schedule.split("j", 4)  # `jo` starts at another place in each iteration of `i`
    with pytest.raises(ScheduleError, match="and they cannot be solved for it"):
        schedule.reorder(("jo", "i"), triangular=True)

"""check_bounds=True: what cannot be proved is checked when it runs, says what was wrong where, and writes nothing there."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.dialects.loop.memory import CheckOp
from lamina.errors import KernelError
from lamina.executor.kernels import find_kernel
from lamina.frontend.kernel.build import build_kernel
from lamina.lowering.analysis.inbounds import findings

sys.path.insert(0, str(Path(__file__).parent))
from running import by_python

GUARD = 64
"""Elements before and after each array that nobody may touch."""


def guarded(array: Any) -> tuple[np.ndarray, np.ndarray]:
    """An array with the same contents in the middle of memory of a known pattern, and that memory."""
    array = np.asarray(array)
    memory = np.frombuffer(bytes([0x5A] * array.itemsize), array.dtype).repeat(array.size + 2 * GUARD)
    inside = memory[GUARD : GUARD + array.size].reshape(array.shape)
    inside[...] = array
    return inside, memory


def intact(array: np.ndarray, memory: np.ndarray) -> bool:
    """Whether the memory around an array is as it was."""
    pattern = bytes([0x5A] * array.itemsize) * GUARD
    return memory[:GUARD].tobytes() == pattern == memory[GUARD + array.size :].tobytes()


def run(function: Any, *args: Any, **options: Any) -> list[np.ndarray]:
    """Call a checked kernel with guarded arrays; the memory around must be intact, also if the call fails."""
    both = [guarded(arg) if isinstance(arg, np.ndarray) else (arg, None) for arg in args]
    try:
        lm.kernel(function, check_bounds=True)(*(one for one, _ in both), **options)
    finally:
        assert all(memory is None or intact(one, memory) for one, memory in both)
    return [one for one, _ in both]


def line_of(function: Any, text: str) -> int:
    """The line of this file in which a function has a text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if text in line)


def fails(function: Any, args: list[Any], text: str, index: int, dim: int, name: str, **options: Any) -> None:
    """A call must fail in the line with `text`, naming the index, dim and array."""
    with pytest.raises(IndexError) as caught:
        run(function, *args, **options)
    where = f"{Path(__file__).name}:{line_of(function, text)}"
    said = f"kernel '{function.__name__}': index {index} of dim {dim} of {name} ({where}) is out of bounds"
    assert str(caught.value) == said


def gather(x: lm.f32["N"], at: lm.i64["M"], y: lm.f32["M"]):
    for i in range(M):
        y[i] = x[at[i]]


def scatter(x: lm.f64["N"], at: lm.i32["M"]):
    for i in range(M):
        x[at[i]] = 1.0 + i


def histogram(bins: lm.i64["B"], at: lm.i64["M"]):
    for i in range(M):
        bins[at[i]] += 1


def other_size(x: lm.f32["N"], y: lm.f32["M"]):
    for i in range(N):
        y[i] = x[i]


def table(A: lm.f32["M", "N"], r: lm.i64["K"], c: lm.i64["K"], y: lm.f32["K"]):
    for k in range(K):
        y[k] = A[r[k], c[k]]


def blocks(x: lm.f32["N"]):
    for i in range(0, N, 4):
        for j in range(4):
            x[i + j] = 1.0


def in_parallel(x: lm.f64["N"], at: lm.i64["M"], y: lm.f64["M"]):
    for i in lm.parallel(M):
        s = 0.0
        for k in range(i % 3 + 1):
            s += x[at[i] + k]
        y[i] = s


def in_while(x: lm.i64["N"], y: lm.i64[1]):
    k = 0
    while x[k] != 0:
        k += x[k]
    y[0] = k


def in_locals(x: lm.f32["N"], n: lm.i64, y: lm.f32["N"]):
    t = lm.zeros(n, lm.f32)
    u = lm.zeros(8, lm.f32)
    for i in range(N):
        t[i] = x[i]
        u[i] = x[i]
        y[i] = t[i] + u[i]


def under_conditions(x: lm.f32["N"], at: lm.i64["M"], y: lm.f32["M"]):
    for i in range(M):
        y[i] = x[at[i]] if 0 <= at[i] and at[i] < N else -1.0
        if at[i] > 100 and x[at[i]] > 0:
            y[i] = 2.0


def strided(A: lm.f64["M", "N"].strided(), at: lm.i64["K"]):
    for k in range(K):
        A[k, at[k]] = 5.0


def scalar_bound(x: lm.f32["N"], n: lm.i64):
    for i in range(n):
        x[i] = 2.0


def backwards(x: lm.f32["N"]):
    for i in range(N - 1, -2, -1):
        x[i] = 2.0


@lm.kernel
def called(z: lm.f64["L"], at: lm.i64["P"]):
    for i in range(P):
        z[at[i]] = 3.0


def caller(x: lm.f64["N"], at: lm.i64["M"]):
    called(x, at)


def proved(A: lm.f32["M", "N"], x: lm.f32["N"], y: lm.f32["N + 1"]):
    for i in range(M):
        for j in range(1, N):
            A[i, j] = x[j - 1] + y[j + 1] + A[M - 1 - i, N - j]
    for j in range(0, N, 4):
        for k in range(j, min(j + 4, N)):
            x[k] = 1.0


F32, F64 = np.ones(5, np.float32), np.ones(5)


def at(*values: int, dtype: Any = np.int64) -> np.ndarray:
    return np.array(values, dtype)


CASES: list[tuple[Any, list[Any], str, int, int, str]] = [
    (gather, [F32, at(0, 4, 5, 1), np.zeros(4, np.float32)], "x[at[i]]", 5, 0, "x"),
    (gather, [F32, at(0, -1), np.zeros(2, np.float32)], "x[at[i]]", -1, 0, "x"),
    (gather, [F32, at(2**62), np.zeros(1, np.float32)], "x[at[i]]", 2**62, 0, "x"),
    (gather, [F32, at(-(2**63)), np.zeros(1, np.float32)], "x[at[i]]", -(2**63), 0, "x"),
    (gather, [F32[:0], at(0), np.zeros(1, np.float32)], "x[at[i]]", 0, 0, "x"),
    (scatter, [F64, at(3, 99, dtype=np.int32)], "x[at[i]]", 99, 0, "x"),
    (scatter, [F64, at(-7, dtype=np.int32)], "x[at[i]]", -7, 0, "x"),
    (histogram, [at(0, 0, 0), at(0, 2, 3, 9)], "bins[at[i]]", 3, 0, "bins"),
    (other_size, [F32, np.zeros(3, np.float32)], "y[i] = x[i]", 3, 0, "y"),
    (table, [np.ones((3, 4), np.float32), at(2, 3), at(3, 3), np.zeros(2, np.float32)], "A[r[k]", 3, 0, "A"),
    (table, [np.ones((3, 4), np.float32), at(2, 2), at(3, 4), np.zeros(2, np.float32)], "A[r[k]", 4, 1, "A"),
    (blocks, [np.ones(9, np.float32)], "x[i + j]", 9, 0, "x"),
    (in_while, [at(1, 2, 1, 4), at(0)], "while x[k]", 7, 0, "x"),
    (in_locals, [F32, 3, np.zeros(5, np.float32)], "t[i] = x[i]", 3, 0, "t"),
    (in_locals, [np.ones(9, np.float32), 9, np.zeros(9, np.float32)], "u[i] = x[i]", 8, 0, "u"),
    (under_conditions, [F32, at(7, 101), np.zeros(2, np.float32)], "at[i] > 100", 101, 0, "x"),
    (strided, [np.ones((3, 4)), at(0, 4)], "A[k, at[k]]", 4, 1, "A"),
    (strided, [np.ones((1, 4)), at(0, 2)], "A[k, at[k]]", 1, 0, "A"),
    (scalar_bound, [F32, 6], "x[i]", 5, 0, "x"),
    (caller, [F64, at(4, -2)], "z[at[i]]", -2, 0, "x"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__} {case[3]}")
def test_out_of_bounds(case: tuple[Any, list[Any], str, int, int, str]) -> None:
    function, args, text, index, dim, name = case
    if function is caller:
        with pytest.raises(
            IndexError, match=r"kernel 'caller': index -2 of dim 0 of x \(test_bounds.py:\d+\) is out of bounds"
        ):
            run(function, *args)
    else:
        fails(function, args, text, index, dim, name)


def test_the_first_fault_stops_the_kernel() -> None:
    memory = np.zeros(6)
    with pytest.raises(IndexError):
        lm.kernel(scatter, check_bounds=True)(memory, at(0, 1, 6, 2, 3, dtype=np.int32))
    np.testing.assert_array_equal(memory, [1, 2, 0, 0, 0, 0])


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_in_parallel_loops(threads: int) -> None:
    rng = np.random.default_rng(threads)
    x, indices = rng.standard_normal(50_000), rng.integers(0, 49_990, 50_000)
    [_, _, got] = run(in_parallel, x, indices, np.zeros(50_000), threads=threads)
    np.testing.assert_allclose(got, [x[k : k + i % 3 + 1].sum() for i, k in enumerate(indices)])
    for place in (0, 1, 24_999, 49_999):
        wrong = indices.copy()
        wrong[place] = -3
        for _ in range(3):
            fails(in_parallel, [x, wrong, np.zeros(50_000)], "x[at[i] + k]", -3, 0, "x", threads=threads)
    wrong = indices.copy()
    wrong[100::1000] = 50_001  # several threads fail: one of the faults is told, as it was
    fails(in_parallel, [x, wrong, np.zeros(50_000)], "x[at[i] + k]", 50_001, 0, "x", threads=threads)


def test_what_is_in_bounds_works() -> None:
    rng = np.random.default_rng(1)
    rows = [
        (gather, [F32 * 2, at(4, 0, 3), np.zeros(3, np.float32)]),
        (histogram, [at(0, 0, 0), at(0, 2, 2)]),
        (other_size, [F32, np.zeros(7, np.float32)]),
        (table, [rng.standard_normal((3, 4)).astype(np.float32), at(2, 0), at(3, 1), np.zeros(2, np.float32)]),
        (blocks, [np.zeros(8, np.float32)]),
        (in_while, [at(1, 2, 1, 0), at(0)]),
        (in_locals, [F32, 5, np.zeros(5, np.float32)]),
        (under_conditions, [F32, at(4, -1, 5), np.zeros(3, np.float32)]),
        (scalar_bound, [F32, 3]),
        (proved, [rng.standard_normal((3, 4)).astype(np.float32), np.ones(4, np.float32), np.ones(5, np.float32)]),
    ]
    for function, args in rows:
        for got, want in zip(run(function, *args), by_python(function, args), strict=True):
            np.testing.assert_array_equal(got, want)


def test_strided_arrays() -> None:
    memory = np.zeros((8, 12))
    lm.kernel(strided, check_bounds=True)(memory[1::2, 2:8:2], at(0, 2, 1))
    assert {tuple(k) for k in np.argwhere(memory).tolist()} == {(1, 2), (3, 6), (5, 4)}
    before = memory.copy()
    with pytest.raises(IndexError, match="index 3 of dim 1 of A"):
        lm.kernel(strided, check_bounds=True)(memory[1::2, 2:8:2], at(3))
    np.testing.assert_array_equal(memory, before)


def test_a_kernel_can_be_called_again_after_a_fault() -> None:
    kernel = lm.kernel(gather, check_bounds=True)
    y = np.zeros(2, np.float32)
    for _ in range(3):
        with pytest.raises(IndexError, match="index 5 of dim 0 of x"):
            kernel(F32, at(1, 5), y)
        kernel(F32, at(1, 4), y)
        np.testing.assert_array_equal(y, [1, 1])


def test_only_what_is_not_proved_is_checked() -> None:
    def checks(function: Any, check_bounds: bool) -> int:
        return sum(isinstance(op, CheckOp) for op in build_kernel(function, check_bounds).walk())

    assert [checks(f, True) for f in (proved, gather, histogram, table, other_size)] == [0, 1, 2, 2, 1]
    assert checks(gather, False) == 0
    assert checks(blocks, True) == 1


def before_any_scalar(x: lm.f32["N"], n: lm.i64):
    for i in range(n):
        x[i - 1] = 2.0


def test_certain_faults_are_refused_before() -> None:
    for function in (backwards, before_any_scalar):
        with pytest.raises(KernelError, match="of dim 0 of x is out of bounds"):
            build_kernel(function, check_bounds=True)


def sixteens(x: lm.f32["N"], n: lm.i64, k: lm.i64):
    for i in range(0, N, 16):
        for j in range(16):
            x[i + j] = 1.0
    for i in range(n):
        x[i] += 1.0
    for i in range(k, n):
        x[i - k] += 1.0
    x[n] = 5.0


def test_what_some_sizes_allow_is_not_refused() -> None:
    x = np.zeros(48, np.float32)
    lm.kernel(sixteens)(x, 5, 3)
    np.testing.assert_array_equal(x, [3, 3, 2, 2, 2, 5, *[1] * 42])


def test_checked_and_scheduled() -> None:
    kernel = lm.kernel(in_parallel, check_bounds=True)
    s = kernel.schedule()
    s.split(s["i"], 8)
    y = np.zeros(20)
    kernel(np.arange(30.0), np.arange(20), y)
    np.testing.assert_array_equal(y, [i * (i % 3 + 1) + sum(range(i % 3 + 1)) for i in range(20)])
    with pytest.raises(IndexError, match="index 30 of dim 0 of x"):
        kernel(np.arange(30.0), np.full(20, 30), y)


def test_what_takes_too_long_to_tell_is_checked_at_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """An access that may be out of bounds for all sizes, which is not found out, stops the kernel instead."""
    from lamina.lowering.analysis import inbounds

    monkeypatch.setattr(inbounds, "_MOST_SYSTEMS", 3)

    @lm.kernel
    def shifted(x: lm.f64["N"], y: lm.f64["N"]):
        for i in range(x.shape[0]):
            y[i] = x[i + 1]

    with pytest.raises(IndexError, match=r"index 4 of dim 0 of x .* is out of bounds"):
        shifted(np.ones(4), np.ones(4))


def test_loops_that_may_end_early_are_in_bounds() -> None:
    def searches(x: lm.f64["N"], y: lm.f64["M", "N"], out: lm.f64["M"]):
        for i in range(1, len(x) - 1):
            if x[i + 1] > x[i - 1]:
                break
        for m in range(y.shape[0]):
            for j in range(m, min(y.shape[0], y.shape[1])):
                if y[m, j] > 0:
                    break
                out[j] = 1

    def beyond(x: lm.f64["N"]):
        for i in range(len(x)):
            if x[i + 1] > x[i]:
                break

    assert not findings(find_kernel(build_kernel(searches)))
    assert len(findings(find_kernel(build_kernel(beyond)))) == 1

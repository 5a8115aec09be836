"""`assume(...)`: facts that analyses rely on where a call finds that they hold; results are right in any case."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import KernelError
from lamina.executor.kernels import find_kernel
from lamina.frontend.kernel.build import build_kernel
from lamina.runtime.interpreter import InterpreterError

from .running import by_interpreter, by_python


@lm.kernel
def scattered(idx: lm.i64["N"], x: lm.f64["N"], y: lm.f64["N"]):
    lm.assume(lm.permutation(idx))
    for i in lm.parallel(N):
        y[idx[i]] = x[i] + y[idx[i]]


@lm.kernel
def scaled_rows(offsets: lm.i32["N+1"], s: lm.f64["N"], data: lm.f64["M"]):
    lm.assume(lm.increasing(offsets))
    for i in lm.parallel(N):
        for p in range(offsets[i], offsets[i + 1]):
            data[p] = data[p] * s[i]


@lm.kernel
def in_eights(x: lm.f32["N"], y: lm.f32["N"], n: int) -> float:
    lm.assume(N % 16 == 0 and n < N)
    lm.assume(lm.disjoint(x, y))
    total = 0.0
    for i in range(N):
        y[i] = x[i] * 2
    for i in range(n):
        total += y[i]
    return total


SIZES = [0, 1, 2, 7, 64, 1001, 40_000]


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("size", SIZES)
def test_a_scatter_by_a_permutation_and_by_other_indices(size: int, threads: int) -> None:
    rng = np.random.default_rng(size)
    one_twice = rng.permutation(size)
    one_twice[-1:] = one_twice[:1]
    for idx in (rng.permutation(size), one_twice, rng.integers(0, max(size, 1), size)):
        x, y = rng.normal(size=size), rng.normal(size=size)
        want = y.copy()
        np.add.at(want, idx, x)
        scattered(idx, x, y, threads=threads)
        assert np.array_equal(y, want)


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("size", SIZES)
def test_rows_of_offsets_in_order_and_not(size: int, threads: int) -> None:
    rng = np.random.default_rng(size)
    increasing = np.sort(rng.integers(0, size + 1, size + 1)).astype(np.int32)
    for offsets in (increasing, increasing[::-1].copy(), rng.permutation(increasing)):
        s, data = rng.normal(size=size), rng.normal(size=size)
        if offsets is not increasing and size > 2000:
            offsets[64:] = offsets[64]  # else Python takes long
        want = data.copy()
        for i in range(size):
            want[offsets[i] : offsets[i + 1]] *= s[i]
        scaled_rows(offsets, s, data, threads=threads)
        assert np.array_equal(data, want)


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 32, 4096, 4097])
@pytest.mark.parametrize("n", [0, 3])
def test_sizes(size: int, n: int) -> None:
    x = np.arange(size, dtype=np.float32)
    y = np.zeros_like(x)
    n = min(n, size)
    assert in_eights(x, y, n) == sum(2.0 * k for k in range(n))
    assert np.array_equal(y, 2 * x)


def test_one_array_for_both_parameters_is_right() -> None:
    x = np.arange(32, dtype=np.float32)
    assert in_eights(x, x, 3) == 6.0
    assert np.array_equal(x, 2 * np.arange(32))


def test_the_facts_decide_what_is_legal() -> None:
    schedule = scattered.schedule()
    assert schedule["i"].kind == "parallel" and schedule["i2"].kind == "seq"
    schedule = scaled_rows.schedule()
    assert schedule["i"].kind == "parallel" and schedule["i2"].kind == "seq"
    text = in_eights.default_schedule().as_python()
    assert "i_rest" not in text and "i2_rest" not in text.partition("else:")[0]


@pytest.mark.parametrize("size", [0, 1, 2, 9])
def test_the_interpreter_agrees(size: int) -> None:
    rng = np.random.default_rng(size)
    for idx in (rng.permutation(size), np.zeros(size, np.int64)):
        args = [idx, rng.normal(size=size), rng.normal(size=size)]
        want = by_python(scattered.__wrapped__, args)
        assert np.array_equal(by_interpreter(scattered.__wrapped__, args)[2], want[2])


def test_a_fact_that_does_not_hold_stops_the_interpreter() -> None:
    module = build_kernel(scattered.__wrapped__)
    kernel = find_kernel(module)
    from lamina.dialects.loop.loops import IfOp
    from lamina.dialects.scalar import ScalarBuilder
    from lamina.dialects.types import i1
    from lamina.runtime.interpreter import Interpreter
    from xdsl.ir import Block

    (choice,) = [op for op in kernel.body.block.ops if isinstance(op, IfOp)]
    scratch = Block()
    true = ScalarBuilder(scratch, kernel.location).const(True, i1)
    for op in list(scratch.ops):
        op.detach()
        kernel.body.block.insert_op_before(op, choice)
    choice.operands[0] = true
    with pytest.raises(InterpreterError, match="is not permutation"):
        Interpreter(module).launch("scattered", [np.zeros(3, np.int64), np.zeros(3), np.zeros(3), 3])


def test_in_python_it_does_nothing() -> None:
    assert lm.assume(1 > 2) is None
    assert lm.permutation(np.array([1, 0])) and not lm.permutation(np.array([1, 1]))
    assert lm.increasing(np.array([0, 0, 2])) and not lm.increasing(np.array([1, 0])) and lm.increasing(np.zeros(0))
    x = np.zeros(3)
    assert lm.disjoint(x, x.copy()) and not lm.disjoint(x, x)


def in_a_loop(x: lm.f64["N"]):
    for i in range(N):
        lm.assume(N > 3)
        x[i] = 0


def of_floats(x: lm.f64["N"], a: float):
    lm.assume(a > 0)
    x[0] = a


def of_a_view(x: lm.f64["N"], idx: lm.i64["N"]):
    lm.assume(lm.permutation(idx[1:]))
    x[0] = idx[0]


def of_an_array_of_floats(x: lm.f64["N"]):
    lm.assume(lm.increasing(x))
    x[0] = 1.0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (in_a_loop, "assume stands outside of loops"),
        (of_floats, "assume takes comparisons of integers"),
        (of_a_view, "facts are about parameters that are arrays"),
        (of_an_array_of_floats, "takes one array of integers with one dim"),
    ],
)
def test_mistakes(function: Any, message: str) -> None:
    with pytest.raises(KernelError, match=message) as error:
        build_kernel(function)
    assert "test_assume.py:" in str(error.value)


def test_an_array_that_is_written_has_no_facts() -> None:
    def sorts(idx: lm.i64["N"], x: lm.f64["N"]):
        lm.assume(lm.permutation(idx))
        for i in range(N):
            x[idx[i]] = 1.0
            idx[i] = 0

    with pytest.raises(KernelError, match="the kernel writes 'idx'"):
        build_kernel(sorts)

"""Loops of ops that kernels describe: ops of other packages whose loop form is an inline kernel."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina import extend, extensions
from lamina.dialects.graph.base import OPS
from lamina.errors import CompileError, ExtensionError


@pytest.fixture(scope="module")
def ops() -> Iterator[Any]:
    """The module with the ops, which are gone after the tests."""
    known, added = set(OPS), set(extensions._added)
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        yield importlib.import_module("nested_ops")
    finally:
        sys.path.pop(0)
        for name in set(OPS) - known:
            del OPS[name]
        for name in set(extensions._added) - added:
            del extensions._added[name]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("shape", [(8,), (1,), (0,), (3, 7), (2, 3, 10), (0, 4)], ids=str)
def test_an_op_of_another_package(ops: Any, shape: tuple[int, ...], dtype: Any) -> None:
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)
    assert np.array_equal(lm.jit(ops.run)(x), np.where(np.arange(shape[-1]) < shape[-1] // 2, np.cumsum(x, -1), 0))


def test_sizes_are_numbers_and_decide_conditions(ops: Any) -> None:
    text = lm.jit(ops.run).lower(np.zeros((3, 8), np.float32)).as_text("loop")
    assert text.count("loop.kernel @") == 1 and "index" not in text and "loop.if" not in text
    assert "loop.for seq %j = 0 to 4" in text and "loop.for parallel %k = 4 to 8" in text


def test_open_sizes(ops: Any) -> None:
    f = lm.jit(ops.run, dynamic={"x": ("m", "n")})
    for shape in ((2, 8), (3, 5), (1, 1)):
        x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float64)
        assert np.array_equal(f(x), np.where(np.arange(shape[-1]) < shape[-1] // 2, np.cumsum(x, -1), 0))


def test_no_kernel_fits(ops: Any) -> None:
    with pytest.raises(CompileError, match=r"'nested.running' op is computed by a kernel, and .* registers none that fits"):
        lm.jit(ops.run)(np.zeros(13, np.float32))


@pytest.mark.parametrize(
    ("n", "message"),
    [
        (3, "cannot be computed by a kernel that writes its operand 0"),
        (4, "it has 3 parameters, the op has 2 operands and results"),
        (5, "'x' has a size of 6, its array 5"),
        (6, "checks bounds .* or raises exceptions"),
        (7, "'x' has 2 dims, its array 1"),
    ],
)
def test_kernels_that_are_not_what_the_op_needs(ops: Any, n: int, message: str) -> None:
    with pytest.raises((CompileError, ExtensionError), match=message):
        lm.jit(lambda x: lm.call_op(ops.TwiceOp, x))(np.zeros(n, np.float32))


def test_a_kernel_with_a_schedule_is_no_loop_form(ops: Any) -> None:
    @extend.register_kernel("nested.twice", inline=True, when=lambda op, target: op.result_shape() == (8,))
    @lm.kernel
    def scheduled(x: lm.f32["N"], y: lm.f32["N"]):
        for i in range(x.shape[0]):
            y[i] = 2 * x[i]

    scheduled.schedule().split("i", 4)
    with pytest.raises(ExtensionError, match="is inline and scheduled with its op"):
        lm.jit(lambda x: lm.call_op(ops.TwiceOp, x))(np.zeros(8, np.float32))


def test_a_loop_that_ends_by_a_condition(ops: Any) -> None:
    x = np.arange(1, 30)
    assert np.array_equal(lm.jit(lambda x: lm.call_op(ops.WalkOp, x))(x), [ops.collatz_steps(int(v)) for v in x])

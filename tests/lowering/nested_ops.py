"""Ops of another package whose loop form is an inline kernel, imported by the fixture of `test_kernel_nest.py`."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
from lamina import extend
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def, result_def

T = lm.dtype("T")


@extend.register_op
class RunningOp(extend.GraphOp):
    """Sums of rows from their beginning, in the first half; beyond the first half zeros."""

    name = "nested.running"
    facts = extend.OpFacts(kernels=__name__, problem_rank=1)
    x = operand_def(TensorType)
    y = result_def(TensorType)
    syntax, types = "$x", "same"

    @classmethod
    def infer_types(cls, operands: Any, props: Any, results: Any = None) -> Any:
        return operands

    def evaluate(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        n = x.shape[-1]
        return (np.where(np.arange(n) < n // 2, np.cumsum(x, -1, x.dtype), x.dtype.type(0)),)


@extend.register_kernel("nested.running", inline=True, when=lambda op, target: op.result_shape()[-1] != 13)
@lm.kernel
def running(x: T["N"], y: T["N"]):
    n = x.shape[0]
    total = T(0)
    for i in range(n // 2):
        total = total + x[i]
        y[i] = total
    for i in lm.parallel(n // 2, n):
        y[i] = 0
    if n > 10_000:
        y[0] = 5  # never for sizes of tests: the branch is not written


def run(x: Any) -> Any:
    return lm.call_op(RunningOp, x)


@extend.register_op
class TwiceOp(RunningOp):
    """Twice its operand."""

    name = "nested.twice"
    facts = extend.OpFacts(kernels=__name__)
    x = operand_def(TensorType)
    y = result_def(TensorType)

    def evaluate(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        return (2 * x,)


@extend.register_kernel("nested.twice", inline=True, when=lambda op, target: op.result_shape() == (3,))
@lm.kernel
def writes_its_operand(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(x.shape[0]):
        x[i] = 2 * x[i]
        y[i] = x[i]


@extend.register_kernel("nested.twice", inline=True, when=lambda op, target: op.result_shape() == (4,))
@lm.kernel
def of_three_arrays(x: lm.f32["N"], y: lm.f32["N"], z: lm.f32["N"]):
    for i in range(x.shape[0]):
        y[i] = z[i] = 2 * x[i]


@extend.register_kernel("nested.twice", inline=True, when=lambda op, target: op.result_shape() == (5,))
@lm.kernel
def of_six(x: lm.f32[6], y: lm.f32[6]):
    for i in range(x.shape[0]):
        y[i] = 2 * x[i]


@extend.register_kernel("nested.twice", inline=True, when=lambda op, target: op.result_shape() == (6,))
@lm.kernel
def checks(x: lm.f32["N"], y: lm.f32["N"]):
    assert x[0] > 0
    for i in range(x.shape[0]):
        y[i] = 2 * x[i]


@extend.register_kernel("nested.twice", inline=True, when=lambda op, target: op.result_shape() == (7,))
@lm.kernel
def of_more_dims(x: lm.f32["M", "N"], y: lm.f32["M", "N"]):
    for i, j in lm.grid(x.shape):
        y[i, j] = 2 * x[i, j]


@extend.register_op
class WalkOp(RunningOp):
    """The number of steps of Collatz from each number to 1."""

    name = "nested.walk"
    facts = extend.OpFacts(kernels=__name__)
    x = operand_def(TensorType)
    y = result_def(TensorType)

    def evaluate(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.array([collatz_steps(int(v)) for v in x], x.dtype),)


def collatz_steps(n: int) -> int:
    steps = 0
    while n > 1:
        n, steps = n // 2 if n % 2 == 0 else 3 * n + 1, steps + 1
    return steps


@extend.register_kernel("nested.walk", inline=True)
@lm.kernel
def collatz(x: T["N"], y: T["N"]):
    for i in range(x.shape[0]):
        n = x[i]
        steps = T(0)
        while n > 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        y[i] = steps

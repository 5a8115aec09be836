"""Kernels from text: proved accesses stay in bounds for all sizes, others are checked at run time."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from lamina.dialects.context import make_context
from lamina.dialects.loop.loops import KernelOp
from lamina.dialects.loop.memory import CheckOp
from lamina.dialects.parsing import parse_module
from lamina.executor import executor
from lamina.lowering.analysis.proofs import unproved
from lamina.lowering.check_bounds import guard_accesses
from lamina.runtime.callable import KernelFunction
from lamina.runtime.interpreter import Interpreter, InterpreterError


def kernel_of(text: str) -> KernelOp:
    return next(op for op in parse_module(make_context(), text).body.block.ops if isinstance(op, KernelOp))


def one(body: str, size: str = "%N", more: str = "") -> str:
    """A kernel that stores to `%x[...]`, of a size, by indices from data."""
    return f"""loop.kernel @k(%x: memref<?xf32>, %at: memref<?xi64>, %N: index) shapes(%x[{size}], %at[%N]) {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %f = arith.constant 1.0 : f32
      loop.for seq %i = 0 to %N {{
        %k = loop.load %at[%i] : memref<?xi64>
        %p = arith.index_cast %k : i64 to index
        {body}
        loop.store %f, %x[%q] : memref<?xf32>
      }}
    }}"""


PROVED = {
    "the loop": one("%q = arith.addi %i, %zero : index"),
    "a clamp": one("%a = arith.maxsi %p, %zero : index\n%q = arith.minsi %a, %N : index", "%N + 1"),
    "a remainder": one("%a = arith.maxsi %p, %zero : index\n%q = arith.remsi %a, %two : index", "%N + 2"),
    "half": one("%q = arith.divsi %i, %two : index"),
    "a shift": one("%q = arith.shrsi %i, %one : index"),
    "a choice": one(
        "%n = arith.addi %i, %one : index\n%c = arith.cmpi slt, %n, %N : index\n%q = arith.select %c, %n, %i : index"
    ),
    "a check": one("%c = arith.cmpi ult, %p, %N : index\nloop.check %c, %p, 1\n%q = arith.addi %p, %zero : index"),
}
CARRIED = """loop.kernel @k(%x: memref<8xf32>, %at: memref<?xi64>, %N: index) shapes(%at[%N]) {{
  %zero = arith.constant 0 : index
  %eight = arith.constant 8 : index
  %f = arith.constant 1.0 : f32
  %last = loop.for seq %i = 0 to %N carry %q = %zero : index {{
    %k = loop.load %at[%i] : memref<?xi64>
    %p = arith.index_cast %k : i64 to index
    %ok = arith.cmpi ult, %p, %eight : index
    {body}
    loop.yield %next : index
  }}
}}"""
PROVED["carried"] = CARRIED.format(
    body="%next = arith.select %ok, %i, %q : index\n%r = arith.remsi %q, %eight : index\nloop.store %f, %x[%r] : memref<8xf32>"
)
PROVED["a condition"] = CARRIED.format(
    body="%next = arith.addi %q, %zero : index\nloop.if %ok {\nloop.store %f, %x[%p] : memref<8xf32>\n}"
)
OPEN = {
    "a condition of this iteration": CARRIED.format(
        body="%next = arith.addi %p, %zero : index\nloop.if %ok {\nloop.store %f, %x[%q] : memref<8xf32>\n}"
    ),
    "data": one("%q = arith.addi %p, %zero : index"),
    "no size": one("%q = arith.addi %zero, %zero : index", "%N - 1"),
    "one too many": one("%q = arith.addi %i, %one : index"),
    "one end": one("%q = arith.minsi %p, %i : index"),
    "a negative remainder": one("%q = arith.remsi %p, %two : index", "%N + 2"),
    "the other choice": one(
        "%n = arith.addi %i, %one : index\n%c = arith.cmpi sle, %n, %N : index\n%q = arith.select %c, %n, %i : index"
    ),
    "a signed check": one("%c = arith.cmpi slt, %p, %N : index\nloop.check %c, %p, 1\n%q = arith.addi %p, %zero : index"),
    "wrapping": one(
        "%big = arith.constant 9223372036854775807 : index\n%a = arith.maxsi %p, %zero : index\n"
        "%b = arith.addi %a, %big : index\n%c = arith.subi %b, %big : index\n%q = arith.minsi %c, %N : index",
        "%N + 1",
    ),
}


@pytest.mark.parametrize("name", PROVED)
def test_is_proved(name: str) -> None:
    assert unproved(kernel_of(PROVED[name])) == []


@pytest.mark.parametrize("name", OPEN)
def test_is_not_proved(name: str) -> None:
    assert [(found.op.name, found.dim) for found in unproved(kernel_of(OPEN[name]))] == [("loop.store", 0)]


def run(text: str, interpret: bool, x: np.ndarray, at: np.ndarray) -> np.ndarray | None:
    """What `%x` is after a guarded kernel has run; None if it stops."""
    module: Any = parse_module(make_context(), text)
    guard_accesses(module)
    x = x.copy()
    try:
        if interpret:
            Interpreter(module).launch("k", [x, at, np.int64(at.size)])
        else:
            KernelFunction(executor.kernel(module, "k"))(x, at)
    except (IndexError, InterpreterError):
        return None
    return x


@pytest.mark.parametrize(
    "name", [name for name in OPEN if name not in ("no size", "a signed check", "wrapping") and "iteration" not in name]
)
def test_a_guarded_kernel_stops_where_the_interpreter_does(name: str) -> None:
    rng = np.random.default_rng(0)
    size = 4 + 2 * (name == "a negative remainder")
    for at in ([0, 1, 2, 3], [0, 3, 1, 0], [0, 1, 2, 4], [-1, 0, 0, 0], [0, 0, -(2**63), 2**63 - 1], rng.integers(-9, 9, 4)):
        arguments = np.zeros(size, np.float32), np.array(at, np.int64)
        interpreted, native = run(OPEN[name], True, *arguments), run(OPEN[name], False, *arguments)
        assert (interpreted is None) == (native is None), (name, at)
        if interpreted is not None and native is not None:
            np.testing.assert_array_equal(interpreted, native)


LANES = """loop.kernel @k(%x: memref<?xf32>, %at: memref<?xi64>, %N: index) shapes(%x[%N], %at[%N]) {{
  %on = arith.constant {count} : index
  %m = vector.create_mask %on : vector<8xi1>
  %f = arith.constant dense<1.0> : vector<8xf32>
  loop.for vector %i = 0 to 1 {{
    %left = arith.subi %N, %i : index
    %some = vector.create_mask %left : vector<8xi1>
    %k = loop.load %at[%i] mask %some : memref<?xi64>, vector<8xi64>
    %p = arith.index_cast %k : vector<8xi64> to vector<8xindex>
    {access}
  }}
}}"""
ACCESSES = {
    "scatter": "loop.scatter %f, %x[%p] : memref<?xf32>, vector<8xf32> at (vector<8xindex>)",
    "masked scatter": "loop.scatter %f, %x[%p] mask %m : memref<?xf32>, vector<8xf32> at (vector<8xindex>)",
    "store": "loop.store %f, %x[%i] : memref<?xf32>, vector<8xf32>",
    "masked store": "loop.store %f, %x[%i + 1] step 2 mask %m : memref<?xf32>, vector<8xf32>",
    "backwards": "loop.store %f, %x[%i + 5] step -1 mask %m : memref<?xf32>, vector<8xf32>",
}


@pytest.mark.parametrize("name", ACCESSES)
def test_lanes_that_are_off_are_not_checked(name: str) -> None:
    rng = random.Random(0)
    stopped = 0
    for count in (0, 3, 8):
        text = LANES.format(count=count, access=ACCESSES[name])
        for size in (1, 6, 8, 20):
            at = np.array([rng.choice([0, 1, size - 1, size, -1]) if rng.random() < 0.3 else 0 for _ in range(size)], np.int64)
            arguments = np.zeros(size, np.float32), at
            interpreted, native = run(text, True, *arguments), run(text, False, *arguments)
            assert (interpreted is None) == (native is None), (name, count, size, at)
            if interpreted is not None and native is not None:
                np.testing.assert_array_equal(interpreted, native)
            stopped += native is None
    assert 0 < stopped < 12


def test_checks_are_inserted_once() -> None:
    module: Any = parse_module(make_context(), OPEN["data"])
    guard_accesses(module)
    text = str(module)
    again: Any = parse_module(make_context(), text)
    guard_accesses(again)
    assert sum(isinstance(op, CheckOp) for op in again.walk()) == 1

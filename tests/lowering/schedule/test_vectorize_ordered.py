"""loop-vectorize with `ordered`: the terms of a reduction on vectors, its order as written, bit for bit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from vectorizing import SIZES, TAILS, refused, same


def reduction(monoid: str, init: str, head: str = "%i = 0 to %N", term: str = "arith.subf %a, %s") -> str:
    return f"""loop.kernel @k(%x: memref<?xf32>, %y: memref<?xf32>, %s: f32, %N: index) shapes(%x[%N], %y[%N + 2]) {{
      %init = arith.constant {init} : f32
      %r = loop.for reduce<{monoid}> {head} init %init : f32 {{
        %a = loop.load %x[%i] : memref<?xf32>
        %b = {term} : f32
        loop.store %b, %y[%i + 1] : memref<?xf32>
        loop.yield %b : f32
      }}
      loop.store %r, %y[0] : memref<?xf32>
    }}"""


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize(
    "monoid,init", [("add", "0.0"), ("add", "-0.0"), ("mul", "1.0"), ("max", "0.25"), ("min", "0xFF800000")]
)
def test_every_bit_stays(monoid: str, init: str, tail: str) -> None:
    for head in ("%i = 0 to %N", "%i = 1 to %N step 3", "%i = 0 to min(%N, 9)"):
        module = same(reduction(monoid, init, head), f"loop-vectorize{{loop=i lanes=4 tail={tail} ordered=true}}")
        assert "vector.extract" in str(module) and "reduce_lanes" not in str(module)


def test_only_a_reduction_of_single_values_has_an_order() -> None:
    plain = reduction("add", "0.0").replace("reduce<add> %i = 0 to %N init %init : f32", "seq %i = 0 to %N")
    plain = plain.replace("%r = ", "").replace("loop.yield %b : f32", "").replace("loop.store %r", "loop.store %init")
    refused(plain, "loop-vectorize{loop=i lanes=4 ordered=true}", "only the terms of a reduction of single values")


def norms(x: lm.f32["M", "N"], y: lm.f32["M", "N"], s: lm.f32["M"]):
    for i in range(M):
        total = lm.f32(0)
        for j in range(N):
            e = np.exp(x[i, j])
            y[i, j] = e
            total += e
        s[i] = total


def squares(x: lm.f32["M", "N"], y: lm.f32["M", "N"], s: lm.f32["M"]):
    for i in range(M):
        total = lm.f32(0)
        for j in range(N):
            total += x[i, j] * x[i, j]
        s[i] = total


@pytest.mark.parametrize("function", [norms, squares])
def test_machine_code_adds_in_order(function: Any) -> None:
    """A product is added unrounded, as in the loop as it is written."""
    written, ordered = lm.kernel(function, schedule="none"), lm.kernel(function, schedule="none")
    ordered.schedule().vectorize("j", 8, ordered=True)
    for n in SIZES:
        x = np.random.default_rng(n).standard_normal((3, n), np.float32) * 4
        x[1:2, n // 2 :] = -0.0
        found = []
        for kernel in (written, ordered):
            y, s = np.zeros_like(x), np.full(3, 7, np.float32)
            kernel(x, y, s)
            found.append((y, s))
        np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-6)
        if function is squares:
            np.testing.assert_array_equal(found[1][1].view(np.int32), found[0][1].view(np.int32))
        else:
            expected = np.zeros(3, np.float32)
            for column in found[1][0].T:
                expected += column
            np.testing.assert_array_equal(found[1][1], expected)


def test_the_default_schedule_keeps_the_order_of_a_sum_of_functions() -> None:
    steps = str(lm.kernel(norms).default_schedule("x86-64-v4"))
    assert "loop=j" in steps and "ordered=true" in steps

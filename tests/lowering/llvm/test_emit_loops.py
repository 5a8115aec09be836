"""Loops, bounds, reductions and conditionals: compiled and compared with NumPy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from lamina.codegen.targets import get
from lamina.errors import CompileError

sys.path.insert(0, str(Path(__file__).parent.parent))
from emitting import TYPE, Compiled, elementwise, emit

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_matmul_with_epilogue(size):
    text = f"""
    loop.kernel @k(%x: memref<3x{size}xf32>, %w: memref<{size}x5xf32>, %b: memref<5xf32>, %y: memref<3x5xf32>) {{
      %zero = arith.constant 0.0 : f32
      loop.for parallel %i = 0 to 3 {{
        loop.for parallel %j = 0 to 5 {{
          %sum = loop.for reduce<add> %k = 0 to {size} init %zero : f32 {{
            %a = loop.load %x[%i, %k] : memref<3x{size}xf32>
            %c = loop.load %w[%k, %j] : memref<{size}x5xf32>
            %p = arith.mulf %a, %c : f32
            loop.yield %p : f32
          }}
          %bj = loop.load %b[%j] : memref<5xf32>
          %t = arith.addf %sum, %bj : f32
          %r = arith.maximumf %t, %zero : f32
          loop.store %r, %y[%i, %j] : memref<3x5xf32>
        }}
      }}
    }}"""
    x, w, b = (RNG.standard_normal(s).astype(np.float32) for s in ((3, size), (size, 5), (5,)))
    y = np.empty((3, 5), np.float32)
    Compiled(text)(x, w, b, y)
    np.testing.assert_allclose(y, np.maximum(x @ w + b, 0), rtol=1e-5, atol=1e-6)


def test_sum_of_products_rounds_once():
    """A product used only as a contribution is added unrounded; used twice, it is a value of its own."""
    text = """
    loop.kernel @k(%x: memref<4xf64>, %y: memref<4xf64>, %r: memref<1xf64>) {
      %zero = arith.constant 0.0 : f64
      %s = loop.for reduce<add> %k = 0 to 4 init %zero : f64 {
        %a = loop.load %x[%k] : memref<4xf64>
        %b = loop.load %y[%k] : memref<4xf64>
        %p = arith.mulf %a, %b : f64
        EXTRA
        loop.yield %p : f64
      }
      loop.store %s, %r[0] : memref<1xf64>
    }"""
    once = emit(text.replace("EXTRA", ""), get("x86-64-v3"))
    assert "llvm.fma.f64" in once and "fmul" not in once
    twice = emit(text.replace("EXTRA", "loop.store %p, %r[0] : memref<1xf64>"), get("x86-64-v3"))
    assert "llvm.fma" not in twice and "fmul" in twice
    assert "llvm.fma" not in emit(text.replace("EXTRA", ""), get("x86-64-v2"))


@pytest.mark.parametrize("n", [0, 1, 2, 5, 9])
def test_symbolic_bounds(n):
    """Bounds are affine in sizes and outer indices; loops that do not run leave the carried value alone."""
    text = """
    loop.kernel @k(%x: memref<?xi64>, %out: memref<4xi64>, %n: index) {
      %zero = arith.constant 0 : i64
      %s = loop.for reduce<add> %i = 0 to %n init %zero : i64 {
        %t = loop.for reduce<add> %j = %i to %n step 2 init %zero : i64 {
          %a = loop.load %x[%j] : memref<?xi64>
          loop.yield %a : i64
        }
        loop.yield %t : i64
      }
      loop.store %s, %out[0] : memref<4xi64>
      %c = loop.for seq %i = 0 to (%n floordiv 2) carry %v = %zero : i64 {
        %ii = arith.index_cast %i : index to i64
        %w = arith.addi %v, %ii : i64
        loop.yield %w : i64
      }
      loop.store %c, %out[1] : memref<4xi64>
      %d = loop.for reduce<max> %i = 1 - %n to %n * 2 + 3 init %zero : i64 {
        %ii = arith.index_cast %i : index to i64
        loop.yield %ii : i64
      }
      loop.store %d, %out[2] : memref<4xi64>
      %e = loop.for reduce<add> %i = 0 to (%n ceildiv 4) * 4 init %zero : i64 {
        %b = loop.load %x[%i mod 3] : memref<?xi64>
        loop.yield %b : i64
      }
      loop.store %e, %out[3] : memref<4xi64>
    }"""
    x, out = np.arange(100, 112, dtype=np.int64), np.zeros(4, np.int64)
    Compiled(text)(x, out, n)
    padded = -(-n // 4) * 4
    want = [sum(x[j] for i in range(n) for j in range(i, n, 2)), sum(range(n // 2)), max([0, *range(1 - n, 2 * n + 3)])]
    assert out.tolist() == [*want, sum(int(x[i % 3]) for i in range(padded))]


MONOIDS = {
    "add": (np.add, ("float32", "int32", "int64", "bool")),
    "mul": (np.multiply, ("float64", "int32", "bool")),
    "max": (np.maximum, ("float32", "float64", "int64", "bool")),
    "min": (np.minimum, ("float32", "int32", "bool")),
    "and": (np.bitwise_and, ("int32", "bool")),
    "or": (np.bitwise_or, ("int64", "bool")),
}


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize(("monoid", "dtype"), [(m, d) for m, (_, dtypes) in MONOIDS.items() for d in dtypes])
def test_reductions(monoid, dtype, lanes):
    t, n = TYPE[dtype], 24
    x = (RNG.integers(0, 2, n) > 0) if dtype == "bool" else RNG.integers(1, 9, n).astype(dtype)
    init = {"add": 0, "mul": 1, "max": -100, "min": 100, "and": -1, "or": 0}[monoid]
    if t == "i1":
        init = "true" if monoid in ("mul", "min", "and") else "false"
    init = f"{float(init)}" if t[0] == "f" else str(init)
    wide = t if lanes == 1 else f"vector<{lanes}x{t}>"
    shape = "" if lanes == 1 else f", {wide}"
    constant = f"arith.constant {init}" + (f" : {t}" if t != "i1" else "")
    if lanes > 1:
        constant = f"arith.constant dense<{init}> : {wide}"
    text = f"""
    loop.kernel @k(%x: memref<{n}x{t}>, %r: memref<1x{t}>) {{
      %init = {constant}
      %s = loop.for reduce<{monoid}> %k = 0 to {n} step {lanes} init %init : {wide} {{
        %a = loop.load %x[%k] : memref<{n}x{t}>{shape}
        loop.yield %a : {wide}
      }}
      {"" if lanes == 1 else f"%t = loop.reduce_lanes<{monoid}> %s : {wide}"}
      loop.store %{"s" if lanes == 1 else "t"}, %r[0] : memref<1x{t}>
    }}"""
    r = np.zeros(1, dtype)
    kernel = Compiled(text)
    kernel(x, r)
    assert r[0] == MONOIDS[monoid][0].reduce(x, dtype=dtype)
    if "f" in t and monoid in ("max", "min"):
        for place in (0, 5, n - 1):
            y = x.copy()
            y[place] = np.nan
            kernel(y, r)
            assert np.isnan(r[0])


ARG = """
loop.kernel @k(%x: memref<{n}x{t}>, %r: memref<1xi64>, %m: memref<1x{t}>) {{
  %init = arith.constant {init} : {t}
  %far = arith.constant 9223372036854775807 : i64
  %v, %at = loop.for reduce<{monoid}> %k = 0 to {n} init %init : {t}, %far : i64 {{
    %a = loop.load %x[%k] : memref<{n}x{t}>
    %i = arith.index_cast %k : index to i64
    loop.yield %a, %i : {t}, i64
  }}
  loop.store %at, %r[0] : memref<1xi64>
  loop.store %v, %m[0] : memref<1x{t}>
}}"""
ARG_LANES = """
loop.kernel @k(%x: memref<{n}x{t}>, %r: memref<1xi64>, %m: memref<1x{t}>) {{
  %init = arith.constant dense<{init}> : vector<4x{t}>
  %far = arith.constant dense<9223372036854775807> : vector<4xi64>
  %steps = vector.step : vector<4xindex>
  %step = arith.index_cast %steps : vector<4xindex> to vector<4xi64>
  %vs, %ats = loop.for reduce<{monoid}> %k = 0 to {n} step 4 init %init : vector<4x{t}>, %far : vector<4xi64> {{
    %a = loop.load %x[%k] : memref<{n}x{t}>, vector<4x{t}>
    %i = arith.index_cast %k : index to i64
    %b = vector.broadcast %i : i64 to vector<4xi64>
    %s = arith.addi %b, %step : vector<4xi64>
    loop.yield %a, %s : vector<4x{t}>, vector<4xi64>
  }}
  %v, %at = loop.reduce_lanes<{monoid}> %vs, %ats : vector<4x{t}>, vector<4xi64>
  loop.store %at, %r[0] : memref<1xi64>
  loop.store %v, %m[0] : memref<1x{t}>
}}"""


@pytest.mark.parametrize("template", [ARG, ARG_LANES], ids=["scalar", "lanes"])
@pytest.mark.parametrize("monoid", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_first_extreme_wins(monoid, dtype, template):
    """Ties go to the first index, a NaN is extreme and the first NaN wins, as in NumPy, however lanes are combined."""
    t, n = TYPE[dtype], 12
    least = monoid == "argmax"
    if "f" in t:
        init = "0xFF800000" if t == "f32" else "0xFFF0000000000000"
        init = init if least else init.replace("0xFF", "0x7F")
    else:
        init = str(np.iinfo(dtype).min if least else np.iinfo(dtype).max)
    kernel = Compiled(template.format(n=n, t=t, init=init, monoid=monoid), verify=template is ARG)
    reference = np.argmax if least else np.argmin
    samples = [RNG.integers(0, 4, n).astype(dtype) for _ in range(40)] + [np.zeros(n, dtype)]
    if "f" in t:
        for k in range(40):
            y = samples[k].copy()
            y[RNG.integers(0, n, 1 + k % 3)] = np.nan
            samples.append(y)
        samples.append(np.full(n, np.nan, dtype))
        samples.append(np.full(n, -np.inf if least else np.inf, dtype))
    for x in samples:
        r, m = np.zeros(1, np.int64), np.zeros(1, dtype)
        kernel(x, r, m)
        assert r[0] == reference(x), x
        np.testing.assert_equal(m[0], x[r[0]])


def test_nested_loops_carry_values():
    """A Fibonacci pair runs through two nested loops."""
    text = """
    loop.kernel @k(%r: memref<2xi64>, %n: index) {
      %zero = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %a, %b = loop.for seq %i = 0 to %n carry %x = %zero : i64, %y = %one : i64 {
        %c, %d = loop.for seq %j = 0 to 3 carry %u = %x : i64, %v = %y : i64 {
          %w = arith.addi %u, %v : i64
          loop.yield %v, %w : i64, i64
        }
        loop.yield %c, %d : i64, i64
      }
      loop.store %a, %r[0] : memref<2xi64>
      loop.store %b, %r[1] : memref<2xi64>
    }"""
    kernel = Compiled(text)
    for n in (0, 1, 5):
        r, a, b = np.zeros(2, np.int64), 0, 1
        for _ in range(3 * n):
            a, b = b, a + b
        kernel(r, n)
        assert r.tolist() == [a, b]


def test_conditionals():
    """Branches with and without results, with and without an else, in a loop."""
    text = """
    loop.kernel @k(%x: memref<9xi32>, %y: memref<9xi32>, %c: memref<9xi1>) {
      %two = arith.constant 2 : i32
      loop.for seq %i = 0 to 9 {
        %a = loop.load %x[%i] : memref<9xi32>
        %on = loop.load %c[%i] : memref<9xi1>
        %v, %w = loop.if %on -> i32, i32 {
          %b = arith.muli %two, %two : i32
          %q = arith.addi %a, %b : i32
          loop.yield %q, %b : i32, i32
        } else {
          loop.yield %a, %two : i32, i32
        }
        %s = arith.addi %v, %w : i32
        loop.store %s, %y[%i] : memref<9xi32>
        loop.if %on {
          loop.for seq %j = 0 to 2 {
            %old = loop.load %y[%i] : memref<9xi32>
            %new = arith.addi %old, %two : i32
            loop.store %new, %y[%i] : memref<9xi32>
          }
        }
      }
    }"""
    x, c = np.arange(9, dtype=np.int32), np.arange(9) % 3 == 1
    y = np.zeros(9, np.int32)
    Compiled(text)(x, y, c)
    np.testing.assert_array_equal(y, np.where(c, x + 4 + 4 + 4, x + 2))


def test_unrolled_loops_disappear():
    text = """
    loop.kernel @k(%x: memref<4x3xf32>, %y: memref<12xf32>) {
      %t = loop.alloc register : memref<4x3xf32>
      loop.for unroll %i = 0 to 4 {
        loop.for unroll %j = 0 to 3 {
          %a = loop.load %x[%i, %j] : memref<4x3xf32>
          loop.store %a, %t[3 - %i, %j] : memref<4x3xf32>
        }
      }
      loop.for unroll %i = 0 to 4 {
        loop.for unroll %j = %i - %i to 3 {
          %a = loop.load %t[%i, %j] : memref<4x3xf32>
          loop.store %a, %y[%i * 3 + %j] : memref<12xf32>
        }
      }
    }"""
    kernel = Compiled(text)
    assert "phi" not in kernel.ir and "br " not in kernel.ir
    x, y = RNG.standard_normal((4, 3)).astype(np.float32), np.zeros(12, np.float32)
    kernel(x, y)
    np.testing.assert_array_equal(y.reshape(4, 3), x[::-1])


def test_unrolling_has_a_limit():
    text = elementwise("%r = arith.negf %a : R", ["f32"], "f32", 100000).replace("parallel", "unroll")
    with pytest.raises(CompileError, match=r"test.mlir:2:\d+: 'loop.for' op unrolls to 100000 iterations of 4 ops, more than"):
        emit(text)


def test_invariants_leave_the_loop():
    """Arithmetic, broadcasts and loads that do not depend on a loop stand before it."""
    text = """
    loop.kernel @k(%x: memref<64x64xf32>, %s: memref<64xf32>, %y: memref<64x64xf32>) {
      loop.for parallel %i = 0 to 64 {
        loop.for vector %j = 0 to 64 step 8 {
          %one = loop.load %s[%i] : memref<64xf32>
          %half = arith.constant 0.5 : f32
          %t = arith.mulf %one, %half : f32
          %b = vector.broadcast %t : f32 to vector<8xf32>
          %v = loop.load %x[%i, %j] : memref<64x64xf32>, vector<8xf32>
          %r = arith.mulf %v, %b : vector<8xf32>
          loop.store %r, %y[%i, %j] : memref<64x64xf32>, vector<8xf32>
        }
      }
    }"""
    kernel = Compiled(text)
    inner = kernel.ir[kernel.ir.index("loop.3:") : kernel.ir.index("br i1", kernel.ir.index("loop.3:"))]
    assert inner.count("\n") == 10, inner  # phi, index, two addresses, load, mul, store, increment, test
    x, s = RNG.standard_normal((64, 64)).astype(np.float32), RNG.standard_normal(64).astype(np.float32)
    y = np.zeros_like(x)
    kernel(x, s, y)
    np.testing.assert_array_equal(y, x * (s * np.float32(0.5))[:, None])


def test_invariant_load_waits_for_a_loop_that_may_not_run():
    """`x[n - 1]` is out of bounds when `n` is 0: it is read where the loop is entered, once."""
    text = """
    loop.kernel @k(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
      loop.for seq %i = 0 to %n {
        %a = loop.load %x[%n - 1] : memref<?xf32>
        loop.store %a, %y[%i] : memref<?xf32>
      }
    }"""
    ir = emit(text)
    assert ir.index("label %enter") < ir.index("enter.3:") < ir.index("load float") < ir.index("loop.1:")
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    Compiled(text)(x, y, 4)
    assert y.tolist() == [3] * 4


UNKNOWN = [
    ('"test.foo"() : () -> ()', "'test.foo'"),
    ("%t = loop.alloc stack : memref<99999xf32>", "takes 399996 bytes, more than the 65536"),
    ("%c = arith.constant 0.5 : f32\n%r = math.acosh %c : f32", "'math.acosh' op has no translation"),
    ("%c = loop.load %x[0, 0] : memref<?x?xf32>", "only the outermost dim of a buffer may be of unknown size"),
]


@pytest.mark.parametrize(("line", "message"), UNKNOWN)
def test_what_cannot_be_emitted_is_named(line, message):
    with pytest.raises(CompileError, match=message) as error:
        emit(f"loop.kernel @k(%x: memref<?x?xf32>) {{\n{line}\n}}", verify=False)
    assert str(error.value).startswith("test.mlir:")

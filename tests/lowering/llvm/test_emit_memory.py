"""Accesses: strides, masks, tails, directions, element types; local buffers."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from lamina.codegen.compile import compile_object
from lamina.codegen.targets import get, host

sys.path.insert(0, str(Path(__file__).parent.parent))
from emitting import DTYPES, TYPE, Compiled, emit, memref_type

RNG = np.random.default_rng(0)


def sample(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype == "bool":
        return RNG.integers(0, 2, shape) > 0
    return RNG.integers(-100, 100, shape).astype(dtype)


@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 32])
@pytest.mark.parametrize("dtype", DTYPES)
def test_masked_tails_touch_nothing_else(dtype, lanes):
    """Every tail length from 0 to a whole vector; what is masked off reads as zero and is not written."""
    t, size = TYPE[dtype], lanes
    text = f"""
    loop.kernel @k(%x: memref<{size}x{t}>, %y: memref<{size}x{t}>, %all: memref<{size}x{t}>, %n: index) {{
      %m = vector.create_mask %n : vector<{lanes}xi1>
      %a = loop.load %x[0] mask %m : memref<{size}x{t}>, vector<{lanes}x{t}>
      loop.store %a, %all[0] : memref<{size}x{t}>, vector<{lanes}x{t}>
      loop.store %a, %y[0] mask %m : memref<{size}x{t}>, vector<{lanes}x{t}>
    }}"""
    kernel = Compiled(text)
    x = sample((size,), dtype) | True if dtype == "bool" else sample((size,), dtype)
    for n in sorted({-3, 0, 1, lanes // 2, lanes - 1, lanes, lanes + 5}):
        y, everything = sample((size,), dtype), sample((size,), dtype)
        want = y.copy()
        m = max(0, min(n, lanes))
        want[:m] = x[:m]
        kernel(x, y, everything, n)
        np.testing.assert_array_equal(y, want)
        np.testing.assert_array_equal(everything, np.where(np.arange(size) < n, x, np.zeros(1, x.dtype)))


def test_masked_lanes_may_lie_outside():
    """A masked access at the end of an array does not fault: checked at the end of a mapped page."""
    import mmap

    page = mmap.mmap(-1, mmap.PAGESIZE)
    y = np.frombuffer(page, np.float32)
    text = """
    loop.kernel @k(%y: memref<1024xf32>) {
      loop.for seq %i = 1016 to 1024 {
        %end = arith.constant 1024 : index
        %left = arith.subi %end, %i : index
        %m = vector.create_mask %left : vector<8xi1>
        %a = loop.load %y[%i] mask %m : memref<1024xf32>, vector<8xf32>
        %one = arith.constant dense<1.0> : vector<8xf32>
        %b = arith.addf %a, %one : vector<8xf32>
        loop.store %b, %y[%i] mask %m : memref<1024xf32>, vector<8xf32>
        %c = loop.load %y[%i] step 2 mask %m : memref<1024xf32>, vector<8xf32>
      }
    }"""
    Compiled(text)(y)
    assert y[1016:].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


LANES = [(1, 1, 2), (1, -1, 9), (1, 2, 1), (1, -2, 8), (0, 1, 3), (0, -1, 7), (0, 2, 1)]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize(("along", "step", "start"), LANES)
def test_lanes_along_any_dim(along, step, start, dtype, masked):
    """Gathers and scatters: lane `l` is the element `l * step` further along a dim."""
    t = TYPE[dtype]
    x, y = sample((11, 13), dtype), sample((11, 13), dtype)
    full, keep = 4, 3 if masked else 4
    suffix = f"along {along} step {step}" + (" mask %m" if masked else "")
    source = f"%i, {start}" if along else f"{start}, %i"
    target = f"%i + 1, {start}" if along else f"{start}, %i + 1"
    text = f"""
    loop.kernel @k(%x: {memref_type(x)}, %y: {memref_type(y)}) {{
      %n = arith.constant {keep} : index
      %m = vector.create_mask %n : vector<{full}xi1>
      loop.for seq %i = 0 to 2 {{
        %a = loop.load %x[{source}] {suffix} : {memref_type(x)}, vector<{full}x{t}>
        loop.store %a, %y[{target}] {suffix} : {memref_type(y)}, vector<{full}x{t}>
      }}
    }}"""
    want = y.copy()
    for i in range(2):
        for lane in range(keep):
            p = start + lane * step
            want[(i + 1, p) if along else (p, i + 1)] = x[(i, p) if along else (p, i)]
    Compiled(text)(x, y)
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_affine_subscripts(dtype):
    """`y[a, b] = x[2 a + b, 7 - b]`, also with a division and a remainder."""
    x, y, z = sample((10, 8), dtype), sample((3, 4), dtype), sample((12,), dtype)
    t = TYPE[dtype]
    text = f"""
    loop.kernel @k(%x: memref<10x8x{t}>, %y: memref<3x4x{t}>, %z: memref<12x{t}>) {{
      loop.for parallel %a = 0 to 3 {{
        loop.for parallel %b = 0 to 4 {{
          %v = loop.load %x[%a * 2 + %b, 7 - %b] : memref<10x8x{t}>
          loop.store %v, %y[%a, %b] : memref<3x4x{t}>
        }}
      }}
      loop.for parallel %p = 0 to 12 {{
        %v = loop.load %y[%p floordiv 4, %p mod 4] : memref<3x4x{t}>
        loop.store %v, %z[11 - %p] : memref<12x{t}>
      }}
    }}"""
    want = np.array([[x[2 * a + b, 7 - b] for b in range(4)] for a in range(3)])
    Compiled(text)(x, y, z)
    np.testing.assert_array_equal(y, want)
    np.testing.assert_array_equal(z, want.ravel()[::-1])


def test_empty_arrays():
    text = """
    loop.kernel @k(%x: memref<0xf32>, %y: memref<0x3xf32>, %r: memref<1xf32>) {
      %zero = arith.constant 0.0 : f32
      %s = loop.for reduce<add> %i = 0 to 0 init %zero : f32 {
        %a = loop.load %x[%i] : memref<0xf32>
        loop.yield %a : f32
      }
      loop.store %s, %r[0] : memref<1xf32>
      loop.for parallel %i = 0 to 0 {
        loop.for parallel %j = 0 to 3 {
          loop.store %zero, %y[%i, %j] : memref<0x3xf32>
        }
      }
    }"""
    r = np.ones(1, np.float32)
    Compiled(text)(np.zeros(0, np.float32), np.zeros((0, 3), np.float32), r)
    assert r[0] == 0


@pytest.mark.parametrize("name", ["x86-64-v2", "x86-64-v4", "aarch64"])
def test_other_targets_take_the_same_text(name):
    """Masks, strides, conversions and reductions compile for every target (in a child: LLVM aborts on what it cannot do)."""
    text = """
    loop.kernel @k(%x: memref<64xf32>, %c: memref<64xi1>, %y: memref<64xi32>, %n: index) {
      %m = vector.create_mask %n : vector<8xi1>
      %a = loop.load %x[0] mask %m : memref<64xf32>, vector<8xf32>
      %b = loop.load %x[16] step -3 mask %m : memref<64xf32>, vector<8xf32>
      %r = arith.remf %a, %b : vector<8xf32>
      %d = arith.maximumf %r, %a : vector<8xf32>
      %i = arith.fptosi %d : vector<8xf32> to vector<8xi32>
      %j = arith.divsi %i, %i : vector<8xi32>
      loop.store %j, %y[0] step 2 mask %m : memref<64xi32>, vector<8xi32>
      %e = loop.load %c[0] mask %m : memref<64xi1>, vector<8xi1>
      loop.store %e, %c[8] mask %m : memref<64xi1>, vector<8xi1>
      %s = loop.reduce_lanes<add> %j : vector<8xi32>
      loop.store %s, %y[63] : memref<64xi32>
    }"""
    target = get(name)
    assert compile_object(emit(text, target), target, isolated=True)


def test_rank_zero_and_one_lane():
    text = """
    loop.kernel @k(%x: memref<i64>, %y: memref<3xi64>, %n: index) {
      %a = loop.load %x[] : memref<i64>
      %m = vector.create_mask %n : vector<1xi1>
      %v = vector.broadcast %a : i64 to vector<1xi64>
      loop.store %v, %y[1] mask %m : memref<3xi64>, vector<1xi64>
      %w = loop.load %y[0] mask %m : memref<3xi64>, vector<1xi64>
      %s = loop.reduce_lanes<add> %w : vector<1xi64>
      loop.store %s, %y[2] : memref<3xi64>
    }"""
    kernel, x = Compiled(text), np.array(7)
    for n, want in ((0, [5, 1, 0]), (1, [5, 7, 5])):
        y = np.array([5, 1, 1])
        kernel(x, y, n)
        assert y.tolist() == want


def test_local_buffers():
    """A transposed tile is staged on the stack, once per iteration."""
    text = """
    loop.kernel @k(%x: memref<8x24xf32>, %y: memref<24x8xf32>) {
      loop.for seq %t = 0 to 3 {
        %tile = loop.alloc stack : memref<8x8xf32>
        loop.for seq %i = 0 to 8 {
          %row = loop.load %x[%i, %t * 8] : memref<8x24xf32>, vector<8xf32>
          loop.store %row, %tile[0, %i] along 0 : memref<8x8xf32>, vector<8xf32>
        }
        loop.for seq %j = 0 to 8 {
          %row = loop.load %tile[%j, 0] : memref<8x8xf32>, vector<8xf32>
          loop.store %row, %y[%t * 8 + %j, 0] : memref<24x8xf32>, vector<8xf32>
        }
      }
    }"""
    x, y = RNG.standard_normal((8, 24)).astype(np.float32), np.zeros((24, 8), np.float32)
    Compiled(text)(x, y)
    np.testing.assert_array_equal(y, x.T)


def test_vector_ops():
    text = """
    loop.kernel @k(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<4xf32>) {
      %a = loop.load %x[0] : memref<8xf32>, vector<4xf32>
      %b = loop.load %x[4] : memref<8xf32>, vector<4xf32>
      %c = vector.shuffle %a, %b [7, 0, 6, 1] : vector<4xf32>, vector<4xf32>
      loop.store %c, %y[0] : memref<8xf32>, vector<4xf32>
      %e = vector.extract %a[2] : f32 from vector<4xf32>
      %f = vector.insert %e, %b [0] : f32 into vector<4xf32>
      loop.store %f, %y[4] : memref<8xf32>, vector<4xf32>
      %g = "vector.fma"(%a, %b, %c) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
      loop.store %g, %z[0] : memref<4xf32>, vector<4xf32>
    }"""
    x, y, z = np.arange(1, 9, dtype=np.float32), np.zeros(8, np.float32), np.zeros(4, np.float32)
    Compiled(text)(x, y, z)
    assert y.tolist() == [8, 1, 7, 2, 3, 6, 7, 8]
    np.testing.assert_allclose(z, x[:4] * x[4:] + y[:4])


EVERY_OTHER = """
loop.kernel @k(%x: memref<{size}x{t}>, %y: memref<{lanes}x{t}>, %n: index) {{
  %m = vector.create_mask %n : vector<{lanes}xi1>
  loop.for seq %i = 1 to 2 {{
    %a = loop.load %x[%i] step 2{mask} : memref<{size}x{t}>, vector<{lanes}x{t}>
    loop.store %a, %y[0] : memref<{lanes}x{t}>, vector<{lanes}x{t}>
  }}
}}"""


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
@pytest.mark.parametrize("lanes", [2, 4, 8, 32])
@pytest.mark.parametrize("mask", ["", " mask %m"])
def test_every_other_element_is_read_from_two_vectors(dtype, lanes, mask):
    size = 2 * lanes  # the last lane reads the last element
    kernel = Compiled(EVERY_OTHER.format(lanes=lanes, size=size, t=TYPE[dtype], mask=mask))
    assert kernel.ir.count("= load ") + kernel.ir.count("@llvm.masked.load") < max(4, lanes)
    x = (np.arange(size) % 3 + 1).astype(dtype)
    for n in (0, 1, lanes - 1, lanes):
        y = np.zeros(lanes, dtype)
        kernel(x, y, n)
        np.testing.assert_array_equal(y, np.where(np.arange(lanes) < n, x[1::2], 0) if mask else x[1::2])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
@pytest.mark.parametrize("lanes", [2, 4, 8, 32])
@pytest.mark.parametrize("stride", [3, 4, 5])
def test_elements_a_few_apart_are_read_and_stored_as_whole_registers(dtype, lanes, stride):
    """What is read ends with the last element that is wanted, as an array there may; stores that take turns are merged."""
    size, wide = stride * lanes, f"vector<{lanes}x{TYPE[dtype]}>"
    loads = [f"%a{k} = loop.load %x[{k}] step {stride} : memref<{size}x{TYPE[dtype]}>, {wide}" for k in range(stride)]
    stores = [
        f"loop.store %a{k}, %y[{stride - 1 - k}] step {stride} : memref<{size}x{TYPE[dtype]}>, {wide}" for k in range(stride)
    ]
    arguments = f"%x: memref<{size}x{TYPE[dtype]}>, %y: memref<{size}x{TYPE[dtype]}>"
    lines = "\n".join([*loads, *reversed(stores)])
    kernel = Compiled(f"loop.kernel @k({arguments}) {{\n{lines}\n}}")
    if lanes == 32 and stride < 5 and host().lanes(8 * np.dtype(dtype).itemsize) >= 8:
        assert kernel.ir.count("= load ") < size
        assert kernel.ir.count("  store ") < size or dtype == "bool"
    x, y = (np.arange(size) % 7 > 2).astype(dtype) if dtype == "bool" else np.arange(size).astype(dtype), np.zeros(size, dtype)
    kernel(x, y)
    np.testing.assert_array_equal(y.reshape(lanes, stride), x.reshape(lanes, stride)[:, ::-1])


@pytest.mark.parametrize("lanes", [3, 5, 8, 12, 16, 24, 32, 48])
@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_vectors_of_any_length_may_be_stored_past_the_caches(dtype, lanes):
    """Those that do not fit into lines are stored as others are."""
    t, size = TYPE[dtype], 4 * lanes
    text = f"""
    loop.kernel @k(%x: memref<{size}x{t}>, %y: memref<{size}x{t}>) {{
      loop.for vector %i = 0 to {size} step {lanes} {{
        %a = loop.load %x[%i] : memref<{size}x{t}>, vector<{lanes}x{t}>
        loop.store %a, %y[%i] {{streamed}} : memref<{size}x{t}>, vector<{lanes}x{t}>
      }}
    }}"""
    kernel, x = Compiled(text), sample((size,), dtype)
    for start in (0, 1):
        y = np.zeros(size + 1, dtype)[start : size + start]
        kernel(x, y)
        np.testing.assert_array_equal(y, x)

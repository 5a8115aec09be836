"""Vectors across rows in unrolled loops: rows are loaded as vectors and transposed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from lamina.codegen.targets import get

sys.path.insert(0, str(Path(__file__).parent.parent))
from emitting import TYPE, Compiled, emit

LLVM = {"float32": "float", "float64": "double", "int32": "i32", "int64": "i64"}

ACROSS = """
loop.kernel @k(%x: memref<{lanes}x{size}x{t}>, %y: memref<{size}x{lanes}x{t}>, %n: index) {{
  %m = vector.create_mask %n : vector<{lanes}xi1>
  loop.for seq %ko = 0 to {size} step {trips} {{
    loop.for unroll %k = 0 to {trips} {{
      %a = loop.load %x[0, %ko + %k] along 0{mask} : memref<{lanes}x{size}x{t}>, vector<{lanes}x{t}>
      loop.store %a, %y[%ko + %k, 0] : memref<{size}x{lanes}x{t}>, vector<{lanes}x{t}>
    }}
  }}
}}"""


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
@pytest.mark.parametrize("mask", ["", " mask %m"])
def test_columns_are_what_the_rows_hold(dtype, lanes, mask):
    trips, size = max(lanes, 8), 32
    kernel = Compiled(ACROSS.format(lanes=lanes, size=size, trips=trips, t=TYPE[dtype], mask=mask))
    assert f"load {LLVM[dtype]}, ptr" not in kernel.ir
    x = np.arange(lanes * size).reshape(lanes, size).astype(dtype)
    for n in (0, 1, lanes - 1, lanes):
        y = np.full((size, lanes), -1, dtype)
        kernel(x, y, n)
        want = np.where(np.arange(lanes)[:, None] < n, x, np.zeros(1, dtype)).T if mask else x.T
        np.testing.assert_array_equal(y, want)


def test_trips_that_are_no_multiple_of_the_lanes_are_read_one_by_one():
    assert "load float, ptr" in emit(ACROSS.format(lanes=8, size=24, trips=12, t="f32", mask=""))


def test_columns_under_a_condition_are_read_where_they_are_needed():
    """A row that no copy reads may end before the window does."""
    text = """
    loop.kernel @k(%x: memref<4x16xf32>, %y: memref<16x4xf32>, %n: index) {
      loop.for unroll %k = 0 to 16 {
        %some = arith.cmpi slt, %k, %n : index
        loop.if %some {
          %a = loop.load %x[0, %k] along 0 : memref<4x16xf32>, vector<4xf32>
          loop.store %a, %y[%k, 0] : memref<16x4xf32>, vector<4xf32>
        }
      }
    }"""
    kernel = Compiled(text)
    assert "shufflevector" not in kernel.ir
    x, y = np.arange(64, dtype=np.float32).reshape(4, 16), np.zeros((16, 4), np.float32)
    kernel(x, y, 5)
    np.testing.assert_array_equal(y, np.where(np.arange(16)[:, None] < 5, x.T, 0))


def test_a_row_that_moves_twice_with_the_loop_is_no_window():
    text = """
    loop.kernel @k(%x: memref<16x8xf32>, %y: memref<4x4xf32>) {
      loop.for unroll %k = 0 to 4 {
        %a = loop.load %x[%k, %k] along 0 : memref<16x8xf32>, vector<4xf32>
        loop.store %a, %y[%k, 0] : memref<4x4xf32>, vector<4xf32>
      }
    }"""
    x, y = np.arange(128, dtype=np.float32).reshape(16, 8), np.zeros((4, 4), np.float32)
    Compiled(text)(x, y)
    np.testing.assert_array_equal(y, [[x[k + lane, k] for lane in range(4)] for k in range(4)])


def test_a_buffer_that_is_written_is_read_when_its_turn_comes():
    text = """
    loop.kernel @k(%x: memref<4x4xf32>) {
      loop.for unroll %k = 0 to 4 {
        %a = loop.load %x[0, %k] along 0 : memref<4x4xf32>, vector<4xf32>
        loop.store %a, %x[%k, 0] : memref<4x4xf32>, vector<4xf32>
      }
    }"""
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    want = x.copy()
    for k in range(4):
        want[k] = want[:, k].copy()
    Compiled(text)(x)
    np.testing.assert_array_equal(x, want)


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"])
def test_every_target_has_the_shuffles(target):
    assert "load float, ptr" not in emit(ACROSS.format(lanes=4, size=16, trips=4, t="f32", mask=""), get(target))

"""The work that a parallel loop reports to the thread runtime."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest
from lamina.codegen.compile import compile_object
from lamina.codegen.thread_runtime import load_object

sys.path.insert(0, str(Path(__file__).parent.parent))
from emitting import emit

SEEN = """
@seen = global i64 0
define internal void @test.parallel(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads) {
  store i64 %work, ptr @seen
  ret void
}
"""


def work(loop: str, rows: int, elements: int) -> int:
    """The work of `loop`, which stands in a parallel one over `rows` and reads an array of so many elements."""
    text = f"""
    loop.kernel @k(%p: memref<?xi64>, %x: memref<?xf32>, %y: memref<?xf32>, %M: index, %N: index)
        shapes(%p[%M + 1], %x[%N], %y[%M]) {{
      loop.for parallel %i = 0 to %M {{
        %from = loop.load %p[%i] : memref<?xi64>
        %first = arith.index_cast %from : i64 to index
        %to = loop.load %p[%i + 1] : memref<?xi64>
        %last = arith.index_cast %to : i64 to index
        {loop} {{
          %a = loop.load %x[%j] : memref<?xf32>
          loop.store %a, %y[%i] : memref<?xf32>
        }}
      }}
    }}"""
    ir = emit(text)
    assert "call void @lamina_parallel(" in ir
    library = load_object(
        compile_object(ir.replace("call void @lamina_parallel(", "call void @test.parallel(") + SEEN), ["k", "seen"]
    )
    arrays = [np.zeros(1, np.int64), np.zeros(1, np.float32), np.zeros(1, np.float32)]
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)(library.address("k"))
    function(*(a.ctypes.data for a in arrays), rows, elements)
    return ctypes.c_int64.from_address(library.address("seen")).value // rows


@pytest.mark.parametrize(
    ("loop", "trips"),
    [
        ("loop.for seq %j = 0 to %N", 100_000),
        ("loop.for seq %j = 0 to %N step 4", 25_000),
        ("loop.for seq %j = 7 to 1007", 1000),
        ("loop.for seq %j = %i * 500 to min(%i * 500 + 500, %N)", 500),  # a block of a number of elements
        ("loop.for seq %j = 0 to min(500, %N - %i)", 500),
        ("loop.for seq %j = %first to %last", 10_000),  # all rows together: once through the array
        ("loop.for seq %j = %first to %last step 2", 5_000),
        ("loop.for seq %j = %i to %N", 10_000),
    ],
)
def test_work_is_known_or_guessed_from_sizes(loop: str, trips: int) -> None:
    found = work(loop, 10, 100_000)
    assert trips <= found <= 4 * trips + 20


def test_a_guess_is_not_below_a_typical_loop() -> None:
    assert work("loop.for seq %j = %first to %last", 1000, 10) >= 64


SCATTER = """
loop.kernel @k(%x: memref<9000x64xf32>, %p: memref<9000xi64>, %y: memref<100x64xf32>) {
  loop.for parallel %i = 0 to 2 {
    loop.for seq %j = 0 to 9000 {
      %at = loop.load %p[%j] : memref<9000xi64>
      %row = arith.index_cast %at : i64 to index
      loop.for vector %k = 0 to 32 step 32 {
        %a = loop.load %x[%j, %i * 32 + %k] : memref<9000x64xf32>, vector<32xf32>
        loop.store %a, %y[PLACE, %i * 32 + %k] : memref<100x64xf32>, vector<32xf32>
      }
    }
  }
}"""


@pytest.mark.parametrize(("place", "once"), [("%row", True), ("%i", False)])
def test_a_thread_with_several_parts_goes_through_a_sequence_once(place: str, once: bool) -> None:
    """Where it has one part, that is around the rows; else the rows are, around the parts of the thread's share."""
    ir = emit(SCATTER.replace("PLACE", place))
    body = ir.split("k.parallel0.body")[-1]
    assert ("label %single" in body) == once, body
    several = body.split("\nseveral")[-1]
    outer = several.split("phi i64 [")[1].split("\n")[0]
    assert outer.startswith(" 0,") == once, body

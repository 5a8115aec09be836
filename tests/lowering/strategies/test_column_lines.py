"""Columns are divided where cache lines begin: each piece is run alone, so that nothing depends on threads that come or not."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.codegen.compile import compile_object
from lamina.codegen.thread_runtime import load_object
from lamina.executor import kernels
from lamina.lowering.analysis.columns import find_columns

sys.path.insert(0, str(Path(__file__).parent.parent))
from emitting import emit, parse
from guarded import needs_mprotect, pages

ONE_PIECE = """
@first = global i64 0
@last = global i64 0
define internal void @one.piece(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads) {
  %begin = load i64, ptr @first
  %end = load i64, ptr @last
  call void %body(ptr %data, i64 %begin, i64 %end)
  ret void
}
"""


@lm.kernel
def add_f32(values: lm.f32["E", "D"], node: lm.i64["E"], out: lm.f32["N", "D"]):
    for e in range(E):
        for d in range(D):
            out[node[e], d] += values[e, d]


@lm.kernel
def add_f64(values: lm.f64["E", "D"], node: lm.i64["E"], out: lm.f64["N", "D"]):
    for e in range(E):
        for d in range(D):
            out[node[e], d] += values[e, d]


@lm.kernel
def add_i64(values: lm.i64["E", "D"], node: lm.i64["E"], out: lm.i64["N", "D"]):
    for e in range(E):
        for d in range(D):
            out[node[e], d] += values[e, d]


@lm.kernel
def add_i32(values: lm.i32["E", "D"], node: lm.i64["E"], out: lm.i32["N", "D"]):
    for e in range(E):
        for d in range(D):
            out[node[e], d] += values[e, d]


@lm.kernel
def positive(values: lm.f32["E", "D"], node: lm.i64["E"], out: lm.f32["N", "D"]):
    for e in range(E):
        for d in range(D):
            if values[e, d] > 0.0:
                out[node[e], d] += values[e, d]


KERNELS = {np.float32: add_f32, np.float64: add_f64, np.int64: add_i64, np.int32: add_i32}


class Pieces:
    """A kernel of `values`, `node`, `out` whose parallel loop runs one piece a call."""

    def __init__(self, kernel: Any):
        module = kernel.default_schedule().module
        self.size = next(op for op in module.walk() if op.name == "loop.for").step.value.data  # pyright: ignore
        name = kernels.find_kernel(module).sym_name.data
        ir = emit(str(module))
        assert "call void @lamina_parallel(" in ir
        ir = ir.replace("call void @lamina_parallel(", "call void @one.piece(") + ONE_PIECE
        self.library = load_object(compile_object(ir), [name, "first", "last"])
        types = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 4 + [ctypes.c_void_p]
        self.function = ctypes.CFUNCTYPE(None, *types)(self.library.address(name))
        self.status = np.zeros(2, np.int64)

    def parts(self, columns: int) -> int:
        return -(-columns // self.size)

    def __call__(self, values: np.ndarray, node: np.ndarray, out: np.ndarray, first: int, last: int) -> None:
        for name, value in (("first", first), ("last", last)):
            ctypes.c_int64.from_address(self.library.address(name)).value = value
        addresses = (a.ctypes.data for a in (values, node, out))
        self.function(*addresses, len(values), values.shape[1], len(out), 1, self.status.ctypes.data)
        assert not self.status.any()


def placed(shape: tuple[int, ...], dtype: Any, offset: int) -> tuple[np.ndarray, np.ndarray]:
    """An array that begins `offset` bytes after a cache line, and the bytes that it lies in."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.full(size + 512, 0x5A, np.uint8)
    start = -memory.ctypes.data % 64 + 128 + offset
    return memory[start : start + size].view(dtype).reshape(shape), memory


@pytest.fixture(scope="module", params=KERNELS, ids=lambda dtype: dtype.__name__)
def typed(request: pytest.FixtureRequest) -> tuple[Any, Pieces]:
    return request.param, Pieces(KERNELS[request.param])


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("together", [1, 2, 3, 100])
def test_each_column_is_added_once_wherever_an_array_begins(typed: tuple[Any, Pieces], together: int) -> None:
    dtype, pieces = typed
    rng = np.random.default_rng(together)
    node = np.array([2, 0, 2, 1])
    for columns in (*range(71), 96, 257):
        values = rng.integers(-9, 9, (4, columns)).astype(dtype)
        want = np.full((3, columns), 7, dtype)
        np.add.at(want, node, values)
        for offset in range(0, 64, values.itemsize):
            out, memory = placed((3, columns), dtype, offset)
            out[:] = 7
            around = memory.copy()
            for first in range(0, pieces.parts(columns), together):
                pieces(values, node, out, first, min(first + together, pieces.parts(columns)))
            np.testing.assert_array_equal(out, want, f"{columns} columns, {offset} bytes after a line")
            start = out.ctypes.data - memory.ctypes.data
            around[start : start + out.nbytes] = memory[start : start + out.nbytes]
            np.testing.assert_array_equal(memory, around)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("columns", [64, 96, 128])
@pytest.mark.parametrize("offset", range(0, 64, 4))
def test_pieces_share_no_cache_line(columns: int, offset: int) -> None:
    pieces = Pieces(add_f32)
    lines: list[set[int]] = []
    for part in range(pieces.parts(columns)):
        out, _ = placed((5, columns), np.float32, offset)
        out[:] = 0
        pieces(np.ones((5, columns), np.float32), np.arange(5), out, part, part + 1)
        changed = np.flatnonzero(out) * 4 + offset
        assert len(changed) == 5 * min(32, columns - 32 * part)  # as much for each
        lines.append(set((changed // 64).tolist()))
    assert sum(map(len, lines)) == len(set.union(*lines))


def test_rows_that_begin_elsewhere_in_their_lines_are_divided_as_they_lie() -> None:
    pieces = Pieces(add_f32)
    out, _ = placed((5, 65), np.float32, 16)
    out[:] = 0
    pieces(np.ones((5, 65), np.float32), np.arange(5), out, 0, 1)
    assert out[:, :32].all() and not out[:, 32:].any()


def test_conditions_are_kept() -> None:
    pieces = Pieces(positive)
    rng = np.random.default_rng(0)
    values, node = rng.standard_normal((50, 70)).astype(np.float32), rng.integers(0, 3, 50)
    values = np.concatenate([values, -values], 1)[:, :96].copy()
    want = np.zeros((3, 96), np.float32)
    for e in range(50):
        want[node[e]] += np.maximum(values[e], 0)
    out, _ = placed((3, 96), np.float32, 16)
    out[:] = 0
    for part in range(3):
        pieces(values, node, out, part, part + 1)
    np.testing.assert_array_equal(out, want)


@needs_mprotect
@pytest.mark.parametrize("dtype", KERNELS)
@pytest.mark.parametrize("offset", [0, 16, 56])
def test_nothing_outside_of_arrays_is_touched(offset: int, dtype: Any) -> None:
    """Parts that begin before a row leave what is there alone."""
    pieces = Pieces(KERNELS[dtype])
    node = np.array([0, 2, 1, 0])
    with pages() as memory:
        for columns in (64, 80, 96):
            for at in (0, None):
                values, out = memory.zeros((4, columns), dtype, at), memory.zeros((3, columns), dtype, offset)
                values[:] = 1
                for part in range(pieces.parts(columns)):
                    pieces(values, node, out, part, part + 1)
                np.testing.assert_array_equal(out, np.array([[2], [1], [1]], dtype).repeat(columns, 1))


LOOP = """
loop.kernel @k(%x: memref<?x?xf32>, %p: memref<?xi64>, %y: memref<?x?xf32>, %E: index, %D: index, %N: index)
    shapes(%x[%E, %D], %p[%E], %y[%N, %D]) {
  %c32 = arith.constant 32 : index
  loop.for parallel %do = 0 to %D step 32 {
    loop.for seq %e = 0 to %E {
      %left = arith.subi %D, %do : index
      %n = arith.minsi %c32, %left : index
      loop.for vector %di = 0 to 32 step 32 {
        %m = vector.create_mask %n : vector<32xi1>
        %at = loop.load %p[%e] : memref<?xi64>
        %row = arith.index_cast %at : i64 to index
        %a = loop.load %x[%e, %do + %di] mask %m : memref<?x?xf32>, vector<32xf32>
        %b = loop.load %y[%row, %do + %di] mask %m : memref<?x?xf32>, vector<32xf32>
        %c = arith.addf %a, %b : vector<32xf32>
        loop.store %c, %y[%row, %do + %di] mask %m : memref<?x?xf32>, vector<32xf32>
      }
    }
  }
}"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("%x[%e, %do + %di]", "%x[%e, %do + %di + 1]"),  # of what is only read any columns may be
    ],
)
def test_columns_that_may_be_divided_anywhere(old: str, new: str) -> None:
    assert divided(LOOP.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%b = loop.load %y[%row, %do + %di]", "%b = loop.load %y[%row, %do + %di + 1]"),  # a neighbour's element
        ("loop.load %x[%e, %do + %di]", "loop.load %x[%e, %di]"),  # what is the part's, not the column's
        ("loop.load %x[%e, %do + %di] mask %m", "loop.load %x[%e, %do + %di]"),  # beyond the row of another part
        ("%x[%e, %do + %di]", "%x[%do, %do + %di]"),
        ("%x[%e, %do + %di] mask", "%x[%e, %do + %di] step 2 mask"),
        ("%p[%e]", "%p[%do]"),
        ("%row = arith.index_cast %at : i64 to index", "%row = arith.minsi %do, %e : index"),
        ("%left = arith.subi %D, %do", "%left = arith.subi %D, %e"),
        ("%left = arith.subi %D, %do", "%left = arith.addi %D, %do"),
        ("arith.constant 32", "arith.constant 16"),  # parts leave columns out
        ("%di = 0 to 32 step 32", "%di = 0 to 64 step 32"),
        ("parallel %do = 0 to", "parallel %do = 32 to"),
    ],
)
def test_parts_that_stay_as_they_are(old: str, new: str) -> None:
    assert old in LOOP
    assert not divided(LOOP.replace(old, new))


def divided(text: str) -> bool:
    """Whether columns of the parallel loop in a kernel may be divided anywhere."""
    loop: Any = next(op for op in parse(text).walk() if op.name == "loop.for")
    return find_columns(loop) is not None

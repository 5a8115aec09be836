"""The grain of parallel loops: enough chunks for many threads, none for little work, results that do not know the threads."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import replace
from pathlib import Path

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina import nn
from lamina.codegen.compile import compile_object
from lamina.codegen.targets import host
from lamina.codegen.thread_runtime import load_object
from lamina.dialects.loop import grain
from lamina.dialects.loop.loops import ForOp, KernelOp
from lamina.lowering.analysis.placement import region_of
from lamina.lowering.default_threads import place_loops
from lamina.lowering.target import set_target

sys.path.insert(0, str(Path(__file__).parent.parent))
from chunks import PROGRAMS, batched, chunks, conv, product, scheduled, shared, spec
from emitting import emit, parse

SUBSTANTIAL = 1e7
"""Operations, 3 ms of one thread, of which many threads should have their share."""

FEWER = {
    # narrow blocks of columns would read each row of a matrix, which is in a page of its own, in short pieces
    "matmul 2x1024x4096": 8,
    "matmul 16x1024x4096": 8,
    "matmul 32x1024x4096": 16,
    "matmul 64x1024x4096": 32,
    "vecmat 4096": 4,
    # rows of a block read the packed columns again from the second-level cache
    "matmul 128x4096x128": 4,
    "matmul 512x4096x512": 8,
    "matmul 1536": 32,
    "matmul 2048": 32,
    "matmul 1024 f64": 32,
    # rows of tiles; blocks of features within one would each transform the image again
    "conv 3x3 of 1": 14,
    "conv 3x3 of 2": 28,
    # blocks of tiles, or of features, each of which transforms filters or reads the image again
    "conv 3x3 256": 8,
    "conv 3x3 512": 16,
    "conv 3x3 stride 2": 4,
    # as many rounds of 64 threads, and as full, as of twice as many
    "conv 7x7": 56,
    "conv 7x7 of 2": 56,
    # blocks of queries read all keys
    "attention 12x128": 24,
    # whole cache lines of a row
    "segment sum": 2,
}
"""Chunks of programs that have fewer than `CHUNKS` on some target, and why."""


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v3{l2=256K l3=0}"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_large_regions_have_chunks_for_many_threads(name: str, target: str) -> None:
    found = [region for region in chunks(name, target) if region.work >= SUBSTANTIAL]
    least = FEWER.get(name, grain.CHUNKS)
    assert all(region.chunks >= least for region in found), found


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"])
@pytest.mark.parametrize(
    "program",
    [
        product(16, 16, 16),
        product(1, 100, 100),
        batched(3, 8),
        conv(1, 3, 8, 4, 3),
        PROGRAMS["exp 1000"],
        PROGRAMS["sum 10000"],
    ],
    ids=["product", "vector", "batch", "convolution", "exp", "sum"],
)
def test_small_programs_do_not_go_to_threads(program: tuple, target: str) -> None:
    function, *specs = program
    assert shared(scheduled(function, tuple(specs), target)) == []


@pytest.mark.parametrize("near", [256, 384, 512, 768, 1024])
def test_sizes_that_are_neighbours_have_as_many_chunks(near: int) -> None:
    for n in range(near - 3, near + 4):
        function, *specs = product(n, n, n)
        (*_, largest) = sorted(shared(scheduled(function, tuple(specs), "x86-64-v3")), key=lambda region: region.work)
        assert largest.chunks >= grain.CHUNKS, (n, largest)


@pytest.mark.parametrize("function", [lnp.exp, lambda x: x.T + 1, lambda x: lnp.sum(x, axis=1), nn.softmax])
@pytest.mark.parametrize("rows", [1, 2, 7, 63, 64, 65, 1009])
def test_few_rows_have_chunks_too(function, rows: int) -> None:
    found = shared(scheduled(function, (spec(rows, 4_000_000 // rows),), "x86-64-v3"))
    assert found
    if function is not nn.softmax:  # whose rows are reduced in one thread, unless there is one
        assert all(region.chunks >= 48 for region in found if region.work >= SUBSTANTIAL / 8), found


# --------------------------------------------------------------------------------------------------------------------
# Loops that are divided together

COUNTED = """
define internal void @test.parallel(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads) {
  %size = load i64, ptr @piece
  store i64 %count, ptr @seen
  br label %head
head:
  %end = phi i64 [ %count, %0 ], [ %begin, %one ]
  %on = icmp sgt i64 %end, 0
  br i1 %on, label %one, label %out
one:
  %rest = sub i64 %end, %size
  %low = icmp slt i64 %rest, 0
  %begin = select i1 %low, i64 0, i64 %rest
  call void %body(ptr %data, i64 %begin, i64 %end)
  br label %head
out:
  ret void
}
@piece = global i64 0
@seen = global i64 0
"""

NESTS = {
    "two loops": (
        "",
        """loop.for parallel %i = 0 to 5 {
      loop.for parallel %j = 0 to 7 { BODY } }""",
        35,
    ),
    "steps and starts": (
        "",
        """loop.for parallel %i = 1 to 5 step 2 {
      loop.for parallel %j = 3 to 12 step 4 { BODY } }""",
        6,
    ),
    "three loops": (
        "",
        """loop.for parallel %h = 0 to 3 {
      loop.for parallel %i = 0 to 4 {
        loop.for parallel %j = 0 to 6 { BODY } } }""",
        72,
    ),
    "a last block that is not full": (
        "",
        """loop.for parallel %h = 0 to 10 step 4 {
      loop.for parallel %j = 0 to min(4, 10 - %h) {
        loop.for parallel %i = 0 to 3 { BODY } } }""",
        36,
    ),
    "a copy for each": (
        "",
        """loop.for parallel %i = 0 to 6 {
      %t = loop.alloc stack : memref<12xi64>
      loop.for seq %c = 0 to 12 {
        %v = loop.load %x[%c] : memref<12xi64>
        loop.store %v, %t[%c] : memref<12xi64>
      }
      loop.for parallel %j = 0 to 9 {
        %a = loop.load %t[%j] : memref<12xi64>
        LOADED } }""",
        54,
    ),
    "what comes before writes": (
        "",
        """loop.for parallel %i = 0 to 6 {
      %z = arith.constant 1 : i64
      loop.store %z, %out[11, %i] : memref<12x12xi64>
      loop.for parallel %j = 0 to 9 { BODY } }""",
        6,
    ),
    "what comes before reads what is written": (
        "",
        """loop.for parallel %i = 0 to 6 {
      %w = loop.load %out[%i, 11] : memref<12x12xi64>
      loop.for parallel %j = 0 to 9 { BODY } }""",
        6,
    ),
    "a memory that may be the same": (
        " in_place(%out over %x)",
        """loop.for parallel %i = 0 to 6 {
      %w = loop.load %x[%i] : memref<12xi64>
      loop.for parallel %j = 0 to 9 { BODY } }""",
        6,
    ),
    "what comes after": (
        "",
        """loop.for parallel %i = 0 to 6 {
      loop.for parallel %j = 0 to 9 { BODY }
      %z = arith.constant 1 : i64
      loop.store %z, %out[%i, 11] : memref<12x12xi64> }""",
        6,
    ),
}
LOADED = """%b = loop.load %out[%i, %j] : memref<12x12xi64>
        %c1 = arith.addi %a, %b : i64
        loop.store %c1, %out[%i, %j] : memref<12x12xi64>"""
BODY = "%a = loop.load %x[%j] : memref<12xi64>\n        " + LOADED


@pytest.mark.parametrize("name", NESTS)
def test_each_iteration_runs_once_whatever_the_pieces(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each element of the result gets something added once for each time that its iteration runs."""
    attributes, nest, count = NESTS[name]
    for limit, value in {"WORTH_OPS": 0, "LEAST_CHUNK_OPS": 0, "MOST_AGAIN": np.inf}.items():
        monkeypatch.setattr(grain, limit, value)
    nest = nest.replace("BODY", BODY).replace("LOADED", LOADED)
    text = f"loop.kernel @k(%x: memref<12xi64>, %out: memref<12x12xi64>){attributes} {{\n{nest}\n}}"
    verify = not attributes  # memory of two types is never the same
    module = parse(text, verify)
    set_target(module, replace(host(), wake_ops=0))
    place_loops(module)
    (kernel,) = [op for op in module.walk() if isinstance(op, KernelOp)]
    outer = next(op for op in kernel.body.block.ops if isinstance(op, ForOp))
    assert region_of(outer).chunks == count
    ir = (
        emit(text, replace(host(), wake_ops=0), verify).replace("call void @lamina_parallel(", "call void @test.parallel(")
        + COUNTED
    )
    library = load_object(compile_object(ir), ["k", "piece", "seen"])
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2)(library.address("k"))
    x, results = np.arange(1, 13, dtype=np.int64), []
    for piece in (1000, 1, 2, 3, 5, 7, 11, 34):
        ctypes.c_int64.from_address(library.address("piece")).value = piece
        out = np.zeros((12, 12), np.int64)
        function(x.ctypes.data, out.ctypes.data)
        assert ctypes.c_int64.from_address(library.address("seen")).value == count
        results.append(out)
    assert results[0].any()
    for out in results[1:]:
        np.testing.assert_array_equal(out, results[0])


# --------------------------------------------------------------------------------------------------------------------
# Any number of threads

SMALLER = {
    "product": product(130, 90, 210),
    "packed product": product(300, 200, 260),
    "deep product": product(300, 2100, 70),
    "few rows": product(5, 600, 2000),
    "products": batched(3, 150),
    "doubles": product(260, 170, 190, "float64"),
    "convolution": conv(2, 16, 30, 48, 3),
    "strides": conv(2, 16, 30, 48, 3, 2),
    "depthwise": conv(2, 32, 40, 32, 3, 1, 32),
    "attention": PROGRAMS["attention 12x128"],
    "softmax": (nn.softmax, spec(3, 50_000)),
    "sum": (lnp.sum, spec(700_001)),
    "sums of rows": (lambda x: lnp.sum(x, axis=1), spec(5, 200_000)),
    "sums of columns": (lambda x: lnp.sum(x, axis=0), spec(3000, 70)),
    "elementwise": (lambda x: lnp.exp(x) * 2, spec(3, 100_003)),
    "transpose": (lambda x: x.T, spec(1003, 77)),
}


@pytest.mark.parametrize("name", SMALLER)
def test_results_are_the_same_on_any_number_of_threads(name: str) -> None:
    function, *specs = SMALLER[name]
    rng = np.random.default_rng(0)
    arguments = [rng.standard_normal(s.shape).astype(s.dtype) for s in specs]
    compiled = lm.jit(function)
    before, results = lm.get_threads(), {}
    try:
        for threads in (1, 2, 3, 7, 16, 64):
            lm.set_threads(threads)
            results[threads] = [np.asarray(compiled(*arguments)).tobytes() for _ in range(3)]
    finally:
        lm.set_threads(before)
    assert all(again == results[1][0] for found in results.values() for again in found)

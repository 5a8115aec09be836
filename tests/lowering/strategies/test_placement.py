"""The placements that loops state are proved when they are translated, and dropped when a step invalidates them."""

from __future__ import annotations

import sys
from pathlib import Path

import lamina as lm
import numpy as np
import pytest
from lamina import pipeline
from lamina.codegen.targets import host
from lamina.dialects.context import make_context
from lamina.dialects.loop.loops import ForOp
from lamina.dialects.parsing import parse_module
from lamina.errors import CompileError, ScheduleError
from lamina.executor import executor
from lamina.frontend.kernel.schedules import Schedule
from lamina.lowering.llvm.emit import emit_module
from lamina.runtime.callable import KernelFunction

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
from emitting import emit, parse
from test_columns import segment_sum

DIVIDED = """
loop.kernel @k(%x: memref<?xf32>, %y: memref<?x5x4096xf32>, %N: index) shapes(%x[%N], %y[%N, 5, 4096]) {
  loop.for parallel %i = 0 to %N PLACE {
    %t = loop.alloc stack : memref<1xf32>
    %a = loop.load %x[%i] : memref<?xf32>
    loop.store %a, %t[0] : memref<1xf32>
    loop.for parallel %j = 0 to 5 {
      loop.for seq %k = 0 to 4096 {
        %b = loop.load %t[0] : memref<1xf32>
        %c = loop.load %y[%i, %j, %k] : memref<?x5x4096xf32>
        %d = arith.addf %b, %c : f32
        loop.store %d, %y[%i, %j, %k] : memref<?x5x4096xf32>
      }
    }
  }
}"""


@pytest.mark.parametrize("place", ["threads", "threads(collapse 2)", "outlined"])
def test_results_are_the_same_wherever_loops_run(place: str) -> None:
    function = KernelFunction(executor.kernel(parse(DIVIDED.replace("PLACE", place))))
    before = lm.get_threads()
    try:
        for count in (1, 2, 3):
            lm.set_threads(count)
            for n in (0, 1, 2, 3, 7):
                x, y = np.arange(n, dtype=np.float32), np.random.default_rng(n).random((n, 5, 4096), np.float32)
                want = y + x[:, None, None]
                function(x, y)
                np.testing.assert_array_equal(y, want)
    finally:
        lm.set_threads(before)


def test_chunks_of_an_open_number_are_those_of_both_loops() -> None:
    ir = emit(DIVIDED.replace("PLACE", "threads(collapse 2)"))
    count = next(line for line in ir.splitlines() if "call void @lamina_parallel" in line).split("i64 ")[1].split(",")[0]
    assert f"{count} = mul i64" in ir
    assert ir.split(f"{count} = mul i64")[1].split("\n")[0].endswith(", 5")


SEQUENCE = """
loop.kernel @k(%x: memref<64x64xf32>) {
  loop.for parallel %i = 0 to 64 PLACE {
    loop.for seq %j = FIRST to 64 {
      %a = loop.load %x[%j - 1, %i] : memref<64x64xf32>
      loop.store %a, %x[%j, %i] : memref<64x64xf32>
    }
  }
}"""
SHARED = """
loop.kernel @k(%x: memref<8xf32>, %y: memref<8x8xf32>) {
  loop.for parallel %i = 0 to 8 PLACE {
    %a = loop.load %y[%i, 0] : memref<8x8xf32>
    loop.for parallel %j = 0 to 8 {
      %b = loop.load %x[%j] : memref<8xf32>
      %c = arith.addf %a, %b : f32
      loop.store %c, %y[%i, %j] : memref<8x8xf32>
    }
  }
}"""
UNTRUE = {
    "nothing inside": (SEQUENCE, "threads(collapse 2)", "threads cannot divide 2 loops from 'i' on together"),
    "what the second thread reads is changed by the first": (SHARED, "threads(collapse 2)", "cannot divide 2 loops"),
    "more loops than there are": (DIVIDED, "threads(collapse 3)", "cannot divide 3 loops from 'i' on together"),
    "not all of the body": (SHARED, "threads(interchange)", "'i' cannot be interchanged"),
    "bounds of the iteration": (SEQUENCE.replace("FIRST", "%i"), "threads(interchange)", "'i' cannot be interchanged"),
    "elements instead of vectors": (SEQUENCE, "threads(interchange, align)", "'i' cannot be aligned"),
}


@pytest.mark.parametrize("name", UNTRUE)
def test_what_is_untrue_is_refused(name: str) -> None:
    text, place, message = UNTRUE[name]
    text = text.replace("FIRST", "1")
    with pytest.raises(CompileError, match=message):
        emit_module(parse(text.replace("PLACE", place)), host())
    s = Schedule(parse_module(make_context(), text.replace("PLACE", ""), "k.mlir"))
    options = {word: True for word in ("interchange", "align") if word in place}
    if "collapse" in place:
        options = {"collapse": int(place[-2])}
    with pytest.raises(ScheduleError, match=message):
        s.use_threads(s["i"], **options)
    assert "threads" not in str(s.module)


def schedule(text: str, place: str) -> Schedule:
    return Schedule(parse_module(make_context(), text.replace("PLACE", place).replace("FIRST", "1"), "k.mlir"))


def test_a_step_takes_back_what_it_makes_untrue() -> None:
    s = schedule(DIVIDED, "threads(collapse 2)")
    s.serialize(s["j"])
    assert "%i = 0 to %N threads {" in str(s.module)
    s.serialize(s["i"])
    assert "threads" not in str(s.module)


def test_a_step_keeps_what_stays_true() -> None:
    s = schedule(SEQUENCE, "threads(interchange)")
    s.unroll(s["j"], 3)
    assert "threads" in str(s.module)
    emit_module(s.module, host())


def test_checks_of_bounds_take_back_alignment() -> None:
    """A kernel from text is checked where its author was not: then it may stop in the middle of a row."""
    module = parse(segment_sum.default_schedule().as_text())
    assert "threads(interchange, align) {" in str(module)
    pipeline.guard_accesses(module)
    assert "loop.check" in str(module)
    assert "threads(interchange) {" in str(module)
    emit_module(module, host())


def test_threads_are_used_once() -> None:
    s = schedule(DIVIDED, "")
    s.use_threads(s["i"])
    with pytest.raises(ScheduleError, match="'i' runs on threads already"):
        s.use_threads(s["j"])
    with pytest.raises(ScheduleError, match="threads divide the loop"):
        s.outline(s["i"])
    s.outline(s["j"])
    with pytest.raises(ScheduleError, match="collapse is 1 or more"):
        schedule(DIVIDED, "").use_threads("i", collapse=2, interchange=True)


def test_a_loop_that_is_divided_is_no_function() -> None:
    s = schedule(DIVIDED, "threads(collapse 2)")
    with pytest.raises(ScheduleError, match="threads divide the loop"):
        s.outline(s["j"])


def test_text_says_where_loops_run() -> None:
    for place in ("threads", "threads(collapse 2)", "threads(interchange)", "threads(interchange, align)", "outlined"):
        module = parse(DIVIDED.replace("PLACE", place))
        assert f"%i = 0 to %N {place} {{" in str(module)
        again = parse(str(module))
        assert str(again) == str(module)
        loop = next(op for op in again.walk() if isinstance(op, ForOp))
        assert (loop.threads is None) == (place == "outlined")

"""Schedules and code follow the costs of a target; the chunks of sums do not depend on them."""

from __future__ import annotations

import re

import pytest
from lamina import pipeline
from lamina.codegen.targets import get
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.lowering.default_threads import place_loops
from lamina.lowering.llvm.emit import emit_module
from lamina.lowering.op_costs import instructions
from lamina.lowering.target import set_target, target_of

COLUMN = """
loop.kernel @column(%x: memref<512x4xTY>, %y: memref<512x4xTY>) {
  loop.for parallel %i = 0 to 512 {
    %a = loop.load %x[%i, 1] : memref<512x4xTY>
    %b = OP : TY
    loop.store %b, %y[%i, 2] : memref<512x4xTY>
  }
}
"""
"""Gathers and scatters, which vectors pay for only where much is computed of what they bring."""

LOOKUP = """
loop.kernel @lookup(%x: memref<512x4xf32>, %index: memref<512xi32>, %y: memref<512xf32>) {
  loop.for seq %i = 0 to 512 {
    %k = loop.load %index[%i] : memref<512xi32>
    %p = arith.index_cast %k : i32 to index
    %a = loop.load %x[INDEX, 3] : memref<512x4xf32>
    %b = arith.mulf %a, %a : f32
    %c = arith.addf %a, %b : f32
    loop.store %c, %y[%i] : memref<512xf32>
  }
}
"""

SCATTER = """
loop.kernel @scatter(%x: memref<512xf32>, %index: memref<512xi32>, %y: memref<512xf32>) {
  loop.for parallel %i = 0 to 512 {
    %k = loop.load %index[%i] : memref<512xi32>
    %p = arith.index_cast %k : i32 to index
    %a = loop.load %x[%i] : memref<512xf32>
    loop.store %a, %y[%p] : memref<512xf32>
  }
}
"""

GATHER = """
func.func @main(%t: tensor<100x64xf32>, %i: tensor<20000xi64>) -> tensor<20000x64xf32> {
  %y = graph.gather %t, %i at [0] : (tensor<100x64xf32>, tensor<20000xi64>) -> tensor<20000x64xf32>
  return %y : tensor<20000x64xf32>
}
"""

RUNNING = """
loop.kernel @running(%t: memref<?x64xf32>, %index: memref<?xi64>, %y: memref<?x64xf32>, %r: index, %m: index)
    shapes(%t[%r, 64], %index[%m], %y[%m, 64]) {
  loop.for seq %i = 0 to %m {
    loop.for seq %j = 0 to 64 {
      %a = loop.load %index[%i] : memref<?xi64>
      %p = arith.index_cast %a : i64 to index
      %b = loop.load %t[%p, %j] : memref<?x64xf32>
      loop.store %b, %y[%i, %j] : memref<?x64xf32>
    }
  }
}
"""

SUM = """
func.func @main(%x: tensor<1000000xTY>) -> tensor<TY> {
  %a = graph.sqrt %x : tensor<1000000xTY>
  %b = graph.div %a, %x : tensor<1000000xTY>
  %c = graph.exp %b : tensor<1000000xTY>
  %s = graph.reduce add %c over [0] : tensor<1000000xTY> -> tensor<TY>
  return %s : tensor<TY>
}
"""


def compiled(text: str, target: str, phase: str = "scheduled") -> str:
    module = parse_module(make_context(), text, "m")
    set_target(module, get(target))
    result = pipeline.compile_to(module, phase)
    assert isinstance(result, str)
    return result


@pytest.mark.parametrize("ty", ["f32", "f64"])
@pytest.mark.parametrize(("op", "option"), [("arith.divf %a, %a", "div"), ("math.sqrt %a", "sqrt"), ("math.exp %a", "exp")])
def test_vectors_pay_where_an_op_is_expensive(ty, op, option):
    text = COLUMN.replace("OP", op).replace("TY", ty)
    dear, cheap = ("1/900", "900/1") if ty == "f64" else ("900/1", "1/900")
    assert "vector<" in compiled(text, f"x86-64-v3{{gather=4 {option}={dear}}}")
    assert "vector<" not in compiled(text, f"x86-64-v3{{gather=4 {option}={cheap}}}")


@pytest.mark.parametrize("index", ["%i", "%p"])
def test_vectors_pay_where_gathers_are_cheap(index):
    text = LOOKUP.replace("INDEX", index)
    assert "vector<" in compiled(text, "x86-64-v3{gather=0.1}")
    assert "vector<" not in compiled(text, "x86-64-v3{gather=900}")


def test_scatters_cost_more_than_gathers():
    assert "vector<" in compiled(SCATTER, "x86-64-v3{scatter=0.1}")
    assert "vector<" not in compiled(SCATTER, "x86-64-v3{scatter=900}")


def test_results_go_past_the_caches_from_a_size_on():
    for stream, past in (("4M", True), ("1K", True), ("8M", False), ("0", False)):
        assert ("nontemporal" in compiled(GATHER, f"x86-64-v3{{stream={stream}}}", "llvmir")) == past


def test_sizes_of_running_code_are_compared_with_that_of_the_target():
    text = compiled(RUNNING, "x86-64-v4{stream=3M}", "llvmir")
    assert "nontemporal" in text and re.search(rf"icmp slt i64 %\S+, {3 << 20}$", text, re.M)
    assert "nontemporal" not in compiled(RUNNING, "x86-64-v4{stream=0}", "llvmir")


@pytest.mark.parametrize("ty", ["f32", "f64"])
def test_parts_of_sums_do_not_depend_on_costs(ty):
    text = SUM.replace("TY", ty)
    usual = compiled(text, "x86-64-v3").partition("\n")[2]
    assert "reduce" in usual
    for costs in ("div=1/1 sqrt=1/1 exp=1/1", "div=900/900", "sqrt=900/900 exp=900/900", "wake=1M stream=0"):
        assert compiled(text, f"x86-64-v3{{{costs}}}").partition("\n")[2] == usual


def test_rules_of_the_language_count_without_a_target():
    text = COLUMN.replace("OP", "math.sqrt %a").replace("TY", "f64")
    op = next(op for op in parse_module(make_context(), text, "m").walk() if op.name == "math.sqrt")
    assert instructions(op) == 5
    assert instructions(op, get("x86-64-v3{sqrt=7/31}")) == 31


def test_what_waking_costs_decides_which_loops_get_threads():
    text = """
    loop.kernel @k(%x: memref<200000xf32>, %y: memref<200000xf32>) {
      loop.for parallel %i = 0 to 200000 {
        %a = loop.load %x[%i] : memref<200000xf32>
        loop.store %a, %y[%i] : memref<200000xf32>
      }
    }"""
    for wake, expected in (("64K", True), ("16M", False)):
        module = parse_module(make_context(), text, "k.mlir")
        set_target(module, get(f"x86-64-v3{{wake={wake}}}"))
        place_loops(module)
        assert ("threads {" in str(module)) == expected
        assert ("@lamina_parallel" in emit_module(module, target_of(module))) == expected

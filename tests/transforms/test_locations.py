"""Locations of derivatives and batches: ops built from an op, and errors about it, have the op's location."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from graphs import EXPAND, function_of, parse, run
from lamina.tools.lamina_opt import main

REFUSED = Path(__file__).parent.parent.parent / "filecheck" / "transforms" / "graph-autodiff-invalid.mlir"

TEXT = """
func.func private @step(%i: tensor<i64>, %h: tensor<3xf64>) -> tensor<3xf64> {
  %a = graph.sin %h : tensor<3xf64>
  return %a : tensor<3xf64>
}
func.func private @f(%x: tensor<3xf64>, %w: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %a = graph.exp %x : tensor<3xf64>
  %b = graph.softmax %a over [0] : tensor<3xf64>
  %c = graph.for @step count 2 consts() carry(%b) over() : (tensor<3xf64>) -> (tensor<3xf64>)
  %d = graph.const dense<2.0> : tensor<3xf64>
  return %c, %d : tensor<3xf64>, tensor<3xf64>
}
func.func @jvp(%x: tensor<3xf64>, %t: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %y, %k, %d, %zero = graph.jvp @f(%x, %x) tangents(%t) wrt [0]
    : (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>)
  return %d, %zero : tensor<3xf64>, tensor<3xf64>
}
func.func @vjp(%x: tensor<3xf64>, %t: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %y, %k, %d, %zero = graph.vjp @f(%x, %t) cotangents(%t, %t) wrt [0, 1]
    : (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>)
    -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>)
  return %d, %zero : tensor<3xf64>, tensor<3xf64>
}
func.func @vmap(%x: tensor<2x3xf64>, %w: tensor<3xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>) {
  %y, %k = graph.vmap @f(%x, %w) axes [0, -1] : (tensor<2x3xf64>, tensor<3xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>)
  return %y, %k : tensor<2x3xf64>, tensor<2x3xf64>
}
"""
SIN, EXP, SOFTMAX, LOOP, CONST, JVP, VJP, VMAP = 3, 7, 8, 9, 10, 14, 19, 25


def lines_of(module, name: str, ops: str = "graph.") -> list[int]:
    """The lines at which ops of a function stand."""
    block = function_of(module, name).body.block
    return [op.location.line.data for op in block.ops if op.name.startswith(ops)]


def test_what_is_built_stands_where_its_op_does() -> None:
    module = run(parse(TEXT), EXPAND)
    forward = lines_of(module, "jvp")
    assert forward[0] == JVP and forward[1:] == sorted(forward[1:]) and {*forward} == {EXP, SOFTMAX, LOOP, CONST, JVP}
    reverse = lines_of(module, "vjp")
    assert reverse[-1] == VJP and {*reverse} == {EXP, SOFTMAX, LOOP, CONST, VJP}
    assert lines_of(module, "vmap") == [EXP, SOFTMAX, LOOP, CONST, VMAP]
    loops = {name: lines_of(module, name, "graph.for") for name in ("jvp", "vjp", "vmap")}
    assert loops == {"jvp": [LOOP], "vjp": [LOOP] * 2, "vmap": [LOOP]}, "a loop that is superseded stays"
    for suffix in ("jvp", "saving", "tangent", "tangent_transposed", "batched"):
        body = function_of(module, f"step_{suffix}")
        assert body.location.line.data == LOOP and lines_of(module, f"step_{suffix}", "func.return") == [LOOP]
        assert {*lines_of(module, f"step_{suffix}")} == {SIN}


def test_zeros_stand_where_their_derivative_does() -> None:
    text = """
func.func private @step(%i: tensor<i64>, %w: tensor<f64>, %h: tensor<f64>) -> tensor<f64> {
  %a = graph.sin %h : tensor<f64>
  return %a : tensor<f64>
}
func.func private @f(%x: tensor<f64>, %w: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %c = graph.for @step count 2 consts(%w) carry(%x) over() : (tensor<f64>, tensor<f64>) -> (tensor<f64>)
  %k = graph.const dense<2.0> : tensor<f64>
  return %c, %k : tensor<f64>, tensor<f64>
}
func.func @jvp(%x: tensor<f64>, %w: tensor<f64>) -> tensor<f64> {
  %y, %k, %d, %zero = graph.jvp @f(%x, %w) tangents(%x, %w) wrt [0, 1]
    : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
  return %zero : tensor<f64>
}
func.func @vjp(%x: tensor<f64>, %w: tensor<f64>) -> tensor<f64> {
  %y, %k, %dx, %dw = graph.vjp @f(%x, %w) cotangents(%x, %x) wrt [0, 1]
    : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
  return %dw : tensor<f64>
}
"""
    loop, jvp = 7, 12
    module = run(parse(text), EXPAND)
    assert lines_of(module, "jvp")[-1] == jvp
    of_loop = [op for op in function_of(module, "step_tangent_transposed").body.block.ops if op.name == "graph.const"]
    assert of_loop and {op.location.line.data for op in of_loop} == {loop}


def test_what_no_batch_reaches_stays() -> None:
    """Ops, and loops, of operands without a batch are copied with their places."""
    text = """
func.func private @step(%i: tensor<i64>, %h: tensor<f64>) -> tensor<f64> {
  %a = graph.sin %h : tensor<f64>
  return %a : tensor<f64>
}
func.func private @f(%x: tensor<f64>, %w: tensor<f64>) -> tensor<f64> {
  %e = graph.exp %w : tensor<f64>
  %c = graph.for @step count 2 consts() carry(%e) over() : (tensor<f64>) -> (tensor<f64>)
  %s = graph.mul %x, %c : tensor<f64>
  return %s : tensor<f64>
}
func.func @main(%x: tensor<3xf64>, %w: tensor<f64>) -> tensor<3xf64> {
  %y = graph.vmap @f(%x, %w) axes [0, -1] : (tensor<3xf64>, tensor<f64>) -> (tensor<3xf64>)
  return %y : tensor<3xf64>
}
"""
    module = run(parse(text), EXPAND)
    exp, loop, _, mul, _ = function_of(module, "main").body.block.ops
    assert loop.name == "graph.for" and str(loop.properties["callee"]) == "@step"
    assert [op.location.line.data for op in (exp, loop, mul)] == [7, 8, 9]


def test_names_of_bodies_that_are_taken() -> None:
    uses = "\n".join(
        f"  %y{k}, %d{k} = graph.jvp @f(%x) tangents(%x) wrt [0] : (tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)"
        for k in range(3)
    )
    text = f"""
func.func private @step(%i: tensor<i64>, %h: tensor<f64>) -> tensor<f64> {{
  %a = graph.sin %h : tensor<f64>
  return %a : tensor<f64>
}}
func.func private @f(%x: tensor<f64>) -> tensor<f64> {{
  %c = graph.for @step count 2 consts() carry(%x) over() : (tensor<f64>) -> (tensor<f64>)
  return %c : tensor<f64>
}}
func.func @main(%x: tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>) {{
{uses}
  return %d0, %d1, %d2 : tensor<f64>, tensor<f64>, tensor<f64>
}}"""
    module = run(parse(text), EXPAND)
    names = [op.sym_name.data for op in module.body.block.ops]  # type: ignore[attr-defined]
    assert names == ["step", "f", "main", "step_jvp", "step_jvp_1", "step_jvp_2"]


def test_refusals(capfd: pytest.CaptureFixture[str]) -> None:
    """The diagnostics of the FileCheck file, which says at which op each stands."""
    status = main([str(REFUSED), "-p", EXPAND, "--split-input-file", "--verify-diagnostics"])
    assert status == 0, capfd.readouterr()

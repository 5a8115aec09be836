"""Where derivatives and batches stand: what is built of an op, and what is said about it, at the op's own place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from graphs import EXPAND, function_of, parse, run
from lamina.dialects.graph.base import GraphOp
from lamina.tools.lamina_opt import main

REFUSED = Path(__file__).parent.parent.parent / "filecheck" / "transforms" / "graph-autodiff-invalid.mlir"

TEXT = """
func.func private @step(%i: tensor<i64>, %h: tensor<3xf64>) -> tensor<3xf64> {
  %a = graph.sin %h : tensor<3xf64>
  return %a : tensor<3xf64>
}
func.func private @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %a = graph.exp %x : tensor<3xf64>
  %b = graph.softmax %a over [0] : tensor<3xf64>
  %c = graph.for @step count 2 consts() carry(%b) over() : (tensor<3xf64>) -> (tensor<3xf64>)
  return %c : tensor<3xf64>
}
func.func @jvp(%x: tensor<3xf64>, %t: tensor<3xf64>) -> tensor<3xf64> {
  %y, %d = graph.jvp @f(%x) tangents(%t) wrt [0] : (tensor<3xf64>, tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>)
  return %d : tensor<3xf64>
}
func.func @vjp(%x: tensor<3xf64>, %t: tensor<3xf64>) -> tensor<3xf64> {
  %y, %d = graph.vjp @f(%x) cotangents(%t) wrt [0] : (tensor<3xf64>, tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>)
  return %d : tensor<3xf64>
}
func.func @vmap(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = graph.vmap @f(%x) axes [0] : (tensor<2x3xf64>) -> (tensor<2x3xf64>)
  return %y : tensor<2x3xf64>
}
"""


def lines_of(module, name: str) -> list[int]:
    """The lines at which the ops of a function stand."""
    ops = function_of(module, name).body.block.ops
    return [op.location.line.data for op in ops if isinstance(op, GraphOp) or op.name == "graph.for"]


def test_what_is_built_stands_where_its_op_does() -> None:
    module = run(parse(TEXT), EXPAND)
    exp, softmax, loop = 7, 8, 9
    forward, reverse = lines_of(module, "jvp"), lines_of(module, "vjp")
    assert {exp, softmax, loop} <= set(forward) <= {exp, softmax, loop} and forward == sorted(forward)
    assert {exp, softmax, loop} <= set(reverse) <= {exp, softmax, loop, 16}
    assert lines_of(module, "vmap") == [exp, softmax, loop]
    bodies = [op.sym_name.data for op in module.body.block.ops if op.sym_name.data.startswith("step_")]  # type: ignore[attr-defined]
    assert len(bodies) == 5 and all(set(lines_of(module, name)) <= {3, loop} for name in bodies)


def test_refusals(capfd: pytest.CaptureFixture[str]) -> None:
    """The diagnostics of the FileCheck file, which says at which op each stands."""
    status = main([str(REFUSED), "-p", EXPAND, "--split-input-file", "--verify-diagnostics"])
    assert status == 0, capfd.readouterr()

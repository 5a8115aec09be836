"""Validation: right passes pass, the wrong one is named with an input that shows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from lamina import pipeline
from lamina.debugging.validate import ValidationError, validate_each
from lamina.dialects.context import make_context
from lamina.dialects.graph.builder import GraphBuilder
from lamina.dialects.parsing import parse_module
from lamina.transforms.graph_cse import GraphCsePass
from lamina.transforms.graph_simplify import GraphSimplifyPass
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

PROGRAM = """
func.func private @f(%x: tensor<4xf32>) -> tensor<f32> {
  %0 = graph.mul %x, %x : tensor<4xf32>
  %1 = graph.reduce add %0 over [0] : tensor<4xf32> -> tensor<f32>
  func.return %1 : tensor<f32>
}
func.func @main(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %one = graph.const dense<1.0> : tensor<f32>
  %y, %g = graph.vjp @f(%x) cotangents(%one) wrt [0] : (tensor<4xf32>, tensor<f32>) -> (tensor<f32>, tensor<4xf32>)
  %a = graph.abs %g : tensor<4xf32>
  %m = graph.add %n, %n : tensor<4xi32>
  func.return %a, %m : tensor<4xf32>, tensor<4xi32>
}
"""


@dataclass(frozen=True)
class DropAbs(ModulePass):
    """Wrong on purpose: abs(x) -> x."""

    name = "drop-abs"

    def apply(self, ctx, op):
        for inner in list(op.walk()):
            if inner.name == "graph.abs":
                inner.results[0].replace_all_uses_with(inner.operands[0])
                inner.detach()
                inner.erase()


def module():
    return parse_module(make_context(), PROGRAM)


def test_the_whole_pipeline_keeps_the_meaning():
    target = module()
    steps = [step.make() for step in pipeline.steps_to(target, "program")]
    report = validate_each(target, steps, make_context())
    assert report.runs > 20
    assert report.skipped == []


def test_the_wrong_pass_is_named_with_an_input():
    target = module()
    steps = [step.make() for step in pipeline.steps_to(target, "optimized")]
    with pytest.raises(ValidationError, match=r"pass 'drop-abs' changed the meaning of @main: on the normal input") as caught:
        validate_each(target, [*steps, GraphCsePass(), DropAbs(), GraphSimplifyPass()], make_context())
    assert caught.value.pass_name == "drop-abs"
    # minimised: as many elements as can be are 0 or 1, and what is left is negative
    (x, n) = caught.value.inputs
    assert (x < 0).sum() == 1 and np.isin(n, (0, 1)).all()


def test_edges_are_tried():
    target = parse_module(
        make_context(),
        """func.func @main(%n: tensor<64xi32>) -> tensor<64xi32> {
             %m = graph.add %n, %n : tensor<64xi32>
             func.return %m : tensor<64xi32>
           }""",
    )
    # wraps at the minimum: only -2**31 and numbers that wrap to it tell the difference
    with pytest.raises(ValidationError, match="on the edge input"):
        validate_each(target, [_WrongAtMinimum()], make_context())


@dataclass(frozen=True)
class _WrongAtMinimum(ModulePass):
    name = "wrong-at-minimum"

    def apply(self, ctx, op):
        for inner in list(op.walk()):
            if inner.name == "graph.add":
                b = GraphBuilder(InsertPoint.before(inner))
                x = inner.operands[0]
                lowest = b.cmp(x, b.full_like(x, -(2**31)), predicate="eq")
                value = b.select(lowest, b.full_like(x, 1), b.add(x, x))
                inner.results[0].replace_all_uses_with(value)
                inner.detach()
                inner.erase()
                return

"""The work of host functions, which decides about threads."""

from __future__ import annotations

import pytest
from lamina import pipeline
from lamina.dialects import program
from lamina.dialects.context import make_context
from xdsl.parser import Parser

LOOP = """func.func private @step(%i: tensor<i64>, %h: tensor<4xf32>) -> tensor<4xf32> {{
  %1 = graph.neg %h : tensor<4xf32>
  return %1 : tensor<4xf32>
}}
func.func @main(%h: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = graph.for @step count {} consts() carry(%h) over() : (tensor<4xf32>) -> (tensor<4xf32>)
  return %0 : tensor<4xf32>
}}
"""


@pytest.mark.parametrize(
    ("count", "least"), [(1000, 4000), ((1 << 63) - 1, (1 << 63) - 1)], ids=["many", "more_than_64_bits_hold"]
)
def test_a_loop_has_the_work_of_its_iterations(count: int, least: int) -> None:
    ctx = make_context()
    module = Parser(ctx, LOOP.format(count)).parse_module()
    pipeline.run_to(module, "program", ctx)
    module.verify()
    work = {op.sym_name.data: op.work for op in module.ops if isinstance(op, program.FuncOp)}["main"]
    assert work is not None and least <= work.value.data < 1 << 63

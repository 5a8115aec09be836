"""The reference interpreter: every level of one program gives one result, and faults are found."""

from __future__ import annotations

import numpy as np
import pytest
from lamina import pipeline
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.runtime.interpreter import InterpreterError, interpret

PROGRAM = """
func.func @main(%x: tensor<5x7xf32>, %w: tensor<7x3xf32>) -> (tensor<5x3xf32>, tensor<5xi64>, tensor<3xf32>) {
  %h = graph.dot %x, %w contract [1] with [0] : (tensor<5x7xf32>, tensor<7x3xf32>) -> tensor<5x3xf32>
  %y = graph.softmax %h over [1] : tensor<5x3xf32>
  %a = graph.argmax %y along 1 : tensor<5x3xf32> -> tensor<5xi64>
  %r = graph.reverse %y dims [0] : tensor<5x3xf32>
  %s = graph.reduce max %r over [0] : tensor<5x3xf32> -> tensor<3xf32>
  func.return %y, %a, %s : tensor<5x3xf32>, tensor<5xi64>, tensor<3xf32>
}
"""


def parse(text: str):
    return parse_module(make_context(), text)


def test_every_phase_gives_the_result_of_numpy():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(5, 7)).astype(np.float32), rng.normal(size=(7, 3)).astype(np.float32)
    e = np.exp((x @ w) - (x @ w).max(1, keepdims=True))
    y = e / e.sum(1, keepdims=True)
    module = parse(PROGRAM)
    seen = []

    def each(step, module):
        got = interpret(module, "main", [x, w])
        np.testing.assert_allclose(got[0], y, rtol=1e-5, err_msg=step.name)
        np.testing.assert_array_equal(got[1], y.argmax(1), err_msg=step.name)
        np.testing.assert_allclose(got[2], y.max(0), rtol=1e-5, err_msg=step.name)
        seen.append(step.name)

    pipeline.run_to(module, "program", each=each)
    assert seen[-1] == "loop-drop-signs"


def kernel(body: str) -> str:
    return f"""
program.func @main(%x: memref<8xf32>) -> (%y: memref<8xf32>) {{
  loop.launch @k(%x, %y) : (memref<8xf32>, memref<8xf32>)
}}
loop.kernel @k(%x: memref<8xf32>, %y: memref<8xf32>) {{
{body}
}}
"""


def test_loops_carry_branch_and_mask():
    text = kernel("""
  %zero = arith.constant 0.0 : f32
  %mask = arith.constant dense<[true, false, true, true]> : vector<4xi1>
  %limit = arith.constant 3 : index
  %last = loop.for seq %i = 0 to 8 carry %acc = %zero : f32 {
    %a = loop.load %x[%i] : memref<8xf32>
    %small = arith.cmpi slt, %i, %limit : index
    %t = loop.if %small -> f32 {
      loop.yield %a : f32
    } else {
      loop.yield %zero : f32
    }
    %s = arith.addf %acc, %t : f32
    loop.store %s, %y[%i] : memref<8xf32>
    loop.yield %s : f32
  }
  %v = loop.load %x[0] step 2 mask %mask : memref<8xf32>, vector<4xf32>
  loop.store %v, %y[4] mask %mask : memref<8xf32>, vector<4xf32>
""")
    x = np.arange(1, 9, dtype=np.float32)
    (y,) = interpret(parse(text), "main", [x])
    np.testing.assert_array_equal(y, [1, 3, 6, 6, 1, 6, 5, 7])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%v = loop.load %x[8] : memref<8xf32>", "index 8 of dim 0 is out of bounds"),
        ("%v = loop.load %x[6] : memref<8xf32>, vector<4xf32>", "out of bounds"),
        ("loop.for seq %i = 0 to 9 {\n%v = loop.load %x[%i - 1] : memref<8xf32>\n}", "index -1 of dim 0 is out of bounds"),
    ],
)
def test_accesses_out_of_bounds_are_found(body: str, message: str):
    with pytest.raises(InterpreterError, match=message) as caught:
        interpret(parse(kernel(body)), "main", [np.zeros(8, np.float32)])
    assert caught.value.op.name == "loop.load"


@pytest.mark.parametrize(
    ("entry", "args", "message"),
    [
        ("other", [], "no function @other to run; there are: @main"),
        ("main", [np.zeros((5, 7), np.float32)], "takes 2 arguments, got 1"),
        ("main", [np.zeros((5, 7)), np.zeros((7, 3), np.float32)], "argument 0 must be tensor<5x7xf32>, got float64"),
        ("main", [np.zeros((5, 6), np.float32), np.zeros((7, 3), np.float32)], r"argument 0 must be .* got float32\[5, 6\]"),
    ],
)
def test_arguments_are_checked(entry: str, args: list, message: str):
    with pytest.raises(InterpreterError, match=message):
        interpret(parse(PROGRAM), entry, args)


def test_memory_nobody_wrote_shows():
    text = kernel("%v = loop.load %y[0] : memref<8xf32>\nloop.store %v, %y[1] : memref<8xf32>")
    (y,) = interpret(parse(text), "main", [np.zeros(8, np.float32)])
    assert np.isnan(y).all()

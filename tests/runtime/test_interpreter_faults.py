"""Programs that the reference interpreter refuses: sizes that do not fit at run time, endless calls, too many iterations."""

from __future__ import annotations

import numpy as np
import pytest
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.runtime.interpreter import InterpreterError, TooLongError, interpret

ONES = [np.ones(2, np.float32)]


def run(text: str, args: list[np.ndarray], limit: int | None = None):
    return interpret(parse_module(make_context(), text), "main", args, limit)


@pytest.mark.parametrize("size", [1, 3])
def test_open_sizes_must_fit_when_they_are_known(size: int):
    text = """func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
      %z = graph.add %x, %y : tensor<?xf32>
      return %z : tensor<?xf32>
    }"""
    message = rf"'graph.add' op operand shapes must be equal, lhs is \[2\], rhs is \[{size}\]"
    with pytest.raises(InterpreterError, match=message) as caught:
        run(text, [*ONES, np.ones(size, np.float32)])
    assert caught.value.op.name == "graph.add"


def test_a_reshape_to_other_counts_is_refused():
    text = """func.func @main(%x: tensor<?xf32>) -> tensor<2x2xf32> {
      %z = graph.reshape %x : tensor<?xf32> -> tensor<2x2xf32>
      return %z : tensor<2x2xf32>
    }"""
    with pytest.raises(InterpreterError, match=r"'graph.reshape' op operand and result must have as many elements"):
        run(text, ONES)


def test_endless_calls_are_refused():
    text = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %z = func.call @main(%x) : (tensor<2xf32>) -> tensor<2xf32>
      return %z : tensor<2xf32>
    }"""
    with pytest.raises(InterpreterError, match="@main is called more than 64 calls deep"):
        run(text, ONES)


def test_derivatives_must_be_expanded_first():
    text = """func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      return %x : tensor<2xf32>
    }
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %y, %g = graph.vjp @f(%x) cotangents(%x) wrt [0] : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
      return %g : tensor<2xf32>
    }"""
    with pytest.raises(
        InterpreterError, match=r"'graph.vjp' op cannot be interpreted; run graph-linearize and graph-transpose"
    ):
        run(text, ONES)


def test_scalars_are_given_and_returned():
    text = """func.func @main(%x: f32, %n: i32) -> (f32, i32) {
      %z = arith.addf %x, %x : f32
      %m = arith.addi %n, %n : i32
      return %z, %m : f32, i32
    }"""
    z, m = run(text, [np.float32(1.5), np.int32(2**31 - 1)])
    assert z == np.float32(3) and z.dtype == np.float32
    assert m == -2 and m.dtype == np.int32


LOOP = """
program.func @main(%x: memref<8xf32>) -> (%y: memref<8xf32>) {
  loop.launch @k(%x, %y) : (memref<8xf32>, memref<8xf32>)
}
loop.kernel @k(%x: memref<8xf32>, %y: memref<8xf32>) {
  loop.for seq %i = 0 to 8 {
    loop.for seq %j = 0 to 8 {
      %a = loop.load %x[%j] : memref<8xf32>
      loop.store %a, %y[%i] : memref<8xf32>
    }
  }
}
"""


def test_iterations_can_be_limited():
    x = np.arange(8, dtype=np.float32)
    (y,) = run(LOOP, [x], limit=8 + 64)
    np.testing.assert_array_equal(y, np.full(8, 7))
    with pytest.raises(TooLongError, match="more loop iterations than allowed"):
        run(LOOP, [x], limit=8 + 63)


@pytest.mark.parametrize(
    ("access", "index"), [("loop.store %v, %y[5]", "8"), ("loop.store %v, %y[-1]", "-1"), ("loop.store %v, %y[8]", "8")]
)
def test_vector_stores_out_of_bounds_are_found(access: str, index: str):
    text = f"""
program.func @main(%x: memref<8xf32>) -> (%y: memref<8xf32>) {{
  loop.launch @k(%x, %y) : (memref<8xf32>, memref<8xf32>)
}}
loop.kernel @k(%x: memref<8xf32>, %y: memref<8xf32>) {{
  %v = loop.load %x[0] : memref<8xf32>, vector<4xf32>
  {access} : memref<8xf32>, vector<4xf32>
}}
"""
    with pytest.raises(InterpreterError, match="out of bounds") as caught:
        run(text, [np.zeros(8, np.float32)])
    assert caught.value.op.name == "loop.store" and index in str(caught.value)


def test_windows_stay_inside():
    text = """
program.func @main(%x: memref<4x4xf32>) -> (%y: memref<2x2xf32>) {
  %w = memref.subview %x[1, 0] [2, 2] [1, 2] : memref<4x4xf32> to memref<2x2xf32, strided<[4, 2], offset: 4>>
  "memref.copy"(%w, %y) : (memref<2x2xf32, strided<[4, 2], offset: 4>>, memref<2x2xf32>) -> ()
}
"""
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    (y,) = run(text, [x])
    np.testing.assert_array_equal(y, x[1:3, 0:4:2])
    with pytest.raises(InterpreterError, match=r"'memref.subview' op takes 2 from 3 by 1 of a dim of 4"):
        run(text.replace("[1, 0]", "[3, 0]"), [x])

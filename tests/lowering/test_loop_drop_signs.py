"""Arithmetic on unsigned integers is signless from the program on, and means the same."""

from __future__ import annotations

import numpy as np
import pytest
from lamina import pipeline
from lamina.debugging.native import Native
from lamina.debugging.validate import validate_each
from lamina.dialects.context import make_context
from lamina.dialects.dominance import verify_module
from lamina.dialects.parsing import parse_module
from lamina.dialects.types import is_unsigned, scalar_of
from lamina.runtime.interpreter import interpret
from xdsl.dialects.builtin import IntegerType, ModuleOp, VectorType

BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": lambda x, y: np.where(y == 0, 0, x // np.maximum(y, 1)),
    "rem": lambda x, y: np.where(y == 0, 0, x % np.maximum(y, 1)), "max": np.maximum, "min": np.minimum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def lowered(text: str) -> ModuleOp:
    module = parse_module(make_context(), text)
    pipeline.run_to(module, "program", make_context(), lambda *_: None)
    return module


def unsigned_arithmetic(module: ModuleOp) -> list[str]:
    return [
        op.name
        for op in module.walk()
        for value in (*op.operands, *op.results)
        if op.name.startswith(("arith.", "math."))
        and isinstance(value.type, IntegerType | VectorType)
        and is_unsigned(scalar_of(value.type))
    ]


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("name", BINARY)
def test_programs_mean_the_same(name: str, bits: int) -> None:
    kind = f"tensor<67xui{bits}>"
    module = lowered(f"""func.func @main(%x: {kind}, %y: {kind}) -> ({kind}, tensor<67xf64>, tensor<67xi1>) {{
      %a = graph.{name} %x, %y : {kind}
      %f = graph.convert %a : {kind} -> tensor<67xf64>
      %c = graph.cmp lt %x, %y : {kind}
      return %a, %f, %c : {kind}, tensor<67xf64>, tensor<67xi1>
    }}""")
    verify_module(module)
    assert not unsigned_arithmetic(module)
    rng = np.random.default_rng(bits)
    x, y = rng.integers(0, 1 << bits, (2, 67), f"u{bits // 8}")
    y[:3] = 0, 1, (1 << bits) - 1
    expected = BINARY[name](x, y).astype(x.dtype)
    a, f, c = interpret(module, "main", [x, y])
    np.testing.assert_array_equal(a, expected)
    np.testing.assert_array_equal(f, expected.astype(np.float64))
    np.testing.assert_array_equal(c, x < y)


def test_machine_code_agrees() -> None:
    text = """func.func @main(%x: tensor<9x37xui8>, %y: tensor<9x37xui8>)
        -> (tensor<9x37xui8>, tensor<9x37xf32>, tensor<9xui8>, tensor<9x37xi8>, tensor<9x37xui32>, tensor<9x37xui8>) {
      %a = graph.div %x, %y : tensor<9x37xui8>
      %c = graph.const dense<200> : tensor<9x37xui8>
      %b = graph.max %a, %c : tensor<9x37xui8>
      %f = graph.convert %b : tensor<9x37xui8> -> tensor<9x37xf32>
      %r = graph.reduce max %x over [1] : tensor<9x37xui8> -> tensor<9xui8>
      %s = graph.bitcast %b : tensor<9x37xui8> -> tensor<9x37xi8>
      %w = graph.convert %x : tensor<9x37xui8> -> tensor<9x37xui32>
      %v = graph.convert %f : tensor<9x37xf32> -> tensor<9x37xui8>
      return %b, %f, %r, %s, %w, %v
        : tensor<9x37xui8>, tensor<9x37xf32>, tensor<9xui8>, tensor<9x37xi8>, tensor<9x37xui32>, tensor<9x37xui8>
    }"""
    module = parse_module(make_context(), text)
    steps = [step.make() for step in pipeline.steps_to(module, "program")]
    report = validate_each(module, steps, make_context(), native=Native)
    assert report.runs > 20 and not report.skipped
    assert not unsigned_arithmetic(module)

"""Functions in machine code by themselves: none is blamed as they are, and a constant that is slightly wrong is seen."""

from __future__ import annotations

import pytest
from lamina.codegen.targets.host import host
from lamina.debugging.elementary import called, wrong_function
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.lowering.llvm.math import FUNCTIONS, exp
from xdsl.dialects.builtin import ModuleOp

BINARY = ("atan2", "powf")
SCALAR = ("expm1_slope", "gauss", "sech2")


def _module(type: str) -> ModuleOp:
    lines = []
    for k, name in enumerate(FUNCTIONS):
        op = f"{'scalar' if name in SCALAR else 'math'}.{name}"
        operands, types = ("%x, %x", f"({type}, {type})") if name in BINARY else ("%x", f"({type})")
        lines.append(f'  %{k} = "{op}"({operands}) {{fastmath = #arith.fastmath<none>}} : {types} -> {type}')
    return parse_module(make_context(), "func.func @f(%x: " + type + ") {\n" + "\n".join(lines) + "\n  func.return\n}")


@pytest.mark.parametrize("type", ["f32", "f64", "vector<8xf32>", "vector<7xf64>"])
def test_all_keep_their_promise(type: str) -> None:
    module = _module(type)
    assert len(called(module)) == len(FUNCTIONS)
    assert wrong_function(module, host()) is None


@pytest.mark.parametrize("index", [0, 1])
def test_a_wrong_constant_is_seen(index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    constants = list(exp.LN2["float"])
    constants[index] *= 1.1 if index else 1 + 2.0**-16
    monkeypatch.setitem(exp.LN2, "float", tuple(constants))
    said = wrong_function(_module("f32"), host())
    assert said is not None and "'math.exp' of float32" in said and "units in the last place" in said
    assert wrong_function(_module("f64"), host()) is None


def test_other_modules_call_none() -> None:
    module = parse_module(make_context(), "func.func @f(%x: tensor<4xf32>) { func.return }")
    assert called(module) == {}
    assert wrong_function(module, host()) is None

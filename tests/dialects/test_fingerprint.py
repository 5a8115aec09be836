"""Fingerprints of modules: different wherever their texts are."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from lamina.dialects.context import make_context
from lamina.dialects.fingerprint import fingerprint
from lamina.dialects.parsing import parse_module
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, TensorType, UnitAttr, f32
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError, VerifyException

CONTEXT = make_context()
EXAMPLES = sorted((Path(__file__).parents[2] / "filecheck" / "transforms").glob("*.mlir"))

BASE = """
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c = graph.const dense<0.0> : tensor<4xf32>
  %s = graph.sub %x, %y : tensor<4xf32>
  %r = graph.reduce add %s over [0] : tensor<4xf32> -> tensor<f32>
  %t = graph.mul %s, %c : tensor<4xf32>
  return %t : tensor<4xf32>
}"""
OTHERS = [
    BASE,
    BASE.replace("dense<0.0>", "dense<-0.0>"),
    BASE.replace("dense<0.0>", "dense<0x7FC00000>"),
    BASE.replace("dense<0.0>", "dense<0x7FC00001>"),
    BASE.replace("sub %x, %y", "sub %y, %x"),
    BASE.replace("sub %x, %y", "div %x, %y"),
    BASE.replace("@f", "@g"),
    BASE.replace("%x", "%z"),
    BASE.replace("reduce add", "reduce max"),
    BASE.replace("mul %s, %c", "mul %c, %s"),
    BASE.replace("tensor<4x", "tensor<5x"),
    BASE.replace("return %t", "return %s"),
]

BRANCHES = """
func.func @f(%c: i1) {
  cf.cond_br %c, ^one, ^other
^one:
  cf.br ^other
^other:
  return
}"""


def parsed(text: str) -> ModuleOp:
    return parse_module(CONTEXT, text, "test.mlir")


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(range(len(OTHERS)), 2)])
def test_what_prints_differently_has_another_fingerprint(one: int, other: int) -> None:
    assert fingerprint(parsed(OTHERS[one])) != fingerprint(parsed(OTHERS[other]))


def test_where_ops_go_on_counts() -> None:
    other = BRANCHES.replace("^one, ^other", "^other, ^one")
    assert fingerprint(parsed(BRANCHES)) == fingerprint(parsed(str(parsed(BRANCHES)))) != fingerprint(parsed(other))


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_fingerprints_agree_with_texts(path: Path) -> None:
    """Of all operations of our examples; copies have the same one."""
    found: dict[str, str] = {}
    for part in path.read_text().split("// -----"):
        try:
            module = parsed(part)
        except (ParseError, VerifyException):  # an example of an error
            continue
        assert fingerprint(module) == fingerprint(module.clone()) == fingerprint(parsed(str(module)))
        tops: list[Operation] = list(module.body.block.ops)
        for op in tops:
            text = str(op)
            assert found.setdefault(fingerprint(op), text) == text
    assert len(set(found.values())) == len(found)


def test_signs_of_zeros_and_names_of_attributes_count() -> None:
    def module(bits: int) -> ModuleOp:
        data = np.array([bits], np.uint32).view(np.float32)
        return ModuleOp([], {"c": DenseIntOrFPElementsAttr.from_list(TensorType(f32, [1]), data.tolist())})

    assert fingerprint(ModuleOp([], {"a": UnitAttr()})) != fingerprint(ModuleOp([], {"b": UnitAttr()}))
    assert fingerprint(module(0)) != fingerprint(module(0x80000000))

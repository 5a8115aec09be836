"""Ops by their symbols, as xDSL finds them."""

from __future__ import annotations

import pytest
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.dialects.symbols import find_symbol
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Block, Operation, Region
from xdsl.traits import SymbolTable

TEXT = """
func.func private @first() -> tensor<f32>
func.func @second(%x: tensor<f32>) -> tensor<f32> {
  %y = graph.call @third(%x) : (tensor<f32>) -> (tensor<f32>)
  func.return %y : tensor<f32>
}
func.func @third(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
"""


@pytest.mark.parametrize("name", ["first", "second", "third", "fourth", "", "sym_name"])
def test_the_same_op_as_xdsl_finds(name: str) -> None:
    module = parse_module(make_context(), TEXT)
    starts: list[Operation] = [module, *(op for op in module.walk() if op.parent is not None)]
    for start in starts:
        for spelled in (name, StringAttr(name), SymbolRefAttr(name)):
            assert find_symbol(start, spelled) is SymbolTable.lookup_symbol(start, spelled)


def test_a_function_that_was_added_or_renamed_is_found_at_once() -> None:
    module = parse_module(make_context(), TEXT)
    third = find_symbol(module, "third")
    assert third is not None
    third.properties["sym_name"] = StringAttr("last")
    assert find_symbol(module, "third") is None and find_symbol(module, "last") is third
    third.detach()
    assert find_symbol(module, "last") is None and find_symbol(third, "last") is None


def test_names_in_tables_inside_of_tables() -> None:
    inner = ModuleOp([], sym_name=StringAttr("inner"))
    module = ModuleOp(Region(Block([inner])))
    inner.body.block.add_op(ModuleOp([], sym_name=StringAttr("deep")))
    found = find_symbol(module, SymbolRefAttr("inner", ["deep"]))
    assert found is not None and found.parent_op() is inner

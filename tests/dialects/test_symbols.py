"""Ops by their symbols, as xDSL finds them."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.dialects.symbols import find_symbol, forget_symbols, remember_symbol, unique_name
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
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


def module_of(*names: str) -> ModuleOp:
    return ModuleOp([FuncOp.external(name, [], []) for name in names])


def add(module: ModuleOp, base: str) -> FuncOp:
    function = FuncOp.external(unique_name(module, base), [], [])
    module.body.block.add_op(function)
    remember_symbol(function)
    return function


def test_a_symbol_is_found_after_changes():
    module = module_of("a", "b")
    a, b = module.body.block.ops
    assert find_symbol(module, "a") is a
    assert find_symbol(a, "b") is b
    a.properties["sym_name"] = StringAttr("c")
    assert find_symbol(module, "a") is None
    assert find_symbol(module, "c") is a
    b.detach()
    assert find_symbol(module, "b") is None
    new = FuncOp.external("b", [], [])
    module.body.block.insert_op_before(new, a)
    assert find_symbol(module, "b") is new


def test_a_moved_op_is_found_in_its_new_table():
    one, other = module_of("a"), module_of()
    (a,) = one.body.block.ops
    assert find_symbol(one, "a") is a
    a.detach()
    other.body.block.add_op(a)
    assert find_symbol(one, "a") is None
    assert find_symbol(other, "a") is a


def test_names_are_unique():
    module = module_of("f", "f_2")
    assert [add(module, "f").sym_name.data for _ in range(3)] == ["f_1", "f_3", "f_4"]
    find_symbol(module, "f_3").detach()  # pyright: ignore[reportOptionalMemberAccess]
    assert unique_name(module, "f") == "f_3"
    module.body.block.add_op(FuncOp.external("g", [], []))
    forget_symbols(module)
    assert unique_name(module, "g") == "g_1"


def test_steps_of_new_functions_are_linear():
    def steps(n: int) -> int:
        module, count = module_of("f"), 0

        def profile(*event: Any) -> None:
            nonlocal count
            count += 1

        sys.setprofile(profile)
        try:
            for k in range(n):
                find_symbol(module, add(module, f"f{k}").sym_name)
        finally:
            sys.setprofile(None)
        return count

    assert steps(200) < 2.2 * steps(100)

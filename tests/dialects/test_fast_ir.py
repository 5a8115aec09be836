"""The methods that replace xDSL's do what xDSL's do: compared in a process in which nothing is replaced."""

from __future__ import annotations

import subprocess
import sys

import pytest
from lamina.dialects import fast_ir
from lamina.dialects.loop.subscripts import linear_form
from xdsl.dialects.arith import AddiOp, ConstantOp
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, StringAttr, f32, i32
from xdsl.dialects.scf import ForOp
from xdsl.dialects.test import TestOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

PROGRAM = '''
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, scf, test
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.parser import Parser

TEXT = """
builtin.module {
  func.func @f(%n: index, %x: memref<4x?xf32>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %total = scf.for %i = %zero to %n step %one iter_args(%sum = %zero) -> (index) {
      %next = arith.addi %sum, %i : index
      scf.yield %next : index
    }
    "test.op"(%total, %later) ({
      "test.termop"(%total)[^bb1] : (index) -> ()
    ^bb1:
      "test.termop"()[^bb1] : () -> ()
    }) {name = "a"} : (index, i32) -> ()
    %later = "test.op"() : () -> i32
    func.return
  }
}
"""
ctx = Context(allow_unregistered=True)
for dialect in (arith.Arith, builtin.Builtin, func.Func, scf.Scf, test.Test):
    ctx.load_dialect(dialect)
module = Parser(ctx, TEXT).parse_module()
copy = module.clone()
module.verify()
copy.verify()
print(copy.is_structurally_equivalent(module))
print(copy)
print([[use.index for use in result.uses] for op in copy.walk() for result in op.results])
function = next(iter(copy.body.block.ops))
bare = function.clone(clone_operands=False, clone_name_hints=False)
print([(op.name, len(op.operands)) for op in bare.walk()])
mapped = {}
inner = [op for op in function.body.block.ops if isinstance(op, scf.ForOp)][0]
again = inner.clone(mapped)
print(again.operands[0] is inner.operands[0], len(mapped), [v.name_hint for v in mapped.values()])
print(type(inner.operands[:2]).__name__, type(inner._operands[:2]).__name__, inner.operands[-1].name_hint)
for op in function.body.block.ops:
    if isinstance(op, test.TestOp) and not op.regions:
        op.detach()
print([op.name for op in function.body.block.ops], [len(region.blocks) for op in copy.walk() for region in op.regions])
print(inner.lb.name_hint, inner.step.owner.name, [op.lhs.name_hint for op in inner.body.block.ops if op.name == "arith.addi"])
print(builtin.DenseArrayBase.from_list(builtin.i32, [3, -1]).get_values(), function.body is function.regions[0])
print(function.args[1].type.get_shape(), builtin.VectorType(builtin.f32, [4]).get_shape())
d = [AffineExpr.dimension(k) for k in range(3)]
s = AffineExpr.symbol(0)
exprs = [d[0], s, AffineExpr.constant(3), d[0] * 2 + d[1] + 5, (d[2] + s) // 4 + d[0] % 3, (d[1] * 8).ceil_div(2)]
for expr in exprs:
    print(expr, sorted(expr.used_dims()), expr.replace_dims_and_symbols([d[1], d[0] + 1], [d[2]]))
    print(expr.replace_dims_and_symbols([], []), expr.replace_dims_and_symbols([AffineExpr.constant(7)] * 3, [s]))
from xdsl.traits import SymbolTable
from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
for name in ("f", StringAttr("f"), SymbolRefAttr("f"), "a", SymbolRefAttr("f", ["g"]), SymbolRefAttr("g", ["f"])):
    try:
        print(SymbolTable.lookup_symbol(inner, name) is function)
    except ValueError as error:
        print(str(error)[:20])
used = next(op for op in copy.walk() if op.name == "arith.constant").results[0]
other = list(next(iter(copy.body.block.ops)).body.block.args)[0]
before = [use.index for use in other.uses], [use.index for use in used.uses]
used.replace_all_uses_with(used)
used.replace_all_uses_with(other)
print(before, [(use.operation.name, use.index) for use in other.uses], used.first_use, other.name_hint)
unnamed = test.TestOp(operands=[other, other, inner.lb], result_types=[builtin.i32])
named = test.TestOp(operands=[unnamed.results[0]] * 2, result_types=[builtin.i32])
print([(use.operation.name, use.index) for use in other.uses][:3])
named.results[0].name_hint = "named"
named.results[0].replace_all_uses_with(unnamed.results[0])
print(unnamed.results[0].name_hint, [use.index for use in unnamed.results[0].uses])
named.erase()
unnamed.results[0].erase()
last = test.TestOp(operands=[unnamed.results[0]])
print([use.operation is last for use in unnamed.results[0].uses])
unnamed.erase(safe_erase=False)
print(type(last.operands[0]).__name__, last.operands[0].old_value is unnamed.results[0], len(list(unnamed.results[0].uses)))
zero, one = [op for op in function.body.block.ops if isinstance(op, arith.ConstantOp)]
uses = lambda op: [(use.operation.name, use.index) for use in op.results[0].uses]
print(uses(zero), uses(one))
zero.results[0].name_hint, one.results[0].name_hint = "zero", None
zero.results[0].replace_all_uses_with(one.results[0])
print(uses(zero), uses(one), one.results[0].name_hint)
inner.operands[0] = zero.results[0]
print(uses(zero), uses(one), [operand.name_hint for operand in inner.operands])
inner.operands = [inner.operands[1], zero.results[0], one.results[0], one.results[0]]
print(uses(zero), uses(one), len(inner.operands))
placed = Block([test.TestOp(), test.TestOp(operands=[one.results[0]])], arg_types=[builtin.i32, builtin.f32])
print([(argument.index, str(argument.type), argument.location) for argument in placed.args], uses(one))
last = placed.last_op
last.detach()
last.erase()
print(uses(one), placed.last_op is placed.first_op, placed.last_op.next_op)
try:
    one.detach()
    one.erase()
except ValueError as error:
    print("in use")
for wrong in (lambda: setattr(function.args[0], "name_hint", "1x"), lambda: function.body.block.add_op(inner)):
    try:
        wrong()
    except ValueError as error:
        print(error)
'''


def output(first: str) -> str:
    done = subprocess.run([sys.executable, "-c", first + PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_replaced_methods_do_the_same() -> None:
    ours = output("import lamina.dialects\n")
    assert ours == output("")
    assert "scf.for" in ours and "d0" in ours


def test_all_are_installed() -> None:
    for (cls, name), function in fast_ir.REPLACED.items():
        assert vars(cls)[name] is function, (cls, name)
    assert SSAValue.__hash__ is object.__hash__ and Operation.__eq__ is object.__eq__


def test_values_and_ops_are_equal_to_themselves_alone() -> None:
    one, two = (TestOp(result_types=[i32]) for _ in range(2))
    assert one == one and one != two and len({one, two, one}) == 2
    assert one.results[0] != two.results[0] and len({*one.results, *two.results}) == 2


def test_instances_are_told_by_their_types() -> None:
    op = TestOp(result_types=[f32])
    assert isinstance(op, Operation) and isinstance(op, TestOp) and not isinstance(op, ForOp | ModuleOp)
    assert isinstance(op.results[0], SSAValue) and not isinstance(op.results[0], BlockArgument)
    assert isinstance(MemRefType(f32, [2]), MemRefType) and not isinstance(f32, MemRefType)


def test_ops_keep_their_defaults_and_refuse_two_blocks() -> None:
    one = ConstantOp(IntegerAttr(1, i32))
    made = AddiOp.create(operands=[one.result, one.result], result_types=[i32])
    assert made.properties.keys() == AddiOp(one.result, one.result).properties.keys()
    block = Block([one])
    with pytest.raises(ValueError, match="already attached"):
        Block([one])
    holder = TestOp(regions=[Region(block)], attributes={"name": StringAttr("x")})
    with pytest.raises(ValueError, match="contained in the operation"):
        block.add_op(holder)


def test_an_op_may_be_detached_while_its_block_is_gone_through() -> None:
    block = Block([TestOp() for _ in range(4)])
    for op in block.ops:
        op.detach()
    assert block.is_empty


def test_linear_forms() -> None:
    d, two = [AffineExpr.dimension(k) for k in range(3)], AffineConstantExpr(2)
    assert linear_form(d[0] * 3 + d[2] * -1 + d[0] + 7, 3) == ((4, 0, -1), 7)
    assert linear_form((d[0] + d[1] * 5 + 1) * 4, 2) == ((4, 20), 4)
    assert linear_form(two, 0) == ((), 2)
    assert linear_form(d[0] // 2 + d[1], 2) is None
    assert linear_form((d[0] % 4) * 2, 1) is None

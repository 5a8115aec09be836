"""What our base classes and functions do with ops is what xDSL does; what xDSL's own classes do stays as it is without us."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lamina.dialects import xdsl_patches
from lamina.dialects.context import make_context
from lamina.dialects.loop.loops import ForOp, KernelOp
from lamina.dialects.loop.subscripts import linear_form
from lamina.dialects.operations import BaseOp, append, clone, create, ops_of
from lamina.dialects.parsing import parse_module
from lamina.dialects.vocabulary import ConstantOp as OurConstantOp
from xdsl.dialects.arith import AddiOp, ConstantOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, f32, i32
from xdsl.dialects.test import TestOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

FOREIGN = Path(__file__).parent / "foreign_dialect.py"
KERNEL = """
loop.kernel @k(%x: memref<8x4xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 8 {
    %sum = loop.for reduce<add> %k = 0 to 4 init %zero : f32 {
      %a = loop.load %x[%i, %k] : memref<8x4xf32>
      loop.yield %a : f32
    }
    loop.store %sum, %y[%i] : memref<8xf32>
  }
}
"""


def output(first: str, **environment: str) -> str:
    """What the program of a foreign dialect prints after a first line."""
    program = first + FOREIGN.read_text()
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def alone() -> str:
    return output("")


def test_foreign_dialects_do_what_xdsl_alone_does(alone: str) -> None:
    assert "refused" in alone and "scf.for" in alone and "registered: True" in alone
    assert output("import lamina, lamina.dialects.context, lamina.pipeline\nlamina.dialects.context.make_context()\n") == alone


def test_the_switch_leaves_xdsl_as_it_is(alone: str) -> None:
    program = "import lamina.dialects\nfrom xdsl.ir import SSAValue\nassert SSAValue.__hash__ is not object.__hash__\n"
    assert output(program, **{xdsl_patches.SWITCH: "off"}) == alone


def test_patches_of_speed_are_worth_their_place() -> None:
    for patch in xdsl_patches.PATCHES:
        assert patch.gain is None or patch.gain >= xdsl_patches.LEAST_GAIN, patch.why
        for (cls, name), function in patch.methods.items():
            on = patch.gain is None or os.environ.get(xdsl_patches.SWITCH) != "off"
            assert (vars(cls).get(name) is function) is on, (cls, name)


def test_patches_are_removed_and_come_back() -> None:
    on = os.environ.get(xdsl_patches.SWITCH) != "off"
    xdsl_patches.remove()
    try:
        assert SSAValue.__hash__ is not object.__hash__ and Operation.__eq__ is not object.__eq__
        op = TestOp(result_types=[i32])
        assert len({op, op}) == len({op.results[0], op.results[0]}) == 1
    finally:
        xdsl_patches.install()
    assert (SSAValue.__hash__ is object.__hash__) is on


def kernel() -> KernelOp:
    module = parse_module(make_context(), KERNEL)
    return next(op for op in module.walk() if isinstance(op, KernelOp))


def uses(op: Operation) -> list[list[tuple[str, int]]]:
    return [[(use.operation.name, use.index) for use in result.uses] for inner in op.walk() for result in inner.results]


def test_copies_are_those_of_xdsl() -> None:
    old = kernel()
    ours, theirs = clone(old), Operation.clone(old)
    assert str(ours) == str(theirs) == str(old) and uses(ours) == uses(theirs)
    assert [op.location for op in ours.walk()] == [op.location for op in theirs.walk()]
    assert ours.parent is None and all(type(a) is type(b) for a, b in zip(ours.walk(), old.walk(), strict=True))
    ours.verify()
    bare = [clone(old, clone_operands=False, clone_name_hints=False)]
    bare.append(Operation.clone(old, clone_operands=False, clone_name_hints=False))
    assert [len(op.operands) for op in bare[0].walk()] == [len(op.operands) for op in bare[1].walk()]
    assert bare[0].body.block.args[0].name_hint is None


def test_copies_over_other_values() -> None:
    old = next(op for op in kernel().walk() if isinstance(op, ForOp) and op.inits)
    other = OurConstantOp(IntegerAttr(0, i32))
    values: dict[SSAValue, SSAValue] = {old.operands[0]: other.results[0]}
    theirs = dict(values)
    copy, expected = clone(old, values), Operation.clone(old, theirs)
    assert copy.operands[0] is expected.operands[0] is other.results[0]
    assert list(values) == list(theirs)


def test_results_may_stand_after_their_first_use() -> None:
    later = TestOp(result_types=[i32])
    holder = TestOp(regions=[Region(Block([TestOp(operands=[later.results[0]]), later]))])
    first, second = ops_of(clone(holder).regions[0].block)
    assert first.operands[0] is second.results[0] and [use.operation for use in later.results[0].uses] != [first]


def test_classes_with_a_copy_of_their_own_keep_it() -> None:
    class Counted(TestOp):
        copies = 0

        def clone(self, *args, **options):
            Counted.copies += 1
            return super().clone(*args, **options)

    value = TestOp(result_types=[i32])
    holder = TestOp(regions=[Region(Block([value, Counted(operands=[value.results[0]])]))])
    made, counted = ops_of(clone(holder).regions[0].block)
    assert Counted.copies == 1 and type(counted) is Counted and counted.operands[0] is made.results[0]


def test_created_ops_have_their_defaults() -> None:
    one = ConstantOp(IntegerAttr(1, i32))
    made = create(AddiOp, operands=[one.result, one.result], result_types=[i32])
    theirs = AddiOp.create(operands=[one.result, one.result], result_types=[i32])
    assert made.properties == theirs.properties and made.location == theirs.location
    assert [(use.operation, use.index) for use in one.result.uses] == [(theirs, 1), (theirs, 0), (made, 1), (made, 0)]
    with pytest.raises(NotImplementedError, match="named operands"):
        OurConstantOp(IntegerAttr(1, i32)).result = one.result  # pyright: ignore


def test_appending_refuses_two_blocks() -> None:
    one = TestOp()
    block = Block()
    append(block, one)
    append(block, two := TestOp())
    assert list(block.ops) == [one, two] and block.last_op is two and one.next_op is two and two.prev_op is one
    with pytest.raises(ValueError, match="already attached"):
        append(Block(), one)
    holder = TestOp(regions=[Region(block)], attributes={"name": StringAttr("x")})
    with pytest.raises(ValueError, match="contained in the operation"):
        append(block, holder)


def test_an_op_may_be_detached_while_its_block_is_gone_through() -> None:
    block = Block([TestOp() for _ in range(4)])
    for op in ops_of(block):
        op.detach()
    assert block.is_empty


def test_instances_are_told_by_their_types() -> None:
    op, ours = TestOp(result_types=[f32]), OurConstantOp(IntegerAttr(1, i32))
    assert isinstance(ours, BaseOp) and isinstance(ours, ConstantOp) and not isinstance(op, BaseOp)
    assert isinstance(op, Operation) and isinstance(op, TestOp) and not isinstance(op, ForOp | ModuleOp)
    assert isinstance(op.results[0], SSAValue) and not isinstance(op.results[0], BlockArgument)


def test_linear_forms() -> None:
    d, two = [AffineExpr.dimension(k) for k in range(3)], AffineConstantExpr(2)
    assert linear_form(d[0] * 3 + d[2] * -1 + d[0] + 7, 3) == ((4, 0, -1), 7)
    assert linear_form((d[0] + d[1] * 5 + 1) * 4, 2) == ((4, 20), 4)
    assert linear_form(two, 0) == ((), 2)
    assert linear_form(d[0] // 2 + d[1], 2) is None
    assert linear_form((d[0] % 4) * 2, 1) is None

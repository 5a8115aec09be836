"""The shared rewriting driver."""

from __future__ import annotations

import pytest
from lamina.dialects.context import make_context
from lamina.dialects.dominance import verify_module
from lamina.dialects.parsing import parse_module
from lamina.dialects.rewriting import apply_patterns, matched_types
from lamina.errors import InternalError
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

TEXT = """func.func @f(%x: f32, %n: index) -> f32 {
  %a = arith.addf %x, %x : f32
  scf.for %i = %n to %n step %n {
    %b = arith.addf %a, %x : f32
    scf.yield
  }
  %c = arith.addf %a, %a : f32
  return %c : f32
}
"""


class AddToMul(RewritePattern):
    """add -> mul"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddfOp, rewriter: PatternRewriter):
        rewriter.replace(op, arith.MulfOp(op.lhs, op.rhs))


class MulToAdd(RewritePattern):
    """mul -> add"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.MulfOp | arith.DivfOp, rewriter: PatternRewriter):
        rewriter.replace(op, arith.AddfOp(op.lhs, op.rhs))


class DropLoops(RewritePattern):
    """an empty loop is nothing"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter):
        if isinstance(op, scf.ForOp) and not op.results:
            rewriter.erase(op)


def test_rewrites_in_all_regions_and_keeps_locations() -> None:
    module = parse_module(make_context(), TEXT, "f.mlir")
    hits: dict[str, int] = {}
    assert apply_patterns(module, [AddToMul()], hits=hits)
    assert hits == {"AddToMul": 3}
    verify_module(module)
    lines = [
        op.location.line.data
        for op in module.walk()
        if isinstance(op, arith.MulfOp) and isinstance(op.location, FileLineColLoc)
    ]
    assert lines == [2, 4, 7]
    assert not apply_patterns(module, [AddToMul()])


def test_patterns_that_do_not_converge_are_named() -> None:
    module = parse_module(make_context(), TEXT)
    with pytest.raises(InternalError, match=r"did not converge in 5 sweeps; still applying: (AddToMul|MulToAdd)"):
        apply_patterns(module, [AddToMul(), MulToAdd()], max_sweeps=5)


def test_a_pattern_may_erase_and_match_any_op() -> None:
    module = parse_module(make_context(), TEXT)
    assert apply_patterns(module, [DropLoops()])
    assert "scf.for" not in str(module)


def test_matched_types_are_read_from_the_annotation() -> None:
    assert matched_types(AddToMul) == (arith.AddfOp,)
    assert matched_types(MulToAdd) == (arith.MulfOp, arith.DivfOp)
    assert matched_types(DropLoops) == (Operation,)

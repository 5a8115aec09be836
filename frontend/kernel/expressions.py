"""Translates the expressions of a kernel from syntax trees to values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.loop.loops import IfOp
from ...dialects.loop.memory import LoadOp
from ...dialects.scalar_ops import is_arithmetic
from ...dialects.types import i1, is_float
from .scope import Scope, discard, words
from .source import MISSING
from .values import Array, Mismatch, Number, Scalar, Value, as_map, choice, default, held, kind_of, meet

OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.BitAnd: "&",
    ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_COMPARISONS: dict[type, str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
_REMEDY: dict[type, str] = {
    ast.Lambda: "; write the expression in place",
    ast.ListComp: "; write a loop",
    ast.GeneratorExp: "; write a loop",
    ast.List: "; local arrays are made with lm.zeros((n,), lm.f32)",
    ast.Tuple: " here",
    ast.NamedExpr: "; assign in a statement of its own",
    ast.Slice: "; write a loop over the elements",
}


class Expressions(Scope):
    """Turns expressions into values, writing ops into the current block."""

    def call(self, node: ast.Call) -> Value:
        """The value of a call."""
        raise NotImplementedError

    def value(self, node: ast.expr) -> Value:
        """A number, index expression or scalar."""
        method: Callable[[Any], Value | Array] | None = getattr(self, f"on_{type(node).__name__}", None)
        if method is None:
            self.refuse(node, f"kernels have no {words(node)}{_REMEDY.get(type(node), '')}")
        try:
            found = method(node)
        except Mismatch as mismatch:
            self.refuse(node, str(mismatch))
        if isinstance(found, Array):
            self.refuse(node, f"'{found.name}' is an array and no value here: subscript it, one index a dim")
        return found

    def on_Constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, bool | int | float):
            return Number(node.value)
        self.refuse(node, f"kernels have numbers only, got {node.value!r}")

    def on_Name(self, node: ast.Name) -> Value | Array:
        found = self.lookup(node)
        return self.constant(node, self.resolve(node)) if found is None else found

    def constant(self, node: ast.expr, found: Any) -> Value:
        """A number from outside."""
        # numbers of Python's own types: np.float64 is a float, too, and an IntEnum an int
        for types, plain in ((bool | np.bool_, bool), (int | np.integer, int), (float | np.floating, float)):
            if isinstance(found, types):
                return Number(plain(found))
        what = ast.unparse(node)
        if found is MISSING:
            self.refuse(node, f"unknown name '{what}'; kernels see their parameters, sizes, local variables and constants")
        self.refuse(node, f"'{what}' is a {type(found).__name__}: only numbers from outside can be used; make it a parameter")

    def on_Attribute(self, node: ast.Attribute) -> Value:
        if (array := self.array(node.value)) is not None:
            if node.attr == "shape":
                self.refuse(node, f"a shape is no number: write {array.name}.shape[0]")
            self.refuse(node, f"arrays have no attribute '{node.attr}' in kernels, only shape: {array.name}.shape[0]")
        found = self.resolve(node)
        if found is not MISSING:
            return self.constant(node, found)
        self.value(node.value)
        self.refuse(node, f"unknown attribute '{ast.unparse(node)}'; numbers in kernels have none")

    def on_Subscript(self, node: ast.Subscript) -> Value:
        if (sizes := self.shape(node.value)) is not None:
            k = self.value(node.slice)
            at = k.value if isinstance(k, Number) else None
            if type(at) is not int or not -len(sizes) <= at < len(sizes):
                self.refuse(node, f"a shape of {len(sizes)} sizes has none at {ast.unparse(node.slice)}")
            return sizes[at]
        array = self.accessed(node)
        map, dims = self.subscripts(node, array)
        return Scalar(self.insert(LoadOp.build_load(array.buffer, map, dims), node).results[0])

    def accessed(self, node: ast.Subscript) -> Array:
        """The array of an access."""
        array = self.array(node.value)
        if array is None:
            if isinstance(node.value, ast.Subscript) and self.array(node.value.value) is not None:
                self.refuse(node, "write a[i, j] for an element, not a[i][j]")
            outside = self.resolve(node.value)
            remedy = ": make it a parameter" if isinstance(outside, np.ndarray | list | tuple) else ""
            self.refuse(node, f"'{ast.unparse(node.value)}' is no array of this kernel{remedy}")
        return array

    def subscripts(self, node: ast.Subscript, array: Array) -> tuple[AffineMap, Sequence[SSAValue]]:
        """The map and index values of an access."""
        spelled = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for part in spelled:
            if isinstance(part, ast.Slice):
                self.refuse(part, "kernels access elements, not slices: write a loop")
        if len(spelled) != len(array.sizes):
            self.refuse(node, f"'{array.name}' has {len(array.sizes)} dims and takes as many indices, got {len(spelled)}")
        items = []
        for part in spelled:
            value = self.value(part)
            if isinstance(value, Number) and isinstance(value.value, int) and value.value < 0:
                self.refuse(part, f"an index is not negative in kernels, got {value.value}: count from the end with n - 1")
            try:
                items.append(self.math(part).affine(value))
            except Mismatch as mismatch:
                self.refuse(part, str(mismatch))
        return as_map(items)

    # -- operators

    def operator(self, node: ast.BinOp | ast.AugAssign) -> str:
        """The sign of an operator."""
        found = OPERATORS.get(type(node.op))
        if found is None:
            self.refuse(node, f"kernels have no operator {words(node.op)}: write loops")
        return found

    def on_BinOp(self, node: ast.BinOp) -> Value:
        op = self.operator(node)
        x, y = self.value(node.left), self.value(node.right)
        return self.math(node).binary(op, x, y)

    def on_UnaryOp(self, node: ast.UnaryOp) -> Value:
        x = self.value(node.operand)
        b = self.math(node)
        if isinstance(node.op, ast.USub):
            return b.negate(x)
        if isinstance(node.op, ast.UAdd):
            return x
        if isinstance(node.op, ast.Not):
            return Number(not x.value) if isinstance(x, Number) else Scalar(b.builder.invert(b.truth(x)))
        if isinstance(x, Number) and isinstance(x.value, int):
            return Number(~int(x.value))
        if is_float(default(kind_of(x))):
            raise Mismatch("~ needs an integer")
        return held(b.builder.invert(b.scalar(x)), kind_of(x))

    def on_Compare(self, node: ast.Compare) -> Value:
        if any(isinstance(inner, ast.Subscript) for part in node.comparators[1:] for inner in ast.walk(part)):
            return self.on_BoolOp(_pairs(node))
        values = [self.value(v) for v in (node.left, *node.comparators)]
        result: Value | None = None
        for op, x, y in zip(node.ops, values, values[1:], strict=False):
            predicate = _COMPARISONS.get(type(op))
            if predicate is None:
                self.refuse(node, f"kernels have no '{words(op)}', only == != < <= > >=")
            one = self.math(node).compare(predicate, x, y)
            result = one if result is None else self.both(node, result, one)
        assert result is not None
        return result

    def both(self, node: ast.AST, x: Value, y: Value) -> Value:
        """Two conditions that are known without reading memory."""
        if isinstance(x, Number):
            return y if x.value else x
        if isinstance(y, Number):
            return x if y.value else y
        b = self.math(node)
        return Scalar(b.builder.binary("and", b.truth(x), b.truth(y)))

    # -- expressions that are evaluated under a condition only

    def on_BoolOp(self, node: ast.BoolOp) -> Value:
        is_and = isinstance(node.op, ast.And)
        result = self.value(node.values[0])
        for part in node.values[1:]:
            if isinstance(result, Number):
                result = self.value(part) if bool(result.value) == is_and else result
                continue
            condition = self.math(node).truth(result)
            with self.within(Block()) as rest:
                value = self.value(part)
                there = None if isinstance(value, Number) else self.math(part).truth(value)
            if there is None or isinstance(value, Number):
                discard(rest)
                assert isinstance(value, Number)
                if bool(value.value) != is_and:
                    result = Number(not is_and)
                continue
            if _plain(rest):
                self.splice(rest)
                result = Scalar(self.math(node).builder.binary("and" if is_and else "or", condition, there))
                continue
            with self.within(Block()) as fixed:
                known = self.math(node).scalar(Number(not is_and))
            branches = [(rest, there), (fixed, known)] if is_and else [(fixed, known), (rest, there)]
            result = Scalar(self.choose(node, condition, branches, i1))
        return result

    def on_IfExp(self, node: ast.IfExp) -> Value:
        test = self.value(node.test)
        if isinstance(test, Number):
            return self.value(node.body if test.value else node.orelse)
        condition = self.math(node.test).truth(test)
        branches: list[tuple[Block, Value]] = []
        for part in (node.body, node.orelse):
            with self.within(Block()) as block:
                branches.append((block, self.value(part)))
        x, y = (value for _, value in branches)
        if (chosen := choice(condition, x, y)) is not None:
            return chosen
        kind = meet(x, y)
        values: list[tuple[Block, SSAValue]] = []
        for block, value in branches:
            with self.within(block):
                values.append((block, self.math(node).scalar(value, default(kind))))
        if not all(_plain(block) for block in (values[0][0], values[1][0])):
            return held(self.choose(node, condition, values, default(kind)), kind)
        for block, _ in values:
            self.splice(block)
        return held(self.math(node).builder.select(condition, values[0][1], values[1][1]), kind)

    def choose(
        self, node: ast.AST, condition: SSAValue, branches: Sequence[tuple[Block, SSAValue]], type: Attribute
    ) -> SSAValue:
        """A conditional of two blocks with one value each."""
        for block, value in branches:
            with self.within(block):
                self.end(node, [value])
        regions = [Region(block) for block, _ in branches]
        return self.insert(IfOp.create(operands=[condition], result_types=[type], regions=regions), node).results[0]

    def splice(self, block: Block) -> None:
        """Move the ops of a block that always runs into the current one."""
        for op in list(block.ops):
            op.detach()
            self.block.add_op(op)


def _pairs(node: ast.Compare) -> ast.BoolOp:
    """`a < b < c` as `a < b and b < c`: operands after a false comparison are not evaluated."""
    parts = zip((node.left, *node.comparators), node.ops, node.comparators, strict=False)
    values: list[ast.expr] = [ast.copy_location(ast.Compare(x, [op], [y]), node) for x, op, y in parts]
    return ast.copy_location(ast.BoolOp(ast.And(), values), node)


def _plain(block: Block) -> bool:
    """Whether the ops of a block may run speculatively: they compute, but do not access memory."""
    return all(is_arithmetic(op) for op in block.ops)

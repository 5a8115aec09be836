"""Translates the expressions of a kernel from syntax trees to values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ComplexType
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...dialects.loop.loops import IfOp
from ...dialects.scalar_ops import is_arithmetic
from ...dialects.types import i1, is_float, numpy_dtype
from . import complexes
from .annotations import ScalarType
from .scope import discard, words
from .source import MISSING
from .values import Array, Complex, Items, Mismatch, Number, Scalar, Value, choice, default, held, kind_of, meet
from .views import Views

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
    ast.Slice: "; write a loop over the elements",
    ast.JoinedStr: "; pass a number that stands for it",
    ast.Set: "; write a tuple",
    ast.Dict: "; write a tuple, or pass arrays",
    ast.Yield: "; write into an array",
    ast.YieldFrom: "; write into an array",
    ast.Await: "; call it outside",
}


class Expressions(Views):
    """Turns expressions into values, writing ops into the current block.

    Attributes:
        is_sure: whether what is read is always evaluated, where its statement is.
    """

    is_sure = True

    def evaluated(self, node: ast.expr) -> Value | Array | Items:
        """What an expression means."""
        if (kept := self.kept.pop(node, None)) is not None and kept[0] is self.block:
            return kept[1]
        method: Callable[[Any], Value | Array | Items] | None = getattr(self, f"on_{type(node).__name__}", None)
        if method is None:
            self.refuse(node, f"kernels have no {words(node)}{_REMEDY.get(type(node), '')}")
        try:
            return method(node)
        except Mismatch as mismatch:
            self.refuse(node, str(mismatch))

    def value(self, node: ast.expr) -> Value:
        """A number, index expression or scalar."""
        found = self.evaluated(node)
        if isinstance(found, Array):
            self.refuse(node, f"'{found.name}' is an array and no value here: subscript it, one index for each dim")
        if isinstance(found, Complex):
            self.refuse(node, f"'{ast.unparse(node)}' is complex, which this does not take: use its .real and .imag")
        if isinstance(found, Items):
            self.refuse(node, f"'{ast.unparse(node)}' is a tuple and no value here: subscript it")
        return found

    def number_of(self, node: ast.expr) -> Any:
        """A real or a complex number."""
        found = self.thing(node)
        return found if isinstance(found, Complex) else self.value(node) if isinstance(found, Array | Items) else found

    def on_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, complex):
            return Complex((Number(node.value.real), Number(node.value.imag)))
        if isinstance(node.value, bool | int | float):
            return Number(node.value)
        self.refuse(node, f"kernels have numbers only, got {node.value!r}: pass a number that stands for it")

    def on_Name(self, node: ast.Name) -> Value | Array | Items:
        found = self.lookup(node)
        return self.constant(node, self.resolve(node)) if found is None else found

    def constant(self, node: ast.expr, found: Any) -> Value | Array | Items:
        """A number from outside, or an array or tuple of numbers."""
        return self.outside(node) or self.number(node, found)

    def on_Attribute(self, node: ast.Attribute) -> Value | Array | Items:
        if (array := self.array(node.value)) is not None:
            if node.attr == "ndim":
                return Number(len(array.sizes))
            if node.attr == "size":
                return self.size(node, array)
            if node.attr == "dtype":
                self.refuse(node, "a dtype is no number: use it as in np.finfo(x.dtype).eps and np.empty(n, x.dtype)")
            if node.attr not in ("shape", "T"):
                self.refuse(node, f"arrays have no attribute '{node.attr}' in kernels, only shape, size, ndim, dtype and T")
            found = self.seen(node)
            assert found is not None
            return found
        found = self.limit(node)
        found = self.resolve(node) if found is MISSING else found
        if found is not MISSING:
            return self.constant(node, found)
        number = self.number_of(node.value)
        if node.attr in ("real", "imag"):
            return Complex.of(number).items[node.attr == "imag"]
        self.refuse(node, f"unknown attribute '{ast.unparse(node)}'; numbers in kernels have none")

    def limit(self, node: ast.Attribute) -> Any:
        """The limit of an element type that `np.finfo(T).eps` or `np.iinfo(T).max` means, or MISSING."""
        call = node.value
        function = self.resolve(call.func) if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or function not in (np.finfo, np.iinfo):
            return MISSING
        name = ast.unparse(call.func)
        dtype = self.dtype_of(call.args[0]) if len(call.args) == 1 and not call.keywords else None
        if dtype is None:
            self.refuse(call, f"{name}() takes an element type: {name}(T), or {name}(x.dtype) of an array")
        try:
            found = getattr(function(dtype), node.attr, MISSING)
        except ValueError:
            self.refuse(call, f"{name}() is of {'floats' if function is np.finfo else 'integers'}, not of {dtype}")
        if found is MISSING or not isinstance(found, int | float | np.generic):
            self.refuse(node, f"{name}() has no number '{node.attr}' in kernels: take eps, tiny, max or min")
        return found

    def dtype_of(self, node: ast.expr) -> np.dtype | None:
        """The dtype that an element type of lamina, NumPy or Python means, or `x.dtype` of an array; None for others."""
        if isinstance(node, ast.Attribute) and node.attr == "dtype" and (array := self.array(node.value)) is not None:
            return numpy_dtype(ComplexType(array.element) if array.is_complex else array.element)  # pyright: ignore[reportArgumentType]
        found = self.resolve(node)
        if isinstance(found, ScalarType):
            return found.dtype
        try:
            return np.dtype(found) if found in (int, float, bool) or isinstance(found, np.dtype | type) else None
        except TypeError:
            return None

    def size(self, node: ast.AST, array: Array) -> Value:
        """The number of elements."""
        result: Value = Number(1)
        for size in array.sizes:
            result = self.math(node).binary("*", result, size)
        return result

    def on_Tuple(self, node: ast.Tuple) -> Items:
        return Items(tuple(item for part in node.elts for item in self.items(part)))

    def on_List(self, node: ast.List) -> Items:
        return Items(tuple(item for part in node.elts for item in self.items(part)))

    def on_Subscript(self, node: ast.Subscript) -> Value | Array | Items:
        base = self.seen(node.value)
        if base is None:
            base = self.thing(node.value) if isinstance(node.value, ast.Call | ast.Tuple | ast.List) else self.accessed(node)
        if isinstance(base, Items):
            return self.indexed(node, base)
        if not isinstance(base, Array):
            self.refuse(node, f"'{ast.unparse(node.value)}' is a number and has no elements")
        if self.is_view(node, base):
            return self.view(node, base)
        if (number := self.constant_element(node, base)) is not None:
            return number
        return self.loaded(node, base, self.indices(node, base))

    def indexed(self, node: ast.Subscript, base: Items) -> Value | Array | Items:
        """An item of a tuple; at an index that is not known, of a constant array that has the items of one from outside."""
        if not isinstance(node.slice, ast.Slice) and not isinstance(self.value(node.slice), Number):
            outside = self.resolve(node.value)
            if isinstance(outside, list | tuple):
                array = self.table(node.value, outside)
                return self.loaded(node, array, self.indices(node, array))
            self.refuse(node, "an item of a tuple is at a number that is known: keep them in a local array to go through them")
        return self.item(node, base)

    def constant_element(self, node: ast.Subscript, base: Array) -> Number | None:
        """An element of a constant array at numbers."""
        found = next((data for data, array in self.tables.values() if array is base), None)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if found is None or not all(isinstance(p, ast.Constant | ast.UnaryOp | ast.Name) for p in parts):
            return None
        indices = [self.value(part) for part in parts]
        at = tuple(i.value for i in indices if isinstance(i, Number) and isinstance(i.value, int))
        data = np.asarray(found)
        if len(at) != data.ndim or any(not -n <= i < n for i, n in zip(at, data.shape, strict=True)):
            return None
        return self.number(node, data[at])

    def accessed(self, node: ast.Subscript) -> Array:
        """The array of an access."""
        found = self.seen(node.value)
        if isinstance(found, Array):
            return found
        if isinstance(found, Items):
            self.refuse(node, f"'{ast.unparse(node.value)}' is a tuple, whose items do not change: assign a new one")
        if isinstance(node.value, ast.Name) and self.lookup(node.value) is None:
            self.constant(node.value, self.resolve(node.value))
        self.refuse(
            node,
            f"'{ast.unparse(node.value)}' is no array of this kernel: subscripts are of parameters, local arrays and tuples",
        )

    # -- operators

    def operator(self, node: ast.BinOp | ast.AugAssign) -> str:
        """The sign of an operator."""
        found = OPERATORS.get(type(node.op))
        if found is None:
            self.refuse(node, f"kernels have no operator {words(node.op)}: write loops")
        return found

    def on_BinOp(self, node: ast.BinOp) -> Any:
        op = self.operator(node)
        x, y = self.number_of(node.left), self.number_of(node.right)
        if isinstance(x, Complex) or isinstance(y, Complex):
            return self.complex_power(node, x, y) if op == "**" else complexes.binary(self.math(node), op, x, y)
        if op == "**" and self.is_open_power(x, y):
            return self.integer_power(node, x, y)
        return self.math(node).binary(op, x, y)

    def is_open_power(self, x: Value, y: Value) -> bool:
        """Whether an integer is raised to an integer that is not known."""
        return not isinstance(y, Number) and not is_float(default(meet(x, y)))

    def complex_power(self, node: ast.AST, x: Any, y: Any) -> Any:
        """`x ** y` where one is complex."""
        raise NotImplementedError  # in the class with the calls, whose functions it needs

    def integer_power(self, node: ast.expr, x: Value, y: Value) -> Value:
        """By repeated products."""
        raise NotImplementedError  # in the class with the calls, whose functions it needs

    def on_UnaryOp(self, node: ast.UnaryOp) -> Any:
        x = self.number_of(node.operand)
        b = self.math(node)
        if isinstance(x, Complex):
            if isinstance(node.op, ast.USub):
                return complexes.negate(b, x)
            return x if isinstance(node.op, ast.UAdd) else self.value(node.operand)
        if isinstance(node.op, ast.USub):
            return b.negate(x)
        if isinstance(node.op, ast.UAdd):
            return x
        if isinstance(node.op, ast.Not):
            return Number(not x.value) if isinstance(x, Number) else Scalar(b.builder.invert(b.truth(x)))
        if isinstance(x, Number) and isinstance(x.value, int):
            return Number(~int(x.value))
        if is_float(default(kind_of(x))):
            raise Mismatch("~ needs an integer: convert with lm.i64(...)")
        return held(b.builder.invert(b.scalar(x)), kind_of(x))

    def on_Compare(self, node: ast.Compare) -> Value:
        if any(isinstance(inner, ast.Subscript) for part in node.comparators[1:] for inner in ast.walk(part)):
            return self.on_BoolOp(_pairs(node))
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
            return self.contained(node, isinstance(node.ops[0], ast.In))
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            x, y = self.number_of(node.left), self.number_of(node.comparators[0])
            if isinstance(x, Complex) or isinstance(y, Complex):
                same = complexes.equal(self.math(node), x, y)
                return self.opposite(node, same) if isinstance(node.ops[0], ast.NotEq) else same
            return self.math(node).compare(_COMPARISONS[type(node.ops[0])], x, y)
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

    def contained(self, node: ast.Compare, is_in: bool) -> Value:
        """`x in (1, 2, 3)`."""
        items = self.thing(node.comparators[0])
        if not isinstance(items, Items):
            self.refuse(node, f"'in' takes a tuple of numbers, not '{ast.unparse(node.comparators[0])}': write a loop")
        x, b = self.value(node.left), self.math(node)
        result: Value = Number(False)
        for item in items.items:
            one = b.compare("eq", x, item)
            result = one if isinstance(result, Number) and not result.value else b.either(result, one)
        return result if is_in else self.opposite(node, result)

    def opposite(self, node: ast.AST, x: Value) -> Value:
        """Whether a condition does not hold."""
        b = self.math(node)
        return Number(not x.value) if isinstance(x, Number) else Scalar(b.builder.invert(b.truth(x)))

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
            if kind_of(result) not in ("bool", i1):
                result = self.either_value(node, result, part, is_and)
                continue
            condition = self.math(node).truth(result)
            with self.unsure(), self.within(Block()) as rest:
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

    def either_value(self, node: ast.BoolOp, first: Value, part: ast.expr, is_and: bool) -> Value:
        """`x and y` and `x or y` of numbers are one of both."""
        condition = self.math(node).truth(first)
        with self.unsure(), self.within(Block()) as block:
            other = block, self.value(part)
        branches = [other, (Block(), first)]
        return self.either(node, condition, branches if is_and else branches[::-1])

    @contextmanager
    def unsure(self) -> Iterator[None]:
        """What is read inside may not be evaluated."""
        before, self.is_sure = self.is_sure, False
        try:
            yield
        finally:
            self.is_sure = before

    def on_NamedExpr(self, node: ast.NamedExpr) -> Value:
        if not self.is_sure:
            self.refuse(node, "an assignment expression stands where it is always evaluated: assign in a statement before")
        value = self.value(node.value)
        self.bind(node, node.target.id, value)
        return value

    def on_IfExp(self, node: ast.IfExp) -> Any:
        test = self.value(node.test)
        if isinstance(test, Number):
            return self.number_of(node.body if test.value else node.orelse)
        condition = self.math(node.test).truth(test)
        branches: list[tuple[Block, Value]] = []
        for part in (node.body, node.orelse):
            with self.unsure(), self.within(Block()) as block:
                branches.append((block, self.value(part)))
        return self.either(node, condition, branches)

    def either(self, node: ast.AST, condition: SSAValue, branches: Sequence[tuple[Block, Value]]) -> Value:
        """One of two values, each computed in a block of its own."""
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

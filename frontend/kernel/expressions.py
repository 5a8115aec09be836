"""Expressions of a kernel: from the syntax tree to values."""

from __future__ import annotations

import ast
import linecache
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.loop.memory import LoadOp
from ...dialects.loop.structure import IfOp, YieldOp
from ...dialects.types import i1, is_float
from ...errors import KernelError
from . import annotations
from .annotations import ElementType
from .values import NAMES, Arithmetic, Array, Index, Mismatch, Number, Scalar, Value, join, kind_of, unify

_OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.BitAnd: "&",
    ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_COMPARISONS: dict[type, str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip

FUNCTIONS = {
    **{
        name: name
        for name in ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "tanh", "erf", "floor", "ceil", "rint")
    },
    "rsqrt": "rsqrt",
}
"""Functions of one float, by their name in math, numpy or lamina.numpy, as the scalar builder calls them."""

_MISSING: Any = object()


class Source:
    """The text of a function: for messages and locations."""

    def __init__(self, filename: str, first_line: int, indent: int, names: Mapping[str, Any]):
        self.filename, self.first_line, self.indent, self.names = filename, first_line, indent, names

    def at(self, node: ast.AST) -> tuple[int, int]:
        """Line and column in the file, both from 1."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        return self.first_line + line - 1, self.indent + column + 1

    def location(self, node: ast.AST) -> Attribute:
        line, column = self.at(node)
        return FileLineColLoc(StringAttr(self.filename), IntAttr(line), IntAttr(column))

    def error(self, node: ast.AST, message: str, line: int | None = None) -> KernelError:
        """The error at a node, with its line and a caret."""
        from ..locations import _short

        at, column = self.at(node)
        text = f"{_short(self.filename)}:{at}:{column}: {message}"
        source = linecache.getline(self.filename, at).rstrip()
        if source.strip():
            margin = len(source) - len(source.lstrip())
            text += f"\n    {source.strip()}\n    {' ' * max(column - 1 - margin, 0)}^"
        error = KernelError(text)
        error.place = (self.filename, at, column)  # pyright: ignore[reportAttributeAccessIssue]
        return error


class Expressions:
    """Turns expressions into values, writing ops into the current block."""

    def __init__(self, source: Source, default_float: Attribute):
        self.source, self.default_float = source, default_float
        self.block = Block()
        self.env: dict[str, Value | Array] = {}
        self.lost: dict[str, str] = {}
        """Why a name has no value here."""

    def refuse(self, node: ast.AST, message: str) -> NoReturn:
        raise self.source.error(node, message)

    def math(self, node: ast.AST) -> Arithmetic:
        """Arithmetic at the place of a node."""
        return Arithmetic(self.block, self.source.location(node), self.default_float)

    def insert(self, op: Operation, node: ast.AST) -> Operation:
        op.location = self.source.location(node)  # pyright: ignore[reportAttributeAccessIssue]
        self.block.add_op(op)
        return op

    # -- names that are not values: modules, functions, types

    def resolve(self, node: ast.expr) -> Any:
        """The Python object that a name or attribute means outside of the kernel, or _MISSING."""
        if isinstance(node, ast.Name):
            return _MISSING if node.id in self.env else self.source.names.get(node.id, _MISSING)
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            return _MISSING if owner is _MISSING else getattr(owner, node.attr, _MISSING)
        return _MISSING

    # -- expressions

    def value(self, node: ast.expr) -> Value:
        """A number, index expression or scalar."""
        method: Callable[[Any], Value | Array] | None = getattr(self, f"on_{type(node).__name__}", None)
        if method is None:
            self.refuse(node, f"kernels have no {_words(node)}{_REMEDY.get(type(node), '')}")
        try:
            found = method(node)
        except Mismatch as mismatch:
            self.refuse(node, str(mismatch))
        if isinstance(found, Array):
            self.refuse(node, "an array is no value here: subscript it, one index a dim")
        return found

    def on_Constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, bool | int | float):
            return Number(node.value)
        self.refuse(node, f"kernels have numbers only, got {node.value!r}")

    def on_Name(self, node: ast.Name) -> Value | Array:
        if node.id in self.env:
            return self.env[node.id]
        if node.id in self.lost:
            self.refuse(node, f"'{node.id}' {self.lost[node.id]}")
        found = self.resolve(node)
        return self.constant(node, found)

    def constant(self, node: ast.expr, found: Any) -> Value:
        if isinstance(found, bool | int | float):
            return Number(found)
        if isinstance(found, np.bool_ | np.integer | np.floating):
            return Number(found.item())
        what = ast.unparse(node)
        if found is _MISSING:
            self.refuse(node, f"unknown name '{what}'; kernels see their parameters, sizes, local variables and constants")
        self.refuse(node, f"'{what}' is a {type(found).__name__}: only numbers from outside can be used; make it a parameter")

    def on_Attribute(self, node: ast.Attribute) -> Value:
        found = self.resolve(node)
        if found is not _MISSING:
            return self.constant(node, found)
        if isinstance(node.value, ast.Name) and isinstance(self.env.get(node.value.id), Array):
            self.refuse(node, f"arrays in kernels have .shape[k] only, not .{node.attr}")
        self.refuse(node, f"unknown attribute '{ast.unparse(node)}'")

    def array(self, node: ast.expr) -> Array | None:
        """The array that a name means."""
        found = self.env.get(node.id) if isinstance(node, ast.Name) else None
        return found if isinstance(found, Array) else None

    def on_Subscript(self, node: ast.Subscript) -> Value:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            array = self.array(node.value.value)
            if array is not None:
                k = node.slice.value if isinstance(node.slice, ast.Constant) else None
                if not isinstance(k, int) or not -len(array.sizes) <= k < len(array.sizes):
                    self.refuse(node, f"a shape of {len(array.sizes)} sizes has none at {ast.unparse(node.slice)}")
                return array.sizes[k]
        array = self.array(node.value)
        if array is None:
            if isinstance(node.value, ast.Subscript):
                self.refuse(node, "write a[i, j] for an element, not a[i][j]")
            self.refuse(node, f"'{ast.unparse(node.value)}' is no array of this kernel")
        map, dims = self.subscripts(node, array)
        return Scalar(self.insert(LoadOp.build_load(array.buffer, map, dims), node).results[0])

    def subscripts(self, node: ast.Subscript, array: Array) -> tuple[AffineMap, Sequence[SSAValue]]:
        """The map and index values of an access."""
        spelled = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(spelled) != len(array.sizes):
            self.refuse(node, f"an array of {len(array.sizes)} dims needs as many indices, got {len(spelled)}")
        exprs: list[Index] = []
        for part in spelled:
            if isinstance(part, ast.Slice):
                self.refuse(part, "kernels access elements, not slices: write a loop")
            value = self.value(part)
            if isinstance(value, Number) and isinstance(value.value, int) and value.value < 0:
                self.refuse(part, f"an index is not negative in kernels, got {value.value}; count from the end with n - 1")
            exprs.append(self.math(part).affine(value))
        dims: tuple[SSAValue, ...] = ()
        for expr in exprs:
            dims = unify(Index(expr.expr, dims), expr)[2] if dims else expr.dims
        placed = [unify(Index(AffineMap.constant_map(0).results[0], dims), e)[1] for e in exprs]
        return AffineMap(len(dims), 0, tuple(placed)), dims

    def on_BinOp(self, node: ast.BinOp) -> Value:
        op = _OPERATORS.get(type(node.op))
        if op is None:
            self.refuse(node, f"kernels have no operator {type(node.op).__name__}")
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
            return Number(~x.value)
        whole = b.scalar(x)
        if is_float(whole.type):
            raise Mismatch("~ needs an integer")
        return Scalar(b.builder.invert(whole))

    def on_Compare(self, node: ast.Compare) -> Value:
        values = [self.value(v) for v in (node.left, *node.comparators)]
        result: Value | None = None
        for op, x, y in zip(node.ops, values, values[1:], strict=False):
            predicate = _COMPARISONS.get(type(op))
            if predicate is None:
                self.refuse(node, f"kernels have no '{_words(op)}': only == != < <= > >=")
            one = self.math(node).compare(predicate, x, y)
            result = one if result is None else self.both(node, result, one)
        assert result is not None
        return result

    def both(self, node: ast.AST, x: Value, y: Value) -> Value:
        if isinstance(x, Number):
            return y if x.value else x
        if isinstance(y, Number):
            return x if y.value else y
        b = self.math(node)
        return Scalar(b.builder.binary("and", b.truth(x), b.truth(y)))

    def on_BoolOp(self, node: ast.BoolOp) -> Value:
        is_and = isinstance(node.op, ast.And)
        result = self.value(node.values[0])
        for part in node.values[1:]:
            if isinstance(result, Number):
                result = self.value(part) if bool(result.value) == is_and else result
                continue
            condition = self.math(node).truth(result)
            if not _reads(part):
                y = self.math(node).truth(self.value(part))
                result = Scalar(self.math(node).builder.binary("and" if is_and else "or", condition, y))
                continue
            here, other = self.inner(lambda part=part: self.math(part).truth(self.value(part)))
            fixed = Block()
            known = Arithmetic(fixed, self.source.location(node), self.default_float).builder.const(not is_and, i1)
            blocks = [(here, other), (fixed, known)] if is_and else [(fixed, known), (here, other)]
            result = Scalar(self.choose(node, condition, blocks, [i1])[0])
        return result

    def inner(self, make: Callable[[], SSAValue]) -> tuple[Block, SSAValue]:
        """What `make` writes, in a block of its own."""
        outer, self.block = self.block, Block()
        try:
            result = make()
            return self.block, result
        finally:
            self.block = outer

    def choose(
        self, node: ast.AST, condition: SSAValue, branches: Sequence[tuple[Block, SSAValue]], types: Sequence[Attribute]
    ) -> Sequence[SSAValue]:
        """A conditional of two blocks with one value each."""
        for block, value in branches:
            block.add_op(YieldOp.create(operands=[value]))
        regions = [Region(block) for block, _ in branches]
        return self.insert(IfOp.create(operands=[condition], result_types=types, regions=regions), node).results

    def on_IfExp(self, node: ast.IfExp) -> Value:
        test = self.value(node.test)
        if isinstance(test, Number):
            return self.value(node.body if test.value else node.orelse)
        condition = self.math(node).truth(test)
        if not (_reads(node.body) or _reads(node.orelse)):
            b = self.math(node)
            x, y = self.value(node.body), self.value(node.orelse)
            type = b.common(x, y)
            return Scalar(b.builder.select(condition, b.scalar(x, type), b.scalar(y, type)))
        values: list[Value] = []
        blocks: list[Block] = []
        for part in (node.body, node.orelse):
            outer, self.block = self.block, Block()
            values.append(self.value(part))
            blocks.append(self.block)
            self.block = outer
        type = self.math(node).common(*values)
        branches = [
            (block, Arithmetic(block, self.source.location(node), self.default_float).scalar(value, type))
            for block, value in zip(blocks, values, strict=True)
        ]
        return Scalar(self.choose(node, condition, branches, [type])[0])

    # -- calls

    def on_Call(self, node: ast.Call) -> Value:
        if node.keywords:
            self.refuse(node, "functions in kernels take positional arguments")
        function = self.resolve(node.func)
        what = ast.unparse(node.func)
        if function is _MISSING and isinstance(node.func, ast.Name) and node.func.id not in self.env:
            function = _BUILTINS.get(node.func.id, _MISSING)
        if function is len:
            array = self.array(node.args[0]) if len(node.args) == 1 else None
            if array is None or not array.sizes:
                self.refuse(node, "len() takes an array of this kernel")
            return array.sizes[0]
        if isinstance(function, ElementType):
            return self.convert(node, function)
        name = getattr(function, "__name__", None)
        module = getattr(function, "__module__", None) or type(function).__module__
        if not callable(function):
            self.refuse(node, f"'{what}' is no function that kernels can call")
        if function in (int, float, bool):
            return self.convert(node, {int: annotations.i64, float: annotations.f64, bool: annotations.bool_}[function])
        if isinstance(function, type) and issubclass(function, np.generic):
            for element in annotations.ELEMENTS:
                if element.dtype == np.dtype(function):
                    return self.convert(node, element)
        known = module == "builtins" or module.split(".")[0] in ("math", "numpy", "lamina")
        args = [self.value(arg) for arg in node.args]
        found = self.function(node, name, args) if known and isinstance(name, str) else None
        if found is None:
            if hasattr(function, "__kernel__"):
                self.refuse(node, f"kernel '{what}' returns nothing: call it as a statement")
            self.refuse(
                node,
                f"'{what}' is no function that kernels can call; there are min, max, abs, round, pow, "
                f"{', '.join(sorted(FUNCTIONS))}",
            )
        return found

    def function(self, node: ast.Call, name: str, args: Sequence[Value]) -> Value | None:
        b = self.math(node)
        name = _SYNONYMS.get(name, name)
        if name in ("min", "max") and len(args) >= 2:
            result = args[0]
            for other in args[1:]:
                if isinstance(result, Number) and isinstance(other, Number):
                    result = Number((min if name == "min" else max)(result.value, other.value))
                    continue
                type = b.common(result, other)
                result = Scalar(b.builder.binary(name, b.scalar(result, type), b.scalar(other, type)))
            return result
        if name == "pow" and len(args) == 2:
            return b.binary("**", *args)
        if name == "atan2" and len(args) == 2:
            type = self.float_of(b, *args)
            return Scalar(b.builder.binary("atan2", b.scalar(args[0], type), b.scalar(args[1], type)))
        if name == "abs" and len(args) == 1:
            return Number(abs(args[0].value)) if isinstance(args[0], Number) else Scalar(b.builder.abs(b.scalar(args[0])))
        if name in FUNCTIONS and len(args) == 1:
            if isinstance(args[0], Number) and hasattr(math, name):
                try:
                    return Number(getattr(math, name)(args[0].value))
                except (ValueError, OverflowError) as error:
                    raise Mismatch(str(error)) from None
            x = Scalar(b.builder.unary(FUNCTIONS[name], b.scalar(args[0], self.float_of(b, args[0]))))
            owner = self.resolve(node.func)
            plain = owner is _MISSING or getattr(owner, "__module__", "") in ("math", "builtins")
            if name in ("floor", "ceil", "rint") and plain:  # Python's give integers
                return Scalar(b.builder.convert(x.ssa, annotations.i64.type))
            return x
        return None

    def float_of(self, b: Arithmetic, *args: Value) -> Attribute:
        type = b.common(*args)
        return type if is_float(type) else annotations.f64.type

    def convert(self, node: ast.Call, element: ElementType) -> Value:
        if len(node.args) != 1:
            self.refuse(node, f"a conversion takes one value, got {len(node.args)}")
        value = self.value(node.args[0])
        b = self.math(node)
        if isinstance(value, Number):
            return Scalar(b.builder.const(element.dtype.type(value.value).item(), element.type))
        if isinstance(value, Index) and element is annotations.i64:
            return value
        return Scalar(b.scalar(value, element.type))

    def assign_kind(self, node: ast.AST, name: str, before: Value, after: Value) -> None:
        """Check that a variable keeps what it is."""
        try:
            join(kind_of(before), kind_of(after))
        except Mismatch as mismatch:
            self.refuse(node, f"'{name}' {mismatch}; convert with {NAMES.get(kind_of(before), 'lm.f32')}(...)")  # pyright: ignore


_BUILTINS: dict[str, Any] = {f.__name__: f for f in (min, max, abs, round, int, float, bool, len, pow)}

_REMEDY: dict[type, str] = {
    ast.Lambda: "; write the expression in place",
    ast.ListComp: "; write a loop",
    ast.GeneratorExp: "; write a loop",
    ast.List: "; local arrays are made with lm.zeros((n,), lm.f32)",
    ast.Dict: "",
    ast.Tuple: " here",
    ast.NamedExpr: "; assign in a statement of its own",
    ast.Starred: "",
}


_SPELLED = {
    "ListComp": "list comprehensions", "GeneratorExp": "generator expressions", "Lambda": "lambdas", "Dict": "dicts",
    "List": "lists", "Tuple": "tuples", "JoinedStr": "strings", "NamedExpr": "assignment expressions", "Await": "await",
    "In": "in", "NotIn": "not in", "Is": "is", "IsNot": "is not", "Slice": "slices", "Set": "sets", "Yield": "yield",
    "DictComp": "dict comprehensions", "SetComp": "set comprehensions",
}  # fmt: skip
_SYNONYMS = {
    "fabs": "abs", "absolute": "abs", "maximum": "max", "fmax": "max", "minimum": "min", "fmin": "min", "power": "pow",
    "round": "rint",
}  # fmt: skip


def _words(node: ast.AST) -> str:
    return _SPELLED.get(type(node).__name__, type(node).__name__)


def _reads(node: ast.expr) -> bool:
    """Whether evaluating an expression reads memory, which must not happen unasked."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Subscript) and not (isinstance(inner.value, ast.Attribute) and inner.value.attr == "shape"):
            return True
    return False


__all__ = ["FUNCTIONS", "Expressions", "Source"]

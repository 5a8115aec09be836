"""Statements of a kernel: assignments and conditionals. Local variables become SSA values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Block, Region, SSAValue

from ...dialects.loop.loops import IfOp
from ...dialects.loop.memory import LoadOp
from ...dialects.types import is_float
from .annotations import ScalarType, spelled
from .loops import Loops
from .scope import IN_BRANCH, hint
from .source import Source
from .values import Array, Choice, Kind, Mismatch, Number, Scalar, Value, default, held, join, kind_of, meet

Inline = Callable[["Statements", ast.Call, Any], None]


class Statements(Loops):
    """Turns the statements of a kernel into ops.

    Attributes:
        depth: how many calls of kernels lead here.
        typed: the element types of variables that are annotated.
    """

    def __init__(self, source: Source, own: set[str], inline: Inline, loop_names: set[str], depth: int = 0):
        super().__init__(source, own)
        self.inline, self.loop_names, self.depth = inline, loop_names, depth
        self.typed: dict[str, ScalarType] = {}
        self.known = {}

    def run(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            method: Callable[[Any], None] | None = getattr(self, f"do_{type(statement).__name__}", None)
            if method is None:
                what = type(statement).__name__.lower()
                self.refuse(statement, _REFUSED.get(type(statement), f"kernels have no '{what}' statement"))
            try:
                method(statement)
            except Mismatch as mismatch:
                self.refuse(statement, str(mismatch))

    def do_Pass(self, node: ast.Pass) -> None:
        pass

    def do_Expr(self, node: ast.Expr) -> None:
        value = node.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return  # a docstring
        if isinstance(value, ast.Call):
            called = self.resolve(value.func)
            if hasattr(called, "__kernel__"):
                self.inline(self, value, called)
                return
        self.value(value)  # it may be wrong for a better reason
        self.refuse(node, "an expression alone does nothing: assign it")

    # -- assignment

    def do_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Name) and (array := self.local_array(target.id, node.value)) is not None:
            if len(node.targets) > 1:
                self.refuse(node, "one name a local array")
            if (before := self.env.get(target.id)) is not None:  # in a loop, its first statements could mean either
                what = "an array" if isinstance(before, Array) else "a number"
                self.refuse(node, f"'{target.id}' is {what} before: give the array another name")
            self.env[target.id] = array
            self.lost.pop(target.id, None)
            return
        shape = self.shape(node.value)
        if isinstance(node.value, ast.Tuple) or shape is not None:
            values = [self.value(v) for v in node.value.elts] if isinstance(node.value, ast.Tuple) else list(shape or ())
            for one in node.targets:
                if not isinstance(one, ast.Tuple) or len(one.elts) != len(values):
                    self.refuse(one, f"{len(values)} values need as many targets: a, b = x, y")
                for part, value in zip(one.elts, values, strict=True):
                    self.assign(part, value)
            return
        if isinstance(target, ast.Tuple | ast.List):
            self.refuse(node, "as many values as targets: a, b = x, y")
        value = self.value(node.value)
        for one in node.targets:
            self.assign(one, value)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        element = self.resolve(node.annotation)
        if not isinstance(element, ScalarType) or not isinstance(node.target, ast.Name):
            self.refuse(node.annotation, f"variables are annotated with {spelled()}")
        if node.value is None:
            self.refuse(node, f"give the variable a value: {node.target.id}: {ast.unparse(node.annotation)} = 0")
        value = self.value(node.value)
        self.typed[node.target.id] = element
        self.assign(node.target, value)

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.operator(node)
            before = self.value(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            self.assign(node.target, self.updated(node, before))
            return
        if not isinstance(node.target, ast.Subscript):
            self.refuse(node.target, "kernels assign to variables and to elements of arrays")
        array = self.accessed(node.target)
        map, dims = self.subscripts(node.target, array)
        before = Scalar(self.insert(LoadOp.build_load(array.buffer, map, dims), node.target).results[0])
        self.store(node.target, array, map, dims, self.updated(node, before))

    def updated(self, node: ast.AugAssign, before: Value) -> Value:
        """`before op value`; adding a product of floats is one fma."""
        op, product = self.operator(node), node.value
        if op != "+" or not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
            return self.math(node).binary(op, before, self.value(product))
        x, y = self.value(product.left), self.value(product.right)
        b = self.math(product)
        kind = meet(before, x, y)
        known = isinstance(x, Number) and isinstance(y, Number)
        if is_float(default(kind)) and default(meet(x, y)) == default(kind) and not known:
            return b.fma(x, y, before, kind)
        return self.math(node).binary("+", before, b.binary("*", x, y))

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Subscript):
            array = self.accessed(target)
            map, dims = self.subscripts(target, array)
            self.store(target, array, map, dims, value)
            return
        if not isinstance(target, ast.Name):
            self.refuse(target, "kernels assign to variables and to elements of arrays")
        if (element := self.typed.get(target.id)) is not None:
            try:
                join(element.type, kind_of(value))
            except Mismatch as mismatch:
                self.refuse(target, f"'{target.id}' {mismatch}")
            value = Scalar(self.math(target).scalar(value, element.type))
        self.bind(target, target.id, value)
        if isinstance(value, Scalar):
            hint(value.ssa, target.id)

    # -- conditionals

    def do_If(self, node: ast.If) -> None:
        test = self.value(node.test)
        if isinstance(test, Number):  # a constant from outside decides
            self.run(node.body if test.value else node.orelse)
            return
        condition = self.math(node.test).truth(test)
        blocks: list[Block] = []
        after: list[dict[str, Value | Array]] = []
        reasons: dict[str, str] = {}
        for statements in (node.body, node.orelse):
            with self.fork(Block()) as block:
                self.run(statements)
                blocks.append(block)
                after.append(self.env)
                reasons.update(self.lost)
        changed: list[tuple[str, Kind]] = []
        yielded: tuple[list[SSAValue], list[SSAValue]] = ([], [])
        for variable in dict.fromkeys([*after[0], *after[1]]):
            x, y = after[0].get(variable), after[1].get(variable)
            if x is y and x is not None:  # variables that both branches assign, or neither
                self.env[variable] = x
                reasons.pop(variable, None)
                continue
            if x is None or y is None or isinstance(x, Array) or isinstance(y, Array):
                reasons[variable] = reasons.get(variable, IN_BRANCH) if variable in self.env else IN_BRANCH
                continue
            reasons.pop(variable, None)
            try:
                kind = join(kind_of(x), kind_of(y))
            except Mismatch as mismatch:
                self.refuse(node, f"'{variable}' {mismatch}")
            if isinstance(x, Number) and isinstance(y, Number):
                self.env[variable] = x if x == y and kind_of(x) == kind_of(y) else Choice(condition, x, y)
                continue
            changed.append((variable, kind))
            for block, value, values in zip(blocks, (x, y), yielded, strict=True):
                with self.within(block):
                    values.append(self.math(node).scalar(value, default(kind)))
        for block, values in zip(blocks, yielded, strict=True):
            with self.within(block):
                self.end(node, values)
        empty = not changed and len(list(blocks[1].ops)) == 1
        regions = [Region(blocks[0]), Region() if empty else Region(blocks[1])]
        types = [default(kind) for _, kind in changed]
        op = self.insert(IfOp.create(operands=[condition], result_types=types, regions=regions), node)
        for (variable, kind), result in zip(changed, op.results, strict=True):
            hint(result, variable)
            self.env[variable] = held(result, kind)
            self.lost.pop(variable, None)
        for variable, reason in reasons.items():
            self.lose(variable, reason)


_REFUSED: dict[type, str] = {
    ast.Return: "kernels return nothing: write results into array parameters, and put the rest of the body under an if",
    ast.Break: "kernels have no break: put the condition into a while, or the rest of the body under an if",
    ast.Continue: "kernels have no continue: put the rest of the body under an if",
    ast.Assert: "kernels have no assert: check before the call, or use check_bounds=True for indices",
    ast.Try: "kernels have no exceptions: check before the call",
    ast.Raise: "kernels have no exceptions: check before the call",
    ast.With: "kernels have no with",
    ast.Global: "kernels have no global variables: pass an array of one element",
    ast.Nonlocal: "kernels have no variables from outside: pass an array of one element",
    ast.FunctionDef: "kernels have no functions inside: make it a kernel of its own, and call that",
    ast.ClassDef: "kernels have no classes",
    ast.Import: "import outside of the kernel",
    ast.ImportFrom: "import outside of the kernel",
    ast.Delete: "kernels have no del",
    ast.Match: "kernels have no match: write if and elif",
}

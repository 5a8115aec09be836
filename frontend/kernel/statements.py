"""Statements of a kernel: assignments and conditionals. Local variables become SSA values."""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.loop.loops import IfOp, KernelOp
from ...dialects.loop.memory import CheckOp, StoreOp
from ...dialects.types import i1, is_float, memref
from ...dialects.types import index as index_type
from . import complexes, prelude
from .annotations import ArrayType, ScalarType, spelled
from .assumptions import add_assumptions, is_assumption
from .iteration import Iteration
from .parameters import Parameters
from .printing import add_print
from .products import add_product
from .rounding import is_rounded
from .scope import IN_BRANCH, hint
from .source import Source, is_product
from .values import (
    UNSET,
    Array,
    Axis,
    Choice,
    Complex,
    Index,
    Items,
    Kind,
    Mismatch,
    Number,
    Packed,
    Scalar,
    Unset,
    Value,
    default,
    held,
    item_name,
    join,
    kind_of,
    meet,
)

Inline = Callable[..., Any]


class Statements(Iteration):
    """Turns the statements of a kernel into ops.

    Attributes:
        depth: how many calls of kernels lead here.
        typed: the element types of variables that are annotated.
        read: the statements of functions that are called.
        checks: what the kernel says when it stops.
        fallbacks: the conditions whose second branches are loops without assumed facts.
    """

    def __init__(self, source: Source, own: set[str], inline: Inline, loop_names: set[str], depth: int = 0):
        super().__init__(source, own)
        self.live: dict[ast.stmt, set[str]] = {}
        self.inline, self.loop_names, self.depth = inline, loop_names, depth
        self.typed: dict[str, ScalarType] = {}
        self.known, self.tables, self.read = {}, {}, {}
        self.checks: list[str] = []
        self.fallbacks: list[Operation] = []
        self.closures: dict[str, ast.FunctionDef | ast.Lambda] = {}
        self.made, self.kept = {}, {}
        self.pinned = {}

    def relate(self, node: ast.AST, parameters: Parameters) -> None:
        """Sizes that follow from others are checked when a call begins, and have these values."""
        symbols = {name: value for name in parameters.symbols if isinstance(value := self.env.get(name), Index)}
        b = self.math(node)
        try:
            for name, given, wanted, rule in parameters.meanings(symbols, b):
                difference = b.affine(b.binary("-", given, wanted))
                if difference.constant != 0:
                    self.stop_unless(node, b.truth(b.compare("eq", given, wanted)), "ValueError", rule)
                for array, value in self.env.items():
                    type = parameters.types.get(array)
                    if isinstance(value, Array) and isinstance(type, ArrayType):
                        named = [size.symbol == name for size in type.sizes]
                        sizes = [wanted if is_it else size for is_it, size in zip(named, value.sizes, strict=True)]
                        self.env[array] = replace(value, sizes=tuple(sizes))
        except Mismatch as mismatch:
            self.refuse(node, str(mismatch))
        self.env.update({name: value for name, value in symbols.items() if name not in self.env})

    def write_results(self, node: ast.AST, kernel: KernelOp, position: int, variables: Sequence[str]) -> None:
        """What a kernel returns goes into arrays of one element, parameters after those of the function."""
        block = kernel.body.block
        results: list[Any] = []
        for variable in variables:
            found = self.unpacked(node, variable, self.env.get(variable))
            results += found.items if isinstance(found, Items) else [found]
        taken = {argument.name_hint for argument in block.args}
        names = (f"result{letters}" for size in range(3) for letters in map("".join, itertools.product("bcdefgh", repeat=size)))
        for k, result in enumerate(results):
            if isinstance(result, Array | Items):  # also a complex number, whose parts are apart
                self.refuse(node, "kernels return numbers, and tuples of numbers: write arrays into parameters")
            value = self.math(node).scalar(result)
            argument = block.insert_arg(memref(value.type, [1]), position + k)
            argument.name_hint = next(name for name in names if name not in taken)
            self.insert(StoreOp.build_store(value, argument, AffineMap.constant_map(0), []), node)

    def integer_power(self, node: ast.expr, x: Value, y: Value) -> Value:
        b, kind = self.math(node), meet(x, y)
        operands = [held(b.scalar(v, default(kind)), kind) for v in (x, y)]
        return self.inline(self, ast.copy_location(ast.Call(node, [], []), node), prelude.integer_power, operands)

    def inlined(self, node: ast.Call, function: Any, args: Sequence[Any] | None = None) -> Any:
        return self.inline(self, node, function, args)

    def run(self, statements: Sequence[ast.stmt]) -> None:
        for k, statement in enumerate(statements):
            if is_assumption(self, statement):
                add_assumptions(self, statements[k:])
                return
            method: Callable[[Any], None] | None = getattr(self, f"do_{type(statement).__name__}", None)
            if method is None:
                what = type(statement).__name__.lower()
                self.refuse(
                    statement,
                    _REFUSED.get(
                        type(statement), f"kernels have no '{what}' statement: write loops, conditions and assignments"
                    ),
                )
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
        if isinstance(value, ast.Call) and (function := self.helper(value.func)) is not None:
            self.inline(self, value, function)
            return
        if isinstance(value, ast.Call) and self.resolve(value.func) is print:
            add_print(self, value)
            return
        self.value(value)  # it may be wrong for a better reason
        self.refuse(node, "an expression alone does nothing: assign it")

    # -- ends of the kernel

    def stop_unless(self, node: ast.AST, condition: SSAValue, kind: str, message: str) -> None:
        self.checks.append(f"raise {kind}: {message}")
        value = self.math(node).builder.const(0, index_type)
        self.insert(CheckOp.build_check(condition, value, len(self.checks)), node)

    def do_Assert(self, node: ast.Assert) -> None:
        test = self.value(node.test)
        if not isinstance(test, Number) or not test.value:
            condition = self.math(node.test).truth(test)
            self.stop_unless(node, condition, "AssertionError", "" if node.msg is None else _message(node.msg))

    def do_Raise(self, node: ast.Raise) -> None:
        called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        kind = None if called is None else self.resolve(called)
        if not isinstance(kind, type) or getattr(builtins, kind.__name__, None) is not kind or not issubclass(kind, Exception):
            self.refuse(node, "kernels raise Python's own exceptions: raise ValueError('...')")
        said = [_message(arg) for arg in node.exc.args] if isinstance(node.exc, ast.Call) else []
        never = self.math(node).builder.const(False, i1)
        self.stop_unless(node, never, kind.__name__, ", ".join(said))

    # -- functions inside, and names that end

    def do_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            self.refuse(node, "a function inside of a kernel has no decorators: it is inlined as it is")
        self.closures[node.name] = node

    def do_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                self.refuse(target, "del takes a variable: elements of arrays stay")
            self.lookup(target)
            self.lose(target.id, "is deleted before")

    # -- assignment

    def do_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if isinstance(node.value, ast.Lambda):
            for one in node.targets:
                if not isinstance(one, ast.Name):
                    self.refuse(one, "a function gets a name")
                self.closures[one.id] = node.value
            return
        if isinstance(target, ast.Name) and (array := self.local_array(target.id, node.value)) is not None:
            if len(node.targets) > 1:
                self.refuse(node, "one name a local array")
            before = self.env.get(target.id)
            if before is not None and not isinstance(before, Unset):  # in a loop, its first statements could mean either
                what = "an array" if isinstance(before, Array) else "a number"
                self.refuse(node, f"'{target.id}' is {what} before: give the array another name")
            self.env[target.id] = array
            self.lost.pop(target.id, None)
            return
        if isinstance(node.value, ast.IfExp) and any(isinstance(v, ast.Tuple) for v in (node.value.body, node.value.orelse)):
            branches = [ast.copy_location(ast.Assign(node.targets, v), node) for v in (node.value.body, node.value.orelse)]
            self.do_If(ast.copy_location(ast.If(node.value.test, [branches[0]], [branches[1]]), node))
            return
        found = self.thing(node.value)
        for one in node.targets:
            self.give(one, found)

    def give(self, target: ast.expr, found: Value | Array | Items) -> None:
        """Assign a value, a tuple or a view."""
        if isinstance(target, ast.Tuple | ast.List):
            self.unpack(target, found)
        elif isinstance(found, Complex) and isinstance(target, ast.Subscript):
            self.assign(target, found)
        elif isinstance(found, Items):
            if not isinstance(target, ast.Name):
                self.refuse(target, "an element of an array is a number, not a tuple")
            self.pack(target, target.id, found)
        elif isinstance(target, ast.Subscript) and self.is_view(target, array := self.accessed(target)):
            self.copy_into(target, self.view(target, array), found)
        elif isinstance(found, Array):
            if not isinstance(target, ast.Name):
                self.refuse(target, f"'{found.name}' is an array and no value here: subscript it, one index for each dim")
            before = self.env.get(target.id)
            is_free = isinstance(before, Unset | None) or (isinstance(before, Array) and target.id not in self.pinned)
            if not is_free and before is not found:
                what = "an array" if isinstance(before, Array) else "a number"
                self.refuse(target, f"'{target.id}' is {what} before: give the array another name")
            self.hold(target.id, found)
        else:
            self.assign(target, found)

    def unpack(self, target: ast.Tuple | ast.List, found: Value | Array | Items) -> None:
        """`a, b = x, y`, also of a row of an array with a known size."""
        if isinstance(found, Array) and found.sizes and (count := found.sizes[0].constant) is not None and count <= 16:
            found = Items(tuple(self.part(target, found, k) for k in range(count)))
        if not isinstance(found, Items):
            self.refuse(target, "as many values as targets: a, b = x, y")
        items, targets = list(found.items), target.elts
        stars = [k for k, one in enumerate(targets) if isinstance(one, ast.Starred)]
        if len(stars) == 1 and len(items) >= len(targets) - 1:
            k, extra = stars[0], len(items) - len(targets) + 1
            items[k : k + extra] = [Items(tuple(items[k : k + extra]))]
        if len(targets) != len(items):
            self.refuse(target, f"{len(found.items)} values need as many targets: a, b = x, y")
        for part, value in zip(targets, items, strict=True):
            self.give(part.value if isinstance(part, ast.Starred) else part, value)

    def part(self, node: ast.expr, array: Array, k: int) -> Any:
        """An element of an array of one dim, or a row."""
        axes = [Axis(Index.number(k)), *(Axis(Index.number(0), d) for d in range(len(array.sizes) - 1))]
        view = replace(array, sizes=array.sizes[1:], axes=self.composed(node, array, axes))
        if view.sizes:
            return view
        return self.loaded(node, array, [Index.number(k)])

    def pack(self, node: ast.expr, name: str, found: Items) -> None:
        """A variable holds a tuple."""
        before = self.env.get(name)
        if before is None or isinstance(before, Unset):
            self.hold(name, found)
            return
        if isinstance(before, Packed) and before.is_complex != isinstance(found, Complex):
            self.refuse(
                node, f"'{name}' is {'complex' if before.is_complex else 'a tuple'} before: give the new value another name"
            )
        if isinstance(found, Complex) and not isinstance(before, Packed):
            self.refuse(node, f"'{name}' is real and becomes complex: begin with a complex number, {name} = 0j")
        if not isinstance(before, Packed) or before.count != len(found.items):
            what = f"a tuple of {before.count} items" if isinstance(before, Packed) else "no tuple"
            self.refuse(node, f"'{name}' is {what} and becomes a tuple of {len(found.items)}: give it another name")
        for k, item in enumerate(found.items):
            part = item_name(name, k)
            if isinstance(item, Items):
                self.pack(node, part, item)
            elif isinstance(item, Array):
                self.refuse(node, f"'{name}' is a tuple with an array, and stays as it is: give the new one another name")
            else:
                self.bind(node, part, item)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        element = self.resolve(node.annotation)
        if element in (int, float, bool) and node.value is not None:  # which says nothing in Python
            self.assign(node.target, self.value(node.value))
            return
        if not isinstance(element, ScalarType) or not isinstance(node.target, ast.Name):
            self.refuse(node.annotation, f"variables are annotated with {spelled()}: leave the annotation out")
        if node.value is None:
            self.refuse(node, f"give the variable a value: {node.target.id}: {ast.unparse(node.annotation)} = 0")
        value = self.value(node.value)
        self.typed[node.target.id] = element
        self.assign(node.target, value)

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        if is_product(node):
            add_product(self, node)
            return
        if isinstance(node.target, ast.Name):
            self.operator(node)
            before = self.number_of(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            self.give(node.target, self.updated(node, before))
            return
        if not isinstance(node.target, ast.Subscript):
            self.refuse(node.target, "kernels assign to variables and to elements of arrays")
        array = self.accessed(node.target)
        indices = self.indices(node.target, array)
        before = self.loaded(node.target, array, indices)
        self.put(node.target, array, indices, self.updated(node, before))

    def updated(self, node: ast.AugAssign, before: Any) -> Any:
        """`before op value`; adding a product of floats is one fma."""
        op, product = self.operator(node), node.value
        if isinstance(before, Complex):
            other = self.number_of(product)
            return (
                self.complex_power(node, before, other) if op == "**" else complexes.binary(self.math(node), op, before, other)
            )
        if op != "+" or not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
            return self.math(node).binary(op, before, self.value(product))
        x, y = self.value(product.left), self.value(product.right)
        b = self.math(product)
        kind = meet(before, x, y)
        known = isinstance(x, Number) and isinstance(y, Number)
        is_fused = is_float(default(kind)) and not is_rounded(default(kind)) and not known
        if is_fused and default(meet(x, y)) == default(kind):
            return b.fma(x, y, before, kind)
        return self.math(node).binary("+", before, b.binary("*", x, y))

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Subscript):
            array = self.accessed(target)
            self.put(target, array, self.indices(target, array), value)
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
        self.branches(node, self.math(node.test).truth(test))

    def branches(self, node: ast.If, condition: SSAValue, facts: Sequence[Operation] = ()) -> None:
        """Both branches of a condition; `facts` begin the first one."""
        blocks: list[Block] = []
        after: list[dict[str, Value | Array | Packed]] = []
        reasons: dict[str, str] = {}
        for statements in (node.body, node.orelse):
            with self.fork(Block()) as block:
                block.add_ops(() if blocks else facts)
                self.run(statements)
                blocks.append(block)
                after.append(self.env)
                reasons.update(self.lost)
        self.complete(node, after)
        changed: list[tuple[str, Kind]] = []
        yielded: tuple[list[SSAValue], list[SSAValue]] = ([], [])
        for variable in dict.fromkeys([*after[0], *after[1]]):
            x, y = after[0].get(variable), after[1].get(variable)
            if (x is y and x is not None) or (isinstance(x, Packed) and x == y):  # what both branches assign, or neither
                self.env[variable] = x
                reasons.pop(variable, None)
                continue
            if x is None or y is None or isinstance(x, Array | Packed) or isinstance(y, Array | Packed):
                reasons[variable] = reasons.get(variable, IN_BRANCH) if variable in self.env else IN_BRANCH
                continue
            reasons.pop(variable, None)
            try:
                kind = join(kind_of(x), kind_of(y))
            except Mismatch as mismatch:
                self.refuse(node, f"'{variable}' {mismatch}")
            if isinstance(x, Number) and isinstance(y, Number) and isinstance(x.value, bool) == isinstance(y.value, bool):
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
        if isinstance(node.test, ast.Constant):  # of `assume`
            self.fallbacks.append(op)
        for variable, reason in reasons.items():
            self.lose(variable, reason)

    def complete(self, node: ast.If, after: Sequence[dict[str, Value | Array | Packed]]) -> None:
        """Variables that only one branch assigns have a value after it where the other one leads nowhere."""
        dead = getattr(node, "dead", (False, getattr(node, "guard", False)))
        for leads_nowhere, own, other in zip(dead, after, reversed(after), strict=True):
            known = {variable for variable, value in own.items() if not isinstance(value, Unset)}
            for variable in other.keys() - known if leads_nowhere else ():
                if isinstance(other[variable], Packed):
                    own[variable] = other[variable]
                elif not isinstance(other[variable], Array):
                    own[variable] = UNSET


def _message(node: ast.expr) -> str:
    """What an exception says: a text; values in it stay as they are written."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(p.value) if isinstance(p, ast.Constant) else ast.unparse(p) for p in parts)


_REFUSED: dict[type, str] = {
    ast.AsyncFunctionDef: "kernels have no async functions: define it by def",
    ast.Try: "kernels have no exceptions: check before the call",
    ast.With: "kernels have no with: open and close outside",
    ast.Global: "kernels have no global variables: pass an array of one element",
    ast.Nonlocal: "kernels have no variables from outside: pass an array of one element",
    ast.ClassDef: "kernels have no classes: define it outside, and pass its numbers",
    ast.Import: "import outside of the kernel: its functions see the names of the module",
    ast.ImportFrom: "import outside of the kernel: its functions see the names of the module",
    ast.Match: "a match has numbers as cases: write if and elif",
}

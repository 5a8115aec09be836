"""Statements of a kernel: assignments, loops, conditionals. Local variables become SSA values, carried by the loops around."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineMap

from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.loop.structure import ForOp, IfOp, WhileOp, YieldOp
from ...dialects.types import DYNAMIC, is_float, memref
from ...dialects.types import index as index_type
from . import annotations
from .annotations import ElementType
from .expressions import _OPERATORS, Expressions, Source
from .values import Array, Index, Kind, Mismatch, Number, Scalar, Value, join, kind_of

STACK_BYTES = 16 << 10
"""Local arrays up to this size are on the stack."""

_REDUCTIONS = {ast.Add: "add", ast.Mult: "mul"}


class Statements(Expressions):
    """Turns the statements of a kernel into ops."""

    def __init__(self, source: Source, default_float: Attribute, inline: Callable[..., None]):
        super().__init__(source, default_float)
        self.inline = inline
        self.loop_names: set[str] = set()

    def run(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            method: Callable[[Any], None] | None = getattr(self, f"do_{type(statement).__name__}", None)
            if method is None:
                self.refuse(statement, _REFUSED.get(type(statement), f"kernels have no '{type(statement).__name__.lower()}'"))
            try:
                method(statement)
            except Mismatch as mismatch:
                self.refuse(statement, str(mismatch))

    def do_Pass(self, node: ast.Pass) -> None:
        pass

    def do_Return(self, node: ast.Return) -> None:
        self.refuse(node, "kernels return nothing: write results into array parameters, and put the rest under an if")

    def do_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return
        if isinstance(node.value, ast.Call):
            called = self.resolve(node.value.func)
            if hasattr(called, "__kernel__"):
                self.inline(self, node.value, called)
                return
        self.refuse(node, "an expression alone does nothing")

    # -- assignment

    def do_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            self.refuse(node, "one target an assignment")
        target = node.targets[0]
        if isinstance(target, ast.Tuple):
            if not isinstance(node.value, ast.Tuple) or len(node.value.elts) != len(target.elts):
                self.refuse(node, "as many values as targets: a, b = x, y")
            values = [self.value(v) for v in node.value.elts]
            for one, value in zip(target.elts, values, strict=True):
                self.assign(one, value)
            return
        if isinstance(target, ast.Name) and (array := self.local_array(target.id, node.value)) is not None:
            if isinstance(self.env.get(target.id), Value):
                self.refuse(node, f"'{target.id}' is a number before: give the array another name")
            self.env[target.id] = array
            return
        self.assign(target, self.value(node.value))

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            self.refuse(node, "give the variable a value")
        element = self.resolve(node.annotation)
        value = self.value(node.value)
        if isinstance(element, ElementType):
            value = Scalar(self.math(node).scalar(value, element.type))
        self.assign(node.target, value)

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        op = _OPERATORS.get(type(node.op))
        if op is None:
            self.refuse(node, f"kernels have no operator {type(node.op).__name__}")
        if isinstance(node.target, ast.Name):
            before = self.value(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            self.assign(node.target, self.updated(node, op, before))
            return
        if not isinstance(node.target, ast.Subscript) or (array := self.array(node.target.value)) is None:
            self.refuse(node, "kernels assign to variables and to elements of arrays")
        map, dims = self.subscripts(node.target, array)
        before = Scalar(self.insert(LoadOp.build_load(array.buffer, map, dims), node.target).results[0])
        self.store(node, array, map, dims, self.updated(node, op, before))

    def updated(self, node: ast.AugAssign, op: str, before: Value) -> Value:
        """`before op value`; adding a product of floats is one fma."""
        product = node.value
        if op == "+" and isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
            x, y = self.value(product.left), self.value(product.right)
            b = self.math(node)
            type = b.common(before, x, y)
            if is_float(type) and b.common(x, y) == type and not (isinstance(x, Number) and isinstance(y, Number)):
                return Scalar(b.fma(x, y, before, type))
            return b.binary("+", before, b.binary("*", x, y))
        return self.math(node).binary(op, before, self.value(product))

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Subscript):
            array = self.array(target.value)
            if array is None:
                self.refuse(target, f"'{ast.unparse(target.value)}' is no array of this kernel")
            map, dims = self.subscripts(target, array)
            self.store(target, array, map, dims, value)
            return
        if not isinstance(target, ast.Name):
            self.refuse(target, "kernels assign to variables and to elements of arrays")
        if isinstance(self.env.get(target.id), Array):
            self.refuse(target, f"'{target.id}' is an array: assign to its elements")
        if isinstance(value, Scalar) and value.ssa.name_hint is None:
            value.ssa.name_hint = target.id
        self.env[target.id] = value
        self.lost.pop(target.id, None)

    def store(self, node: ast.AST, array: Array, map: AffineMap, dims: Sequence[SSAValue], value: Value) -> None:
        b = self.math(node)
        kind = kind_of(value)
        if not is_float(array.element) and (kind == "float" or (isinstance(kind, Attribute) and is_float(kind))):
            self.refuse(node, "a float goes into an array of integers: write int(...)")
        self.insert(StoreOp.build_store(b.scalar(value, array.element), array.buffer, map, dims), node)

    def local_array(self, name: str, node: ast.expr) -> Array | None:
        """`lm.zeros((8, 16), lm.f32)` or `lm.empty(...)` as a local buffer."""
        if not isinstance(node, ast.Call):
            return None
        function = self.resolve(node.func)
        if function not in (annotations.zeros, annotations.empty):
            return None
        spelled = [*node.args, *(k.value for k in node.keywords if k.arg == "dtype")]
        if not 1 <= len(spelled) <= 2 or any(k.arg != "dtype" for k in node.keywords):
            self.refuse(node, "a local array takes its shape and an element type: lm.zeros((8, 16), lm.f32)")
        element = self.resolve(spelled[1]) if len(spelled) == 2 else annotations.f32
        if not isinstance(element, ElementType):
            self.refuse(spelled[1], "the element type is one of lm.f32, lm.f64, lm.i32, lm.i64, lm.bool_")
        parts = spelled[0].elts if isinstance(spelled[0], ast.Tuple) else [spelled[0]]
        sizes = [self.math(part).affine(self.value(part)) for part in parts]
        known = [DYNAMIC if size.constant is None else size.constant for size in sizes]
        if any(size < 0 for size in known if size != DYNAMIC):
            self.refuse(node, "a size is not negative")
        count = element.dtype.itemsize
        for size in known:
            count *= max(size, 1)
        place = "scratch" if DYNAMIC in known or count > STACK_BYTES else "stack"
        b = self.math(node)
        given = [b.index(size) for size, k in zip(sizes, known, strict=True) if k == DYNAMIC]
        alloc = self.insert(AllocOp.build_alloc(place, memref(element.type, known), given, name), node)
        array = Array(alloc.results[0], tuple(sizes))
        if function is annotations.zeros:
            self.fill(node, array, name)
        return array

    def fill(self, node: ast.AST, array: Array, name: str) -> None:
        """Loops that store zeros."""
        outer = self.block
        indices: list[SSAValue] = []
        for k, size in enumerate(array.sizes):
            loop = self.counted(node, self.fresh(f"{name}{'xyzuvw'[k % 6]}"), Index(AffineConstantExpr(0), ()), size)
            self.insert(loop, node)
            self.block = loop.body.block
            indices.append(loop.index)
        map = AffineMap.identity(len(indices))
        self.store(node, array, map, indices, Number(0))
        while self.block is not outer:
            self.block.add_op(YieldOp.create())
            parent = self.block.parent_op()
            assert parent is not None and parent.parent is not None
            self.block = parent.parent

    # -- loops

    def fresh(self, name: str) -> str:
        """A loop name not taken yet."""
        found, k = name.rstrip("_0123456789") if name.rpartition("_")[2].isdigit() else name, 1
        base = found or "i"
        while found in self.loop_names or found in _array_names(self):
            k += 1
            found = f"{base}{k}"
        self.loop_names.add(found)
        return found

    def counted(self, node: ast.AST, name: str, lower: Index, upper: Index, step: int = 1, kind: str = "seq") -> ForOp:
        def bound(index: Index) -> tuple[AffineMap, Sequence[SSAValue]]:
            return AffineMap(len(index.dims), 0, (index.expr,)), index.dims

        return ForOp.build_loop(bound(lower), bound(upper), step=step, kind=kind, name=name)

    def do_For(self, node: ast.For) -> None:
        if node.orelse:
            self.refuse(node, "kernels have no else of a loop")
        headers = list(self.headers(node))
        self.nest(node, headers)

    def headers(self, node: ast.For) -> Iterator[tuple[str, Index, Index, int, bool, str]]:
        """(name, lower, upper, step, whether it counts down, kind) of each loop of a for statement."""
        call = node.iter
        function = self.resolve(call.func) if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range":
            function = range
        if not isinstance(call, ast.Call) or function not in (range, annotations.parallel, annotations.grid) or call.keywords:
            self.refuse(node.iter, "a loop runs over range(...), lm.parallel(...) or lm.grid(...)")
        if function is annotations.grid:
            sizes: list[Index] = []
            for arg in call.args:
                if isinstance(arg, ast.Attribute) and arg.attr == "shape" and (array := self.array(arg.value)) is not None:
                    sizes += array.sizes
                else:
                    sizes.append(self.math(arg).affine(self.value(arg)))
            targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
            if len(targets) != len(sizes):
                self.refuse(node, f"{len(sizes)} sizes need as many loop variables, got {len(targets)}")
            for target, size in zip(targets, sizes, strict=True):
                yield self.loop_variable(target), Index(AffineConstantExpr(0), ()), size, 1, False, "seq"
            return
        args = [self.math(arg).affine(self.value(arg)) for arg in call.args]
        if not 1 <= len(args) <= 3:
            self.refuse(call, "range takes one to three arguments")
        lower, upper = (Index(AffineConstantExpr(0), ()), args[0]) if len(args) == 1 else (args[0], args[1])
        step = 1 if len(args) < 3 else args[2].constant
        if not step:
            self.refuse(call, "the step of a loop is a number that is not 0")
        kind = "parallel" if function is annotations.parallel else "seq"
        yield self.loop_variable(node.target), lower, upper, step, step < 0, kind

    def loop_variable(self, target: ast.expr) -> str:
        if not isinstance(target, ast.Name):
            self.refuse(target, "a loop variable is a name")
        return target.id

    def nest(self, node: ast.For, headers: list[tuple[str, Index, Index, int, bool, str]]) -> None:
        """The loops of the headers around the body of a for statement."""
        name, lower, upper, step, down, kind = headers[0]
        rest = headers[1:]
        b = self.math(node)
        if down:  # i = lower + k * step, k from 0 below ceil((upper - lower) / step)
            span = b.binary("+", b.binary("-", lower, upper), Number(-step - 1))
            trips = b.binary("//", span, Number(-step))
            assert isinstance(trips, Index)
            first, lower, upper, step_ = lower, Index(AffineConstantExpr(0), ()), trips, 1
        else:
            first, step_ = None, step
        carried = self.carried(node)
        if kind == "parallel" and carried:
            self.refuse(
                node,
                f"a parallel loop cannot carry '{carried[0]}' from iteration to iteration; "
                "use range, or give each iteration an element of an array",
            )
        before_env, before_lost = dict(self.env), dict(self.lost)
        monoid = None if rest else self.reduction(node, carried)

        def body(block: Block, index: SSAValue, kinds: Sequence[Kind], arguments: Sequence[SSAValue]) -> list[Value]:
            """Write the body into a block; the variables' values after it, or their contributions."""
            outer, self.block = self.block, block
            self.env, self.lost = dict(before_env), dict(before_lost)
            counter = Index.of(index)
            if first is not None:
                counter = self.math(node).binary("+", first, self.math(node).binary("*", counter, Number(step)))
                assert isinstance(counter, Index)
            self.env[name] = counter
            for variable, argument in zip(carried, arguments, strict=False):
                self.env[variable] = Scalar(argument)
            try:
                if monoid is not None:
                    return self.contributions(node, carried, kinds)
                if rest:
                    self.nest(node, rest)
                else:
                    self.run(node.body)
                return [self.current(node, v) for v in carried]
            finally:
                self.block = outer

        names = set(self.loop_names)
        types = self.variable_types(node, carried, before_env, lambda block, types: body(
            block, Block(arg_types=[index_type]).args[0], types, Block(arg_types=types).args if monoid is None else ()
        ))  # fmt: skip
        self.loop_names = names
        self.env, self.lost = dict(before_env), dict(before_lost)
        inits = [self.math(node).scalar(_scalar_value(before_env[v]), t) for v, t in zip(carried, types, strict=True)]
        hint = self.fresh(name)
        spec = [(AffineMap(len(i.dims), 0, (i.expr,)), i.dims) for i in (lower, upper)]
        kind = "reduce" if monoid is not None else kind
        loop = ForOp.build_loop(*spec, step=step_, kind=kind, monoid=monoid, inits=inits, name=hint)
        block = loop.body.block
        for argument, variable in zip(block.args[1:], carried, strict=False):
            argument.name_hint = variable
        after = body(block, loop.index, types, block.args[1:])
        outer, self.block = self.block, block
        yielded = [self.math(node).scalar(value, t) for value, t in zip(after, types, strict=True)]
        block.add_op(YieldOp.create(operands=yielded))
        self.block = outer
        assigned = _assigned(node.body)
        self.env, self.lost = before_env, before_lost
        self.insert(loop, node)
        for variable in assigned - set(carried) | {h[0] for h in headers}:
            self.env.pop(variable, None)
            self.lost[variable] = "has a value only inside the loop that assigns it: assign it before the loop"
        for variable, result in zip(carried, loop.results, strict=True):
            result.name_hint = variable
            self.env[variable] = Scalar(result)

    def current(self, node: ast.AST, variable: str) -> Value:
        found = self.env.get(variable)
        if found is None or isinstance(found, Array):
            self.refuse(node, f"'{variable}' {self.lost.get(variable, 'is no number here')}")
        return found

    def carried(self, node: ast.For | ast.While) -> list[str]:
        """Variables that a loop changes and that have a value before it."""
        assigned = _assigned(node.body)
        return [v for v in self.env if v in assigned and not isinstance(self.env[v], Array)]

    def variable_types(
        self, node: ast.AST, carried: list[str], before: dict[str, Value | Array],
        attempt: Callable[[Block, list[Attribute]], list[Value]],
    ) -> list[Attribute]:  # fmt: skip
        """The types of carried variables: what they are before the loop and after its body, joined."""
        kinds: list[Kind] = [kind_of(_scalar_value(before[v])) for v in carried]
        b = self.math(node)
        for _ in range(3):
            types = [b.default(k) for k in kinds]
            if all(isinstance(k, Attribute) for k in kinds):
                return types
            scratch = Block()
            after = attempt(scratch, types)
            joined: list[Kind] = []
            for variable, kind, value in zip(carried, kinds, after, strict=True):
                try:
                    found = kind_of(value)
                    # what came from the guess itself says nothing
                    guess = b.default(kind)
                    joined.append(guess if found == guess else join(kind, found))
                except Mismatch as mismatch:
                    self.refuse(node, f"'{variable}' {mismatch}")
            kinds = joined
        return [b.default(k) for k in kinds]

    def reduction(self, node: ast.For, carried: list[str]) -> str | None:
        """The monoid when every carried variable is only combined with contributions, each by one statement."""
        monoids: set[str] = set()
        for variable in carried:
            uses = sum(isinstance(n, ast.Name) and n.id == variable for s in node.body for n in ast.walk(s))
            updates = [s for s in node.body if (m := _update(s)) is not None and m[0] == variable]
            if len(updates) != 1:
                return None
            found = _update(updates[0])
            assert found is not None
            if uses != found[3]:
                return None
            monoids.add(found[1])
        return monoids.pop() if len(monoids) == 1 else None

    def contributions(self, node: ast.For, carried: list[str], kinds: Sequence[Kind]) -> list[Value]:
        """Run the body of a reduction; what each variable is combined with."""
        found: dict[str, Value] = {}
        for statement in node.body:
            update = _update(statement)
            if update is None or update[0] not in carried:
                self.run([statement])
                continue
            variable, _, contribution, _ = update
            value = self.value(contribution)
            if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Sub):
                value = self.math(statement).negate(value)
            found[variable] = value
        return [found[v] for v in carried]

    def do_While(self, node: ast.While) -> None:
        if node.orelse:
            self.refuse(node, "kernels have no else of a loop")
        carried = self.carried(node)
        before_env, before_lost = dict(self.env), dict(self.lost)

        def body(block: Block, arguments: Sequence[SSAValue]) -> tuple[SSAValue, list[Value]]:
            outer, self.block = self.block, block
            self.env, self.lost = dict(before_env), dict(before_lost)
            for variable, argument in zip(carried, arguments, strict=True):
                self.env[variable] = Scalar(argument)
            try:
                self.run(node.body)
                after = [self.current(node, v) for v in carried]
                return self.math(node.test).truth(self.value(node.test)), after
            finally:
                self.block = outer

        names = set(self.loop_names)
        types = self.variable_types(node, carried, before_env, lambda block, types: body(block, Block(arg_types=types).args)[1])
        self.loop_names = names
        self.env, self.lost = dict(before_env), dict(before_lost)
        inits = [self.math(node).scalar(_scalar_value(before_env[v]), t) for v, t in zip(carried, types, strict=True)]
        for variable, init in zip(carried, inits, strict=True):
            self.env[variable] = Scalar(init)
        start = self.math(node.test).truth(self.value(node.test))
        loop = WhileOp.build_loop(start, inits, carried)
        block = loop.body.block
        condition, after = body(block, block.args)
        outer, self.block = self.block, block
        yielded = [self.math(node).scalar(value, t) for value, t in zip(after, types, strict=True)]
        block.add_op(YieldOp.create(operands=[condition, *yielded]))
        self.block = outer
        self.env, self.lost = before_env, before_lost
        self.insert(loop, node)
        for variable in _assigned(node.body) - set(carried):
            self.env.pop(variable, None)
            self.lost[variable] = "has a value only inside the loop that assigns it: assign it before the loop"
        for variable, result in zip(carried, loop.results, strict=True):
            result.name_hint = variable
            self.env[variable] = Scalar(result)

    # -- conditionals

    def do_If(self, node: ast.If) -> None:
        test = self.value(node.test)
        if isinstance(test, Number):  # a constant from outside decides
            self.run(node.body if test.value else node.orelse)
            return
        condition = self.math(node.test).truth(test)
        before_env, before_lost = dict(self.env), dict(self.lost)
        blocks: list[Block] = []
        after: list[dict[str, Value | Array]] = []
        for statements in (node.body, node.orelse):
            outer, self.block = self.block, Block()
            self.env, self.lost = dict(before_env), dict(before_lost)
            self.run(statements)
            blocks.append(self.block)
            after.append(self.env)
            self.block = outer
        changed: list[str] = []
        lost: list[str] = []
        for variable in dict.fromkeys([*after[0], *after[1]]):
            x, y = after[0].get(variable), after[1].get(variable)
            if x is y or isinstance(x, Array) or isinstance(y, Array):
                if x is None or y is None or (isinstance(x, Array) and x is not y):
                    lost.append(variable)
                continue
            (changed if x is not None and y is not None else lost).append(variable)
        types: list[Attribute] = []
        yielded: list[list[SSAValue]] = [[], []]
        for variable in changed:
            pair = [_scalar_value(env[variable]) for env in after]
            try:
                kind = join(kind_of(pair[0]), kind_of(pair[1]))
            except Mismatch as mismatch:
                self.refuse(node, f"'{variable}' {mismatch}")
            type = self.math(node).default(kind)
            types.append(type)
            for k, value in enumerate(pair):
                outer, self.block = self.block, blocks[k]
                yielded[k].append(self.math(node).scalar(value, type))
                self.block = outer
        self.env, self.lost = before_env, before_lost
        for k, block in enumerate(blocks):
            block.add_op(YieldOp.create(operands=yielded[k]))
        empty = not types and len(list(blocks[1].ops)) == 1
        regions = [Region(blocks[0]), Region() if empty else Region(blocks[1])]
        op = self.insert(IfOp.create(operands=[condition], result_types=types, regions=regions), node)
        for variable, result in zip(changed, op.results, strict=True):
            result.name_hint = variable
            self.env[variable] = Scalar(result)
        for variable in lost:
            self.env.pop(variable, None)
            self.lost[variable] = "has a value on one way only: assign it before the if"


def _array_names(statements: Statements) -> set[str]:
    return {name for name, value in statements.env.items() if isinstance(value, Array)}


def _scalar_value(value: Value | Array) -> Value:
    assert not isinstance(value, Array)
    return value


def _assigned(statements: Sequence[ast.stmt]) -> set[str]:
    """The variables that statements assign."""
    found: set[str] = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return found


def _update(statement: ast.stmt) -> tuple[str, str, ast.expr, int] | None:
    """(variable, monoid, contribution, how often the statement names the variable) of `s += e` or `s = max(s, e)`."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        monoid = "add" if isinstance(statement.op, ast.Sub) else _REDUCTIONS.get(type(statement.op))
        if monoid is not None:
            return statement.target.id, monoid, statement.value, 1
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        name, call = statement.targets[0].id, statement.value
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id in ("min", "max")
            and len(call.args) == 2
        ):
            for k, arg in enumerate(call.args):
                if isinstance(arg, ast.Name) and arg.id == name:
                    return name, call.func.id, call.args[1 - k], 2
    return None


_REFUSED: dict[type, str] = {
    ast.Break: "kernels have no break: put the condition into a while, or the rest of the body under an if",
    ast.Continue: "kernels have no continue: put the rest of the body under an if",
    ast.Assert: "kernels have no assert: check before the call, or use check_bounds=True for indices",
    ast.Try: "kernels have no exceptions",
    ast.With: "kernels have no with",
    ast.Global: "kernels have no global variables: pass an array of one element",
    ast.Nonlocal: "kernels have no variables from outside: pass an array of one element",
    ast.FunctionDef: "kernels have no functions inside: make it a kernel of its own, and call that",
    ast.ClassDef: "kernels have no classes",
    ast.Import: "import outside of the kernel",
    ast.ImportFrom: "import outside of the kernel",
    ast.Delete: "kernels have no del",
    ast.Raise: "kernels have no exceptions",
    ast.Match: "kernels have no match: write if and elif",
}

__all__ = ["Statements"]

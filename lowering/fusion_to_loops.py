"""From one fusion body to one unscheduled kernel, by pulling scalars through equations.

The root's iteration space becomes the outer loops. Every other op is evaluated at the level where its index is known, no
deeper: the emitter keeps a table of computed scalars for each open loop and puts a computation into the outermost loop that
knows its index, so that invariant ops are outside loops. A reduction opens loops at its level. The order of the root's loops,
and the values that are stored first, in separate nests and local buffers, are those of the `graph.fusion`: they are not decided
here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from typing import Any

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ..dialects.graph.base import Equation, GraphOp, Read
from ..dialects.graph.fusion import FusionOp
from ..dialects.loop.loops import PAIR_MONOIDS, ForOp, YieldOp
from ..dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ..dialects.loop.subscripts import canonical, linear_form
from ..dialects.operations import append, ops_of
from ..dialects.scalar import ScalarBuilder
from ..dialects.sizes.polynomial import Size, positive
from ..dialects.types import element_of, has_symbols, memref, shape_of, show_shape
from ..errors import CompileError
from .nest_builder import NestBuilder

Point = tuple[AffineExpr, ...]
"""An index point: one expression for each dim, over the open loops counted from the outermost."""

_LOOP_NAMES = "ijklmnopqrstuvw"
_INDEX = IndexType()

MOST_NESTED = 32
"""Most nested pulls, each some calls deep, before operands are computed in order instead."""


class _PooledBuilder(ScalarBuilder):
    """A `ScalarBuilder` whose constants are at the top of the kernel, each once."""

    def __init__(self, block: Block, top: Block, pool: dict[tuple[str, Attribute], SSAValue]):
        super().__init__(block)
        self.top, self.pool = top, pool

    def const(self, value: float | int | bool, type: Attribute) -> SSAValue:
        key = (repr(value), type)
        if key not in self.pool:
            self.pool[key] = ScalarBuilder(self.top).const(value, type)
        return self.pool[key]


@dataclass(eq=False)
class _Level:
    """An open loop (or the kernel itself): where its ops go, and the scalars already computed in it."""

    builder: ScalarBuilder
    values: dict[tuple[SSAValue, Point, int | None], SSAValue] = field(default_factory=dict)

    @property
    def block(self) -> Block:
        return self.builder.block


@dataclass(frozen=True, eq=False)
class KernelPlan:
    """The results and loops of a kernel, as a `graph.fusion` specifies them: `body` computes `outputs` from its arguments."""

    body: Block
    outputs: Sequence[SSAValue]
    order: Sequence[int]
    """The dims of the outputs in the order of their loops."""
    stored_first: Sequence[SSAValue] = ()
    """The values that are computed before the nest of the outputs, in this order."""

    @classmethod
    def of(cls, fusion: FusionOp) -> KernelPlan:
        """The specification of a fusion."""
        return cls(fusion.body.block, fusion.yielded(), fusion.loop_order(), fusion.stored_first())

    @property
    def nest(self) -> GraphOp | None:
        """The op that writes the loops, if there is one."""
        return next((op for op in ops_of(self.body) if isinstance(op, GraphOp) and op.has_nest), None)


class KernelEmitter:
    """Builds the kernel of a plan. `is_plain`: an op writes its plainer nest.

    After `emit`, `inplace` holds the pairs (output, argument) where the argument's element is read only at the very point where
    the output is stored, so that both may share a buffer.
    """

    def __init__(self, plan: KernelPlan, module: ModuleOp, *, is_plain: bool = False):
        self.plan, self.module, self.is_plain = plan, module, is_plain
        self.body, self.outputs = body, outputs = plan.body, plan.outputs
        values = (*body.args, *outputs)
        block = Block(arg_types=list(map(_memref_of, values)))
        self.kernel = block
        self.sizes: dict[Size, SSAValue] = {}
        """The index arguments, by the terms of dynamic sizes that they are. More are added where they are needed."""
        for value in values:
            for size in shape_of(value):
                self._terms(size)
        self.buffers: dict[SSAValue, SSAValue] = dict(zip(body.args, block.args, strict=False))
        self.targets = block.args[len(body.args) : len(values)]
        for k, (source, argument) in enumerate(self.buffers.items()):
            argument.name_hint = source.name_hint or f"a{k}"
        for k, target in enumerate(self.targets):
            target.name_hint = "out" if len(self.targets) == 1 else f"out{k}"
        self.pool: dict[tuple[str, Attribute], SSAValue] = {}
        self.levels = [_Level(_PooledBuilder(block, block, self.pool))]
        self.indices: list[SSAValue] = []
        self.loops_named = 0
        self.branches: list[tuple[_Level, int]] = []
        self.guarded = 0
        self.nested = 0
        """The number of loops around the innermost branch whose contents may not be computed outside it."""
        self.reads: dict[SSAValue, set[tuple[_Level, Point]]] = {}
        self.stored: set[tuple[_Level, Point]] = set()
        self.following: set[SSAValue] = set()
        """Values that depend on the result of an op with a loop nest of its own: known only where that nest writes."""
        self.inplace: list[tuple[int, int]] = []
        self.stored_first: dict[SSAValue, SSAValue] = {}
        """Local buffers of the values that are computed before the nest of the results."""

    def emit(self) -> Block:
        """The kernel's block, with all loops in it."""
        root = self.outputs[0].owner
        if (nest := self.plan.nest) is not None:
            self._write_nest(nest)
        elif isinstance(root, GraphOp) and root.equations() and root.single_equation() is None:
            if len(self.outputs) > 1:
                raise CompileError(f"'{root.name}' op has several loop nests and cannot share a kernel with other results")
            equations = root.equations()
            for together in [equations] if root.stores_together else [(equation,) for equation in equations]:
                self._store_nest(root, together)
        else:
            for value in self.plan.stored_first:
                self._store_first(value)
            self._store_results()
        return self.kernel

    # -- roots

    def _store_results(self) -> None:
        """One nest that stores every output at its point."""
        shapes = {shape_of(value) for value in self.outputs}
        if len(shapes) > 1:
            raise CompileError(f"results of one kernel must have one shape, got {', '.join(map(show_shape, sorted(shapes)))}")

        def body(point: Point) -> None:
            scalars = [self.pull(value, point) for value in self.outputs]
            for scalar, target in zip(scalars, self.targets, strict=True):
                self._store(scalar, target, point)
            self.stored.add((self.levels[-1], point))

        shape, order = shape_of(self.outputs[0]), self.plan.order

        def in_order(point: Point) -> None:
            body(tuple(point[order.index(dim)] for dim in range(len(shape))))

        self._parallel_loops([shape[dim] for dim in order], (), in_order)
        self._find_inplace()

    def _store_first(self, value: SSAValue) -> None:
        """A nest that computes a whole value into a local buffer."""
        op = value.owner
        assert isinstance(op, Operation)
        name = value.name_hint or op.name.removeprefix("graph.")
        sizes = [self.size_value(size) for size in shape_of(value) if isinstance(size, Size)]
        alloc = AllocOp.build_alloc("scratch", _memref_of(value), sizes, name=name)
        alloc.location = op.location
        self.kernel.add_op(alloc)

        def body(point: Point) -> None:
            self._store(self.pull(value, point), alloc.buffer, point)

        self._parallel_loops(shape_of(value), (), body)
        self.stored_first[value] = alloc.buffer

    def _write_nest(self, op: GraphOp) -> None:
        """The loops of an op with a nest of its own; elementwise ops that follow are computed where it writes."""
        if list(self.outputs) != list(op.results):
            shapes = [shape_of(value) for value in (*op.results, *self.outputs)]
            if not op.facts.writes_once or len(set(shapes)) > 1:
                raise CompileError(f"'{op.name}' op writes its own loops and cannot share a kernel with other results")
            self.following.update(op.results)
            for later in ops_of(self.body):
                if not self.following.isdisjoint(later.operands):
                    self.following.update(later.results)
        (op.plain_nest if self.is_plain else op.nest)(NestBuilder(self, op))
        self._find_inplace()

    def follows(self, op: GraphOp) -> bool:
        """Whether a value is computed where an op writes its result."""
        return op.results[0] in self.following

    def store_following(self, scalar: SSAValue, value: SSAValue, point: Point) -> None:
        """Store the outputs at a point, where the loops of an op have computed its result `value`."""
        point = tuple(map(_tidy, point))
        self.levels[-1].values[value, point, None] = scalar
        scalars = [self.pull(output, point) for output in self.outputs]
        for found, target in zip(scalars, self.targets, strict=True):
            self._store(found, target, point)
        self.stored.add((self.levels[-1], point))

    def _store_nest(self, op: GraphOp, equations: Sequence[Equation]) -> None:
        """A nest of some of the equations of an op that has several, stored through their `write` maps."""

        def body(point: Point) -> None:
            scalars = [self._evaluate(op, equation, point) for equation in equations]
            for scalar, equation in zip(scalars, equations, strict=True):
                self._store(scalar, self.targets[0], point if equation.write is None else compose(equation.write, point))

        self._parallel_loops(equations[0].space[: equations[0].n_parallel], (), body)

    def _find_inplace(self) -> None:
        for k, output in enumerate(self.outputs):
            for j, source in enumerate(self.buffers):
                if source.type == output.type and (reads := self.reads.get(source)) and reads <= self.stored:
                    self.inplace.append((len(self.buffers) + k, j))

    # -- loops

    def given_shapes(self) -> list[tuple[int, list[AffineExpr], None]]:
        """The dynamic sizes (`?`) of the kernel's arguments, over its index arguments: see `KernelOp.build_kernel`."""
        numbers = {argument: k for k, argument in enumerate(self.sizes.values())}

        def spelled(size: Any) -> AffineExpr:
            constant, terms = self._terms(size)
            total: AffineExpr = AffineConstantExpr(constant)
            for argument, c in terms:
                total = AffineDimExpr(numbers[argument]) * c + total
            return total

        places: dict[SSAValue, int] = {argument: k for k, argument in enumerate(self.kernel.args)}
        pairs = zip((*self.body.args, *self.outputs), (*self.buffers.values(), *self.targets), strict=True)
        open_ = [(places[buffer], value) for value, buffer in pairs if buffer in places and has_symbols(value)]
        return [(k, list(map(spelled, shape_of(value))), None) for k, value in open_]

    def _terms(self, size: Any) -> tuple[int, list[tuple[SSAValue, int]]]:
        """A size as a constant plus multiples of index arguments, which are added as needed."""
        if not isinstance(size, Size):
            return size, []
        constant, terms = size.constant, list[tuple[SSAValue, int]]()
        for monomial, c in size.monomials:
            least, parts = _not_negative(Size.product(monomial))
            constant += c * least
            for part, sign in parts:
                if part not in self.sizes:
                    argument = self.sizes[part] = self.kernel.insert_arg(_INDEX, len(self.kernel.args))
                    argument.name_hint = size_name(len(self.sizes) - 1)
                terms.append((self.sizes[part], c * sign))
        return constant, terms

    def size_value(self, size: Any) -> SSAValue:
        """A size as an `index` value, computed at the top of the kernel."""
        if not isinstance(size, Size):
            return self.levels[-1].builder.const(size, _INDEX)
        key = (str(size), _INDEX)
        if key not in self.pool:
            builder = _PooledBuilder(self.kernel, self.kernel, self.pool)
            constant, terms = self._terms(size)
            total: SSAValue | None = builder.const(constant, _INDEX) if constant else None
            for argument, c in terms:
                term = argument if c == 1 else builder.mul(argument, builder.const(c, _INDEX))
                total = term if total is None else builder.add(total, term)
            assert total is not None
            self.pool[key] = total
        return self.pool[key]

    def _bound(self, size: Any) -> int | tuple[AffineMap, Sequence[SSAValue]]:
        if isinstance(size, int):
            return size
        self._terms(size)  # which no buffer may have
        return self.access((AffineConstantExpr(size),))

    def _parallel_loops(self, sizes: Sequence[Any], point: Point, body: Callable[[Point], None]) -> None:
        if not sizes:
            body(point)
            return
        inner, dim = self.open_loop()
        self._parallel_loops(sizes[1:], (*point, dim), body)
        inner.add_op(YieldOp.create())
        self.close_to(len(self.indices) - 1)
        self.levels[-1].block.add_op(ForOp.build_loop(0, self._bound(sizes[0]), kind="parallel", body=inner))

    def open_loop(self, carried: Sequence[Attribute] = ()) -> tuple[Block, AffineExpr]:
        """Start the body of a loop: its block, and its index for points."""
        block = Block(arg_types=[_INDEX, *carried])
        block.args[0].name_hint = self._loop_name()
        self.indices.append(block.args[0])
        self.levels.append(_Level(_PooledBuilder(block, self.kernel, self.pool)))
        return block, AffineDimExpr(len(self.indices) - 1)

    def _loop_name(self) -> str:
        """`i`, `j`, ... `w`, `i2`, `j2`, ...: schedule primitives find loops by name."""
        again, letter = divmod(self.loops_named, len(_LOOP_NAMES))
        self.loops_named += 1
        return _LOOP_NAMES[letter] + (str(again + 1) if again else "")

    def open_value(self, position: SSAValue) -> AffineExpr:
        """Make a computed index usable in points, from here to the end of the loop around it."""
        self.indices.append(position)
        self.levels.append(_Level(self.levels[-1].builder, dict(self.levels[-1].values)))
        return AffineDimExpr(len(self.indices) - 1)

    def close_to(self, depth: int) -> None:
        """End all bodies deeper than `depth` loops."""
        del self.levels[depth + 1 :], self.indices[depth:]

    def open_branch(self, block: Block, *, guards: bool = False) -> int:
        """Start a block that may not run: values computed in it are not known after it.

        If it `guards`, values pulled in it are also not hoisted before it, where no inner loop is needed for that.
        """
        self.branches.append((self.levels[-1], self.guarded))
        if guards:
            self.guarded = len(self.indices)
        self.levels[-1] = _Level(_PooledBuilder(block, self.kernel, self.pool), dict(self.levels[-1].values))
        return len(self.indices)

    def close_branch(self, depth: int) -> None:
        """End a block that `open_branch` started at that depth."""
        self.close_to(depth)
        self.levels[-1], self.guarded = self.branches.pop()

    def insert(self, op: Operation) -> None:
        """Append an op at the insertion point."""
        append(self.levels[-1].block, op)

    # -- pulling

    def pull(self, value: SSAValue, point: Point) -> SSAValue:
        """The scalar of `value` at a point, computed once, in the outermost loop that knows the point."""
        self.nested += 1
        try:
            if self.nested % MOST_NESTED == 0:
                for earlier, at in self._before(value, point):
                    self._once(earlier, at, None)
            return self._once(value, point, None)
        finally:
            self.nested -= 1

    def _before(self, value: SSAValue, point: Point) -> list[tuple[SSAValue, Point]]:
        """The operands of a scalar, in the order in which pulling computes them: long chains need no deep recursion."""
        found: dict[tuple[SSAValue, Point], None] = {}
        pending = [(value, point, False)]
        while pending:
            one, at, is_ready = pending.pop()
            if is_ready:
                found.setdefault((one, at))
            elif (one, at) not in found and one not in self.buffers and one not in self.stored_first:
                pending.append((one, at, True))
                pending += [(*read, False) for read in reversed(self._plain_reads(one.owner, at))]
        return [*found]

    @staticmethod
    def _plain_reads(op: Any, point: Point) -> list[tuple[SSAValue, Point]]:
        """The elements that an op without loops reads at a point; nothing where earlier reads determine the subscripts."""
        equation = op.single_equation() if isinstance(op, GraphOp) and op.name != "graph.const" else None
        if equation is None or equation.n_reduce or any(read.positions for read in equation.reads):
            return []
        return [(op.operands[read.operand], compose(read.map, point)) for read in equation.reads]

    def position(self, value: SSAValue, point: Point, last: Any) -> SSAValue:
        """The integer of `value` at a point as an index clamped into [0, last], computed as by `pull`."""
        return self._once(value, point, last)

    def _once(self, value: SSAValue, point: Point, last: Any) -> SSAValue:
        depth = max((self.guarded, *(d + 1 for e in point for d in e.used_dims())))
        if value in self.following:
            depth = len(self.indices)
        level = self.levels[depth]
        key = (value, point, last)
        if key not in level.values:
            # inner loops stay open meanwhile; ops built now go before them
            levels, indices = self.levels, self.indices
            self.levels, self.indices = levels[: depth + 1], indices[:depth]
            try:
                level.values[key] = self._compute(value, point) if last is None else self._clamped(value, point, last)
            finally:
                self.levels, self.indices = levels, indices
        return level.values[key]

    def _clamped(self, value: SSAValue, point: Point, last: Any) -> SSAValue:
        found = self.pull(value, point)
        builder = self.levels[-1].builder
        found = builder.convert(found, _INDEX)
        return builder.min(builder.max(found, builder.const(0, _INDEX)), self.size_value(last))

    def _compute(self, value: SSAValue, point: Point) -> SSAValue:
        level = self.levels[-1]
        if value in self.buffers:
            self.reads.setdefault(value, set()).add((level, point))
            map, indices = self.access(point)
            return level.builder.insert(LoadOp.build_load(self.buffers[value], map, indices))
        if value in self.stored_first:
            map, indices = self.access(point)
            return level.builder.insert(LoadOp.build_load(self.stored_first[value], map, indices))
        op = value.owner
        assert isinstance(op, GraphOp)
        if op.name == "graph.const":
            return level.builder.const(op.evaluate()[0].item(), element_of(op.results[0]))
        equation = op.single_equation()
        if equation is None:
            raise CompileError(f"'{op.name}' op cannot be computed inside another kernel: it has no single equation")
        return self._evaluate(op, equation, point)

    def _evaluate(self, op: GraphOp, equation: Equation, point: Point) -> SSAValue:
        """The scalar of an equation at a point, in the current loop."""
        if not equation.n_reduce:
            return self._body(op, equation, point)
        results = self._reduce(op, equation, point, equation.space[equation.n_parallel :])
        result = results[-1] if equation.monoid in PAIR_MONOIDS else results[0]
        return result if equation.finish is None else equation.finish(self.levels[-1].builder, result)

    def _body(self, op: GraphOp, equation: Equation, point: Point) -> Any:
        scalars = [self._read(op, equation, read, point) for read in equation.reads]
        builder = self.levels[-1].builder
        builder.location = op.location
        if equation.sizes:
            return equation.body(builder, *scalars, sizes=[self.size_value(size) for size in equation.sizes])
        if equation.uses_index:
            return equation.body(builder, *scalars, index=[self.index_value(e) for e in point])
        return equation.body(builder, *scalars)

    def _read(self, op: GraphOp, equation: Equation, read: Read, point: Point) -> SSAValue:
        """The value of one access of an equation, at subscripts from earlier accesses."""
        depth, symbols = len(self.indices), list[AffineExpr]()
        for given in read.positions:
            earlier = equation.reads[given.read]
            index = self.position(op.operands[earlier.operand], compose(earlier.map, point), given.last)
            symbols.append(self.open_value(index))
        value = self.pull(op.operands[read.operand], compose(read.map, point, symbols))
        self.close_to(depth)
        return value

    def _reduce(self, op: GraphOp, equation: Equation, point: Point, sizes: Sequence[Any]) -> Sequence[SSAValue]:
        """One `reduce` loop for each reduced dim, nested; returns the results of the outermost."""
        monoid = equation.monoid
        assert monoid is not None
        inner, dim = self.open_loop()
        if len(sizes) == 1:
            contribution = self._body(op, equation, (*point, dim))
        else:
            contribution = self._reduce(op, equation, (*point, dim), sizes[1:])
        values: list[SSAValue] = list(contribution) if isinstance(contribution, (tuple, list)) else [contribution]  # pyright: ignore[reportAssignmentType]
        inner.add_op(YieldOp.create(operands=values))
        self.close_to(len(self.indices) - 1)
        builder, element = self.levels[-1].builder, self._reduced_element(op, equation)
        if monoid in PAIR_MONOIDS:
            inits = [builder.identity(monoid.removeprefix("arg"), element), builder.const(0, values[1].type)]
        else:
            inits = [builder.identity(monoid, element)]
        loop = ForOp.build_loop(0, self._bound(sizes[0]), kind="reduce", monoid=monoid, inits=inits, body=inner)
        loop.location = op.location
        self.levels[-1].block.add_op(loop)
        return loop.results

    def _reduced_element(self, op: GraphOp, equation: Equation) -> Attribute:
        if equation.monoid in PAIR_MONOIDS:
            return element_of(op.operands[0])
        return element_of(op.results[0])

    # -- indices and memory

    def index_value(self, expr: AffineExpr) -> SSAValue:
        builder = self.levels[-1].builder
        form = linear_form(expr, len(self.indices))
        if form is None:
            raise CompileError(f"index {expr} is not affine in the loops")
        total: SSAValue | None = self.size_value(form[1]) if form[1] != 0 or not any(form[0]) else None
        for index, coefficient in zip(self.indices, form[0], strict=True):
            if coefficient:
                term = index if coefficient == 1 else builder.mul(index, builder.const(coefficient, _INDEX))
                total = term if total is None else builder.add(total, term)
        assert total is not None
        return total

    def access(self, point: Point) -> tuple[AffineMap, list[SSAValue]]:
        exprs, used = _over_used_dims(tuple(point))
        indices = [self.indices[dim] for dim in used]
        if not self.sizes:
            return AffineMap(len(used), 0, exprs), indices
        exprs = tuple([e if isinstance(e, AffineDimExpr) else self._without_sizes(e, indices) for e in exprs])
        return AffineMap(len(indices), 0, tuple(canonical(e, len(indices)) for e in exprs)), indices

    def _without_sizes(self, expr: AffineExpr, indices: list[SSAValue]) -> AffineExpr:
        """An expression with index arguments for dynamic sizes, which are added to `indices`."""
        if isinstance(expr, AffineConstantExpr) and isinstance(expr.value, Size):
            constant, terms = self._terms(expr.value)
            total: AffineExpr = AffineConstantExpr(constant)
            for argument, c in terms:
                if argument not in indices:
                    indices.append(argument)
                total = AffineDimExpr(indices.index(argument)) * c + total
            return total
        if isinstance(expr, AffineBinaryOpExpr):
            sides = [self._without_sizes(side, indices) for side in (expr.lhs, expr.rhs)]
            return expr if sides == [expr.lhs, expr.rhs] else AffineExpr.binary(expr.kind, *sides)
        return expr

    def _store(self, scalar: SSAValue, target: SSAValue, point: Point) -> None:
        map, indices = self.access(point)
        self.levels[-1].block.add_op(StoreOp.build_store(scalar, target, map, indices))


@lru_cache(maxsize=8192)
def _over_used_dims(point: tuple[AffineExpr, ...]) -> tuple[tuple[AffineExpr, ...], tuple[int, ...]]:
    """Expressions over the dims that they use alone, and these dims."""
    used = sorted({d for e in point for d in e.used_dims()})
    renamed: list[AffineExpr] = [AffineConstantExpr(0)] * (max(used, default=-1) + 1)
    for position, dim in enumerate(used):
        renamed[dim] = AffineDimExpr(position)
    return tuple([canonical(e.replace_dims_and_symbols(renamed, []), len(used)) for e in point]), tuple(used)


def size_name(number: int) -> str:
    """The name of a dynamic size, by its number: `N`, `M`, `K`, `N3` ..."""
    return "NMK"[number] if number < 3 else f"N{number}"


def _not_negative(term: Size) -> tuple[int, list[tuple[Any, int]]]:
    """A term as a number plus multiples of nonnegative sizes, as kernels assume of index arguments."""
    low, high = term.bounds
    if low >= 0:
        return 0, [(term, 1)]
    if low > -inf:
        return int(low), [(term - int(low), 1)]
    if high < inf:
        return int(high), [(int(high) - term, -1)]
    return 0, [(positive(term), 1), (positive(-1 * term), -1)]


def _memref_of(value: SSAValue):
    return memref(element_of(value), shape_of(value))


def compose(map: AffineMap, point: Point, symbols: Sequence[AffineExpr] = ()) -> Point:
    """The index point that a map computes from a point."""
    return tuple(_tidy(e.replace_dims_and_symbols(list(point), list(symbols))) for e in map.results)


def _tidy(expr: AffineExpr) -> AffineExpr:
    if isinstance(expr, AffineDimExpr | AffineConstantExpr):
        return expr
    return canonical(expr, max(expr.used_dims(), default=-1) + 1)

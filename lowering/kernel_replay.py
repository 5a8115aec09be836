"""Writes the ops of a kernel once more, as loops of an op: for known sizes, on other buffers.

Subscripts become points of a `NestBuilder`, so that operands are pulled through their producers. What follows from sizes is
decided: bounds are numbers, and of a conditional only the branch that is taken is written. Arrays of complex numbers, whose
last dim is the part, become two arrays, so that vectors hold real or imaginary parts.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ..dialects.loop.loops import PAIR_MONOIDS, ForOp, IfOp, KernelOp, WhileOp, YieldOp
from ..dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ..dialects.loop.parameters import Interface
from ..dialects.loop.subscripts import linear_form
from ..dialects.operations import create
from ..dialects.sizes.polynomial import greatest, least
from ..dialects.types import DYNAMIC, element_of, shape_of
from ..dialects.vocabulary import CmpiOp, SelectOp, number_of
from ..errors import CompileError
from .analysis.nests import holds, ops_in, walk

if TYPE_CHECKING:
    from .nest_builder import NestBuilder

Point = Sequence[AffineExpr]

_ON_NUMBERS = {
    AffineBinaryOpKind.Add: operator.add,
    AffineBinaryOpKind.Mul: operator.mul,
    AffineBinaryOpKind.FloorDiv: operator.floordiv,
    AffineBinaryOpKind.CeilDiv: lambda x, y: -(-x // y),
    AffineBinaryOpKind.Mod: operator.mod,
}
_COMPARED = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
"""Comparisons of signed integers by the number of their predicate."""


class Part(Protocol):
    """An array: of real numbers, or of the real or imaginary parts of others."""

    def load(self, point: Point) -> SSAValue: ...
    def store(self, value: SSAValue, point: Point) -> None: ...


class Operand:
    """One problem of an operand of the op, at a point of the leading dims."""

    def __init__(self, b: NestBuilder, operand: int, lead: Point):
        self.b, self.operand, self.lead = b, operand, lead

    def load(self, point: Point) -> SSAValue:
        return self.b.read(self.operand, [*self.lead, *point])

    def store(self, value: SSAValue, point: Point) -> None:
        raise CompileError(f"'{self.b.op.name}' op cannot be computed by a kernel that writes its operand {self.operand}")


class Buffers:
    """One problem of a result, or a local array."""

    def __init__(self, b: NestBuilder, buffer: SSAValue, lead: Point):
        self.b, self.buffer, self.lead = b, buffer, lead

    def load(self, point: Point) -> SSAValue:
        return self.b.load(self.buffer, [*self.lead, *point])

    def store(self, value: SSAValue, point: Point) -> None:
        self.b.store(value, self.buffer, [*self.lead, *point])

    def drop(self) -> None:
        """Remove a local array that nothing accesses."""
        alloc = self.buffer.owner
        assert isinstance(alloc, AllocOp)
        alloc.detach()
        alloc.erase()


class Replay:
    """Writes a kernel with a nest builder.

    Args:
        is_split: whether the op has parts of complex numbers: local arrays whose last dim of size 2 is only accessed at
            numbers are then two arrays.
    """

    def __init__(self, b: NestBuilder, kernel: KernelOp, *, is_split: bool):
        self.b, self.kernel, self.is_split = b, kernel, is_split
        self.arrays: dict[SSAValue, Sequence[Part]] = {}
        self.scalars: dict[SSAValue, SSAValue] = {}
        self.points: dict[SSAValue, AffineExpr] = {}
        """Index values as expressions of the open loops."""
        self.known: dict[SSAValue, bool] = {}
        """Conditions that sizes decide."""
        self.needed: set[Operation] = set()
        self.skipped: set[Operation] = set()
        """Nests that are not written."""
        self.ranges: dict[int, tuple[float, float]] = {}
        """The least and the greatest value of open indices."""

    def run(self, interface: Interface, arrays: Sequence[Sequence[Part]], sizes: Sequence[Sequence[Any]]) -> None:
        """Write the loops.

        Args:
            arrays: for each parameter its array, or two for the parts of complex numbers.
            sizes: its sizes, without a dim for parts.
        """
        bound: dict[int, Any] = {}
        for parameter, parts, shape in zip(interface.parameters, arrays, sizes, strict=True):
            self.arrays[parameter.argument] = parts
            dims = interface.dims(parameter)[0][: len(shape)]
            if parameter.rank != len(shape) + (len(parts) == 2):
                raise self._unfit(f"'{parameter.name}' has {parameter.rank} dims, its array {len(shape)}")
            for dim, size in zip(dims, shape, strict=True):
                found = size - dim.constant
                if dim.symbol is None and found != 0:
                    raise self._unfit(f"'{parameter.name}' has a size of {dim.constant}, its array {size}")
                if dim.symbol is not None and bound.setdefault(dim.symbol, found) != found:
                    raise self._unfit(f"'{interface.names[dim.symbol]}' is {bound[dim.symbol]} and {found}")
        for k, symbol in enumerate(self.kernel.index_arguments):
            self.points[symbol] = _number(bound[k])
        self._find_needed(self.kernel.body.block)
        self.needed -= self.skipped
        self._block(self.kernel.body.block)

    def first_copies(self) -> Iterator[tuple[Operation, SSAValue, SSAValue]]:
        """The nests at the beginning that copy an array, which is read nowhere else, to another one; each with both."""
        arguments = set(self.kernel.body.block.args)
        for nest in self.kernel.body.block.ops:
            if not isinstance(nest, ForOp):
                continue
            loads, stores = ops_in(nest, LoadOp), ops_in(nest, StoreOp)
            buffers = {op.buffer for op in loads}, {op.buffer for op in stores}
            ops = [op for op in walk(nest) if not isinstance(op, ForOp | YieldOp)]
            values = [store.value for store in stores]
            if any(len(found) != 1 for found in buffers) or {*loads, *stores} != {*ops}:
                return
            ((source,), (target,)) = buffers
            if not {source, target} <= arguments or values != [load.results[0] for load in loads]:
                return
            pairs = zip(loads, stores, strict=True)
            if any((x.map, [*x.indices]) != (y.map, [*y.indices]) for x, y in pairs) or len({*source.uses}) != len(loads):
                return
            yield nest, source, target

    def _unfit(self, facts: str) -> CompileError:
        return CompileError(f"'{self.b.op.name}' op cannot be computed by kernel @{self.kernel.sym_name.data}: {facts}")

    def _find_needed(self, block: Block) -> None:
        """Note the ops whose results are used, in this block and those inside; those with bodies and stores always are."""
        for op in reversed(list(block.ops)):
            for region in op.regions:
                for inner in region.blocks:
                    self._find_needed(inner)
            if op.regions or not op.results or any(use.operation in self.needed for r in op.results for use in r.uses):
                self.needed.add(op)

    # -- values

    def _expr(self, expr: AffineExpr, dims: Sequence[AffineExpr]) -> AffineExpr:
        """An expression over index values of the kernel as one over the open loops."""
        if isinstance(expr, AffineDimExpr):
            return dims[expr.position]
        if isinstance(expr, AffineBinaryOpExpr):
            return _combined(expr.kind, self._expr(expr.lhs, dims), self._expr(expr.rhs, dims))
        return expr

    def _map(self, map: AffineMap, operands: Sequence[SSAValue]) -> list[AffineExpr]:
        dims = [self._point(value) for value in operands]
        return [self._expr(expr, dims) for expr in map.results]

    def _point(self, value: SSAValue) -> AffineExpr:
        """An index value for points: computed ones are usable until the loop around them ends."""
        if value not in self.points:
            self.points[value] = self.b.index_of(self.scalars[value])
        return self.points[value]

    def _scalar(self, value: SSAValue) -> SSAValue:
        if value in self.scalars:
            return self.scalars[value]
        if value in self.points:
            return self.b.position(self.points[value])
        return self.b.scalar.const(self.known[value], value.type)

    def _give(self, olds: Sequence[SSAValue], news: Sequence[SSAValue]) -> None:
        for old, new in zip(olds, news, strict=True):
            self.scalars[old] = new

    # -- ops

    def _block(self, block: Block) -> None:
        """Write the ops of a block but for its end."""
        for op in block.ops:
            if op in self.needed and not isinstance(op, YieldOp):
                self._op(op)

    def _op(self, op: Operation) -> None:
        b = self.b
        if isinstance(op, ForOp):
            self._loop(op)
        elif isinstance(op, IfOp):
            self._conditional(op)
        elif isinstance(op, LoadOp):
            array, point = self._access(op.buffer, self._map(op.map.data, op.indices))
            self.scalars[op.results[0]] = array.load(point)
        elif isinstance(op, StoreOp):
            array, point = self._access(op.buffer, self._map(op.map.data, op.indices))
            array.store(self._scalar(op.value), point)
        elif isinstance(op, AllocOp):
            self._allocate(op)
        elif isinstance(op, WhileOp):
            inits = [self._scalar(value) for value in op.inits]
            self._give(op.results, b.repeat(self._scalar(op.condition), inits, lambda carried, op=op: self._again(op, carried)))
        elif not self._decide(op):
            if (number := number_of(op.results[0])) is not None:
                self.scalars[op.results[0]] = b.scalar.const(number, op.results[0].type)
                return
            operands = [self._scalar(value) for value in op.operands]
            types = [result.type for result in op.results]
            made = create(type(op), operands=operands, result_types=types, properties=op.properties)
            b.scalar.insert(made)
            self._give(op.results, made.results)

    def _access(self, buffer: SSAValue, point: list[AffineExpr]) -> tuple[Part, Point]:
        """The array of an access, and the point in it."""
        parts = self.arrays[buffer]
        if len(parts) == 1:
            return parts[0], point
        *rest, part = point
        assert isinstance(part, AffineConstantExpr), "the part of a complex number is a number"
        return parts[part.value], rest

    def _decide(self, op: Operation) -> bool:
        """Whether an op computes an index that is affine, or a condition that sizes decide: it is not written then."""
        result = op.results[0]
        if isinstance(result.type, IndexType):
            if (number := number_of(result)) is not None:
                self.points[result] = _number(number)
                return True
            points = [self.points.get(value) for value in op.operands]
            if all(isinstance(point, AffineConstantExpr) for point in points) and type(op) in _OF_SIZES:
                self.points[result] = _number(_OF_SIZES[type(op)](*(point.value for point in points)))  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
                return True
            if None in points or not isinstance(op, arith.AddiOp | arith.SubiOp | arith.MuliOp):
                return False
            x, y = points
            if isinstance(op, arith.MuliOp):
                if not any(isinstance(point, AffineConstantExpr) for point in points):
                    return False
                self.points[result] = _combined(AffineBinaryOpKind.Mul, x, y)
                return True
            y = _combined(AffineBinaryOpKind.Mul, y, _number(-1)) if isinstance(op, arith.SubiOp) else y
            self.points[result] = _combined(AffineBinaryOpKind.Add, x, y)
            return True
        if isinstance(op, CmpiOp):
            x, y = (self.points.get(value) for value in op.operands)
            if isinstance(x, AffineConstantExpr) and isinstance(y, AffineConstantExpr):
                numbers = x.value, y.value
                if all(type(number) is int for number in numbers) and op.predicate.value.data < len(_COMPARED):
                    self.known[result] = _COMPARED[op.predicate.value.data](*numbers)
                    return True
        if isinstance(op, SelectOp) and op.cond in self.known:
            chosen = op.lhs if self.known[op.cond] else op.rhs
            self.scalars[result] = self._scalar(chosen)
            return True
        return False

    def _allocate(self, op: AllocOp) -> None:
        given = iter(op.sizes)
        shape = [self._size(next(given)) if n == DYNAMIC else n for n in shape_of(op.buffer)]
        element, name = element_of(op.buffer), op.buffer.name_hint
        names: list[str | None] = [name]
        if self.is_split and shape and shape[-1] == 2 and all(map(_is_of_part, op.buffer.uses)):
            shape, names = shape[:-1], [name, f"{name or 'part'}_imaginary"]
        self.arrays[op.buffer] = [Buffers(self.b, self.b.local(shape, element, "scratch", name=n), []) for n in names]

    def _size(self, value: SSAValue) -> Any:
        expr = self._point(value)
        if not isinstance(expr, AffineConstantExpr):
            raise self._unfit("the size of a local array does not follow from the sizes of arguments")
        return expr.value

    def _loop(self, op: ForOp) -> None:
        b, kind, monoid = self.b, op.kind.data, _text(op.monoid)
        bounds = self._map(op.lower.data, op.lower_operands), self._map(op.upper.data, op.upper_operands)
        bounds = self._tight(bounds[0], -1), self._tight(bounds[1], 1)
        if _never_runs(*bounds):
            self._give(op.results, [self._scalar(value) for value in op.inits])
            return
        if len(op.results) > 1 and kind == "reduce" and _is_plain(op):
            self._sums(op, *bounds)
            return
        combines = monoid if kind == "reduce" and holds(op.body.block, StoreOp) else None
        inits = [self._scalar(value) for value in op.inits]
        kind, monoid = ("seq", None) if combines else (kind, monoid)
        opened = b.loop(bounds[1], kind, lower=bounds[0], step=op.step.value.data, monoid=monoid, inits=inits)
        with opened as loop:
            self.points[op.index] = loop.index
            if (only := self._note_range(loop.index, *bounds)) is not None:
                self.points[op.index] = only
            self._give(op.body.block.args[1:], [] if combines else loop.carried)
            self._block(op.body.block)
            values = [self._scalar(value) for value in op.yielded]
            if combines:  # a sum beside stores is added up in order
                values = [b.scalar.binary(combines, old, new) for old, new in zip(loop.carried, values, strict=True)]
            loop.give(*values)
        self._give(op.results, loop.results)
        if not op.results:
            b.drop_empty_loop()

    def _note_range(self, index: AffineExpr, lower: Sequence[AffineExpr], upper: Sequence[AffineExpr]) -> AffineExpr | None:
        """Note the values of a loop's index as far as numbers bound them; its value if there is only one."""
        assert isinstance(index, AffineDimExpr)
        first = max(self._extreme(bound, -1) for bound in lower)
        last = min(self._extreme(bound, 1) for bound in upper) - 1
        self.ranges[index.position] = first, last
        return _number(int(first)) if first == last else None

    def _extreme(self, expr: AffineExpr, side: int) -> float:
        """The greatest value of an expression (side 1), or the least one (-1), by the ranges of indices."""
        if isinstance(expr, AffineConstantExpr):
            return expr.value if type(expr.value) is int else side * inf
        form = linear_form(expr, 1 + max(expr.used_dims(), default=-1)) if _has_numbers(expr) else None
        if form is None:
            return side * inf
        ends = (self.ranges.get(d, (-inf, inf))[(c > 0) == (side > 0)] * c for d, c in enumerate(form[0]) if c)
        return sum(ends, start=form[1])

    def _tight(self, bounds: list[AffineExpr], side: int) -> list[AffineExpr]:
        """Bounds without those that another one, a number, makes superfluous: upper bounds (side 1) or lower ones (-1)."""
        numbers = [bound.value for bound in bounds if isinstance(bound, AffineConstantExpr) and type(bound.value) is int]
        if len(bounds) == 1 or not numbers:
            return bounds
        best = min(numbers) if side > 0 else max(numbers)
        others = [bound for bound in bounds if not isinstance(bound, AffineConstantExpr) or type(bound.value) is not int]
        return [_number(best), *(bound for bound in others if (best - self._extreme(bound, -side)) * side > 0)]

    def _sums(self, op: ForOp, lower: list[AffineExpr], upper: list[AffineExpr]) -> None:
        """Several sums of one loop in a loop each, as those of real and imaginary parts: they are then plain products."""
        b, everything = self.b, self.needed
        for init, value, result in zip(op.inits, op.yielded, op.results, strict=True):
            self.needed = _slice(value, op.body.block)
            opened = b.loop(
                upper, "reduce", lower=lower, step=op.step.value.data, monoid=_text(op.monoid), inits=[self._scalar(init)]
            )
            with opened as loop:
                self.points[op.index] = loop.index
                self._block(op.body.block)
                loop.give(self._scalar(value))
            self.scalars[result] = loop.results[0]
        self.needed = everything

    def _again(self, op: WhileOp, carried: Sequence[SSAValue]) -> list[SSAValue]:
        """Write the body of a `while`; the condition of the next iteration, and what it begins with."""
        self._give(op.body.block.args, carried)
        self._block(op.body.block)
        return [self._scalar(value) for value in op.yielded]

    def _conditional(self, op: IfOp) -> None:
        regions = [op.then, op.otherwise]
        if op.condition in self.known:
            taken = regions[not self.known[op.condition]]
            if taken.blocks:
                self._block(taken.block)
                self._give(op.results, [self._scalar(value) for value in _yielded(taken.block)])
            return

        def branch(region: Any) -> list[SSAValue]:
            if not region.blocks:
                return []
            self._block(region.block)
            return [self._scalar(value) for value in _yielded(region.block)]

        found = self.b.branches(
            self._scalar(op.condition), lambda: branch(op.then), lambda: branch(op.otherwise), [r.type for r in op.results]
        )
        self._give(op.results, found)


_OF_SIZES = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.FloorDivSIOp: operator.floordiv,
    arith.MinSIOp: least,
    arith.MaxSIOp: greatest,
}
"""Arithmetic of sizes, which are numbers or expressions of open ones."""


def _number(value: Any) -> AffineConstantExpr:
    return AffineConstantExpr(value)


def _combined(kind: AffineBinaryOpKind, x: Any, y: Any) -> AffineExpr:
    if isinstance(x, AffineConstantExpr) and isinstance(y, AffineConstantExpr):
        return _number(_ON_NUMBERS[kind](x.value, y.value))
    return AffineBinaryOpExpr(kind, x, y)


def _has_numbers(expr: AffineExpr) -> bool:
    """Whether the constants of an expression are numbers, no open sizes."""
    if isinstance(expr, AffineBinaryOpExpr):
        return _has_numbers(expr.lhs) and _has_numbers(expr.rhs)
    return not isinstance(expr, AffineConstantExpr) or type(expr.value) is int


def _never_runs(lower: Sequence[AffineExpr], upper: Sequence[AffineExpr]) -> bool:
    ends = [[e.value for e in bound if isinstance(e, AffineConstantExpr) and type(e.value) is int] for bound in (lower, upper)]
    return bool(ends[0] and ends[1]) and max(ends[0]) >= min(ends[1])


def _text(attribute: Any) -> str | None:
    return None if attribute is None else attribute.data


def _is_plain(op: ForOp) -> bool:
    """Whether a reduction only loads and computes, each of its results by itself."""
    return _text(op.monoid) not in PAIR_MONOIDS and not any(inner.regions or not inner.results for inner in _members(op))


def _members(op: ForOp) -> list[Operation]:
    return [inner for inner in op.body.block.ops if not isinstance(inner, YieldOp)]


def _slice(value: SSAValue, block: Block) -> set[Operation]:
    """The ops of a block that a value needs."""
    found: set[Operation] = set()
    pending = [value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation) and owner.parent is block and owner not in found:
            found.add(owner)
            pending += owner.operands
    return found


def _is_of_part(use: Any) -> bool:
    """Whether a use of an array is an access whose last subscript is a number."""
    op = use.operation
    return isinstance(op, LoadOp | StoreOp) and isinstance(op.map.data.results[-1], AffineConstantExpr)


def _yielded(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    return last.operands if isinstance(last, YieldOp) else ()

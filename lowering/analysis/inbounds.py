"""Whether accesses stay inside their buffers: proved, refuted with an example, or left to a check at run time.

Subscripts, loop bounds and sizes are affine, so a violation is an integer point of a linear system. A point exists for *some*
sizes whenever sizes are unrelated (`x[j]` with `j < M` and `x` of `N` elements); it is an error of the kernel when there is
one for all sizes at which the access happens. That is decided on small and large sizes in all combinations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.loop.gather import GatherOp, ScatterOp
from ...dialects.loop.loops import KernelOp
from ...dialects.loop.memory import AllocOp, CheckOp, LoadOp, StoreOp
from ...dialects.operations import create
from ...dialects.scalar import ScalarBuilder
from ...dialects.types import shape_of
from .accesses import Access, Instance, Terms, accesses, combine
from .linear import System, Undecided
from .nests import buffer_name, kernel_of, name_of, place, walk

_MOST_COMBINATIONS = 256
_MOST_SYSTEMS = 1500
"""Half a second for a kernel."""
_index = IndexType()


@dataclass(frozen=True)
class Finding:
    """An access that is not proved to be in bounds.

    Attributes:
        certain: it is out of bounds whatever the sizes are.
        unsettled: whether that is so was not found out, as it would take too long.
        iteration, sizes, value: an example, where one is known.
    """

    access: Access
    dim: int
    certain: bool
    iteration: dict[str, int]
    sizes: dict[str, int]
    value: int | None
    unsettled: bool = False

    def __str__(self) -> str:
        op = self.access.op
        where = f" ({place(op)})" if place(op) else ""
        text = f"index of dim {self.dim} of {buffer_name(self.access.buffer)} may be out of bounds{where}"
        if self.value is None:
            return text
        at = ", ".join(f"{k}={v}" for k, v in self.iteration.items())
        sizes = ", ".join(f"{k}={v}" for k, v in self.sizes.items())
        text = f"index {self.value} of dim {self.dim} of {buffer_name(self.access.buffer)} is out of bounds"
        return text + (f" at {at}" if at else "") + (f" with {sizes}" if sizes else "") + where


def findings(kernel: KernelOp) -> list[Finding]:
    """Every subscript of a kernel that is not proved to be in bounds, in the order of the text. About 1 ms an access."""
    budget = _Budget(_MOST_SYSTEMS)
    return [found for access in accesses(kernel) for found in _of_access(access, budget)]


class _Budget:
    """How many systems may be solved yet for a kernel to tell whether accesses are out of bounds for all sizes."""

    def __init__(self, systems: int):
        self.systems = systems


def _of_access(access: Access, budget: _Budget) -> Iterator[Finding]:
    for dim, known in enumerate(shape_of(access.buffer)):
        if _is_number_inside(access, dim, known):
            continue
        points: list[tuple[Instance, dict[str, int], tuple[Terms, int]]] = []
        undecided = False
        for above in (False, True):
            system, instance, subscript, _ = _violation(access, dim, above)
            try:
                point = system.sample()
            except Undecided:
                undecided = True
                continue
            if point is not None and not instance.opaque:
                points.append((instance, point, subscript))
            undecided = undecided or (point is not None and instance.opaque)
        if not points:
            if undecided:
                yield Finding(access, dim, False, {}, {}, None)
            continue
        instance, point, (terms, constant) = points[0]
        certain = not access.conditional and _always(access, dim, budget)
        if certain:
            instance, point, (terms, constant) = certain
        value = sum([c * point.get(name, 0) for name, c in terms.items()], constant)
        iteration = {name_of(loop): point.get(instance.variables[loop.index], 0) for loop in access.loops}
        indices = {loop.index for loop in access.loops}
        sizes = {n: point.get(n, 0) for v, n in instance.variables.items() if v not in indices and "." not in n}
        unsettled = not certain and not access.conditional and budget.systems <= 0
        yield Finding(access, dim, bool(certain), iteration, sizes, value, unsettled)


def _is_number_inside(access: Access, dim: int, size: int) -> bool:
    """Whether a subscript is a number that is below the size, a number too."""
    op = access.op
    if not isinstance(op, LoadOp | StoreOp) or op.lanes > 1:
        return False
    expr = op.map.data.results[dim]
    return isinstance(expr, AffineConstantExpr) and 0 <= expr.value < size


def _violation(access: Access, dim: int, above: bool) -> tuple[System, Instance, tuple[Terms, int], tuple[Terms, int]]:
    """The iterations in which a subscript is beyond one end of its dim."""
    system = System()
    instance = Instance(system, access, "a", {})
    terms, constant = instance.subscripts()[dim]
    size, extra = _size(instance, access.buffer, dim)
    if above:
        system.ge(combine(terms, size, -1), constant - extra)
    else:
        system.ge({name: -c for name, c in terms.items()}, -constant - 1)
    return system, instance, (terms, constant), (size, extra)


def _size(instance: Instance, buffer: SSAValue, dim: int) -> tuple[Terms, int]:
    owner = buffer.owner
    type = buffer.type
    assert isinstance(type, MemRefType)
    if isinstance(owner, AllocOp):
        shape = type.get_shape()
        if shape[dim] != DYNAMIC_INDEX:
            return {}, shape[dim]
        return instance.value(owner.sizes[shape[:dim].count(DYNAMIC_INDEX)])
    assert isinstance(owner, Block)
    kernel = owner.parent_op()
    assert isinstance(kernel, KernelOp)
    return instance.linear(kernel.sizes_of(buffer)[dim], kernel.index_arguments)


def _always(access: Access, dim: int, budget: _Budget) -> tuple[Instance, dict[str, int], tuple[Terms, int]] | None:
    """An example, if there is one for all sizes at which the access happens at all."""
    kernel = kernel_of(access.op)
    symbols = [symbol.name_hint or f"arg{symbol.index}" for symbol in kernel.index_arguments]
    large = 1000 + max((abs(c) for c in _constants(kernel)), default=0)
    tried = (1, 2, 5, large, large + 1, large + 3)  # neighbours too: loops may run up to N % 5
    if len(tried) ** len(symbols) > _MOST_COMBINATIONS:
        tried = (2, large, large + 3)
    found: tuple[Instance, dict[str, int], tuple[Terms, int]] | None = None
    for values in itertools.product(tried[::-1], repeat=min(len(symbols), 8)):  # accesses mostly fit where all sizes are large
        budget.systems -= 3
        if budget.systems <= 0:
            return None
        given = dict(zip(symbols, values, strict=False))
        happens = System()
        Instance(happens, access, "a", {})
        for name, value in given.items():
            happens.eq({name: 1}, -value)
        try:
            if happens.sample() is None:
                continue
            violated = None
            for above in (False, True):
                system, instance, subscript, _ = _violation(access, dim, above)
                for name, value in given.items():
                    system.eq({name: 1}, -value)
                point = system.sample()
                if point is not None and not instance.opaque:
                    violated = instance, point, subscript
        except Undecided:
            return None
        if violated is None:
            return None
        found = violated  # the last one is with small sizes
    return found


def _constants(kernel: KernelOp) -> Iterator[int]:
    def of(expr: AffineExpr) -> Iterator[int]:
        if isinstance(expr, AffineConstantExpr):
            yield expr.value
        elif isinstance(expr, AffineBinaryOpExpr):
            yield from of(expr.lhs)
            yield from of(expr.rhs)

    for op in walk(kernel):
        for value in op.properties.values():
            map = getattr(value, "data", None)
            for expr in getattr(map, "results", ()):
                yield from of(expr)


# Checks at run time


def insert_checks(kernel: KernelOp, found: Sequence[Finding]) -> None:
    """Put a `loop.check` before every access of a finding; the kernel's attribute says what each is about."""
    said: list[str] = []
    before = len(kernel.texts("checks"))
    for finding in found:
        op = finding.access.op
        block = op.parent
        assert block is not None and isinstance(op, LoadOp | StoreOp | GatherOp | ScatterOp)
        if isinstance(op, GatherOp | ScatterOp) or op.lanes > 1:
            continue  # checks stand in unscheduled kernels, which have no vectors
        where = f" ({place(op)})" if place(op) else ""
        said.append(f"dim {finding.dim} of {buffer_name(op.buffer)}{where}")
        scratch = Block()
        b = ScalarBuilder(scratch, op.location)
        index = materialize(b, op.map.data.results[finding.dim], op.indices)
        size = _materialized_size(b, kernel, op.buffer, finding.dim)
        zero = b.const(0, _index)
        inside = b.binary("and", b.cmp("ge", index, zero), b.cmp("lt", index, size))
        check = CheckOp.build_check(inside, index, before + len(said))
        check.location = op.location
        scratch.add_op(check)
        for new in list(scratch.ops):
            new.detach()
            block.insert_op_before(new, op)
    if said:
        kernel.add_texts("checks", said)


def _materialized_size(b: ScalarBuilder, kernel: KernelOp, buffer: SSAValue, dim: int) -> SSAValue:
    owner = buffer.owner
    if isinstance(owner, AllocOp):
        shape = owner.buffer.type.get_shape()
        if shape[dim] != DYNAMIC_INDEX:
            return b.const(shape[dim], _index)
        return owner.sizes[shape[:dim].count(DYNAMIC_INDEX)]
    return materialize(b, kernel.sizes_of(buffer)[dim], kernel.index_arguments)


_BINARY: dict[AffineBinaryOpKind, type[Operation]] = {
    AffineBinaryOpKind.FloorDiv: arith.FloorDivSIOp,
    AffineBinaryOpKind.CeilDiv: arith.CeilDivSIOp,
}


def materialize(b: ScalarBuilder, expr: AffineExpr, dims: Sequence[SSAValue]) -> SSAValue:
    """An affine expression as ops on index values."""
    if isinstance(expr, AffineConstantExpr):
        return b.const(expr.value, _index)
    if isinstance(expr, AffineDimExpr):
        return dims[expr.position]
    assert isinstance(expr, AffineBinaryOpExpr)
    x, y = materialize(b, expr.lhs, dims), materialize(b, expr.rhs, dims)
    if expr.kind == AffineBinaryOpKind.Add:
        return b.add(x, y)
    if expr.kind == AffineBinaryOpKind.Mul:
        return b.mul(x, y)
    if expr.kind == AffineBinaryOpKind.Mod:
        quotient = b.insert(create(arith.FloorDivSIOp, operands=[x, y], result_types=[_index]))
        return b.sub(x, b.mul(quotient, y))
    return b.insert(create(_BINARY[expr.kind], operands=[x, y], result_types=[_index]))

"""The accesses of a kernel, each with the loops around it and its subscripts as linear expressions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.loop.gather import GatherOp, ScatterOp
from ...dialects.loop.loops import ForOp, IfOp, KernelOp, WhileOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.loop.subscripts import linear_form
from ...dialects.vocabulary import IndexCastOp, number_of
from .affine import as_map
from .conditions import known_at
from .counting import bounds_of
from .facts import kept
from .linear import System
from .nests import around, is_inside, name_of, walk

Terms = dict[str, int]


@dataclass(frozen=True, eq=False)
class Access:
    """One load or store."""

    op: Operation
    buffer: SSAValue
    writes: bool
    loops: tuple[ForOp, ...]
    """The loops around it, outermost first."""

    @cached_property
    def terms(self) -> Sequence[tuple[dict[SSAValue, int], int] | None]:
        """The coefficients of indices and the constant, for each subscript of a load or store; None where it is not linear."""
        op = self.op
        return [_terms(expr, op.indices) for expr in op.map.data.results] if isinstance(op, LoadOp | StoreOp) else []

    @cached_property
    def sources(self) -> Sequence[LoadOp | None]:
        """The loads whose elements are the subscripts of an access; None where a subscript is another expression."""
        op = self.op
        if isinstance(op, GatherOp | ScatterOp):
            return [source_of(value) for value in op.subscripts]
        if not isinstance(op, LoadOp | StoreOp) or op.lanes > 1:
            return []
        dims = [op.indices[e.position] if isinstance(e, AffineDimExpr) else None for e in op.map.data.results]
        return [None if value is None else source_of(value) for value in dims]

    @property
    def conditional(self) -> bool:
        """Whether it is inside an `if` or a `while`, so that it may not happen in an iteration of its loops."""
        parent = self.op.parent_op()
        while parent is not None and not isinstance(parent, KernelOp):
            if isinstance(parent, IfOp | WhileOp):
                return True
            parent = parent.parent_op()
        return False


@kept
def accesses(root: Operation) -> list[Access]:
    """The accesses in an op, in the order of the text."""
    found: list[Access] = []
    loops: dict[Block | None, tuple[ForOp, ...]] = {}
    for op in walk(root):
        if type(op) in _ACCESSES:
            block = op.parent
            if block not in loops:
                loops[block] = tuple(around(op))
            found.append(Access(op, op.buffer, isinstance(op, StoreOp | ScatterOp), loops[block]))  # pyright: ignore[reportAttributeAccessIssue]
    return found


_ACCESSES = {LoadOp, StoreOp, GatherOp, ScatterOp}


def _terms(expr: AffineExpr, indices: Sequence[SSAValue]) -> tuple[dict[SSAValue, int], int] | None:
    form = linear_form(expr, len(indices))
    if form is None:
        return None
    terms: dict[SSAValue, int] = {}
    for index, c in zip(indices, form[0], strict=True):
        terms[index] = terms.get(index, 0) + c
    return {index: c for index, c in terms.items() if c}, form[1]


def private_to(buffer: SSAValue) -> tuple[ForOp, ...]:
    """The loops each of whose iterations has a separate copy of a buffer: those around its `loop.alloc`."""
    owner = buffer.owner
    return tuple(around(owner)) if isinstance(owner, AllocOp) else ()


class Instance:
    """One execution of an access as constraints: a variable for each loop, named `<tag>.<loop>`, and subscripts over them.

    Loops in `shared` have one variable for both instances of a pair, under the loop's plain name; so do sizes and all values
    from outside the loops.
    """

    def __init__(self, system: System, access: Access, tag: str, shared: Mapping[ForOp, str]):
        self.system, self.access, self.tag, self.shared = system, access, tag, shared
        self.variables: dict[SSAValue, str] = {}
        self.opaque = False
        self.loaded: list[tuple[str, LoadOp]] = []
        """Unknown values that are elements of arrays."""
        self._names = itertools.count()
        for loop in access.loops:
            name = shared.get(loop) or f"{tag}.{name_of(loop)}"
            self.variables[loop.index] = name
            self._domain(loop, name, loop in shared)
        self._conditions()

    def _conditions(self) -> None:
        """The conditions on sizes around all loops: steps move accesses between those, but not out of these."""
        for form in known_at(self.access.loops[0]) if self.access.loops else ():
            if all(map(_is_size, form.values())):
                expr, values = as_map([form])
                self.system.ge(*self.linear(expr.results[0], values))

    def _domain(self, loop: ForOp, name: str, is_shared: bool) -> None:
        step = loop.step.value.data
        lowers = [self.linear(e, loop.lower_operands) for e in loop.lower.data.results]
        uppers = [self.linear(e, loop.upper_operands) for e in loop.upper.data.results]
        for terms, constant in lowers:
            self.system.ge(combine({name: 1}, terms, -1), -constant)
        for terms, constant in uppers:
            self.system.ge(combine(terms, {name: 1}, -1), constant - 1)
        if step != 1:
            if len(lowers) == 1:
                terms, constant = lowers[0]
                trip = f"{name}/{step}"
                self.system.eq(combine(combine({name: 1}, terms, -1), {trip: 1}, -step), -constant)
            else:
                self.opaque = True

    def linear(self, expr: AffineExpr, dims: Sequence[SSAValue]) -> tuple[Terms, int]:
        """An affine expression over index values as linear terms; divisions become new variables."""
        if isinstance(expr, AffineConstantExpr):
            return {}, expr.value
        if isinstance(expr, AffineDimExpr):
            return self.value(dims[expr.position])
        assert isinstance(expr, AffineBinaryOpExpr)
        (x, a), (y, b) = self.linear(expr.lhs, dims), self.linear(expr.rhs, dims)
        if expr.kind == AffineBinaryOpKind.Add:
            return combine(x, y, 1), a + b
        if expr.kind == AffineBinaryOpKind.Mul:
            if not y:
                return {v: c * b for v, c in x.items() if b}, a * b
            if not x:
                return {v: c * a for v, c in y.items() if a}, a * b
            return self._unknown(), 0
        if y or b <= 0:
            return self._unknown(), 0
        quotient = f"{self.tag}.q{next(self._names)}"
        if expr.kind == AffineBinaryOpKind.CeilDiv:
            a += b - 1
        self.system.ge(combine(x, {quotient: 1}, -b), a)  # 0 <= x - b * q < b
        self.system.ge(combine({quotient: b}, x, -1), b - 1 - a)
        if expr.kind == AffineBinaryOpKind.Mod:
            return combine(x, {quotient: 1}, -b), a
        return {quotient: 1}, 0

    def value(self, value: SSAValue) -> tuple[Terms, int]:
        """An index value: a loop's variable, a size, a constant, or an unknown."""
        if value in self.variables:
            return {self.variables[value]: 1}, 0
        owner = value.owner
        if (number := number_of(value)) is not None:
            return {}, int(number)
        if isinstance(value, BlockArgument) and isinstance(value.block.parent_op(), KernelOp):
            name = value.name_hint or f"arg{value.index}"
            self.system.ge({name: 1})
            self.variables[value] = name
            return {name: 1}, 0
        if isinstance(owner, IndexCastOp) and isinstance(parameter := owner.operands[0], BlockArgument):
            if isinstance(parameter.block.parent_op(), KernelOp):  # a scalar parameter: any number
                self.variables[value] = name = parameter.name_hint or f"arg{parameter.index}"
                return {name: 1}, 0
        if isinstance(value, BlockArgument) and isinstance(value.block.parent_op(), ForOp):
            loop = value.block.parent_op()
            if loop not in self.access.loops:  # an outer loop's variable, the same for both
                name = value.name_hint or "outer"
                self.variables[value] = name
                return {name: 1}, 0
        apart = [loop for loop in self.access.loops if loop not in self.shared]
        if any(is_inside(value, loop) for loop in apart):
            name = next(iter(self._unknown()))
            if (load := source_of(value)) is not None:
                self.loaded.append((name, load))
        else:  # the same value for both instances
            name, self.opaque = f"{value.name_hint or 'value'}.{id(value)}", True
        self.variables[value] = name
        if isinstance(value, BlockArgument):
            self._counted(value, name)
        return {name: 1}, 0

    def _counted(self, value: BlockArgument, name: str) -> None:
        """What is known of the counter of a `loop.while`."""
        for form in bounds_of(value):
            if form.is_linear:
                terms: Terms = {}
                constant = form.constant
                for atom, c in form.terms.items():
                    assert isinstance(atom, SSAValue)
                    more, number = ({name: 1}, 0) if atom is value else self.value(atom)
                    terms, constant = combine(terms, more, c), constant + c * number
                self.system.ge(terms, constant)

    def _unknown(self) -> Terms:
        """A value that depends on data: it may be anything."""
        self.opaque = True
        return {f"{self.tag}.u{next(self._names)}": 1}

    def subscripts(self) -> list[tuple[Terms, int]]:
        """One linear expression for each dim of the buffer; lanes are separate variables."""
        op = self.access.op
        if isinstance(op, GatherOp | ScatterOp):
            return [self.value(s) for s in op.subscripts]
        assert isinstance(op, LoadOp | StoreOp)
        found = [self.linear(e, op.indices) for e in op.map.data.results]
        if op.lanes > 1:
            lane = f"{self.tag}.lane"
            self.system.ge({lane: 1})
            self.system.ge({lane: -1}, op.lanes - 1)
            terms, constant = found[op.lane_dim()]
            found[op.lane_dim()] = combine(terms, {lane: 1}, op.lane_step()), constant
        return found


def source_of(value: SSAValue) -> LoadOp | None:
    """The load of an integer, or of a vector of them, that is used as an index."""
    owner = value.owner
    while isinstance(owner, IndexCastOp):
        owner = owner.operands[0].owner
    return owner if isinstance(owner, LoadOp) and owner.mask is None else None


def _is_size(value: SSAValue) -> bool:
    """Whether a value is a size, or a scalar parameter as an index."""
    owner = value.owner
    if isinstance(owner, IndexCastOp):
        value = owner.operands[0]
    elif not isinstance(value.type, IndexType):
        return False
    return isinstance(value, BlockArgument) and isinstance(value.block.parent_op(), KernelOp)


def combine(x: Mapping[str, int], y: Mapping[str, int], factor: int) -> Terms:
    """`x + factor * y`, without zeros."""
    result = dict(x)
    for name, c in y.items():
        total = result.get(name, 0) + factor * c
        if total:
            result[name] = total
        else:
            result.pop(name, None)
    return result

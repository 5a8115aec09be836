"""Places: where a kernel computes the values of a fusion, and in which order the loops of its results stand.

A kernel stores its results in loops over their dims, and computes every other value in the outermost loop that knows its index.
What is reduced along leading dims is known for columns: it repeats no work if the loops over columns are outside.

    %s = graph.reduce add %e over [0] : tensor<8x64xf32> -> tensor<64xf32>          for %i = 0 to 64 {
    %b = graph.broadcast %s to [1] : tensor<64xf32> -> tensor<8x64xf32>               %s = for reduce<add> %k = 0 to 8
    %y = graph.div %e, %b : tensor<8x64xf32>                                          for %j = 0 to 8 { %y[%j, %i] = ... }
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ..types import DYNAMIC, shape_of
from .base import Equation, GraphOp, Read
from .elementwise import ElementwiseOp
from .prologues import contracts, may_repeat


@dataclass(frozen=True)
class Place:
    """Where a value is computed: the loops around it, and its index there, one expression of the loops a dim.

    A loop is its size and the op whose reduction it is, or which is stored first; None for the loops of the root. A position
    that data gives counts as a loop that runs once.
    """

    loops: tuple[tuple[int, Operation | None], ...]
    index: tuple[AffineExpr, ...]

    def points(self) -> tuple[tuple[tuple[int, Operation | None], ...], tuple[AffineExpr, ...]]:
        """The place without what has size 1: equal for values that are computed side by side."""
        number = {loop: k for k, loop in enumerate(loop for loop, (size, _) in enumerate(self.loops) if size != 1)}
        dims = [AffineDimExpr(number[k]) if k in number else AffineConstantExpr(0) for k in range(len(self.loops))]
        index = [expr.replace_dims_and_symbols(dims, []) for expr in self.index]
        return (
            tuple(loop for loop in self.loops if loop[0] != 1),
            tuple(expr for expr in index if not isinstance(expr, AffineConstantExpr)),
        )

    def used(self) -> frozenset[int]:
        """The loops that the index varies with."""
        return frozenset().union(*(expr.used_dims() for expr in self.index))

    def level(self) -> int:
        """How many loops must be open to know the index."""
        return max(self.used(), default=-1) + 1

    def repeats(self) -> int:
        """How often the same element is computed."""
        used = self.used()
        return prod(size for loop, (size, _) in enumerate(self.loops[: self.level()]) if loop not in used)

    def of_read(self, op: Operation, equation: Equation, read: Read) -> Place:
        """The place of what an equation of `op`, computed here, reads."""
        level = self.level()
        reduced = equation.space[equation.n_parallel :]
        sizes = (*reduced, *(1 for _ in read.positions))
        new = [AffineDimExpr(level + k) for k in range(len(sizes))]
        dims, symbols = [*self.index, *new[: len(reduced)]], new[len(reduced) :]
        index = tuple(expr.replace_dims_and_symbols(dims, symbols) for expr in read.map.results)
        return Place((*self.loops[:level], *((size, op) for size in sizes)), index)


def root_place(space: Sequence[int], first: Operation | None = None, order: Sequence[int] | None = None) -> Place:
    """The place of what is stored element by element: of the results, or of an op before them.

    `order` has the dims in the order of their loops, outermost first.
    """
    order = order if order is not None else range(len(space))
    loop_of = {dim: loop for loop, dim in enumerate(order)}
    return Place(tuple((space[dim], first) for dim in order), tuple(AffineDimExpr(loop_of[dim]) for dim in range(len(space))))


def repeated(places: Iterable[Place], op: Operation) -> Place | None:
    """Of the places where `op` would be computed too often, the one furthest in."""
    found = [place for place in places if place.repeats() > may_repeat(op)]
    return max(found, key=lambda place: (len(place.used()), sorted(place.used())), default=None)


def columns_first(place: Place, rank: int) -> tuple[int, ...]:
    """The order of `rank` dims of results in which the loops that the index of a place varies with are outermost."""
    used = place.used()
    return tuple(sorted(range(rank), key=lambda dim: dim not in used))


def loop_order(body: Block, outputs: Sequence[SSAValue]) -> tuple[int, ...]:
    """The dims of the results of a fusion in the order in which their loops repeat no work."""
    space: tuple[int, ...] = shape_of(outputs[0])
    rows_first = tuple(range(len(space)))
    ops = [op for op in body.ops if isinstance(op, GraphOp) and op.name != "graph.yield"]
    equations = {op: op.equations() for op in ops}
    reduces = any(equation.n_reduce for found in equations.values() for equation in found)
    nests = any(op.has_nest or any(map(contracts, equations[op])) for op in ops)
    if DYNAMIC in space or len(space) < 2 or not reduces or nests:
        return rows_first
    places: dict[SSAValue, set[Place]] = {value: {root_place(space)} for value in outputs}
    for op in reversed(ops):
        found = places.get(op.results[0], set())
        computes = isinstance(op, ElementwiseOp) or any(equation.n_reduce for equation in equations[op])
        if computes and (again := repeated(found, op)) is not None:
            return columns_first(again, len(space))
        for equation in equations[op]:
            for read in equation.reads:
                of_reads = (place.of_read(op, equation, read) for place in found)
                places.setdefault(op.operands[read.operand], set()).update(of_reads)
    return rows_first

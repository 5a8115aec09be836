"""Groups of ops that become one kernel, and the compute-at points of their values.

A kernel stores its results in loops over their dims, and computes every other value in the outermost loop that knows its index.
The results of a reduction along leading dims belong to columns: no work is repeated if the loops over columns are outside.

    %s = graph.reduce add %e over [0] : tensor<8x64xf32> -> tensor<64xf32>          for %i = 0 to 64 {
    %b = graph.broadcast %s to [1] : tensor<64xf32> -> tensor<8x64xf32>               %s = for reduce<add> %k = 0 to 8
    %y = graph.div %e, %b : tensor<8x64xf32>                                          for %j = 0 to 8 { %y[%j, %i] = ... }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod

from xdsl.ir import Block, Operation
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ..dialects.graph.base import CompositeOp, Equation, GraphOp, Read
from ..dialects.graph.effects import has_effects
from ..dialects.graph.extents import has_open_sizes
from ..dialects.types import expected


def kernel_equations(op: Operation | Block) -> tuple[Equation, ...]:
    """The loop form of an op, () when it has none of its own (composites, views, constants, calls)."""
    if not isinstance(op, GraphOp) or isinstance(op, CompositeOp) or len(op.results) != 1:
        return ()
    return tuple([_expected(equation) for equation in op.equations()])


def _expected(equation: Equation) -> Equation:
    space = tuple(map(expected, equation.space))
    return equation if space == equation.space else replace(equation, space=space)


@dataclass(frozen=True)
class ComputePoint:
    """A compute-at point: the loops around a value, and its index there, one expression over the loops for each dim.

    A loop is its size and the op whose reduction it is, or which is stored first; None for the loops of the root. A gather
    index counts as a loop that runs once.
    """

    loops: tuple[tuple[int, Operation | None], ...]
    index: tuple[AffineExpr, ...]

    def without_unit_dims(self) -> tuple[tuple[tuple[int, Operation | None], ...], tuple[AffineExpr, ...]]:
        """The point without dims of size 1: equal for values that are computed together."""
        number = {loop: k for k, loop in enumerate(loop for loop, (size, _) in enumerate(self.loops) if size != 1)}
        dims = [AffineDimExpr(number[k]) if k in number else AffineConstantExpr(0) for k in range(len(self.loops))]
        index = [expr.replace_dims_and_symbols(dims, []) for expr in self.index]
        return (
            tuple(loop for loop in self.loops if loop[0] != 1),
            tuple(expr for expr in index if not isinstance(expr, AffineConstantExpr)),
        )

    def used(self) -> frozenset[int]:
        """The loops on which the index depends."""
        return frozenset().union(*(expr.used_dims() for expr in self.index))

    def level(self) -> int:
        """The number of loops that must be open to know the index."""
        return max(self.used(), default=-1) + 1

    def repeats(self) -> int:
        """How often the same element is computed."""
        used = self.used()
        return prod(size for loop, (size, _) in enumerate(self.loops[: self.level()]) if loop not in used)

    def stored_first(self) -> Operation | None:
        """The op in whose separate nest, before that of the results, the point is."""
        return self.loops[0][1] if self.loops else None

    def of_read(self, op: Operation, equation: Equation, read: Read) -> ComputePoint:
        """The compute-at point of an operand of an equation of `op`, when that is computed here."""
        level = self.level()
        reduced = equation.space[equation.n_parallel :]
        sizes = (*reduced, *(1 for _ in read.positions))
        new = [AffineDimExpr(level + k) for k in range(len(sizes))]
        dims, symbols = [*self.index, *new[: len(reduced)]], new[len(reduced) :]
        index = tuple(expr.replace_dims_and_symbols(dims, symbols) for expr in read.map.results)
        return ComputePoint((*self.loops[:level], *((size, op) for size in sizes)), index)


def root_point(space: Sequence[int], first: Operation | None = None, order: Sequence[int] | None = None) -> ComputePoint:
    """The compute-at point of values stored element by element: the results, or an op before them.

    `order` has the dims in the order of their loops, outermost first.
    """
    order = order if order is not None else range(len(space))
    loop_of = {dim: loop for loop, dim in enumerate(order)}
    return ComputePoint(
        tuple((space[dim], first) for dim in order), tuple(AffineDimExpr(loop_of[dim]) for dim in range(len(space)))
    )


@dataclass(eq=False)
class Group:
    """A future kernel: its ops with their compute-at points."""

    root: ComputePoint | None
    points: dict[Operation, set[ComputePoint]] = field(default_factory=dict)
    nest: Operation | None = None
    """The op that writes the loops of the kernel, if there is one."""
    work: int = 1
    """The approximate code size of its ops (`_fusion_costs.code_size`)."""
    order: tuple[int, ...] | None = None
    """The dims of the results in the order of their loops, if that differs from the order of the dims."""

    @property
    def ops(self) -> Iterable[Operation]:
        return self.points

    def prologues(self) -> list[Operation]:
        """The ops whose results are stored before the nest of the kernel's results."""
        if self.nest is not None:
            return []  # its copied operands are computed there
        return [op for op, points in self.points.items() if any(point.stored_first() is op for point in points)]


class Groups:
    """The groups of a block formed so far, from the last op on."""

    def __init__(self, block: Block):
        self.formed: list[Group] = []
        self.of: dict[Operation, Group] = {}
        self.equations: dict[Operation, tuple[Equation, ...]] = {}
        """The loop forms of the visited ops, over expected values of dynamic sizes."""
        self.following = dict(pairwise(op for op in block.ops if has_effects(op)))
        """The next effect after each one, which must follow it."""
        self._forms: dict[Operation, tuple[Equation, ...]] = {}
        self.is_open = has_open_sizes(block)
        """Whether sizes are dynamic: then there are no prologues and no other orders of loops, which sizes decide."""

        self._bits: dict[Group | Operation, int] = {}
        """A bit for each group, and for each ungrouped op."""
        self._leads: dict[Group | Operation, int] = {}
        """The bits of all transitive users of its results, and its own."""

    def loop_form(self, op: Operation | Block) -> tuple[Equation, ...]:
        """`kernel_equations`, computed once for each op."""
        if isinstance(op, Block):
            return ()
        found = self._forms.get(op)
        if found is None:
            found = self._forms[op] = kernel_equations(op)
        return found

    def form(self, group: Group, op: Operation) -> None:
        """A new group of one op."""
        self.formed.append(group)
        self.of[op] = group
        self._add(group, op)

    def join(self, group: Group, op: Operation) -> None:
        """Add an op to a group."""
        self.of[op] = group
        if more := self._users(op) & ~self._leads[group]:
            bit = self._bits[group]
            for other, found in self._leads.items():
                if found & bit:
                    self._leads[other] = found | more

    def leave_out(self, op: Operation) -> None:
        """Leave an op without a group."""
        self._add(op, op)

    def others_lead_to(self, op: Operation, goal: Group) -> bool:
        """Whether a user of `op` outside a group leads back into it: fusing would create a cycle."""
        bit = self._bits[goal]
        nodes = (self.of.get(use.operation, use.operation) for use in op.results[0].uses)
        return any(self._leads.get(node, 0) & bit for node in nodes if node is not goal)

    def _add(self, node: Group | Operation, op: Operation) -> None:
        self._bits[node] = bit = 1 << len(self._bits)
        self._leads[node] = bit | self._users(op)

    def _users(self, op: Operation) -> int:
        """The bits reachable from the users of an op, and from the next effect."""
        following = self.following.get(op)
        found = 0 if following is None else self._leads.get(following, 0)
        for result in op.results:
            for use in result.uses:
                found |= self._leads.get(self.of.get(use.operation, use.operation), 0)
        return found

    def sums(self, group: Group) -> list[Equation]:
        """The equations of a group that reduce."""
        return [equation for op in group.ops for equation in self.equations.get(op, ()) if equation.n_reduce]

    def reads(self, op: Operation, group: Group) -> Iterator[tuple[Equation, ComputePoint]]:
        """The equations of a group that read the result of `op`, with their compute-at points."""
        for user in {use.operation for use in op.results[0].uses}:
            if self.of.get(user) is not group:
                continue
            given = {k for k, operand in enumerate(user.operands) if operand.owner is op}
            for equation in self.equations.get(user, ()):
                reads = [read for read in equation.reads if read.operand in given]
                if not reads:  # most equations of a concatenation read other operands
                    continue
                points = group.points[user]
                if equation.write is not None or len(self.equations[user]) > 1:
                    points = {root_point(equation.space)}
                for read in reads:
                    yield from ((equation, point.of_read(user, equation, read)) for point in points)

"""Group ops that one kernel can compute: elementwise chains with broadcasts, leading and trailing reductions, dot epilogues.

A kernel computes each result element by *pulling*: the equation of the root asks the equations of its producers for the
elements it needs, each at the loop level where its indices are known (a row maximum inside a row-wise loop is computed once a
row). An op joins the group of its users when pulling it there repeats no work. An op whose value is needed elsewhere, too,
joins as a further result when it is computed at the very points the group stores. A product of matrices has a kernel without
other reductions.

A contraction reads most of its operands many times. Elementwise ops join it where it reads each element once, as it does the
matrix of a product with a vector, and are computed there. So are conversions of a large operand to a wider type that it reads
few times: that takes longer from memory than to convert it again. Others join as a prologue, which the kernel stores first
(`dialects/graph/prologues.py`): its schedule may compute it while an operand is packed. What follows a reduction is no
prologue: it ends the kernel that reduces. Cheap ops also precede an op that writes its own loops and copies that operand.

An op that writes its own loops (a convolution, a reduction over windows) can end in the elementwise ops that follow: they are
computed where it writes. It joins their group if it is the only such op there, and nothing in the group is reduced.

Index-only ops (broadcast, transpose, slice, ...) and scalar constants are first copied to each of their users: they cost no
arithmetic and no memory, and a copy belongs to one group. A reshape that adds or drops dims of size 1 is one of them where it
stands between two ops of a group; elsewhere it stays a view.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr
from xdsl.passes import ModulePass

from ..dialects.graph.base import Equation, GraphOp, Read
from ..dialects.graph.elementwise import ElementwiseOp
from ..dialects.graph.prologues import contracts, is_cheap, may_repeat
from ..dialects.graph.shape import ReshapeOp
from ..dialects.graph.structure import FusionOp, YieldOp
from ..dialects.types import DYNAMIC

MAX_OPS = 64
"""Ops a group that compute something: keeps basic blocks below the size where code generation turns superlinear."""

MAX_PLACES = 8
"""Places a value is computed at in one kernel, before it is better kept in memory."""

_INDEX_ONLY = ("graph.broadcast", "graph.transpose", "graph.slice", "graph.reverse", "graph.iota")


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


def root_place(space: tuple[int, ...], first: Operation | None = None) -> Place:
    """The place of what is stored element by element: of the results, or of an op before them."""
    return Place(tuple((size, first) for size in space), tuple(AffineDimExpr(k) for k in range(len(space))))


@dataclass(eq=False)
class Group:
    """A kernel to be: its ops with the places they are computed at."""

    root: Place | None
    places: dict[Operation, set[Place]] = field(default_factory=dict)
    nest: Operation | None = None
    """The op that writes the loops of the kernel, where one does."""
    work: int = 1
    """How many of the ops compute something."""

    @property
    def ops(self) -> Iterable[Operation]:
        return self.places


def is_scalar_const(op: Operation) -> bool:
    """A constant of one element, which a kernel holds as an immediate."""
    return op.name == "graph.const" and all(size == 1 for size in op.results[0].type.get_shape())  # pyright: ignore


def is_movable(op: Operation) -> bool:
    """Free to compute anywhere: a scalar constant, or an op that only moves elements."""
    return op.name in _INDEX_ONLY or is_scalar_const(op) or is_unit_reshape(op)


def is_unit_reshape(op: Operation) -> bool:
    """Whether an op only adds or drops dims of size 1 of a value computed here: what is given is best read as a view."""
    return isinstance(op, ReshapeOp) and op.moves_unit_dims and bool(kernel_equations(op.x.owner))


def kernel_equations(op: Operation | Block) -> tuple[Equation, ...]:
    """The loop form of an op, () when it has none of its own (composites, views, constants, calls)."""
    return op.equations() if isinstance(op, GraphOp) and not op.composite and len(op.results) == 1 else ()


def is_product(equation: Equation) -> bool:
    """Whether an equation sums products of elements that it reads again and again, as a product of matrices does."""
    if equation.n_reduce == 0 or len(equation.reads) < 2:
        return False
    loops = [dim for dim, size in enumerate(equation.space[: equation.n_parallel]) if size > 1]
    used = [frozenset[int]().union(*(expr.used_dims() for expr in read.map.results)) for read in equation.reads]
    return any(dim not in dims for dim in loops for dims in used)


class _Planner:
    """Assigns the ops of one block to groups, last op first."""

    def __init__(self, block: Block):
        self.block = block
        self.groups: list[Group] = []
        self.of: dict[Operation, Group] = {}
        self.equations: dict[Operation, tuple[Equation, ...]] = {}

    def plan(self) -> list[Group]:
        for op in reversed(list(self.block.ops)):
            if is_scalar_const(op):
                self._place_const(op)
            elif equations := () if isinstance(op, ReshapeOp) and not is_unit_reshape(op) else kernel_equations(op):
                self.equations[op] = equations
                self._place(op)
            elif isinstance(op, GraphOp) and op.has_nest and op.writes_once:
                self._place_nest(op)
        return self.groups

    def _place_const(self, op: Operation) -> None:
        for use in op.results[0].uses:
            if (group := self.of.get(use.operation)) is not None:
                self.of[op] = group
                group.places[op] = set()

    def _place(self, op: Operation) -> None:
        users = {use.operation for use in op.results[0].uses}
        if not users:
            return
        groups = {self.of[user]: None for user in users if user in self.of}
        outside = any(user not in self.of for user in users)
        for group in groups:
            places = self._places(op, group)
            if places is None:
                continue
            if outside or len(groups) > 1:
                # a further result: stored from the root's loops, and nobody else who needs it leads back here
                whole = root_place(self.equations[op][0].space[: self.equations[op][0].n_parallel])
                if places != {group.root} or whole != group.root or self._others_lead_to(group, users):
                    continue
            group.places[op] = places
            group.work += not is_movable(op)
            self.of[op] = group
            return
        if isinstance(op, ReshapeOp):
            return  # stays a view
        group = Group(None)
        equations = self.equations[op]
        if len(equations) == 1 and equations[0].write is None:
            group.root = root_place(equations[0].space[: equations[0].n_parallel])
            group.places[op] = {group.root}
        else:
            group.places[op] = set()
        self.groups.append(group)
        self.of[op] = group

    def _place_nest(self, op: GraphOp) -> None:
        """Let an op that writes its own loops end in what follows it: in the one group that stores at its points."""
        users = {use.operation for use in op.results[0].uses}
        whole = root_place(op.result_shape())
        for group in {self.of[user]: None for user in users if user in self.of}:
            reduces = any(equation.n_reduce for member in group.ops for equation in self.equations.get(member, ()))
            if group.nest is not None or reduces or group.root != whole or group.work >= MAX_OPS:
                continue
            found = {place for _, place in self._reads(op, group)}
            if found == {whole} and not self._others_lead_to(group, users):
                group.nest, group.places[op] = op, found
                self.of[op] = group
                return
        if any(self._precedes(op.operands[k].owner, op) for k in op.copied()):
            self.of[op] = group = Group(None, {op: set()}, op)
            self.groups.append(group)

    def _reads(self, op: Operation, group: Group) -> Iterator[tuple[Equation, Place]]:
        """The equations of a group that read the result of `op`, and at which places."""
        for user in {use.operation for use in op.results[0].uses}:
            if self.of.get(user) is not group:
                continue
            for equation in self.equations.get(user, ()):
                places = group.places[user]
                if equation.write is not None or len(self.equations[user]) > 1:
                    places = {root_place(equation.space)}
                for read in equation.reads:
                    if user.operands[read.operand].owner is op:
                        yield from ((equation, place.of_read(user, equation, read)) for place in places)

    def _places(self, op: Operation, group: Group) -> set[Place] | None:
        """Where `op` would be computed in the group; None when it cannot be, or not without repeating work."""
        equations = self.equations[op]
        if len(equations) != 1 or equations[0].write is not None or (group.work >= MAX_OPS and not is_movable(op)):
            return None
        if group.nest is not None and equations[0].n_reduce:
            return None
        if group.nest is not None and op.results[0] in group.nest.operands:
            # such an op reads its operands many times, in loops of its own, unless it copies them
            return {root_place(equations[0].space, op)} if self._precedes(op, group.nest) else None
        free = is_movable(op)
        contraction = equations[0].monoid is not None and len(equations[0].reads) > 1
        if equations[0].n_reduce:
            sums = [equations[0], *(e for member in group.ops for e in self.equations.get(member, ()) if e.n_reduce)]
            if len(sums) > 1 and any(map(is_product, sums)):
                return None  # a product has its schedule alone: rows of two of them would be read again for each element
        found: set[Place] = set()
        for equation, place in self._reads(op, group):
            if not free and equation.n_reduce and len(equation.reads) > 1 and not isinstance(op, ElementwiseOp):
                return None  # what contracts, reduces or gathers is no part of the terms of a sum
            found.add(place)
        if not free and any(self._in_prologue(place) for place in found):
            if not isinstance(op, ElementwiseOp) or (group.nest is not None and not is_cheap(op)):
                return None
        if not free and any(place.repeats() > may_repeat(op) for place in found):
            return {root_place(equations[0].space, op)} if self._is_prologue(op, group) else None
        if contraction and (group.root is None or {place.points() for place in found} != {group.root.points()}):
            return None  # an epilogue, or not at all: a second evaluation would double the work
        if not free and len(found) > 1 and self._ends_contraction(op):
            return None  # better the epilogue of that contraction, evaluated once
        return found if len(found) <= MAX_PLACES else None

    @staticmethod
    def _in_prologue(place: Place) -> bool:
        return bool(place.loops) and isinstance(place.loops[0][1], ElementwiseOp)

    @staticmethod
    def _precedes(op: Operation | Block, nest: Operation) -> bool:
        """Whether an elementwise op is computed where an op that writes its own loops copies its operand."""
        if not isinstance(op, ElementwiseOp) or not isinstance(nest, GraphOp) or not is_cheap(op) or _follows_reduction(op):
            return False
        uses = list(op.results[0].uses)
        return len(uses) == 1 and uses[0].operation is nest and uses[0].index in nest.copied()

    def _is_prologue(self, op: Operation, group: Group) -> bool:
        """Whether only contractions of the group read what an op computes, and it does not end the kernel of a reduction."""
        if not isinstance(op, ElementwiseOp) or group.nest is not None:
            return False
        work: list[Operation] = [op]
        while work:
            for use in work.pop().results[0].uses:
                user = use.operation
                if self.of.get(user) is not group:
                    return False
                if is_movable(user):
                    work.append(user)
                elif len(self.equations[user]) != 1 or not contracts(self.equations[user][0]):
                    return False
        return not _follows_reduction(op)

    @staticmethod
    def _ends_contraction(op: Operation) -> bool:
        """Whether elementwise ops of one use lead from a contraction to `op`."""
        work, seen = [op], 0
        while work and seen < MAX_OPS:
            seen += 1
            current = work.pop()
            equations = kernel_equations(current)
            if len(equations) != 1 or (current is not op and len(list(current.results[0].uses)) > 1):
                continue
            if equations[0].n_reduce:
                if len(equations[0].reads) > 1:
                    return True
                continue
            work.extend(o.owner for o in current.operands if isinstance(o.owner, Operation) and not is_movable(o.owner))
        return False

    def _others_lead_to(self, goal: Group, users: set[Operation]) -> bool:
        """Whether a user outside the group leads back into it: fusing would make the two wait for each other."""
        work = [user for user in users if self.of.get(user) is not goal]
        seen: set[Operation] = set()
        while work:
            op = work.pop()
            group = self.of.get(op)
            if group is goal:
                return True
            for member in group.ops if group is not None else (op,):
                if member not in seen:
                    seen.add(member)
                    work.extend(use.operation for result in member.results for use in result.uses)
        return False


def _follows_reduction(op: Operation) -> bool:
    """Whether elementwise ops alone lead from what reduces, or from an op that writes its own loops, to `op`."""
    work, seen = [op], set[Operation]()
    while work:
        current = work.pop()
        if current in seen:
            continue
        seen.add(current)
        if isinstance(current, GraphOp) and current.has_nest and current.writes_once:
            return True
        equations = kernel_equations(current)
        if any(equation.n_reduce for equation in equations):
            return True
        if isinstance(current, ElementwiseOp) or is_movable(current):
            work.extend(operand.owner for operand in current.operands if isinstance(operand.owner, Operation))
    return False


def copy_movable_ops(block: Block) -> None:
    """Give every user of a movable op a copy of its own."""
    for op in reversed(list(block.ops)):
        if not is_movable(op):
            continue
        uses = list(op.results[0].uses)
        for use in uses[1:]:
            copy = op.clone()
            copy.location = op.location
            block.insert_op_before(copy, use.operation)
            use.operation.operands[use.index] = copy.results[0]


def _build_fusion(members: list[Operation]) -> FusionOp:
    """One `graph.fusion` of the members, detached; uses of their results from outside are moved to its results."""
    inside = set(members)
    inputs: dict[SSAValue, None] = {}
    for op in members:
        for operand in op.operands:
            if operand.owner not in inside:
                inputs.setdefault(operand)
    body = Block(arg_types=[value.type for value in inputs])
    mapping: dict[SSAValue, SSAValue] = dict(zip(inputs, body.args, strict=True))
    for value, argument in zip(inputs, body.args, strict=True):
        argument.name_hint = value.name_hint
    known: dict[object, SSAValue] = {}
    for op in members:
        # copies of one movable op that met in this group are one again
        key = (op.name, tuple(op.properties.items()), tuple(mapping[o] for o in op.operands), op.results[0].type)
        if is_movable(op) and key in known:
            mapping[op.results[0]] = known[key]
            continue
        clone = op.clone(mapping)
        clone.location = op.location
        body.add_op(clone)
        known[key] = clone.results[0]
    outputs = [r for op in members for r in op.results if any(use.operation not in inside for use in r.uses)]
    body.add_op(YieldOp.create(operands=[mapping[value] for value in outputs]))
    fusion = FusionOp.create(operands=list(inputs), result_types=[v.type for v in outputs], regions=[Region(body)])
    fusion.location = members[-1].location
    for value, result in zip(outputs, fusion.results, strict=True):
        result.name_hint = value.name_hint
        for use in list(value.uses):
            if use.operation not in inside:
                use.operation.operands[use.index] = result
    return fusion


def fuse_block(block: Block) -> None:
    """Replace the ops of a block by fusions, in an order that respects their dependences."""
    if any(DYNAMIC in r.type.get_shape() for op in block.ops if isinstance(op, GraphOp) for r in op.results):  # pyright: ignore
        return  # shapes decide what repeats work: specialise first
    copy_movable_ops(block)
    planner = _Planner(block)
    planner.plan()
    position = {op: k for k, op in enumerate(block.ops)}
    units: list[list[Operation]] = [sorted(group.ops, key=position.__getitem__) for group in planner.groups]
    grouped = {op for members in units for op in members}
    units += [[op] for op in block.ops if op not in grouped]
    new_ops: list[Operation] = []
    for members in _in_order(units, position):
        if members[0] not in grouped:
            new_ops.append(members[0])
            continue
        new_ops.append(_build_fusion(members))
    for op in list(block.ops):
        op.detach()
    block.add_ops(new_ops)
    for op in reversed(list(position)):
        if op.parent is None:
            op.erase(safe_erase=False)


def _in_order(units: list[list[Operation]], position: dict[Operation, int]) -> list[list[Operation]]:
    """Units in dependence order; among those that are ready, the one whose last op came first."""
    unit_of = {op: k for k, members in enumerate(units) for op in members}
    waiting = [0] * len(units)
    followers: list[set[int]] = [set() for _ in units]
    for k, members in enumerate(units):
        needs = {unit_of[o.owner] for op in members for o in op.operands if o.owner in unit_of}  # pyright: ignore
        needs.discard(k)
        waiting[k] = len(needs)
        for need in needs:
            followers[need].add(k)
    ready = [(position[members[-1]], k) for k, members in enumerate(units) if not waiting[k]]
    heapq.heapify(ready)
    ordered: list[list[Operation]] = []
    while ready:
        _, k = heapq.heappop(ready)
        ordered.append(units[k])
        for follower in followers[k]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, (position[units[follower][-1]], follower))
    assert len(ordered) == len(units), "fusion groups wait for each other"
    return ordered


@dataclass(frozen=True)
class GraphFusePass(ModulePass):
    """Group ops into `graph.fusion`, one kernel each."""

    name = "graph-fuse"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                fuse_block(function.body.block)

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

What is reduced along leading dims, and read again, would be computed for each row. If the columns that it is computed from stay
in a cache, the group's loops over columns go outside (`dialects/graph/places.py`): all passes over them are one kernel.

Index-only ops (broadcast, transpose, slice, ...) and scalar constants are first copied to each of their users: they cost no
arithmetic and no memory, and a copy belongs to one group. A reshape that adds or drops dims of size 1 is one of them where it
stands between two ops of a group; elsewhere it stays a view.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ..dialects.graph.base import Equation, GraphOp
from ..dialects.graph.elementwise import ElementwiseOp
from ..dialects.graph.extents import Extents, has_open_size, has_open_sizes
from ..dialects.graph.places import Place, columns_first, repeated, root_place
from ..dialects.graph.prologues import contracts, is_cheap, may_repeat
from ..dialects.graph.shape import ReshapeOp
from ..dialects.graph.structure import FusionOp, YieldOp
from ..dialects.types import expected, shape_of
from ..errors import CompileError

MAX_OPS = 64
"""Ops a group that compute something: keeps basic blocks below the size where code generation turns superlinear."""

MAX_PLACES = 8
"""Places a value is computed at in one kernel, before it is better kept in memory."""

_INDEX_ONLY = ("graph.broadcast", "graph.transpose", "graph.slice", "graph.reverse", "graph.iota")


@dataclass(eq=False)
class Group:
    """A kernel to be: its ops with the places they are computed at."""

    root: Place | None
    places: dict[Operation, set[Place]] = field(default_factory=dict)
    nest: Operation | None = None
    """The op that writes the loops of the kernel, where one does."""
    work: int = 1
    """How many of the ops compute something."""
    order: tuple[int, ...] | None = None
    """The dims of the results in the order of their loops, where that is another than theirs."""

    @property
    def ops(self) -> Iterable[Operation]:
        return self.places


def is_scalar_const(op: Operation) -> bool:
    """A constant of one element, which a kernel holds as an immediate."""
    return op.name == "graph.const" and all(size == 1 for size in shape_of(op.results[0]))


def is_movable(op: Operation) -> bool:
    """Free to compute anywhere: a scalar constant, or an op that only moves elements."""
    return op.name in _INDEX_ONLY or is_scalar_const(op) or is_unit_reshape(op)


def is_unit_reshape(op: Operation) -> bool:
    """Whether an op only adds or drops dims of size 1 of a value computed here: what is given is best read as a view."""
    return isinstance(op, ReshapeOp) and op.moves_unit_dims and bool(kernel_equations(op.x.owner))


def kernel_equations(op: Operation | Block) -> tuple[Equation, ...]:
    """The loop form of an op, () when it has none of its own (composites, views, constants, calls)."""
    if not isinstance(op, GraphOp) or op.composite or len(op.results) != 1:
        return ()
    return tuple([replace(equation, space=tuple(map(expected, equation.space))) for equation in op.equations()])


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
        self.is_open = has_open_sizes(block)
        """Whether calls alone know sizes: then there are no prologues and no other orders of loops, which sizes decide."""

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
            further = outside or len(groups) > 1
            places = self._places(op, group)
            if places is None and not further:
                places = self._reorder(op, group)
            if places is None or (further and not self._may_store(op, group, places, users)):
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

    def _may_store(self, op: Operation, group: Group, places: set[Place], users: set[Operation]) -> bool:
        """Whether an op may be a further result: stored from the root's loops, and nobody else who needs it leads back."""
        equation = self.equations[op][0]
        shape = equation.space[: equation.n_parallel]
        if group.root is None or len(shape) != len(group.root.loops):
            return False
        return places == {group.root} == {root_place(shape, order=group.order)} and not self._others_lead_to(group, users)

    def _reorder(self, op: Operation, group: Group) -> set[Place] | None:
        """The places of `op` in the group with loops over columns outside, None if that is no gain; else changes the group."""
        if group.root is None or group.order is not None or group.nest is not None or is_movable(op) or self.is_open:
            return None
        root, rank = next(iter(group.ops)), len(group.root.loops)
        place = repeated((place for _, place in self._reads(op, group)), op)
        if place is None or not _stay_in_cache(root.results[0], place.used()) or not self._rereads(op, root):
            return None
        order = columns_first(place, rank)
        trial = replace(group, root=root_place(self.equations[root][0].space[:rank], order=order), places={}, order=order)
        self.of.update(dict.fromkeys(group.ops, trial))
        places = self._places(op, trial) if self._moves_to(group, trial) else None
        if places is not None:
            group.root, group.places, group.order = trial.root, trial.places, order
        self.of.update(dict.fromkeys(group.ops, group))
        return places

    def _moves_to(self, group: Group, trial: Group) -> bool:
        """Fill in the places of a group's ops for another order of the root's loops; whether all are computed as often."""
        for k, (op, before) in enumerate(group.places.items()):
            places = {trial.root} if k == 0 else before if is_scalar_const(op) else self._places(op, trial)
            is_result = any(self.of.get(use.operation) is not trial for use in op.results[0].uses)
            if places is None or (is_result and places != {trial.root}):
                return False
            trial.places[op] = places  # pyright: ignore[reportArgumentType]
        return True

    @staticmethod
    def _rereads(op: Operation, root: Operation) -> bool:
        """Whether a reduction that leads to `op` reads what the root reads, too, all of it."""
        whole = prod(shape_of(root.results[0]))
        read = {v for v in _leads_to(root.results[0]) if prod(shape_of(v)) == whole}
        sums = [v.owner for v in _leads_to(op.results[0]) if any(e.n_reduce for e in kernel_equations(v.owner))]
        return any(v in read for found in sums for operand in found.operands for v in _leads_to(operand))  # pyright: ignore

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
        if not isinstance(op, ElementwiseOp) or group.nest is not None or self.is_open:
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


def _leads_to(value: SSAValue) -> dict[SSAValue, None]:
    """The values from which elementwise ops and ops that only move elements lead to one, and that one."""
    found: dict[SSAValue, None] = {}
    work = [value]
    while work:
        current = work.pop()
        if current not in found:
            found[current] = None
            if isinstance(current.owner, ElementwiseOp) or (isinstance(current.owner, Operation) and is_movable(current.owner)):
                work.extend(current.owner.operands)
    return found


SHORT_BYTES = 128
"""Contiguous bytes that are worth reading out of their order."""

COLUMN_BYTES = 1 << 20
"""Bytes of a column of long pieces that caches keep from one pass over it to the next."""

ROW_BYTES, BLOCK_BYTES = 256, 128 << 10
"""Columns that are neighbours run side by side: bytes of their rows, and of all rows, each in another place of the caches."""

FEW = 8
"""Parts of a kernel that many threads cannot share."""


def _stay_in_cache(result: SSAValue, kept: frozenset[int]) -> bool:
    """Whether passes over the columns of a result, one for each index of the dims `kept`, read it from a cache.

    There must be enough columns for threads, and enough that is contiguous for vectors.
    """
    type_ = result.type
    assert isinstance(type_, TensorType)
    shape, element = type_.get_shape(), -(-type_.element_type.bitwidth // 8)  # pyright: ignore[reportAttributeAccessIssue]
    are_neighbours = len(shape) - 1 in kept
    first = next((dim + 1 for dim in reversed(range(len(shape))) if (dim in kept) != are_neighbours), 0)
    run = prod(shape[first:])
    columns = prod(size for dim, size in enumerate(shape) if dim in kept)
    column = element * prod(shape) // max(1, columns)
    if are_neighbours:
        side_by_side = max(1, min(run, ROW_BYTES // element))
        fits, parts = column * side_by_side <= BLOCK_BYTES, columns // side_by_side
    else:
        fits, parts = column <= COLUMN_BYTES, columns
    return fits and run * element >= SHORT_BYTES and (parts >= FEW or element * prod(shape) <= COLUMN_BYTES)


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


def _read_again(members: list[Operation], inputs: Container[SSAValue]) -> list[tuple[Operation, int]]:
    """The operands (op, number) that are given once more: what a product reads is an argument that nothing else reads.

    A schedule tells what it packs by the buffer. So a product of a matrix with itself has two arguments, and one whose
    operand the epilogue reads, too, as `a @ x + x`, another one for that.
    """
    found: list[tuple[Operation, int]] = []
    for op in members:
        if any(is_product(equation) for equation in kernel_equations(op)):
            for user, k in reversed([_leaf(op, k, members) for k in range(len(op.operands))]):
                value = user.operands[k]
                reads = [(m, n) for m in members for n, operand in enumerate(m.operands) if operand is value]
                if value in inputs and any(read != (user, k) and read not in found for read in reads):
                    found.append((user, k))
    return found


def _leaf(op: Operation, k: int, members: list[Operation]) -> tuple[Operation, int]:
    """Where an operand comes into a group, through the ops that only move its elements."""
    while isinstance(source := op.operands[k].owner, Operation) and source in members and len(source.operands) == 1:
        if not is_movable(source) or len(list(source.results[0].uses)) > 1:
            break
        op, k = source, 0
    return op, k


def _build_fusion(members: list[Operation]) -> FusionOp:
    """One `graph.fusion` of the members, detached; uses of their results from outside are moved to its results."""
    inside = set(members)
    inputs: dict[SSAValue, None] = {}
    for op in members:
        for operand in op.operands:
            if operand.owner not in inside:
                inputs.setdefault(operand)
    again = _read_again(members, inputs)
    operands = [*inputs, *(op.operands[k] for op, k in again)]
    body = Block(arg_types=[value.type for value in operands])
    mapping: dict[SSAValue, SSAValue] = dict(zip(inputs, body.args, strict=False))
    for value, argument in zip(operands, body.args, strict=True):
        argument.name_hint = value.name_hint
    arguments = dict(zip(again, body.args[len(inputs) :], strict=True))
    known: dict[object, SSAValue] = {}
    for op in members:
        # copies of one movable op that met in this group are one again
        inside_operands = [arguments.get((op, k), mapping[o]) for k, o in enumerate(op.operands)]
        key = (op.name, tuple(op.properties.items()), tuple(inside_operands), op.results[0].type)
        if is_movable(op) and key in known and not has_open_size(op.results[0]):
            mapping[op.results[0]] = known[key]
            continue
        clone = op.clone(mapping)
        clone.operands = inside_operands
        clone.location = op.location
        body.add_op(clone)
        known[key] = clone.results[0]
    outputs = [r for op in members for r in op.results if any(use.operation not in inside for use in r.uses)]
    body.add_op(YieldOp.create(operands=[mapping[value] for value in outputs]))
    fusion = FusionOp.create(operands=operands, result_types=[v.type for v in outputs], regions=[Region(body)])
    fusion.location = members[-1].location
    for value, result in zip(outputs, fusion.results, strict=True):
        result.name_hint = value.name_hint
        for use in list(value.uses):
            if use.operation not in inside:
                use.operation.operands[use.index] = result
    return fusion


def fuse_block(block: Block) -> None:
    """Replace the ops of a block by fusions, in an order that respects their dependences."""
    try:
        Extents(block)
    except CompileError:
        return  # what takes no `?` is refused where it is lowered
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

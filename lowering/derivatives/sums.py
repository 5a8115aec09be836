"""Sums of cotangents: nests that scatter become nests that gather.

A nest run backward adds to elements in the order in which the first kernel read them. Where an element is named by some of the
loops, the others are a sum:

    for i: for j: for k: gA[i, k] += c[i, j] * B[k, j]      ->      for i: for k: gA[i, k] += sum(c[i, j] * B[k, j] over j)

so that no iteration of the outer loops depends on another, and each element is read and written once. Additions that are named
by different loops get nests of their own, each of which computes again what it needs. Additions to different elements of one
buffer in one loop get a loop each, which is then without dependences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...dialects.loop.loops import ForOp, IfOp, KernelOp, WhileOp, YieldOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.operations import append
from ..analysis.affine import Affine, as_map, forms
from ..analysis.nests import ops_in, walk
from .copies import at, copy, load, store
from .dead_code import remove_dead
from .slopes import SlopeBuilder


@dataclass(frozen=True)
class Addition:
    """`buffer[at] += value` in some loops, outermost first."""

    op: StoreOp
    value: SSAValue
    at: Sequence[Affine]
    loops: Sequence[ForOp]

    @property
    def named(self) -> list[ForOp]:
        """The loops whose indices name the element, as far as possible in the order of the dims."""
        by_dim = [loop for form in self.at for loop in self.loops if loop.index in form.terms]
        return list(dict.fromkeys(by_dim))


def gather_sums(kernel: KernelOp) -> None:
    """Rewrite all nests of a kernel that only add to buffers."""
    _visit(kernel.body.block)
    remove_dead(kernel)
    _split_loops(kernel)
    remove_dead(kernel)


def _visit(block: Block) -> None:
    for op in list(block.ops):
        if not isinstance(op, ForOp):
            continue
        found = additions(op)
        if found is None:
            _visit(op.body.block)
        else:
            _gather(op, found)


def additions(nest: ForOp) -> list[Addition] | None:
    """What a nest adds to buffers, which it reads nowhere else; None if it does anything else."""
    found: list[Addition] = []
    own: set[Operation] = set()
    for op in walk(nest):
        if isinstance(op, StoreOp):
            addition = _addition(op, nest)
            if addition is None:
                return None
            found.append(addition)
            own.add(op.value.owner.operands[0].owner)  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue]
        elif isinstance(op, WhileOp | AllocOp) or (isinstance(op, ForOp) and op.results and op.kind.data != "reduce"):
            return None
        elif op.regions and not isinstance(op, ForOp | IfOp):
            return None
    buffers = {a.op.buffer for a in found}
    if any(op.buffer in buffers and op not in own for op in ops_in(nest, LoadOp)):
        return None
    return found


def _addition(op: StoreOp, nest: ForOp) -> Addition | None:
    total = op.value.owner
    if not isinstance(total, arith.AddfOp) or op.lanes > 1:
        return None
    first = total.operands[0].owner
    where = forms(op.map.data, op.indices)
    if not isinstance(first, LoadOp) or first.buffer is not op.buffer or forms(first.map.data, first.indices) != where:
        return None
    loops: list[ForOp] = []
    parent: Operation | None = op
    while parent is not nest:
        parent = parent.parent_op()
        if not isinstance(parent, ForOp):
            return None
        loops.append(parent)
    return Addition(op, total.operands[1], where, loops[::-1])


def _gather(nest: ForOp, found: Sequence[Addition]) -> None:
    groups: dict[tuple[tuple[ForOp, ...], tuple[ForOp, ...]], list[Addition]] = {}
    for addition in found:
        order = _order(addition, nest)
        if order is not None:
            groups.setdefault(order, []).append(addition)
    for (named, summed), members in groups.items():
        _Nest(nest, named, summed).write(members)
        for addition in members:
            addition.op.detach()
            addition.op.erase()


def _order(addition: Addition, nest: ForOp) -> tuple[tuple[ForOp, ...], tuple[ForOp, ...]] | None:
    """The loops that name the element, and those of the sum; None if there is no sum, or another order is not possible."""
    named = addition.named
    summed = [loop for loop in addition.loops if loop not in named]
    if not summed or not named or not all(form.is_linear for form in addition.at):
        return None
    if any(_is_inside(value, nest) for form in addition.at for value in form.values() if value not in _indices(named)):
        return None
    for order in (named, [loop for loop in addition.loops if loop in named]):
        seen: set[SSAValue] = set()
        for loop in (*order, *summed):
            operands = (*loop.lower_operands, *loop.upper_operands)
            if any(_is_inside(v, nest) and v not in seen for v in operands):
                break
            seen.add(loop.index)
        else:
            return tuple(order), tuple(summed)
    return None


def _indices(loops: Sequence[ForOp]) -> set[SSAValue]:
    return {loop.index for loop in loops}


def _is_inside(value: SSAValue, nest: ForOp) -> bool:
    op = value.owner.parent_op()
    while op is not None:
        if op is nest:
            return True
        op = op.parent_op()
    return False


class _Nest:
    """Writes a nest with loops in another order; what it needs stands in the outermost loop that has all loops around it."""

    def __init__(self, nest: ForOp, named: Sequence[ForOp], summed: Sequence[ForOp]):
        self.nest, self.named, self.summed = nest, named, summed
        self.order = [*named, *summed]
        self.values: dict[SSAValue, SSAValue] = {}
        self.indices: dict[SSAValue, Affine] = {}
        self.blocks = [Block(arg_types=[IndexType()]) for _ in self.order]
        for loop, block in zip(self.order, self.blocks, strict=True):
            block.args[0].name_hint = loop.index.name_hint
            self.values[loop.index] = block.args[0]
            self.indices[loop.index] = Affine.of(block.args[0])
        self.turned: dict[SSAValue, SSAValue] = {}

    def write(self, members: Sequence[Addition]) -> None:
        location = members[0].op.location
        sums = [self.get(addition.value) for addition in members]
        parent = self.nest.parent
        assert parent is not None
        whole = Block()
        for depth in reversed(range(len(self.order))):
            old, block = self.order[depth], self.blocks[depth]
            lower, upper = (
                as_map(at(map.data, operands, self.indices))
                for map, operands in ((old.lower, old.lower_operands), (old.upper, old.upper_operands))
            )
            b = SlopeBuilder(self.blocks[depth - 1] if depth else whole, location)
            is_sum = depth >= len(self.named)
            inits = [b.const(0.0, value.type) for value in sums] if is_sum else []
            if depth == len(self.named) - 1:
                self._add(members, sums, SlopeBuilder(block, location))
            append(block, YieldOp.create(operands=sums if is_sum else []))
            kind, monoid = ("reduce", "add") if is_sum else ("seq", None)
            step = old.step.value.data
            new = ForOp.build_loop(lower, upper, step=step, kind=kind, monoid=monoid, inits=inits, body=block)
            new.location = old.location
            b.insert_op(new)
            sums = list(new.results) if is_sum else sums
        for op in list(whole.ops):
            op.detach()
            parent.insert_op_before(op, self.nest)

    def _add(self, members: Sequence[Addition], sums: Sequence[SSAValue], b: SlopeBuilder) -> None:
        for addition, total in zip(members, sums, strict=True):
            where = [form.substitute(self.indices) for form in addition.at]
            store(b, b.add(load(b, addition.op.buffer, where), total), addition.op.buffer, where)

    def get(self, value: SSAValue) -> SSAValue:
        """A value in the new nest."""
        if value in self.values:
            return self.values[value]
        owner = value.owner
        if not _is_inside(value, self.nest) or not isinstance(owner, Operation):
            return value
        free = [v for v in _free(owner) if _is_inside(v, self.nest)]
        for v in free:
            self.get(v)
        around = [loop for loop in _around(owner, self.nest) if loop in self.order]
        depth = max(self.order.index(loop) for loop in around)
        block = self.blocks[depth]
        if isinstance(owner, LoadOp) and (turned := self._turned(owner)) is not None:
            found = load(SlopeBuilder(block, owner.location), *turned)
        else:
            new = copy(owner, self.values, block)
            for inner in ops_in(new, StoreOp):
                inner.detach()
                inner.erase()
            found = self.values[value]
        self.values[value] = found
        return found

    def _turned(self, op: LoadOp) -> tuple[SSAValue, list[Affine]] | None:
        """A transposed copy of a matrix whose rows the sum runs along, and the subscripts there, if others use it again."""
        where = forms(op.map.data, op.indices)
        last, inner = self.named[-1], self.order[-1]
        buffer = op.buffer
        type = buffer.type
        assert isinstance(type, MemRefType)
        if len(where) != 2 or not isinstance(buffer, BlockArgument) or len(self.named) < 2 or len(self.summed) != 1:
            return None
        used = {value for form in where for value in form.values()}
        rows = where[0].terms.get(last.index) == 1 and where[1].terms.get(inner.index) == 1
        if not rows or used & _indices(self.named[:-1]) or len(where[0].terms) != 1 or len(where[1].terms) != 1:
            return None
        if _around(self.nest, None) or (self.nest.parent and isinstance(self.nest.parent.parent_op(), ForOp)):
            return None
        if buffer not in self.turned:
            self.turned[buffer] = _transposed(buffer, self.nest)
        return self.turned[buffer], [form.substitute(self.indices) for form in reversed(where)]


def _transposed(buffer: BlockArgument, nest: ForOp) -> SSAValue:
    """A local copy of a matrix, transposed, made before a nest."""
    kernel = nest.parent_op()
    assert isinstance(kernel, KernelOp) and isinstance(buffer.type, MemRefType)
    from .tapes import Tapes

    symbols = kernel.index_arguments
    rows, columns = (Affine.parse(size, symbols) for size in kernel.sizes_of(buffer))
    scratch = Block()
    b = SlopeBuilder(scratch, nest.location)
    made = Tapes([]).allocated(b, buffer.type.element_type, [columns, rows], f"{buffer.name_hint or 'matrix'}t")
    outer = ForOp.build_loop(0, as_map([rows]), name=f"{buffer.name_hint or 'matrix'}x")
    inner = ForOp.build_loop(0, as_map([columns]), name=f"{buffer.name_hint or 'matrix'}y")
    body = SlopeBuilder(inner.body.block, nest.location)
    x, y = Affine.of(outer.index), Affine.of(inner.index)
    store(body, load(body, buffer, [x, y]), made, [y, x])
    append(inner.body.block, YieldOp.create())
    SlopeBuilder(outer.body.block, nest.location).insert_op(inner)
    append(outer.body.block, YieldOp.create())
    b.insert_op(outer)
    parent = nest.parent
    assert parent is not None
    for op in list(scratch.ops):
        op.detach()
        parent.insert_op_before(op, nest)
    return made


def _around(op: Operation, nest: ForOp | None) -> list[ForOp]:
    """The loops around an op, up to the nest."""
    found: list[ForOp] = []
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ForOp):
            found.append(parent)
        if parent is nest:
            break
        parent = parent.parent_op()
    return found


def _free(op: Operation) -> Iterator[SSAValue]:
    """The values from outside that an op and what is in it use."""
    inside: set[SSAValue] = set()
    for inner in walk(op):
        inside.update(inner.results)
        for region in inner.regions:
            for block in region.blocks:
                inside.update(block.args)
    for inner in walk(op):
        for value in inner.operands:
            if value not in inside:
                yield value


def _split_loops(kernel: KernelOp) -> None:
    """Give each of several additions to one buffer, in one innermost loop, a loop of its own."""
    for loop in ops_in(kernel, ForOp):
        if ops_in(loop.body.block, ForOp) or not isinstance(loop.parent, Block):
            continue
        found = additions(loop)
        if not found:
            continue
        by_buffer: dict[SSAValue, list[Addition]] = {}
        for addition in found:
            by_buffer.setdefault(addition.op.buffer, []).append(addition)
        count = max(len(members) for members in by_buffer.values())
        moving = any(form != other for m in by_buffer.values() for a in m for form, other in zip(a.at, m[0].at, strict=True))
        if count == 1 or not moving:
            continue
        rank = {a.op: k for members in by_buffer.values() for k, a in enumerate(members)}
        stores = [op for op in ops_in(loop, StoreOp)]
        for k in range(count - 1):
            block = Block()
            new = copy(loop, {}, block)
            new.detach()
            loop.parent.insert_op_before(new, loop)
            _keep(new, [rank[op] == k for op in stores])
        _keep(loop, [rank[op] == count - 1 for op in stores])


def _keep(loop: Operation, kept: Sequence[bool]) -> None:
    for op, flag in zip(ops_in(loop, StoreOp), kept, strict=True):
        if not flag:
            op.detach()
            op.erase()


def store_whole(kernel: KernelOp, buffers: Sequence[BlockArgument]) -> list[BlockArgument]:
    """Of buffers that start as zeros, those that one addition writes in full: it becomes a store. Returns them."""
    found: list[BlockArgument] = []
    for buffer in buffers:
        stores = [op for op in ops_in(kernel, StoreOp) if op.buffer is buffer]
        loads = [op for op in ops_in(kernel, LoadOp) if op.buffer is buffer]
        if len(stores) != 1 or len(loads) != 1:
            continue
        op = stores[0]
        outermost: Operation = op
        while not isinstance(around := outermost.parent_op(), KernelOp):
            assert around is not None
            outermost = around
        if not isinstance(outermost, ForOp) or (addition := _addition(op, outermost)) is None:
            continue
        if _covers(addition, [Affine.parse(s, kernel.index_arguments) for s in kernel.sizes_of(buffer)]):
            new = StoreOp.build_store(addition.value, buffer, *as_map(addition.at))
            new.location = op.location
            assert op.parent is not None
            op.parent.insert_op_before(new, op)
            op.detach()
            op.erase()
            found.append(buffer)
    return found


def _covers(addition: Addition, sizes: Sequence[Affine]) -> bool:
    """Whether the loops name each element once."""
    loops: list[ForOp] = []
    for form, size in zip(addition.at, sizes, strict=True):
        moving = [loop for loop in addition.loops if loop.index in form.terms]
        if len(moving) != 1 or moving[0] in loops or abs(form.terms[moving[0].index]) != 1 or not form.is_linear:
            return False
        loop, sign = moving[0], form.terms[moving[0].index]
        loops.append(loop)
        lows, highs = forms(loop.lower.data, loop.lower_operands), forms(loop.upper.data, loop.upper_operands)
        if len(lows) != 1 or len(highs) != 1 or loop.step.value.data != 1:
            return False
        ends = [form.substitute({loop.index: end}) for end in (lows[0], highs[0] - 1)]
        if sorted_ends(ends, sign) != (Affine.of(0), size - 1):
            return False
    return len(loops) == len(addition.loops)


def sorted_ends(ends: Sequence[Affine], sign: int) -> tuple[Affine, Affine]:
    return (ends[0], ends[1]) if sign > 0 else (ends[1], ends[0])

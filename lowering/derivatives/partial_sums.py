"""Partial sums of cotangents: iterations that add to elements which all of them share become independent.

    for i: ... gc[k] += v        ->      sums[k, 0..8] = 0
                                         for io in steps of 8: for ii in 8: ... sums[k, ii] += v
                                         gc[k] += sums[k, 0] + ... + sums[k, 7]

The gradient of what all rows of a kernel read, as coefficients of a polynomial or a filter, is such a sum. Otherwise it would
be the one dependence between rows, and keep them from becoming vectors. The number of partial sums is fixed, so results depend
neither on the target nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...dialects.loop.loops import ForOp, KernelOp, YieldOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.operations import append
from ..analysis.accesses import Access, accesses
from ..analysis.affine import Affine, as_map, forms
from ..analysis.dependence import CannotDecide, Conflict, find_conflict, first_conflict, pairs
from ..analysis.nests import name_of, ops_in
from ..schedule.peel import can_peel, peel_loop
from ..schedule.split import split_loop
from .copies import fill, load, store
from .slopes import SlopeBuilder
from .tapes import Tapes

PARTS = 8
"""Partial sums of an element: two registers of 4 f64, one of 8."""


@dataclass(frozen=True)
class Shared:
    """A buffer that the iterations of a loop do nothing to but add to the same elements.

    Attributes:
        sizes: of the part of it that they reach.
    """

    buffer: BlockArgument
    stores: Sequence[StoreOp]
    sizes: Sequence[Affine]


def keep_partial_sums(kernel: KernelOp) -> None:
    """Divide the sums of each outermost loop whose iterations depend on each other by these alone."""
    for loop in [op for op in kernel.body.block.ops if isinstance(op, ForOp)]:
        if loop.kind.data == "seq" and not loop.results and loop.step.value.data == 1 and can_peel(loop, size=PARTS):
            shared = _shared(kernel, loop)
            if shared and _is_independent(loop, {s.buffer for s in shared}):
                _divide(kernel, loop, shared)


def _shared(kernel: KernelOp, loop: ForOp) -> list[Shared]:
    found: list[Shared] = []
    for buffer in kernel.body.block.args:
        if not isinstance(buffer.type, MemRefType):
            continue
        stores = [op for op in ops_in(loop, StoreOp) if op.buffer is buffer]
        loads = [op for op in ops_in(loop, LoadOp) if op.buffer is buffer]
        uses = [use for use in buffer.uses if _is_in(use.operation, loop)]
        if not stores or len(stores) != len(loads) or len(uses) != 2 * len(stores):
            continue
        if all(_adds(op, loop) for op in stores):
            found.append(Shared(buffer, stores, _reach(kernel, buffer, stores)))
    return found


def _is_in(op: Operation | None, loop: ForOp) -> bool:
    while op is not None and op is not loop:
        op = op.parent_op()
    return op is loop


def _adds(op: StoreOp, loop: ForOp) -> bool:
    """Whether a store adds to an element that all iterations share, and nothing else reads the sum."""
    total = op.value.owner
    if not isinstance(total, arith.AddfOp) or op.lanes > 1 or op.mask is not None:
        return False
    first, where = total.operands[0].owner, forms(op.map.data, op.indices)
    if not isinstance(first, LoadOp) or first.buffer is not op.buffer or forms(first.map.data, first.indices) != where:
        return False
    if len(list(first.results[0].uses)) != 1 or len(list(total.results[0].uses)) != 1:
        return False
    indices = {inner.index for inner in ops_in(loop, ForOp)}
    named = {value for form in where for value in form.values()}
    known = all(value in indices or not _is_in(_owner(value), loop) for value in named)
    return known and loop.index not in named and all(form.is_linear for form in where)


def _owner(value: SSAValue) -> Operation | None:
    return value.owner.parent_op() if isinstance(value.owner, Block) else value.owner


def _reach(kernel: KernelOp, buffer: BlockArgument, stores: Sequence[StoreOp]) -> list[Affine]:
    """The sizes of the buffer; in dims where all subscripts are numbers, up to the greatest one."""
    sizes = [Affine.parse(size, kernel.index_arguments) for size in kernel.sizes_of(buffer)]
    for d in range(len(sizes)):
        numbers = [forms(op.map.data, op.indices)[d].number for op in stores]
        known = [n for n in numbers if n is not None]
        if len(known) == len(numbers):
            sizes[d] = Affine.of(max(known) + 1)
    return sizes


def _is_independent(loop: ForOp, but: set[SSAValue]) -> bool:
    """Whether no two iterations touch one element of another buffer."""

    def conflict(one: Access, two: Access) -> Conflict | None:
        relations = {inner: "*" for inner in one.loops if inner in two.loops and _is_in(inner.parent_op(), loop)}
        return find_conflict(one, two, {**relations, loop: "<"})

    others = [access for access in accesses(loop) if access.buffer not in but]
    try:
        return first_conflict(pairs(others), conflict) is None
    except CannotDecide:
        return False


def _divide(kernel: KernelOp, loop: ForOp, shared: Sequence[Shared]) -> None:
    before, after = Block(), Block()
    b, f = SlopeBuilder(before, loop.location), SlopeBuilder(after, loop.location)
    outer, inner = split_loop(kernel, loop, name_of(loop), PARTS)
    part = Affine.of(inner.index)
    for one in shared:
        assert isinstance(one.buffer.type, MemRefType)
        name = f"{one.buffer.name_hint or 'sum'}s"
        sums = Tapes([]).allocated(b, one.buffer.type.element_type, [*one.sizes, Affine.of(PARTS)], name)
        fill(b, sums, [*one.sizes, Affine.of(PARTS)])
        for op in one.stores:
            total = op.value.owner
            assert isinstance(total, arith.AddfOp)
            first = total.operands[0].owner
            assert isinstance(first, LoadOp)
            where = [*forms(op.map.data, op.indices), part]
            own = LoadOp.build_load(sums, *as_map(where))
            new = StoreOp.build_store(op.value, sums, *as_map(where))
            for old, made in ((first, own), (op, new)):
                made.location = old.location
                assert old.parent is not None
                old.parent.insert_op_before(made, old)
            first.results[0].replace_all_uses_with(own.results[0])
            for old in (op, first):
                old.detach()
                old.erase()
        _add(f, one, sums, [])
    main, rest = peel_loop(outer)
    parent = main.parent
    assert parent is not None
    for op in list(before.ops):
        op.detach()
        parent.insert_op_before(op, main)
    anchor: Operation = main if rest is None else rest
    for op in list(after.ops):
        op.detach()
        parent.insert_op_after(op, anchor)
        anchor = op


def _add(b: SlopeBuilder, one: Shared, sums: SSAValue, at: list[Affine]) -> None:
    """Loops that add the partial sums of each element, in their order."""
    if len(at) == len(one.sizes):
        total = load(b, sums, [*at, Affine.of(0)])
        for k in range(1, PARTS):
            total = b.add(total, load(b, sums, [*at, Affine.of(k)]))
        store(b, b.add(load(b, one.buffer, at), total), one.buffer, at)
        return
    size = one.sizes[len(at)]
    loop = ForOp.build_loop(0, as_map([size]), name=f"{one.buffer.name_hint or 'sum'}{'xyzuvw'[len(at) % 6]}")
    if b.location is not None:
        loop.location = b.location
    _add(SlopeBuilder(loop.body.block, b.location), one, sums, [*at, Affine.of(loop.index)])
    append(loop.body.block, YieldOp.create())
    b.insert_op(loop)

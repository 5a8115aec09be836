"""The producer of a local buffer, and whether it may be computed elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import Pure

from ...dialects.loop.gather import GatherOp, ScatterOp
from ...dialects.loop.loops import ForOp, IfOp, KernelOp, WhileOp, YieldOp
from ...dialects.loop.memory import AllocOp, LoadOp, PrefetchOp, StoreOp
from ...dialects.scalar_ops import is_arithmetic
from .accesses import Access, accesses
from .affine import Affine, forms
from .dependence import Conflict, find_conflict
from .nests import around, buffer_name, walk
from .regions import Domain, lowers, no_common_while, runs_before, statement_in, uppers


class Unfit(Exception):
    """The producer of a buffer cannot be isolated; the message says why."""


@dataclass(frozen=True)
class Producer:
    """A local buffer that one op stores to.

    Attributes:
        block: the innermost block that contains the store and all reads.
        outer: the statement of the block that is or contains the store.
        loops: the loops in `outer` around the store, outermost first.
        at: the subscripts of the store.
    """

    alloc: AllocOp
    store: StoreOp
    block: Block
    outer: Operation
    loops: tuple[ForOp, ...]
    at: list[Affine]


def producer(buffer: SSAValue, readers: Sequence[Operation]) -> Producer:
    """The producer of a buffer, as its readers see it.

    Raises:
        Unfit: the buffer is an argument, has several stores or none, is computed with other effects, or is read before.
    """
    name, alloc = buffer_name(buffer), buffer.owner
    if not isinstance(alloc, AllocOp):
        raise Unfit(f"{name} is an argument of the kernel, not a local buffer")
    stores = [use.operation for use in buffer.uses if isinstance(use.operation, StoreOp | ScatterOp)]
    if len(stores) != 1 or not isinstance(store := stores[0], StoreOp):
        raise Unfit(
            f"{name} must be stored to by one op, not by {len(stores)}" if len(stores) != 1 else f"{name} is scattered to"
        )
    for use in buffer.uses:
        if not isinstance(use.operation, LoadOp | StoreOp | GatherOp | PrefetchOp):
            raise Unfit(f"{name} is used by '{use.operation.name}'")
    block = common_block([store, *readers])
    outer = statement_in(block, store)
    assert outer is not None
    order = {op: k for k, op in enumerate(block.ops)}
    for reader in readers:
        statement = statement_in(block, reader)
        assert statement is not None
        if order[statement] <= order[outer]:
            raise Unfit(f"{name} is read before it is computed")
    for op in walk(outer):
        if isinstance(op, LoadOp | GatherOp) and op.buffer is buffer:
            raise Unfit(f"{name} is computed from itself")
        if op is not store and not _pure(op, outer):
            raise Unfit(f"what computes {name} does more than that: '{op.name}'")
    outside = around(outer)
    loops = tuple(loop for loop in around(store) if loop not in outside)
    return Producer(alloc, store, block, outer, loops, forms(store.map.data, store.indices))


def _pure(op: Operation, outer: Operation) -> bool:
    """Whether an op has no effects except on buffers that are local to `outer`."""
    if isinstance(op, StoreOp | ScatterOp):
        return isinstance(op.buffer.owner, AllocOp) and _is_in(op.buffer.owner, outer)
    if isinstance(op, ForOp | IfOp | WhileOp | YieldOp | LoadOp | GatherOp | PrefetchOp | AllocOp):
        return True
    return is_arithmetic(op) or op.name.startswith("vector.") or op.has_trait(Pure)


def _is_in(op: Operation, outer: Operation) -> bool:
    parent: Operation | None = op
    while parent is not None and parent is not outer:
        parent = parent.parent_op()
    return parent is not None


def common_block(ops: Sequence[Operation]) -> Block:
    """The innermost block that contains some ops, directly or in nested regions."""
    block = ops[0].parent_block()
    while block is not None:
        if all(statement_in(block, op) is not None for op in ops):
            return block
        parent = block.parent_op()
        block = parent.parent if parent is not None else None
    raise AssertionError("ops of different kernels")


def outside_of(found: Producer, at: Sequence[Affine], loops: Sequence[ForOp]) -> dict[str, int] | None:
    """Elements that an access in some loops may touch and the producer does not store, as variables and sizes.

    The subscripts of the store must be loop variables. None is a proof that there is no such element.
    """
    values = {value: form for target, form in zip(found.at, at, strict=True) if (value := target.value) is not None}
    domain = Domain(loops)
    for loop in found.loops:
        if loop.index not in values:
            continue
        form = values[loop.index]
        bounds = [low.substitute(values) for low in lowers(loop)], [high.substitute(values) for high in uppers(loop)]
        misses = [*(low - form - 1 for low in bounds[0]), *(form - high for high in bounds[1])]
        if (step := loop.step.value.data) != 1:
            misses += [(form - low).mod(step) - 1 for low in bounds[0]]
        for miss in misses:
            if not domain.never(miss):
                return domain.example(miss)
    return None


def may_change(kernel: KernelOp, found: Producer, anchor: Operation) -> bool:
    """Whether any input of a producer is written between it and an op, in or around which it is to run instead."""
    read = {op.buffer for op in walk(found.outer) if isinstance(op, LoadOp | GatherOp)}
    order = {op: k for k, op in enumerate(found.block.ops)}
    target = statement_in(found.block, anchor)
    assert target is not None
    writes = [access for access in accesses(kernel) if access.writes and access.buffer in read]
    statements = [statement_in(found.block, write.op) for write in writes]
    return any(one is not None and order[found.outer] < order[one] <= order[target] for one in statements)


def written_before(kernel: KernelOp, found: Producer, read: Access, anchor: Operation) -> Conflict | None:
    """A write of the elements that `read` reads, between the producer and the op where they are to be read instead.

    Args:
        read: an access in its future form; it need not be in the kernel.
        anchor: the op before which it will be inserted.

    Raises:
        CannotDecide: neither a write nor a proof of its absence was found.
    """
    order = {op: k for k, op in enumerate(found.block.ops)}
    text = {op: k for k, op in enumerate(walk(kernel))}
    target = statement_in(found.block, anchor)
    assert target is not None
    scope = around(found.outer)
    for write in accesses(kernel):
        statement = statement_in(found.block, write.op)
        if not write.writes or write.buffer is not read.buffer or statement is None:
            continue
        if not order[found.outer] < order[statement] <= order[target]:
            continue
        if statement is not target:
            conflict = find_conflict(write, read, {})
        else:
            holder = found.block.parent_op()
            assert holder is not None
            no_common_while(write.op, anchor, holder)
            conflict = runs_before(write, read, scope, in_text=text[write.op] < text[anchor])
        if conflict is not None:
            return conflict
    return None

"""Masked accesses to `loop.alloc register` buffers: all of their lanes must be in the buffer.

A masked store to memory leaves the lanes that are off alone; to keep a tile in registers it is emitted as a store of all lanes,
some with their old elements. Where lanes that are off may leave the buffer, the buffer is enlarged for them; where that does
not help (a condition that hides any subscript), the access becomes a gather or scatter, which touches one element at a time.
"""

from __future__ import annotations

from xdsl.dialects import vector
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.loop.gather import GatherOp, ScatterOp
from ...dialects.loop.loops import ForOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.operations import create
from ...dialects.types import index, memref, shape_of
from ...dialects.types import vector as vector_type
from ...dialects.vocabulary import StepOp
from ..analysis.accesses import Access, Instance, Terms
from ..analysis.linear import System, Undecided
from ..analysis.nests import around, ops_in
from ..index_arith import IndexArith


def make_room(loop: ForOp, mask: SSAValue | None) -> None:
    """Fix the masked accesses in a loop of a kernel, whose own mask is `mask`."""
    for op in ops_in(loop, LoadOp, StoreOp):
        if op.mask is None or not _is_register(op.buffer):
            continue
        last = _greatest(op)
        if last is None or last >= shape_of(op.buffer)[op.lane_dim()]:
            if op.mask is mask and op.lane_step() > 0:
                _pad(op, last)
            else:
                _one_by_one(op)


def _is_register(buffer: SSAValue) -> bool:
    return isinstance(buffer.owner, AllocOp) and buffer.owner.space.data == "register"


def _greatest(op: LoadOp | StoreOp) -> int | None:
    """The greatest subscript of any lane along the dim of the lanes; None when one may be negative or too large elsewhere."""
    system = System()
    instance = Instance(system, Access(op, op.buffer, False, tuple(around(op))), "r", {})
    subscripts: list[tuple[Terms, int]] = instance.subscripts()
    sizes = shape_of(op.buffer)
    try:
        if system.is_empty():
            return -1
        for dim, ((terms, constant), size) in enumerate(zip(subscripts, sizes, strict=True)):
            below, above = system.copy(), system.copy()
            below.ge({v: -c for v, c in terms.items()}, -constant - 1)
            above.ge(terms, constant - size)
            if not below.is_empty() or (dim != op.lane_dim() and not above.is_empty()):
                return None
        _, greatest = system.bounds(*subscripts[op.lane_dim()])
    except Undecided:
        return None
    return greatest


def _pad(op: LoadOp | StoreOp, last: int | None) -> None:
    """Check that lanes that are off come after one that is on, which is in bounds."""
    type = op.buffer.type
    assert isinstance(type, MemRefType)
    shape = list(type.get_shape())
    dim = op.lane_dim()
    most = shape[dim] + (op.lanes - 1) * op.lane_step()
    shape[dim] = most if last is None else min(most, last + 1)
    Rewriter.replace_value_with_new_type(op.buffer, memref(type.element_type, shape))


def _one_by_one(op: LoadOp | StoreOp) -> None:
    new, lanes = Block(), op.lanes

    def spread(scalar: SSAValue) -> SSAValue:
        broadcast = create(vector.BroadcastOp, operands=[scalar], result_types=[vector_type(index, lanes)])
        new.add_op(broadcast)
        return broadcast.results[0]

    arithmetic = IndexArith(new, new, spread)
    subscripts = [arithmetic.value(expr, op.indices) for expr in op.map.data.results]
    numbers = arithmetic.builder.insert(StepOp.create(result_types=[vector_type(index, lanes)]))
    moved = arithmetic.add(subscripts[op.lane_dim()], arithmetic.mul(numbers, op.lane_step()))
    assert not isinstance(moved, int)
    subscripts[op.lane_dim()] = moved
    if isinstance(op, LoadOp):
        one = GatherOp.build_gather(op.buffer, subscripts, lanes, op.mask)
        one.value.name_hint = op.value.name_hint
        op.value.replace_all_uses_with(one.value)
    else:
        one = ScatterOp.build_scatter(op.value, op.buffer, subscripts, op.mask)
    one.location = op.location
    new.add_op(one)
    block = op.parent_block()
    assert block is not None
    for added in list(new.ops):
        added.detach()
        block.insert_op_before(added, op)
    op.detach()
    op.erase()

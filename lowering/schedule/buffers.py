"""Local buffers of another shape: the requirements of the primitives that reshape them, and the rewriting of all accesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneAttr
from xdsl.ir import Operation

from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...dialects.types import memref
from ..analysis.affine import Affine
from .base import Primitive
from .cloning import is_vector, redirect, remove, subscripts


def require_static(step: Primitive, alloc: AllocOp) -> None:
    """Refuse a buffer with dynamic sizes or a layout."""
    type = alloc.buffer.type
    if DYNAMIC_INDEX in type.get_shape() or not isinstance(type.layout, NoneAttr):
        raise step.refuse(f"{alloc.buffer.name_hint} needs a static shape and no layout: {type}")


def accesses_of(step: Primitive, alloc: AllocOp, verb: str) -> list[LoadOp | StoreOp]:
    """The accesses of a buffer, of single elements; others are refused."""
    found: dict[LoadOp | StoreOp, None] = {}
    for use in alloc.buffer.uses:
        op = use.operation
        if not isinstance(op, LoadOp | StoreOp):
            raise step.refuse(f"{alloc.buffer.name_hint} is used by '{op.name}'")
        if is_vector(op):
            raise step.refuse(f"an access of {alloc.buffer.name_hint} moves a vector: {verb} before you vectorize")
        found[op] = None
    return list(found)


def store_as(old: AllocOp, shape: Sequence[int], at: Callable[[list[Affine]], Sequence[Affine]], place: Operation) -> None:
    """Replace a buffer by one of another shape, before `place`; `at` maps the old subscripts of an element to the new ones."""
    type = memref(old.buffer.type.element_type, shape)
    new = AllocOp.build_alloc(old.space.data, type, name=old.buffer.name_hint)
    new.location, new.attributes = old.location, dict(old.attributes)
    block = place.parent_block()
    assert block is not None
    block.insert_op_before(new, place)
    for op in {use.operation: None for use in old.buffer.uses}:
        assert isinstance(op, LoadOp | StoreOp)
        redirect(op, new.buffer, at(subscripts(op)))
    remove(old)

"""Batches: a kernel that runs another one for each element of a batch, in parallel."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...dialects.loop.loops import ForOp, KernelOp, YieldOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.loop.parameters import parameters_of
from ...dialects.loop.shapes import NumberedShape
from ...dialects.operations import append
from ...dialects.types import DYNAMIC, memref
from ...dialects.types import index as index_type
from ...errors import CompileError
from ..analysis.affine import Affine, as_map, forms
from ..analysis.nests import FreshNames, unique_names, walk
from .copies import copy, load
from .slopes import SlopeBuilder


def batched_kernel(kernel: KernelOp, name: str, batched: Sequence[bool]) -> KernelOp:
    """The kernel with a first dim for the batch in some of its parameters: in all that it writes.

    Raises:
        CompileError: an array of a batch has strides, or accesses that are vectors.
    """
    parameters, given = parameters_of(kernel), kernel.given_shapes()
    symbols = kernel.index_arguments
    batch = FreshNames(kernel).of("batch")
    arguments: list[tuple[str, object]] = []
    shapes: list[NumberedShape] = []
    for k, (p, flag) in enumerate(zip(parameters, batched, strict=True)):
        type, sizes = p.argument.type, kernel.sizes_of(p.argument) if p.is_array else ()
        strides = given[p.argument][1] if p.argument in given else None
        if flag:
            if strides is not None:
                raise CompileError(f"'{p.name}' has strides, and a batch of it none: leave them out of the parameter's type")
            static = type.get_shape() if isinstance(type, MemRefType) else ()
            type = memref(p.element, [DYNAMIC, *static])
            sizes = (AffineExpr.dimension(len(symbols)), *sizes)
        arguments.append((p.name, type))
        if isinstance(type, MemRefType) and (flag or p.argument in given):
            shapes.append((k, sizes, strides))
    arguments += [(s.name_hint or "size", s.type) for s in symbols] + [(batch, index_type)]
    made = KernelOp.build_kernel(name, arguments, shapes)  # pyright: ignore[reportArgumentType]
    made.location = kernel.location
    new = list(made.body.block.args)
    loop = ForOp.build_loop(0, as_map([Affine.of(new[-1])]), kind="parallel", name=FreshNames(kernel, [batch]).of("b"))
    loop.location = kernel.location
    block = loop.body.block
    b = SlopeBuilder(block, kernel.location)
    values: dict[SSAValue, SSAValue] = dict(zip(symbols, new[len(parameters) :], strict=False))
    moved: set[SSAValue] = set()
    for p, argument, flag in zip(parameters, new, batched, strict=False):
        values[p.argument] = argument
        if flag and not p.is_array:
            values[p.argument] = load(b, argument, [Affine.of(loop.index)])
        elif flag:
            moved.add(argument)
    for op in kernel.body.block.ops:
        copy(op, values, block)
    for op in walk(block):
        if getattr(op, "buffer", None) in moved:
            _shift(op, loop.index, name)
    append(block, YieldOp.create())
    append(made.body.block, loop)
    if kernel.may_reassociate:
        made.let_reassociate()
    unique_names(made)
    return made


def _shift(op: object, index: SSAValue, name: str) -> None:
    """An access of an array is one of the element `index` of its batch."""
    if not isinstance(op, LoadOp | StoreOp) or op.lanes > 1:
        raise CompileError(f"kernel @{name} has been scheduled: batches are made from the loops as they are written")
    at = [Affine.of(index), *forms(op.map.data, op.indices)]
    map, operands = as_map(at)
    block = op.parent
    assert isinstance(block, Block) and isinstance(map, AffineMap)
    if isinstance(op, LoadOp):
        new = LoadOp.build_load(op.buffer, map, operands)
        new.value.name_hint = op.value.name_hint
    else:
        new = StoreOp.build_store(op.value, op.buffer, map, operands)
    new.location = op.location
    block.insert_op_before(new, op)
    if isinstance(op, LoadOp) and isinstance(new, LoadOp):
        op.value.replace_all_uses_with(new.value)
    op.detach()
    op.erase(safe_erase=False)

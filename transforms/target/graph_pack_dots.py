"""Compute dot products of bytes and of bf16 numbers on packed words, four or two terms at a time, where the target can.

    %a = graph.convert %x : tensor<64x256xi8> -> tensor<64x256xi32>        %0 = graph.pack_words %x_shifted dim 1
    %b = graph.convert %w : tensor<256x32xi8> -> tensor<256x32xi32>   ->   %1 = graph.pack_words %w dim 0
    %y = graph.dot %a, %b contract [1] with [0]                            %2 = graph.dot_words %0, %1 ... of u8i8

The instruction multiplies unsigned bytes by signed ones. A signed left operand is shifted by 128, which adds 128 times the sums
of the columns of the right one: these are subtracted, in integers that wrap, so that the result is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...codegen.targets import Target
from ...dialects.graph.base import ints
from ...dialects.graph.builder import GraphBuilder
from ...dialects.graph.choose import ConvertOp
from ...dialects.graph.contract import DotOp, free_dims
from ...dialects.graph.packed_dot import PARTS
from ...dialects.packed_dot import KINDS
from ...dialects.types import element_of, shape_of
from ...lowering.analysis.nests import ops_in
from ...lowering.target import target_of
from ...thresholds import number

LEAST_WORK = number("target.pack_dots.LEAST_WORK")
LEAST_SIDE = number("target.pack_dots.LEAST_SIDE")


@dataclass(frozen=True)
class Operands:
    """A product that can be computed on packed words.

    Attributes:
        kind: of the words.
        left, right: arrays of the parts, which the kind multiplies in this order.
        swapped: whether the left one was the right operand.
        shifted: whether the left parts are signed, and have to be shifted.
    """

    kind: str
    left: SSAValue
    right: SSAValue
    swapped: bool
    shifted: bool


def find_operands(op: DotOp, target: Target) -> Operands | None:
    """The arrays of bytes or bf16 numbers that a product multiplies, if packing pays and the target has the instruction."""
    x, y = (_converted(operand) for operand in op.operands)
    dims = [ints(op.lhs_contract), ints(op.rhs_contract)]
    shapes = [shape_of(op.lhs), shape_of(op.rhs)]
    if x is None or y is None or len(dims[0]) != 1 or not all(isinstance(n, int) and n > 0 for shape in shapes for n in shape):
        return None
    sides = [
        math.prod(shape[d] for d in free_dims(len(shape), ints(batch), contracted))
        for shape, batch, contracted in zip(shapes, (op.lhs_batch, op.rhs_batch), dims, strict=True)
    ]
    if min(sides) < LEAST_SIDE or math.prod(op.result_shape()) * shapes[0][dims[0][0]] < LEAST_WORK:
        return None
    for name, kind in KINDS.items():
        if not target.has_any(kind.features) or element_of(op.y) != kind.result:
            continue
        for left, right, swapped in ((x, y, False), (y, x, True)):
            shifted = name == "u8i8" and element_of(left) == kind.right
            if element_of(right) == kind.right and (shifted or element_of(left) == kind.left):
                even = shapes[0][dims[0][0]] % PARTS[kind.left] == 0
                return Operands(name, left, right, swapped, shifted) if even or name == "u8i8" else None
    return None


def _converted(value: SSAValue) -> SSAValue | None:
    """The bytes or bf16 numbers that a value was converted from."""
    owner = value.owner
    return owner.x if isinstance(owner, ConvertOp) and element_of(owner.x) in PARTS else None


def pack(op: DotOp, found: Operands) -> None:
    """Replace a product by one on packed words."""
    b = GraphBuilder(InsertPoint.before(op), op.location)
    batches, contracted = [ints(op.lhs_batch), ints(op.rhs_batch)], [ints(op.lhs_contract)[0], ints(op.rhs_contract)[0]]
    parts = PARTS[KINDS[found.kind].left]
    at = contracted[::-1] if found.swapped else contracted
    left = b.xor(found.left, b.full(-128, found.left.type)) if found.shifted else found.left
    words = [b.pack_words(_filled(b, x, d, parts), dim=d) for x, d in ((left, at[0]), (found.right, at[1]))]
    batch = batches[::-1] if found.swapped else batches
    y = b.dot_words(*words, lhs_batch=batch[0], rhs_batch=batch[1], lhs_contract=(at[0],), rhs_contract=(at[1],), of=found.kind)
    y = _in_order(b, op, y) if found.swapped else y
    if found.shifted:
        sums = b.reduce(b.convert(found.right, element_of(op.y)), kind="add", dims=(at[1],))
        sums = b.mul(sums, b.full(128, sums.type))
        places = _places(op, batch, found)
        order = sorted(range(len(places)), key=places.__getitem__)
        sums = b.transpose(sums, perm=tuple(order))
        y = b.sub(y, b.broadcast(sums, sorted(places), op.result_shape()))
    op.results[0].replace_all_uses_with(y)
    op.detach()
    op.erase()


def _filled(b: GraphBuilder, x: SSAValue, dim: int, parts: int) -> SSAValue:
    """An operand padded with zeros to whole words."""
    shape = shape_of(x)
    missing = -shape[dim] % parts
    if not missing:
        return x
    none, high = (0,) * len(shape), tuple(missing if d == dim else 0 for d in range(len(shape)))
    return b.pad(x, b.const(np.zeros((), np.int8), element_of(x)), low=none, high=high, interior=none)


def _sides(op: DotOp) -> tuple[int, int, int]:
    """The numbers of batch dims and of free dims of the left and the right operand in the result."""
    n = len(ints(op.lhs_batch))
    left = len(shape_of(op.lhs)) - n - 1
    return n, left, len(op.result_shape()) - n - left


def _in_order(b: GraphBuilder, op: DotOp, y: SSAValue) -> SSAValue:
    """The product of the operands the other way round, with the dims in the order of `op`."""
    n, left, right = _sides(op)
    return b.transpose(y, perm=(*range(n), *range(n + right, n + right + left), *range(n, n + right)))


def _places(op: DotOp, batch: Any, found: Operands) -> tuple[int, ...]:
    """The dims of the result that the sums of the right parts have, in the order of their own dims."""
    n, left, right = _sides(op)
    own = batch[1]
    shape = shape_of(found.right)
    contracted = (ints(op.lhs_contract) if found.swapped else ints(op.rhs_contract))[0]
    free = iter(range(n, n + left) if found.swapped else range(n + left, n + left + right))
    return tuple(own.index(d) if d in own else next(free) for d in range(len(shape)) if d != contracted)


@dataclass(frozen=True)
class GraphPackDotsPass(ModulePass):
    """Compute dot products of bytes and bf16 numbers on packed words."""

    name = "graph-pack-dots"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for function in ops_in(op, FuncOp):
            for inner in ops_in(function, DotOp):
                if type(inner) is DotOp and (found := find_operands(inner, target)) is not None:
                    pack(inner, found)

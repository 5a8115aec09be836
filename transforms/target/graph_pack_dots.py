"""Compute dot products of bytes and of bf16 numbers on packed words, four or two terms at a time, where the target can.

    %a = graph.convert %x : tensor<64x256xi8> -> tensor<64x256xi32>        %0 = graph.pack_words %x_shifted dim 1
    %b = graph.convert %w : tensor<256x32xi8> -> tensor<256x32xi32>   ->   %1 = graph.pack_words %w dim 0
    %y = graph.dot %a, %b contract [1] with [0]                            %2 = graph.dot_words %0, %1 ... of u8i8

The instruction multiplies unsigned bytes by signed ones. Bytes of the other kind are shifted by 128, and operands may be
differences of bytes and a zero point, so that both are `q - zero`. With `K` terms in a sum, in integers that wrap,

    sum((q - zero) * (p - zero')) = sum(q * p) - zero * sum(p) - zero' * sum(q) + K * zero * zero'
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...codegen.targets import Target
from ...dialects.graph.base import OPS, ints
from ...dialects.graph.builder import GraphBuilder
from ...dialects.graph.choose import ConvertOp
from ...dialects.graph.contract import DotOp, free_dims
from ...dialects.graph.conv import transposed
from ...dialects.graph.packed_dot import PARTS
from ...dialects.graph.shape import BroadcastOp
from ...dialects.packed_dot import KINDS
from ...dialects.types import element_of, i32, shape_of
from ...lowering.analysis.nests import ops_in
from ...lowering.target import target_of
from ...thresholds import number
from .._ahead import fold_quantized

LEAST_WORK = number("target.pack_dots.LEAST_WORK")
LEAST_SIDE = number("target.pack_dots.LEAST_SIDE")
BYTES = (KINDS["u8i8"].left, KINDS["u8i8"].right)
SIGN = 1 << 7
"""What is added to a signed byte to make it unsigned."""


@dataclass(frozen=True)
class Parts:
    """An operand in its parts.

    Attributes:
        value: bytes or bf16 numbers.
        zero: of bytes, the scalar in i32 that is subtracted from each; None for 0.
    """

    value: SSAValue
    zero: SSAValue | None = None


@dataclass(frozen=True)
class Operands:
    """A product that can be computed on packed words.

    Attributes:
        kind: of the words.
        left, right: the operands, which the kind multiplies in this order.
        swapped: whether the left one was the right operand.
    """

    kind: str
    left: Parts
    right: Parts
    swapped: bool


def find_operands(op: DotOp, target: Target) -> Operands | None:
    """The arrays of bytes or bf16 numbers that a product multiplies, if packing pays and the target has the instruction."""
    x, y = (_parts(operand) for operand in op.operands)
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
        own = (kind.left, kind.right)
        if name == "u8i8" and element_of(x.value) in own and element_of(y.value) in own:
            swapped = element_of(x.value) == kind.right and element_of(y.value) == kind.left
            return Operands(name, *((y, x) if swapped else (x, y)), swapped)
        if (element_of(x.value), element_of(y.value)) == own:
            even = shapes[0][dims[0][0]] % PARTS[kind.left] == 0
            return Operands(name, x, y, False) if even else None
    return None


def _parts(value: SSAValue) -> Parts | None:
    """The bytes or bf16 numbers that a value was converted from, and their zero point."""
    owner, zero = value.owner, None
    if isinstance(owner, OPS["sub"]) and element_of(value) == i32:
        spread = owner.operands[1].owner
        if not isinstance(spread, BroadcastOp) or math.prod(spread.shape()) != 1:
            return None
        owner, zero = owner.operands[0].owner, spread.x
    if not isinstance(owner, ConvertOp) or element_of(owner.x) not in PARTS:
        return None
    return Parts(owner.x, zero) if zero is None or element_of(owner.x) in BYTES else None


def pack(op: DotOp, found: Operands) -> None:
    """Replace a product by one on packed words."""
    b = GraphBuilder(InsertPoint.before(op), op.location)
    batches, contracted = [ints(op.lhs_batch), ints(op.rhs_batch)], [ints(op.lhs_contract)[0], ints(op.rhs_contract)[0]]
    kind = KINDS[found.kind]
    at, batch = (contracted[::-1], batches[::-1]) if found.swapped else (contracted, batches)
    operands = (found.left, found.right)
    if found.kind == "u8i8":
        operands = _shifted(b, found.left, kind.left), _shifted(b, found.right, kind.right)
    words = [b.pack_words(filled(b, x.value, d, kind.parts), dim=d) for x, d in zip(operands, at, strict=True)]
    y = b.dot_words(*words, lhs_batch=batch[0], rhs_batch=batch[1], lhs_contract=(at[0],), rhs_contract=(at[1],), of=found.kind)
    y = _in_order(b, op, y) if found.swapped else y
    for k, (x, other) in enumerate((operands, operands[::-1])):
        if other.zero is None:
            continue
        sums = b.reduce(b.convert(x.value, i32), kind="add", dims=(at[k],))
        if x.zero is not None and k == 0:  # the product of the zero points, once
            terms = b.const(np.int32(shape_of(x.value)[at[k]]), i32)
            sums = b.sub(sums, b.broadcast(b.mul(x.zero, terms), (), shape_of(sums)))
        sums = b.mul(sums, b.broadcast(other.zero, (), shape_of(sums)))
        to = _result_dims(op, batch[k], at[k], is_left=(k == 0) != found.swapped)
        sums = transposed(b, sums, sorted(range(len(to)), key=to.__getitem__))
        y = b.sub(y, b.broadcast(sums, tuple(sorted(to)), op.result_shape()))
    op.results[0].replace_all_uses_with(y)
    op.detach()
    op.erase()


def _shifted(b: GraphBuilder, x: Parts, element: Attribute) -> Parts:
    """The same numbers with bytes of a type, which differ from those of the other one in the highest bit."""
    zero = b.reshape(x.zero, ()) if x.zero is not None and shape_of(x.zero) else x.zero
    if element_of(x.value) == element:
        return Parts(x.value, zero)
    shift = b.const(np.int32(SIGN if element == KINDS["u8i8"].left else -SIGN), i32)
    flipped = b.xor(x.value, b.full(SIGN if element_of(x.value) == BYTES[0] else -SIGN, x.value.type))
    return Parts(b.bitcast(flipped, element), shift if zero is None else b.add(zero, shift))


def filled(b: GraphBuilder, x: SSAValue, dim: int, parts: int) -> SSAValue:
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


def _result_dims(op: DotOp, batch: Sequence[int], contracted: int, is_left: bool) -> tuple[int, ...]:
    """The dims of the result that the sums of an operand have, in the order of its own dims."""
    n, left, right = _sides(op)
    free = iter(range(n, n + left) if is_left else range(n + left, n + left + right))
    rank = n + 1 + (left if is_left else right)
    return tuple(batch.index(d) if d in batch else next(free) for d in range(rank) if d != contracted)


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
            for block in function.body.blocks:
                fold_quantized(block)

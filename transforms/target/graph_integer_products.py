"""Compute products and convolutions of quantized numbers in integers, where the target multiplies bytes.

A quantized number is `(q - zero) * scale`, of bytes `q`. Scales leave the sums, which become exact, and are multiplied once:

    %x = (convert(%q) - zero_x) * scale_x                %i = graph.dot (convert(%q) - zero_x), (convert(%p) - zero_w)
    %w = (convert(%p) - zero_w) * scale_w          ->    %y = convert(%i) * (scale_x * scale_w)
    %y = graph.dot %x, %w

`scale_x` is one number or one for each row, `scale_w` one for each column or filter; the zero point of filters is 0. Sums are
in i32; a product that could overflow is left alone. `graph-pack-dots` brings products of integers onto the instruction;
convolutions are brought there here, with words along their features. Their image is padded with its zero point, so that
`sum((q - zero) * p) = sum(q * p) - zero * sum(p)` holds in every window.

Scheme: Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", 2018.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...dialects.facts import Cost
from ...dialects.graph.base import OPS, GraphOp, ints
from ...dialects.graph.builder import GraphBuilder
from ...dialects.graph.choose import ConvertOp
from ...dialects.graph.contract import DotOp, free_dims
from ...dialects.graph.conv import ConvOp
from ...dialects.graph.convolution import Convolution, pick, placed
from ...dialects.graph.create import ConstOp
from ...dialects.graph.packed_dot import PARTS
from ...dialects.graph.shape import BroadcastOp
from ...dialects.packed_dot import KINDS
from ...dialects.types import element_of, f32, i32, shape_of
from ...lowering.analysis.nests import ops_in
from ...lowering.target import target_of
from .._ahead import fold_quantized
from .graph_pack_dots import LEAST_SIDE, LEAST_WORK, SIGN, filled

KIND = KINDS["u8i8"]


@dataclass(frozen=True)
class Integers:
    """Numbers `q - zero`.

    Attributes:
        q: bytes.
        zero: one number for all of them.
        bound: no number is larger.
    """

    q: SSAValue
    zero: int
    bound: int

    def wide(self, b: GraphBuilder) -> SSAValue:
        """The numbers in i32."""
        wide = b.convert(self.q, i32)
        return b.sub(wide, b.full(self.zero, wide.type)) if self.zero else wide


@dataclass(frozen=True)
class Quantized:
    """Numbers `integers * scale` in f32; the scale has the rank of the integers and is read along the dims `along`."""

    integers: Integers
    scale: SSAValue | None
    along: tuple[int, ...]


def integers_of(value: SSAValue) -> Integers | None:
    """What a value of i32 is, if it is a difference of bytes and a constant within their range."""
    owner, at = value.owner, 0
    if isinstance(owner, OPS["sub"]):
        zero = owner.operands[1].owner
        zero = zero.x.owner if isinstance(zero, BroadcastOp) else zero
        numbers = np.unique(zero.evaluate()[0]) if isinstance(zero, ConstOp) else ()
        if len(numbers) != 1:
            return None
        at, owner = int(numbers[0]), owner.operands[0].owner
    if not isinstance(owner, ConvertOp) or element_of(owner.x) not in (KIND.left, KIND.right):
        return None
    low, high = (0, 255) if element_of(owner.x) == KIND.left else (-SIGN, SIGN - 1)
    if not low <= at <= high:
        return None
    bound = max(high - at, at - low)
    if isinstance(owner.x.owner, ConstOp):
        numbers = owner.x.owner.evaluate()[0].astype(np.int32) - at
        bound = int(np.abs(numbers).max(initial=0))
    return Integers(owner.x, at, bound)


def _is_spread(value: SSAValue) -> bool:
    """Whether a value is a broadcast or a constant."""
    owner = value.owner
    return isinstance(owner, GraphOp) and owner.facts.pointwise and owner.facts.cost is Cost.INDEX


def quantized(value: SSAValue) -> Quantized | None:
    """The integers and the scale of a value of f32."""
    owner, scale, along = value.owner, None, ()
    if isinstance(owner, OPS["mul"]):
        scales = [k for k in (0, 1) if _is_spread(owner.operands[k])]
        if not scales:
            return None
        scale, value = owner.operands[scales[-1]], owner.operands[1 - scales[-1]]
        owner = value.owner
        if isinstance(scale.owner, BroadcastOp):
            spread = scale.owner
            sizes = spread.shape()
            along = tuple(d for d, n in zip(ints(spread.dims), sizes, strict=True) if n != 1)
            scale = spread.x
        else:
            along = tuple(d for d, n in enumerate(shape_of(scale)) if n != 1)
    if not isinstance(owner, ConvertOp) or element_of(value) != f32:
        return None
    found = integers_of(value) if element_of(owner.x) in PARTS else integers_of(owner.x)
    return None if found is None or element_of(found.q) not in (KIND.left, KIND.right) else Quantized(found, scale, along)


# --------------------------------------------------------------------------------------------------------------------
# Scales


def _spread(b: GraphBuilder, of: Quantized, dims: Sequence[int], shape: Sequence[int]) -> SSAValue | None:
    """The scale in the shape of a result, whose dim `dims[k]` is the k-th dim along which the scale varies."""
    if of.scale is None:
        return None
    sizes = [n for n in shape_of(of.scale) if n != 1]
    flat = of.scale if sizes == list(shape_of(of.scale)) else b.reshape(of.scale, tuple(sizes))
    order = sorted(range(len(dims)), key=dims.__getitem__)
    flat = flat if order == list(range(len(dims))) else b.transpose(flat, perm=tuple(order))
    return b.broadcast(flat, tuple(sorted(dims)), shape)


def _scaled(b: GraphBuilder, sums: SSAValue, scales: Sequence[SSAValue | None]) -> SSAValue:
    """The sums in f32, times the product of the scales."""
    y, present = b.convert(sums, f32), [s for s in scales if s is not None]
    if not present:
        return y
    return b.mul(y, present[0] if len(present) == 1 else b.mul(*present))


def _replace(op: GraphOp, y: SSAValue) -> None:
    y.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(y)
    op.detach()
    op.erase()


def _overflows(x: Integers, w: Integers, terms: int) -> bool:
    return x.bound * w.bound * terms >= 1 << 31


# --------------------------------------------------------------------------------------------------------------------
# Products


def rewrite_dot(op: DotOp) -> None:
    """Compute a product of quantized numbers in integers."""
    x, w = quantized(op.lhs), quantized(op.rhs)
    contracted = (ints(op.lhs_contract), ints(op.rhs_contract))
    if element_of(op.y) != f32 or x is None or w is None or len(contracted[0]) != 1 or not _is_worthwhile(op):
        return
    terms = op.shape(0)[contracted[0][0]]
    if _overflows(x.integers, w.integers, terms) or any(set(s.along) & set(c) for s, c in zip((x, w), contracted, strict=True)):
        return
    b = GraphBuilder(InsertPoint.before(op), op.location)
    sums = b.insert(DotOp.make((x.integers.wide(b), w.integers.wide(b)), op.properties))
    places = [_result_dims(op, k) for k in (0, 1)]
    scales = [_spread(b, s, [place[d] for d in s.along], op.result_shape()) for s, place in zip((x, w), places, strict=True)]
    _replace(op, _scaled(b, sums, scales))


def _is_worthwhile(op: DotOp) -> bool:
    """As `graph-pack-dots` asks it, of a product that is in f32 yet."""
    shapes = (op.shape(0), op.shape(1))
    if not all(isinstance(n, int) and n > 0 for shape in shapes for n in shape):
        return False
    dims = ((op.lhs_batch, op.lhs_contract), (op.rhs_batch, op.rhs_contract))
    sides = [
        math.prod(shape[d] for d in free_dims(len(shape), ints(batch), ints(contract)))
        for shape, (batch, contract) in zip(shapes, dims, strict=True)
    ]
    return min(sides) >= LEAST_SIDE and math.prod(op.result_shape()) * shapes[0][ints(op.lhs_contract)[0]] >= LEAST_WORK


def _result_dims(op: DotOp, k: int) -> dict[int, int]:
    """Which dim of the result each batch and free dim of an operand is."""
    batch = (ints(op.lhs_batch), ints(op.rhs_batch))
    contract = (ints(op.lhs_contract), ints(op.rhs_contract))
    free = [free_dims(len(op.shape(i)), batch[i], contract[i]) for i in (0, 1)]
    first = len(batch[0]) + (len(free[0]) if k else 0)
    return {**{d: i for i, d in enumerate(batch[k])}, **{d: first + i for i, d in enumerate(free[k])}}


# --------------------------------------------------------------------------------------------------------------------
# Convolutions


def rewrite_conv(op: ConvOp) -> None:
    """Compute a convolution of quantized numbers, or of integers, on words."""
    c = Convolution.of(op.properties)
    if element_of(op.y) == f32:
        x, w = quantized(op.x), quantized(op.w)
    elif element_of(op.y) == i32:
        of = [integers_of(operand) for operand in op.operands]
        x, w = (None if found is None else Quantized(found, None, ()) for found in of)
    else:
        return
    if x is None or w is None or w.integers.zero or element_of(w.integers.q) != KIND.right:
        return
    if set(x.along) - {c.x_dims[0]} or set(w.along) - {c.w_dims[0]} or set(c.base_dilation) != {1} or set(c.tile) - {1}:
        return
    if not _conv_is_worthwhile(op, c):
        return
    if element_of(op.y) == f32 and _overflows(x.integers, w.integers, math.prod(op.shape(1)) // op.shape(1)[c.w_dims[0]]):
        return
    b = GraphBuilder(InsertPoint.before(op), op.location)
    sums = _on_words(b, op, c, x.integers, w.integers)
    if element_of(op.y) == i32:
        _replace(op, sums)
        return
    shape = op.result_shape()
    scales = [_spread(b, s, [c.y_dims[role]] * len(s.along), shape) for s, role in ((x, 0), (w, 1))]
    _replace(op, _scaled(b, sums, scales))


def _conv_is_worthwhile(op: ConvOp, c: Convolution) -> bool:
    filters, depth, *window = pick(op.shape(1), c.w_dims)
    points = pick(op.result_shape(), c.y_dims[2:])
    sizes = (filters, depth, *window, *points, *pick(op.shape(0), c.x_dims[1:]))
    if not all(isinstance(n, int) and n > 0 for n in sizes) or min(c.low) < 0 or min(c.high) < 0:
        return False
    deep = depth % KIND.parts == 0 or c.groups == 1
    work = math.prod(points) * depth * math.prod(window) * filters
    return deep and filters // c.groups >= LEAST_SIDE and math.prod(points) >= LEAST_SIDE and work >= LEAST_WORK


def _on_words(b: GraphBuilder, op: ConvOp, c: Convolution, x: Integers, w: Integers) -> SSAValue:
    """The sums in i32: of the image with its zero point around it, less the zero point times the sums of filters."""
    image, zero = x.q, x.zero
    if any((*c.low, *c.high)) and (zero or element_of(image) != KIND.left):
        low, high = (tuple(placed([0, 0, *around], c.x_dims)) for around in (c.low, c.high))
        edge = b.const(np.int32(zero), element_of(image))
        image = b.pad(image, edge, low=low, high=high, interior=(0,) * len(low))
        c = replace(c, low=(0,) * len(c.low), high=(0,) * len(c.high))
    if element_of(image) != KIND.left:
        image, zero = b.xor(image, b.full(-SIGN, image.type)), zero + SIGN
    operands = ((image, c.x_dims[1]), (w.q, c.w_dims[1]))
    words = [b.pack_words(filled(b, value, dim, KIND.parts), dim=dim) for value, dim in operands]
    y = b.conv_words(*words, **c.properties(), of="u8i8")
    if not zero:
        return y
    sums = b.reduce(b.convert(w.q, i32), kind="add", dims=tuple(sorted(c.w_dims[1:])))
    sums = b.mul(sums, b.full(zero, sums.type))
    return b.sub(y, b.broadcast(sums, (c.y_dims[1],), shape_of(y)))


@dataclass(frozen=True)
class GraphIntegerProductsPass(ModulePass):
    """Compute products and convolutions of quantized numbers in integers."""

    name = "graph-integer-products"
    numerics = "finite"  # a sum of 0 times an infinite scale is NaN

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        has_words = target_of(op).has_any(KIND.features)
        for function in ops_in(op, FuncOp):
            if has_words:
                for dot in ops_in(function, DotOp):
                    rewrite_dot(dot)
                for conv in ops_in(function, ConvOp):
                    rewrite_conv(conv)
            else:  # with words, products of integers are still to be packed
                for block in function.body.blocks:
                    fold_quantized(block)

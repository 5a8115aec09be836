"""Attention: every query's average of the values, weighted by how well their keys fit it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import FloatAttr, StringAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.irdl import prop_def, result_def, var_operand_def

from ... import thresholds
from ...errors import DTypeError, ShapeError
from ..sizes.polynomial import greatest, least
from ..text_defaults import TextDefault, constant
from ..types import compatible, element_of, i64, is_bool, is_float, shape_of, show_shape, tensor, unify
from .base import CompositeOp, GraphOp, Props, Types, graph_op, number, word
from .batching import batch_size, repeated
from .reduce import restore
from .window_loops import over

if TYPE_CHECKING:
    from .builder import GraphBuilder
    from .nest_writer import NestWriter

CAUSAL_BLOCK = thresholds.number("graph.attention.CAUSAL_BLOCK")


def _batch_attention(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    """Adds a leading batch dim, whose size may be 1 for the bias."""
    size = batch_size(operands, batched)
    pairs = enumerate(zip(operands, batched, strict=True))
    wide = [o if is_batched else repeated(b, o, 1 if k == 3 else size) for k, (o, is_batched) in pairs]
    return [b.attention(*wide, **op.properties)]


def _one_over_root(operands: Sequence[TensorType]) -> FloatAttr | None:
    dim = operands[0].get_shape()[-1:]
    return FloatAttr(1 / math.sqrt(dim[0]), 64) if dim and dim[0] > 0 else None


_OF_DIM = TextDefault("1 / sqrt(dim of q)", _one_over_root)


@graph_op
class AttentionOp(CompositeOp):
    """Scaled dot-product attention: `softmax(scale * q @ k.T + bias) @ v` of every head.

    Shapes are `[..., heads, queries, dim]` of q, `[..., heads, keys, dim]` of k and `[..., heads, keys, dim_v]` of v. Where q
    has more heads than k and v, groups of neighbouring heads share one of them (grouped queries). The optional fourth operand
    is added to the scores, or, of i1, says which keys a query sees. `mask causal` lets query i see the keys 0 .. i. A query
    that sees no key, or has only scores of -inf, gives 0. What is not finite in a value that a query does not see may still
    reach its result (0 * inf is NaN).

    Vaswani et al., Attention is all you need, 2017. The loop form holds the scores of one query at a time; a schedule works on
    blocks of queries, whose scores stay in the second-level cache.

    ```mlir
    %y = graph.attention %q, %k, %v mask causal scale 0.5 : f64
      : (tensor<2x5x4xf32>, tensor<2x7x4xf32>, tensor<2x7x3xf32>) -> tensor<2x5x3xf32>
    ```

    (C1) There are three or four operands; q, k and v have one element type, f32 or f64, and the bias that one or i1.
    (C2) All operands have one rank, at least 3.
    (C3) Batch sizes agree.
    (C4) k and v have equally many heads, of which the heads of q are a multiple.
    (C5) q and k have one dim, k and v equally many keys.
    (C6) A dim of the bias is 1 or that of the scores, `[..., heads, queries, keys]`.
    (C7) The mask is none or causal.
    """

    name = "graph.attention"
    inputs = var_operand_def(TensorType)
    mask = prop_def(StringAttr)
    scale = prop_def(FloatAttr)
    y = result_def(TensorType)
    syntax = "*inputs (mask <mask>)? (scale !scale)?"
    text_defaults = {"mask": constant("none"), "scale": _OF_DIM}
    batching = _batch_attention

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        if len(operands) not in (3, 4):  # C1
            raise ShapeError(f"takes q, k, v and perhaps a bias, got {len(operands)} operands")
        elements = [o.element_type for o in operands]
        if not is_float(elements[0]) or any(e != elements[0] for e in elements[1:3]):  # C1
            raise DTypeError(f"q, k and v must all be f32 or all f64, got {', '.join(map(str, elements[:3]))}")
        if len(operands) == 4 and elements[3] != elements[0] and not is_bool(elements[3]):  # C1
            raise DTypeError(f"the bias must be {elements[0]} or i1, got {elements[3]}")
        q, k, v = (o.get_shape() for o in operands[:3])
        if len(q) < 3 or any(len(o.get_shape()) != len(q) for o in operands):  # C2
            shapes = ", ".join(show_shape(o.get_shape()) for o in operands)
            raise ShapeError(f"operands must have one rank, 3 or more, got {shapes}")
        if not all(compatible(a, b) and compatible(a, c) for a, b, c in zip(q[:-3], k[:-3], v[:-3], strict=True)):  # C3
            raise ShapeError(f"batch sizes must agree, got {show_shape(q)}, {show_shape(k)} and {show_shape(v)}")
        heads, groups = q[-3], k[-3]
        if not compatible(groups, v[-3]) or (heads >= 0 and groups >= 0 and (groups == 0 or heads % groups)):  # C4
            raise ShapeError(f"q must have a multiple of the heads of k and v, got {q[-3]} of {k[-3]} and {v[-3]}")
        if not compatible(q[-1], k[-1]) or not compatible(k[-2], v[-2]):  # C5
            raise ShapeError(
                "q and k must have one dim, k and v one number of keys, "
                f"got {show_shape(q)}, {show_shape(k)} and {show_shape(v)}"
            )
        batch = tuple(unify(a, unify(b, c)) for a, b, c in zip(q[:-3], k[:-3], v[:-3], strict=True))
        if len(operands) == 4:
            bias, scores = operands[3].get_shape(), (*batch, heads, q[-2], unify(k[-2], v[-2]))
            if any(a != 1 and not compatible(a, b) for a, b in zip(bias, scores, strict=True)):  # C6
                raise ShapeError(f"the bias must fit the scores {show_shape(scores)}, got {show_shape(bias)}")
        if word(props["mask"]) not in ("none", "causal"):  # C7
            raise DTypeError(f"mask must be none or causal, got {word(props['mask'])}")
        return (tensor(elements[0], (*batch, heads, q[-2], v[-1])),)

    @property
    def is_causal(self) -> bool:
        return word(self.mask) == "causal"

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        q, k, v = operands[:3]
        (*batch, heads, queries, _), (*_, groups, keys, dim_v) = shape_of(q), shape_of(v)
        scores_shape = (*batch, heads, queries, keys)
        shared = tuple(range(len(batch) + 1))  # batch dims and the heads of k and v
        rank = len(shared) + 3

        def grouped(x: SSAValue) -> SSAValue:
            return b.reshape(x, (*batch, groups, heads // groups, *shape_of(x)[-2:]))

        scaled = b.mul(q, b.full_like(q, number(props["scale"])))
        alike = {"lhs_batch": shared, "rhs_batch": shared, "lhs_contract": (rank - 1,)}
        scores = b.reshape(b.dot(grouped(scaled), k, rhs_contract=(rank - 2,), **alike), scores_shape)
        scores = _masked(b, scores, operands[3:], word(props["mask"]) == "causal")
        last = (len(scores_shape) - 1,)
        largest = b.stop_gradient(b.reduce(scores, kind="max", dims=last))  # the subtracted maximum cancels
        infinite = b.cmp(b.abs(largest), b.full_like(largest, math.inf), predicate="eq")
        largest = b.select(infinite, b.zeros_like(largest), largest)  # inf - inf would be NaN
        weights = b.exp(b.sub(scores, restore(b, largest, last, scores_shape)))
        total = b.reduce(weights, kind="add", dims=last)
        is_empty = b.cmp(total, b.zeros_like(total), predicate="eq")
        total = b.select(is_empty, b.full_like(total, 1), total)
        weights = b.div(weights, restore(b, total, last, scores_shape))
        y = b.dot(grouped(weights), v, rhs_contract=(rank - 3,), **alike)
        return b.reshape(y, (*batch, heads, queries, dim_v))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        q, k, v = operands[:3]
        repeat = q.shape[-3] // k.shape[-3]
        k, v = np.repeat(k, repeat, axis=-3), np.repeat(v, repeat, axis=-3)
        with np.errstate(all="ignore"):
            scores = (q * q.dtype.type(self.scale.value.data)) @ np.swapaxes(k, -1, -2)
            if len(operands) == 4 and operands[3].dtype == bool:
                scores = np.where(operands[3], scores, -np.inf)
            elif len(operands) == 4:
                scores = scores + operands[3]
            if self.is_causal:
                scores = np.where(np.tri(q.shape[-2], k.shape[-2], dtype=bool), scores, -np.inf)
            largest = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
            weights = np.exp(scores - np.where(np.isinf(largest), 0, largest))
            total = np.sum(weights, axis=-1, keepdims=True)
            y = (weights / np.where(total == 0, 1, total)) @ v
            return (np.asarray(y, dtype=q.dtype),)

    def nest(self, b: NestWriter) -> None:
        """A query at a time: its scores, in a local buffer, become weights in place."""
        *batch, heads, queries, dim = self.shape(0)
        *_, groups, keys, dim_v = self.shape(2)
        each, element = 0 if groups == 0 else heads // groups, element_of(self.results[0])
        scale, zero, one = (b.scalar.const(x, element) for x in (self.scale.value.data, 0.0, 1.0))
        lowest, infinity = (b.scalar.const(x, element) for x in (-math.inf, math.inf))
        with over(b, (*batch, groups, each, queries)) as (*shared, of_group, i):
            head = [*shared[:-1], shared[-1] * each + of_group]
            seen = _keys_of_block(i, queries, keys) if self.is_causal else keys
            query = b.local((greatest(1, dim),), element, "scratch", name="query")
            weights = b.local((greatest(1, keys),), element, "scratch", name="weights")
            with b.loop(dim) as d:
                b.store(b.scalar.mul(b.read(0, [*head, i, d.index]), scale), query, [d.index])
            with b.loop(seen) as j:
                with b.loop(dim, "reduce", monoid="add", inits=[zero]) as d:
                    d.give(b.scalar.mul(b.load(query, [d.index]), b.read(1, [*shared, j.index, d.index])))
                b.store(self._score(b, d.results[0], [*head, i, j.index]), weights, [j.index])
            with b.loop(seen, "reduce", monoid="max", inits=[lowest]) as j:
                j.give(b.load(weights, [j.index]))
            (top,) = j.results
            shift = b.scalar.select(b.scalar.cmp("eq", b.scalar.abs(top), infinity), zero, top)  # inf - inf would be NaN
            with b.loop(seen, "reduce", monoid="add", inits=[zero]) as j:
                weight = b.scalar.unary("exp", b.scalar.sub(b.load(weights, [j.index]), shift))
                b.store(weight, weights, [j.index])
                j.give(weight)
            total = b.scalar.select(b.scalar.cmp("eq", j.results[0], zero), one, j.results[0])  # 0 where no key is seen
            with b.loop(dim_v) as e:
                with b.loop(seen, "reduce", monoid="add", inits=[zero]) as j:
                    j.give(b.scalar.mul(b.load(weights, [j.index]), b.read(2, [*shared, j.index, e.index])))
                b.write(b.scalar.div(j.results[0], total), [*head, i, e.index])

    def _score(self, b: NestWriter, score: SSAValue, point: Sequence[AffineExpr]) -> SSAValue:
        """The score at a point with its bias; -inf where the query does not see the key."""
        lowest = b.scalar.const(-math.inf, score.type)
        if len(self.operands) == 4:
            bias = b.read(3, [0 if n == 1 else at for n, at in zip(self.shape(3), point, strict=True)])
            score = b.scalar.select(bias, score, lowest) if is_bool(bias.type) else b.scalar.add(score, bias)
        if self.is_causal:
            *_, i, j = point
            score = b.scalar.select(b.scalar.cmp("le", b.position(j), b.position(i)), score, lowest)
        return score


def _keys_of_block(query: AffineExpr, queries: int, keys: int) -> list[AffineExpr | int]:
    """The number of keys that the block's last query sees, as the bounds of the loop that all queries of the block share."""
    return [least(keys, queries), query - query % CAUSAL_BLOCK + CAUSAL_BLOCK]


def _masked(b: GraphBuilder, scores: SSAValue, bias: Sequence[SSAValue], causal: bool) -> SSAValue:
    """The scores with the bias added, -inf where a query does not see a key."""
    shape = shape_of(scores)
    if bias:
        full = b.broadcast(b.reshape(bias[0], [n for n in shape_of(bias[0]) if n != 1]), *_spread(shape_of(bias[0]), shape))
        if is_bool(element_of(full)):
            scores = b.select(full, scores, b.full_like(scores, -math.inf))
        else:
            scores = b.add(scores, full)
    if not causal:
        return scores
    index = tensor(i64, shape)
    query, key = (b.iota(dim=len(shape) - k, result=index) for k in (2, 1))
    return b.select(b.cmp(key, query, predicate="le"), scores, b.full_like(scores, -math.inf))


def _spread(small: Sequence[int], shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The arguments of `broadcast` that expand dims of size 1 to a shape."""
    return tuple(d for d, n in enumerate(small) if n != 1), tuple(shape)

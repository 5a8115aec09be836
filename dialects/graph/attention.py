"""Attention: every query's average of the values, weighted by how well their keys fit it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, StringAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr
from xdsl.irdl import prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from ...errors import DTypeError, ShapeError
from ..types import compatible, is_bool, is_float, show_shape, tensor, unify
from .base import CompositeOp, GraphOp, Props, graph_op, to_attribute, word
from .reduce import restore

QUERIES = 64
"""Queries a block: vectors run over them, and the block's scores stay in the first-level cache."""
KEYS = 64
"""Keys a block."""
FEW_QUERIES = 8
"""Fewer queries do not fill vectors: these run over keys and dims."""

Point = list[AffineExpr]


def _shape(value: SSAValue) -> tuple[int, ...]:
    return value.type.get_shape()  # pyright: ignore[reportAttributeAccessIssue]


def _batch_attention(b: Any, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    """One more batch dim in front; the bias may have 1 there."""
    size = next(_shape(o)[0] for o, is_batched in zip(operands, batched, strict=True) if is_batched)
    wide = []
    for k, (operand, is_batched) in enumerate(zip(operands, batched, strict=True)):
        shape = _shape(operand)
        if not is_batched:
            operand = b.broadcast(operand, range(1, len(shape) + 1), (1 if k == 3 else size, *shape))
        wide.append(operand)
    return [b.attention(*wide, **op.properties)]


@graph_op
class AttentionOp(CompositeOp):
    """Scaled dot-product attention: `softmax(scale * q @ k.T + bias) @ v` of every head.

    Shapes are `[..., heads, queries, dim]` of q, `[..., heads, keys, dim]` of k and `[..., heads, keys, dim_v]` of v. Where q
    has more heads than k and v, groups of neighbouring heads share one of them (grouped queries). The optional fourth operand
    is added to the scores, or, of i1, says which keys a query sees. `mask causal` lets query i see the keys 0 .. i. A query
    that sees no key, or has only scores of -inf, gives 0. What is not finite in a value that a query does not see may still
    reach its result (0 * inf is NaN).

    Vaswani et al., Attention is all you need, 2017. The loop form works on blocks of queries and keys with a running maximum
    and sum, so that no matrix of scores is stored (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018;
    Rabe and Staats, Self-attention does not need O(n^2) memory, 2021; Dao et al., FlashAttention, 2022).

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
    traits = traits_def(Pure())
    syntax = "*inputs mask <mask> scale !scale"
    batching = _batch_attention

    @classmethod
    def infer_types(
        cls, operands: Sequence[TensorType], props: Props, results: Sequence[TensorType] | None = None
    ) -> tuple[TensorType, ...]:
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
    def decompose(cls, b: Any, props: Props, *operands: SSAValue) -> SSAValue:
        q, k, v = operands[:3]
        (*batch, heads, queries, _), (*_, groups, keys, dim_v) = _shape(q), _shape(v)
        scores_shape = (*batch, heads, queries, keys)
        shared = tuple(range(len(batch) + 1))  # batch dims and the heads of k and v
        rank = len(shared) + 3

        def grouped(x: SSAValue) -> SSAValue:
            return b.reshape(x, (*batch, groups, heads // groups, *_shape(x)[-2:]))

        scaled = b.mul(q, b.full_like(q, props["scale"].value.data))  # pyright: ignore[reportAttributeAccessIssue]
        alike = {"lhs_batch": shared, "rhs_batch": shared, "lhs_contract": (rank - 1,)}
        scores = b.reshape(b.dot(grouped(scaled), k, rhs_contract=(rank - 2,), **alike), scores_shape)
        scores = _masked(b, scores, operands[3:], word(props["mask"]) == "causal")
        last = (len(scores_shape) - 1,)
        largest = b.stop_gradient(b.reduce(scores, kind="max", dims=last))  # what is subtracted cancels
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

    def nest(self, b: Any) -> None:
        if math.prod(self.result_shape()):
            _Blocks(self, b).write()


def _masked(b: Any, scores: SSAValue, bias: Sequence[SSAValue], causal: bool) -> SSAValue:
    """The scores with the bias added, -inf where a query does not see a key."""
    shape = _shape(scores)
    if bias:
        full = b.broadcast(b.reshape(bias[0], [n for n in _shape(bias[0]) if n != 1]), *_spread(_shape(bias[0]), shape))
        if is_bool(full.type.element_type):
            scores = b.select(full, scores, b.full_like(scores, -math.inf))
        else:
            scores = b.add(scores, full)
    if not causal:
        return scores
    index = tensor(to_attribute(0).type, shape)  # pyright: ignore[reportAttributeAccessIssue]
    query, key = (b.iota(dim=len(shape) - k, result=index) for k in (2, 1))
    return b.select(b.cmp(key, query, predicate="le"), scores, b.full_like(scores, -math.inf))


def _spread(small: Sequence[int], shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What `broadcast` takes to repeat dims of size 1, which are left out, to a shape."""
    return tuple(d for d, n in enumerate(small) if n != 1), tuple(shape)


class _Blocks:
    """The loop form: for a block of queries, the blocks of keys one after the other.

    Of a block of queries there are, in local buffers: `q`, scaled, and `scores` of the current block of keys, both with the
    queries side by side; `top`, the largest score so far; `total`, the sum of weights relative to it; `sums`, the weighted sums
    of the values. When a block of keys raises `top`, what has been summed is scaled down by `fade`.
    """

    def __init__(self, op: AttentionOp, b: Any):
        self.op, self.b = op, b
        *self.batch, self.heads, self.n_queries, self.dim = op.shape(0)
        *_, self.groups, self.n_keys, self.dim_v = op.shape(2)
        self.element = op.results[0].type.element_type  # pyright: ignore[reportAttributeAccessIssue]
        self.queries, self.keys = min(QUERIES, self.n_queries), max(1, min(KEYS, self.n_keys))
        self.full = self.n_keys - self.n_keys % self.keys
        """Keys that fill blocks."""

    def write(self) -> None:
        self._over((*self.batch, self.groups, self.heads // self.groups), [])

    def _over(self, sizes: Sequence[int], at: Point) -> None:
        """One parallel loop a dim of batch and heads that has more than one index."""
        if not sizes:
            self._block_of_queries(at)
        elif sizes[0] == 1:
            self._over(sizes[1:], [*at, AffineConstantExpr(0)])
        else:
            with self.b.loop(sizes[0]) as loop:
                self._over(sizes[1:], [*at, loop.index])

    def _block_of_queries(self, at: Point) -> None:
        b, element = self.b, self.element
        self.shared = at[:-1]
        self.head = [*at[:-2], at[-2] * (self.heads // self.groups) + at[-1]]
        with b.loop(self.n_queries, step=self.queries) as block:
            self.first = block.index
            """The block's first query; `here` is how many there are, fewer in the last block."""
            left = self.first * -1 + self.n_queries
            self.here = self.queries if self.n_queries % self.queries == 0 else (self.queries, left)
            self.q = b.local(self._order(max(1, self.dim), self.queries), element, "scratch", name="q_block")
            self.scores = b.local(self._order(self.keys, self.queries), element, "scratch", name="scores")
            self.sums = b.local((self.queries, self.dim_v), element, "scratch", name="sums")
            self.top, self.total, self.fade = (b.local((self.queries,), element, name=n) for n in ("top", "total", "fade"))
            self._start(left)
            seen = (self.full, self.first + self.queries) if self.op.is_causal else self.full
            with b.loop(seen, "seq", step=self.keys) as keys:
                self._block_of_keys(keys.index, self.keys)
            if self.n_keys > self.full:
                with b.when(self._sees(self.full)) if self.op.is_causal else nullcontext():
                    self._block_of_keys(AffineConstantExpr(self.full), self.n_keys - self.full)
            self._finish()

    def _order(self, other: Any, query: Any) -> list[Any]:
        """The dims of what is held for each query of a block, queries side by side when there are enough of them."""
        return [other, query] if self.queries >= FEW_QUERIES else [query, other]

    def _load(self, buffer: SSAValue, other: Any, query: Any) -> SSAValue:
        return self.b.load(buffer, self._order(other.index, query.index))

    def _store(self, value: SSAValue, buffer: SSAValue, other: Any, query: Any) -> None:
        self.b.store(value, buffer, self._order(other.index, query.index))

    def _start(self, left: AffineExpr) -> None:
        b = self.b
        scale = b.scalar.const(self.op.scale.value.data, self.element)
        zero, lowest = b.scalar.const(0.0, self.element), b.scalar.const(-math.inf, self.element)
        with b.loop(self.here) as i, b.loop(self.dim) as d:
            scaled = b.scalar.mul(b.read(0, [*self.head, self.first + i.index, d.index]), scale)
            self._store(scaled, self.q, d, i)
        if self.here != self.queries:  # the queries that the last block lacks are zeros
            with b.loop(self.dim) as d, b.loop(self.queries, lower=left) as i:
                self._store(zero, self.q, d, i)
        with b.loop(self.queries) as i:
            b.store(lowest, self.top, [i.index])
            b.store(zero, self.total, [i.index])
            with b.loop(self.dim_v) as e:
                b.store(zero, self.sums, [i.index, e.index])

    def _sees(self, key: int) -> SSAValue:
        """Whether the block's last query sees a key."""
        b = self.b
        return b.scalar.cmp("lt", b.position(key), b.position(self.first + self.queries))

    def _block_of_keys(self, start: AffineExpr, count: int) -> None:
        """Add `count` keys to what has been summed."""
        self._score(start, count)
        self._mask(start, count)
        self._weigh(count)
        self._sum(start, count)

    def _score(self, start: AffineExpr, count: int) -> None:
        b = self.b
        with b.loop(count) as j, b.loop(self.queries) as i:
            zero = b.scalar.const(0.0, self.element)
            with b.loop(self.dim, "reduce", monoid="add", inits=[zero]) as d:
                key = b.read(1, [*self.shared, start + j.index, d.index])
                d.give(b.scalar.mul(key, self._load(self.q, d, i)))
            self._store(d.results[0], self.scores, j, i)

    def _mask(self, start: AffineExpr, count: int) -> None:
        """Add the bias; what is not seen gets a score of -inf."""
        b = self.b
        lowest = b.scalar.const(-math.inf, self.element)
        if len(self.op.operands) == 4:
            shape = self.op.shape(3)
            with b.loop(count) as j, b.loop(self.here) as i:
                point = [*self.head, self.first + i.index, start + j.index]
                bias = b.read(3, [0 if n == 1 else e for n, e in zip(shape, point, strict=True)])
                score = self._load(self.scores, j, i)
                score = b.scalar.select(bias, score, lowest) if is_bool(bias.type) else b.scalar.add(score, bias)
                self._store(score, self.scores, j, i)
        if not self.op.is_causal:
            return
        with b.when(b.scalar.cmp("gt", b.position(start + count), b.position(self.first + 1))):
            with b.loop(count) as j, b.loop((self.queries, start + j.index + self.first * -1)) as i:
                self._store(lowest, self.scores, j, i)

    def _weigh(self, count: int) -> None:
        """Scores become weights relative to the largest score so far."""
        b = self.b
        zero, lowest = b.scalar.const(0.0, self.element), b.scalar.const(-math.inf, self.element)
        with b.loop(self.queries) as i:
            with b.loop(count, "reduce", monoid="max", inits=[lowest]) as j:
                j.give(self._load(self.scores, j, i))
            before = b.load(self.top, [i.index])
            top = b.scalar.max(before, j.results[0])
            infinite = b.scalar.cmp("eq", b.scalar.abs(top), b.scalar.const(math.inf, self.element))
            shift = b.scalar.select(infinite, zero, top)  # inf - inf would be NaN
            fade = b.scalar.unary("exp", b.scalar.sub(before, shift))
            with b.loop(count, "reduce", monoid="add", inits=[zero]) as j:
                weight = b.scalar.unary("exp", b.scalar.sub(self._load(self.scores, j, i), shift))
                self._store(weight, self.scores, j, i)
                j.give(weight)
            total = b.scalar.mul(b.load(self.total, [i.index]), fade)
            b.store(top, self.top, [i.index])
            b.store(fade, self.fade, [i.index])
            b.store(b.scalar.add(total, j.results[0]), self.total, [i.index])

    def _sum(self, start: AffineExpr, count: int) -> None:
        b = self.b
        with b.loop(self.queries) as i, b.loop(self.dim_v) as e:
            zero = b.scalar.const(0.0, self.element)
            with b.loop(count, "reduce", monoid="add", inits=[zero]) as j:
                value = b.read(2, [*self.shared, start + j.index, e.index])
                j.give(b.scalar.mul(self._load(self.scores, j, i), value))
            faded = b.scalar.mul(b.load(self.sums, [i.index, e.index]), b.load(self.fade, [i.index]))
            b.store(b.scalar.add(faded, j.results[0]), self.sums, [i.index, e.index])

    def _finish(self) -> None:
        """Divide by the sums of the weights; 0 where no key was seen."""
        b = self.b
        zero, one = b.scalar.const(0.0, self.element), b.scalar.const(1.0, self.element)
        with b.loop(self.queries) as i:
            total = b.load(self.total, [i.index])
            total = b.scalar.select(b.scalar.cmp("eq", total, zero), one, total)
            b.store(b.scalar.div(one, total), self.total, [i.index])
        with b.loop(self.here) as i, b.loop(self.dim_v) as e:
            y = b.scalar.mul(b.load(self.sums, [i.index, e.index]), b.load(self.total, [i.index]))
            b.write(y, [*self.head, self.first + i.index, e.index])

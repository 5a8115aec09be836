"""Ops that move elements: reshape, transpose, broadcast, slice, concat, pad, reverse. All of them are linear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.irdl import BaseAttr, operand_def, prop_def, result_def, var_operand_def

from ...errors import DTypeError, ShapeError
from ...thresholds import number
from ..facts import Cost, OpFacts, Rounding
from ..sizes.attribute import SizesAttr
from ..sizes.polynomial import ceil_quotient, least, positive
from ..text_defaults import each_dim
from ..types import COMPLEX, DYNAMIC, STORED, compatible, element_of, numpy_dtype, shape_of, show_shape, tensor, unify
from .base import Equation, GraphOp, Linear, Props, Read, Types, dims_map, graph_op, integer, ints, normalize_dims
from .batching import along, later
from .quiet import Quiet

if TYPE_CHECKING:
    from ..scalar import ScalarBuilder
    from .builder import GraphBuilder

INTS = DenseArrayBase.constr(i64)
SIZES = INTS | BaseAttr(SizesAttr)
MOVED = OpFacts(rounding=Rounding.NONE, stores=(*STORED, *COMPLEX), on_parts="each")
"""The facts of ops that only move elements, of any type."""
_INDEXED = MOVED.but(cost=Cost.INDEX)
"""The facts of ops that are an index map, so that readers of the result may read the operand instead."""


def copied(b: ScalarBuilder, x: SSAValue) -> SSAValue:
    return x


# --------------------------------------------------------------------------------------------------------------------
# reshape


def _batch_reshape(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    return [b.reshape(operands[0], (shape_of(operands[0])[0], *op.result_shape()))]


@graph_op
class ReshapeOp(GraphOp):
    """The same elements in row-major order under another shape.

    ```mlir
    %y = graph.reshape %x : tensor<2x6xf32> -> tensor<3x4xf32>
    ```

    (C1) Operand and result have one element type.
    (C2) Operand and result have as many elements.
    """

    name = "graph.reshape"
    facts = _INDEXED.but(view=True, numpy_view=True)
    x = operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "$x"
    derivative = Linear(lambda b, op, k, ct: b.reshape(ct, op.shape()))
    batching = _batch_reshape

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        assert results is not None
        x, y = operands[0], results[0]
        if x.element_type != y.element_type:  # C1
            raise DTypeError(f"operand and result element types must be equal, got {x.element_type} and {y.element_type}")
        a, b = x.get_shape(), y.get_shape()
        if DYNAMIC not in (*a, *b) and not compatible(prod(a), prod(b)):  # C2
            raise ShapeError(
                f"operand and result must have as many elements, {show_shape(a)} has {prod(a)}, {show_shape(b)} has {prod(b)}"
            )
        if list(b).count(DYNAMIC) == 1 and DYNAMIC not in a and (rest := prod(n for n in b if n != DYNAMIC)):
            if prod(a) % rest:  # C2
                raise ShapeError(f"operand and result must have as many elements, {prod(a)} is not a multiple of {rest}")
            return (tensor(y.element_type, [prod(a) // rest if n == DYNAMIC else n for n in b]),)
        return (y,)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.evaluator()(*operands)

    def evaluator(self) -> Callable[..., tuple[np.ndarray, ...]]:
        shape = [-1 if size == DYNAMIC else size for size in self.result_shape()]
        return Quiet(lambda x: x.reshape(shape), numpy_dtype(element_of(self.x)))

    @property
    def moves_unit_dims(self) -> bool:
        """Whether the reshape only adds or drops dims of size 1."""
        return [n for n in self.shape() if n != 1] == [n for n in self.result_shape() if n != 1]

    def equations(self) -> tuple[Equation, ...]:
        """The equation of a reshape that only adds or drops dims of size 1; other reshapes have no affine map."""
        shape, space = self.shape(), self.result_shape()
        if DYNAMIC in (*shape, *space) or not self.moves_unit_dims:
            return ()
        dims = iter([AffineDimExpr(d) for d, n in enumerate(space) if n != 1])
        exprs = tuple(AffineConstantExpr(0) if n == 1 else next(dims) for n in shape)
        return (Equation(space, (Read(0, AffineMap(len(space), 0, exprs)),), copied),)


# --------------------------------------------------------------------------------------------------------------------
# transpose


def _batch_transpose(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    return [b.transpose(operands[0], perm=(0, *later(ints(op.properties["perm"]))))]


def inverse(perm: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes `perm`."""
    result = [0] * len(perm)
    for k, p in enumerate(perm):
        result[p] = k
    return tuple(result)


@graph_op
class TransposeOp(GraphOp):
    """Dims in another order: result dim `k` is operand dim `perm[k]`.

    ```mlir
    %y = graph.transpose %x perm [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
    ```

    (C1) `perm` is a permutation of the operand's dims.
    """

    name = "graph.transpose"
    facts = _INDEXED.but(numpy_view=True, covers_operands=True)
    x = operand_def(TensorType)
    perm = prop_def(INTS)
    y = result_def(TensorType)
    syntax = "$x perm [perm]"
    derivative = Linear(lambda b, op, k, ct: b.transpose(ct, perm=inverse(ints(op.properties["perm"]))))
    batching = _batch_transpose

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        shape, perm = operands[0].get_shape(), ints(props["perm"])
        if sorted(perm) != list(range(len(shape))):  # C1
            raise ShapeError(f"perm must be a permutation of the {len(shape)} operand dims, got {list(perm)}")
        return (tensor(operands[0].element_type, [shape[p] for p in perm]),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.evaluator()(*operands)

    def evaluator(self) -> Callable[..., tuple[np.ndarray, ...]]:
        perm = ints(self.perm)
        return Quiet(lambda x: x.transpose(perm), numpy_dtype(element_of(self.x)))

    def equations(self) -> tuple[Equation, ...]:
        perm = ints(self.perm)
        return (Equation(self.result_shape(), (Read(0, dims_map(len(perm), inverse(perm))),), copied),)


# --------------------------------------------------------------------------------------------------------------------
# broadcast


def _transpose_broadcast(b: GraphBuilder, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    dims = ints(op.properties["dims"])
    summed = [d for d in range(len(shape_of(ct))) if d not in dims]
    # dims that the broadcast stretched from size 1
    stretched = [d for k, d in enumerate(dims) if op.shape()[k] == 1 and shape_of(ct)[d] != 1]
    total = b.reduce(ct, kind="add", dims=sorted(summed + stretched)) if summed or stretched else ct
    return total if shape_of(total) == op.shape() else b.reshape(total, op.shape())


def _batch_broadcast(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    dims = (0, *later(ints(op.properties["dims"])))
    return [b.broadcast(operands[0], dims, (shape_of(operands[0])[0], *op.result_shape()))]


@graph_op
class BroadcastOp(GraphOp):
    """Repeat along new dims: operand dim `k` becomes result dim `dims[k]`; a dim of size 1 may be stretched.

    ```mlir
    %y = graph.broadcast %x to [1] : tensor<3xf32> -> tensor<2x3xf32>
    ```

    (C1) `dims` names one result dim an operand dim, in increasing order.
    (C2) Sizes agree, or the operand's is 1.
    (C3) Operand and result have one element type.
    """

    name = "graph.broadcast"
    facts = _INDEXED.but(covers_operands=True, pointwise=True, declares_sizes=True)
    x = operand_def(TensorType)
    dims = prop_def(INTS)
    y = result_def(TensorType)
    syntax = "$x to [dims]"
    derivative = Linear(_transpose_broadcast)
    batching = _batch_broadcast

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        assert results is not None
        shape, dims, result = operands[0].get_shape(), ints(props["dims"]), results[0].get_shape()
        if len(dims) != len(shape) or list(dims) != sorted(set(dims)) or any(not 0 <= d < len(result) for d in dims):  # C1
            raise ShapeError(
                f"dims must name one result dim for each operand dim in increasing order, got {list(dims)} for "
                f"{show_shape(shape)} and {show_shape(result)}"
            )
        for k, d in enumerate(dims):
            if shape[k] != 1 and not compatible(shape[k], result[d]):  # C2
                raise ShapeError(f"operand dim {k} of size {shape[k]} cannot become result dim {d} of size {result[d]}")
        if operands[0].element_type != results[0].element_type:  # C3
            raise DTypeError(
                f"operand and result element types must be equal, got {operands[0].element_type} and {results[0].element_type}"
            )
        if DYNAMIC in result:
            known = {d: n for n, d in zip(shape, dims, strict=True) if n != 1}  # only the result has the size of a repeated dim
            return (tensor(results[0].element_type, [known.get(d, n) if n == DYNAMIC else n for d, n in enumerate(result)]),)
        return (results[0],)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.evaluator()(*operands)

    def evaluator(self) -> Callable[..., tuple[np.ndarray, ...]]:
        result, dims = self.result_shape(), ints(self.dims)

        def meaning(x: np.ndarray) -> np.ndarray:
            shape = [1] * len(result)
            for k, d in enumerate(dims):
                shape[d] = x.shape[k]
            y = np.empty(result, x.dtype)
            y[...] = x.reshape(shape)
            return y

        return Quiet(meaning, numpy_dtype(element_of(self.x)))

    def equations(self) -> tuple[Equation, ...]:
        result, shape = self.result_shape(), self.shape()
        exprs: list[AffineExpr] = [
            AffineConstantExpr(0) if shape[k] == 1 and result[d] != 1 else AffineDimExpr(d)
            for k, d in enumerate(ints(self.dims))
        ]
        return (Equation(result, (Read(0, AffineMap(len(result), 0, tuple(exprs))),), copied),)


# --------------------------------------------------------------------------------------------------------------------
# slice


def _transpose_slice(b: GraphBuilder, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    start, step = ints(op.properties["start"]), ints(op.properties["step"])
    size, taken = op.shape(), shape_of(ct)
    span = [taken[d] if s == 1 else positive(taken[d] - 1) * s + least(taken[d], 1) for d, s in enumerate(step)]
    high = [total - first - length for total, first, length in zip(size, start, span, strict=True)]
    zero = b.const(0, element_of(ct))
    return b.pad(ct, zero, low=start, high=high, interior=[s - 1 for s in step])


def _batch_slice(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    p = op.properties
    size = shape_of(operands[0])[0]
    return [b.slice(operands[0], start=(0, *ints(p["start"])), stop=(size, *ints(p["stop"])), step=(1, *ints(p["step"])))]


@graph_op
class SliceOp(GraphOp):
    """Every `step`-th element from `start` up to `stop` (not included), in each dim.

    ```mlir
    %y = graph.slice %x start [0, 1] stop [2, 6] step [1, 2] : tensor<2x6xf32> -> tensor<2x3xf32>
    ```

    (C1) One start, stop and step a dim.
    (C2) `0 <= start <= stop <= size` and `step >= 1`.
    """

    name = "graph.slice"
    facts = _INDEXED.but(numpy_view=True)
    x = operand_def(TensorType)
    start = prop_def(SIZES)
    stop = prop_def(SIZES)
    step = prop_def(INTS)
    y = result_def(TensorType)
    syntax = "$x (start [start])? stop [stop] (step [step])?"
    text_defaults = {"start": each_dim(0), "step": each_dim(1)}
    derivative = Linear(_transpose_slice)
    batching = _batch_slice

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        shape = operands[0].get_shape()
        start, stop, step = (ints(props[name]) for name in ("start", "stop", "step"))
        if not len(start) == len(stop) == len(step) == len(shape):  # C1
            raise ShapeError(f"start, stop and step need one entry for each dim of {show_shape(shape)}")
        sizes = []
        for d, (first, last, by, size) in enumerate(zip(start, stop, step, shape, strict=True)):
            if first < 0 or last < first or by < 1 or (size != DYNAMIC and last > size):  # C2
                raise ShapeError(f"dim {d} needs 0 <= start <= stop <= {size} and step >= 1, got {first}:{last}:{by}")
            sizes.append(ceil_quotient(last - first, by))
        return (tensor(operands[0].element_type, sizes),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.evaluator()(*operands)

    def evaluator(self) -> Callable[..., tuple[np.ndarray, ...]]:
        parts = tuple(slice(*part) for part in zip(ints(self.start), ints(self.stop), ints(self.step), strict=True))
        return Quiet(lambda x: x[parts].copy(), numpy_dtype(element_of(self.x)))

    @property
    def offset(self) -> int | None:
        """The row-major number of the operand's element at which a contiguous slice begins; else None."""
        shape, result = self.shape(), self.result_shape()
        starts, steps = ints(self.start), ints(self.step)
        if not all(isinstance(size, int) and size >= 0 for size in (*shape, *starts)):
            return None  # symbolic sizes
        offset, stride, is_whole = 0, 1, True
        for size, n, start, step in zip(*map(reversed, (shape, result, starts, steps)), strict=True):
            if n != 1 and (step != 1 or not is_whole):
                return None
            is_whole = is_whole and n == size
            offset, stride = offset + start * stride, stride * size
        return offset

    def equations(self) -> tuple[Equation, ...]:
        exprs = [affine(d, step, start) for d, (start, step) in enumerate(zip(ints(self.start), ints(self.step), strict=True))]
        result = self.result_shape()
        return (Equation(result, (Read(0, AffineMap(len(result), 0, tuple(exprs))),), copied),)


def affine(dim: int, factor: int, offset: int) -> AffineExpr:
    return AffineDimExpr(dim) * factor + AffineConstantExpr(offset)


# --------------------------------------------------------------------------------------------------------------------
# concat


def _transpose_concat(b: GraphBuilder, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    dim = integer(op.properties["dim"])
    start = [0] * len(shape_of(ct))
    stop = list(shape_of(ct))
    start[dim] = sum(op.shape(j)[dim] for j in range(k))
    stop[dim] = start[dim] + op.shape(k)[dim]
    return b.slice(ct, start=start, stop=stop, step=[1] * len(start))


_FEW_IN_TURNS = number("graph.shape._FEW_IN_TURNS")


@graph_op
class ConcatOp(GraphOp):
    """Operands one after the other along a dim.

    ```mlir
    %y = graph.concat %a, %b along 0 : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
    ```

    (C1) At least one operand.
    (C2) Operands have one element type.
    (C3) The dim is within the rank.
    (C4) Sizes agree in all other dims.
    """

    name = "graph.concat"
    facts = MOVED
    parts = var_operand_def(TensorType)
    dim = prop_def(IntegerAttr)
    y = result_def(TensorType)
    syntax = "*parts along #dim"
    derivative = Linear(_transpose_concat)
    batching = along("dim")

    @property
    def stores_together(self) -> bool:
        """Whether it stacks a few operands along the last dim, so that their elements are interleaved in memory."""
        dim = self.dim.value.data
        alike = all(shape_of(x)[dim] == 1 for x in self.operands)
        return 1 < len(self.operands) <= _FEW_IN_TURNS and alike and dim == len(self.result_shape()) - 1

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        if not operands:  # C1
            raise ShapeError("needs at least one operand")
        dim = integer(props["dim"])
        first = operands[0]
        for k, operand in enumerate(operands[1:], 1):
            if operand.element_type != first.element_type:  # C2
                raise DTypeError(
                    f"operand element types must be equal, operand 0 is {first.element_type}, {k} is {operand.element_type}"
                )
        shape = list(first.get_shape())
        if not 0 <= dim < len(shape):  # C3
            raise ShapeError(f"dim must be within the rank, got {dim} for {show_shape(shape)}")
        total = 0
        for k, operand in enumerate(operands):
            other = operand.get_shape()
            if len(other) != len(shape) or any(
                not compatible(a, b) for d, (a, b) in enumerate(zip(shape, other, strict=True)) if d != dim
            ):  # C4
                raise ShapeError(
                    f"sizes must agree in all dims but {dim}, operand 0 is {show_shape(first.get_shape())}, "
                    f"operand {k} is {show_shape(other)}"
                )
            shape = [unify(a, b) if d != dim else a for d, (a, b) in enumerate(zip(shape, other, strict=True))]
            total = DYNAMIC if DYNAMIC in (total, other[dim]) else total + other[dim]
        shape[dim] = total
        return (tensor(first.element_type, shape),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.evaluator()(*operands)

    def evaluator(self) -> Callable[..., tuple[np.ndarray, ...]]:
        dim = self.dim.value.data
        return Quiet(lambda *parts: np.concatenate(parts, dim), numpy_dtype(element_of(self.operands[0])))

    def equations(self) -> tuple[Equation, ...]:
        dim, rank = self.dim.value.data, len(self.result_shape())
        identity = AffineMap.identity(rank)
        if len(self.operands) == 1:
            return (Equation(self.result_shape(), (Read(0, identity),), copied),)
        found, offset = [], 0
        for k in range(len(self.operands)):
            exprs = tuple(affine(d, 1, offset if d == dim else 0) for d in range(rank))
            found.append(Equation(self.shape(k), (Read(k, identity),), copied, write=AffineMap(rank, 0, exprs)))
            offset += self.shape(k)[dim]
        return tuple(found)


# --------------------------------------------------------------------------------------------------------------------
# reverse


@graph_op
class ReverseOp(GraphOp):
    """Elements in opposite order along some dims.

    ```mlir
    %y = graph.reverse %x dims [0] : tensor<4xf32>
    ```

    (C1) Dims are distinct and within the rank.
    """

    name = "graph.reverse"
    facts = _INDEXED.but(numpy_view=True)
    x = operand_def(TensorType)
    dims = prop_def(INTS)
    y = result_def(TensorType)
    syntax = "$x dims [dims]"
    types = "same"
    derivative = Linear(lambda b, op, k, ct: b.reverse(ct, dims=ints(op.properties["dims"])))
    batching = along("dims")

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        normalize_dims(ints(props["dims"]), len(operands[0].get_shape()), "reversed")  # C1
        return (operands[0],)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.evaluator()(*operands)

    def evaluator(self) -> Callable[..., tuple[np.ndarray, ...]]:
        dims = ints(self.dims)
        parts = tuple(slice(None, None, -1 if d in dims else 1) for d in range(len(self.shape())))
        return Quiet(lambda x: x[parts].copy(), numpy_dtype(element_of(self.x)))

    def equations(self) -> tuple[Equation, ...]:
        shape, dims = self.result_shape(), ints(self.dims)
        exprs = [affine(d, -1, n - 1) if d in dims else AffineDimExpr(d) for d, n in enumerate(shape)]
        return (Equation(shape, (Read(0, AffineMap(len(shape), 0, tuple(exprs))),), copied),)

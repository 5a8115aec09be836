"""Reads at indices from data: `gather` of elements or windows, `embedding` of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def

from ...errors import DTypeError, ShapeError
from ..facts import OpFacts, Rounding
from ..text_defaults import first_dims
from ..types import (
    COMPLEX,
    INDICES,
    STORED,
    element_of,
    numpy_dtype,
    shape_of,
    show_shape,
    spelled,
    tensor,
    tensor_of,
    tensors_of,
)
from .base import (
    CompositeOp,
    Equation,
    GraphOp,
    Linear,
    Position,
    Props,
    Read,
    Types,
    dims_map,
    graph_op,
)
from .batching import batch_size, later, repeated
from .indexing import INTS, NONE, Slices, clamped, find_slices, moved_dim, slice_props
from .quiet import Quiet

if TYPE_CHECKING:
    from .builder import GraphBuilder


def _transpose_gather(b: GraphBuilder, op: GatherOp, k: int, ct: SSAValue) -> SSAValue:
    slices = op.slices
    zeros = b.full(0, op.operands[0].type)
    return b.scatter(zeros, ct, *clamped(b, op.operands[1:], slices), kind="add", **slice_props(slices))


def _batch_gather(b: GraphBuilder, op: GatherOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    slices, (x, *indices) = op.slices, operands
    n_points, n_batch = len(slices.points), len(slices.batch)
    if not any(batched[1:]):  # the new dim is one more dim of a slice
        y = b.gather(x, *indices, at=later(slices.at), window=slices.window, batch=later(slices.batch))
        return [moved_dim(b, y, n_points, 0)]
    size = batch_size(operands, batched)
    indices = [i if flag else repeated(b, i, size) for i, flag in zip(indices, batched[1:], strict=True)]
    if batched[0]:
        return [b.gather(x, *indices, at=later(slices.at), window=slices.window, batch=(0, *later(slices.batch)))]
    indices = [moved_dim(b, i, 0, n_batch) for i in indices]
    return [moved_dim(b, b.gather(x, *indices, **slice_props(slices)), n_batch, 0)]


@graph_op
class GatherOp(GraphOp):
    """The elements, or windows, of an operand at given indices: one slice for each point of the index tensors.

    `at` names the dims that the index tensors address, in order. Without `window` a slice has one element of each, and these
    dims are dropped; with it as many as the window says, from the index on. Other dims are taken whole, except `batch` dims:
    dim `batch[k]` is paired with dim `k` of the indices. The result's dims are those of the indices, then those of a slice. An
    index is clamped so that its slice is in bounds.

    ```mlir
    %rows = graph.gather %x, %i at [0] : (tensor<9x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
    %block = graph.gather %x, %r, %c at [0, 1] window [2, 3] : (tensor<9x4xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
    %best = graph.gather %x, %k at [1] batch [0] : (tensor<9x4xf32>, tensor<9xi64>) -> tensor<9xf32>
    ```

    (C1) There is one index tensor for each addressed dim, at least one; they are of i32 or i64 and of one shape.
    (C2) Addressed and batch dims are distinct and within the rank.
    (C3) `window` is left out or has a size for each addressed dim; a slice is not larger than the operand,
    unless there are no slices.
    (C4) The sizes of the batch dims are those of the first dims of the indices.
    """

    name = "graph.gather"
    facts = OpFacts(rounding=Rounding.NONE, stores=(*STORED, *COMPLEX), on_parts="each")
    x = operand_def(TensorType)
    indices = var_operand_def(TensorType)
    at = prop_def(INTS)
    window = prop_def(INTS, default_value=NONE)
    batch = prop_def(INTS, default_value=NONE)
    y = result_def(TensorType)
    syntax = "$x, *indices (at [at])? (window [window])? (batch [batch])?"
    text_defaults = {"at": first_dims(1)}
    derivative = Linear(_transpose_gather, operands=(0,))
    batching = _batch_gather

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        return (tensor(operands[0].element_type, find_slices(operands[0], operands[1:], props).result),)

    @property
    def slices(self) -> Slices:
        return find_slices(tensor_of(self.x), tensors_of(self.indices), self.properties)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.evaluator()(*operands)

    def evaluator(self) -> Callable[..., tuple[np.ndarray, ...]]:
        slices, shape = self.slices, self.result_shape()
        points, (last, *others) = np.indices(slices.points, sparse=True), slices.last

        def rows(x: np.ndarray, index: np.ndarray) -> np.ndarray:
            return x.take(np.minimum(np.maximum(index, 0), last), 0)

        def elements(x: np.ndarray, *indices: np.ndarray) -> np.ndarray:
            starts = [np.clip(i.astype(np.int64), 0, most) for i, most in zip(indices, (last, *others), strict=True)]
            return np.broadcast_to(x[slices.elements(points, starts)], shape).copy()

        is_of_rows = slices.at == (0,) and not slices.window and not slices.batch
        return Quiet(rows if is_of_rows else elements, numpy_dtype(element_of(self.x)))

    def equations(self) -> tuple[Equation, ...]:
        slices = self.slices
        n = len(slices.result)
        indices = [Read(1 + k, dims_map(n, range(len(slices.points)))) for k in range(len(slices.at))]
        positions = tuple(Position(k, last) for k, last in enumerate(slices.last))
        reads = (*indices, Read(0, slices.map, positions))
        return (Equation(slices.result, reads, lambda b, *scalars: scalars[-1]),)


def _batch_embedding(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    ids, table = operands
    if not batched[1]:
        return [b.embedding(ids, table)]
    if not batched[0]:
        return [moved_dim(b, b.gather(table, ids, at=(1,)), len(shape_of(ids)), 0)]
    return [b.gather(table, ids, at=(1,), batch=(0,))]


@graph_op
class EmbeddingOp(CompositeOp):
    """The rows of a table selected by ids; an id outside of the table is clamped.

    ```mlir
    %y = graph.embedding %ids, %table : (tensor<8x32xi64>, tensor<1000x64xf32>) -> tensor<8x32x64xf32>
    ```

    (C1) The ids are i32 or i64.
    (C2) The table has two dims and at least one row.
    """

    name = "graph.embedding"
    facts = OpFacts(rounding=Rounding.NONE)
    ids = operand_def(TensorType)
    table = operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "$ids, $table"
    batching = _batch_embedding

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        ids, table = operands
        if ids.element_type not in INDICES:  # C1
            raise DTypeError(f"ids must be {spelled(INDICES)}, got {ids.element_type}")
        shape = table.get_shape()
        if len(shape) != 2 or shape[0] == 0:  # C2
            raise ShapeError(f"the table needs rows and columns, got {show_shape(shape)}")
        return (tensor(table.element_type, (*ids.get_shape(), shape[1])),)

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        return b.gather(operands[1], operands[0], at=(0,))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        ids, table = operands
        return (table[np.clip(ids.astype(np.int64), 0, len(table) - 1)],)

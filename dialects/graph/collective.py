"""Collectives: ops that read all elements of a mapped axis, where other ops see their own element alone.

An axis is named by the index of the element along it, a scalar operand that `graph.vmap` maps: a collective whose index becomes
batched is resolved there, and its result is the same for all elements, so it has no batch dim. Every other axis batches it as
any op. Where the index is no element of an axis, all elements hold what this one does.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def

from ...errors import DTypeError, ShapeError
from ..facts import OpFacts
from ..types import COMPLEX, i64, is_bool, shape_of, tensor
from .base import CompositeOp, GraphOp, Linear, Props, Types, graph_op, integer
from .batching import repeated

if TYPE_CHECKING:
    from .builder import GraphBuilder


class CollectiveOp(CompositeOp):
    """Base: the value of this element, its index along the axis, and how many elements the axis has."""

    x = operand_def(TensorType)
    index = operand_def(TensorType)
    size = prop_def(IntegerAttr)
    y = result_def(TensorType)

    @classmethod
    def check_axis(cls, operands: Types, props: Props) -> None:
        """The constraints that all have."""
        if operands[1] != tensor(i64, ()):
            raise DTypeError(f"the index along the axis must be one i64, got {operands[1]}")
        if integer(props["size"]) < 1:
            raise ShapeError(f"the axis must have elements, got size {integer(props['size'])}")

    @classmethod
    @abstractmethod
    def of_all(cls, b: GraphBuilder, x: SSAValue) -> SSAValue:
        """The result, from the elements of the axis stacked along the first dim."""

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        return cls.of_all(b, repeated(b, operands[0], integer(props["size"])))


def _batch_other_axis(
    b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]
) -> Sequence[SSAValue]:
    """Batching along another axis than the op's own: the dim leads the operand and the result."""
    x, index = operands
    name = op.name.removeprefix("graph.")
    y = getattr(b, name)(x, index, size=integer(op.properties["size"]))
    if isinstance(op, PsumOp):
        return [y]
    rank = len(shape_of(y))
    return [b.transpose(y, perm=(1, 0, *range(2, rank)))]


@graph_op
class PsumOp(CollectiveOp):
    """The sum over all elements of a mapped axis.

    ```mlir
    %y = graph.psum %x at %i of 8 : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
    ```

    (C1) The index along the axis is one i64.
    (C2) The axis has at least one element.
    (C3) The element type is no i1.
    """

    name = "graph.psum"
    facts = OpFacts(stores=COMPLEX)
    syntax = "$x at $index of #size"
    derivative = Linear(lambda b, op, k, ct: b.psum(ct, op.operands[1], size=op.properties["size"]), operands=(0,))
    batching = _batch_other_axis

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        cls.check_axis(operands, props)  # C1, C2
        if is_bool(operands[0].element_type):  # C3
            raise DTypeError(f"element type must be an integer or a float, got {operands[0].element_type}")
        return (operands[0],)

    @classmethod
    def of_all(cls, b: GraphBuilder, x: SSAValue) -> SSAValue:
        return b.reduce(x, kind="add", dims=(0,))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            return (np.multiply(operands[0], operands[0].dtype.type(integer(self.size))),)


def _transpose_all_gather(b: GraphBuilder, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    """This element's part of the sum of all cotangents."""
    index = op.operands[1]
    return b.gather(b.psum(ct, index, size=op.properties["size"]), index, at=(0,))


@graph_op
class AllGatherOp(CollectiveOp):
    """The elements of a mapped axis, stacked along a new first dim.

    ```mlir
    %y = graph.all_gather %x at %i of 8 : (tensor<4xf32>, tensor<i64>) -> tensor<8x4xf32>
    ```

    (C1) The index along the axis is one i64.
    (C2) The axis has at least one element.
    """

    name = "graph.all_gather"
    facts = OpFacts(stores=COMPLEX)
    syntax = "$x at $index of #size"
    derivative = Linear(_transpose_all_gather, operands=(0,))
    batching = _batch_other_axis

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        cls.check_axis(operands, props)  # C1, C2
        return (tensor(operands[0].element_type, (integer(props["size"]), *operands[0].get_shape())),)

    @classmethod
    def of_all(cls, b: GraphBuilder, x: SSAValue) -> SSAValue:
        return x

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.stack([operands[0]] * integer(self.size)),)

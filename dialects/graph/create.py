"""Ops without operands: constants, index ranges, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntegerAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import BaseAttr, prop_def, result_def, traits_def
from xdsl.traits import ConstantLike

from ...errors import DTypeError, ShapeError
from ..facts import Cost, OpFacts, Rounding
from ..sizes.attribute import SizesAttr
from ..types import COMPLEX, element_of, i64, is_bool, show_shape
from .base import Equation, GraphOp, Props, Types, Zero, graph_op, integer, ints
from .builder import dense_array

if TYPE_CHECKING:
    from ..scalar import ScalarBuilder
    from .builder import GraphBuilder


def _batch_created(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    raise AssertionError("an op without operands is never batched")


@graph_op
class ConstOp(GraphOp):
    """A constant tensor.

    ```mlir
    %c = graph.const dense<[1.0, 2.0]> : tensor<2xf32>
    ```

    (C1) The value is a dense attribute whose type is the result's.
    """

    name = "graph.const"
    facts = OpFacts(cost=Cost.INDEX, rounding=Rounding.NONE, stores=COMPLEX, pointwise=True)
    value = prop_def(DenseIntOrFPElementsAttr)
    y = result_def(TensorType)
    traits = traits_def(ConstantLike())
    syntax = "!value"
    types = "none"
    derivative = Zero()
    batching = _batch_created

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        value = props["value"]
        if not isinstance(value, DenseIntOrFPElementsAttr) or not isinstance(value.type, TensorType):  # C1
            raise DTypeError(f"value must be a dense tensor attribute, got {value}")
        return (value.type,)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (dense_array(self.value),)


@graph_op
class IotaOp(GraphOp):
    """`y[..., i, ...] = i`, counting along one dim.

    ```mlir
    %y = graph.iota along 1 : tensor<2x3xi64>
    ```

    (C1) The dim is within the rank.
    (C2) The element type is not i1.
    """

    name = "graph.iota"
    facts = OpFacts(cost=Cost.INDEX, rounding=Rounding.NONE, declares_sizes=True)
    dim = prop_def(IntegerAttr)
    y = result_def(TensorType)
    syntax = "along #dim"
    types = "result"
    derivative = Zero()
    batching = _batch_created

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        assert results is not None
        dim = integer(props["dim"])
        shape = results[0].get_shape()
        if not 0 <= dim < len(shape):  # C1
            raise ShapeError(f"dim must be within the rank, got {dim} for {show_shape(shape)}")
        if is_bool(results[0].element_type):  # C2
            raise DTypeError(f"result element type must be an integer or a float, got {results[0].element_type}")
        return (results[0],)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        shape, dim = self.result_shape(), self.dim.value.data
        steps = np.arange(shape[dim]).astype(self.result_dtype())
        ones = [1] * len(shape)
        ones[dim] = shape[dim]
        return (np.broadcast_to(steps.reshape(ones), shape).copy(),)

    def equations(self) -> tuple[Equation, ...]:
        element = element_of(self.y)
        dim = self.dim.value.data

        def body(b: ScalarBuilder, *, index: Sequence[SSAValue]) -> SSAValue:
            return index_as(b, index[dim], element)

        return (Equation(self.result_shape(), (), body, uses_index=True),)


@graph_op
class DimOp(GraphOp):
    """A symbolic size as a scalar.

    ```mlir
    %n = graph.dim ["2 * n + 1"] : tensor<i64>
    ```

    (C1) It is one size, and the result a scalar, an integer or a float.
    """

    name = "graph.dim"
    facts = OpFacts(rounding=Rounding.NONE)
    of = prop_def(DenseArrayBase.constr(i64) | BaseAttr(SizesAttr))
    y = result_def(TensorType)
    syntax = "[of]"
    types = "result"
    derivative = Zero()
    batching = _batch_created

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        assert results is not None
        if len(ints(props["of"])) != 1 or results[0].get_shape() or is_bool(results[0].element_type):  # C1
            raise ShapeError(f"must give one size as a number, got {len(ints(props['of']))} as {results[0]}")
        return (results[0],)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.asarray(ints(self.of)[0]).astype(self.result_dtype()),)

    def equations(self) -> tuple[Equation, ...]:
        element = element_of(self.y)

        def body(b: ScalarBuilder, *, sizes: Sequence[SSAValue]) -> SSAValue:
            return index_as(b, sizes[0], element)

        return (Equation((), (), body, sizes=ints(self.of)),)


def index_as(b: ScalarBuilder, index: SSAValue, element: Attribute) -> SSAValue:
    """A loop index as a value of an element type."""
    return b.convert(b.convert(index, i64), element)

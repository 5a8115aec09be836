"""Sorting: rows sorted by keys, and the positions that sort them.

Elements are compared as unsigned integers that order as they do (`sort_keys.py`); `sort_loops.py` has the loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import prop_def, result_def, var_operand_def, var_result_def

from ...errors import ShapeError
from ..facts import OpFacts, Rounding
from ..text_defaults import constant
from ..types import element_of, show_shape, tensor
from .base import Custom, GraphOp, Props, Types, Zero, graph_op, integer, require_same_shape
from .batching import alike
from .sort_keys import position_type, take_in_rows
from .sort_loops import sort_rows

if TYPE_CHECKING:
    from .builder import GraphBuilder
    from .nest_writer import NestWriter


def _jvp_sort(b: GraphBuilder, op: SortOp, tangents: Sequence[SSAValue | None]) -> Sequence[SSAValue | None]:
    places = b.argsort(*op.operands[: integer(op.keys)])
    return [None if t is None else take_in_rows(b, t, places) for t in tangents]


@graph_op
class SortOp(GraphOp):
    """Rows, along the last dim, in the ascending order of the first `keys` operands; the others are moved along with them.

    Rows are compared by the first key, where it is equal by the next one, and so on; elements equal in all keys keep their
    order. Zeros of either sign are equal, and so are all NaN, which come last; a single operand may order its zeros either way.

    ```mlir
    %y = graph.sort %x keys 1 : tensor<2x9xf32> -> tensor<2x9xf32>
    %z, %w = graph.sort %x, %i keys 1 : (tensor<2x9xf32>, tensor<2x9xi64>) -> (tensor<2x9xf32>, tensor<2x9xi64>)
    ```

    (C1) All operands have one shape, with at least one dim.
    (C2) There is a key at least, and an operand for each.
    """

    name = "graph.sort"
    facts = OpFacts(rounding=Rounding.NONE)
    xs = var_operand_def(TensorType)
    keys = prop_def(IntegerAttr)
    ys = var_result_def(TensorType)
    syntax = "*xs (keys #keys)?"
    text_defaults = {"keys": constant(1)}
    derivative = Custom(_jvp_sort)
    batching = alike

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        require_same_shape(operands, [f"operand {k}" for k in range(len(operands))])  # C1
        if not operands[0].get_shape():  # C1
            raise ShapeError(f"rows need a dim, got {show_shape(())}")
        if not 0 < integer(props["keys"]) <= len(operands):  # C2
            most = f"the number of operands, {len(operands)}"
            raise ShapeError(f"keys must be between 1 and {most}, got {integer(props['keys'])}")
        return tuple(operands)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        keys = operands[: integer(self.keys)]
        order = np.lexsort(keys[::-1], axis=-1) if operands[0].size else np.zeros(operands[0].shape, np.int64)
        return tuple(np.take_along_axis(x, order, -1) for x in operands)

    def nest(self, b: NestWriter) -> None:
        def load(k: int, at: Any) -> SSAValue:
            return b.load(b.results[k], at)

        def write(k: int, value: SSAValue, at: Any) -> None:
            b.write(value, at, k)

        sort_rows(b, [element_of(x) for x in self.operands], integer(self.keys), b.read, write, load)


@graph_op
class ArgsortOp(GraphOp):
    """The positions of the elements of rows, along the last dim, in the ascending order of the keys, as `graph.sort` has it.

    ```mlir
    %p = graph.argsort %x : tensor<2x9xf32> -> tensor<2x9xi64>
    %q = graph.argsort %x, %y : (tensor<2x9xf32>, tensor<2x9xi32>) -> tensor<2x9xi64>
    ```

    (C1) All operands have one shape, with at least one dim.
    (C2) There is a key at least.
    """

    name = "graph.argsort"
    xs = var_operand_def(TensorType)
    places = result_def(TensorType)
    syntax = "*xs"
    derivative = Zero()
    batching = alike

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        if not operands:  # C2
            raise ShapeError("keys must be at least 1, got none")
        require_same_shape(operands, [f"operand {k}" for k in range(len(operands))])  # C1
        if not operands[0].get_shape():  # C1
            raise ShapeError(f"rows need a dim, got {show_shape(())}")
        return (tensor(i64, operands[0].get_shape()),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        order = np.lexsort(operands[::-1], axis=-1) if operands[0].size else np.zeros(operands[0].shape, np.int64)
        return (order.astype(np.int64),)

    def nest(self, b: NestWriter) -> None:
        keys = [element_of(x) for x in self.operands]
        place = position_type(self.result_shape()[-1])

        def read(k: int, at: Any) -> SSAValue:
            return b.read(k, at) if k < len(keys) else b.scalar.convert(b.position(at[-1]), place)

        def write(k: int, value: SSAValue, at: Any) -> None:
            if k == len(keys):
                b.write(b.scalar.convert(value, i64), at)

        sort_rows(b, [*keys, place], len(keys), read, write, None)

"""Comparison, choice and conversion, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, prop_def, result_def

from ...errors import DTypeError
from ..facts import Cost, Rounding, elementwise
from ..types import (
    COMPLEX,
    STORED,
    computed_in,
    element_of,
    f64,
    i1,
    index,
    is_bool,
    is_complex,
    is_float,
    is_stored,
    tensor,
    width_of,
)
from .base import GraphOp, Linear, Props, Types, Zero, graph_op, require_same_element, require_same_shape
from .elementwise import ElementwiseOp, convert_array, joined_shape
from .quiet import Quiet

if TYPE_CHECKING:
    from ..scalar import ScalarBuilder
    from .builder import GraphBuilder


_COMPARE: dict[str, Callable[..., np.ndarray]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@graph_op
class CmpOp(ElementwiseOp):
    """Comparison `eq ne lt le gt ge`; with NaN only `ne` holds. i1 orders false before true.

    ```mlir
    %y = graph.cmp lt %a, %b : tensor<4xf32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The predicate is one of eq, ne, lt, le, gt, ge.
    (C4) Complex numbers have no order: they are equal or not.
    """

    name = "graph.cmp"
    facts = elementwise(Cost.LOAD, Rounding.NONE, stores=COMPLEX)
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    predicate = prop_def(StringAttr)
    y = result_def(TensorType)
    syntax = "<predicate> $lhs, $rhs"
    types = "same"
    derivative = Zero()

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        require_same_element(operands)  # C1
        require_same_shape(operands)  # C2
        predicate = props["predicate"]
        if not isinstance(predicate, StringAttr) or predicate.data not in _COMPARE:  # C3
            raise DTypeError(f"predicate must be one of eq, ne, lt, le, gt, ge, got {predicate}")
        if is_complex(operands[0].element_type) and predicate.data not in ("eq", "ne"):  # C4
            raise DTypeError(f"predicate of complex numbers must be eq or ne, got {predicate.data}")
        return (tensor(i1, joined_shape(operands)),)

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.cmp(self.predicate.data, *operands)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.evaluator()(*operands)

    def evaluator(self) -> Callable[..., tuple[np.ndarray, ...]]:
        return Quiet(_COMPARE[self.predicate.data], np.dtype(bool))


@graph_op
class SelectOp(ElementwiseOp):
    """`y[i] = on_true[i] if condition[i] else on_false[i]`.

    ```mlir
    %y = graph.select %c, %a, %b : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```

    (C1) The condition's element type is i1.
    (C2) The choices have one element type.
    (C3) All operands have one shape.
    """

    name = "graph.select"
    facts = elementwise(Cost.LOAD, Rounding.NONE, on_parts="each")
    condition = operand_def(TensorType)
    on_true = operand_def(TensorType)
    on_false = operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "$condition, $on_true, $on_false"
    numpy = np.where
    derivative = Linear(lambda b, op, k, ct: _transpose_select(b, op, k, ct), operands=(1, 2))

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        if not is_bool(operands[0].element_type):  # C1
            raise DTypeError(f"condition must be i1, got {operands[0].element_type}")
        require_same_element(operands[1:], ("on_true", "on_false"))  # C2
        require_same_shape(operands, ("condition", "on_true", "on_false"))  # C3
        return (tensor(operands[1].element_type, joined_shape(operands)),)

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.select(*operands)


def _transpose_select(b: GraphBuilder, op: GraphOp, k: int, ct: SSAValue) -> SSAValue:
    zero = b.full_like(ct, 0)
    condition = op.operands[0]
    return b.select(condition, ct, zero) if k == 1 else b.select(condition, zero, ct)


def is_direct(source: Attribute, target: Attribute) -> bool:
    """Whether one op converts between two types, of which at least one is storage-only."""
    if is_stored(source):
        return target == computed_in(source) or (is_float(source) and target == f64)
    if computed_in(target) == source:
        return True
    return is_float(target) and not is_bool(source) and not is_complex(source) and source != index


@graph_op
class ConvertOp(ElementwiseOp):
    """Conversion to another element type. Floats to integers truncate and saturate, NaN gives 0; to i1 is `x != 0`.

    Complex numbers convert by their real part, except to i1 and to complex types.

    ```mlir
    %y = graph.convert %x : tensor<4xf32> -> tensor<4xi32>
    ```

    (C1) Operand and result have one shape.
    (C2) Storage-only types are converted from and to the type in which they are computed: f16, bf16 and floats of 8 bits
    from and to f32, i4 and ui4 from and to i8 and ui8, of which they keep the low bits. Floats also from and to f64, and from
    integers: whatever is converted to one is rounded once, to nearest even.
    """

    name = "graph.convert"
    facts = elementwise(Cost.LOAD, stores=(*STORED, *COMPLEX))
    x = operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "$x"
    derivative = Linear(lambda b, op, k, ct: b.convert(ct, op.operands[0].type.element_type))

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        assert results is not None
        require_same_shape((operands[0], results[0]), ("operand", "result"))  # C1
        source, target = operands[0].element_type, results[0].element_type
        if source != target and (is_stored(source) or is_stored(target)) and not is_direct(source, target):  # C2
            stored = source if is_stored(source) else target
            others = f"{computed_in(stored)} and f64, and from integers" if is_float(stored) else f"{computed_in(stored)} only"
            raise DTypeError(f"converts {stored} from and to {others}, got {source} to {target}")
        return (tensor(results[0].element_type, operands[0].get_shape()),)

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.convert(operands[0], element_of(self.y))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (convert_array(operands[0], self.result_dtype()),)


@graph_op
class BitcastOp(ElementwiseOp):
    """The same bits as numbers of another type, without arithmetic: every NaN keeps its payload.

    ```mlir
    %y = graph.bitcast %x : tensor<4xf32> -> tensor<4xi32>
    ```

    (C1) Operand and result have one shape.
    (C2) Their element types have one width.
    """

    name = "graph.bitcast"
    facts = elementwise(Cost.SHORT, Rounding.NONE)
    x = operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "$x"
    derivative = Zero()

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        assert results is not None
        require_same_shape((operands[0], results[0]), ("operand", "result"))  # C1
        elements = operands[0].element_type, results[0].element_type
        if any(map(is_complex, elements)) or width_of(elements[0]) != width_of(elements[1]):  # C2
            raise DTypeError(f"element types must have one width, got {elements[0]} and {elements[1]}")
        return (tensor(results[0].element_type, operands[0].get_shape()),)

    def scalar(self, b: ScalarBuilder, *operands: SSAValue) -> SSAValue:
        return b.bitcast(operands[0], element_of(self.y))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (operands[0].view(self.result_dtype()),)

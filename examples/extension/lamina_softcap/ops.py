"""Two ops, one with a decomposition and one with loops, and a rewrite rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from lamina import call_op, extend
from lamina.errors import DTypeError, ShapeError
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import operand_def, prop_def, result_def


@extend.register_op
class SoftCapOp(extend.CompositeOp):
    """`cap * tanh(x / cap)`: about x while that is small, never beyond the cap. Gemma 2 caps its logits so (2024).

    ```mlir
    %y = softcap.soft_cap %x cap 50.0 : f64 : tensor<2x3xf32>
    ```

    (C1) The element type is f32 or f64.
    (C2) The cap is greater than 0.
    """

    name = "softcap.soft_cap"
    x = operand_def(TensorType)
    cap = prop_def(FloatAttr)
    y = result_def(TensorType)
    syntax = "$x cap !cap"
    types = "same"
    batching = "elementwise"

    @classmethod
    def infer_types(cls, operands: Sequence[TensorType], props: Any, results: Any = None) -> Sequence[TensorType]:
        if not isinstance(operands[0].element_type, Float32Type | Float64Type):  # C1
            raise DTypeError(f"operand element type must be f32 or f64, got {operands[0].element_type}")
        if not props["cap"].value.data > 0:  # C2
            raise ShapeError(f"cap must be greater than 0, got {props['cap'].value.data}")
        return operands

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        cap = x.dtype.type(self.cap.value.data)
        return (cap * np.tanh(x / cap),)

    @classmethod
    def decompose(cls, b: Any, props: Any, *operands: SSAValue) -> SSAValue:
        cap = b.full_like(operands[0], props["cap"].value.data)
        return b.mul(cap, b.tanh(b.div(operands[0], cap)))


@extend.register_rule(
    "softcap.soft_cap",
    "soft_cap(-x) = -soft_cap(x)",
    lambda b, x, y, i, j: getattr(b, "softcap.soft_cap")(b.neg(x), cap=2.0),
)
def caps_are_odd(op: Any, b: Any) -> SSAValue | None:
    """Negations move out, where others meet them."""
    if getattr(op.x.owner, "name", "") != "graph.neg":
        return None
    return b.neg(getattr(b, op.name)(op.x.owner.operands[0], cap=op.cap))


def _transpose_differences(b: Any, op: Any, k: int, ct: SSAValue) -> SSAValue:
    """The cotangent of one operand: sums over what the other one runs along."""
    total = b.reduce(ct, kind="add", dims=(1 - k,))
    return total if k == 0 else b.neg(total)


def _batch_differences(b: Any, op: Any, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    """By differences of tensors: the op itself is of vectors."""
    x, y = operands
    batch = next(extend.shape_of(o)[0] for o, flag in zip(operands, batched, strict=True) if flag)
    shape = (batch, *op.result_shape())
    rows = b.broadcast(x, (0, 1) if batched[0] else (1,), shape)
    columns = b.broadcast(y, (0, 2) if batched[1] else (2,), shape)
    return [b.sub(rows, columns)]


@extend.register_op
class DifferencesOp(extend.GraphOp):
    """All differences of the elements of two vectors: `z[i, j] = x[i] - y[j]`.

    ```mlir
    %z = softcap.differences %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    ```

    (C1) Operands are vectors.
    (C2) They have one element type, not i1.
    """

    name = "softcap.differences"
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    z = result_def(TensorType)
    syntax = "$x, $y"
    derivative = extend.Linear(_transpose_differences)
    batching = _batch_differences

    @classmethod
    def infer_types(cls, operands: Sequence[TensorType], props: Any, results: Any = None) -> Sequence[TensorType]:
        x, y = operands
        if len(x.get_shape()) != 1 or len(y.get_shape()) != 1:  # C1
            raise ShapeError(f"operands must be vectors, got ranks {len(x.get_shape())} and {len(y.get_shape())}")
        if x.element_type != y.element_type or str(x.element_type) == "i1":  # C2
            raise DTypeError(f"operands must have one element type, not i1, got {x.element_type} and {y.element_type}")
        return (extend.tensor(x.element_type, (*x.get_shape(), *y.get_shape())),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            return (operands[0][:, None] - operands[1],)

    def equations(self) -> tuple[extend.Equation, ...]:
        rows, columns = (AffineMap.from_callable(f) for f in (lambda i, j: (i,), lambda i, j: (j,)))
        reads = extend.Read(0, rows), extend.Read(1, columns)
        return (extend.Equation(self.result_shape(), reads, lambda b, x, y: b.binary("sub", x, y)),)


def soft_cap(x: Any, cap: float) -> Any:
    """`cap * tanh(x / cap)` of each element of an array of f32 or f64.

    >>> soft_cap(np.float64([0.0, 2.0]), cap=1.0)
    array([0.        , 0.96402758])
    """
    return call_op(SoftCapOp, x, cap=float(cap))


def differences(x: Any, y: Any) -> Any:
    """`x[i] - y[j]` for all i and j, of two vectors of one dtype.

    >>> differences(np.int32([5, 7]), np.int32([1, 2, 3]))
    array([[4, 3, 2],
           [6, 5, 4]], dtype=int32)
    """
    return call_op(DifferencesOp, x, y)

"""Complex numbers: their parts, their magnitude, and complex arrays seen as arrays of pairs.

Complex types are of the graph level alone. `graph-split-complex` turns each value into its real and its imaginary part, so that
lower levels compute with floats, in planes. In memory a complex array is an array of pairs: `as_pairs` and `from_pairs` show
one as the other, `interleave` makes pairs of two planes.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineMap
from xdsl.irdl import operand_def, result_def

from ...errors import DTypeError, ShapeError
from ..complex_arithmetic import length
from ..facts import Cost, OpFacts, Rounding, elementwise
from ..types import COMPLEX, compatible, complex_of, f32, f64, is_complex, part_of, shape_of, show_shape, tensor
from .base import (
    CompositeOp,
    Custom,
    Equation,
    GraphOp,
    Linear,
    Props,
    Read,
    Types,
    graph_op,
    require_same_element,
    require_same_shape,
)
from .batching import alike
from .elementwise import ElementwiseOp, joined_shape

if TYPE_CHECKING:
    from .builder import GraphBuilder


def _require_complex(operand: TensorType) -> None:
    if not is_complex(operand.element_type):
        raise DTypeError(f"operand element type must be complex, got {operand.element_type}")


def _require_part(operand: TensorType) -> None:
    if operand.element_type not in (f32, f64):
        raise DTypeError(f"operand element type must be f32 or f64, got {operand.element_type}")


def imaginary(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """`1j * x` of a real tensor."""
    return b.complex(b.zeros_like(x), x)


def conjugate(b: GraphBuilder, z: SSAValue) -> SSAValue:
    """The complex conjugate."""
    return b.complex(b.real(z), b.neg(b.imag(z)))


@graph_op
class ComplexOp(ElementwiseOp):
    """Complex numbers of their real and imaginary parts.

    ```mlir
    %z = graph.complex %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    (C3) The element type is f32 or f64.
    """

    name = "graph.complex"
    facts = elementwise(Cost.LOAD, Rounding.NONE, stores=COMPLEX)
    re = operand_def(TensorType)
    im = operand_def(TensorType)
    z = result_def(TensorType)
    syntax = "$re, $im"
    derivative = Linear(lambda b, op, k, ct: b.real(ct) if k == 0 else b.neg(b.imag(ct)))

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        require_same_element(operands, ("the real part", "the imaginary part"))  # C1
        require_same_shape(operands, ("the real part", "the imaginary part"))  # C2
        _require_part(operands[0])  # C3
        return (tensor(complex_of(operands[0].element_type), joined_shape(operands)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        z = np.empty(operands[0].shape, self.result_dtype())
        z.real, z.imag = operands
        return (z,)


class OfComplexOp(GraphOp, ABC):
    """Base of ops from a complex tensor to a real one of the same shape."""

    z = operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "$z"

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        _require_complex(operands[0])  # C1
        return (tensor(part_of(operands[0].element_type), operands[0].get_shape()),)


@graph_op
class RealOp(OfComplexOp, ElementwiseOp):
    """The real parts.

    ```mlir
    %x = graph.real %z : tensor<4xcomplex<f32>> -> tensor<4xf32>
    ```

    (C1) The element type of the operand is complex.
    """

    name = "graph.real"
    facts = elementwise(Cost.LOAD, Rounding.NONE, stores=COMPLEX)
    derivative = Linear(lambda b, op, k, ct: b.complex(ct, b.zeros_like(ct)))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.real(operands[0]).copy(),)


@graph_op
class ImagOp(OfComplexOp, ElementwiseOp):
    """The imaginary parts.

    ```mlir
    %y = graph.imag %z : tensor<4xcomplex<f32>> -> tensor<4xf32>
    ```

    (C1) The element type of the operand is complex.
    """

    name = "graph.imag"
    facts = elementwise(Cost.LOAD, Rounding.NONE, stores=COMPLEX)
    derivative = Linear(lambda b, op, k, ct: imaginary(b, b.neg(ct)))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.imag(operands[0]).copy(),)


def _jvp_magnitude(b: GraphBuilder, op: GraphOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue]:
    # d|z| = Re(conj(z) / |z| dz), and 0 at 0
    (dz,) = tangents
    z, size = op.operands[0], op.results[0]
    one = b.full_like(size, 1)
    safe = b.select(b.cmp(size, b.zeros_like(size), predicate="eq"), one, size)
    direction = b.complex(b.div(b.real(z), safe), b.neg(b.div(b.imag(z), safe)))
    return [b.real(b.mul(dz, direction))]


@graph_op
class MagnitudeOp(OfComplexOp, CompositeOp):
    """The absolute values of complex numbers, without overflow; the derivative at 0 is 0.

    ```mlir
    %r = graph.magnitude %z : tensor<4xcomplex<f32>> -> tensor<4xf32>
    ```

    (C1) The element type of the operand is complex.
    """

    name = "graph.magnitude"
    facts = OpFacts(stores=COMPLEX)
    batching = "elementwise"
    derivative = Custom(_jvp_magnitude)

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        return length(b, b.real(operands[0]), b.imag(operands[0]))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            return (np.asarray(np.abs(operands[0])),)


# --------------------------------------------------------------------------------------------------------------------
# Pairs


@graph_op
class AsPairsOp(GraphOp):
    """A complex array seen as an array of pairs: a last dim of size 2 has the real and the imaginary part.

    ```mlir
    %p = graph.as_pairs %z : tensor<4xcomplex<f32>> -> tensor<4x2xf32>
    ```

    (C1) The element type of the operand is complex.
    """

    name = "graph.as_pairs"
    facts = OpFacts(cost=Cost.INDEX, rounding=Rounding.NONE, stores=COMPLEX, view=True)
    z = operand_def(TensorType)
    pairs = result_def(TensorType)
    syntax = "$z"
    derivative = Linear(lambda b, op, k, ct: b.complex(first_of_pairs(b, ct), b.neg(first_of_pairs(b, ct, 1))))
    batching = alike

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        _require_complex(operands[0])  # C1
        return (pairs_type(operands[0]),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.stack([np.real(operands[0]), np.imag(operands[0])], -1),)


def pairs_type(type: TensorType) -> TensorType:
    """The type of a complex array seen as pairs."""
    return tensor(part_of(type.element_type), (*type.get_shape(), 2))


def first_of_pairs(b: GraphBuilder, pairs: SSAValue, which: int = 0) -> SSAValue:
    """The first, or the other, elements of an array of pairs."""
    shape = shape_of(pairs)[:-1]
    start, step = [0] * len(shape), [1] * (len(shape) + 1)
    return b.reshape(b.slice(pairs, start=(*start, which), stop=(*shape, which + 1), step=step), shape)


@graph_op
class FromPairsOp(GraphOp):
    """An array of pairs seen as a complex array.

    ```mlir
    %z = graph.from_pairs %p : tensor<4x2xf32> -> tensor<4xcomplex<f32>>
    ```

    (C1) The element type of the operand is f32 or f64.
    (C2) The last dim of the operand has size 2.
    """

    name = "graph.from_pairs"
    facts = OpFacts(cost=Cost.INDEX, rounding=Rounding.NONE, stores=COMPLEX, view=True)
    pairs = operand_def(TensorType)
    z = result_def(TensorType)
    syntax = "$pairs"
    derivative = Linear(lambda b, op, k, ct: b.interleave(b.real(ct), b.neg(b.imag(ct))))
    batching = alike

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        _require_part(operands[0])  # C1
        shape = operands[0].get_shape()
        if not shape or not compatible(shape[-1], 2):  # C2
            raise ShapeError(f"the last dim of the operand must have size 2, got {show_shape(shape)}")
        return (tensor(complex_of(operands[0].element_type), shape[:-1]),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        z = np.empty(operands[0].shape[:-1], self.result_dtype())
        z.real, z.imag = operands[0][..., 0], operands[0][..., 1]
        return (z,)


@graph_op
class InterleaveOp(GraphOp):
    """Pairs of the elements of two arrays, along a new last dim.

    ```mlir
    %p = graph.interleave %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4x2xf32>
    ```

    (C1) Both operands have one element type.
    (C2) Both operands have one shape.
    """

    name = "graph.interleave"
    facts = OpFacts(rounding=Rounding.NONE, stores_together=True)
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    pairs = result_def(TensorType)
    syntax = "$x, $y"
    derivative = Linear(lambda b, op, k, ct: first_of_pairs(b, ct, k))
    batching = alike

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        require_same_element(operands, ("x", "y"))  # C1
        require_same_shape(operands, ("x", "y"))  # C2
        return (tensor(operands[0].element_type, (*joined_shape(operands), 2)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.stack(operands, -1),)

    def equations(self) -> tuple[Equation, ...]:
        shape = self.result_shape()[:-1]
        point = AffineMap.identity(len(shape))

        def half(k: int) -> Equation:
            place = AffineMap(len(shape), 0, (*point.results, AffineConstantExpr(k)))
            return Equation(shape, (Read(k, point),), lambda b, x: x, write=place)

        return half(0), half(1)

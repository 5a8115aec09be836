"""Transformations of functions as ops: derivatives and batching, which passes expand in place.

graph.jvp   results and their directional derivatives      graph-linearize
graph.vjp   results and the gradients of a product         graph-linearize, graph-transpose
graph.vmap  a function applied along a new leading dim     graph-vmap
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, SymbolRefAttr, TensorType, i32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..facts import OpFacts, OwnDerivative, Rounding
from ..symbols import find_symbol
from ..syntax import TextOp
from ..types import COMPLEX, is_float, part_of, tensor
from .base import CompositeOp, Props, Types, Zero, graph_op, ints
from .effects import EffectsOfFunctions
from .fusion import YieldOp

if TYPE_CHECKING:
    from .builder import GraphBuilder

_INTS = DenseArrayBase.constr(i64)


def has_tangent(type: Attribute) -> bool:
    """Whether values of a type have derivatives: tensors of floats and of complex numbers."""
    return isinstance(type, TensorType) and is_float(part_of(type.element_type))


def callee_of(op: Operation) -> FuncOp | None:
    """The function an op names, if its module has it."""
    callee = op.properties["callee"]
    assert isinstance(callee, SymbolRefAttr)
    found = find_symbol(op, callee)
    return found if isinstance(found, FuncOp) else None


def function_of(op: Operation, name: SymbolRefAttr) -> FuncOp:
    """The function of the module that a property names, for verifiers: raises VerifyException if there is none."""
    found = find_symbol(op, name)
    if not isinstance(found, FuncOp):
        raise VerifyException(f"'{op.name}' op names no function of the module: {name}")
    return found


def type_list(types: Iterable[Attribute]) -> str:
    """Types as messages show them: `(tensor<4xf32>, tensor<i64>)`."""
    return f"({', '.join(map(str, types))})"


class TransformOp(TextOp, ABC):
    """Base of ops that transform a function: passes expand them, and nothing computes them."""

    EXPANDED_BY: ClassVar[str]
    """The names of the passes that replace the op, for messages."""


class DerivativeOp(TransformOp, ABC):
    """Base of `graph.jvp` and `graph.vjp`: a function, the point, and the vectors that its derivative is applied to."""

    WORD: ClassVar[str] = ""

    primals = var_operand_def(TensorType)
    vectors = var_operand_def(TensorType)
    callee = prop_def(SymbolRefAttr)
    wrt = prop_def(_INTS)
    outputs = var_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(EffectsOfFunctions())

    @classmethod
    def make(
        cls, function: FuncOp, primals: Sequence[SSAValue], vectors: Sequence[SSAValue], wrt: Sequence[int]
    ) -> DerivativeOp:
        """The op that differentiates `function` at `primals` with respect to the operands `wrt`."""
        return cls.create(
            operands=[*primals, *vectors],
            result_types=cls.result_types_of(function, primals, wrt),
            properties={
                "callee": SymbolRefAttr(function.sym_name.data),
                "wrt": DenseArrayBase.from_list(i64, list(wrt)),
                "operandSegmentSizes": DenseArrayBase.from_list(i32, [len(primals), len(vectors)]),
            },
        )

    @classmethod
    def result_types_of(cls, function: FuncOp, primals: Sequence[SSAValue], wrt: Sequence[int]) -> list[Attribute]:
        raise TypeError(cls.name)

    def vector_types(self, function: FuncOp) -> list[Attribute]:
        """The types that the tangents or cotangents must have."""
        raise TypeError(self.name)

    def verify_(self) -> None:
        function = function_of(self, self.callee)
        wanted = list(function.function_type.inputs)
        if (given := [p.type for p in self.primals]) != wanted:
            rule = f"arguments must be those of {self.callee}, {type_list(wanted)}, got {type_list(given)}"
            raise VerifyException(f"'{self.name}' op {rule}")
        for k in ints(self.wrt):
            if not 0 <= k < len(wanted) or not has_tangent(wanted[k]):
                raise VerifyException(f"'{self.name}' op can only differentiate by float arguments, got argument {k}")
        vectors = [v.type for v in self.vectors]
        if vectors != self.vector_types(function):
            rule = f"must be {type_list(self.vector_types(function))}, got {type_list(vectors)}"
            raise VerifyException(f"'{self.name}' op {self.WORD} {rule}")
        results = self.result_types_of(function, list(self.primals), ints(self.wrt))
        if [r.type for r in self.results] != results:
            raise VerifyException(f"'{self.name}' op results must be {type_list(results)}")


@irdl_op_definition
class JvpOp(DerivativeOp):
    """A function and its directional derivative: results, then one tangent for each float result.

    ```mlir
    %y, %dy = graph.jvp @f(%x) tangents(%dx) wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    ```
    """

    name = "graph.jvp"
    EXPANDED_BY: ClassVar[str] = "graph-linearize"
    WORD: ClassVar[str] = "tangents"
    SYNTAX: ClassVar[str] = "@callee(primals) tangents(vectors) wrt [wrt]"

    @classmethod
    def result_types_of(cls, function: FuncOp, primals: Sequence[SSAValue], wrt: Sequence[int]) -> list[Attribute]:
        outputs = list(function.function_type.outputs)
        return [*outputs, *(t for t in outputs if has_tangent(t))]

    def vector_types(self, function: FuncOp) -> list[Attribute]:
        return [self.primals[k].type for k in ints(self.wrt)]


@irdl_op_definition
class VjpOp(DerivativeOp):
    """A function and the gradients of a product with its results: results, then one gradient for each operand in `wrt`.

    One cotangent is given for each float result.

    ```mlir
    %y, %gx = graph.vjp @f(%x) cotangents(%ct) wrt [0] : (tensor<4xf32>, tensor<f32>) -> (tensor<f32>, tensor<4xf32>)
    ```
    """

    name = "graph.vjp"
    EXPANDED_BY: ClassVar[str] = "graph-linearize and graph-transpose"
    WORD: ClassVar[str] = "cotangents"
    SYNTAX: ClassVar[str] = "@callee(primals) cotangents(vectors) wrt [wrt]"

    @classmethod
    def result_types_of(cls, function: FuncOp, primals: Sequence[SSAValue], wrt: Sequence[int]) -> list[Attribute]:
        return [*function.function_type.outputs, *(primals[k].type for k in wrt)]

    def vector_types(self, function: FuncOp) -> list[Attribute]:
        return [t for t in function.function_type.outputs if has_tangent(t)]


@irdl_op_definition
class VmapOp(TransformOp):
    """A function applied to every element along one dim of its arguments; results are stacked along a new first dim.

    `axes` names that dim of each argument, -1 for one that is the same for all.

    ```mlir
    %y = graph.vmap @f(%x, %w) axes [0, -1] : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>)
    ```
    """

    name = "graph.vmap"
    EXPANDED_BY: ClassVar[str] = "graph-vmap"
    SYNTAX: ClassVar[str] = "@callee(arguments) axes [axes]"
    arguments = var_operand_def(TensorType)
    callee = prop_def(SymbolRefAttr)
    axes = prop_def(_INTS)
    outputs = var_result_def(TensorType)
    traits = traits_def(EffectsOfFunctions())

    @staticmethod
    def make(function: FuncOp, arguments: Sequence[SSAValue], axes: Sequence[int]) -> VmapOp:
        """The op that maps `function` over the dims `axes` of `arguments`."""
        size = _mapped_size([a.type for a in arguments], axes)
        return VmapOp.create(
            operands=list(arguments),
            result_types=[_stacked(t, size) for t in function.function_type.outputs],
            properties={"callee": SymbolRefAttr(function.sym_name.data), "axes": DenseArrayBase.from_list(i64, list(axes))},
        )

    def verify_(self) -> None:
        function = function_of(self, self.callee)
        axes = ints(self.axes)
        types: list[Any] = [a.type for a in self.arguments]
        if len(axes) != len(types) or all(a < 0 for a in axes):
            raise VerifyException("'graph.vmap' op needs an axis for every argument, and at least one that is mapped")
        sizes = set()
        for k, (type, axis, wanted) in enumerate(zip(types, axes, function.function_type.inputs, strict=True)):
            shape = list(type.get_shape())
            if axis >= 0:
                if axis >= len(shape):
                    raise VerifyException(f"'graph.vmap' op axis {axis} is not within the rank of argument {k}, {type}")
                sizes.add(shape.pop(axis))
            if tensor(type.element_type, shape) != wanted:
                raise VerifyException(f"'graph.vmap' op argument {k} must map to {wanted}, got {type} along {axis}")
        if len(sizes) != 1:
            raise VerifyException(f"'graph.vmap' op mapped sizes must agree, got {sorted(sizes)}")
        results = [_stacked(t, *sizes) for t in function.function_type.outputs]
        if (got := [r.type for r in self.results]) != results:
            raise VerifyException(f"'graph.vmap' op results must be {type_list(results)}, got {type_list(got)}")


def _stacked(type: Any, size: int) -> TensorType:
    return tensor(type.element_type, (size, *type.get_shape()))


def _mapped_size(types: Sequence[Any], axes: Sequence[int]) -> int:
    return next(t.get_shape()[axis] for t, axis in zip(types, axes, strict=True) if axis >= 0)


@irdl_op_definition
class TransposedOp(TransformOp):
    """The transpose of a linear map, applied to cotangents: the region is the map, one result for each of its arguments.

    The region may use values from outside; it is linear in its arguments.

    ```mlir
    %g = graph.transposed (%ct) {
    ^bb0(%t: tensor<4xf32>):
      %d = graph.mul %t, %slope : tensor<4xf32>
      graph.yield %d : tensor<4xf32>
    } : (tensor<4xf32>) -> (tensor<4xf32>)
    ```
    """

    name = "graph.transposed"
    EXPANDED_BY: ClassVar[str] = "graph-transpose"
    SYNTAX: ClassVar[str] = "(cotangents) {body}"
    cotangents = var_operand_def(TensorType)
    body = region_def("single_block")
    gradients = var_result_def(TensorType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        block = self.body.block
        last = block.last_op
        if not isinstance(last, YieldOp) or [v.type for v in last.operands] != [c.type for c in self.cotangents]:
            raise VerifyException("'graph.transposed' op region must yield one value of the type of each cotangent")
        if [a.type for a in block.args] != [r.type for r in self.results]:
            raise VerifyException("'graph.transposed' op needs one result of the type of each region argument")


@graph_op
class StopGradientOp(CompositeOp):
    """Its operand, taken as a constant by differentiation.

    ```mlir
    %y = graph.stop_gradient %x : tensor<4xf32>
    ```

    (C1) Operand and result have one type.
    """

    name = "graph.stop_gradient"
    facts = OpFacts(rounding=Rounding.NONE, stores=COMPLEX)
    traits = traits_def(OwnDerivative())
    x = operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "$x"
    types = "same"
    derivative = Zero()
    batching = "elementwise"

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        return (operands[0],)  # C1

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        return operands[0]

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (operands[0],)

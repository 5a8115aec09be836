"""Control flow of graphs: loops whose body is a function of the module.

graph.for   a counted loop: carried values, slices of stacked inputs, stacked outputs
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, SymbolRefAttr, TensorType, UnitAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    VarOperand,
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from ..assembly import counted_call
from ..syntax import TextOp
from ..types import DYNAMIC, element_of, shape_of, tensor
from .autodiff import function_of, type_list
from .base import GraphOp, ints
from .effects import EffectsOfFunctions
from .shape import SliceOp

_INTS = DenseArrayBase.constr(i64)

INDEX = tensor(i64, ())
"""The type of the iteration number that a body gets."""


class ControlOp(TextOp):
    """Base of the ops that run functions of the module: bodies, conditions, branches."""

    traits = traits_def(EffectsOfFunctions())

    @property
    def callees(self) -> tuple[SymbolRefAttr, ...]:
        """The names of all functions that it may run."""
        return (self.properties["callee"],)  # pyright: ignore[reportReturnType]


class LoopOp(ControlOp):
    """Base of the loops: `consts`, which all iterations share, and the initial values of what iterations carry."""

    if TYPE_CHECKING:  # the ops define them, in the order of their operands
        callee: SymbolRefAttr
        consts: VarOperand
        inits: VarOperand


@irdl_op_definition
class ForOp(LoopOp):
    """A counted loop whose body is a function: iteration `i` computes the next carried values, and a slice of each stack.

        for i in range(count):                                      # from count - 1 down to 0 with `reverse`
            carries, slices = body(i, consts..., carries..., stack[i] for each of `over`)
            results[i] = slices
        return carries..., results...

    ```mlir
    %h, %hs = graph.for @step count 10 consts(%w) carry(%h0) over(%xs)
        : (tensor<4x4xf32>, tensor<4xf32>, tensor<10x4xf32>) -> (tensor<4xf32>, tensor<10x4xf32>)
    %y = graph.for @grow count %n consts() carry(%x) over() : (tensor<i64>, tensor<4xf32>) -> (tensor<4xf32>)
    ```

    `linear [k, ...]` says that results depend linearly on these operands together: differentiation writes such loops.

    (C1) `callee` is a function of the module, of the iteration number (tensor<i64>), the consts, the carried values and a
    slice of each stack; it returns the carried values and a slice of each stack of results.
    (C2) The first dim of every stack is the count, which must be known where there are stacks.
    (C3) Results have the types of the carried values, then of the stacks.
    (C4) A count is not negative; one from a value is a tensor<i64>, taken as 0 when it is negative.
    """

    name = "graph.for"
    SYNTAX: ClassVar[str] = "@callee count #trips|$count ?reverse consts(consts) carry(inits) over(stacks) (linear [linear])?"
    callee = prop_def(SymbolRefAttr)
    trips = prop_def(IntegerAttr)
    reverse = opt_prop_def(UnitAttr)
    linear = prop_def(_INTS)
    count = opt_operand_def(TensorType)
    consts = var_operand_def(TensorType)
    inits = var_operand_def(TensorType)
    stacks = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @staticmethod
    def make(
        body: FuncOp,
        count: int | SSAValue,
        consts: Sequence[SSAValue],
        inits: Sequence[SSAValue],
        stacks: Sequence[SSAValue],
        *,
        reverse: bool = False,
        linear: Sequence[int] = (),
    ) -> ForOp:
        """A loop over a function; `linear` numbers consts, inits and stacks in this order, from 0."""
        trips, values = (count, []) if isinstance(count, int) else (-1, [count])
        returned = body.function_type.outputs.data
        stacked = [_stacked(type, trips) for type in returned[len(inits) :]]
        return ForOp(
            operands=[values, consts, inits, stacks],
            result_types=[[*returned[: len(inits)], *stacked]],
            properties={
                **counted_call(body.sym_name.data, trips, reverse),
                "linear": DenseArrayBase.from_list(i64, list(linear)),
            },
        )

    @property
    def static_count(self) -> int | None:
        """The number of iterations, where it is known."""
        return None if self.count is not None else self.trips.value.data

    @property
    def times(self) -> SSAValue | int:
        """The number of iterations, as a value or as a number."""
        return self.trips.value.data if self.count is None else self.count

    @property
    def arguments(self) -> list[SSAValue]:
        """Consts, initial values and stacks."""
        return [*self.consts, *self.inits, *self.stacks]

    @property
    def carried_results(self) -> Sequence[SSAValue]:
        return self.results[: len(self.inits)]

    @property
    def stacked_results(self) -> Sequence[SSAValue]:
        return self.results[len(self.inits) :]

    def verify_(self) -> None:
        function = function_of(self, self.callee)  # C1
        trips = self.trips.value.data
        if self.count is not None and self.count.type != INDEX:  # C4
            raise VerifyException(f"'graph.for' op count must be a tensor<i64>, got {self.count.type}")
        if (trips < 0) != (self.count is not None):  # C4
            raise VerifyException(f"'graph.for' op count must be a number that is not negative or a value, got {trips}")
        if self.count is not None and (self.stacks or len(self.results) > len(self.inits)):  # C2
            raise VerifyException("'graph.for' op with stacks needs a count that is known")
        sliced: list[Attribute] = []
        for stack in self.stacks:
            shape = shape_of(stack)
            if not shape or shape[0] not in (trips, DYNAMIC):  # C2
                raise VerifyException(f"'graph.for' op stacks need a first dim of {trips}, got {stack.type}")
            sliced.append(tensor(element_of(stack), shape[1:]))
        wanted = [INDEX, *(v.type for v in (*self.consts, *self.inits)), *sliced]
        if list(function.function_type.inputs) != wanted:  # C1
            rule = f"must take {type_list(wanted)}, it takes {type_list(function.function_type.inputs)}"
            raise VerifyException(f"'graph.for' op body {self.callee} {rule}")
        carries, returned = [v.type for v in self.inits], list(function.function_type.outputs)
        if returned[: len(carries)] != carries:  # C1
            rule = f"must return the carried values {type_list(carries)} first, it returns {type_list(returned)}"
            raise VerifyException(f"'graph.for' op body {self.callee} {rule}")
        results = [*carries, *(_stacked(type, trips) for type in returned[len(carries) :])]
        if [r.type for r in self.results] != results:  # C3
            raise VerifyException(f"'graph.for' op results must be {type_list(results)}")
        if any(not 0 <= k < len(self.arguments) for k in ints(self.linear)):
            raise VerifyException(f"'graph.for' op linear numbers must be below {len(self.arguments)}, got {ints(self.linear)}")


def is_given_part(op: Operation) -> bool:
    """Whether an op reads a contiguous part of memory only to pass it to calls, which then get a view of it."""
    if not isinstance(op, SliceOp) or op.offset is None:
        return False
    is_in_memory = not isinstance(op.x.owner, GraphOp) or not op.x.has_one_use()
    return is_in_memory and all(isinstance(use.operation, ControlOp) for use in op.y.uses)


def _stacked(type: Any, count: int) -> TensorType:
    return tensor(type.element_type, (count, *type.get_shape()))

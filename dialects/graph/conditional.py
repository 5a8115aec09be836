"""Control flow of graphs that depends on values: functions of the module that run while a condition holds, or one of several.

graph.while   a loop whose condition is computed from what it carries
graph.case    one of several functions, by number
graph.call    one function, which stays one
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, SymbolRefAttr, TensorType, i1, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    prop_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from ..types import tensor
from .autodiff import function_of, type_list
from .base import ints
from .control import INDEX, ControlOp, LoopOp

_INTS = DenseArrayBase.constr(i64)

FLAG = tensor(i1, ())
"""The type of the result of a condition."""


@irdl_op_definition
class WhileOp(LoopOp):
    """A loop that runs while a function of the carried values returns true; the body is another function of them.

        while condition(consts..., carries...):
            carries = body(consts..., carries...)
        return carries...

    ```mlir
    %i, %x = graph.while @going do @halve consts(%n) carry(%i0, %x0)
        : (tensor<i64>, tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>)
    ```

    (C1) `condition` and `callee` are functions of the module, both of the consts and the carried values.
    (C2) The condition returns one tensor<i1>.
    (C3) The body returns the carried values, whose types the results have.
    """

    name = "graph.while"
    SYNTAX: ClassVar[str] = "@condition do @callee consts(consts) carry(inits)"
    condition = prop_def(SymbolRefAttr)
    callee = prop_def(SymbolRefAttr)
    consts = var_operand_def(TensorType)
    inits = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @staticmethod
    def make(condition: FuncOp, body: FuncOp, consts: Sequence[SSAValue], inits: Sequence[SSAValue]) -> WhileOp:
        """A loop over two functions."""
        names = {"condition": SymbolRefAttr(condition.sym_name), "callee": SymbolRefAttr(body.sym_name)}
        return WhileOp(operands=[consts, inits], result_types=[[value.type for value in inits]], properties=names)

    @property
    def callees(self) -> tuple[SymbolRefAttr, ...]:
        return self.condition, self.callee

    def verify_(self) -> None:
        given, carried = [v.type for v in self.operands], [v.type for v in self.inits]
        condition, body = (function_of(self, name) for name in self.callees)
        for word, function in (("condition", condition), ("body", body)):
            _require_arguments(self, word, function, given)  # C1
        if list(condition.function_type.outputs) != [FLAG]:  # C2
            shown = type_list(condition.function_type.outputs)
            raise VerifyException(f"'graph.while' op condition {self.condition} must return (tensor<i1>), it returns {shown}")
        if list(body.function_type.outputs) != carried:  # C3
            rule = f"must return the carried values {type_list(carried)}, it returns {type_list(body.function_type.outputs)}"
            raise VerifyException(f"'graph.while' op body {self.callee} {rule}")
        if [r.type for r in self.results] != carried:  # C3
            raise VerifyException(f"'graph.while' op results must be {type_list(carried)}")


class ChosenOp(ControlOp, ABC):
    """Base of the ops that run one function, once: one of several by its number, or the only one.

    `linear [k, ...]` says that results depend linearly on these arguments together: differentiation writes such ops.
    """

    if TYPE_CHECKING:
        linear: DenseArrayBase
        arguments: Sequence[SSAValue]

    @property
    @abstractmethod
    def choice(self) -> SSAValue | None:
        """The value that selects the function; None where there is only one."""

    @abstractmethod
    def with_functions(
        self, functions: Sequence[FuncOp], arguments: Sequence[SSAValue], *, linear: Sequence[int] = (), choice: SSAValue | None
    ) -> ChosenOp:
        """An op of the same kind that runs others; `linear` numbers the arguments from 0, `choice` is as the property."""

    def verify_functions(self, word: str) -> None:
        """Raise VerifyException unless all functions take the arguments and return values of the types of the results."""
        results = [r.type for r in self.results]
        for name in self.callees:
            function = function_of(self, name)
            _require_arguments(self, word, function, [v.type for v in self.arguments])
            if list(function.function_type.outputs) != results:
                rule = f"must return {type_list(results)}, it returns {type_list(function.function_type.outputs)}"
                raise VerifyException(f"'{self.name}' op {word} {name} {rule}")
        if any(not 0 <= k < len(self.arguments) for k in ints(self.linear)):
            raise VerifyException(f"'{self.name}' op linear must be below {len(self.arguments)}, got {ints(self.linear)}")


@irdl_op_definition
class CaseOp(ChosenOp):
    """The results of one of several functions, by its number; the others do not run.

    A number below 0 counts as 0, one past the end as the last. A bool is a number, too, so that two branches are an `if`:
    the first is for false. An `if` has no op of its own, since every fact that a pass knows of `graph.case` holds for it.

    ```mlir
    %y = graph.case %k [@same, @twice, @square](%x) : (tensor<i64>, tensor<4xf32>) -> (tensor<4xf32>)
    %z = graph.case %positive [@no, @yes](%x, %y) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
    ```

    (C1) There is a branch, two for a bool, and each is a function of the module that takes the arguments.
    (C2) All branches return values of the types of the results.
    (C3) The index is a tensor<i1> or a tensor<i64>.
    """

    name = "graph.case"
    SYNTAX: ClassVar[str] = "$index [@branches](arguments) (linear [linear])?"
    branches = prop_def(ArrayAttr[SymbolRefAttr])
    linear = prop_def(_INTS)
    index = operand_def(TensorType)
    arguments = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)

    @staticmethod
    def make(
        index: SSAValue, branches: Sequence[FuncOp], arguments: Sequence[SSAValue], *, linear: Sequence[int] = ()
    ) -> CaseOp:
        """A choice between functions; `linear` numbers the arguments from 0."""
        return CaseOp.create(
            operands=[index, *arguments],
            result_types=list(branches[0].function_type.outputs),
            properties={
                "branches": ArrayAttr([SymbolRefAttr(branch.sym_name.data) for branch in branches]),
                "linear": DenseArrayBase.from_list(i64, list(linear)),
            },
        )

    @property
    def callees(self) -> tuple[SymbolRefAttr, ...]:
        return tuple(self.branches.data)

    @property
    def choice(self) -> SSAValue:
        return self.index

    def with_functions(
        self, functions: Sequence[FuncOp], arguments: Sequence[SSAValue], *, linear: Sequence[int] = (), choice: SSAValue | None
    ) -> CaseOp:
        assert choice is not None
        return CaseOp.make(choice, functions, arguments, linear=linear)

    def verify_(self) -> None:
        if self.index.type not in (FLAG, INDEX):  # C3
            raise VerifyException(f"'graph.case' op index must be a tensor<i1> or a tensor<i64>, got {self.index.type}")
        n = len(self.callees)
        if n == 0 or (self.index.type == FLAG and n != 2):  # C1
            raise VerifyException(f"'graph.case' op needs a branch, and two for a tensor<i1>, got {n}")
        self.verify_functions("branch")  # C1, C2


@irdl_op_definition
class CallOp(ChosenOp):
    """The results of one function, which is compiled once however often it is called.

    `graph-inline` expands a `func.call`; a `graph.call` stays a call. `graph-reroll` writes
    such calls for bodies that are repeated, as the layers of a network. Passes see less of such a
    graph: they fuse and simplify nothing across a call.

    ```mlir
    %y = graph.call @layer(%x, %w) : (tensor<32x64xf32>, tensor<64x64xf32>) -> (tensor<32x64xf32>)
    ```

    (C1) `callee` is a function of the module that takes the arguments.
    (C2) It returns values of the types of the results.
    """

    name = "graph.call"
    SYNTAX: ClassVar[str] = "@callee(arguments) (linear [linear])?"
    callee = prop_def(SymbolRefAttr)
    linear = prop_def(_INTS)
    arguments = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)

    @staticmethod
    def make(function: FuncOp, arguments: Sequence[SSAValue], *, linear: Sequence[int] = ()) -> CallOp:
        """A call; `linear` numbers the arguments from 0."""
        return CallOp.create(
            operands=list(arguments),
            result_types=list(function.function_type.outputs),
            properties={
                "callee": SymbolRefAttr(function.sym_name.data),
                "linear": DenseArrayBase.from_list(i64, list(linear)),
            },
        )

    @property
    def choice(self) -> None:
        return None

    def with_functions(
        self, functions: Sequence[FuncOp], arguments: Sequence[SSAValue], *, linear: Sequence[int] = (), choice: SSAValue | None
    ) -> CallOp:
        (function,) = functions
        return CallOp.make(function, arguments, linear=linear)

    def verify_(self) -> None:
        self.verify_functions("function")  # C1, C2


def _require_arguments(op: ControlOp, word: str, function: FuncOp, given: Sequence[Attribute]) -> None:
    takes = list(function.function_type.inputs)
    if takes != list(given):
        name = f"@{function.sym_name.data}"
        raise VerifyException(f"'{op.name}' op {word} {name} must take {type_list(given)}, it takes {type_list(takes)}")

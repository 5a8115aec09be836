"""Functions with derivatives of their own.

graph.custom_derivative   a call of a function whose derivative is given by others
graph.transpose_of        the linear map whose transpose is a function; only inside of graph.transposed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import ArrayAttr, SymbolRefAttr, TensorType, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from ..facts import OwnDerivative
from ..symbols import find_symbol
from ..syntax import TextOp
from .autodiff import function_of, has_tangent, type_list
from .effects import EffectsOfFunctions


@irdl_op_definition
class CustomDerivativeOp(TextOp):
    """A call of `callee`, whose derivatives other functions compute instead of its ops.

        jvp @rule:              results, tangents  = rule(consts, arguments, tangents of float arguments)
        vjp @forward, @reverse: results, residuals = forward(consts, arguments)
                                gradients          = reverse(consts, residuals, cotangents of float results)

    A rule is differentiated in its turn where a derivative is. With both, forward mode takes `jvp` and reverse mode `vjp`; with
    `vjp` alone there is no derivative in forward mode, unless the call stands `in_rule` of reverse mode: there forward mode is
    the transpose of `reverse`, as reverse mode over reverse mode would be. Where nothing is differentiated the op is a call.

    ```mlir
    %y = graph.custom_derivative @f consts() args(%x) jvp @rule : (tensor<4xf32>) -> (tensor<4xf32>)
    %z = graph.custom_derivative @g consts(%c) args(%x) vjp @forward, @reverse : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
    ```

    `jvp @rule vjp @forward, @reverse` gives both; `vjp @forward, @reverse in_rule` is a call in a rule.

    (C1) `callee` and the rules are functions of the module; `callee` is one of the consts and the arguments.
    (C2) Results have the types that `callee` returns.
    (C3) A rule takes and returns the values listed above; consts have no tangents.
    """

    name = "graph.custom_derivative"
    SYNTAX: ClassVar[str] = "@callee consts(consts) args(arguments) (jvp @jvp)? (vjp @forward, @reverse)? ?in_rule"
    callee = prop_def(SymbolRefAttr)
    jvp = opt_prop_def(SymbolRefAttr)
    forward = opt_prop_def(SymbolRefAttr)
    reverse = opt_prop_def(SymbolRefAttr)
    in_rule = opt_prop_def(UnitAttr)
    consts = var_operand_def(TensorType)
    arguments = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(EffectsOfFunctions(), OwnDerivative())

    @staticmethod
    def make(
        callee: str,
        rules: Sequence[str],
        consts: Sequence[SSAValue],
        arguments: Sequence[SSAValue],
        results: Sequence[Attribute],
        in_rule: bool = False,
    ) -> CustomDerivativeOp:
        """A call of `callee`; `rules` are the name of one for `jvp`, or of two for `vjp`, or of all three."""
        flag = {"in_rule": UnitAttr()} if in_rule else {}
        named = zip(("jvp", "forward", "reverse")[len(rules) == 2 :], rules, strict=False)
        return CustomDerivativeOp(
            operands=[consts, arguments],
            result_types=[results],
            properties={"callee": SymbolRefAttr(callee), **{name: SymbolRefAttr(rule) for name, rule in named}, **flag},
        )

    @property
    def rules(self) -> tuple[SymbolRefAttr, ...]:
        """The functions that derivatives are computed by: one for forward mode, two for reverse mode, or all three."""
        return tuple(rule for rule in (self.jvp, self.forward, self.reverse) if rule is not None)

    @property
    def floats(self) -> list[SSAValue]:
        """The arguments that have tangents."""
        return [value for value in self.arguments if has_tangent(value.type)]

    def verify_(self) -> None:
        given, results = _types(self.operands), _types(self.results)
        callee = function_of(self, self.callee)
        _require(self, self.callee, "take", callee.function_type.inputs, given)  # C1
        if list(callee.function_type.outputs) != results:  # C2
            raise VerifyException(
                f"'{self.name}' op results must be {type_list(callee.function_type.outputs)}, got {type_list(results)}"
            )
        tangents = _types(self.floats)
        moved = [type for type in results if has_tangent(type)]
        if len(self.rules) not in (1, 2, 3) or (self.forward is None) != (self.reverse is None):
            raise VerifyException(f"'{self.name}' op needs a rule jvp, two rules vjp, or both")
        if self.jvp is not None:
            rule = function_of(self, self.jvp)
            _require(self, self.jvp, "take", rule.function_type.inputs, [*given, *tangents])  # C3
            _require(self, self.jvp, "return", rule.function_type.outputs, [*results, *moved])
        if self.forward is not None and self.reverse is not None:
            forward, reverse = function_of(self, self.forward), function_of(self, self.reverse)
            _require(self, self.forward, "take", forward.function_type.inputs, given)  # C3
            outputs = list(forward.function_type.outputs)
            _require(self, self.forward, "return first", outputs[: len(results)], results)
            taken = [*_types(self.consts), *outputs[len(results) :], *moved]
            _require(self, self.reverse, "take", reverse.function_type.inputs, taken)
            _require(self, self.reverse, "return", reverse.function_type.outputs, tangents)


@irdl_op_definition
class TransposeOfOp(TextOp):
    """The linear map of tangents to tangents whose transpose is `reverse(fixed, cotangents)`; graph-transpose calls that.

    It has no other meaning: reverse mode writes it into the region of a `graph.transposed`, for a function with a rule `vjp`.

    ```mlir
    %dy = graph.transpose_of @reverse fixed(%residual) args(%dx) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
    ```

    (C1) `callee` is a function of the module, of `fixed` and of values of the types of the results; it returns values of the
    types of the arguments.
    """

    name = "graph.transpose_of"
    SYNTAX: ClassVar[str] = "@callee fixed(fixed) args(arguments)"
    callee = prop_def(SymbolRefAttr)
    fixed = var_operand_def(TensorType)
    arguments = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(EffectsOfFunctions())

    @staticmethod
    def make(
        callee: SymbolRefAttr, fixed: Sequence[SSAValue], arguments: Sequence[SSAValue], results: Sequence[Attribute]
    ) -> TransposeOfOp:
        return TransposeOfOp(operands=[fixed, arguments], result_types=[results], properties={"callee": callee})

    def verify_(self) -> None:
        reverse = function_of(self, self.callee)  # C1
        _require(self, self.callee, "take", reverse.function_type.inputs, [*_types(self.fixed), *_types(self.results)])
        _require(self, self.callee, "return", reverse.function_type.outputs, _types(self.arguments))


def has_reverse_rules(function: FuncOp) -> bool:
    """Whether a function, or one that it names, calls one with rules of reverse mode."""
    seen, waiting = {function}, [function]
    while waiting:
        for op in waiting.pop().walk():
            if isinstance(op, CustomDerivativeOp) and op.reverse is not None:
                return True
            values = [v for p in op.properties.values() for v in (p.data if isinstance(p, ArrayAttr) else (p,))]
            called = [find_symbol(op, name) for name in values if isinstance(name, SymbolRefAttr)]
            new = [f for f in called if isinstance(f, FuncOp) and f not in seen]
            seen.update(new)
            waiting += new
    return False


def _types(values: Sequence[SSAValue]) -> list[Attribute]:
    return [value.type for value in values]


def _require(op: IRDLOperation, name: SymbolRefAttr, verb: str, found: Any, wanted: Sequence[Attribute]) -> None:
    if list(found) != list(wanted):
        raise VerifyException(f"'{op.name}' op needs {name} to {verb} {type_list(wanted)}, got {type_list(found)}")

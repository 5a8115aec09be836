"""Functions that bring their own derivatives.

graph.custom_derivative   a call of a function whose derivative is given by others
graph.transpose_of        the linear map whose transpose is a function; only inside of graph.transposed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase as Ints
from xdsl.dialects.builtin import SymbolRefAttr, TensorType, i32
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
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import VerifyException

from ..assembly import parse_signature, parse_values, print_signature, print_values
from .autodiff import has_tangent
from .effects import EffectsOfFunctions


@irdl_op_definition
class CustomDerivativeOp(IRDLOperation):
    """A call of `callee`; derivatives are those that other functions compute, instead of those of its ops.

        jvp @rule:              results, tangents  = rule(consts, arguments, tangents of float arguments)
        vjp @forward, @reverse: results, residuals = forward(consts, arguments)
                                gradients          = reverse(consts, residuals, cotangents of float results)

    A rule is differentiated in its turn where a derivative is. With both, forward mode takes `jvp` and reverse mode `vjp`; with
    `vjp` alone there is no derivative in forward mode. Where nothing is differentiated the op is a call.

    ```mlir
    %y = graph.custom_derivative @f consts() args(%x) jvp @rule : (tensor<4xf32>) -> (tensor<4xf32>)
    %z = graph.custom_derivative @g consts(%c) args(%x) vjp @forward, @reverse : (tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
    ```

    `jvp @rule vjp @forward, @reverse` gives both.

    (C1) `callee` and the rules are functions of the module; `callee` is one of the consts and the arguments.
    (C2) Results have the types that `callee` returns.
    (C3) A rule takes and returns what stands above; consts have no tangents.
    """

    name = "graph.custom_derivative"
    callee = prop_def(SymbolRefAttr)
    jvp = opt_prop_def(SymbolRefAttr)
    forward = opt_prop_def(SymbolRefAttr)
    reverse = opt_prop_def(SymbolRefAttr)
    consts = var_operand_def(TensorType)
    arguments = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(EffectsOfFunctions())

    @staticmethod
    def make(
        callee: str,
        rules: Sequence[str],
        consts: Sequence[SSAValue],
        arguments: Sequence[SSAValue],
        results: Sequence[Attribute],
    ) -> CustomDerivativeOp:
        """A call of `callee`; `rules` are the name of one for `jvp`, or of two for `vjp`, or of all three."""
        return CustomDerivativeOp.create(
            operands=[*consts, *arguments],
            result_types=results,
            properties=_properties(callee, rules, len(consts), len(arguments)),
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
        callee = _function(self, self.callee)
        _require(self, self.callee, "take", callee.function_type.inputs, given)  # C1
        if list(callee.function_type.outputs) != results:  # C2
            raise VerifyException(
                f"'{self.name}' op results must be {_shown(callee.function_type.outputs)}, got {_shown(results)}"
            )
        tangents = _types(self.floats)
        moved = [type for type in results if has_tangent(type)]
        if len(self.rules) not in (1, 2, 3) or (self.forward is None) != (self.reverse is None):
            raise VerifyException(f"'{self.name}' op needs a rule jvp, two rules vjp, or both")
        if self.jvp is not None:
            rule = _function(self, self.jvp)
            _require(self, self.jvp, "take", rule.function_type.inputs, [*given, *tangents])  # C3
            _require(self, self.jvp, "return", rule.function_type.outputs, [*results, *moved])
        if self.forward is not None and self.reverse is not None:
            forward, reverse = _function(self, self.forward), _function(self, self.reverse)
            _require(self, self.forward, "take", forward.function_type.inputs, given)  # C3
            outputs = list(forward.function_type.outputs)
            _require(self, self.forward, "return first", outputs[: len(results)], results)
            taken = [*_types(self.consts), *outputs[len(results) :], *moved]
            _require(self, self.reverse, "take", reverse.function_type.inputs, taken)
            _require(self, self.reverse, "return", reverse.function_type.outputs, tangents)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        for word, values in (("consts", self.consts), ("args", self.arguments)):
            printer.print_string(f" {word}")
            print_values(printer, values)
        for word, rules in (("jvp", (self.jvp,)), ("vjp", (self.forward, self.reverse))):
            if (given := [rule for rule in rules if rule is not None]) != []:
                printer.print_string(f" {word} ")
                printer.print_list(given, printer.print_attribute)
        print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> CustomDerivativeOp:
        position = parser.pos
        callee = parser.parse_symbol_name().data
        groups: list[list[Any]] = []
        for word in ("consts", "args"):
            parser.parse_keyword(word)
            groups.append(parse_values(parser))
        rules = []
        if parser.parse_optional_keyword("jvp") is not None:
            rules.append(parser.parse_symbol_name().data)
        if parser.parse_optional_keyword("vjp") is not None or not rules:
            rules += [parser.parse_symbol_name().data]
            parser.parse_punctuation(",")
            rules += [parser.parse_symbol_name().data]
        attributes, operand_types, result_types = parse_signature(parser)
        return cls.create(
            operands=parser.resolve_operands([v for group in groups for v in group], operand_types, position),
            result_types=result_types,
            properties=_properties(callee, rules, *map(len, groups)),
            attributes=attributes,
        )


@irdl_op_definition
class TransposeOfOp(IRDLOperation):
    """The linear map of tangents to tangents whose transpose is `reverse(fixed, cotangents)`; graph-transpose calls that.

    It has no other meaning: reverse mode writes it into the region of a `graph.transposed`, for a function with a rule `vjp`.

    ```mlir
    %dy = graph.transpose_of @reverse fixed(%residual) args(%dx) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
    ```

    (C1) `callee` is a function of the module, of `fixed` and of values of the types of the results; it returns values of the
    types of the arguments.
    """

    name = "graph.transpose_of"
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
        return TransposeOfOp.create(
            operands=[*fixed, *arguments],
            result_types=results,
            properties={"callee": callee, "operandSegmentSizes": Ints.from_list(i32, [len(fixed), len(arguments)])},
        )

    def verify_(self) -> None:
        reverse = _function(self, self.callee)  # C1
        _require(self, self.callee, "take", reverse.function_type.inputs, [*_types(self.fixed), *_types(self.results)])
        _require(self, self.callee, "return", reverse.function_type.outputs, _types(self.arguments))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        for word, values in (("fixed", self.fixed), ("args", self.arguments)):
            printer.print_string(f" {word}")
            print_values(printer, values)
        print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> TransposeOfOp:
        position = parser.pos
        callee = SymbolRefAttr(parser.parse_symbol_name())
        groups: list[list[Any]] = []
        for word in ("fixed", "args"):
            parser.parse_keyword(word)
            groups.append(parse_values(parser))
        attributes, operand_types, result_types = parse_signature(parser)
        values = parser.resolve_operands([v for group in groups for v in group], operand_types, position)
        op = cls.make(callee, values[: len(groups[0])], values[len(groups[0]) :], result_types)
        op.attributes.update(attributes)
        return op


def _properties(callee: str, rules: Sequence[str], n_consts: int, n_arguments: int) -> dict[str, Attribute]:
    names = ("jvp", "forward", "reverse")[len(rules) == 2 :][: len(rules)]
    return {
        "callee": SymbolRefAttr(callee),
        **{name: SymbolRefAttr(rule) for name, rule in zip(names, rules, strict=True)},
        "operandSegmentSizes": Ints.from_list(i32, [n_consts, n_arguments]),
    }


def _types(values: Sequence[SSAValue]) -> list[Attribute]:
    return [value.type for value in values]


def _function(op: IRDLOperation, name: SymbolRefAttr) -> FuncOp:
    found = SymbolTable.lookup_symbol(op, name)
    if not isinstance(found, FuncOp):
        raise VerifyException(f"'{op.name}' op names no function of the module: {name}")
    return found


def _require(op: IRDLOperation, name: SymbolRefAttr, verb: str, found: Any, wanted: Sequence[Attribute]) -> None:
    if list(found) != list(wanted):
        raise VerifyException(f"'{op.name}' op needs {name} to {verb} {_shown(wanted)}, got {_shown(found)}")


def _shown(types: Any) -> str:
    return f"({', '.join(map(str, types))})"

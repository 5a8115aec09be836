"""Structure of graphs: `graph.fusion` groups ops that become one kernel, `graph.yield` ends a region."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a region and gives its results.

    ```mlir
    graph.yield %y : tensor<4xf32>
    ```
    """

    name = "graph.yield"
    values = var_operand_def(TensorType)
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "($values^ `:` type($values))? attr-dict"


@irdl_op_definition
class FusionOp(IRDLOperation):
    """Ops that are computed by one kernel; the region sees only its arguments.

    ```mlir
    %y = graph.fusion (%a = %x : tensor<4xf32>, %b = %w : tensor<4xf32>) -> tensor<4xf32> {
      %s = graph.add %a, %b : tensor<4xf32>
      %r = graph.tanh %s : tensor<4xf32>
      graph.yield %r : tensor<4xf32>
    }
    ```

    (C1) Region arguments have the types of the operands.
    (C2) The yielded values have the types of the results.
    """

    name = "graph.fusion"
    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    body = region_def("single_block")
    traits = traits_def(Pure(), IsolatedFromAbove())

    def yield_op(self) -> YieldOp:
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last

    def verify_(self) -> None:
        block = self.body.block
        if [a.type for a in block.args] != [o.type for o in self.operands]:  # C1
            raise VerifyException(
                f"'graph.fusion' op region arguments must have the operand types, got "
                f"({', '.join(str(a.type) for a in block.args)}) for ({', '.join(str(o.type) for o in self.operands)})"
            )
        last = block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("'graph.fusion' op region must end with graph.yield")
        if [v.type for v in last.operands] != [r.type for r in self.results]:  # C2
            raise VerifyException(
                f"'graph.fusion' op yielded types must be the result types, got "
                f"({', '.join(str(v.type) for v in last.operands)}) for ({', '.join(str(r.type) for r in self.results)})"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" (")
        for k, (arg, operand) in enumerate(zip(self.body.block.args, self.operands, strict=True)):
            if k:
                printer.print_string(", ")
            printer.print_ssa_value(arg)
            printer.print_string(" = ")
            printer.print_ssa_value(operand)
            printer.print_string(" : ")
            printer.print_attribute(operand.type)
        printer.print_string(") -> ")
        results = [r.type for r in self.results]
        if len(results) == 1:
            printer.print_attribute(results[0])
        else:
            printer.print_string("(")
            printer.print_list(results, printer.print_attribute)
            printer.print_string(")")
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> FusionOp:
        def binding() -> tuple[Parser.Argument, SSAValue]:
            argument = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            operand = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            type = parser.parse_type()
            return argument.resolve(type), parser.resolve_operand(operand, type)

        bindings = parser.parse_comma_separated_list(parser.Delimiter.PAREN, binding)
        parser.parse_punctuation("->")
        if parser.parse_optional_punctuation("("):
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            parser.parse_punctuation(")")
        else:
            types = [parser.parse_type()]
        region = parser.parse_region([argument for argument, _ in bindings])
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            operands=[operand for _, operand in bindings],
            result_types=types,
            regions=[region],
            attributes={} if attributes is None else attributes.data,
        )

"""Structure of graphs: `graph.fusion` groups ops into one kernel, and `graph.yield` ends a region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, region_def, traits_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ..operations import BaseOp, ops_of
from ..types import DYNAMIC, element_of, shape_of
from .base import GraphOp, ints


@irdl_op_definition
class YieldOp(BaseOp):
    """Ends a region and gives its results.

    ```mlir
    graph.yield %y : tensor<4xf32>
    ```
    """

    name = "graph.yield"
    values = var_operand_def(TensorType)
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "($values^ `:` type($values))? attr-dict"


@dataclass
class Structure:
    """A normal form of blocks: equal for blocks that compute the same from their arguments, whatever the order of their ops.

    Attributes:
        ops: operands before users, from the last op on: corresponding ops of equal blocks have the same position.
        numbers: of the values.
        key: equal for such blocks.
    """

    ops: list[Operation]
    numbers: dict[SSAValue, int]
    key: tuple[object, ...]


def structure_of(block: Block) -> Structure:
    """The structure of a block whose ops have no regions. Linear time."""
    number: dict[SSAValue, int] = {argument: k for k, argument in enumerate(block.args)}
    rows: list[object] = [tuple([argument.type for argument in block.args])]
    found: dict[Operation, None] = {}
    work: list[Any] = [*reversed(list(ops_of(block))), block.last_op]
    while work:
        op = work[-1]
        before = [] if op in found else [operand.owner for operand in reversed(op._operands) if operand not in number]
        work += before
        if before:
            continue
        work.pop()
        if op in found:
            continue
        found[op] = None
        properties = tuple(sorted(op.properties.items())) if op.properties else ()
        operands, types = tuple([number[o] for o in op._operands]), tuple([result.type for result in op.results])
        rows.append((op.name, properties, operands, types))
        for result in op.results:
            number[result] = len(number)
    return Structure(list(found), number, tuple(rows))


@irdl_op_definition
class FusionOp(BaseOp):
    """Ops that are computed by one kernel; the region sees only its arguments.

    ```mlir
    %y = graph.fusion (%a = %x : tensor<8x64xf32>) -> tensor<8x64xf32> order [1, 0] {
      %s = graph.reduce add %a over [0] : tensor<8x64xf32> -> tensor<64xf32>
      %b = graph.broadcast %s to [1] : tensor<64xf32> -> tensor<8x64xf32>
      %d = graph.div %a, %b : tensor<8x64xf32>
      graph.yield %d : tensor<8x64xf32>
    }
    ```

    The kernel stores its results in one nest and computes every other value in the outermost loop that has its indices.
    `order` has the dims of the results in the order of their loops, outermost first; without it that of the dims. With
    `prologues 2`, the last two values of `graph.yield` are no results: they are stored first, each in a nest of its own, in
    this order, and an op that reads one many times, as a contraction does, loads it. A region may see its operands, and give
    its results, under another shape with the same order of elements: `%a = %x : tensor<2x12xf32> as tensor<24xf32>`.

    (C1) Region arguments have the types of the operands, or hold their elements under another static shape.
    (C2) The yielded values have the types of the results, or hold their elements under another static shape.
    (C3) `order` is a permutation of the dims of each result, as it is yielded.
    (C4) `prologues` is a number from 1 on; as many values of static shape are yielded after those of the results.
    (C5) Where an op of the region writes its own loops, or gives a result with several equations, there are no `order` and no
    `prologues`.
    """

    name = "graph.fusion"
    inputs = var_operand_def(TensorType)
    order = opt_prop_def(DenseArrayBase.constr(i64))
    prologues = opt_prop_def(IntegerAttr.constr(i64))
    outputs = var_result_def(TensorType)
    body = region_def("single_block")
    traits = traits_def(Pure(), IsolatedFromAbove())

    def yield_op(self) -> YieldOp:
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last

    def loop_order(self) -> tuple[int, ...]:
        """The dims of the results, as they are yielded, in the order of their loops."""
        return tuple(range(len(shape_of(self.yielded()[0])))) if self.order is None else ints(self.order)

    def yielded(self) -> Sequence[SSAValue]:
        """The values of the region that become the results."""
        return self.yield_op().operands[: len(self.results)]

    def stored_first(self) -> list[SSAValue]:
        """The values of the region that are stored before the nest of the results, in this order.

        An argument or a constant, which rewriting may leave among them, is not stored again.
        """
        values = dict.fromkeys(self.yield_op().operands[len(self.results) :])
        return [v for v in values if isinstance(v.owner, GraphOp) and v.owner.single_equation() is not None]

    def set_order(self, order: Sequence[int]) -> None:
        """Set the order of loops; the order of the dims is the default and is not written."""
        self.properties.pop("order", None)
        if list(order) != sorted(order):
            self.properties["order"] = DenseArrayBase.from_list(i64, order)

    def set_prologues(self, values: Sequence[SSAValue]) -> None:
        """Set the values of the region that are stored first."""
        self.yield_op().operands = [*self.yielded(), *values]
        self.properties.pop("prologues", None)
        if values:
            self.properties["prologues"] = IntegerAttr(len(values), i64)

    def verify_(self) -> None:
        block = self.body.block
        if not _same_elements(block.args, self.operands):  # C1
            raise VerifyException(
                f"'graph.fusion' op region arguments must have the operand types, or their elements under another shape, got "
                f"{_types(block.args)} for {_types(self.operands)}"
            )
        last = block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("'graph.fusion' op region must end with graph.yield")
        n_first = 0 if self.prologues is None else self.prologues.value.data
        first = last.operands[len(self.results) :]
        if len(first) != n_first or (self.prologues is not None and n_first < 1):  # C4
            rule = f"must yield {len(self.results)} results and {n_first} prologues"
            raise VerifyException(f"'graph.fusion' op {rule}, got {len(last.operands)} values")
        for value in first:
            if DYNAMIC in shape_of(value):  # C4
                raise VerifyException(f"'graph.fusion' op prologues must have static shapes, got {value.type}")
        if not _same_elements(self.yielded(), self.results):  # C2
            raise VerifyException(
                f"'graph.fusion' op yielded types must be the result types, or hold their elements under another shape, got "
                f"{_types(self.yielded())} for {_types(self.results)}"
            )
        if self.order is not None:
            self._verify_order(ints(self.order))
        if self.order is not None or self.prologues is not None:
            self._verify_one_nest()

    def _verify_order(self, order: tuple[int, ...]) -> None:
        for value in self.yielded():
            rank = len(shape_of(value))
            if sorted(order) != list(range(rank)):  # C3
                raise VerifyException(
                    f"'graph.fusion' op order must be a permutation of the {rank} dims that are yielded, got {list(order)}"
                )

    def _verify_one_nest(self) -> None:
        for op in ops_of(self.body.block):
            if isinstance(op, GraphOp) and (op.has_nest or (op.equations() and op.single_equation() is None)):  # C5
                raise VerifyException(f"'graph.fusion' op has no order and no prologues: '{op.name}' op has loops of its own")

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
            if arg.type != operand.type:
                printer.print_string(" as ")
                printer.print_attribute(arg.type)
        printer.print_string(") -> ")
        results = [r.type for r in self.results]
        if len(results) == 1:
            printer.print_attribute(results[0])
        else:
            printer.print_string("(")
            printer.print_list(results, printer.print_attribute)
            printer.print_string(")")
        if self.order is not None:
            printer.print_string(f" order {list(ints(self.order))}")
        if self.prologues is not None:
            printer.print_string(f" prologues {self.prologues.value.data}")
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
            inside = parser.parse_type() if parser.parse_optional_keyword("as") else type
            return argument.resolve(inside), parser.resolve_operand(operand, type)

        bindings = parser.parse_comma_separated_list(parser.Delimiter.PAREN, binding)
        parser.parse_punctuation("->")
        if parser.parse_optional_punctuation("("):
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            parser.parse_punctuation(")")
        else:
            types = [parser.parse_type()]
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("order"):
            numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            properties["order"] = DenseArrayBase.from_list(i64, numbers)
        if parser.parse_optional_keyword("prologues"):
            properties["prologues"] = IntegerAttr(parser.parse_integer(), i64)
        region = parser.parse_region([argument for argument, _ in bindings])
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            operands=[operand for _, operand in bindings],
            result_types=types,
            properties=properties,
            regions=[region],
            attributes={} if attributes is None else attributes.data,
        )


def _same_elements(ones: Sequence[SSAValue], others: Sequence[SSAValue]) -> bool:
    """Whether values have the types of others, or hold as many elements of the same kind under other static shapes."""
    return len(ones) == len(others) and all(
        one.type == other.type
        or (
            element_of(one) == element_of(other)
            and DYNAMIC not in (*shape_of(one), *shape_of(other))
            and prod(shape_of(one)) == prod(shape_of(other))
        )
        for one, other in zip(ones, others, strict=True)
    )


def _types(values: Sequence[SSAValue]) -> str:
    return f"({', '.join(str(value.type) for value in values)})"

"""Loops of host functions: a host function is called again and again on buffers that take turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    MemRefType,
    SymbolRefAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from ..types import memref

GROUPS = ("consts", "carry", "spare", "over", "into")
_INDEX = memref(i64, ())


@irdl_op_definition
class RepeatOp(IRDLOperation):
    """Call a host function `count` times, each time on what the last call left.

    `carry` holds the carried values, before and after; `spare` is a second buffer for each, and the calls go from one to the
    other. `over` and `into` are stacks: call `i` reads slice `i` of the ones and writes slice `i` of the others. `index` is
    where `i` is stored for the function, which runs from 0, or with `reverse` from the last down to 0.

    ```mlir
    loop.repeat @step count 10 index(%i) consts(%w) carry(%h) spare(%t) over(%xs) into(%ys)
        : (memref<i64>, memref<4x4xf32>, memref<4xf32>, memref<4xf32>, memref<10x4xf32>, memref<10x4xf32>)
    ```

    (C1) There is a spare buffer of the same type for every carried value.
    (C2) The first dim of every stack is the count, which is a number where there are stacks.
    (C3) A count is a number that is not negative, or a memref<i64>, whose value is taken as 0 when it is negative.
    """

    name = "loop.repeat"
    callee = prop_def(FlatSymbolRefAttrConstr)
    trips = prop_def(IntegerAttr)
    reverse = opt_prop_def(UnitAttr)
    count = opt_operand_def(MemRefType)
    index = operand_def(MemRefType)
    consts = var_operand_def(MemRefType)
    carry = var_operand_def(MemRefType)
    spare = var_operand_def(MemRefType)
    over = var_operand_def(MemRefType)
    into = var_operand_def(MemRefType)
    arena = opt_operand_def(MemRefType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @staticmethod
    def make(
        callee: str,
        count: int | SSAValue,
        index: SSAValue,
        groups: Sequence[Sequence[SSAValue]],
        *,
        reverse: bool = False,
        arena: SSAValue | None = None,
    ) -> RepeatOp:
        """The op; `groups` are consts, carry, spare, over and into."""
        dynamic = [] if isinstance(count, int) else [count]
        memory = [] if arena is None else [arena]
        properties: dict[str, Attribute] = {
            "callee": SymbolRefAttr(callee),
            "trips": IntegerAttr(count if isinstance(count, int) else -1, i64),
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [len(dynamic), 1, *map(len, groups), len(memory)]),
        }
        if reverse:
            properties["reverse"] = UnitAttr()
        return RepeatOp.create(operands=[*dynamic, index, *(v for g in groups for v in g), *memory], properties=properties)

    @property
    def groups(self) -> list[Sequence[SSAValue]]:
        """Consts, carry, spare, over and into."""
        return [self.consts, self.carry, self.spare, self.over, self.into]

    def with_arena(self, arena: SSAValue) -> RepeatOp:
        """The same with memory for the function's own buffers."""
        count = self.trips.value.data if self.count is None else self.count
        made = RepeatOp.make(
            self.callee.string_value(), count, self.index, self.groups, reverse=self.reverse is not None, arena=arena
        )
        made.attributes.update(self.attributes)
        made.location = self.location
        return made

    def verify_(self) -> None:
        trips = self.trips.value.data
        if (trips < 0) != (self.count is not None):  # C3
            raise VerifyException(f"'loop.repeat' op count must be a number that is not negative or a value, got {trips}")
        for name, value in (("count", self.count), ("index", self.index)):
            if value is not None and value.type != _INDEX:  # C3
                raise VerifyException(f"'loop.repeat' op {name} must be a memref<i64>, got {value.type}")
        if [v.type for v in self.carry] != [v.type for v in self.spare]:  # C1
            raise VerifyException("'loop.repeat' op needs a spare buffer of the same type for every carried value")
        for stack in (*self.over, *self.into):
            shape = stack.type.get_shape()  # pyright: ignore[reportAttributeAccessIssue]
            if not shape or shape[0] != trips:  # C2
                raise VerifyException(f"'loop.repeat' op stacks need a first dim of the count {trips}, got {stack.type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.callee.root_reference.data)
        printer.print_string(" count ")
        if self.count is None:
            printer.print_string(str(self.trips.value.data))
        else:
            printer.print_ssa_value(self.count)
        if self.reverse is not None:
            printer.print_string(" reverse")
        for word, values in (("index", [self.index]), *zip(GROUPS, self.groups, strict=True)):
            _print_group(printer, word, values)
        if self.arena is not None:
            _print_group(printer, "arena", [self.arena])
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : (")
        printer.print_list([o.type for o in self.operands], printer.print_attribute)
        printer.print_string(")")

    @classmethod
    def parse(cls, parser: Parser) -> RepeatOp:
        position = parser.pos
        callee = parser.parse_symbol_name()
        parser.parse_keyword("count")
        trips = parser.parse_optional_integer(allow_boolean=False)
        dynamic = [parser.parse_unresolved_operand()] if trips is None else []
        reverse = parser.parse_optional_keyword("reverse") is not None
        groups: list[list[Any]] = []
        for word in ("index", *GROUPS):
            parser.parse_keyword(word)
            groups.append(parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand))
        memory: list[Any] = []
        if parser.parse_optional_keyword("arena") is not None:
            memory = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        if len(groups[0]) != 1 or len(memory) > 1:
            parser.raise_error("'loop.repeat' op takes one index and at most one arena")
        values = parser.resolve_operands([*dynamic, *(v for g in groups for v in g), *memory], types, position)
        properties: dict[str, Attribute] = {
            "callee": SymbolRefAttr(callee.data),
            "trips": IntegerAttr(-1 if trips is None else trips, i64),
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [len(dynamic), *map(len, groups), len(memory)]),
        }
        if reverse:
            properties["reverse"] = UnitAttr()
        return cls.create(operands=values, properties=properties, attributes=attributes)


def _print_group(printer: Printer, word: str, values: Sequence[SSAValue]) -> None:
    printer.print_string(f" {word}(")
    printer.print_list(values, printer.print_ssa_value)
    printer.print_string(")")

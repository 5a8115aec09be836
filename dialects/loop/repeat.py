"""Loops of host functions: a host function is called again and again on buffers that take turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
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

from ..assembly import CountedCall, parse_type_list, parse_values, print_type_list, print_values
from ..types import memref, shape_of
from .base import LoopOp

GROUPS = ("consts", "carry", "spare", "over", "into")
_INDEX = memref(i64, ())


@irdl_op_definition
class RepeatOp(LoopOp):
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
        call = CountedCall(callee, count if isinstance(count, int) else None, reverse)
        properties = _properties(call, list(map(len, groups)), len(memory))
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
            shape = shape_of(stack)
            if not shape or shape[0] != trips:  # C2
                raise VerifyException(f"'loop.repeat' op stacks need a first dim of the count {trips}, got {stack.type}")

    def print(self, printer: Printer) -> None:
        trips = None if self.count is not None else self.trips.value.data
        CountedCall(self.callee.root_reference.data, trips, self.reverse is not None).print(printer, self.count)
        arena = [] if self.arena is None else [("arena", [self.arena])]
        for word, values in (("index", [self.index]), *zip(GROUPS, self.groups, strict=True), *arena):
            printer.print_string(f" {word}")
            print_values(printer, values)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        print_type_list(printer, self.operands)

    @classmethod
    def parse(cls, parser: Parser) -> RepeatOp:
        position = parser.pos
        call, count = CountedCall.parse(parser)
        groups: list[list[Any]] = []
        for word in ("index", *GROUPS):
            parser.parse_keyword(word)
            groups.append(parse_values(parser))
        memory = [] if parser.parse_optional_keyword("arena") is None else parse_values(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parse_type_list(parser)
        if len(groups[0]) != 1 or len(memory) > 1:
            parser.raise_error("'loop.repeat' op takes one index and at most one arena")
        values = parser.resolve_operands([*count, *(v for g in groups for v in g), *memory], types, position)
        properties = _properties(call, list(map(len, groups[1:])), len(memory))
        return cls.create(operands=values, properties=properties, attributes=attributes)


def _properties(call: CountedCall, lengths: Sequence[int], arenas: int) -> dict[str, Attribute]:
    segments = [int(call.trips is None), 1, *lengths, arenas]
    return {**call.properties, "operandSegmentSizes": DenseArrayBase.from_list(i32, segments)}

"""Parts of the textual form that ops of both dialects share: lists of values and types, signatures, heads of counted calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, SymbolRefAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer


def pairs_attribute(pairs: Iterable[tuple[int, int]]) -> DenseArrayBase[IntegerType]:
    """Pairs of numbers as one property: `array<i64: 1, 0, 2, 0>`."""
    return DenseArrayBase.from_list(i64, [number for pair in pairs for number in pair])


def pairs_of(attribute: DenseArrayBase[IntegerType] | None) -> tuple[tuple[int, int], ...]:
    """The pairs of a property that `pairs_attribute` made; a number at the end that has no partner is left out."""
    numbers = () if attribute is None else attribute.get_values()
    return tuple(zip(numbers[::2], numbers[1::2], strict=False))


def print_over(printer: Printer, result: SSAValue, operand: SSAValue) -> None:
    """`%y over %x`: the one may be the memory of the other."""
    printer.print_ssa_value(result)
    printer.print_string(" over ")
    printer.print_ssa_value(operand)


def print_values(printer: Printer, values: Sequence[SSAValue]) -> None:
    """`(%a, %b)`."""
    printer.print_string("(")
    printer.print_list(values, printer.print_ssa_value)
    printer.print_string(")")


def parse_values(parser: Parser) -> list[Any]:
    """What `print_values` prints, unresolved."""
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)


def print_type_list(printer: Printer, values: Sequence[SSAValue]) -> None:
    """The types of values: `(A, B)`."""
    printer.print_string("(")
    printer.print_list([value.type for value in values], printer.print_attribute)
    printer.print_string(")")


def parse_type_list(parser: Parser) -> list[Attribute]:
    """What `print_type_list` prints."""
    return list(parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type))


def print_types(printer: Printer, values: Sequence[SSAValue]) -> None:
    """The types of values: one as it is, any other number in parentheses."""
    if len(values) == 1:
        printer.print_attribute(values[0].type)
    else:
        print_type_list(printer, values)


def parse_types(parser: Parser) -> list[Attribute]:
    """One type, or any number in parentheses."""
    types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if types is None else list(types)


def print_signature(printer: Printer, op: Operation) -> None:
    """`{attributes} : (A, B) -> (C, D)`."""
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    print_type_list(printer, op.operands)
    printer.print_string(" -> ")
    print_type_list(printer, op.results)


def parse_signature(parser: Parser) -> tuple[dict[str, Attribute], list[Attribute], list[Attribute]]:
    """What `print_signature` prints: the attributes, the types of the operands and of the results."""
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    operands = parse_type_list(parser)
    parser.parse_punctuation("->")
    return attributes, operands, parse_type_list(parser)


@dataclass(frozen=True)
class CountedCall:
    """How often an op calls a function, and in which order: `@callee count 10 reverse`, or `count %n`.

    Attributes:
        callee: the name of the function.
        trips: the number of calls; None: a value says it.
        is_reverse: whether the last one comes first.
    """

    callee: str
    trips: int | None
    is_reverse: bool

    @property
    def properties(self) -> dict[str, Attribute]:
        """As properties `callee`, `trips` (-1: a value says it) and `reverse`."""
        properties: dict[str, Attribute] = {
            "callee": SymbolRefAttr(self.callee),
            "trips": IntegerAttr(-1 if self.trips is None else self.trips, i64),
        }
        if self.is_reverse:
            properties["reverse"] = UnitAttr()
        return properties

    def print(self, printer: Printer, count: SSAValue | None) -> None:
        """Print it, with the value of the count if there is one."""
        printer.print_string(" ")
        printer.print_symbol_name(self.callee)
        printer.print_string(" count ")
        if count is None:
            printer.print_string(str(self.trips))
        else:
            printer.print_ssa_value(count)
        if self.is_reverse:
            printer.print_string(" reverse")

    @classmethod
    def parse(cls, parser: Parser) -> tuple[CountedCall, list[Any]]:
        """What `print` prints, and the unresolved value of the count, if any."""
        callee = parser.parse_symbol_name().data
        parser.parse_keyword("count")
        trips = parser.parse_optional_integer(allow_boolean=False)
        count = [parser.parse_unresolved_operand()] if trips is None else []
        return cls(callee, trips, parser.parse_optional_keyword("reverse") is not None), count

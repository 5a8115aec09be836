"""Parts of the textual form that ops of both dialects share: lists of values and types, signatures, heads of counted calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, SymbolRefAttr, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer


def pairs_attribute(pairs: Iterable[tuple[int, int]]) -> DenseArrayBase[IntegerType]:
    """The property that holds pairs of numbers: `array<i64: 1, 0, 2, 0>`."""
    return DenseArrayBase.from_list(i64, [number for pair in pairs for number in pair])


def pairs_of(attribute: DenseArrayBase[IntegerType] | None) -> tuple[tuple[int, int], ...]:
    """The pairs in a property that `pairs_attribute` made; a last number without a partner is left out."""
    numbers = () if attribute is None else attribute.get_values()
    return tuple(zip(numbers[::2], numbers[1::2], strict=False))


def print_over(printer: Printer, result: SSAValue, operand: SSAValue) -> None:
    """`%y over %x`: `%y` may share the memory of `%x`."""
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
    """The types of values: a single type is bare, any other number stands in parentheses."""
    if len(values) == 1:
        printer.print_attribute(values[0].type)
    else:
        print_type_list(printer, values)


def parse_types(parser: Parser) -> list[Attribute]:
    """One type, or any number in parentheses."""
    types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if types is None else list(types)


def counted_call(callee: str, trips: int, reverse: bool) -> dict[str, Attribute]:
    """The properties of an op that calls a function `count` times (-1: an operand gives it); `reverse` runs backwards."""
    properties: dict[str, Attribute] = {"callee": SymbolRefAttr(callee), "trips": IntegerAttr(trips, i64)}
    return {**properties, "reverse": UnitAttr()} if reverse else properties

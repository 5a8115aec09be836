"""The text of an op from one short pattern that it, or its family, declares.

    syntax = "$lhs, $rhs (batch [lhs_batch] with [rhs_batch])? (contract [lhs_contract] with [rhs_contract])?"

| in the pattern | in the text |
|---|---|
| `$x`, `*xs`, `(xs)` | an operand; operands, as `%a, %b` or as `(%a, %b)` |
| `<kind>`, `'text'` | a string property as a bare word; in quotes |
| `[dims]`, `#axis`, `!value` | a list of integers; an integer; any attribute |
| `#trips\\|$count` | an integer, or where it is -1 the operand that has it |
| `@callee`, `[@branches]` | the name of a symbol; a list of names |
| `?reverse` | the word itself, where the property is there |
| `{body}` | a region |

Other words and commas stand for themselves. A group in `( )?` is omitted where its first property, or else its operand, is
absent or has its default, an empty list or 0. A group whose property is in `text_defaults` of the op may be omitted, and is
printed. After a colon follow

| `types` | |
|---|---|
| `same` | one type, of all operands, from which the results follow |
| `result` | the type of the result; there are no operands |
| `arrow` | `(A, B) -> C`, or `A -> B` with one operand |
| `signature` | `(A, B) -> (C, D)` |
| `operands` | `(A, B)`; there are no results |
| `none` | nothing, and no colon |

xDSL's `assembly_format` says most of this at 0.7 ms an op class at import; this is 0.1 ms, and a 70-op dialect is imported in
every process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation, OptOperandDef, OptPropertyDef, VarOperandDef, VarResultDef
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span

from ..errors import DTypeError, ShapeError
from .assembly import parse_type_list, parse_types, parse_values, print_type_list, print_types, print_values
from .hints import closest
from .operations import BaseOp
from .sizes.attribute import SizesAttr, parse_size, size_text
from .text_defaults import TextDefault
from .types import tensors_of

_TOKEN = re.compile(r"#(\w+)\|\$(\w+)|([$*#!@?])(\w+)|(\(|<|\[@?|'|\{)(\w+)[)>\]'}]|(\()|(\)\?)|(,|\w+)")
_SEGMENTS = "operandSegmentSizes"


@dataclass(frozen=True)
class Token:
    """One element of a pattern: its kind by the characters that mark it (`word` has none), and a name or the word."""

    kind: str
    name: str
    operand: str = ""

    @property
    def is_operand(self) -> bool:
        return self.kind in ("$", "*", "(")

    @property
    def is_property(self) -> bool:
        return self.kind in ("<", "'", "[", "[@", "#", "#|$", "!", "@", "?")


@lru_cache
def _parts(syntax: str) -> tuple[Token | tuple[Token, ...], ...]:
    """The tokens of a pattern; those of a group together."""
    parts: list[Any] = []
    group: list[Token] | None = None
    for trips, count, mark, name, bracket, inside, opens, closes, word in _TOKEN.findall(syntax):
        if opens:
            group = []
        elif closes:
            assert group is not None
            parts.append(tuple(group))
            group = None
        else:
            token = Token("#|$", trips, count) if trips else Token(mark or bracket or "word", name or inside or word)
            (parts if group is None else group).append(token)
    return tuple(parts)


def _silent(cls: type[IRDLOperation], token: Token) -> Attribute | None:
    """The value of a property that an omitted group implies; None: the property is absent."""
    definition = cls.get_irdl_definition().properties[token.name]
    if isinstance(definition, OptPropertyDef):
        return None
    if definition.default_value is not None:
        return definition.default_value
    return DenseArrayBase.from_list(i64, []) if token.kind == "[" else IntegerAttr(0, i64)


# --------------------------------------------------------------------------------------------------------------------
# Printing


def print_op(op: IRDLOperation, printer: Printer, syntax: str, types: str) -> None:
    """Print what follows the op name."""
    tokens = [token for part in _parts(syntax) for token in _said(op, part)]
    in_order = iter(op.operands)
    for k, token in enumerate(tokens):
        if token.name != "," and (token.kind != "(" or k == 0):
            printer.print_string(" ")
        if token.is_operand:
            _print_operands(printer, token, _operands(op, token, in_order))
        elif token.kind == "word":
            printer.print_string(token.name)
        elif token.kind == "{":
            printer.print_region(getattr(op, token.name))
        elif token.kind == "#|$" and (count := getattr(op, token.operand)) is not None:
            printer.print_ssa_value(count)
        else:
            _print_property(printer, token, op.properties[token.name])
    shown = {token.name for part in _parts(syntax) for token in (part if isinstance(part, tuple) else (part,))}
    rest = {name: value for name, value in op.properties.items() if name not in shown and name != _SEGMENTS}
    printer.print_op_attributes({**rest, **op.attributes}, print_keyword=False)
    _print_signature(op, printer, types)


def _said(op: IRDLOperation, part: Token | tuple[Token, ...]) -> Sequence[Token]:
    """The tokens of a part of a pattern that are in the text of an op."""
    if isinstance(part, Token):
        return () if part.kind == "?" and part.name not in op.properties else (part,)
    anchor = next((t for t in part if t.is_property), None)
    if anchor is None:
        return part if any(_operands(op, token, iter(())) for token in part if token.is_operand) else ()
    value = op.properties.get(anchor.name)
    if value is not None and anchor.name in _text_defaults(type(op)):
        return part
    return () if value is None or value == _silent(type(op), anchor) else part


def _text_defaults(cls: Any) -> Mapping[str, TextDefault]:
    return getattr(cls, "text_defaults", {})


def _operands(op: Operation, token: Token, in_order: Iterator[SSAValue]) -> Sequence[SSAValue]:
    if _SEGMENTS not in op.properties:
        return (next(in_order),) if token.kind == "$" else tuple(in_order)
    found = getattr(op, token.name)
    return found if isinstance(found, Sequence) else () if found is None else (found,)


def _print_operands(printer: Printer, token: Token, values: Sequence[SSAValue]) -> None:
    if token.kind == "(":
        print_values(printer, values)
    else:
        printer.print_list(values, printer.print_ssa_value)


def _print_property(printer: Printer, token: Token, value: Any) -> None:
    match token.kind:
        case "<":
            printer.print_string(value.data)
        case "'":
            printer.print_string_literal(value.data)
        case "[":
            sizes = value.data if isinstance(value, SizesAttr) else value.get_values()
            printer.print_string("[" + ", ".join(map(size_text, sizes)) + "]")
        case "[@":
            printer.print_string("[")
            printer.print_list(value.data, printer.print_attribute)
            printer.print_string("]")
        case "#" | "#|$":
            printer.print_string(str(value.value.data))
        case "?":
            printer.print_string(token.name)
        case _:
            printer.print_attribute(value)


def _print_signature(op: Operation, printer: Printer, types: str) -> None:
    if types == "none":
        return
    printer.print_string(" : ")
    if types in ("same", "result"):
        printer.print_attribute((op.operands if types == "same" else op.results)[0].type)
        return
    (print_types if types == "arrow" else print_type_list)(printer, op.operands)
    if types != "operands":
        printer.print_string(" -> ")
        (print_types if types == "arrow" else print_type_list)(printer, op.results)


# --------------------------------------------------------------------------------------------------------------------
# Parsing


class _Reader:
    """The parsed parts of an op: unresolved operands by the names in the pattern, properties and regions."""

    def __init__(self, cls: type[IRDLOperation], parser: Parser, syntax: str):
        self.cls, self.parser = cls, parser
        self.operands: dict[str, list[Any]] = {}
        self.properties: dict[str, Attribute] = {}
        self.regions: list[Region] = []
        self.left_out: list[str] = []
        kinds = [token.kind for part in _parts(syntax) for token in (part if isinstance(part, tuple) else (part,))]
        self.n_operands = -1 if any(kind in ("*", "(", "#|$") for kind in kinds) else kinds.count("$")
        """How many the op takes; -1: that is open."""

    def group(self, tokens: Sequence[Token]) -> None:
        """Read a group, which begins with a word, if it is there."""
        word, *rest = tokens
        if self.parser.parse_optional_keyword(word.name) is not None:
            for token in rest:
                self.token(token)
            return
        for token in rest:
            if token.name in _text_defaults(self.cls):
                self.left_out.append(token.name)
            elif token.is_property and (value := _silent(self.cls, token)) is not None:
                self.properties[token.name] = value

    def token(self, token: Token) -> None:
        parser, name = self.parser, token.name
        match token.kind:
            case "word":
                parser.parse_punctuation(",") if name == "," else parser.parse_keyword(name)
            case "$":
                self.operands[name] = [parser.parse_unresolved_operand()]
                self.require_no_more()
            case "*":
                self.operands[name] = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
            case "(":
                self.operands[name] = parse_values(parser)
            case "{":
                self.regions.append(parser.parse_region())
            case "#|$":
                number = parser.parse_optional_integer(allow_boolean=False)
                self.operands[token.operand] = [parser.parse_unresolved_operand()] if number is None else []
                self.properties[name] = IntegerAttr(-1 if number is None else number, i64)
            case "?":
                if parser.parse_optional_keyword(name) is not None:
                    self.properties[name] = UnitAttr()
            case _:
                self.properties[name] = self.value(token.kind, name)

    def require_no_more(self) -> None:
        """Refuse a comma behind the last operand of an op that takes a certain number of them."""
        if self.n_operands == len(self.operands) and self.parser.parse_optional_punctuation(",") is not None:
            few = "one operand" if self.n_operands == 1 else f"{self.n_operands} operands"
            self.parser.raise_error(f"expected no further operand: '{self.cls.name}' op takes {few}")

    def value(self, kind: str, name: str) -> Attribute:
        parser = self.parser
        match kind:
            case "<":
                if (found := parser.parse_optional_identifier()) is None:
                    parser.raise_error(f"expected a word, the {name}, got '{parser._current_token.text}'")  # pyright: ignore[reportPrivateUsage]
                return _word(found)
            case "'":
                return StringAttr(parser.parse_str_literal())
            case "#":
                return _integer(parser.parse_integer())
            case "@":
                return SymbolRefAttr(parser.parse_symbol_name())
            case "[@":
                names = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_symbol_name)
                return ArrayAttr([SymbolRefAttr(name) for name in names])
            case "[":
                values = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_size(parser))
                is_known = all(isinstance(value, int) for value in values)
                return integers(tuple(values)) if is_known else SizesAttr(tuple(values))
        return parser.parse_attribute()

    def add_segments(self) -> None:
        """Set the property that divides operands into groups, where the op has several."""
        definition = self.cls.get_irdl_definition()
        if not any(isinstance(option, AttrSizedOperandSegments) for option in definition.options):
            return
        sizes = []
        for name, operand in definition.operands:
            sizes.append(len(self.operands.get(name, ())))
            if not isinstance(operand, VarOperandDef) and sizes[-1] != 1:
                self.parser.raise_error(f"'{self.cls.name}' op takes one {name}")
            if isinstance(operand, OptOperandDef) and sizes[-1] > 1:
                self.parser.raise_error(f"'{self.cls.name}' op takes at most one {name}")
        self.properties[_SEGMENTS] = DenseArrayBase.from_list(i32, sizes)


@lru_cache(maxsize=4096)
def integers(values: tuple[int, ...]) -> DenseArrayBase:
    """The attribute of some integers: one object for equal ones, as verification goes by identity (`verified.py`)."""
    return DenseArrayBase.from_list(i64, values)


@lru_cache(maxsize=4096)
def _integer(value: int) -> IntegerAttr:
    return IntegerAttr(value, i64)


@lru_cache(maxsize=4096)
def _word(text: str) -> StringAttr:
    return StringAttr(text)


def parse_op(cls: type[IRDLOperation], parser: Parser, syntax: str, types: str) -> Any:
    """Parse what `print_op` prints."""
    position = parser.pos
    reader = _Reader(cls, parser, syntax)
    for part in _parts(syntax):
        (reader.token if isinstance(part, Token) else reader.group)(part)  # pyright: ignore[reportArgumentType]
    reader.add_segments()
    attributes, properties = parser.parse_optional_attr_dict(), reader.properties
    known = cls.get_irdl_definition().properties
    for name in list(attributes):
        if name in known:
            properties[name] = attributes.pop(name)
        elif "." not in name and (meant := closest(name, known)) is not None:
            parser.raise_error(f"'{cls.name}' op has no attribute '{name}': did you mean '{meant}'?", position)
    operands = [operand for group in reader.operands.values() for operand in group]
    operand_types, declared = _parse_signature(parser, types, len(operands))
    values = parser.resolve_operands(operands, operand_types, position)
    _fill_in(cls, reader.left_out, properties, values, parser, position)
    if declared is None:
        declared = _inferred(cls, values, properties, parser, position)
    return cls.create(
        operands=values, result_types=declared, properties=properties, attributes=attributes, regions=reader.regions
    )


def _parse_signature(parser: Parser, types: str, count: int) -> tuple[list[Attribute], list[Attribute] | None]:
    """The types of operands, and those of results unless they follow."""
    if types == "none":
        return [], None
    parser.parse_punctuation(":")
    if types == "result":
        return [], [parser.parse_type()]
    if types == "same":
        return [parser.parse_type()] * count, None
    parse = parse_types if types == "arrow" else parse_type_list
    start = parser.pos
    operands = parse(parser)
    if types == "operands":
        return operands, []
    if parser.parse_optional_punctuation("->") is None:  # the next token may be in another line
        parser.raise_error("expected '->' and the types of results behind those of operands", start)
    return operands, parse(parser)


def _fill_in(
    cls: Any, names: Sequence[str], properties: dict[str, Attribute], values: Sequence[SSAValue], parser: Parser, position: int
) -> None:
    """Give an op the attributes that its text leaves out."""
    types: Any = [value.type for value in values]
    for name in names:
        if name in properties:  # in the dictionary of attributes
            continue
        default = _text_defaults(cls)[name]
        value = default.value(types) if types and all(isinstance(type, TensorType) for type in types) else None
        if value is None:
            rule = f"'{cls.name}' op needs {name}: its default, {default.about}, does not follow from the types of the operands"
            parser.raise_error(rule, position)
        properties[name] = value


def _inferred(cls: Any, values: Sequence[SSAValue], properties: Any, parser: Parser, position: int) -> list[Attribute]:
    if not all(isinstance(value.type, TensorType) for value in values):
        parser.raise_error(f"'{cls.name}' op needs ranked tensors, got {values[0].type}", position)
    try:
        return list(cls.infer_types(tensors_of(values), properties))
    except (ShapeError, DTypeError) as error:
        message = f"'{cls.name}' op {error}"
        definition = cls.get_irdl_definition()
        deferred: list[ParseError] | None = getattr(parser, "deferred", None)
        if deferred is None or not values or any(isinstance(result, VarResultDef) for _, result in definition.results):
            parser.raise_error(message, position)
        deferred.append(ParseError(Span(position, position, parser.lexer.input), message))
        return [values[0].type] * len(definition.results)  # the verifier reports the error, among all others


class TextOp(BaseOp):
    """Base of the ops, besides those of tensors, whose text is a pattern."""

    SYNTAX: ClassVar[str]
    TYPES: ClassVar[str] = "signature"

    def print(self, printer: Printer) -> None:
        print_op(self, printer, self.SYNTAX, self.TYPES)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return parse_op(cls, parser, cls.SYNTAX, cls.TYPES)

"""The parser of textual IR: xDSL's, with every op located and every input bounded.

What it adds: file:line:column on every op; hexadecimal floats in `dense<...>` read as bits (xDSL reads them as integers,
which turns -inf into 4286578688.0); packed i1 blobs; limits on nesting and on the size of constants, so that no text makes the
process recurse to death or allocate terabytes; and a `ParseError` for whatever a type's constructor refuses.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    AnyFloat,
    BytesAttr,
    ContainerType,
    DenseIntOrFPElementsAttr,
    Float80Type,
    Float128Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    ShapedType,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.parser import AttrParser, Parser, ParserState, UnresolvedOperand
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from ..errors import is_interruption
from . import literals, text_versions
from .lexing import LaminaLexer, unescaped
from .locations import Locations, failed_part
from .parse_messages import ExplainedError, Messages
from .sizes.attribute import SizesAttr, with_sizes

MAX_NESTING = 96
"""Largest nesting of regions, or of brackets of types and attributes; Python's recursion limit is met at about twice this."""

MAX_INT_WIDTH = (1 << 24) - 1
"""As in MLIR."""

MAX_BYTES = (1 << 63) - 1

MAX_DENSE_BYTES = 1 << 29
"""Largest `dense<...>` constant, in bytes: a splat stores every element."""

LONG_LIST = 1 << 10
"""Shortest list of elements, in characters, that is read as a whole and not token by token."""

_PLAIN_TYPE = re.compile(r"(?:tensor|vector|memref)<[\w?]*+>|(?:f|bf|i|ui|si)[0-9]++(?![\w.$])|index(?![\w.$])", re.ASCII)
"""A type without aliases that ends at a delimiter, so that equal texts are parsed once."""

_PART = r"\s*(0[xX][0-9a-fA-F]+|-?[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?)?)\s*"
_HEX_COMPLEX = re.compile(rf"\((?=[^()]*0[xX]){_PART},{_PART}\)")
"""A complex number with a part in hexadecimal, as an infinity is printed."""

_T = TypeVar("_T")


class LaminaParser(Messages, Locations):
    """A parser of one text; `parse_module()` is the way in.

    Raises:
        ParseError: anything wrong with the text, at its span.
    """

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<stdin>") -> None:
        text = decode(input, name) if isinstance(input, bytes) else input
        self.start_messages()
        self.start_locations(text, name)
        self._depth = 0
        self._uses: dict[str, Span] = {}
        self._types: dict[str, Any] = {}
        AttrParser.__init__(self, ParserState(LaminaLexer(Input(text, name))), ctx)  # as in `Parser`, with another lexer
        self.version, said_at = text_versions.version_of(text)
        if self.version > text_versions.VERSION:
            rule = f"the text is of version {self.version}, the newest that is read here is {text_versions.VERSION}"
            remedy = "read it with the lamina that wrote it, or with a newer one"
            raise ExplainedError(Span(said_at, said_at + 1, self.lexer.input), rule, remedy=remedy)
        self.ssa_values = {}
        self.blocks = {}
        self.forward_block_references = defaultdict(list)
        self.forward_ssa_references = {}

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parse the whole text as one module; without any op it is an empty one."""
        try:
            nothing = allow_implicit_module and self._current_token.kind == MLIRTokenKind.EOF
            module = ModuleOp([]) if nothing else super().parse_module(allow_implicit_module)
            self.has_implicit_module = module.location is UNKNOWN_LOC
            if self.has_implicit_module:
                module.location = self.location_at(0)
            if text_versions.ATTRIBUTE in module.attributes and 0 < self.version < text_versions.VERSION:
                module.attributes[text_versions.ATTRIBUTE] = IntegerAttr(text_versions.VERSION, 64)
            return module
        except ParseError as error:
            try:
                self._raise_at_use(error)
            except ParseError as better:
                error = better
            top = self.top_level_start(error.span.start)
            later = next((one for one in self.deferred if top is None or one.span.start >= top), None)
            chosen: Any = error if later is None else later  # an error of types may be the cause of the other errors
            chosen.earlier = [one for one in self.deferred if top is not None and one.span.start < top]
            chosen.failed = None if top is None else failed_part(self.lexer.input.content, top, error.span.start)
            raise chosen from None
        except RecursionError:
            self.raise_error(f"nested more than {MAX_NESTING} deep")
        except Exception as error:  # a type's or op's constructor refused what the text asked for
            if is_interruption(error):
                raise
            self.raise_error(_first_line(error))

    def _raise_at_use(self, error: ParseError) -> None:
        """xDSL reports values and blocks without a definition at the end of the text or region: point at a use instead."""
        if "used but not defined" in error.msg and self.forward_ssa_references:
            name = next(iter(self.forward_ssa_references))
            raise self.undefined(name, self._uses[name]) from None
        if error.msg.startswith("region ends with missing block") and self.forward_block_references:
            name, uses = next(iter(self.forward_block_references.items()))
            raise ParseError(uses[0], f"block ^{name} is used but not defined in this region") from None

    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> Any:
        if operand.operand_name not in self.ssa_values:
            self._uses.setdefault(operand.operand_name, operand.span)
        return super().resolve_operand(operand, type)

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        self._uses.pop(name, None)

    def parse_operation(self) -> Operation:
        """What an op's constructor raises becomes an error at the op."""
        try:
            return super().parse_operation()
        except (ParseError, RecursionError):
            raise
        except Exception as error:  # a constructor, an inferred type, the verifier of an attribute
            if is_interruption(error):
                raise
            text, name = _first_line(error), self.failed_op()
            if text.startswith("Unexpected attribute "):
                text = f"does not take {text.removeprefix('Unexpected attribute ')}"
            self.raise_error(text if name is None or text.startswith("'") else f"'{name}' op {text}", self.name_start())

    # -- nesting -------------------------------------------------------------------------------------------------------

    def _nested(self, parse: Callable[[], _T]) -> _T:
        self._depth += 1
        if self._depth > MAX_NESTING:
            self.raise_error(f"nested more than {MAX_NESTING} deep")
        try:
            return parse()
        finally:
            self._depth -= 1

    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        given = None if arguments is None else list(arguments)
        for argument in given or ():
            if argument.location is None:
                argument.location = self.location_at(argument.name.start)
        return self._nested(lambda: super(LaminaParser, self).parse_optional_region(given))

    def parse_optional_type(self) -> Any:
        start = self._current_token.span
        plain = _PLAIN_TYPE.match(self.lexer.input.content, start.start)
        if plain is not None and (known := self._types.get(plain[0])) is not None:
            self._resume_from(plain.end())
            return known
        type = self._nested(super().parse_optional_type)
        if isinstance(type, IntegerType) and type.width.data > MAX_INT_WIDTH:
            self.raise_error(f"integer type is wider than {MAX_INT_WIDTH} bits", start)
        if isinstance(type, ContainerType) and isinstance(type, ShapedType):
            self._require_addressable(type, start)
        if plain is not None and type is not None:
            self._types[plain[0]] = type
        return type

    def _require_addressable(self, type: Any, start: Span) -> None:
        """Refuse shapes whose number of bytes is beyond 64 bits: no machine has them, and their sizes are 64-bit numbers."""
        shape = type.get_shape()
        if not all(isinstance(n, int) and n >= 0 for n in shape):  # static sizes only, not symbolic ones
            return
        element, count = type.element_type, prod(shape)
        is_wide = isinstance(element, Float80Type | Float128Type)  # xDSL does not know the size of these in bytes
        size = 16 if is_wide else getattr(element, "compile_time_size", 8)
        if count * size > MAX_BYTES:
            self.raise_error(f"{type} has {count} elements, more than memory can hold: the limit is 2^63 - 1 bytes", start)

    def parse_optional_attribute(self) -> Attribute | None:
        start = self._current_token.span
        attribute = self._nested(super().parse_optional_attribute)
        if isinstance(attribute, FloatAttr):
            self._require_held(attribute.type, start)
        return attribute

    def parse_optional_str_literal(self) -> str | None:
        """As xDSL, but text beyond ASCII, which is printed as escaped bytes, is a string like any other."""
        token = self._current_token
        if token.kind not in (MLIRTokenKind.STRING_LIT, MLIRTokenKind.BYTES_LIT):
            return None
        try:
            text = unescaped(token.text).decode()
        except UnicodeDecodeError:
            return None
        self._consume_token()
        return text

    def parse_optional_bytes_literal(self) -> bytes | None:
        token = self._parse_optional_token(MLIRTokenKind.BYTES_LIT)
        return None if token is None else unescaped(token.text)

    def _require_held(self, type: Attribute, span: Span) -> None:
        """Refuse constants of types whose size xDSL does not know: it can neither print nor store them."""
        if isinstance(type, Float80Type | Float128Type):
            self.raise_error(f"no constant of type {type} can be held: the widest is f64", span)

    def _parse_tensor_literal(self) -> Any:
        return self._nested(super()._parse_tensor_literal)

    def _parse_tensor_attrs(self) -> Any:
        start = self._current_token.span
        type = super()._parse_tensor_attrs()
        if not isinstance(type, TensorType) or not isinstance(type.encoding, SizesAttr):
            return type
        try:
            return with_sizes(type, type.encoding.data)
        except ValueError as error:
            self.raise_error(str(error), start)

    def _parse_external_resources(self) -> None:
        """Skip `{key: {key: value, ...}, ...}`, as of a reproducer: they are for tools, which read them themselves."""
        depth = 0
        while True:
            token = self._current_token
            if token.kind == MLIRTokenKind.EOF:
                self.raise_error("the resources do not end")
            depth += (token.text == "{") - (token.text == "}")
            self._consume_token()
            if depth == 0:
                return

    # -- dense constants -----------------------------------------------------------------------------------------------

    def _parse_tensor_literal_element(self) -> Any:
        negative = self._current_token.text == "-"
        text = self.lexer.input.content[self.pos + negative : self.pos + negative + 2]
        element = super()._parse_tensor_literal_element()
        return _Bits(element.is_negative, element.value, element.span) if text in ("0x", "0X") else element

    def _parse_optional_complex(self) -> Any:
        """As xDSL, but a part may be hexadecimal: bits, of which the type of the constant says how many."""
        found = _HEX_COMPLEX.match(self.lexer.input.content, self._current_token.span.start)
        if found is None:
            return super()._parse_optional_complex()
        self._resume_from(found.end())
        return (found[1], found[2]), Span(found.start(), found.end(), self.lexer.input)

    def _parse_dense_literal_type(self) -> Any:
        type = super()._parse_dense_literal_type()
        if not isinstance(type, TensorType | VectorType):
            self.raise_error(f"a dense constant is a tensor or a vector, got {type}")
        return type

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> DenseIntOrFPElementsAttr:
        """`dense<...>` with its type, unless that is given."""
        self.parse_punctuation("<", " in dense attribute")
        start = self._current_token.span
        blob, values, shape = None, [], None
        long = self._long_list(start.start)
        if long is None and self.parse_optional_punctuation(">") is None:
            blob = self.parse_optional_str_literal()
            if blob is None:
                values, shape = self._parse_tensor_literal()
            self.parse_punctuation(">", " in dense attribute")
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._parse_dense_literal_type()
        expected = tuple(type.get_shape())
        if any(dim < 0 for dim in expected):
            self.raise_error(f"a dense constant needs a static shape, got {type}", start)
        count, element = prod(expected), type.element_type
        self._require_held(element, start)
        if count * element.compile_time_size > MAX_DENSE_BYTES:
            self.raise_error(
                f"dense constant of type {type} holds {count} elements, the limit is {MAX_DENSE_BYTES} bytes", start
            )
        data = None if long is None else self._list_bytes(long, expected, element)
        if long is not None and data is None:  # token by token
            behind = self._current_token.span.start
            self._resume_from(long.start)
            values, shape = self._parse_tensor_literal()
            self._resume_from(behind)
        if data is not None:
            pass
        elif blob is not None:
            data = self._blob_bytes(blob, element, count, start)
        elif shape is None:
            if count:
                self.raise_error(f"dense constant of type {type} needs {count} elements, got none", start)
            data = b""
        else:
            if shape and tuple(shape) != expected:
                self.raise_error(f"dense constant has shape {shape}, its type says {list(expected)}", start)
            data = b"".join(self._element_bytes(value, element) for value in values)
            data = data if shape else data * count
        return DenseIntOrFPElementsAttr(type, BytesAttr(data))

    def _long_list(self, start: int) -> Span | None:
        """Skip a long list of elements including its `>`; None, with nothing skipped, if it is short or no list."""
        text = self.lexer.input.content
        if text[start : start + 1] != "[":
            return None
        end = text.find(">", start)
        if end - start < LONG_LIST or "//" in text[start : start + LONG_LIST]:
            return None
        self._resume_from(end)
        self.parse_punctuation(">", " in dense attribute")
        return Span(start, end, self.lexer.input)

    def _list_bytes(self, span: Span, shape: tuple[int, ...], element: Any) -> bytes | None:
        try:
            return literals.list_bytes(span.text, shape, element)
        except literals.LiteralError as error:
            at = span.start + error.at
            raise ParseError(Span(at, at + 1, self.lexer.input), error.message) from None

    def _element_bytes(self, value: Any, element: Any) -> bytes:
        if isinstance(value, _Bits) and isinstance(element, AnyFloat):
            size = element.compile_time_size
            bits: Any = value.value
            if value.is_negative or bits >> min(8 * size, element.bitwidth):
                self.raise_error(f"hexadecimal float does not fit {element}", value.span)
            return bits.to_bytes(size, "little")
        if isinstance(value.value, tuple) and isinstance(value.value[0], str):
            return self._complex_bytes(value, element)
        try:
            converted: Any = value.to_type(self, element)
            if isinstance(element, IntegerType):
                converted = element.get_normalized_value(converted)
                if element.width.data == 1:  # true is the byte 1, as in NumPy; xDSL's own parser stores 255
                    return bytes((bool(converted),))
            return element.pack((converted,))
        except ParseError:
            raise
        except Exception as error:
            if is_interruption(error):
                raise
            self.raise_error(f"{value.span.text} does not fit {element}: {_first_line(error)}", value.span)

    def _complex_bytes(self, value: Any, element: Any) -> bytes:
        """The bytes of a complex number with a hexadecimal part."""
        part = getattr(element, "element_type", None)
        if not isinstance(part, AnyFloat):
            self.raise_error(f"{value.span.text} does not fit {element}", value.span)
        data = b""
        for text in value.value:
            if not text.startswith(("0x", "0X")):
                data += part.pack((float(text),))
            elif int(text, 16) >> part.bitwidth:
                self.raise_error(f"hexadecimal float does not fit {part}", value.span)
            else:
                data += int(text, 16).to_bytes(part.compile_time_size, "little")
        return data

    def _blob_bytes(self, blob: str, element: Any, count: int, span: Span) -> bytes:
        try:
            data = bytes.fromhex(blob.removeprefix("0x"))
        except ValueError:
            data = b""
        if not blob.startswith("0x") or (not data and count):
            self.raise_error("expected hexadecimal digits after 0x in a dense constant", span)
        size = element.compile_time_size
        if isinstance(element, IntegerType) and element.width.data == 1 and len(data) != count:
            if len(data) == 1 and data in (b"\x00", b"\xff"):
                return data.replace(b"\xff", b"\x01") * count
            if len(data) == -(-count // 8):
                return bytes(data[k // 8] >> (k % 8) & 1 for k in range(count))
        elif len(data) == size:
            data *= count
        elif isinstance(element, IntegerType) and len(data) == count * (stored := -(-element.width.data // 8)):
            parts = (data[k : k + stored] for k in range(0, len(data), stored))  # as MLIR stores i24 or i48
            data = b"".join(int.from_bytes(part, "little", signed=True).to_bytes(size, "little", signed=True) for part in parts)
        if len(data) != count * size:
            self.raise_error(f"dense constant has {len(data)} bytes of data, its type needs {count * size}", span)
        if isinstance(element, IntegerType) and element.width.data == 1:
            data = bytes(bool(byte) for byte in data)
        return data


class _Bits(Parser._TensorLiteralElement):
    """A hexadecimal literal: bits where a float is wanted, else an integer."""


def decode(data: bytes, name: str) -> str:
    """The text of a file.

    Raises:
        ParseError: it is not UTF-8, at the first byte that is not.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        source = Input(before + data[error.start :].decode("utf-8", "replace"), name)
        raise ParseError(Span(len(before), len(before) + 1, source), "the file is not UTF-8 text") from None
    if "\0" in text:
        at = text.index("\0")
        raise ParseError(Span(at, at + 1, Input(text, name)), "the file is not text: it holds a zero byte")
    return text


def _first_line(error: Exception) -> str:
    text = str(error).strip().partition("\n")[0]
    return text or type(error).__name__


def parse_module(ctx: Context, text: str | bytes, name: str = "<stdin>", *, implicit_module: bool = True) -> ModuleOp:
    """A module from its text."""
    return LaminaParser(ctx, text, name).parse_module(implicit_module)

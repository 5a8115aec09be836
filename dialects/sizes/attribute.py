"""Lists of sizes as an attribute, and the text of tensor types with symbolic sizes.

In memory such a size is a `Size` in the shape of its type. As text it is `?`, and the sizes follow as the encoding,
each with the bounds of its symbols:

    tensor<?x64x?xf32, #graph.sizes<"n where n in 1..4096", "2 * n + 1 where n in 1..4096">>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntAttr, NoneAttr, TensorType
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from .polynomial import Size
from .text import read, spell


@irdl_attr_definition
class SizesAttr(Data[tuple[Any, ...]]):
    """Sizes: numbers and symbolic ones."""

    name = "graph.sizes"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Any, ...]:
        return tuple(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, lambda: parse_size(parser)))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{', '.join(map(size_text, self.data))}>")


def size_text(size: Any) -> str:
    """A size in a list: a number, or in quotes."""
    return str(size) if isinstance(size, int) else f'"{spell(size)}"'


def parse_size(parser: AttrParser) -> Any:
    """The inverse of `size_text`."""
    start = parser.pos
    text = parser.parse_optional_str_literal()
    if text is None:
        return parser.parse_integer()
    try:
        return read(text)
    except ValueError as error:
        parser.raise_error(str(error), start)


def print_tensor_type(type: TensorType, printer: Printer) -> None:
    """What `TensorType.print_builtin` prints, including symbolic sizes."""
    shape = type.get_shape()
    sizes = [size for size in shape if isinstance(size, Size)]
    printer.print_string("tensor<")
    for size in shape:
        printer.print_string(f"{size}x" if isinstance(size, int) and size != DYNAMIC_INDEX else "?x")
    printer.print_attribute(type.element_type)
    encoding: Attribute = SizesAttr(tuple(sizes)) if sizes else type.encoding
    if encoding != NoneAttr():
        printer.print_string(", ")
        printer.print_attribute(encoding)
    printer.print_string(">")


def with_sizes(type: TensorType, sizes: Sequence[Any]) -> TensorType:
    """A type whose `?` are given sizes, in order.

    Raises:
        ValueError: there are more or fewer `?`.
    """
    if type.get_shape().count(DYNAMIC_INDEX) != len(sizes):
        raise ValueError(f"{len(sizes)} sizes are given for the {type.get_shape().count(DYNAMIC_INDEX)} of type ?")
    given = iter(sizes)
    shape = [next(given) if size == DYNAMIC_INDEX else size for size in type.get_shape()]
    return TensorType(type.element_type, [IntAttr(size) for size in shape])

"""Dense constants print bit for bit.

xDSL 0.74 prints `[0.0, -0.0]` as the splat `0.0`, does not recognize NaN splats, loses NaN payloads, and prints over 100
elements of type i1 as a blob that MLIR reads differently. Methods of one attribute class, which every printer
in the process calls (`str(op)`, messages, cache keys), decide all of it; a Printer subclass would fix only the texts whose
writers use it. So `xdsl_patches.py` replaces two methods of that class by those of this module.
"""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, IndexType, IntegerType
from xdsl.printer import Printer

LIST_LIMIT = 100
"""Up to this many elements print as a list, more as a hexadecimal blob (as in MLIR)."""


def is_splat(attr: DenseIntOrFPElementsAttr) -> bool:
    """Whether all elements have the same bits (0.0 and -0.0 differ, a NaN equals itself)."""
    data, size = _data(attr), attr.get_element_type().compile_time_size
    return len(data) > 0 and data == data[:size] * (len(data) // size)


def print_without_type(attr: DenseIntOrFPElementsAttr, printer: Printer) -> None:
    """Print `dense<...>`."""
    data, element = _data(attr), attr.get_element_type()
    size = element.compile_time_size
    printer.print_string("dense<")
    if not data:
        pass
    elif is_splat(attr):
        printer.print_string(_texts(attr, data[:size])[0])
    elif len(data) // size > LIST_LIMIT and _blob_is_portable(element):
        printer.print_string(f'"0x{data.hex().upper()}"')
    else:
        texts = _texts(attr, data)
        for dim in reversed(attr.get_shape()):
            texts = [f"[{', '.join(texts[k : k + dim])}]" for k in range(0, len(texts), dim)]
        printer.print_string(texts[0])
    printer.print_string(">")


_TRUE = bytes([0, *([1] * 255)])


def _data(attr: DenseIntOrFPElementsAttr) -> bytes:
    """The bytes of all elements; a true i1 may be stored as 1 or as 255 (xDSL's `from_list`)."""
    element = attr.get_element_type()
    is_bool = isinstance(element, IntegerType) and element.width.data == 1
    return attr.data.data.translate(_TRUE) if is_bool else attr.data.data


def _blob_is_portable(element: object) -> bool:
    """Whether MLIR stores elements of this type in the bytes that xDSL does."""
    if isinstance(element, IntegerType):
        return element.width.data in (8, 16, 32, 64)
    return not isinstance(element, AnyFloat) or element.bitwidth in (8, 16, 32, 64)


def _texts(attr: DenseIntOrFPElementsAttr, data: bytes) -> list[str]:
    """The text of each element."""
    element: Any = attr.get_element_type()
    size = element.compile_time_size
    if isinstance(element, AnyFloat):
        return [float_text(element, data[k : k + size]) for k in range(0, len(data), size)]
    values = element.unpack(data, len(data) // size)
    if isinstance(element, IntegerType | IndexType):
        is_bool = isinstance(element, IntegerType) and element.width.data == 1
        return [("true" if value else "false") for value in values] if is_bool else list(map(str, values))
    return [_other_text(attr, value) for value in values]


def _other_text(attr: DenseIntOrFPElementsAttr, value: Any) -> str:
    stream = StringIO()
    attr._print_one_elem(value, Printer(stream))
    return stream.getvalue()


def float_text(element: AnyFloat, data: bytes) -> str:
    """The shortest usual decimal of a float that reads back as the same bits, else its bits in hexadecimal."""
    value = element.unpack(data, 1)[0]
    for digits in (5, 8, 16):
        mantissa, e, exponent = f"{value:.{digits}e}".partition("e")
        text = f"{mantissa}0{e}{exponent}" if digits == 5 else f"{mantissa}{e}{exponent}"
        if e and _bits(element, float(text)) == data:
            return text
    return f"0x{int.from_bytes(data, 'little'):0{2 * len(data)}X}"


def _bits(element: AnyFloat, value: float) -> bytes | None:
    try:
        return element.pack((value,))
    except (OverflowError, ValueError):
        return None


_TO_ESCAPE = re.compile(rb'[^\x20-\x7E]|["\\]')


class TextPrinter(Printer):
    """xDSL's printer, which prints a string at once and not one character after the other."""

    def print_bytes_literal(self, bytestring: bytes) -> None:
        self.print_string(f'"{_TO_ESCAPE.sub(_escape, bytestring).decode()}"')


def _escape(found: re.Match[bytes]) -> bytes:
    return rb"\\" if found[0] == b"\\" else b"\\%02X" % ord(found[0])

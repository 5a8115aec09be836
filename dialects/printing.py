"""Dense constants print bit for bit.

xDSL 0.74 prints `[0.0, -0.0]` as the splat `0.0`, does not see NaN splats, loses NaN payloads, and prints over 100 elements
of type i1 as a blob that MLIR reads differently. All of it is decided by methods of one attribute class, which every printer in
the process goes through (`str(op)`, messages, cache keys): a Printer subclass would fix only the texts that remember to use it.
So this module replaces two methods of that class, once, in `install`. Nothing else in lamina patches xDSL.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, IntegerType
from xdsl.printer import Printer

LIST_LIMIT = 100
"""Up to this many elements print as a list, more as a hexadecimal blob (as in MLIR)."""


def install() -> None:
    """Make dense attributes print losslessly in this process. May be called any number of times."""
    DenseIntOrFPElementsAttr.is_splat = is_splat  # pyright: ignore[reportAttributeAccessIssue]
    DenseIntOrFPElementsAttr.print_without_type = print_without_type  # pyright: ignore[reportAttributeAccessIssue]


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
        _print_element(attr, data[:size], printer)
    elif len(data) // size > LIST_LIMIT and _blob_is_portable(element):
        printer.print_string(f'"0x{data.hex().upper()}"')
    else:
        elements = [data[k : k + size] for k in range(0, len(data), size)]
        _print_nested(attr, elements, attr.get_shape(), printer)
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


def _print_nested(attr: DenseIntOrFPElementsAttr, elements: Sequence[bytes], shape: Sequence[int], printer: Printer) -> None:
    if not shape:
        _print_element(attr, elements[0], printer)
        return
    inner = prod(shape[1:])
    printer.print_string("[")
    for k in range(shape[0]):
        if k:
            printer.print_string(", ")
        _print_nested(attr, elements[k * inner : (k + 1) * inner], shape[1:], printer)
    printer.print_string("]")


def _print_element(attr: DenseIntOrFPElementsAttr, data: bytes, printer: Printer) -> None:
    element = attr.get_element_type()
    value = element.unpack(data, 1)[0]
    if isinstance(element, AnyFloat):
        printer.print_string(float_text(element, data))
    else:
        attr._print_one_elem(value, printer)  # pyright: ignore[reportPrivateUsage]


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

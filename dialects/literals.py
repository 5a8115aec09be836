"""Long lists of elements, `[[1.0, 2.0], ...]`, between text and bytes, without a token or an object per element.

The parser reads short lists token by token. Here the text is checked by two regular expressions (what the elements are; that
brackets and commas are those of the shape) and converted by NumPy: 0.3 us an element instead of 25, and the memory of the data.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import IndexType, IntegerType

from .types import is_float, numpy_dtype

if TYPE_CHECKING:
    import numpy as np

_END = r"(?=[\[\]\s,]|$)"
_HEX = re.compile(rb"-?0[xX][0-9a-fA-F]+")
_INTEGER = rf"-?(?:0[xX][0-9a-fA-F]+|[0-9]+){_END}"
_BOOLEAN = rf"{_INTEGER}|(?:true|false){_END}"
_NUMBER = {
    "integer": re.compile(_INTEGER),
    "boolean": re.compile(_BOOLEAN),
    "float": re.compile(rf"-?[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?{_END}|{_BOOLEAN}"),
}
_LISTS = {kind: re.compile(rf"(?:[\[\s]*+(?:{number.pattern})[\]\s]*+(?:,|\Z))*+[\[\s]*+") for kind, number in _NUMBER.items()}
_DIGITS = 18
"""Largest number of decimal digits that always fits 64 bits."""
_LONG_INTEGER = re.compile(rf"[0-9]{{{_DIGITS + 1}}}")


class LiteralError(Exception):
    """The error in a list, and its character."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(at, message)
        self.at, self.message = at, message


def list_bytes(text: str, shape: tuple[int, ...], element: Any) -> bytes | None:
    """The bytes of the elements of a list, as a dense attribute of that shape stores them.

    None if it has elements or a type that only the token parser reads: complex numbers, integers of more than 18 digits.

    Raises:
        LiteralError: an element is no number or does not fit its type, or the list has another shape.

    >>> from xdsl.dialects.builtin import i16
    >>> list_bytes("[[1, -2], [0x10, 4]]", (2, 2), i16).hex()
    '0100feff10000400'
    """
    kind = _kind(element)
    if kind is None:
        return None
    matched = _LISTS[kind].match(text)
    end = 0 if matched is None else matched.end()
    if end != len(text):
        if text[end] in "(/-" or (kind != "float" and _LONG_INTEGER.match(text, end)):
            return None
        raise LiteralError(end, f"expected an element of type {element}")
    if kind != "float" and _LONG_INTEGER.search(text):
        return None
    if re.sub(r"[^\[\],]++", "", text) != _skeleton(shape):
        raise LiteralError(0, f"dense list does not have the shape {list(shape)} of its type")
    plain = text.encode("ascii").translate(None, b"[] \t\r\n\v\f").replace(b"true", b"1").replace(b"false", b"0")
    return _floats(text, plain, element) if kind == "float" else _integers(text, plain, element)


def _kind(element: Any) -> str | None:
    if is_float(element):
        return "float"
    if isinstance(element, IntegerType) and element.width.data <= 64:
        return "boolean" if element.width.data == 1 else "integer"
    return "integer" if isinstance(element, IndexType) else None


def _skeleton(shape: tuple[int, ...]) -> str:
    """The brackets and commas of a list."""
    inner = ""
    for size in reversed(shape):
        inner = f"[{','.join([inner] * size)}]"
    return inner


def _values(plain: bytes, dtype: Any) -> tuple[np.ndarray, dict[int, int]]:
    """All elements, with zeros for those in hexadecimal; and the values of these, by number."""
    import numpy as np

    bits: dict[int, int] = {}
    if b"x" in plain or b"X" in plain:
        number, before = 0, 0
        for found in _HEX.finditer(plain):
            number += plain.count(b",", before, found.start())
            before = found.start()
            bits[number] = int(found[0], 16)
        plain = _HEX.sub(b"0", plain)
    return np.fromstring(plain, dtype, sep=","), bits


def _position(text: str, number: int, kind: str) -> int:
    """Where the element of a number begins."""
    return next(islice(_NUMBER[kind].finditer(text), number, None)).start()


def _integers(text: str, plain: bytes, element: Any) -> bytes | None:
    values, bits = _values(plain, "int64")
    for number, value in bits.items():
        if abs(value) >= 10**_DIGITS:
            return None
        values[number] = value
    if isinstance(element, IntegerType):
        if element.width.data == 1:
            low, high = -1, 2
        else:
            low, high = element.value_range()
        outside = values < max(low, -(10**_DIGITS))
        outside |= values >= min(high, 10**_DIGITS)
        if outside.any():
            first = int(outside.argmax())
            at = _position(text, first, "boolean")
            raise LiteralError(at, f"{values[first]} does not fit {element}, which holds {low} to {high - 1}")
        if element.width.data == 1:
            return (values != 0).tobytes()
        if low < 0 and element.width.data < 64:  # signless: 255 as i8 is -1
            values[values >= -low] -= high
    return values.astype(f"<i{element.compile_time_size}").tobytes()


def _floats(text: str, plain: bytes, element: Any) -> bytes:
    import numpy as np

    from .rounding import cast  # imported late: few texts need it, or NumPy

    values, bits = _values(plain, np.float64)
    dtype = numpy_dtype(element)
    with np.errstate(over="ignore"):
        rounded = cast(values, dtype)
    infinite = ~np.isfinite(rounded.astype(np.float32) if dtype.isbuiltin != 1 else rounded)
    words = rounded.view(f"<u{dtype.itemsize}")
    if infinite.any():
        at = _position(text, int(infinite.argmax()), "float")
        raise LiteralError(at, f"number is out of the range of {element}")
    for number, value in bits.items():
        if value < 0 or value >> element.bitwidth:
            raise LiteralError(_position(text, number, "float"), f"hexadecimal float does not fit {element}")
        words[number] = value
    return words.tobytes()

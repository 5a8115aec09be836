"""The type of quantized numbers, `!quant.uniform<i8:f32, 0.5:3>`: integers `q` that stand for `(q - 3) * 0.5`.

Its form is that of MLIR's dialect `quant` (https://mlir.llvm.org/docs/Dialects/QuantDialect): the storage type, perhaps with
bounds, the expressed type, perhaps an axis, and a scale and zero point for all elements or for each index along the axis.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, Signedness, StringAttr, bf16, f16, f32, f64
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from . import syntax

_FLOATS = {"f16": f16, "bf16": bf16, "f32": f32, "f64": f64}
_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|0x[0-9a-fA-F]+)"
_HEAD = re.compile(r"([iu])(\d+)(?:<(-?\d+):(-?\d+)>)?:(\w+)(?::(\d+))?,(.*)", re.DOTALL)
_PAIR = re.compile(rf"({_NUMBER})(?::(-?\d+))?")


@dataclass(frozen=True)
class Quantization:
    """What a quantized type says.

    Attributes:
        storage: the type of the integers; signed ones have no sign in their name, as in this package.
        low, high: bounds of the integers.
        expressed: the type of the numbers.
        axis: the dim along which scales and zero points differ; None: there is one of each.
    """

    storage: IntegerType
    low: int
    high: int
    expressed: Attribute
    axis: int | None
    scales: Sequence[float]
    zeros: Sequence[int]


def parse(text: str) -> Quantization:
    """The contents of a type's text, without the brackets.

    Raises:
        ValueError: the text is no such type; with what is wrong.

    >>> parse("u8<1:255>:f32:0, {0.5:3, 0.25}").zeros
    (3, 0)
    """
    found = _HEAD.fullmatch("".join(text.split()))
    if found is None:
        raise ValueError("expected storage:expressed, scale:zero, as i8:f32, 0.5:3, or i8:f32:0, {0.5:3, 0.25} along axis 0")
    sign, width, low, high, expressed, axis, values = found.groups()
    unsigned, bits = sign == "u", int(width)
    if bits not in (4, 8, 16, 32):
        raise ValueError(f"storage is i4, i8, i16, i32, or u4 and so on, got {sign}{width}")
    if expressed not in _FLOATS:
        raise ValueError(f"the expressed type is one of {', '.join(_FLOATS)}, got {expressed}")
    least, most = (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)
    bounds = (int(low), int(high)) if low is not None else (least, most)
    if not least <= bounds[0] < bounds[1] <= most:
        raise ValueError(f"bounds {bounds[0]}:{bounds[1]} are not within {least}:{most}")
    listed = values[1:-1].split(",") if values[:1] == "{" and values[-1:] == "}" else [values]
    if (axis is None) != (values[:1] != "{"):
        raise ValueError("an axis has a list of scales in {}, no axis one scale")
    pairs = [_PAIR.fullmatch(pair) for pair in listed]
    if not all(pairs):
        raise ValueError(
            f"expected scale:zero, got {next(t for t, p in zip(listed, pairs, strict=True) if p is None) or 'nothing'}"
        )
    scales = tuple(float(p[1]) for p in pairs if p is not None)
    zeros = tuple(int(p[2] or 0) for p in pairs if p is not None)
    if not all(0 < scale < float("inf") for scale in scales):
        raise ValueError(f"scales are positive and finite, got {min(scales)}")
    if not all(bounds[0] <= zero <= bounds[1] for zero in zeros):
        raise ValueError(f"zero points lie within {bounds[0]}:{bounds[1]}")
    storage = IntegerType(bits, Signedness.UNSIGNED) if unsigned else IntegerType(bits)
    return Quantization(storage, *bounds, _FLOATS[expressed], None if axis is None else int(axis), scales, zeros)


@irdl_attr_definition
class QuantizedType(ParametrizedAttribute, TypeAttribute):
    """Quantized numbers; the text in the brackets is kept."""

    name = "quant.uniform"
    text: StringAttr

    @property
    def quantization(self) -> Quantization:
        """What the text says."""
        return parse(self.text.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        at = parser.pos
        text = syntax.balanced(parser).strip()
        text = text[1:-1] if text.startswith("<") and text.endswith(">") else text
        try:
            parse(text)
        except ValueError as error:
            parser.raise_error(f"'!quant.uniform' {error}", at)
        return (StringAttr(" ".join(text.split())),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.text.data}>")


Quant = Dialect("quant", [], [QuantizedType])

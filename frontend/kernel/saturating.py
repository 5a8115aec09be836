"""Integer arithmetic that stops at the ends of the type, as filters of images need it: `add_sat`, `sub_sat`, `convert_sat`.

The functions work in plain Python, too, on NumPy's integers. In machine code they are the instructions of the target where
it has them (`vpaddusb`, `vpsubsw`): LLVM recognizes the forms below.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType

from ...dialects.types import i1, integer_range, is_float, is_unsigned, width_of
from .annotations import ScalarType
from .values import Scalar, default, kind_of, meet, spell


def add_sat(x: Any, y: Any) -> Any:
    """`x + y`, or the end of the type that the sum goes beyond.

    Args:
        x: an integer of NumPy, or in a kernel one of an element type of integers.
        y: the same; a number of Python takes the type of the other.

    >>> import numpy as np
    >>> int(add_sat(np.uint8(200), np.uint8(100))), int(add_sat(np.int8(-100), np.int8(-100)))
    (255, -128)
    """
    return _clipped(int(x) + int(y), np.result_type(x, y))


def sub_sat(x: Any, y: Any) -> Any:
    """`x - y`, or the end of the type that the difference goes beyond; arguments as those of `add_sat`.

    >>> import numpy as np
    >>> int(sub_sat(np.uint8(3), np.uint8(5))), int(sub_sat(np.int16(3), np.int16(5)))
    (0, -2)
    """
    return _clipped(int(x) - int(y), np.result_type(x, y))


def convert_sat(x: Any, type: ScalarType) -> Any:
    """A number as an element type of integers: the end of the type for numbers beyond it; floats lose their fractions.

    >>> import numpy as np, lamina as lm
    >>> int(convert_sat(np.int16(300), lm.ui8)), int(convert_sat(np.float32(-7.9), lm.ui8))
    (255, 0)
    """
    if isinstance(x, float | np.floating):
        x = 0 if x != x else max(min(float(x), 2.0**64), -(2.0**63))
    return _clipped(int(x), type.dtype)


def _clipped(value: int, dtype: Any) -> Any:
    info = np.iinfo(dtype)
    return np.dtype(dtype).type(min(max(value, info.min), info.max))


FUNCTIONS = {add_sat: "add", sub_sat: "sub"}


def called(reader: Any, node: ast.Call, function: Any) -> Any:
    """The value of one of the functions above, None for others.

    Args:
        reader: the statements of the kernel.
    """
    if function not in FUNCTIONS and function is not convert_sat:
        return None
    if len(node.args) != 2 or node.keywords:
        reader.refuse(node, f"'{ast.unparse(node.func)}' takes two arguments")
    x = reader.value(node.args[0])
    if function is convert_sat:
        to = reader.resolve(node.args[1])
        if not isinstance(to, ScalarType) or is_float(to.type) or to.type == i1:
            reader.refuse(node.args[1], "convert_sat takes an element type of integers: lm.ui8")
        return Scalar(_converted(reader.math(node), x, to.type))
    y = reader.value(node.args[1])
    kind = meet(x, y)
    type: Any = default(kind)
    if isinstance(kind, str) or is_float(type) or type == i1:
        reader.refuse(
            node, f"'{ast.unparse(node.func)}' takes integers of an element type, got {spell(kind)}: write lm.i16(...)"
        )
    b = reader.math(node)
    return Scalar(_combined(b.builder, FUNCTIONS[function], b.scalar(x, type), b.scalar(y, type)))


def _combined(f: Any, name: str, x: Any, y: Any) -> Any:
    """Unsigned by a minimum or maximum before, signed by one after in twice the width; of 64 bits by the room that is left."""
    type = x.type
    low, high = integer_range(type)
    if is_unsigned(type):
        return f.add(x, f.min(y, f.invert(x))) if name == "add" else f.sub(f.max(x, y), y)
    if width_of(type) < 64:
        wide = IntegerType(2 * width_of(type))
        found = f.binary(name, f.convert(x, wide), f.convert(y, wide))
        return f.convert(f.min(f.max(found, f.const(low, wide)), f.const(high, wide)), type)
    zero, least, most = f.const(0, type), f.const(low, type), f.const(high, type)
    if name == "add":
        above, below = f.sub(most, f.max(x, zero)), f.sub(least, f.min(x, zero))
        return f.add(x, f.min(f.max(y, below), above))
    above, below = f.sub(f.max(x, f.const(-1, type)), most), f.sub(f.min(x, f.const(-1, type)), least)
    return f.sub(x, f.max(f.min(y, below), above))


def _converted(b: Any, x: Any, type: Any) -> Any:
    """Clipped in the type of the number, as far as it reaches beyond."""
    f, given = b.builder, default(kind_of(x))
    ssa = b.scalar(x)
    if is_float(given) or given == i1:
        return f.convert(ssa, type)  # which saturates
    (low, high), (least, most) = integer_range(given), integer_range(type)
    if low < least:
        ssa = f.max(ssa, f.const(least, given))
    if high > most:
        ssa = f.min(ssa, f.const(most, given))
    return f.convert(ssa, type)


__all__ = ["add_sat", "called", "convert_sat", "sub_sat"]

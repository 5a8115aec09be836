"""What an attribute is where the text of an op leaves it out: a value, or one that follows from the types of the operands.

The op itself always has the attribute, and its text is printed in full: a reader needs no table of defaults, and an older text
means the same if a default changes. Groups of a pattern (`syntax.py`) that name such an attribute may be left out where an op
is written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, StringAttr, TensorType, f64, i64
from xdsl.ir import Attribute


@dataclass(frozen=True)
class TextDefault:
    """The value of an attribute that is left out.

    Attributes:
        about: in words, for messages and references.
        value: from the types of the operands; None where they do not tell.
    """

    about: str
    value: Callable[[Sequence[TensorType]], Attribute | None]


def constant(value: int | float | str) -> TextDefault:
    """The same for all operands."""
    if isinstance(value, str):
        found: Attribute = StringAttr(value)
    else:
        found = IntegerAttr(value, i64) if isinstance(value, int) else FloatAttr(value, f64)
    return TextDefault(str(value), lambda operands: found)


def each_dim(value: int, without: int = 0) -> TextDefault:
    """A list with one value for each dim of the first operand.

    Args:
        without: how many dims have none, such as the batch and the features of a convolution.
    """
    about = f"{value} for each {'spatial ' if without else ''}dim"
    return TextDefault(
        about, lambda operands: DenseArrayBase.from_list(i64, [value] * max(0, len(operands[0].get_shape()) - without))
    )


def first_dims(others: int) -> TextDefault:
    """As many dims as there are indices.

    Args:
        others: how many operands stand before the indices.
    """
    return TextDefault("the first dims", lambda types: DenseArrayBase.from_list(i64, list(range(len(types) - others))))


LAST_DIM = TextDefault(
    "the last dim", lambda operands: DenseArrayBase.from_list(i64, [rank - 1] if (rank := len(operands[0].get_shape())) else [])
)

"""The effects of a program in its signature: which there are, by number, and their values."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

PRINT, ASSERT, CALLBACK = KINDS = ("print", "assert", "callback")

Buffers = tuple[tuple[str, int], ...]
"""Dtypes and ranks."""


@dataclass(frozen=True)
class Site:
    """One effect of a program.

    Attributes:
        kind: one of `KINDS`.
        text: the printed format, the message, or the name of the function.
        batch: how many first dims it happens for, element by element.
        masked: whether the first operand is a condition: a `print` or `callback` happens where it holds, an `assert` raises
            where it does not.
    """

    kind: str
    text: str
    batch: int
    masked: bool
    operands: Buffers = ()
    results: Buffers = ()

    def to_data(self) -> list[Any]:
        """As JSON data."""
        return list(astuple(self))

    @classmethod
    def from_data(cls, data: Any) -> Site:
        """The inverse; raises ValueError or TypeError for invalid input."""
        kind, text, batch, masked, *buffers = data
        if kind not in KINDS or [type(text), type(batch), type(masked)] != [str, int, bool]:
            raise ValueError(f"not a signature: no effect is {data!r:.60}")
        operands, results = (tuple([(str(dtype), int(rank)) for dtype, rank in part]) for part in buffers)
        return cls(kind, text, batch, masked, operands, results)

"""Blocks of memory read across: rows as vectors, columns by shuffles.

A vector of one element from each of several rows takes a load and an insertion a lane. When an unrolled loop reads such vectors
at neighbouring places, `loop.for unroll %k = 0 to 8` around `loop.load %x[%i, %k] along 0 : vector<8xf32>`, the rows are loaded
as vectors instead and transposed in registers: 24 shuffles for 64 elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import SSAValue

from .text import Builder, Ty


@dataclass(eq=False)
class Window:
    """An unrolled loop while its copies are written: all of them certainly run, one after the other."""

    index: SSAValue
    first: int
    trips: int
    depth: int
    """Of the scope, and the label of the block, in which the copies stand: what is elsewhere may not run in every copy."""
    block: str
    columns: dict[Any, list[str]] = field(default_factory=dict)
    """The vectors that have been read, by the place of the first one."""


def can_transpose(window: Window, ty: Ty) -> bool:
    """Whether the vectors of a window are columns of blocks as wide as high."""
    return ty.lanes > 1 and ty.lanes & (ty.lanes - 1) == 0 and window.trips % ty.lanes == 0


def transposed(b: Builder, rows: Sequence[str], ty: Ty) -> list[str]:
    """The columns of as many rows as a row has lanes.

    First within every 128 bits, where an interleaving of two registers is one instruction everywhere, then these as a whole.
    """
    part = min(ty.lanes, max(1, 128 // ty.scalar.bits))
    groups = [_shuffled(b, rows[k : k + part], 1, part, ty) for k in range(0, ty.lanes, part)]
    columns = [_shuffled(b, [group[k] for group in groups], part, ty.lanes, ty) for k in range(part)]
    return [column[k] for k in range(ty.lanes // part) for column in columns]


def _shuffled(b: Builder, rows: Sequence[str], unit: int, span: int, ty: Ty) -> list[str]:
    """Rows of units, transposed within each span of them: by perfect shuffles, of the first half with the second."""
    result = list(rows)
    half = len(rows) // 2
    for _ in range(len(rows).bit_length() - 1):
        pairs = zip(result[:half], result[half:], strict=True)
        result = [_interleaved(b, x, y, unit, span, high, ty) for x, y in pairs for high in (False, True)]
    return result


def _interleaved(b: Builder, x: str, y: str, unit: int, span: int, high: bool, ty: Ty) -> str:
    """Units of x and y in turn, from the lower or the upper half of each span."""
    lanes: list[int] = []
    half = span // 2
    for start in range(0, ty.lanes, span):
        begin = start + high * half
        for at in range(begin, begin + half, unit):
            lanes += [*range(at, at + unit), *range(ty.lanes + at, ty.lanes + at + unit)]
    mask = ", ".join([f"i32 {lane}" for lane in lanes])
    return b.emit(f"shufflevector {ty} {x}, {ty} {y}, <{ty.lanes} x i32> <{mask}>")

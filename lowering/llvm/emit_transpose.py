"""Blocks of memory that are read by columns: rows are loaded as vectors, and columns made by shuffles.

A vector of one element from each of several rows takes a load and an insertion for each lane. When an unrolled loop reads such
vectors at neighbouring subscripts, `loop.for unroll %k = 0 to 8` around `loop.load %x[%i, %k] along 0 : vector<8xf32>`, the
rows are loaded as vectors instead and transposed in registers: 24 shuffles for 64 elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import SSAValue

from ...codegen.text import Builder, Ty


@dataclass(eq=False)
class Window:
    """An unrolled loop while its copies are written: all of them certainly run, one after the other."""

    index: SSAValue
    first: int
    trips: int
    depth: int
    """The scope, and the label of the block, of the copies: code elsewhere may not run in every copy."""
    block: str
    columns: dict[Any, list[str]] = field(default_factory=dict)
    """The vectors that have been read, by the subscripts of the first one."""


def can_transpose(window: Window, ty: Ty) -> bool:
    """Whether the vectors of a window are columns of square blocks."""
    return ty.lanes > 1 and ty.lanes & (ty.lanes - 1) == 0 and window.trips % ty.lanes == 0


def transposed(b: Builder, rows: Sequence[str], ty: Ty) -> list[str]:
    """The columns of as many rows as a row has lanes.

    First within every 128 bits, where an interleaving of two registers is one instruction everywhere, then these as a whole.
    There AVX-512 has an instruction that selects any two parts of one register and then any two of another. Code generation
    searches for better shuffles through all operands of one: fences between the steps, which are no instructions, reduce its
    time to a quarter.
    """
    part = min(ty.lanes, max(1, 128 // ty.scalar.bits))
    groups = [_interleaved(b, rows[k : k + part], part, ty) for k in range(0, ty.lanes, part)]
    if part == ty.lanes:
        return groups[0]
    columns = [_gathered(b, [_fenced(b, group[k], ty) for group in groups], part, ty) for k in range(part)]
    return [column[k] for k in range(ty.lanes // part) for column in columns]


def _interleaved(b: Builder, rows: Sequence[str], span: int, ty: Ty) -> list[str]:
    """Rows transposed within each span of lanes: by perfect shuffles, of the first half with the second."""
    result, half = list(rows), len(rows) // 2
    starts = range(0, ty.lanes, span)
    low, high = (
        [lane for start in starts for at in range(start + begin, start + begin + half) for lane in (at, ty.lanes + at)]
        for begin in (0, half)
    )
    for _ in range(len(rows).bit_length() - 1):
        pairs = zip(result[:half], result[half:], strict=True)
        result = [_shuffle(b, x, y, lanes, ty) for x, y in pairs for lanes in (low, high)]
    return result


def _gathered(b: Builder, rows: Sequence[str], unit: int, ty: Ty) -> list[str]:
    """As many rows as a row has units, transposed: by their even units, of two neighbours at a time, and their odd ones."""
    result = list(rows)
    even, odd = (
        [lane for start in range(begin, 2 * ty.lanes, 2 * unit) for lane in range(start, start + unit)] for begin in (0, unit)
    )
    for step in range(len(rows).bit_length() - 1):
        if step:
            result = [_fenced(b, row, ty) for row in result]
        pairs = list(zip(result[::2], result[1::2], strict=True))
        result = [_shuffle(b, x, y, lanes, ty) for lanes in (even, odd) for x, y in pairs]
    return result


def _shuffle(b: Builder, x: str, y: str, lanes: Sequence[int], ty: Ty) -> str:
    mask = ", ".join([f"i32 {lane}" for lane in lanes])
    return b.emit(f"shufflevector {ty} {x}, {ty} {y}, <{ty.lanes} x i32> <{mask}>")


def _fenced(b: Builder, x: str, ty: Ty) -> str:
    """A value that hides that it comes from a shuffle; there is a fence for floats alone."""
    if ty.elem not in ("float", "double"):
        return x
    fence = b.module.declare(f"llvm.arithmetic.fence.{ty.mangled}", ty, (ty,))
    return b.emit(f"call {ty} {fence}({ty} {x})")

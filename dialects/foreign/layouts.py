"""Strided layouts whose sizes and strides may be known only at run time; None stands for such a number."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType


def agree(a: int | None, b: int | None) -> bool:
    return a == b or a in (None, DYNAMIC_INDEX) or b in (None, DYNAMIC_INDEX)


def layout_of(type: MemRefType) -> tuple[list[int | None], int | None] | None:
    """The strides and the offset, None for those known only at run time; None for a layout that is not strided."""
    strides = type.get_strides()
    return None if strides is None else ([None if s == DYNAMIC_INDEX else s for s in strides], _offset(type))


def _offset(type: MemRefType) -> int | None:
    offset = type.get_offset()
    return None if offset == DYNAMIC_INDEX else offset


def known(shape: Sequence[int]) -> list[int | None]:
    return [None if n == DYNAMIC_INDEX else n for n in shape]


def product(a: int | None, b: int | None) -> int | None:
    return 0 if a == 0 or b == 0 else None if a is None or b is None else a * b


def total(terms: Sequence[int | None]) -> int | None:
    return None if any(term is None for term in terms) else sum(terms)  # pyright: ignore[reportArgumentType, reportCallIssue]


def same(given: int | None, wanted: int | None) -> bool:
    """Whether a number in a type is the computed one, or both are known only at run time."""
    return given == wanted

"""Symbolic sizes in control flow: their bounds decide a condition, otherwise the program does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....dialects.sizes.polynomial import Size, greatest, least
from ...trace.tracing import lift


def known(x: Any) -> Any:
    """A condition as Python knows it: a size whose bounds do not tell whether it is 0 as a traced number."""
    if not isinstance(x, Size):
        return x
    low, high = x.bounds
    return True if low > 0 or high < 0 else lift(x)


def are_sizes(items: Iterable[Any]) -> bool:
    """Whether all are sizes or ints, and one of them is known in a call alone."""
    items = list(items)
    return any(isinstance(x, Size) for x in items) and all(type(x) is int or isinstance(x, Size) for x in items)


def extreme(name: str, items: Iterable[Any]) -> Any:
    """`min` or `max` of sizes, which is a size."""
    first, *rest = items
    for x in rest:
        first = (least if name == "min" else greatest)(first, x)
    return first

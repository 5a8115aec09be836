"""All rows, in the order of the table."""

from __future__ import annotations

from . import (
    attention,
    control,
    convolutions,
    dispatch,
    elementwise,
    factors,
    kernel_cases,
    loop_cases,
    networks,
    products,
    sorts,
    transforms,
)
from .case import Row

_GROUPS = (
    *(products, elementwise, transforms, sorts, convolutions, attention, networks, factors, control, dispatch),
    *(kernel_cases, loop_cases),
)
ROWS: list[Row] = [row for group in _GROUPS for row in group.ROWS]


def find(name: str) -> Row:
    """A row by its name."""
    return next(row for row in ROWS if row.name == name)

"""All rows, in the order of the table."""

from __future__ import annotations

from . import attention, convolutions, elementwise, factors, kernel_cases, networks, products, transforms
from .case import Row

ROWS: list[Row] = [
    *(*products.ROWS, *elementwise.ROWS, *transforms.ROWS, *convolutions.ROWS, *attention.ROWS, *networks.ROWS),
    *factors.ROWS,
    *kernel_cases.ROWS,
]


def find(name: str) -> Row:
    """A row by its name."""
    return next(row for row in ROWS if row.name == name)

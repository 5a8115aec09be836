# from the table names.toml by `make names`: do not edit
"""`lamina.scipy.integrate`."""

from typing import Any

from ....library.numpy.poly import trapezoid as trapezoid

__all__ = [
    "trapezoid",
]

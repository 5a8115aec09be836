# from the table names.toml by `make names`: do not edit
"""What algorithms are written with as kernels, and attached to ops."""

from typing import Any

from ..frontend.extend import register_kernel as register_kernel

__all__ = [
    "register_kernel",
]

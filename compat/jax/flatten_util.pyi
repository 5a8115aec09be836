# from the table names.toml by `make names`: do not edit
"""`lamina.flatten_util`: jax.flatten_util's one name, a tree of arrays as one vector."""

from typing import Any

from ...library.linalg.ravel import ravel_pytree as ravel_pytree

__all__ = [
    "ravel_pytree",
]

"""`lamina.flatten_util`: jax.flatten_util's one name, a tree of arrays as one vector."""

from __future__ import annotations

from .tree_util import ravel_pytree

__all__ = ["ravel_pytree"]

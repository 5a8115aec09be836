"""`lamina.flatten_util`: jax.flatten_util's one name, a tree of arrays as one vector."""

from ...names import attach

__getattr__, __dir__, __all__ = attach("flatten_util")

"""`lamina.tree_util`: the names of jax.tree_util, functions of `lamina.tree`."""

from ...names import attach

__getattr__, __dir__, __all__ = attach("tree_util")

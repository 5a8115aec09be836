"""`lamina.random`: random numbers as functions of keys, under the names of `jax.random` and with its streams."""

from ...names import attach

__getattr__, __dir__, __all__ = attach("random")

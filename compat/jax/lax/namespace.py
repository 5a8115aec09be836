"""`lamina.lax`: the names of jax.lax, over the functions of `lamina.numpy`; dtypes promote as there."""

from ....names import attach

__getattr__, __dir__, __all__ = attach("lax")

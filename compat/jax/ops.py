"""`lamina.ops`: jax.ops's names, sums and other reductions of segments of rows."""

from ...names import attach

__getattr__, __dir__, __all__ = attach("ops")

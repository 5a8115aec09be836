"""Functions of functions: compilation, derivatives, batching, control flow, and rules of their own."""

from ..names import attach

__getattr__, __dir__, __all__ = attach("api.functions")

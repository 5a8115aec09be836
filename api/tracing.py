"""The trace itself, for functions that are more than ops on arrays."""

from ..names import attach

__getattr__, __dir__, __all__ = attach("api.tracing")

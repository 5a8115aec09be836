"""What the dialects know of ops."""

from ..names import attach

__getattr__, __dir__, __all__ = attach("api.ops")

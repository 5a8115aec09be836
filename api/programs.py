"""Programs as text and as IR, for readers and writers of other systems' programs."""

from ..names import attach

__getattr__, __dir__, __all__ = attach("api.programs")

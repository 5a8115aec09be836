"""What algorithms are written with as kernels, and attached to ops."""

from ..names import attach

__getattr__, __dir__, __all__ = attach("api.kernels")

"""`lamina.nn`: functions of neural networks, each one composite op that passes can recognise."""

from ...names import attach

__getattr__, __dir__, __all__ = attach("nn")

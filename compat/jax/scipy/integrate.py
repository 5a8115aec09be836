"""`lamina.scipy.integrate`."""

from ....names import attach

__getattr__, __dir__, __all__ = attach("scipy.integrate")

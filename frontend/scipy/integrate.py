"""`lamina.scipy.integrate`."""

from ..numpy.poly import trapezoid

__all__ = ["trapezoid"]

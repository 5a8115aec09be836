"""`lamina.scipy.integrate`."""

from ....library.numpy.poly import trapezoid

__all__ = ["trapezoid"]

"""`lamina.scipy.integrate`."""

from ..lnp_poly import trapezoid

__all__ = ["trapezoid"]

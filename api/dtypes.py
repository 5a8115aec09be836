"""Dtypes as arrays, ops and NumPy's promotion know them."""

from ..names import attach

__getattr__, __dir__, __all__ = attach("api.dtypes")

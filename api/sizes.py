"""Sizes of dims that are known when a program runs: polynomials in symbols, and what is known of them."""

from ..names import attach

__getattr__, __dir__, __all__ = attach("api.sizes")

"""Errors of the programs of users that libraries raise (`errors.py` has all, with examples)."""

from ..names import attach

__getattr__, __dir__, __all__ = attach("api.errors")

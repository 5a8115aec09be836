"""Structures of arrays: tuples, dicts, dataclasses and what is registered."""

from ..names import attach

__getattr__, __dir__, __all__ = attach("api.trees")

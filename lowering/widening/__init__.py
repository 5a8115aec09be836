"""Loops rewritten so that each iteration computes several of the old ones on vectors: see `widen.py`."""

from .widen import is_lanewise, obstacle, sweep, widen

__all__ = ["is_lanewise", "obstacle", "sweep", "widen"]

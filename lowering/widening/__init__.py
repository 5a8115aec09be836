"""Widening: loops rewritten so that each iteration computes several of the original ones on vectors (see `widen.py`)."""

from .widen import is_lanewise, obstacle, sweep, widen

__all__ = ["is_lanewise", "obstacle", "sweep", "widen"]

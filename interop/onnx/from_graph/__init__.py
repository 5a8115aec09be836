"""Graph ops as nodes of ONNX: `writer.py` has what a rule writes with, the other files the rules by kind of op."""

from __future__ import annotations

from .writer import RULES, Writer


def load() -> None:
    """Fill the table of rules."""
    from . import control, elementwise, indexing, moves, reductions, windows  # noqa: F401


__all__ = ["RULES", "Writer", "load"]

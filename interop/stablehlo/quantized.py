"""Quantized types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .faults import UnsupportedError


def quantize(site: Any, operands: Sequence[Any]) -> Any:
    """Floats as integers of a scale and a zero point."""
    raise UnsupportedError("quantized types are not known here")


def dequantize(site: Any, operands: Sequence[Any]) -> Any:
    """Integers of a scale and a zero point as floats."""
    raise UnsupportedError("quantized types are not known here")

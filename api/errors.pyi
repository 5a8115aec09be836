# from the table names.toml by `make names`: do not edit
"""Errors of the programs of users that libraries raise (`errors.py` has all, with examples)."""

from typing import Any

from ..errors import BoundsError as BoundsError
from ..errors import CompileError as CompileError
from ..errors import DTypeError as DTypeError
from ..errors import FixedSizeError as FixedSizeError
from ..errors import LaminaError as LaminaError
from ..errors import ShapeError as ShapeError
from ..errors import SizeError as SizeError
from ..errors import TracingError as TracingError
from ..errors import about as about
from ..errors import is_interruption as is_interruption

__all__ = [
    "BoundsError", "CompileError", "DTypeError", "FixedSizeError", "LaminaError", "ShapeError", "SizeError", "TracingError",
    "about", "is_interruption",
]

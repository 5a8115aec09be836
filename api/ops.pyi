# from the table names.toml by `make names`: do not edit
"""What the dialects know of ops."""

from typing import Any

from ..dialects.functions import FUNCTIONS as scalar_functions
from ..dialects.graph.base import CompositeOp as CompositeOp
from ..dialects.graph.base import OPS as OPS
from ..dialects.graph.fft import roots_of_unity as roots_of_unity

__all__ = [
    "CompositeOp", "OPS", "roots_of_unity", "scalar_functions",
]

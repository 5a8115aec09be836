# from the table names.toml by `make names`: do not edit
"""Sizes of dims that are known when a program runs: polynomials in symbols, and what is known of them."""

from typing import Any

from ..dialects.graph.convolution import dilated as dilated_size
from ..dialects.graph.convolution import windows as windows
from ..dialects.sizes.polynomial import Size as Size
from ..dialects.sizes.polynomial import ceil_quotient as ceil_quotient
from ..dialects.sizes.polynomial import greatest as greatest
from ..dialects.sizes.polynomial import is_at_least as is_at_least
from ..dialects.sizes.polynomial import least as least
from ..dialects.sizes.polynomial import positive as positive
from ..dialects.sizes.polynomial import require_at_least as require_at_least
from ..frontend.trace.dynamic import dim as dim

__all__ = [
    "Size", "ceil_quotient", "dilated_size", "dim", "greatest", "is_at_least", "least", "positive", "require_at_least",
    "windows",
]

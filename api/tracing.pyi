# from the table names.toml by `make names`: do not edit
"""The trace itself, for functions that are more than ops on arrays."""

from typing import Any

from ..frontend.run.eager import EagerTrace as EagerTrace
from ..frontend.trace.program import is_staging as is_staging
from ..frontend.trace.tracing import Derived as Derived
from ..frontend.trace.tracing import Watched as Watched
from ..frontend.trace.tracing import current as current
from ..frontend.trace.tracing import here as here
from ..frontend.trace.wrapped import WrappedArray as WrappedArray
from ..frontend.trace.wrapped import wrapped_class as wrapped_class
from ..runtime.scalars import is_a as is_a

__all__ = [
    "Derived", "EagerTrace", "Watched", "WrappedArray", "current", "here", "is_a", "is_staging", "wrapped_class",
]

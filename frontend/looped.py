"""Functions that hold loops: traced into the function around them, and compiled by `jit` where they are called on arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from ..errors import LaminaError
from .functions import is_staging
from .jit import jit
from .locations import located
from .tracing import operand

Function = TypeVar("Function", bound=Callable[..., Any])

_values_alone: ContextVar[bool] = ContextVar("values_alone", default=False)


def is_differentiable() -> bool:
    """Whether what is being traced may be differentiated: not where its values are asked for on arrays."""
    return is_staging() and not _values_alone.get()


def looped(*static: str) -> Callable[[Function], Function]:
    """A function of arrays whose parameters `static` are Python values, which must be hashable."""

    def decorator(function: Function) -> Function:
        @functools.wraps(function)
        def values(*args: Any, **kwargs: Any) -> Any:
            before = _values_alone.set(True)
            try:
                return function(*args, **kwargs)
            finally:
                _values_alone.reset(before)

        compiled = jit(values, static_argnames=static)

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            try:
                if is_staging():
                    return function(*args, **kwargs)
                return compiled(*map(_leaf, args), **{name: _leaf(value) for name, value in kwargs.items()})
            except LaminaError as error:
                raise located(error) from None

        return wrapper  # pyright: ignore[reportReturnType]

    return decorator


def _leaf(x: Any) -> Any:
    """Lists of numbers as arrays; what is hashable as it is."""
    return operand(x) if isinstance(x, list) else x

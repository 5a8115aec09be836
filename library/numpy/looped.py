"""Functions with loops: traced into the function around them, and compiled by `jit` where they are called on arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ...api import located, operand
from ...api.errors import LaminaError
from ...api.functions import jit
from ...api.tracing import is_staging

Function = TypeVar("Function", bound=Callable[..., Any])


def looped(*static: str) -> Callable[[Function], Function]:
    """A function of arrays whose parameters `static` are Python values, which must be hashable."""

    def decorator(function: Function) -> Function:
        compiled = jit(function, static_argnames=static)

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
    """Lists of numbers as arrays; hashable objects unchanged."""
    return operand(x) if isinstance(x, list) else x

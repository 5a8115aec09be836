"""lamina.numpy: functions that NumPy computes: of numbers, texts and files, and those whose result sizes depend on values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import Tracer, as_array, concrete_array, located
from ...api.dtypes import narrowed
from ...api.errors import TracingError
from ...api.trees import flatten as tree_flatten


def ours(result: Any) -> Any:
    """A result of NumPy's with its arrays as ours."""
    if isinstance(result, np.ndarray) and result.dtype.kind in "biuf":
        dtype = narrowed(result.dtype)
        return as_array(result.astype(dtype) if dtype != result.dtype else result if result.base is None else result.copy())
    if isinstance(result, tuple):
        items = [ours(item) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else tuple(items)
    return result


def of_numbers(name: str, _: str) -> Callable[..., Any]:
    """NumPy's function of numbers, texts or files."""
    function = getattr(np, name)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return ours(function(*args, **kwargs))

    wrapper.__doc__ = f"`np.{name}`."
    return wrapper


def of_open_size(name: str, _: str = "") -> Callable[..., Any]:
    """NumPy's function of arrays whose values are known.

    It raises TracingError where an argument is traced and has no value, or has one that derivatives would not see.
    """
    function = getattr(np, name)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree_flatten((args, kwargs))
        try:
            known = [concrete_array(x) if isinstance(x, Tracer) else x for x in leaves]
        except TracingError:
            facts = f"{name} has a result whose size depends on the values of traced arrays"
            raise located(
                TracingError(f"{facts}: use unique, nonzero or isin with size= or a mask, or call it outside")
            ) from None
        args, kwargs = structure.unflatten(known)
        return ours(function(*args, **kwargs))

    wrapper.__doc__ = f"`np.{name}` of arrays whose values are known: the size of the result depends on them."
    return wrapper

"""lamina.numpy: functions that NumPy computes: of numbers, texts and files, and those whose result sizes depend on values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import Tracer, TracingError, as_array, concrete_array, located, narrowed, tree_flatten

_OF_NUMBERS = (
    "array2string", "array_repr", "array_str", "bartlett", "base_repr", "binary_repr", "blackman", "einsum_path", "errstate",
    "format_float_positional", "format_float_scientific", "frombuffer", "fromfile", "fromiter", "fromstring",
    "get_printoptions", "hamming", "hanning", "isscalar", "iterable", "kaiser", "load", "mask_indices",
    "may_share_memory", "printoptions", "save", "savez", "set_printoptions", "shares_memory",
)  # fmt: skip
_OF_OPEN_SIZE = ("trim_zeros",)

__all__ = [*_OF_NUMBERS, *_OF_OPEN_SIZE]


def ours(result: Any) -> Any:
    """A result of NumPy's with its arrays as ours."""
    if isinstance(result, np.ndarray) and result.dtype.kind in "biuf":
        dtype = narrowed(result.dtype)
        return as_array(result.astype(dtype) if dtype != result.dtype else result if result.base is None else result.copy())
    if isinstance(result, tuple):
        items = [ours(item) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else tuple(items)
    return result


def _of_numbers(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return ours(function(*args, **kwargs))

    wrapper.__doc__ = f"`np.{name}`."
    return wrapper


def of_open_size(name: str) -> Callable[..., Any]:
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


globals().update({name: _of_numbers(name) for name in _OF_NUMBERS})
globals().update({name: of_open_size(name) for name in _OF_OPEN_SIZE})

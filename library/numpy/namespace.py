"""`lamina.numpy`: NumPy's names and meanings over graph ops, on arrays and on traced arrays."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from ...api import located
from ...api.errors import TracingError
from ...names import attach, hidden
from . import dtypes as dtypes  # scalar types convert by it
from .ufunc_methods import with_methods

_find, __dir__, __all__ = attach("numpy")
_PUBLIC = frozenset(__all__)


def ufunc_counterpart(ufunc: np.ufunc, method: str) -> Callable[..., Any]:
    """The function here that stands for a NumPy ufunc or one of its methods.

    Raises:
        TracingError: there is none.
    """
    found = __getattr__(ufunc.__name__) if ufunc.__name__ in _PUBLIC else None
    if method != "__call__":
        found = getattr(found, method, None)
    if found is None:
        shown = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        raise located(TracingError(f"np.{shown} is not available on traced arrays: see lamina.numpy for what is"))
    return found


def function_counterpart(function: Any) -> Callable[..., Any]:
    """The function here that stands for a NumPy function.

    Raises:
        TracingError: there is none.
    """
    module, name = function.__module__, function.__name__
    if module == "numpy" and name in _PUBLIC:
        return __getattr__(name)
    home = _HOMES.get(module)
    if home is not None and hasattr(found := import_module(home, __package__), name):
        return _of_one_triangle(getattr(found, name)) if name in _READING_ONE_TRIANGLE else getattr(found, name)
    ours = f"lamina.{module.removeprefix('numpy.')}" if home is not None else "lamina.numpy"
    raise located(TracingError(f"{module}.{name} is not available on traced arrays: see {ours} for what is"))


_HOMES = {"numpy.linalg": "..linalg.namespace", "numpy.fft": "..fft"}
"""The modules of the functions that stand for those of other modules of NumPy."""
_READING_ONE_TRIANGLE = frozenset({"cholesky", "eigh", "eigvalsh"})
"""Functions of `numpy.linalg` that read one triangle, where ours, as jax's, take the mean of both."""


def _of_one_triangle(function: Callable[..., Any]) -> Callable[..., Any]:
    def counterpart(a: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("upper"):  # whose result the upper triangle alone says
            a = __getattr__("conj")(__getattr__("swapaxes")(a, -1, -2))
        return function(a, *args, symmetrize_input=False, **kwargs)

    return counterpart


_REMEDIES = {
    "random": "draw outside the traced function with numpy.random and pass the numbers in",
}


def __getattr__(name: str) -> Any:
    if name in _PUBLIC or name.startswith("__") or name in hidden("numpy"):
        return with_methods(_find(name))
    if name in _REMEDIES or hasattr(np, name):
        remedy = _REMEDIES.get(name, "compute it outside the traced function with NumPy")
        raise AttributeError(f"lamina.numpy has no {name!r} yet: {remedy}")
    raise AttributeError(f"module 'lamina.numpy' has no attribute {name!r}, and NumPy has none either")

"""The methods of NumPy's binary ufuncs on those of lamina.numpy: `add.outer`, `add.reduce`, `add.accumulate`, `add.at`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import array_function, arrays, changing, lift
from . import at as lnp_at
from . import reduce as lnp_reduce
from . import scan as lnp_scan
from .axes_and_shapes import reshape_tracer

_ALONG_AN_AXIS: dict[str, dict[str, Callable[..., Any]]] = {
    "reduce": {
        "add": lnp_reduce.sum, "multiply": lnp_reduce.prod, "maximum": lnp_reduce.max, "minimum": lnp_reduce.min,
        "logical_and": lnp_reduce.all, "logical_or": lnp_reduce.any,
    },
    "accumulate": {
        "add": lnp_scan.cumsum, "multiply": lnp_scan.cumprod, "maximum": lnp_scan.cummax, "minimum": lnp_scan.cummin,
    },
}  # fmt: skip
"""The functions that are methods; their axis is the first by default."""

_UPDATES = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide", "power": "power", "maximum": "max",
    "minimum": "min",
}  # fmt: skip
"""The methods of `x.at[...]`."""


def with_methods(function: Any) -> Any:
    """A function of `lamina.numpy`, with the methods of its ufunc if it is a binary one of NumPy's."""
    ufunc = getattr(np, getattr(function, "__name__", ""), None)
    if not isinstance(ufunc, np.ufunc) or ufunc.nin != 2 or ufunc.nout != 1 or hasattr(function, "outer"):
        return function
    function.nin, function.nout, function.nargs, function.identity = ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.identity
    function.outer = _outer(function, ufunc.__name__)
    for method, functions in _ALONG_AN_AXIS.items():
        found = functions.get(ufunc.__name__)
        setattr(function, method, _one_by_one(function, ufunc, method) if found is None else _over_first_axis(found))
    function.reduceat = _one_by_one(function, ufunc, "reduceat")
    if (update := _UPDATES.get(ufunc.__name__)) is not None:
        function.at = _at(update, ufunc.__name__)
    return function


def _over_first_axis(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, axis=0, **options: function(a, axis, **options)


def _one_by_one(function: Callable[..., Any], ufunc: np.ufunc, method: str) -> Callable[..., Any]:
    """A method as a loop over the elements, in their order."""

    def called(*args: Any, **options: Any) -> Any:
        return getattr(arrays.ufunc(function, 2, 1, identity=ufunc.identity), method)(*args, **options)

    called.__name__, called.__doc__ = f"{ufunc.__name__}_{method}", f"`np.{ufunc.__name__}.{method}`."
    return called


def _outer(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def outer(a: Any, b: Any, /) -> Any:
        x, y = lift(a), lift(b)
        return function(reshape_tracer(x, (*x.shape, *(1,) * y.ndim)), y)

    outer.__name__, outer.__doc__ = f"{name}_outer", f"`np.{name}.outer`, of shape `a.shape + b.shape`."
    return array_function(outer)


def _at(update: str, name: str) -> Callable[..., Any]:
    def at(a: Any, indices: Any, b: Any, /) -> Any:
        return getattr(lnp_at.At(lift(a))[indices], update)(b)

    at.__name__, at.__doc__ = f"{name}_at", f"`np.{name}.at`, or with `inplace=False` the changed array."
    return changing(array_function(at))

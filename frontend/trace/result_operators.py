"""Operators and methods of results under promotion rules that are not NumPy's: the functions of `lamina.numpy`.

An `Array` is an ndarray, whose operators are NumPy's code, at NumPy's speed. While other rules are active (`lm.config`), the
class has operators that look the rules up first; calls from this package's own code stay NumPy's. Under jax's rules `x += y` is
`x = x + y`, as programs for jax expect, which share arrays; otherwise it is in place and keeps the dtype.
"""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...runtime.array import Array, as_array
from .array_functions import arrays as lnp
from .config import config
from .locations import is_ours
from .program import is_staging
from .tracing import is_array_like

_NUMPY = os.path.join(os.path.dirname(np.__file__), "")
_METHODS = (
    "all", "any", "argmax", "argmin", "argsort", "astype", "cumprod", "cumsum", "dot", "max", "mean", "min", "prod", "std",
    "sum", "trace", "var",
)  # fmt: skip


def install() -> None:
    """Let the class of results look up the rules of promotion."""
    Array.__array_ufunc__ = _array_ufunc
    for name, method in _promoting.items():
        setattr(Array, name, method)


def remove() -> None:
    """Let NumPy's code run at once again."""
    del Array.__array_ufunc__
    for name, method in _OF_NUMPY.items():
        setattr(Array, name, method)


def _is_promoted() -> bool:
    """Whether a caller beyond NumPy is not this package's, and has other rules than NumPy's."""
    return not (config.options.are_numpys or is_staging()) and _is_of_others()


def _is_of_others() -> bool:
    """Whether a caller beyond NumPy and this file is not this package's."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith((_NUMPY, __file__)) and frame.f_back is not None:
        frame = frame.f_back
    return not is_ours(frame.f_code.co_filename)


def _array_ufunc(self: Array, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
    is_known = ufunc.__name__ in lnp.__all__ and method in ("__call__", "reduce", "accumulate", "outer")
    if is_known and kwargs.get("out") is None and all(map(is_array_like, args)) and _is_promoted():
        kwargs.pop("out", None)
        return lnp.ufunc_counterpart(ufunc, method)(*args, **kwargs)
    return _by_numpy(getattr(ufunc, method), args, kwargs)


def _by_numpy(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NumPy's behaviour for a class without `__array_ufunc__`."""
    out = kwargs.get("out")
    if out is not None:
        kwargs["out"] = tuple(map(_plain, out))
    found = function(*map(_plain, args), **kwargs)
    if out is not None:
        return out[0] if len(out) == 1 else out
    if isinstance(found, tuple):
        return tuple(as_array(x) if isinstance(x, np.ndarray) else x for x in found)
    return as_array(found) if type(found) is np.ndarray else found


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if type(x) is Array else x


def _method(name: str, of_numpy: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Array, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("out") is not None or not _is_promoted():
            return of_numpy(self, *args, **kwargs)
        kwargs.pop("out", None)
        return function(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, of_numpy.__doc__
    return method


def _rebinding(of_numpy: Callable[..., Any], plain: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def method(self: Array, other: Any) -> Any:
        is_new = config.options.promotion == "jax" and _is_of_others()
        return plain(self, other) if is_new else of_numpy(self, other)

    return method


def _getitem(x: Array, index: Any) -> Any:
    """An element is an array, as in jax: NumPy's scalars would be promoted by NumPy's rules."""
    found = _OF_NUMPY["__getitem__"](x, index)
    return as_array(np.asarray(found)) if isinstance(found, np.generic) else found


def _iterate(x: Array) -> Iterator[Any]:
    return (_getitem(x, k) for k in range(len(x)))


_OPERATORS = "add sub mul truediv floordiv mod pow matmul lshift rshift and or xor".split()
_IN_PLACE = {f"__i{name}__": getattr(operator, f"__{name}__") for name in _OPERATORS}
_OF_NUMPY = {name: getattr(Array, name) for name in ("__getitem__", "__iter__", *_METHODS, *_IN_PLACE)}
_FUNCTIONS = {"__getitem__": _getitem, "__iter__": _iterate} | {name: getattr(lnp, name) for name in _METHODS}
_promoting = {name: _method(name, _OF_NUMPY[name], function) for name, function in _FUNCTIONS.items()}
_promoting |= {name: _rebinding(_OF_NUMPY[name], plain) for name, plain in _IN_PLACE.items()}

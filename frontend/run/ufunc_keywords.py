"""`out=` where NumPy's function has it; of its ufuncs also `where=`, `dtype=`, `casting=`, and `out` by position.

These arguments are for mutable arrays, so they are for calls outside of a trace: the function is computed without them,
and its result is written into `out`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from ...errors import DTypeError, ShapeError, TracingError
from ..trace import tracer
from ..trace.array_functions import arrays as lnp
from ..trace.locations import located
from ..trace.tracer import Tracer
from ..trace.tracing import current

KEYWORDS = frozenset({"out", "where", "dtype", "casting", "order", "subok"})
"""The names of such arguments; a function's own parameter of one of these names stays its own."""


def ufunc_of(function: Callable[..., Any]) -> np.ufunc | None:
    """The ufunc of NumPy that a function has its name from."""
    found = getattr(np, function.__name__, None)
    return found if isinstance(found, np.ufunc) else None


def most_operands(function: Callable[..., Any]) -> int | None:
    """How many arguments are operands, those after them being `out`; None of a function that is no ufunc."""
    ufunc = ufunc_of(function)
    own = function.__code__.co_argcount if isinstance(function, FunctionType) else None
    return ufunc.nin if ufunc is not None and own == ufunc.nin else None


def called(made: Callable[..., Any], function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The result of a call with such arguments; NotImplemented if all of them are the function's own.

    Raises:
        DTypeError: an operand does not go into `dtype`, or the result into `out`, by `casting`.
        ShapeError: the result does not fit into `out`.
        TracingError: `out`, or the result, is traced.
    """
    ufunc, foreign = ufunc_of(function), _not_its_own(function)
    asked = {name: value for name, value in kwargs.items() if name in foreign}
    rest = {name: value for name, value in kwargs.items() if name not in asked}
    if ufunc is not None and ufunc.nin < len(args) <= ufunc.nargs and "out" not in asked:
        args, asked["out"] = args[: ufunc.nin], args[ufunc.nin :]
    if not asked or not (ufunc is not None or (asked.keys() == {"out"} and _has_out(function.__name__))):
        return NotImplemented
    casting, out, where = asked.get("casting", "same_kind"), asked.get("out"), asked.get("where", True)
    if (dtype := asked.get("dtype")) is not None and ufunc is not None:
        args = tuple(_converted(x, np.dtype(dtype), casting, function.__name__) for x in args)
    result = made(*args, **rest)
    outs = out if isinstance(out, tuple) else (out,)
    if all(one is None for one in outs):
        return result if where is True else _each(lambda one: lnp.where(where, one, np.zeros((), one.dtype)), result)
    results = result if isinstance(result, tuple) else (result,)
    written = tuple(
        one if into is None else _written(into, one, where, casting, function.__name__)
        for into, one in zip((*outs, *(None,) * len(results))[: len(results)], results, strict=True)
    )
    return written if isinstance(result, tuple) else written[0]


@functools.cache
def _not_its_own(function: Callable[..., Any]) -> frozenset[str]:
    return KEYWORDS - inspect.signature(function).parameters.keys()


@functools.cache
def _has_out(name: str) -> bool:
    """Whether NumPy's function of a name has `out=`."""
    theirs = getattr(np, name, None)
    try:
        return "out" in inspect.signature(theirs).parameters if callable(theirs) else False
    except ValueError:  # written in C, without a signature
        return "out=None" in (theirs.__doc__ or "").partition("\n")[0]


def changing(made: Callable[..., Any]) -> Callable[..., Any]:
    """A function that changes its first argument in place, as NumPy's does, for an array outside of a trace, unless
    `promotion="jax"`, and with `inplace=False` a function that returns the changed array.

    Raises:
        TracingError: the array cannot change.
    """

    @functools.wraps(made)
    def function(a: Any, /, *args: Any, inplace: bool = True, **options: Any) -> Any:
        if not inplace:
            return made(a, *args, **options)
        if not isinstance(a, np.ndarray) or current() is not None or not tracer.changes_in_place():
            rule = f"{made.__name__} cannot change an array in place"
            raise located(TracingError(f"{rule}: pass inplace=False, it then returns a new array"))
        np.copyto(a, np.asarray(made(a, *args, **options)), casting="same_kind")
        return None

    return function


def _each(function: Callable[[Any], Any], result: Any) -> Any:
    return tuple(map(function, result)) if isinstance(result, tuple) else function(result)


def _converted(x: Any, dtype: np.dtype[Any], casting: Any, name: str) -> Any:
    """An operand in the dtype of `dtype=`."""
    given = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    if hasattr(x, "dtype") and not np.can_cast(given, dtype, casting):
        raise located(DTypeError(f"{name}(dtype={dtype}): an operand of {given} does not go into it by casting={casting!r}"))
    return lnp.asarray(x, dtype)


def _written(out: Any, result: Any, where: Any, casting: Any, name: str) -> Any:
    """`out`, with the result in it."""
    if isinstance(out, Tracer) or isinstance(result, Tracer) or isinstance(where, Tracer):
        rule = f"out= of {name} changes an array, and traced arrays do not change"
        raise located(TracingError(f"{rule}: write y = {name}(...) without it"))
    if not isinstance(out, np.ndarray):
        raise located(TracingError(f"out= of {name} must be an array, got {type(out).__name__}"))
    result = np.asarray(result)
    if not np.can_cast(result.dtype, out.dtype, casting):
        facts = f"{name} gives {result.dtype} and out is {out.dtype}"
        raise located(DTypeError(f"{facts}: it does not go into it by casting={casting!r}"))
    if result.ndim > out.ndim or any(m not in (1, n) for m, n in zip(result.shape[::-1], out.shape[::-1], strict=False)):
        raise located(ShapeError(f"{name} gives shape {list(result.shape)} and out has {list(out.shape)}"))
    np.copyto(out, result, casting=casting, where=where)
    return out

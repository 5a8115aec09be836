"""Python's builtin functions on traced values."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable
from typing import Any

from ....dialects.functions import FUNCTIONS as scalar_functions
from ....dialects.sizes.polynomial import Size
from ...trace.array_functions import arrays as lnp
from ...trace.promotion import FLOAT64, INT64
from ...trace.tracer import Tracer
from ...trace.tracing import lift, lift_as
from . import iteration, messages
from .branches import and_, not_, or_
from .session import state
from .sizes import are_sizes
from .sizes import extreme as extreme_size


def _is_scalar(x: Any) -> bool:
    return isinstance(x, Tracer) and x.size == 1


def _length(*args: Any) -> Any:
    """`len`, which may be a symbolic size."""
    return args[0].shape[0] if len(args) == 1 and isinstance(args[0], Tracer) and args[0].shape else len(*args)


def _number(kind: type, dtype: Any) -> Callable[..., Any]:
    """`float` or `int`: of a traced scalar, a weakly typed one, as Python's number is."""

    def convert(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], Size):
            return args[0] if kind is int else lift_as(lift(args[0]), dtype)
        if len(args) != 1 or not _is_scalar(args[0]):
            return kind(*args, **kwargs)
        x = args[0] if not args[0].shape else lnp.reshape(args[0], ())
        if kind is int and x.dtype.kind == "f":
            x = lnp.trunc(x)
        x = lnp.astype(x, dtype)
        return Tracer(x.within, x.value, x.shape, x.dtype, True)

    return convert


def _bool(*args: Any) -> Any:
    return not_(not_(args[0])) if len(args) == 1 and (_is_scalar(args[0]) or isinstance(args[0], Size)) else bool(*args)


def _extreme(function: Any, chooses: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """`min` or `max`, which return the first of equal items."""

    def extreme(*args: Any, **kwargs: Any) -> Any:
        items = list(args[0] if len(args) == 1 else args)
        key = kwargs.get("key")
        if not kwargs and are_sizes(items):
            return extreme_size(function.__name__, items)
        if not kwargs.keys() <= {"key"} or not any(isinstance(x, Tracer | Size) for x in items):
            return function(*([items] if len(args) == 1 else args), **kwargs)
        best = items[0]
        for x in items[1:]:
            a, b = (x, best) if key is None else (key(x), key(best))
            better = chooses(a, b)
            if isinstance(better, Tracer):
                state.reader.require_alike(x, best)
                best = lnp.where(better, x, best)
            elif better:
                best = x
        return best

    return extreme


def _any(items: Iterable[Any]) -> Any:
    items = list(items)
    return or_(True, True, items[0], *[lambda x=x: x for x in items[1:]]) if _are_traced(items) else any(items)


def _all(items: Iterable[Any]) -> Any:
    items = list(items)
    return and_(True, True, items[0], *[lambda x=x: x for x in items[1:]]) if _are_traced(items) else all(items)


def _are_traced(items: list[Any]) -> bool:
    return any(isinstance(x, Tracer | Size) for x in items)


def _of_math(name: str, counterpart: Callable[..., Any], is_integer: bool = False) -> Callable[..., Any]:
    function = getattr(math, name)

    def on_numbers(*args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(a, Tracer | Size) for a in args):
            return function(*args, **kwargs)
        if is_integer and isinstance(args[0], Size):
            return args[0]
        result = counterpart(*args, **kwargs)
        return lnp.astype(result, INT64) if is_integer and isinstance(result, Tracer) and result.dtype.kind == "f" else result

    return on_numbers


_SAME = "log2 log10 sinh cosh hypot isnan isinf isfinite copysign cbrt gcd degrees radians"
_OTHER = {"pow": "power", "asin": "arcsin", "acos": "arccos", "fabs": "abs"}

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    print: messages.print_,
    len: _length,
    range: iteration.range_,
    zip: iteration.zip_,
    enumerate: iteration.enumerate_,
    reversed: iteration.reversed_,
    float: _number(float, FLOAT64),
    int: _number(int, INT64),
    bool: _bool,
    min: _extreme(builtins.min, lambda a, b: a < b),
    max: _extreme(builtins.max, lambda a, b: a > b),
    any: _any,
    all: _all,
    **{
        getattr(math, n): _of_math(n, getattr(lnp, row.in_numpy))
        for n, row in scalar_functions.items()
        if row.in_numpy and hasattr(math, n)
    },
    **{getattr(math, n): _of_math(n, getattr(lnp, n)) for n in _SAME.split() if hasattr(lnp, n) and hasattr(math, n)},
    **{getattr(math, n): _of_math(n, getattr(lnp, m)) for n, m in _OTHER.items() if hasattr(lnp, m)},
    **{getattr(math, n): _of_math(n, getattr(lnp, n), True) for n in ("floor", "ceil", "trunc")},
}
"""The replacement of a builtin function in captured code."""

"""Building blocks of the universal functions: operands of one dtype and shape, then one graph op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...api import Tracer, broadcast_tracer, build, full_like_tracer, lift, lift_as, lift_operands, operand, operation, token
from ...api.dtypes import computed, element_type, is_complex_dtype, is_inexact_dtype, ufunc_dtypes, weak_result
from ...api.errors import DTypeError, ShapeError
from ...api.ops import OPS
from ...api.sizes import Size
from ...api.tracing import here
from . import complex_formulas


def broadcast_shapes(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape of operands.

    Raises:
        ShapeError: sizes of a dim differ and none is 1.
    """
    try:
        return _broadcast_shapes(tuple(shapes))
    except ValueError:
        shown = ", ".join(str(list(shape)) for shape in shapes)
        raise ShapeError(f"operands could not be broadcast together, shapes are {shown}") from None


@lru_cache(maxsize=4096)
def _broadcast_shapes(shapes: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    if any(isinstance(size, Size) for shape in shapes for size in shape):
        return _broadcast_sizes(shapes)
    return np.broadcast_shapes(*shapes)


def _broadcast_sizes(shapes: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """As NumPy's. A symbolic size is assumed not to be broadcast."""
    common: list[Any] = [1] * max(map(len, shapes))
    for shape in shapes:
        for k, size in enumerate(reversed(shape), 1):
            if common[-k] == 1:
                common[-k] = size
            elif size not in (1, common[-k]):
                raise ValueError
    return tuple(common)


def prepare(ufunc: np.ufunc, args: Sequence[Any]) -> tuple[list[Tracer], np.dtype[Any], bool]:
    """Operands of one dtype each (what the ufunc computes in) and one shape; the result dtype; weak or not."""
    args = [operand(x) for x in args]
    tokens = tuple([token(x) for x in args])
    dtypes, result = ufunc_dtypes(ufunc, tokens)
    tracers = lift_operands(args, tokens, dtypes)
    shapes = [t.shape for t in tracers]
    if shapes.count(shapes[0]) < len(shapes):
        shape = broadcast_shapes(shapes)
        tracers = [broadcast_tracer(t, shape) for t in tracers]
    return tracers, result, weak_result(tokens)


Formula = Callable[..., Tracer]
"""A function of complex tracers, composed of ops."""


def ufunc_op(ufunc: np.ufunc, *args: Any, op: str | None = None, of_complex: Formula | None = None, **props: Any) -> Tracer:
    """A ufunc that is one graph op; of complex numbers a formula, if there is one."""
    name = op or ufunc.__name__
    if name == "cmp":
        x, y = args = _compared(*args)
        if (same := _outside(x, y, props["predicate"])) is not None:
            return same
    tracers, result, weak = prepare(ufunc, args)
    if is_complex_dtype(tracers[0].dtype):
        if of_complex is not None:
            return of_complex(*tracers)
        if name == "cmp" and props["predicate"] not in ("eq", "ne"):
            return complex_formulas.compare(props["predicate"], *tracers)
    if OPS[name].facts.keeps_integers and not is_inexact_dtype(tracers[0].dtype):
        return tracers[0]
    if name == "cmp" and tracers[0].dtype != tracers[1].dtype:
        return _compare_mixed(tracers[0], tracers[1], props["predicate"])
    y = build(name, *tracers, weak=weak, **props)
    if y.dtype != result:
        raise DTypeError(f"{ufunc.__name__} gives {y.dtype} where NumPy gives {result}")
    return y


def _compared(x: Any, y: Any) -> tuple[Any, Any]:
    """Operands of a comparison: traced Python integers keep their dtype beside integers of others, which may not hold them."""
    x, y = operand(x), operand(y)
    kinds = [t.kind if isinstance(t, np.dtype) else "" for t in (token(x), token(y))]
    if "i" not in kinds and "u" not in kinds:
        return x, y
    weak = [type(v) is Tracer and v.weak and v.dtype.kind == "i" for v in (x, y)]
    x, y = (Tracer(v.within, v.value, v.shape, v.dtype) if is_weak else v for v, is_weak in zip((x, y), weak, strict=True))
    return x, y


def _outside(x: Any, y: Any, predicate: str) -> Tracer | None:
    """The comparison of integers with a Python integer that their dtype does not hold, which is the same for each of them."""
    number, other = (x, y) if type(x) is int else (y, x)
    dtype = token(other)
    if type(number) is not int or not isinstance(dtype, np.dtype) or computed(dtype).kind not in "iu":
        return None
    limits = np.iinfo(computed(dtype))
    if limits.min <= number <= limits.max:
        return None
    is_less = number < limits.min if number is x else number > limits.max  # the operand on the left
    found = predicate == "ne" or (predicate != "eq" and (predicate in ("lt", "le")) is is_less)
    return full_like_tracer(compare("eq", lift(other), lift(other)), found)


def _compare_mixed(x: Tracer, y: Tracer, predicate: str) -> Tracer:
    """An int64 beside a uint64, which NumPy compares as numbers: a negative number is less than any unsigned one."""
    signed, unsigned = (x, y) if x.dtype.kind == "i" else (y, x)
    negative = compare("lt", signed, full_like_tracer(signed, 0))
    inside = compare(predicate, lift_as(x, unsigned.dtype), lift_as(y, unsigned.dtype))
    if predicate in (("ne", "lt", "le") if signed is x else ("ne", "gt", "ge")):
        return build("or", negative, inside)
    return build("and", build("not", negative), inside)


def select(condition: Tracer, x: Tracer, y: Tracer) -> Tracer:
    return build("select", condition, x, y)


def compare(predicate: str, x: Tracer, y: Tracer) -> Tracer:
    return build("cmp", x, y, predicate=predicate)


def unary(ufunc: np.ufunc, op: str | None = None, of_complex: Formula | None = None) -> Callable[[Any], Any]:
    def function(x: Any, /) -> Any:
        return ufunc_op(ufunc, x, op=op, of_complex=of_complex)

    return named(function, ufunc)


def binary(ufunc: np.ufunc, op: str, **props: Any) -> Callable[[Any, Any], Any]:
    def function(x1: Any, x2: Any, /) -> Any:
        return ufunc_op(ufunc, x1, x2, op=op, **props)

    return named(function, ufunc)


def named(function: Callable[..., Any], ufunc: np.ufunc) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = ufunc.__name__
    function.__doc__ = f"`np.{ufunc.__name__}`, on arrays and traced arrays."
    return operation(function)


def bitcast(x: Tracer, dtype: np.dtype[Any]) -> Tracer:
    """The bits of `x` as another dtype of its width."""
    if x.dtype == dtype:
        return x
    trace, value = here(x)
    return trace.wrap(trace.builder.bitcast(value, element_type(dtype)))

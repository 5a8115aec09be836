"""lamina.numpy: logic, choices, limits and conversions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import (
    Tracer,
    arrays,
    broadcast_tracer,
    build,
    full_like_tracer,
    lift,
    lift_as,
    lift_operands,
    operand,
    operation,
    token,
)
from ...api.dtypes import BOOL, STORED, canonical, inexact, is_complex_dtype, result_type, weak_result
from ...api.errors import ShapeError
from . import complex_formulas
from .elementwise import broadcast_shapes, compare, named, prepare, select
from .ufuncs import absolute, add, equal, less_equal, maximum, minimum, multiply, subtract


def as_bool(x: Any) -> Tracer:
    """Whether an operand is not zero."""
    return lift_as(lift(x), BOOL)


def _logical(ufunc: np.ufunc, op: str) -> Callable[[Any, Any], Any]:
    def function(x1: Any, x2: Any, /) -> Any:
        x, y = as_bool(x1), as_bool(x2)
        shape = broadcast_shapes([x.shape, y.shape])
        return build(op, broadcast_tracer(x, shape), broadcast_tracer(y, shape))

    return named(function, ufunc)


logical_and, logical_or = _logical(np.logical_and, "and"), _logical(np.logical_or, "or")
logical_xor = _logical(np.logical_xor, "xor")


@operation
def logical_not(x: Any, /) -> Any:
    """`np.logical_not`."""
    return build("not", as_bool(x))


@operation
def isnan(x: Any, /) -> Any:
    """`np.isnan`."""
    x = lift(x)
    return compare("ne", x, x)


@operation
def isinf(x: Any, /) -> Any:
    """`np.isinf`."""
    x = lift(x)
    if is_complex_dtype(x.dtype):
        return build("or", *(isinf(part) for part in complex_formulas.parts(x)))
    if x.dtype.kind != "f":
        return compare("ne", x, x)
    return compare("eq", build("abs", x), full_like_tracer(x, math.inf))


@operation
def isfinite(x: Any, /) -> Any:
    """`np.isfinite`."""
    x = lift(x)
    if is_complex_dtype(x.dtype):
        return build("and", *(isfinite(part) for part in complex_formulas.parts(x)))
    if x.dtype.kind != "f":
        return compare("eq", x, x)
    return compare("lt", build("abs", x), full_like_tracer(x, math.inf))


def _ignoring_nan(ufunc: np.ufunc, op: str) -> Callable[[Any, Any], Any]:
    def function(x1: Any, x2: Any, /) -> Any:
        (x, y), _, weak = prepare(ufunc, (x1, x2))
        if is_complex_dtype(x.dtype):
            return getattr(complex_formulas, ufunc.__name__)(x, y)
        best = build(op, x, y, weak=weak)
        return select(compare("ne", x, x), y, select(compare("ne", y, y), x, best))

    return named(function, ufunc)


fmax, fmin = _ignoring_nan(np.fmax, "max"), _ignoring_nan(np.fmin, "min")


def where(condition: Any, x: Any = None, y: Any = None, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`np.where(condition, x, y)`: `x` where the condition holds, else `y`. `where(condition)` is `nonzero`."""
    if x is None and y is None:
        return arrays.nonzero(condition, size=size, fill_value=fill_value)
    return _where(condition, x, y)


@operation
def _where(condition: Any, x: Any, y: Any) -> Any:
    if x is None or y is None:
        raise ShapeError("where takes both x and y, or none of them")
    x, y = operand(x), operand(y)
    tokens = (token(x), token(y))
    dtype = result_type(tokens)
    tracers = [as_bool(condition), *lift_operands((x, y), tokens, (dtype, dtype))]
    shape = broadcast_shapes([t.shape for t in tracers])
    return build("select", *(broadcast_tracer(t, shape) for t in tracers), weak=weak_result(tokens))


@operation
def clip(a: Any, /, min: Any = None, max: Any = None, *, a_min: Any = None, a_max: Any = None) -> Any:
    """`np.clip`: limited to `[min, max]`, which are also called `a_min` and `a_max`; None is no limit."""
    a = operand(a)
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    given = [operand(x) for x in (a, low, high) if x is not None]
    tokens = [token(x) for x in given]
    if any(each in STORED for each in tokens):
        found = iter(lift_operands(given, tokens, (result_type(tokens),) * len(given)))
        a, low, high = (None if x is None else next(found) for x in (a, low, high))
    if low is not None:
        a = maximum(a, low)
    return a if high is None and isinstance(a, Tracer) else lift(a) if high is None else minimum(a, high)


@operation
def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """`np.nan_to_num`: NaN and infinities replaced by numbers."""
    x = lift(x)
    if is_complex_dtype(x.dtype):
        return complex_formulas.joined(*(nan_to_num(part, copy, nan, posinf, neginf) for part in complex_formulas.parts(x)))
    if x.dtype.kind != "f":
        return x
    limits = np.finfo(x.dtype)
    inf = full_like_tracer(x, math.inf)
    y = select(compare("ne", x, x), full_like_tracer(x, nan), x)
    y = select(compare("eq", x, inf), full_like_tracer(x, float(limits.max) if posinf is None else posinf), y)
    low = full_like_tracer(x, float(limits.min) if neginf is None else neginf)
    return select(compare("eq", x, full_like_tracer(x, -math.inf)), low, y)


@operation
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """`np.isclose`: `|a - b| <= atol + rtol * |b|` for finite numbers, equality else."""
    a, b = lift(a), lift(b)
    if b.dtype.kind in "biu":  # a difference of unsigned integers would wrap
        b = lift_as(b, inexact(b.dtype))
    near = less_equal(absolute(subtract(a, b)), add(atol, multiply(rtol, absolute(b))))
    close = logical_or(logical_and(near, isfinite(b)), equal(a, b))
    return logical_or(close, logical_and(isnan(a), isnan(b))) if equal_nan else close


@operation
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """`x.astype(dtype)`, always a copy. Floats to integers truncate and saturate, NaN becomes 0."""
    del copy
    if device not in (None, "cpu"):
        raise ValueError(f"device must be 'cpu', got {device!r}")
    x = lift(x)
    wanted = canonical(dtype)
    if x.dtype == wanted:
        return Tracer(x.within, x.value, x.shape, x.dtype) if x.weak else x
    if is_complex_dtype(x.dtype) and wanted.kind not in "bc":
        x = complex_formulas.parts(x)[0]
    return lift_as(x, wanted)

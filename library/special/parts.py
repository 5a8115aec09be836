"""Building blocks of special functions: operands that are floats, polynomials."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import Tracer, broadcast_tracer, build, full_like_tracer, lift, lift_operands, operation, token
from ...api.dtypes import result_type
from ...api.functions import jvp, with_slopes
from ...api.ops import scalar_functions
from ..numpy.elementwise import broadcast_shapes, compare, prepare, select

EXP_RATIO = tuple(1 / math.factorial(k + 1) for k in range(22))
"""`expm1(z) / z` in z, enough up to 1 with three derivatives."""

NEAR_LOG = 0.125
LOG_RATIO = tuple((-1) ** k / (k + 1) for k in range(24))
"""`log1p(z) / z` in z, enough up to `NEAR_LOG` with three derivatives."""


def as_float(x: Any) -> Tracer:
    return prepare(np.sqrt, (x,))[0][0]


def floats(x: Any, y: Any) -> list[Tracer]:
    return prepare(np.arctan2, (x, y))[0]


def float_operands(*args: Any) -> list[Tracer]:
    """Operands as floats of one dtype and shape."""
    tokens = [token(x) for x in args]
    dtype = result_type(tokens)
    dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)
    tracers = lift_operands(args, tokens, (dtype,) * len(args))
    shape = broadcast_shapes([t.shape for t in tracers])
    return [broadcast_tracer(t, shape) for t in tracers]


square_exp = with_slopes(lambda x: 1.0 / build("gauss", x), lambda y, x: 2.0 * x * y)
"""`exp(x * x)`; its slopes overflow as it does."""


def slope_along(function: Callable[..., Any], k: int) -> Callable[..., Tracer]:
    """The slope of a function of floats by its operand `k`, by the formula of the function."""

    def slope(*operands: Tracer) -> Tracer:
        def along(v: Tracer) -> Any:
            return function(*operands[:k], v, *operands[k + 1 :])

        return lift(jvp(along, (operands[k],), (full_like_tracer(operands[k], 1),))[1])

    return slope


def with_products(function: Callable[..., Tracer], operands: int = 1) -> Callable[..., Tracer]:
    """A function whose derivatives of all orders are products of its slopes: an infinite tangent or cotangent meets one slope,
    not the terms of a formula, whose sum it would make NaN.
    """

    def slope(k: int) -> Callable[..., Tracer]:
        return lambda y, *xs: with_products(slope_along(function, k), operands)(*xs)

    return with_slopes(function, *map(slope, range(operands)))


def with_total_slopes(function: Callable[..., Tracer], *slopes: Callable[..., Tracer]) -> Callable[..., Tracer]:
    """As `with_slopes`, of slopes that read the result, with the derivatives of `with_products`: those by an operand, which
    have the slope of the result by it in them, too.
    """
    result = with_slopes(lambda y, *xs: y, None, *((lambda _, y, *xs, s=s: s(y, *xs)) for s in slopes))

    def total(of: Callable[..., Tracer]) -> Callable[..., Tracer]:
        def slope(k: int) -> Callable[..., Tracer]:
            along = slope_along(lambda y, *xs: of(result(y, *xs), *xs), k + 1)
            return lambda _, y, *xs: total(along)(y, *xs)

        return with_slopes(of, None, *(slope(k) for k in range(len(slopes))))

    return with_slopes(function, *map(total, slopes))


def chebyshev(x: Tracer, coefficients: tuple[float, ...]) -> Tracer:
    """`sum(c[k] * T_k(x))` by Clenshaw's recurrence, without the coefficients that the dtype does not see."""
    eps = float(np.finfo(x.dtype).eps) / 64
    while abs(coefficients[-1]) < eps:
        coefficients = coefficients[:-1]
    high = low = full_like_tracer(x, 0)
    twice = x + x
    for c in reversed(coefficients[1:]):
        high, low = twice * high - low + c, high
    return x * high - low + coefficients[0]


def polynomial(x: Tracer, coefficients: tuple[float, ...]) -> Tracer:
    y = full_like_tracer(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        y = y * x + c
    return y


def log1p_less(x: Tracer, whole: Tracer) -> Tracer:
    """`log(1 + x) - x`, accurate near 0; `whole` is `1 + x`, which is computed from `x` near 0 alone."""
    near = compare("lt", build("abs", x), full_like_tracer(x, 0.3))
    z = select(near, x, full_like_tracer(x, 0))
    r = z / (2.0 + z)
    square = r * r
    series = 2.0 * r * square * polynomial(square, tuple(1 / (2 * k + 3) for k in range(11))) - z * r
    return select(near, series, build("log", select(near, full_like_tracer(x, 1), whole)) - x)


def of_op(op: str, name: str) -> Callable[[Any], Any]:
    """The function of floats that is an op of one operand, a row of `dialects/functions.py`."""

    def function(x: Any, /) -> Any:
        return build(op, as_float(x))

    function.__name__ = function.__qualname__ = name
    function.__module__ = f"{__package__}.namespace"
    function.__doc__ = scalar_functions[op].meaning
    return operation(function)

"""lamina.numpy: powers, logarithms, exponentials and hyperbolic functions, composed of graph ops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import Tracer, broadcast_tracer, build, concrete_array, full_like_tracer, lift_as, operand, operation, token
from ...api.dtypes import COMPLEX128, FLOAT64, dtype_of, is_complex_dtype, is_integer_dtype, ufunc_dtypes, weak_result
from ...api.sizes import Size
from . import complex_formulas
from .elementwise import broadcast_shapes, compare, named, prepare, select, ufunc_op


@operation
def power(x1: Any, x2: Any, /) -> Any:
    """`np.power`. Small constant exponents become products. A traced negative exponent of integers, which NumPy refuses, gives
    the quotient toward zero: 0 but for bases 1 and -1."""
    x1, x2 = operand(x1), operand(x2)
    (_, _), result = ufunc_dtypes(np.power, (token(x1), token(x2)))
    constant = None if isinstance(x2, Tracer | Size) else concrete_array(x2)
    if is_integer_dtype(result):
        return _integer_power(x1, x2, result) if constant is None else _constant_power(x1, constant, result)
    small = constant is not None and constant.ndim == 0 and (constant.dtype.kind != "c" or not constant.imag)
    if small and constant is not None and (product := _product_power(x1, float(constant.real), result)) is not None:
        product.weak = weak_result((token(x1), token(x2)))
        return product
    return ufunc_op(np.power, x1, x2, op="pow")


def _product_power(base: Any, exponent: float, dtype: np.dtype[Any]) -> Tracer | None:
    if exponent == 0.5:
        return build("sqrt", lift_as(base, dtype))
    if exponent != int(exponent if math.isfinite(exponent) else 0.5) or not -4 <= exponent <= 8:
        return None
    x = lift_as(base, dtype)
    if exponent == 0:
        return full_like_tracer(x, 1)
    y = _repeat_product(x, int(math.fabs(exponent)))
    return build("div", full_like_tracer(x, 1), y) if exponent < 0 else y


def _repeat_product(x: Tracer, n: int) -> Tracer:
    """`x ** n` for n >= 1 by squaring."""
    result: Tracer | None = None
    while True:
        if n & 1:
            result = x if result is None else build("mul", result, x)
        n >>= 1
        if not n:
            assert result is not None
            return result
        x = build("mul", x, x)


def _constant_power(base: Any, exponent: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> Tracer:
    if (exponent < 0).any():
        raise ValueError("integers to negative integer powers are not allowed, as in NumPy")
    if exponent.ndim:
        return _integer_power(base, exponent, dtype)
    x = lift_as(base, dtype)
    return _repeat_product(x, int(exponent)) if exponent > 0 else full_like_tracer(x, 1)


def _integer_power(base: Any, exponent: Any, dtype: np.dtype[Any]) -> Tracer:
    x, n = lift_as(base, dtype), lift_as(exponent, dtype)
    shape = broadcast_shapes([x.shape, n.shape])
    return build("pow", broadcast_tracer(x, shape), broadcast_tracer(n, shape))


@operation
def float_power(x1: Any, x2: Any, /) -> Any:
    """`np.float_power`: the power in float64 or complex128."""
    complex_ = "c" in (dtype_of(token(operand(x))).kind for x in (x1, x2))
    return power(lift_as(operand(x1), COMPLEX128 if complex_ else FLOAT64), x2)


@operation
def exp2(x: Any, /) -> Any:
    """`np.exp2`: 2 to the power of `x`."""
    (x,), _, weak = prepare(np.exp2, (x,))
    if is_complex_dtype(x.dtype):
        return complex_formulas.exp2(x)
    return build("pow", full_like_tracer(x, 2), x, weak=weak)


def _scaled(ufunc: np.ufunc, op: str | None, factor: float) -> Callable[[Any], Any]:
    def function(x: Any, /) -> Any:
        (y,), _, weak = prepare(ufunc, (x,))
        y = y if op is None else build(op, y)
        if is_complex_dtype(y.dtype):
            return complex_formulas.scale(y, factor, weak)
        return build("mul", y, full_like_tracer(y, factor), weak=weak)

    return named(function, ufunc)


log2, log10 = _scaled(np.log2, "log", 1 / math.log(2)), _scaled(np.log10, "log", 1 / math.log(10))
radians = deg2rad = _scaled(np.radians, None, math.pi / 180)
degrees = rad2deg = _scaled(np.degrees, None, 180 / math.pi)


def sign_factor(x: Tracer) -> Tracer:
    """-1 for negative elements, 1 for others. `x * sign_factor(x)` is `|x|` with a slope of 1 at 0 and not 0, so that odd and
    even functions of `x` that are computed from `|x|` have their derivatives there, too, to every order."""
    one = full_like_tracer(x, 1)
    return select(compare("lt", x, full_like_tracer(x, 0)), build("neg", one), one)


def power_series(x: Tracer, coefficients: tuple[float, ...]) -> Tracer:
    """The polynomial in `x`, lowest power first."""
    series = full_like_tracer(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        series = build("mul", series, x)
        series = build("add", series, full_like_tracer(x, c)) if c else series
    return series


@operation
def logaddexp(x1: Any, x2: Any, /) -> Any:
    """`np.logaddexp`: log(exp(x1) + exp(x2)) without overflow."""
    (x, y), _, weak = prepare(np.logaddexp, (x1, x2))
    return _log_of_sum(x, y, 1.0, weak)


@operation
def logaddexp2(x1: Any, x2: Any, /) -> Any:
    """`np.logaddexp2`: log2(2**x1 + 2**x2) without overflow."""
    (x, y), _, weak = prepare(np.logaddexp2, (x1, x2))
    return _log_of_sum(x, y, math.log(2), weak)


def _log_of_sum(x: Tracer, y: Tracer, log_base: float, weak: bool) -> Tracer:
    high = _greater(x, y)
    gap = build("sub", x, y)
    # equal infinities have no gap
    infinite = build("and", compare("eq", x, y), compare("eq", build("abs", x), full_like_tracer(x, math.inf)))
    gap = select(infinite, full_like_tracer(x, 0), gap)
    gap = build("mul", gap, sign_factor(gap))
    if log_base == 1:
        return build("add", high, build("log1p", build("exp", build("neg", gap))), weak=weak)
    more = build("log1p", build("exp", build("mul", gap, full_like_tracer(x, -log_base))))
    return build("add", high, build("mul", more, full_like_tracer(x, 1 / log_base)), weak=weak)


def _greater(x: Tracer, y: Tracer) -> Tracer:
    """The maximum, whose slope at a tie is that of `x` alone, as `x - y` counts as positive there; NaN if either is NaN."""
    return select(build("or", compare("ge", x, y), compare("ne", x, x)), x, y)


@operation
def hypot(x1: Any, x2: Any, /) -> Any:
    """`np.hypot`: sqrt(x1**2 + x2**2) without overflow. Its slopes at the origin are 0.5, as in jax."""
    (x, y), _, weak = prepare(np.hypot, (x1, x2))
    x, y = build("mul", x, sign_factor(x)), build("mul", y, sign_factor(y))
    zero, one, inf = full_like_tracer(x, 0), full_like_tracer(x, 1), full_like_tracer(x, math.inf)
    endless = compare("eq", x, inf)
    infinite = build("or", endless, compare("eq", y, inf))
    end = select(endless, x, y)  # has the slopes there
    x, y = select(infinite, one, x), select(infinite, one, y)
    ordered = build("or", compare("ge", x, y), compare("ne", x, x))
    high, low = select(ordered, x, y), select(ordered, y, x)
    origin = compare("eq", high, zero)
    ratio = build("div", low, select(origin, one, high))
    length = build("mul", high, build("sqrt", build("add", one, build("mul", ratio, ratio))), weak=weak)
    # + 0, since the operands may be -0
    length = select(origin, build("add", build("mul", full_like_tracer(x, 0.5), build("add", x, y)), zero), length)
    return select(infinite, end, length)


# of sin(pi * x) / (pi * x) in (pi * x)**2, enough for 1
_SINC = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(10))


@operation
def sinc(x: Any, /) -> Any:
    """`np.sinc`: sin(pi * x) / (pi * x), 1 at 0, where all derivatives are right, too."""
    (x,), _, weak = prepare(np.sin, (x,))
    angle, one = build("mul", x, full_like_tracer(x, math.pi)), full_like_tracer(x, 1)
    if is_complex_dtype(x.dtype):
        size = complex_formulas.magnitude(angle)
        near = compare("lt", size, full_like_tracer(size, 1))
    else:
        near = compare("lt", build("abs", angle), one)
    far = select(near, one, angle)
    square = select(near, build("mul", angle, angle), one)
    return build("select", near, power_series(square, _SINC), build("div", build("sin", far), far), weak=weak)


@operation
def heaviside(x1: Any, x2: Any, /) -> Any:
    """`np.heaviside`: 0 below zero, `x2` at zero, 1 above."""
    (x, y), _, _ = prepare(np.heaviside, (x1, x2))
    zero, one = full_like_tracer(x, 0), full_like_tracer(x, 1)
    step = select(compare("lt", x, zero), zero, select(compare("gt", x, zero), one, y))
    return select(compare("ne", x, x), x, step)


pow = power

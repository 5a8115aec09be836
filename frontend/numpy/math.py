"""lamina.numpy: powers, logarithms, exponentials and hyperbolic functions, composed of graph ops."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import complex_formulas
from ..define_by_run.eager import operation
from ..elementwise import broadcast_shapes, compare, full_like_tracer, named, prepare, select, ufunc_op
from ..moves import broadcast_tracer
from ..promotion import COMPLEX128, FLOAT64, dtype_of, is_complex_dtype, is_integer_dtype, ufunc_dtypes, weak_result
from ..tracer import Tracer
from ..tracing import build, concrete_array, lift_as, operand, token

__all__ = [  # noqa: RUF022
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctanh", "asin", "asinh", "atanh", "cbrt", "cosh",
    "deg2rad", "degrees", "exp2", "float_power", "heaviside", "hypot", "log10", "log2", "logaddexp", "logaddexp2", "pow",
    "power", "rad2deg", "radians", "sinc", "sinh",
]  # fmt: skip


@operation
def power(x1: Any, x2: Any, /) -> Any:
    """`np.power`. Small constant exponents become products. A traced negative exponent of integers, which NumPy refuses, gives
    the quotient toward zero: 0 but for bases 1 and -1."""
    x1, x2 = operand(x1), operand(x2)
    (_, _), result = ufunc_dtypes(np.power, (token(x1), token(x2)))
    constant = None if isinstance(x2, Tracer) else concrete_array(x2)
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


_LN2 = {4: (0.693145751953125, 1.428606765330187e-06), 8: (0.6931471803691238, 1.9082149292705877e-10)}
"""ln 2 in two parts by the bytes of a number, the first so short that differences with it are exact."""


def _half_exponentials(x: Tracer) -> tuple[Tracer, Tracer]:
    """exp(x) / 2 without early overflow, and exp(-x) / 2, for x >= 0."""
    high, low = _LN2[x.dtype.itemsize]
    grown = build("mul", build("exp", build("sub", x, full_like_tracer(x, high))), full_like_tracer(x, math.exp(-low)))
    # of what may overflow the quotient would have a slope of NaN; from here on it is not seen beside the other one
    return grown, build("div", full_like_tracer(x, 0.25), build("min", grown, full_like_tracer(x, 1e18)))


@operation
def cosh(x: Any, /) -> Any:
    """`np.cosh`."""
    (x,), _, weak = prepare(np.cosh, (x,))
    if is_complex_dtype(x.dtype):
        return complex_formulas.cosh(x)
    return _weakly(_differentiated("cosh")(x), weak)


def _cosh(x: Tracer) -> Tracer:
    grown, shrunk = _half_exponentials(build("mul", x, sign_factor(x)))
    return build("add", grown, shrunk)


_SLOPES: dict[str, tuple[Callable[[Tracer], Tracer], Callable[[Tracer, Tracer], Any]]] = {}
"""Functions whose formulas lose their slope at the ends of the domain, and their slopes, of the result and the operand."""


@functools.cache
def _differentiated(name: str) -> Callable[[Tracer], Tracer]:
    from ..special.parts import with_slopes  # which needs this module

    function, slope = _SLOPES[name]
    return with_slopes(function, slope)


def _weakly(y: Tracer, weak: bool) -> Tracer:
    y.weak = weak
    return y


@operation
def sinh(x: Any, /) -> Any:
    """`np.sinh`: near 0, where the difference of exponentials cancels, by its series."""
    (x,), _, weak = prepare(np.sinh, (x,))
    if is_complex_dtype(x.dtype):
        return complex_formulas.sinh(x)
    return _weakly(_differentiated("sinh")(x), weak)


def _sinh(x: Tracer) -> Tracer:
    zero, one, sign = full_like_tracer(x, 0), full_like_tracer(x, 1), sign_factor(x)
    size = build("mul", x, sign)
    near = compare("lt", size, one)
    grown, shrunk = _half_exponentials(select(near, one, size))
    t = select(near, x, zero)
    small = build("add", t, build("mul", t, _series(build("mul", t, t), _SINH[x.dtype.itemsize])))
    return select(near, small, build("mul", sign, build("sub", grown, shrunk)))


_SLOPES["sinh"] = _sinh, lambda y, x: _differentiated("cosh")(x)
_SLOPES["cosh"] = _cosh, lambda y, x: _differentiated("sinh")(x)


# of sinh(t) / t - 1 in t^2, enough for 1, by the bytes of a number
_SINH = {size: (0.0, *(1 / math.factorial(2 * k + 1) for k in range(1, terms))) for size, terms in ((4, 6), (8, 10))}


def _series(x: Tracer, coefficients: tuple[float, ...]) -> Tracer:
    """The polynomial in `x`, lowest power first."""
    series = full_like_tracer(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        series = build("mul", series, x)
        series = build("add", series, full_like_tracer(x, c)) if c else series
    return series


_LARGE = 1e18
"""Beside the square of such a number 1 is not seen."""


@operation
def arcsinh(x: Any, /) -> Any:
    """`np.arcsinh`."""
    (x,), _, weak = prepare(np.arcsinh, (x,))
    if is_complex_dtype(x.dtype):
        return complex_formulas.arcsinh(x, arcsinh)
    one, sign = full_like_tracer(x, 1), sign_factor(x)
    size = build("mul", x, sign)
    large = full_like_tracer(x, _LARGE)
    near = compare("lt", size, large)
    s = select(near, size, large)
    root = build("sqrt", build("add", build("mul", s, s), one))
    # a product by s keeps the sign of a zero
    grown = build("mul", s, build("add", one, build("div", s, build("add", one, root))))
    return build("mul", sign, _log_of_grown(near, grown, size), weak=weak)


def _log_of_grown(near: Tracer, grown: Tracer, x: Tracer) -> Tracer:
    """log(1 + grown), where not `near` log(2 x)."""
    y = build("log1p", select(near, grown, x))
    return select(near, y, build("add", y, full_like_tracer(x, math.log(2))))


@operation
def arccosh(x: Any, /) -> Any:
    """`np.arccosh`: NaN below 1."""
    (x,), _, _ = prepare(np.arccosh, (x,))
    if is_complex_dtype(x.dtype):
        return complex_formulas.arccosh(x, arcsinh)
    return _differentiated("arccosh")(x)


def _arccosh(x: Tracer) -> Tracer:
    one, large = full_like_tracer(x, 1), full_like_tracer(x, _LARGE)
    near = compare("lt", x, large)
    t = build("sub", select(near, x, large), one)
    grown = build("add", t, build("sqrt", build("mul", t, build("add", t, full_like_tracer(x, 2)))))
    return select(compare("lt", x, one), full_like_tracer(x, math.nan), _log_of_grown(near, grown, x))


def _arccosh_slope(y: Tracer, x: Tracer) -> Any:
    one = full_like_tracer(x, 1)
    # two roots: the product overflows
    return 1.0 / (build("sqrt", build("sub", x, one)) * build("sqrt", build("add", x, one)))


_SLOPES["arccosh"] = _arccosh, _arccosh_slope


@operation
def arcsin(x: Any, /) -> Any:
    """`np.arcsin`: NaN outside [-1, 1]."""
    (x,), _, weak = prepare(np.arcsin, (x,))
    if is_complex_dtype(x.dtype):
        return complex_formulas.arcsin(x, arcsinh)
    return _weakly(_differentiated("arcsin")(x), weak)


_SLOPES["arcsin"] = lambda x: build("atan2", x, _adjacent(x)), lambda y, x: 1.0 / _adjacent(x)
_SLOPES["arccos"] = lambda x: build("atan2", _adjacent(x), x), lambda y, x: -1.0 / _adjacent(x)


@operation
def arccos(x: Any, /) -> Any:
    """`np.arccos`: NaN outside [-1, 1]."""
    (x,), _, weak = prepare(np.arccos, (x,))
    if is_complex_dtype(x.dtype):
        return complex_formulas.arccos(x, arcsinh)
    return _weakly(_differentiated("arccos")(x), weak)


def _adjacent(x: Tracer) -> Tracer:
    """The other side of a right triangle whose longest is 1: accurate also where `1 - x * x` would cancel."""
    one = full_like_tracer(x, 1)
    return build("sqrt", build("mul", build("sub", one, x), build("add", one, x)))


@operation
def arctanh(x: Any, /) -> Any:
    """`np.arctanh`: NaN outside [-1, 1]."""
    (x,), _, weak = prepare(np.arctanh, (x,))
    if is_complex_dtype(x.dtype):
        return complex_formulas.arctanh(x)
    half = full_like_tracer(x, 0.5)
    return build("mul", half, build("sub", build("log1p", x), build("log1p", build("neg", x))), weak=weak)


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
    ordered = build("or", compare("ge", x, y), compare("ne", x, x))
    high, low = select(ordered, x, y), select(ordered, y, x)
    origin = compare("eq", high, zero)
    ratio = build("div", low, select(origin, one, high))
    length = build("mul", high, build("sqrt", build("add", one, build("mul", ratio, ratio))), weak=weak)
    # + 0, since the operands may be -0
    length = select(origin, build("add", build("mul", full_like_tracer(x, 0.5), build("add", x, y)), zero), length)
    infinite = build("or", compare("eq", x, inf), compare("eq", y, inf))
    return select(infinite, inf, length)


@operation
def cbrt(x: Any, /) -> Any:
    """`np.cbrt`: the cube root, of negative numbers too."""
    (x,), _, weak = prepare(np.cbrt, (x,))
    return _weakly(_differentiated("cbrt")(x), weak)


def _cbrt(x: Tracer) -> Tracer:
    zero, one = (full_like_tracer(x, value) for value in (0, 1))
    sign = select(compare("lt", x, zero), build("neg", one), one)
    size = build("mul", sign, x)
    usual = compare("gt", size, zero), compare("lt", size, full_like_tracer(x, math.inf))
    for condition in usual:
        size = select(condition, size, one)
    # cubes of roots of extreme numbers are not normal ones
    far = np.finfo(x.dtype).maxexp // 4 * 3
    unscaled = one
    for predicate, power in (("lt", -far), ("gt", far)):
        is_extreme = compare(predicate, size, full_like_tracer(x, 2.0**power))
        size = select(is_extreme, build("mul", size, full_like_tracer(x, 8.0 ** (-power // 4))), size)
        unscaled = select(is_extreme, full_like_tracer(x, 2.0 ** (power // 4)), unscaled)
    # x**(-1/3) gives the root, and the slope of Newton's step, which makes all digits right, without a division
    third = full_like_tracer(x, 1 / 3)
    inverse = build("exp", build("neg", build("mul", build("log", size), third)))
    square = build("mul", inverse, inverse)
    root = build("mul", size, square)
    excess = build("sub", build("mul", build("mul", root, root), root), size)
    root = build("sub", root, build("mul", excess, build("mul", square, third)))
    root = build("mul", build("mul", sign, unscaled), root)
    return select(usual[0], select(usual[1], root, x), x)


_SLOPES["cbrt"] = _cbrt, lambda y, x: 1.0 / (3.0 * y * y)


# of sin(pi * x) / (pi * x) in (pi * x)**2, enough for 1
_SINC = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(10))


@operation
def sinc(x: Any, /) -> Any:
    """`np.sinc`: sin(pi * x) / (pi * x), 1 at 0, where all derivatives are right, too."""
    (x,), _, weak = prepare(np.sin, (x,))
    angle, one = build("mul", x, full_like_tracer(x, math.pi)), full_like_tracer(x, 1)
    near = compare("lt", build("abs", angle), one)
    far = select(near, one, angle)
    square = select(near, build("mul", angle, angle), one)
    return build("select", near, _series(square, _SINC), build("div", build("sin", far), far), weak=weak)


@operation
def heaviside(x1: Any, x2: Any, /) -> Any:
    """`np.heaviside`: 0 below zero, `x2` at zero, 1 above."""
    (x, y), _, _ = prepare(np.heaviside, (x1, x2))
    zero, one = full_like_tracer(x, 0), full_like_tracer(x, 1)
    step = select(compare("lt", x, zero), zero, select(compare("gt", x, zero), one, y))
    return select(compare("ne", x, x), x, step)


acos, acosh, asin, asinh, atanh, pow = arccos, arccosh, arcsin, arcsinh, arctanh, power

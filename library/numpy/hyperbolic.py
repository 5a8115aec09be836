"""Elementary functions with derivatives of their own: those of their formulas are inaccurate at the ends of the domains."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import Tracer, build, full_like_tracer, operation
from ...api.dtypes import is_complex_dtype
from ...api.functions import with_slopes
from . import complex_formulas
from .elementwise import compare, prepare, select
from .math import power_series, sign_factor

_LN2 = {4: (0.693145751953125, 1.428606765330187e-06), 8: (0.6931471803691238, 1.9082149292705877e-10)}
"""ln 2 in two parts by the bytes of a number, the first so short that differences with it are exact."""


def _half_exponentials(x: Tracer) -> tuple[Tracer, Tracer]:
    """exp(x) / 2 without early overflow, and exp(-x) / 2, for x >= 0."""
    high, low = _LN2[x.dtype.itemsize]
    grown = build("mul", build("exp", build("sub", x, full_like_tracer(x, high))), full_like_tracer(x, math.exp(-low)))
    # where it may overflow the quotient would have a slope of NaN; from here on it is negligible beside the other one
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
    small = build("add", t, build("mul", t, power_series(build("mul", t, t), _SINH[x.dtype.itemsize])))
    return select(near, small, build("mul", sign, build("sub", grown, shrunk)))


_SLOPES["sinh"] = _sinh, lambda y, x: _differentiated("cosh")(x)
_SLOPES["cosh"] = _cosh, lambda y, x: _differentiated("sinh")(x)


# of sinh(t) / t - 1 in t^2, enough for 1, by the bytes of a number
_SINH = {size: (0.0, *(1 / math.factorial(2 * k + 1) for k in range(1, terms))) for size, terms in ((4, 6), (8, 10))}


_LARGE = 1e18
"""Beside the square of such a number 1 is not seen."""


@operation
def arcsinh(x: Any, /) -> Any:
    """`np.arcsinh`."""
    (x,), _, weak = prepare(np.arcsinh, (x,))
    if is_complex_dtype(x.dtype):
        return complex_formulas.arcsinh(x, arcsinh)
    return _weakly(_differentiated("arcsinh")(x), weak)


def _arcsinh(x: Tracer) -> Tracer:
    one, sign = full_like_tracer(x, 1), sign_factor(x)
    size = build("mul", x, sign)
    large = full_like_tracer(x, _LARGE)
    near = compare("lt", size, large)
    s = select(near, size, large)
    root = build("sqrt", build("add", build("mul", s, s), one))
    # a product by s keeps the sign of a zero
    grown = build("mul", s, build("add", one, build("div", s, build("add", one, root))))
    return build("mul", sign, _log_of_grown(near, grown, size))


def _longest(x: Tracer) -> Tracer:
    """sqrt(1 + x^2)."""
    size = build("mul", x, sign_factor(x))
    near = compare("lt", size, full_like_tracer(x, _LARGE))
    s = select(near, x, full_like_tracer(x, 0))
    return select(near, build("sqrt", build("add", build("mul", s, s), full_like_tracer(x, 1))), size)


def _cosine(y: Tracer, x: Tracer) -> Tracer:
    """`x / y` of numbers that become equal where they are large."""
    far = compare("gt", build("abs", x), full_like_tracer(x, _LARGE))
    return build("div", select(far, build("sign", x), x), select(far, full_like_tracer(x, 1), y))


_SLOPES["longest"] = _longest, _cosine
_SLOPES["arcsinh"] = _arcsinh, lambda y, x: 1.0 / _differentiated("longest")(x)


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


def _root(x: Tracer) -> Tracer:
    """sqrt(x^2 - 1)."""
    one = full_like_tracer(x, 1)
    # two roots: the product overflows
    return build("mul", build("sqrt", build("sub", x, one)), build("sqrt", build("add", x, one)))


_SLOPES["root"] = _root, _cosine
_SLOPES["arccosh"] = _arccosh, lambda y, x: 1.0 / _differentiated("root")(x)


@operation
def arcsin(x: Any, /) -> Any:
    """`np.arcsin`: NaN outside [-1, 1]."""
    (x,), _, weak = prepare(np.arcsin, (x,))
    if is_complex_dtype(x.dtype):
        return complex_formulas.arcsin(x, arcsinh)
    return _weakly(_differentiated("arcsin")(x), weak)


_SLOPES["adjacent"] = lambda x: _adjacent(x), lambda y, x: -x / y
_SLOPES["arcsin"] = lambda x: build("atan2", x, _adjacent(x)), lambda y, x: 1.0 / _differentiated("adjacent")(x)
_SLOPES["arccos"] = lambda x: build("atan2", _adjacent(x), x), lambda y, x: -1.0 / _differentiated("adjacent")(x)


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
    return _weakly(_differentiated("arctanh")(x), weak)


def _arctanh(x: Tracer) -> Tracer:
    return build("mul", full_like_tracer(x, 0.5), build("sub", build("log1p", x), build("log1p", build("neg", x))))


# its slope by itself, not by the quotient rule: that is a difference of infinite terms at 1
_SLOPES["arctanh slope"] = lambda x: 1.0 / ((1.0 - x) * (1.0 + x)), lambda y, x: (x + x) * (y * y)
_SLOPES["arctanh"] = _arctanh, lambda y, x: _differentiated("arctanh slope")(x)


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


_SLOPES["cbrt"] = _cbrt, lambda y, x: (1.0 / y) * (1.0 / y) * (1 / 3)  # whose slopes have limits at 0 and infinity, too


acos, acosh, asin, asinh, atanh = arccos, arccosh, arcsin, arcsinh, arctanh

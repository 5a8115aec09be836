"""lamina.numpy: splitting floats into parts, and composing them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import Tracer, array_function, broadcast_tracer, build, config, full_like_tracer, lift, lift_as, lift_float
from ...api.dtypes import INT32, is_integer_dtype
from ...api.errors import DTypeError
from .elementwise import bitcast, broadcast_shapes, compare, prepare, select
from .ufuncs import copysign, trunc


def _equal_to(ufunc_name: str, value: float) -> Callable[[Any], Any]:
    def function(x: Any, /) -> Any:
        x = lift(x)
        return compare("ne", x, x) if x.dtype.kind != "f" else compare("eq", x, full_like_tracer(x, value))

    function.__name__ = function.__qualname__ = ufunc_name
    function.__doc__ = f"`np.{ufunc_name}`."
    return array_function(function)


isposinf, isneginf = _equal_to("isposinf", math.inf), _equal_to("isneginf", -math.inf)


@array_function
def modf(x: Any, /) -> Any:
    """`np.modf`: `(x - trunc(x), trunc(x))`, both with the sign of `x`."""
    (x,), _, _ = prepare(np.modf, (x,))
    whole = copysign(trunc(x), x)
    infinite = compare("eq", build("abs", x), full_like_tracer(x, math.inf))
    return copysign(select(infinite, full_like_tracer(x, 0), x - whole), x), whole


def _power_of_two(exponent: Tracer, dtype: np.dtype[Any]) -> Tracer:
    """`2**exponent` exactly, for exponents of normal numbers: the bits of a float without a fraction."""
    limits, integer = np.finfo(dtype), np.dtype(f"i{dtype.itemsize}")
    biased = lift_as(exponent, integer) + (int(limits.maxexp) - 1)
    return bitcast(build("shl", biased, full_like_tracer(biased, int(limits.nmant))), dtype)


@array_function
def frexp(x: Any, /) -> Any:
    """`np.frexp`: `(m, e)` with `x == m * 2**e`, m in [0.5, 1) or 0, and e int32. Both are exact."""
    (x,), _, _ = prepare(np.frexp, (x,))
    return _parts(x)


def _parts(x: Tracer) -> tuple[Tracer, Tracer]:
    limits, size = np.finfo(x.dtype), build("abs", x)
    usual = build("and", compare("gt", size, full_like_tracer(x, 0)), compare("lt", size, full_like_tracer(x, math.inf)))
    # by half of all exponents towards 1: subnormal numbers become normal ones, and all have a power of two that is normal
    half = int(limits.maxexp) // 2
    small = compare("lt", size, full_like_tracer(x, 1))
    moved = x * select(small, full_like_tracer(x, 2.0**half), full_like_tracer(x, 2.0**-half))
    moved = select(usual, moved, full_like_tracer(x, 1))
    bits = bitcast(build("abs", moved), np.dtype(f"i{x.dtype.itemsize}"))
    exponent = build("shr", bits, full_like_tracer(bits, int(limits.nmant))) - (int(limits.maxexp) - 2)
    exponent = lift_as(exponent, INT32)
    shift = select(small, full_like_tracer(exponent, -half), full_like_tracer(exponent, half))
    return select(usual, moved * _power_of_two(-exponent, x.dtype), x), select(
        usual, exponent + shift, full_like_tracer(exponent, 0)
    )


@array_function
def ldexp(x1: Any, x2: Any, /) -> Any:
    """`np.ldexp`: `x1 * 2**x2`, rounded once."""
    if config.promotion == "jax":
        x, e = lift_float(x1), lift(x2)
        shape = broadcast_shapes([x.shape, e.shape])
        x, e = broadcast_tracer(x, shape), broadcast_tracer(e, shape)
        if not is_integer_dtype(e.dtype):
            raise DTypeError(f"ldexp needs exponents that are integers, got {e.dtype}")
    else:
        (x, e), _, _ = prepare(np.ldexp, (x1, x2))
    most = (
        2 * int(np.finfo(x.dtype).maxexp) - 8
    )  # of the number in [0.5, 1) that is scaled: exponents beyond underflow or overflow

    def clipped(e: Tracer, most: int) -> Tracer:
        return build("min", build("max", e, full_like_tracer(e, -most)), full_like_tracer(e, most))

    x, own = _parts(x)
    e = clipped(lift_as(clipped(e, 3 * most), INT32) + own, most)
    first = build("shr", e, full_like_tracer(e, 1))
    # the first product is a normal number, and exact
    return x * _power_of_two(first, x.dtype) * _power_of_two(e - first, x.dtype)

"""lamina.numpy: floats taken apart and put together."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .eager import api
from .elementwise import compare, full_like_tracer, prepare, select
from .lnp_ufuncs import copysign, trunc
from .promotion import INT32
from .tracer import Tracer
from .tracing import build, lift, lift_as

__all__ = ["frexp", "isneginf", "isposinf", "ldexp", "modf"]


def _equal_to(ufunc_name: str, value: float) -> Callable[[Any], Any]:
    @api
    def function(x: Any, /) -> Any:
        x = lift(x)
        return compare("ne", x, x) if x.dtype.kind != "f" else compare("eq", x, full_like_tracer(x, value))

    function.__name__ = function.__qualname__ = ufunc_name
    function.__doc__ = f"`np.{ufunc_name}`."
    return function


isposinf, isneginf = _equal_to("isposinf", math.inf), _equal_to("isneginf", -math.inf)


@api
def modf(x: Any, /) -> Any:
    """`np.modf`: `(x - trunc(x), trunc(x))`, both with the sign of `x`."""
    (x,), _, _ = prepare(np.modf, (x,))
    whole = copysign(trunc(x), x)
    infinite = compare("eq", build("abs", x), full_like_tracer(x, math.inf))
    return copysign(select(infinite, full_like_tracer(x, 0), x - whole), x), whole


def _bits_of_exponents(dtype: np.dtype[Any]) -> range:
    """The bits of an exponent, from the highest down."""
    return range(int(np.finfo(dtype).maxexp).bit_length() - 2, -1, -1)


@api
def frexp(x: Any, /) -> Any:
    """`np.frexp`: `(m, e)` with `x == m * 2**e`, m in [0.5, 1) or 0, and e int32. Both are exact."""
    (x,), _, _ = prepare(np.frexp, (x,))
    size, one, two = build("abs", x), full_like_tracer(x, 1), full_like_tracer(x, 2)
    usual = build("and", compare("gt", size, full_like_tracer(x, 0)), compare("lt", size, full_like_tracer(x, math.inf)))
    size = select(usual, size, one)
    limits = np.finfo(x.dtype)
    subnormal, lifted = compare("lt", size, full_like_tracer(x, float(limits.tiny))), int(limits.nmant) + 1
    size = size * select(subnormal, full_like_tracer(x, 2.0**lifted), one)
    exponent = lift_as(subnormal, INT32) * -lifted
    for k in _bits_of_exponents(x.dtype):  # down to [1, 2) from above, up from below
        power = 2.0 ** (1 << k)
        large = compare("ge", size, full_like_tracer(x, power))
        small = compare("lt", size, full_like_tracer(x, 2 / power))
        size = size * select(large, full_like_tracer(x, 1 / power), select(small, full_like_tracer(x, power), one))
        step = full_like_tracer(exponent, 1 << k)
        exponent = exponent + select(large, step, select(small, -step, full_like_tracer(exponent, 0)))
    small = compare("lt", size, one)
    size, exponent = size * select(small, two, one), exponent - lift_as(small, INT32)
    return select(usual, copysign(size * 0.5, x), x), select(usual, exponent + 1, full_like_tracer(exponent, 0))


def _power_of_two(exponent: Tracer, dtype: np.dtype[Any]) -> Tracer:
    """`2**exponent` exactly, for exponents of normal numbers."""
    rest = build("abs", exponent)
    result = one = full_like_tracer(lift_as(exponent, dtype), 1)
    for k in _bits_of_exponents(dtype):
        step = full_like_tracer(rest, 1 << k)
        chosen = compare("ge", rest, step)
        result = result * select(chosen, full_like_tracer(result, 2.0 ** (1 << k)), one)
        rest = rest - select(chosen, step, full_like_tracer(rest, 0))
    return select(compare("lt", exponent, full_like_tracer(exponent, 0)), one / result, result)


@api
def ldexp(x1: Any, x2: Any, /) -> Any:
    """`np.ldexp`: `x1 * 2**x2`, rounded once."""
    (x, e), _, _ = prepare(np.ldexp, (x1, x2))
    limits = np.finfo(x.dtype)
    # subnormal results come of one product: what is before it is a normal number or vanishes
    low, high = int(limits.minexp) + int(limits.nmant) + 1, int(limits.maxexp) - 1
    for _ in range(3):
        step = build("min", build("max", e, full_like_tracer(e, low)), full_like_tracer(e, high))
        x, e = x * _power_of_two(step, x.dtype), e - step
    return x

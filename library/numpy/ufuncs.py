"""lamina.numpy: arithmetic, comparisons, rounding and remainders. Each is one graph op or a few, with NumPy's dtypes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...api import Tracer, build, config, full_like_tracer, lift, lift_as, lift_float, operation
from ...api.dtypes import BOOL, FLOAT64, is_complex_dtype, is_integer_dtype
from ...api.errors import DTypeError
from . import complex_formulas
from .elementwise import binary, bitcast, compare, prepare, select, unary

sin, cos, tan, tanh = unary(np.sin), unary(np.cos), unary(np.tan, of_complex=complex_formulas.tan), unary(np.tanh)
arctan, arctan2 = unary(np.arctan, "atan", complex_formulas.arctan), binary(np.arctan2, "atan2")
atan, atan2 = arctan, arctan2
exp, expm1, log, log1p, sqrt = (
    unary(np.exp),
    unary(np.expm1, of_complex=complex_formulas.expm1),
    unary(np.log),
    unary(np.log1p, of_complex=complex_formulas.log1p),
    unary(np.sqrt),
)
floor, ceil, _rint = unary(np.floor), unary(np.ceil), unary(np.rint)
negative = unary(np.negative, "neg")
sign = unary(np.sign, of_complex=complex_formulas.sign)
invert = bitwise_not = bitwise_invert = unary(np.invert, "not")

subtract = binary(np.subtract, "sub")
divide = true_divide = binary(np.divide, "div")
maximum = binary(np.maximum, "max", of_complex=complex_formulas.maximum)
minimum = binary(np.minimum, "min", of_complex=complex_formulas.minimum)
bitwise_and, bitwise_or = binary(np.bitwise_and, "and"), binary(np.bitwise_or, "or")
bitwise_xor = binary(np.bitwise_xor, "xor")
equal, not_equal = binary(np.equal, "cmp", predicate="eq"), binary(np.not_equal, "cmp", predicate="ne")
less, less_equal = binary(np.less, "cmp", predicate="lt"), binary(np.less_equal, "cmp", predicate="le")
greater, greater_equal = (
    binary(np.greater, "cmp", predicate="gt"),
    binary(np.greater_equal, "cmp", predicate="ge"),
)
fmod = binary(np.fmod, "rem")


@operation
def add(x1: Any, x2: Any, /) -> Any:
    """`np.add`: the sum; of bools the logical or."""
    (x, y), _, weak = prepare(np.add, (x1, x2))
    return build("or" if x.dtype == BOOL else "add", x, y, weak=weak)


@operation
def multiply(x1: Any, x2: Any, /) -> Any:
    """`np.multiply`: the product; of bools the logical and."""
    (x, y), _, weak = prepare(np.multiply, (x1, x2))
    return build("and" if x.dtype == BOOL else "mul", x, y, weak=weak)


@operation
def absolute(x: Any, /) -> Any:
    """`np.absolute`."""
    (x,), _, weak = prepare(np.absolute, (x,))
    if is_complex_dtype(x.dtype):
        return complex_formulas.magnitude(x)
    return x if x.dtype == BOOL else build("abs", x, weak=weak)


abs = absolute


@operation
def fabs(x: Any, /) -> Any:
    """`np.fabs`: the absolute value as a float."""
    (x,), _, weak = prepare(np.fabs, (x,))
    return build("abs", x, weak=weak)


@operation
def positive(x: Any, /) -> Any:
    """`np.positive`: the operand itself."""
    return prepare(np.positive, (x,))[0][0]


@operation
def square(x: Any, /) -> Any:
    """`np.square`: `x * x`."""
    (x,), _, weak = prepare(np.square, (x,))
    return build("mul", x, x, weak=weak)


@operation
def reciprocal(x: Any, /) -> Any:
    """`np.reciprocal`: `1 / x`; of integers the truncated quotient."""
    (x,), _, weak = prepare(np.reciprocal, (lift_float(x) if config.promotion == "jax" else x,))
    return build("div", full_like_tracer(x, 1), x, weak=weak)


# --------------------------------------------------------------------------------------------------------------------
# Rounding and remainders


@operation
def trunc(x: Any, /) -> Any:
    """`np.trunc`: toward zero."""
    (x,), _, _ = prepare(np.trunc, (x,))
    if x.dtype == BOOL or is_integer_dtype(x.dtype):
        return x
    zero = full_like_tracer(x, 0)
    return select(compare("lt", x, zero), build("ceil", x), build("floor", x))


@operation
def rint(x: Any, /) -> Any:
    """`np.rint`: the nearest integers, as floats, ties to even; of complex numbers those of both parts."""
    x = lift(x)
    if is_complex_dtype(x.dtype):
        re, im = complex_formulas.parts(x)
        return complex_formulas.joined(build("rint", re), build("rint", im))
    return _rint(x)


@operation
def round(a: Any, decimals: int = 0) -> Any:
    """`np.round`: to the nearest, ties to even; `decimals` digits after the point."""
    x = lift(a)
    if x.dtype == BOOL:
        raise DTypeError("round has no meaning for bool")
    if is_complex_dtype(x.dtype):
        return complex_formulas.joined(*(round(part, decimals) for part in complex_formulas.parts(x)))
    if is_integer_dtype(x.dtype):
        if decimals >= 0:
            return x
        return lift_as(round(lift_as(x, FLOAT64), decimals), x.dtype)
    if decimals == 0:
        return build("rint", x, weak=x.weak)
    scale = full_like_tracer(x, 10.0 ** math.fabs(decimals))
    if decimals > 0:
        return build("div", build("rint", build("mul", x, scale)), scale, weak=x.weak)
    return build("mul", build("rint", build("div", x, scale)), scale, weak=x.weak)


def _divmod(ufunc: np.ufunc, x1: Any, x2: Any) -> tuple[Tracer, Tracer]:
    """Quotient toward minus infinity and the remainder with the divisor's sign."""
    (x, y), _, weak = prepare(ufunc, (x1, x2))
    quotient, modulus = (_int_divmod if is_integer_dtype(x.dtype) else _float_divmod)(x, y)
    quotient.weak = modulus.weak = weak
    return quotient, modulus


def _int_divmod(x: Tracer, y: Tracer) -> tuple[Tracer, Tracer]:
    zero, one = full_like_tracer(x, 0), full_like_tracer(x, 1)
    rest = build("rem", x, y)
    opposite = build("xor", compare("lt", rest, zero), compare("lt", y, zero))
    fix = build("and", compare("ne", rest, zero), opposite)
    quotient = build("div", x, y)
    return select(fix, build("sub", quotient, one), quotient), select(fix, build("add", rest, y), rest)


def _float_divmod(x: Tracer, y: Tracer) -> tuple[Tracer, Tracer]:
    # by the magnitude of the divisor. Signs are factors, and a zero gets its sign by + 0: slopes are right at multiples, too
    zero, one = full_like_tracer(x, 0), full_like_tracer(x, 1)
    sign = select(_signbit(y), build("neg", one), one)
    size = build("mul", sign, y)
    rest = build("rem", build("mul", sign, x), size)
    fix = compare("lt", rest, zero)
    modulus = build("mul", sign, build("add", select(fix, build("add", rest, size), rest), zero))
    return _float_quotient(x, y, build("mul", sign, rest), fix), modulus


def _float_quotient(x: Tracer, y: Tracer, rest: Tracer, fix: Tracer) -> Tracer:
    # NumPy's own steps: x - rest is a multiple of y, so that its quotient is near an integer; snap to it
    zero, half, one = full_like_tracer(x, 0), full_like_tracer(x, 0.5), full_like_tracer(x, 1)
    exact = build("div", build("sub", x, rest), y)
    exact = select(fix, build("sub", exact, one), exact)
    floored = build("floor", exact)
    floored = select(compare("gt", build("sub", exact, floored), half), build("add", floored, one), floored)
    ratio = build("div", x, y)
    snapped = select(compare("eq", exact, zero), _copysign(zero, ratio), floored)
    return select(compare("eq", y, zero), ratio, snapped)


@operation
def floor_divide(x1: Any, x2: Any, /) -> Any:
    """`np.floor_divide`: the greatest integer not above the quotient; integers over 0 are 0."""
    return _divmod(np.floor_divide, x1, x2)[0]


@operation
def remainder(x1: Any, x2: Any, /) -> Any:
    """`np.remainder`: the remainder, with the sign of the divisor; of integers over 0 it is 0."""
    return _divmod(np.remainder, x1, x2)[1]


mod = remainder


@operation
def divmod(x1: Any, x2: Any, /) -> Any:
    """`np.divmod`: `(floor_divide(x1, x2), remainder(x1, x2))`."""
    return _divmod(np.floor_divide, x1, x2)


def _copysign(magnitude: Tracer, sign_of: Tracer) -> Tracer:
    size = build("abs", magnitude)
    return select(_signbit(sign_of), build("neg", size), size)


def _signbit(x: Tracer) -> Tracer:
    bits = bitcast(x, np.dtype(f"i{x.dtype.itemsize}")) if x.dtype.kind == "f" else x
    return compare("lt", bits, full_like_tracer(bits, 0))


@operation
def signbit(x: Any, /) -> Any:
    """`np.signbit`; NaN has a sign, too."""
    (x,), _, _ = prepare(np.signbit, (x,))
    return _signbit(x)


@operation
def copysign(x1: Any, x2: Any, /) -> Any:
    """`np.copysign`; the sign of NaN counts as positive."""
    (x, y), _, weak = prepare(np.copysign, (x1, x2))
    result = _copysign(x, y)
    result.weak = weak
    return result

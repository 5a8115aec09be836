"""lamina.numpy: the universal functions. Broadcasting and dtypes are NumPy's; each is one graph op or a few."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError, ShapeError
from .lnp_shape import broadcast_tracer
from .promotion import BOOL, FLOAT64, Token, canonical, result_type, ufunc_dtypes
from .tracer import Tracer
from .tracing import api, build, concrete_array, lift, lift_as, operand, token

__all__ = [  # noqa: RUF022
    "abs", "absolute", "add", "arccosh", "arcsinh", "arctanh", "astype", "bitwise_and", "bitwise_invert", "bitwise_not",
    "bitwise_or", "bitwise_xor", "ceil", "clip", "conj", "conjugate", "copysign", "cos", "cosh", "deg2rad", "degrees",
    "divide", "divmod", "equal", "exp", "exp2", "expm1", "fabs", "float_power", "floor", "floor_divide", "fmax", "fmin",
    "fmod", "greater", "greater_equal", "heaviside", "hypot", "invert", "isclose", "isfinite", "isinf", "isnan", "less",
    "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor",
    "maximum", "minimum", "mod", "multiply", "nan_to_num", "negative", "not_equal", "positive", "power", "rad2deg",
    "radians", "real", "reciprocal", "remainder", "rint", "round", "sign", "signbit", "sin", "sinh", "sqrt", "square",
    "subtract", "tan", "tanh", "true_divide", "trunc", "where",
]  # fmt: skip


def weak_result(tokens: Sequence[Token]) -> bool:
    """Whether a result of these operands is weakly typed: they are Python numbers all."""
    return all(not isinstance(t, np.dtype) for t in tokens)


def broadcast_shapes(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape of operands.

    Raises:
        ShapeError: sizes of a dim differ and none is 1.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        shown = ", ".join(str(list(shape)) for shape in shapes)
        raise ShapeError(f"operands could not be broadcast together, shapes are {shown}") from None


def _prepare(ufunc: np.ufunc, args: Sequence[Any]) -> tuple[list[Tracer], np.dtype[Any], bool]:
    """Operands of one dtype each (what the ufunc computes in) and one shape; the result dtype; weak or not."""
    args = [operand(x) for x in args]
    tokens = tuple(token(x) for x in args)
    dtypes, result = ufunc_dtypes(ufunc, tokens)
    tracers = [lift_as(x, dtype) for x, dtype in zip(args, dtypes, strict=True)]
    shape = tracers[0].shape
    if any(t.shape != shape for t in tracers):
        shape = broadcast_shapes([t.shape for t in tracers])
        tracers = [broadcast_tracer(t, shape) for t in tracers]
    return tracers, result, weak_result(tokens)


def _ufunc(ufunc: np.ufunc, *args: Any, op: str | None = None, **props: Any) -> Tracer:
    """A ufunc that is one graph op."""
    tracers, result, weak = _prepare(ufunc, args)
    name = op or ufunc.__name__
    if ufunc.nin == 1 and tracers[0].dtype.kind in "bi" and name in ("floor", "ceil", "rint"):
        return tracers[0]
    y = build(name, *tracers, weak=weak, **props)
    if y.dtype != result:
        raise DTypeError(f"{ufunc.__name__} gives {y.dtype} where NumPy gives {result}")
    return y


def full_like_tracer(x: Tracer, value: float) -> Tracer:
    """A tensor of one value with the type of `x`."""
    return broadcast_tracer(lift_as(value, x.dtype), x.shape)


def select(condition: Tracer, x: Tracer, y: Tracer) -> Tracer:
    return build("select", condition, x, y)


def compare(predicate: str, x: Tracer, y: Tracer) -> Tracer:
    return build("cmp", x, y, predicate=predicate)


def _unary(ufunc: np.ufunc, op: str | None = None) -> Callable[[Any], Any]:
    def function(x: Any, /) -> Any:
        return _ufunc(ufunc, x, op=op)

    return _named(function, ufunc)


def _binary(ufunc: np.ufunc, op: str, **props: Any) -> Callable[[Any, Any], Any]:
    def function(x1: Any, x2: Any, /) -> Any:
        return _ufunc(ufunc, x1, x2, op=op, **props)

    return _named(function, ufunc)


def _named(function: Callable[..., Any], ufunc: np.ufunc) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = ufunc.__name__
    function.__doc__ = f"`np.{ufunc.__name__}`, on arrays and traced arrays."
    return api(function)


sin, cos, tan, tanh = _unary(np.sin), _unary(np.cos), _unary(np.tan), _unary(np.tanh)
exp, expm1, log, log1p, sqrt = _unary(np.exp), _unary(np.expm1), _unary(np.log), _unary(np.log1p), _unary(np.sqrt)
floor, ceil, rint = _unary(np.floor), _unary(np.ceil), _unary(np.rint)
negative = _unary(np.negative, "neg")
sign = _unary(np.sign, "sign")
invert = bitwise_not = bitwise_invert = _unary(np.invert, "not")

subtract = _binary(np.subtract, "sub")
divide = true_divide = _binary(np.divide, "div")
maximum, minimum = _binary(np.maximum, "max"), _binary(np.minimum, "min")
bitwise_and, bitwise_or = _binary(np.bitwise_and, "and"), _binary(np.bitwise_or, "or")
bitwise_xor = _binary(np.bitwise_xor, "xor")
equal, not_equal = _binary(np.equal, "cmp", predicate="eq"), _binary(np.not_equal, "cmp", predicate="ne")
less, less_equal = _binary(np.less, "cmp", predicate="lt"), _binary(np.less_equal, "cmp", predicate="le")
greater, greater_equal = _binary(np.greater, "cmp", predicate="gt"), _binary(np.greater_equal, "cmp", predicate="ge")
fmod = _binary(np.fmod, "rem")


@api
def add(x1: Any, x2: Any, /) -> Any:
    """`np.add`: the sum; of bools the logical or."""
    (x, y), _, weak = _prepare(np.add, (x1, x2))
    return build("or" if x.dtype == BOOL else "add", x, y, weak=weak)


@api
def multiply(x1: Any, x2: Any, /) -> Any:
    """`np.multiply`: the product; of bools the logical and."""
    (x, y), _, weak = _prepare(np.multiply, (x1, x2))
    return build("and" if x.dtype == BOOL else "mul", x, y, weak=weak)


@api
def absolute(x: Any, /) -> Any:
    """`np.absolute`."""
    (x,), _, weak = _prepare(np.absolute, (x,))
    return x if x.dtype == BOOL else build("abs", x, weak=weak)


abs = absolute


@api
def fabs(x: Any, /) -> Any:
    """`np.fabs`: the absolute value as a float."""
    (x,), _, weak = _prepare(np.fabs, (x,))
    return build("abs", x, weak=weak)


@api
def positive(x: Any, /) -> Any:
    """`np.positive`: the operand itself."""
    return _prepare(np.positive, (x,))[0][0]


@api
def conjugate(x: Any, /) -> Any:
    """`np.conjugate` of real numbers: the operand itself."""
    return _prepare(np.conjugate, (x,))[0][0]


conj = conjugate


@api
def real(x: Any, /) -> Any:
    """`np.real` of real numbers: the operand itself."""
    return lift(x)


@api
def square(x: Any, /) -> Any:
    """`np.square`: `x * x`."""
    (x,), _, weak = _prepare(np.square, (x,))
    return build("mul", x, x, weak=weak)


@api
def reciprocal(x: Any, /) -> Any:
    """`np.reciprocal`: `1 / x`; of integers the truncated quotient."""
    (x,), _, weak = _prepare(np.reciprocal, (x,))
    return build("div", full_like_tracer(x, 1), x, weak=weak)


# --------------------------------------------------------------------------------------------------------------------
# Rounding and remainders


@api
def trunc(x: Any, /) -> Any:
    """`np.trunc`: toward zero."""
    (x,), _, _ = _prepare(np.trunc, (x,))
    if x.dtype.kind in "bi":
        return x
    zero = full_like_tracer(x, 0)
    return select(compare("lt", x, zero), build("ceil", x), build("floor", x))


@api
def round(x: Any, decimals: int = 0) -> Any:
    """`np.round`: to the nearest, ties to even; `decimals` digits after the point."""
    x = lift(x)
    if x.dtype == BOOL:
        raise DTypeError("round has no meaning for bool")
    if x.dtype.kind == "i":
        if decimals >= 0:
            return x
        return lift_as(round(lift_as(x, FLOAT64), decimals), x.dtype)
    if decimals == 0:
        return build("rint", x, weak=x.weak)
    scale = full_like_tracer(x, 10.0 ** math.fabs(decimals))
    forth, back = ("mul", "div") if decimals > 0 else ("div", "mul")
    return build(back, build("rint", build(forth, x, scale)), scale, weak=x.weak)


def _divmod(ufunc: np.ufunc, x1: Any, x2: Any) -> tuple[Tracer, Tracer]:
    """Quotient toward minus infinity and the remainder with the divisor's sign."""
    (x, y), _, weak = _prepare(ufunc, (x1, x2))
    zero, one = full_like_tracer(x, 0), full_like_tracer(x, 1)
    rest = build("rem", x, y)
    opposite = build("xor", compare("lt", rest, zero), compare("lt", y, zero))
    fix = build("and", compare("ne", rest, zero), opposite)
    modulus = select(fix, build("add", rest, y), rest)
    if x.dtype.kind == "i":
        quotient = build("div", x, y)
        quotient = select(fix, build("sub", quotient, one), quotient)
    else:
        quotient = _float_quotient(x, y, rest, fix)
        # an exact multiple leaves a zero with the sign of the divisor
        modulus = select(compare("eq", modulus, zero), _copysign(zero, y), modulus)
    quotient.weak = modulus.weak = weak
    return quotient, modulus


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


@api
def floor_divide(x1: Any, x2: Any, /) -> Any:
    """`np.floor_divide`: the greatest integer not above the quotient; integers over 0 give 0."""
    return _divmod(np.floor_divide, x1, x2)[0]


@api
def remainder(x1: Any, x2: Any, /) -> Any:
    """`np.remainder`: what is left, with the sign of the divisor; integers over 0 give 0."""
    return _divmod(np.remainder, x1, x2)[1]


mod = remainder


@api
def divmod(x1: Any, x2: Any, /) -> Any:
    """`np.divmod`: `(floor_divide(x1, x2), remainder(x1, x2))`."""
    return _divmod(np.floor_divide, x1, x2)


def _copysign(magnitude: Tracer, sign_of: Tracer) -> Tracer:
    size = build("abs", magnitude)
    return select(_signbit(sign_of), build("neg", size), size)


def _signbit(x: Tracer) -> Tracer:
    # the sign of a zero shows in its reciprocal
    zero = full_like_tracer(x, 0)
    return compare("lt", select(compare("eq", x, zero), build("div", full_like_tracer(x, 1), x), x), zero)


@api
def signbit(x: Any, /) -> Any:
    """`np.signbit`; the sign of NaN is taken as positive."""
    (x,), _, _ = _prepare(np.signbit, (x,))
    return _signbit(x)


@api
def copysign(x1: Any, x2: Any, /) -> Any:
    """`np.copysign`; the sign of NaN is taken as positive."""
    (x, y), _, weak = _prepare(np.copysign, (x1, x2))
    result = _copysign(x, y)
    result.weak = weak
    return result


# --------------------------------------------------------------------------------------------------------------------
# Powers, logarithms, hyperbolic functions


@api
def power(x1: Any, x2: Any, /) -> Any:
    """`np.power`. Small constant exponents become products; integer bases need a constant exponent."""
    x1, x2 = operand(x1), operand(x2)
    (_, _), result = ufunc_dtypes(np.power, (token(x1), token(x2)))
    constant = None if isinstance(x2, Tracer) else concrete_array(x2)
    if result.kind == "i":
        if constant is None:
            raise DTypeError("integer powers need a constant exponent: convert the base with .astype(lnp.float64)")
        return _integer_power(x1, constant, result)
    if constant is not None and constant.ndim == 0 and (product := _product_power(x1, float(constant), result)) is not None:
        product.weak = weak_result((token(x1), token(x2)))
        return product
    return _ufunc(np.power, x1, x2, op="pow")


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


def _integer_power(base: Any, exponent: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> Tracer:
    if (exponent < 0).any():
        raise ValueError("integers to negative integer powers are not allowed, as in NumPy")
    if exponent.ndim == 0:
        x = lift_as(base, dtype)
        return _repeat_product(x, int(exponent)) if exponent > 0 else full_like_tracer(x, 1)
    x = lift_as(base, dtype)
    shape = broadcast_shapes([x.shape, exponent.shape])
    x = broadcast_tracer(x, shape)
    result = full_like_tracer(x, 1)
    for bit in range(int(exponent.max(initial=0)).bit_length()):
        chosen = broadcast_tracer(lift((exponent >> bit & 1).astype(bool)), shape)
        result = select(chosen, build("mul", result, x), result)
        x = build("mul", x, x)
    return result


@api
def float_power(x1: Any, x2: Any, /) -> Any:
    """`np.float_power`: the power in float64."""
    return power(lift_as(operand(x1), FLOAT64), x2)


@api
def exp2(x: Any, /) -> Any:
    """`np.exp2`: 2 to the power of `x`."""
    (x,), _, weak = _prepare(np.exp2, (x,))
    return build("pow", full_like_tracer(x, 2), x, weak=weak)


def _scaled(ufunc: np.ufunc, op: str | None, factor: float) -> Callable[[Any], Any]:
    def function(x: Any, /) -> Any:
        (y,), _, weak = _prepare(ufunc, (x,))
        y = y if op is None else build(op, y)
        return build("mul", y, full_like_tracer(y, factor), weak=weak)

    return _named(function, ufunc)


log2, log10 = _scaled(np.log2, "log", 1 / math.log(2)), _scaled(np.log10, "log", 1 / math.log(10))
radians = deg2rad = _scaled(np.radians, None, math.pi / 180)
degrees = rad2deg = _scaled(np.degrees, None, 180 / math.pi)


def _half_exponentials(x: Tracer) -> tuple[Tracer, Tracer]:
    """exp(|x|) / 2 without early overflow, and exp(-|x|) / 2."""
    half = full_like_tracer(x, 0.5)
    root = build("exp", build("mul", build("abs", x), half))
    grown = build("mul", build("mul", half, root), root)
    return grown, build("div", full_like_tracer(x, 0.25), grown)


@api
def cosh(x: Any, /) -> Any:
    """`np.cosh`."""
    (x,), _, weak = _prepare(np.cosh, (x,))
    grown, shrunk = _half_exponentials(x)
    return build("add", grown, shrunk, weak=weak)


@api
def sinh(x: Any, /) -> Any:
    """`np.sinh`."""
    (x,), _, weak = _prepare(np.sinh, (x,))
    one = full_like_tracer(x, 1)
    size = build("abs", x)
    grown, shrunk = _half_exponentials(x)
    # near 0 the difference of exponentials cancels: with t = exp(|x|) - 1 it is (t + t / (t + 1)) / 2
    t = build("expm1", build("min", size, one))
    small = build("mul", full_like_tracer(x, 0.5), build("add", t, build("div", t, build("add", t, one))))
    return build("mul", build("sign", x), select(compare("lt", size, one), small, build("sub", grown, shrunk)), weak=weak)


@api
def arcsinh(x: Any, /) -> Any:
    """`np.arcsinh`."""
    (x,), _, weak = _prepare(np.arcsinh, (x,))
    one, size = full_like_tracer(x, 1), build("abs", x)
    large = full_like_tracer(x, 1e9 if x.dtype == FLOAT64 else 1e5)
    s = build("min", size, large)
    squared = build("mul", s, s)
    root = build("sqrt", build("add", squared, one))
    near = build("log1p", build("add", s, build("div", squared, build("add", one, root))))
    far = build("add", build("log", size), full_like_tracer(x, math.log(2)))
    y = build("mul", build("sign", x), select(compare("lt", size, large), near, far), weak=weak)
    return select(compare("eq", x, full_like_tracer(x, 0)), x, y)


@api
def arccosh(x: Any, /) -> Any:
    """`np.arccosh`: NaN below 1."""
    (x,), _, _ = _prepare(np.arccosh, (x,))
    one = full_like_tracer(x, 1)
    large = full_like_tracer(x, 1e9 if x.dtype == FLOAT64 else 1e5)
    t = build("sub", build("min", x, large), one)
    near = build("log1p", build("add", t, build("sqrt", build("mul", t, build("add", t, full_like_tracer(x, 2))))))
    near = select(compare("lt", x, one), full_like_tracer(x, math.nan), near)
    far = build("add", build("log", x), full_like_tracer(x, math.log(2)))
    return select(compare("gt", x, large), far, near)


@api
def arctanh(x: Any, /) -> Any:
    """`np.arctanh`: NaN outside [-1, 1]."""
    (x,), _, weak = _prepare(np.arctanh, (x,))
    half = full_like_tracer(x, 0.5)
    return build("mul", half, build("sub", build("log1p", x), build("log1p", build("neg", x))), weak=weak)


@api
def logaddexp(x1: Any, x2: Any, /) -> Any:
    """`np.logaddexp`: log(exp(x1) + exp(x2)) without overflow."""
    (x, y), _, weak = _prepare(np.logaddexp, (x1, x2))
    gap = build("neg", build("abs", build("sub", x, y)))
    # equal operands, infinities among them, have no gap
    gap = select(compare("eq", x, y), full_like_tracer(x, 0), gap)
    return build("add", build("max", x, y), build("log1p", build("exp", gap)), weak=weak)


@api
def hypot(x1: Any, x2: Any, /) -> Any:
    """`np.hypot`: sqrt(x1**2 + x2**2) without overflow."""
    (x, y), _, weak = _prepare(np.hypot, (x1, x2))
    x, y = build("abs", x), build("abs", y)
    zero, one, inf = full_like_tracer(x, 0), full_like_tracer(x, 1), full_like_tracer(x, math.inf)
    high, low = build("max", x, y), build("min", x, y)
    ratio = build("div", low, select(compare("eq", high, zero), one, high))
    length = build("mul", high, build("sqrt", build("add", one, build("mul", ratio, ratio))), weak=weak)
    infinite = build("or", compare("eq", x, inf), compare("eq", y, inf))
    return select(infinite, inf, length)


@api
def heaviside(x1: Any, x2: Any, /) -> Any:
    """`np.heaviside`: 0 below zero, `x2` at zero, 1 above."""
    (x, y), _, _ = _prepare(np.heaviside, (x1, x2))
    zero, one = full_like_tracer(x, 0), full_like_tracer(x, 1)
    step = select(compare("lt", x, zero), zero, select(compare("gt", x, zero), one, y))
    return select(compare("ne", x, x), x, step)


# --------------------------------------------------------------------------------------------------------------------
# Logic and choice


def as_bool(x: Any) -> Tracer:
    """Whether an operand is not zero."""
    return lift_as(lift(x), BOOL)


def _logical(ufunc: np.ufunc, op: str) -> Callable[[Any, Any], Any]:
    def function(x1: Any, x2: Any, /) -> Any:
        x, y = as_bool(x1), as_bool(x2)
        shape = broadcast_shapes([x.shape, y.shape])
        return build(op, broadcast_tracer(x, shape), broadcast_tracer(y, shape))

    return _named(function, ufunc)


logical_and, logical_or = _logical(np.logical_and, "and"), _logical(np.logical_or, "or")
logical_xor = _logical(np.logical_xor, "xor")


@api
def logical_not(x: Any, /) -> Any:
    """`np.logical_not`."""
    return build("not", as_bool(x))


@api
def isnan(x: Any, /) -> Any:
    """`np.isnan`."""
    x = lift(x)
    return compare("ne", x, x)


@api
def isinf(x: Any, /) -> Any:
    """`np.isinf`."""
    x = lift(x)
    if x.dtype.kind != "f":
        return compare("ne", x, x)
    return compare("eq", build("abs", x), full_like_tracer(x, math.inf))


@api
def isfinite(x: Any, /) -> Any:
    """`np.isfinite`."""
    x = lift(x)
    if x.dtype.kind != "f":
        return compare("eq", x, x)
    return compare("lt", build("abs", x), full_like_tracer(x, math.inf))


def _ignoring_nan(ufunc: np.ufunc, op: str) -> Callable[[Any, Any], Any]:
    def function(x1: Any, x2: Any, /) -> Any:
        (x, y), _, weak = _prepare(ufunc, (x1, x2))
        best = build(op, x, y, weak=weak)
        return select(compare("ne", x, x), y, select(compare("ne", y, y), x, best))

    return _named(function, ufunc)


fmax, fmin = _ignoring_nan(np.fmax, "max"), _ignoring_nan(np.fmin, "min")


@api
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """`np.where(condition, x, y)`: `x` where the condition holds, else `y`."""
    if x is None or y is None:
        raise ShapeError("where(condition) alone has a result whose size depends on values: use where(condition, x, y)")
    x, y = operand(x), operand(y)
    tokens = (token(x), token(y))
    dtype = result_type(tokens)
    tracers = [as_bool(condition), lift_as(x, dtype), lift_as(y, dtype)]
    shape = broadcast_shapes([t.shape for t in tracers])
    return build("select", *(broadcast_tracer(t, shape) for t in tracers), weak=weak_result(tokens))


@api
def clip(a: Any, a_min: Any = None, a_max: Any = None, /, *, min: Any = None, max: Any = None) -> Any:
    """`np.clip`: limited to `[a_min, a_max]`; None is no limit."""
    a = operand(a)
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if low is not None:
        a = maximum(a, low)
    return a if high is None and isinstance(a, Tracer) else lift(a) if high is None else minimum(a, high)


@api
def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """`np.nan_to_num`: NaN and infinities replaced by numbers."""
    x = lift(x)
    if x.dtype.kind != "f":
        return x
    limits = np.finfo(x.dtype)
    inf = full_like_tracer(x, math.inf)
    y = select(compare("ne", x, x), full_like_tracer(x, nan), x)
    y = select(compare("eq", x, inf), full_like_tracer(x, float(limits.max) if posinf is None else posinf), y)
    low = full_like_tracer(x, float(limits.min) if neginf is None else neginf)
    return select(compare("eq", x, full_like_tracer(x, -math.inf)), low, y)


@api
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """`np.isclose`: `|a - b| <= atol + rtol * |b|` for finite numbers, equality else."""
    a, b = lift(a), lift(b)
    near = less_equal(absolute(subtract(a, b)), add(atol, multiply(rtol, absolute(b))))
    close = logical_or(logical_and(near, isfinite(b)), equal(a, b))
    return logical_or(close, logical_and(isnan(a), isnan(b))) if equal_nan else close


@api
def astype(x: Any, dtype: Any, /) -> Any:
    """`x.astype(dtype)`. Floats to integers truncate and saturate, NaN gives 0."""
    x = lift(x)
    wanted = canonical(dtype)
    if x.dtype == wanted:
        return Tracer(x.trace, x.value, x.shape, x.dtype) if x.weak else x
    return lift_as(x, wanted)

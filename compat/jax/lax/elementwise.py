"""lamina.lax: elementwise functions under jax.lax's names, except those that are `lamina.numpy`'s own."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ....api import Tracer, array_function, broadcast_tracer, build, full_like_tracer, lift, lift_as, token
from ....api.dtypes import canonical, result_type
from ....api.errors import DTypeError, ShapeError
from ....api.functions import with_slopes
from ....library.nn import namespace as nn
from ....library.numpy import bits as lnp_bits
from ....library.numpy import namespace as lnp
from ....library.numpy.axes_and_shapes import static_int
from ....library.numpy.elementwise import compare
from ....library.numpy.elementwise import select as select_of
from ....library.numpy.math import power as pow


@array_function
def complex(x: Any, y: Any) -> Any:
    """`jax.lax.complex`: complex numbers of their real and imaginary parts, broadcast."""
    x, y = lift(x), lift(y)
    dtype = np.result_type(np.float32 if x.dtype == y.dtype == np.float32 else np.float64)
    shape = np.broadcast_shapes(x.shape, y.shape)
    return build("complex", *(broadcast_tracer(lift_as(part, dtype), shape) for part in (x, y)))


@array_function
def div(x: Any, y: Any) -> Any:
    """`x / y`; of integers the quotient toward zero."""
    a, b = lift(x), lift(y)
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        return lnp.divide(x, y)
    dtype = result_type([token(x), token(y)])
    a, b = lnp.broadcast_arrays(lift_as(x, dtype), lift_as(y, dtype))
    return build("div", a, b)


class RoundingMethod(enum.Enum):
    """The rounding by `round` of numbers halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class Precision(enum.Enum):
    """The values of `precision=` in jax's products. It is ignored here: factors are never rounded."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2


@array_function
def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """The nearest integers, as floats; halfway between two the one further from zero, or the even one.

    >>> import numpy as np, lamina as lm
    >>> lm.lax.round(np.array([0.5, 1.5, 2.5, -2.5]))
    array([ 1.,  2.,  3., -3.])
    """
    x = lift(x)
    if x.dtype.kind != "f":
        raise DTypeError(f"lax.round takes floats, got {x.dtype}")
    if RoundingMethod(rounding_method) is RoundingMethod.TO_NEAREST_EVEN:
        return lnp.rint(x)
    whole = lnp.trunc(x)
    return lnp.where(lnp.absolute(x - whole) >= 0.5, whole + lnp.copysign(1.0, x), whole)


@array_function
def population_count(x: Any) -> Any:
    """How many bits of an integer are set, in its dtype; those of a negative one in two's complement."""
    x = lift(x)
    if x.dtype.kind not in "iu":
        raise DTypeError(f"population_count takes integers, got {x.dtype}")
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return lift_as(lnp.bitwise_count(lnp_bits.bitcast(x, unsigned)), x.dtype)


@array_function
def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """The bits of an integer shifted right; the highest one, of an unsigned integer too, fills the free bits."""
    x = lift(x)
    if x.dtype.kind != "u":
        return lnp.right_shift(x, y)
    signed = np.dtype(f"i{x.dtype.itemsize}")
    return lnp_bits.bitcast(lnp.right_shift(lnp_bits.bitcast(x, signed), lift_as(y, signed)), x.dtype)


@array_function
def clz(x: Any) -> Any:
    """How many bits of an integer are 0 before the first one that is set."""
    return build("clz", lift(x))


@array_function
def mulhi(x: Any, y: Any) -> Any:
    """The upper half of the product of two integers: that of their width that `x * y` leaves out."""
    dtype = lnp.result_type(x, y)
    if dtype.kind not in "iu":
        raise DTypeError(f"mulhi takes integers, got {dtype}")
    a, b = (lift_as(v, dtype) for v in lnp.broadcast_arrays(lift(x), lift(y)))
    bits = 8 * dtype.itemsize
    if bits < 64:
        wide = np.dtype(f"{dtype.kind}{2 * dtype.itemsize}")
        return lift_as(lnp.right_shift(lift_as(a, wide) * lift_as(b, wide), bits), dtype)
    mask = (1 << 32) - 1
    (a1, a0), (b1, b0) = ((v >> 32, v & mask) for v in (a, b))
    middle = a1 * b0 + _high_word(a0 * b0)
    return a1 * b1 + (middle >> 32) + ((a0 * b1 + (middle & mask)) >> 32)


def _high_word(x: Any) -> Any:
    """The upper 32 bits of the unsigned product of two words, for any dtype."""
    return (x >> 32) & ((1 << 32) - 1)


def optimization_barrier(operand: Any) -> Any:
    """The operand: nothing is moved here that a barrier would stop."""
    return operand


@array_function
def rsqrt(x: Any, accuracy: Any = None) -> Any:
    """`1 / sqrt(x)`, for any requested `accuracy`."""
    return build("rsqrt", lift(x))


@array_function
def reciprocal(x: Any) -> Any:
    """`1 / x`."""
    return lnp.reciprocal(x)


def integer_pow(x: Any, y: int) -> Any:
    """`x ** y` for a number `y`."""
    return pow(x, static_int(y, "y"))


@array_function
def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The bits of `operand` as another dtype.

    From a dtype that is `k` times as wide each element becomes `k` along a new last dim, the lowest bits first; to one that
    is `k` times as wide the last dim, which must have size `k`, becomes one element.

    Raises:
        DTypeError: one of the dtypes is bool or is only stored.
        ShapeError: the last dim has another size.
    """
    x, wanted = lift(operand), canonical(new_dtype)
    wide, narrow = x.dtype.itemsize, wanted.itemsize
    if wide == narrow or np.dtype(bool) in (x.dtype, wanted):
        return lnp_bits.view(x, wanted)
    if wide > narrow:
        bits, part = lnp_bits.view(x, f"u{wide}"), np.dtype(f"u{narrow}")
        shifts = (np.asarray(8 * narrow * k, bits.dtype) for k in range(wide // narrow))
        parts = [lift_as(lnp.right_shift(bits, shift), part) for shift in shifts]
        return lnp_bits.view(lnp.stack(parts, -1), wanted)
    count, whole = narrow // wide, np.dtype(f"u{narrow}")
    if not x.ndim or x.shape[-1] != count:
        raise ShapeError(f"bitcast_convert_type of {x.dtype} to {wanted} needs a last dim of size {count}, got {list(x.shape)}")
    bits = lift_as(lnp_bits.view(x, f"u{wide}"), whole)
    shifted = lnp.left_shift(bits, (8 * wide * np.arange(count)).astype(whole))
    return lnp_bits.view(lift_as(lnp.sum(shifted, -1), whole), wanted)


@array_function
def shift_right_logical(x: Any, y: Any) -> Any:
    """`x >> y` with zeros from the left.

    Raises:
        DTypeError: an operand is no integer.
    """
    dtype = result_type([token(x), token(y)])
    if dtype.kind not in "iu":
        raise DTypeError(f"shift_right_logical needs integers, got operands of the common dtype {dtype}")
    unsigned = np.dtype(f"u{dtype.itemsize}")
    a, b = (lnp_bits.bitcast(lift_as(v, dtype), unsigned) for v in (x, y))
    return lnp_bits.bitcast(lnp.right_shift(a, b), dtype)


@array_function
def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """`operand` rounded to floats of fewer bits, to nearest even: infinite where too large, a zero where too small.

    Its slope is 1, as that of conversions.

    Raises:
        DTypeError: `operand` is not float.
        ShapeError: fewer than one bit of exponent, or a negative number of bits.
    """
    x = lift(operand)
    if x.dtype.kind != "f":
        raise DTypeError(f"reduce_precision takes floats, got {x.dtype}")
    exponent, mantissa = static_int(exponent_bits, "exponent_bits"), static_int(mantissa_bits, "mantissa_bits")
    if exponent < 1 or mantissa < 0:
        raise ShapeError(f"reduce_precision needs exponent_bits >= 1 and mantissa_bits >= 0, got {exponent}, {mantissa}")
    return with_slopes(lambda x: _rounded(x, exponent, mantissa), lambda y, x: full_like_tracer(x, 1))(x)


def _rounded(x: Tracer, exponent: int, mantissa: int) -> Tracer:
    facts, integer = np.finfo(x.dtype), np.dtype(f"i{x.dtype.itemsize}")
    bits = lnp_bits.bitcast(x, integer)
    if (drop := facts.nmant - mantissa) > 0:
        last = (bits >> drop) & 1
        bits = ((bits + (last + ((1 << (drop - 1)) - 1))) >> drop) << drop
    rounded = lnp_bits.bitcast(bits, x.dtype)
    if exponent < facts.nexp:
        least = 2.0 ** (2 - 2 ** (exponent - 1))
        most = (2.0 - 2.0**-mantissa) * 2.0 ** (2 ** (exponent - 1) - 1)
        size, sign = lnp.absolute(rounded), lnp.copysign(lnp.ones_like(x), x)
        rounded = lnp.where(size < least, sign * 0.0, lnp.where(size > most, sign * np.inf, rounded))
    return lift(lnp.where(lnp.isfinite(x), rounded, x))


def dtype(x: Any) -> np.dtype[Any]:
    """The dtype of an array or number.

    >>> import numpy as np, lamina as lm
    >>> lm.lax.dtype(np.float32(1))
    dtype('float32')
    """
    return lnp.result_type(x)


@array_function
def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """`operand` in another dtype."""
    return lift_as(operand, canonical(new_dtype))


@array_function
def clamp(min: Any, x: Any, max: Any) -> Any:
    """`x` limited to `[min, max]`, whose slope at a limit is that of the limit."""
    x = lift(x)
    low, high = (broadcast_tracer(lift_as(limit, x.dtype), x.shape) for limit in (min, max))
    y = select_of(compare("lt", x, low), low, x)
    return select_of(compare("gt", y, high), high, y)


@array_function
def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """`on_true` where `pred` holds, else `on_false`."""
    return lnp.where(pred, on_true, on_false)


@array_function
def select_n(which: Any, *cases: Any) -> Any:
    """At each index the element of the case that a bool or an integer names; the nearest if there is none."""
    which = lift(which)
    index = lift_as(which, np.dtype(np.int64))
    y = cases[-1]
    for k in range(len(cases) - 2, -1, -1):
        y = lnp.where(index <= k, cases[k], y)
    return y


def with_accuracy(name: str, public: str) -> Callable[..., Any]:
    """An elementwise function that takes jax's hint `accuracy`, too."""
    function = getattr(nn if name == "sigmoid" else lnp, name)

    @functools.wraps(function)
    def elementwise(x: Any, accuracy: Any = None) -> Any:
        return function(x)

    elementwise.__doc__ = (
        f"`lamina.numpy.{function.__name__}`, within the bounds of docs/semantics.md whatever `accuracy` says."
    )
    return elementwise

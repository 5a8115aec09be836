"""Elementwise ops whose meaning differs from the library's function of the name: of bools, of integers, of complex numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...api import broadcast_tracer, build, full_like_tracer, lift, lift_as
from ...api.dtypes import BOOL
from ...compat.jax.lax import namespace as lax
from ...library.numpy import namespace as lnp
from ...library.numpy.axes_and_shapes import reshape_tracer
from ...library.numpy.elementwise import bitcast, compare
from ...library.numpy.elementwise import select as select_of
from ...library.special import namespace as special
from .faults import UnsupportedError


def add(x: Any, y: Any) -> Any:
    """The sum; of bools the logical or."""
    return lnp.bitwise_or(x, y) if x.dtype == BOOL else lnp.add(x, y)


def subtract(x: Any, y: Any) -> Any:
    """The difference."""
    return lnp.bitwise_xor(x, y) if x.dtype == BOOL else lnp.subtract(x, y)


def multiply(x: Any, y: Any) -> Any:
    """The product; of bools the logical and."""
    return lnp.bitwise_and(x, y) if x.dtype == BOOL else lnp.multiply(x, y)


def divide(x: Any, y: Any) -> Any:
    """The quotient; of integers toward zero, and -1 of a division by zero, as XLA gives."""
    if x.dtype.kind in "fc":
        return lnp.divide(x, y)
    zero = compare("eq", y, full_like_tracer(y, 0))
    ones = full_like_tracer(x, -1 if x.dtype.kind == "i" else np.iinfo(x.dtype).max)
    return select_of(zero, ones, build("div", x, y))


def remainder(x: Any, y: Any) -> Any:
    """The remainder with the sign of the dividend; of an integer divided by zero the dividend, as XLA gives."""
    if x.dtype.kind in "fc":
        return lnp.fmod(x, y)
    zero = compare("eq", y, full_like_tracer(y, 0))
    return select_of(zero, x, build("rem", x, y))


def _extreme(kind: str) -> Any:
    def extreme(x: Any, y: Any) -> Any:
        if x.dtype.kind != "c":
            return build(kind, x, y)
        above = ordered("GE" if kind == "max" else "LE", x, y)
        return lnp.where(above, x, y)

    extreme.__doc__ = f"The {kind}imum; complex numbers are ordered by their real parts, then by their imaginary ones."
    return extreme


maximum, minimum = _extreme("max"), _extreme("min")


def ordered(direction: str, x: Any, y: Any) -> Any:
    """A comparison of complex numbers: by their real parts, then by their imaginary ones."""
    a, b = (lnp.real(x), lnp.imag(x)), (lnp.real(y), lnp.imag(y))
    strict = "lt" if direction[0] == "L" else "gt"
    first = compare(strict, lift(a[0]), lift(b[0]))
    same = compare("eq", lift(a[0]), lift(b[0]))
    return build("or", first, build("and", same, compare(direction.lower(), lift(a[1]), lift(b[1]))))


def clamp(low: Any, x: Any, high: Any) -> Any:
    """`x` between two limits, each of its shape or a scalar."""
    low, high = (v if v.shape == x.shape else broadcast_tracer(v, x.shape) for v in (low, high))
    return minimum(maximum(x, low), high)


def select(condition: Any, on_true: Any, on_false: Any) -> Any:
    """The element of one or of the other; a scalar condition chooses all of one."""
    if condition.shape != on_true.shape:
        condition = broadcast_tracer(condition, on_true.shape)
    return select_of(condition, on_true, on_false)


def sign(x: Any) -> Any:
    """-1, 0 or 1; of complex numbers, those of length 1 in their direction."""
    if x.dtype.kind != "c":
        y = build("sign", x)
        # the sign of a zero is that zero, as in XLA
        return y if x.dtype.kind != "f" else select_of(compare("eq", x, full_like_tracer(x, 0)), x, y)
    return lnp.sign(x)


def imag(x: Any) -> Any:
    """The imaginary part; of real numbers zeros."""
    return lnp.imag(x)


def rsqrt(x: Any) -> Any:
    """`1 / sqrt(x)`."""
    return build("rsqrt", x) if x.dtype.kind == "f" else 1 / lnp.sqrt(x)


def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """A shift in which the highest bit fills the free ones; by more than the width all of them."""
    return lax.shift_right_arithmetic(x, _amount(y))


def shift_right_logical(x: Any, y: Any) -> Any:
    """A shift in which zeros fill the free bits."""
    return lax.shift_right_logical(x, y)


def _amount(y: Any) -> Any:
    """An amount of bits; one that is negative, so large as an unsigned number, is the width."""
    if y.dtype.kind == "u":
        return y
    wide = full_like_tracer(y, 8 * y.dtype.itemsize)
    return select_of(compare("lt", y, full_like_tracer(y, 0)), wide, y)


def polygamma(n: Any, x: Any) -> Any:
    """The polygamma function, whose order is a float here."""
    return special.polygamma(n, x)


def convert(site: Any, operands: Sequence[Any]) -> Any:
    """A conversion: of complex numbers their real parts, of floats that do not fit an integer the nearest."""
    (x,) = operands
    dtype = site.dtype()
    if x.dtype.kind == "c" and dtype.kind != "c":
        return lnp.asarray(lnp.not_equal(x, 0) if dtype == BOOL else lnp.real(x)).astype(dtype)
    return lift_as(x, dtype)


def bitcast_convert(site: Any, operands: Sequence[Any]) -> Any:
    """The bits as numbers of another type; a dim of parts is made, or goes, at the end."""
    (x,) = operands
    dtype = site.dtype()
    if x.dtype == dtype:
        return x
    if BOOL in (x.dtype, dtype) or "c" in x.dtype.kind + dtype.kind:
        return _by_memory(x, dtype)
    if x.dtype.itemsize == dtype.itemsize:
        return bitcast(x, dtype)
    wide, narrow = max(x.dtype, dtype, key=_size), min(x.dtype, dtype, key=_size)
    parts = wide.itemsize // narrow.itemsize
    whole, word = np.dtype(f"u{wide.itemsize}"), np.dtype(f"u{narrow.itemsize}")
    if x.dtype == wide:
        bits = bitcast(x, whole)
        spread = broadcast_tracer(reshape_tracer(bits, (*x.shape, 1)), (*x.shape, parts))
        shifts = np.arange(parts, dtype=whole) * np.array(8 * narrow.itemsize, whole)
        words = lift_as(lnp.right_shift(spread, shifts), word)
        return bitcast(words, dtype)
    if not x.shape or x.shape[-1] != parts:
        raise UnsupportedError(f"joins {parts} numbers, which are the last dim of the operand, got shape {list(x.shape)}")
    words = lift_as(bitcast(x, word), whole)
    shifts = np.arange(parts, dtype=whole) * np.array(8 * narrow.itemsize, whole)
    return bitcast(lift(lnp.sum(lnp.left_shift(words, shifts), -1, dtype=whole)), dtype)


def _size(dtype: Any) -> int:
    return dtype.itemsize


def _by_memory(x: Any, dtype: Any) -> Any:
    if x.dtype == BOOL and dtype.itemsize == 1:
        return lift_as(x, dtype)
    if dtype == BOOL and x.dtype.itemsize == 1:
        return lnp.not_equal(x, 0)
    raise UnsupportedError(f"reads the bits of {x.dtype} as {dtype}")


def compare_op(site: Any, operands: Sequence[Any]) -> Any:
    """A comparison; of floats in their total order, where the op says so."""
    x, y = operands
    direction, kind = site.required("comparison_direction"), site.get("compare_type", "NOTYPE")
    if kind == "TOTALORDER" and x.dtype.kind == "f":
        x, y = total_order_key(x), total_order_key(y)
    if x.dtype.kind == "c" and direction not in ("EQ", "NE"):
        return ordered(direction, x, y)
    return compare(direction.lower(), x, y)


def total_order_key(x: Any) -> Any:
    """Integers in the order of floats: -NaN, -inf ... -0, 0 ... inf, NaN."""
    signed = np.dtype(f"i{x.dtype.itemsize}")
    bits = bitcast(x, signed)
    flipped = build("xor", bits, full_like_tracer(bits, np.iinfo(signed).max))
    return select_of(compare("lt", bits, full_like_tracer(bits, 0)), flipped, bits)

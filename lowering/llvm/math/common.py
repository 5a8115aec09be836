"""Helpers of all families: Horner's rule, bit manipulation, selects on special values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from ....codegen.text import Builder, Ty

# Adding these to a small number rounds it to an integer that then stands in the low bits.
ROUND = {"float": 1.5 * 2.0**23, "double": 1.5 * 2.0**52}
MANTISSA_BITS = {"float": 23, "double": 52}
BIAS = {"float": 127, "double": 1023}


FUNCTIONS: dict[str, Callable[..., str]] = {}
"""From the name of an operation of `math` or `scalar`, without its dialect, to its emitter."""

WriterT = TypeVar("WriterT", bound=Callable[..., str])


def writer(function: WriterT) -> WriterT:
    """Makes a function the emitter of the op of its name."""
    FUNCTIONS[function.__name__] = function
    return function


def horner(b: Builder, x: str, coefficients: Sequence[float | str], ty: Ty) -> str:
    """The polynomial in `x`, lowest power first; a coefficient may also be a value."""
    operands = [c if isinstance(c, str) else b.const(c, ty) for c in coefficients]
    result = operands[-1]
    for c in reversed(operands[:-1]):
        result = b.fma(result, x, c, ty)
    return result


def fma_exact(b: Builder, x: str, y: str, z: str, ty: Ty) -> str:
    """`x * y + z` that is exact when the result fits, also where the target has no FMA.

    There the product is split after Veltkamp and Dekker ("A floating-point technique for extending the available
    precision", Numerische Mathematik 1971) and summed with Knuth's two-sum; operands must be far from overflow.
    """
    if b.has_fma:
        return b.fma(x, y, z, ty)
    product = b.fmul(x, y, ty)
    (x_high, x_low), (y_high, y_low) = _halves(b, x, ty), _halves(b, y, ty)
    error = b.fsub(b.fmul(x_high, y_high, ty), product, ty)
    error = b.fadd(b.fadd(error, b.fmul(x_high, y_low, ty), ty), b.fmul(x_low, y_high, ty), ty)
    error = b.fadd(error, b.fmul(x_low, y_low, ty), ty)
    total, lost = two_sum(b, product, z, ty)
    return b.fadd(total, b.fadd(lost, error, ty), ty)


def _halves(b: Builder, x: str, ty: Ty) -> tuple[str, str]:
    scaled = b.fmul(x, b.const(4097.0 if ty.elem == "float" else 134217729.0, ty), ty)
    high = b.fsub(scaled, b.fsub(scaled, x, ty), ty)
    return high, b.fsub(x, high, ty)


def two_sum(b: Builder, x: str, y: str, ty: Ty) -> tuple[str, str]:
    """The rounded sum and what the rounding lost (Knuth)."""
    total = b.fadd(x, y, ty)
    part = b.fsub(total, x, ty)
    return total, b.fadd(b.fsub(x, b.fsub(total, part, ty), ty), b.fsub(y, part, ty), ty)


def fast_two_sum(b: Builder, x: str, y: str, ty: Ty) -> tuple[str, str]:
    """The same when `|x| >= |y|` (Dekker)."""
    total = b.fadd(x, y, ty)
    return total, b.fsub(y, b.fsub(total, x, ty), ty)


def fabs(b: Builder, x: str, ty: Ty) -> str:
    return b.intrinsic("fabs", ty, x)


def copysign(b: Builder, magnitude: str, sign: str, ty: Ty) -> str:
    return b.intrinsic("copysign", ty, magnitude, sign)


def at_most(b: Builder, x: str, bound: float, ty: Ty) -> str:
    """`min(x, bound)` that keeps a NaN (one instruction on x86)."""
    limit = b.const(bound, ty)
    return b.select(b.fcmp("olt", limit, x, ty), limit, x, ty)


def at_least(b: Builder, x: str, bound: float, ty: Ty) -> str:
    """`max(x, bound)` that keeps a NaN (one instruction on x86)."""
    limit = b.const(bound, ty)
    return b.select(b.fcmp("ogt", limit, x, ty), limit, x, ty)


def power_of_two(b: Builder, rounded: str, ty: Ty) -> str:
    """The float whose biased exponent (and sign above it) stands in the low bits of `rounded`, a sum with `ROUND`."""
    shifted = b.shl(b.bitcast(rounded, ty, ty.int), b.const(MANTISSA_BITS[ty.elem], ty.int), ty.int)
    return b.bitcast(shifted, ty.int, ty)


def replace_where(b: Builder, predicate: str, x: str, bound: float, value: str | float, otherwise: str, ty: Ty) -> str:
    """`value` where `x predicate bound`, else `otherwise`."""
    if not isinstance(value, str):
        value = b.const(value, ty)
    return b.select(b.fcmp(predicate, x, b.const(bound, ty), ty), value, otherwise, ty)


INF, NAN = math.inf, math.nan

"""When two results are equivalent: bit for bit, within units in the last place, or within the bound from the condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .conditioned import STEP, Condition, epsilon, rounds

CLOSE = 4.0
"""Tolerance that always applies, in units in the last place."""

ROUNDINGS = 32.0
"""Roundings, as large as the condition lets each be, that may add up in one direction."""


@dataclass(frozen=True)
class Near:
    """How near the results before and after a pass must be.

    Args:
        numerics: the promise of the pass: `exact`, `ulp(k)`, `finite` or `reassociating`.
        condition: measures, on first use, how far results may move; None where they may not.
        finite: whether only elements that are finite on both sides count: terms at the end of the range, in any order.
    """

    numerics: str
    condition: Callable[[], Condition | None]
    finite: bool = False

    def each(self, k: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Whether each element of result `k`, before and after, is near enough."""
        if self.numerics == "exact":
            return _same_bits(a, b)
        outside = ~(np.isfinite(a) & np.isfinite(b)) if self.finite and rounds(a.dtype) else np.False_
        if self.numerics.startswith("ulp(") and rounds(a.dtype) and a.dtype.kind != "c":
            return outside | (np.isnan(a) & np.isnan(b)) | (ulps(a, b) <= int(self.numerics[4:-1]))
        near = _close(a, b) | outside
        if near.all():
            return near
        condition = self.condition()
        spread = None if condition is None else condition.allowed(k, a.shape, a.dtype)
        if condition is None or spread is None:
            return near
        if not rounds(a.dtype):
            return near | (spread > 0)  # a comparison or conversion that a rounding decides
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        x, y = a.astype(wide), b.astype(wide)
        with np.errstate(all="ignore"):
            allowed = ROUNDINGS / STEP * spread + ROUNDINGS * epsilon(a.dtype) * np.abs(x)
            # where the origin is infinity or NaN at the end of the range, nothing is known of numbers
            lost = ~outside & ~np.isfinite(condition.base[k]) if self.finite else np.False_
            return near | (np.isfinite(x) & (np.abs(x - y) <= allowed)) | np.isinf(spread) | lost


def _same_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind == "c":
        return _same_bits(np.real(a), np.real(b)) & _same_bits(np.imag(a), np.imag(b))
    if not rounds(a.dtype):
        return a == b
    return (np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))


def _close(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether elements are equal or as good as: a few roundings of their own, or of the smallest numbers."""
    if a.dtype.kind == "c":
        return _close(np.real(a), np.real(b)) & _close(np.imag(a), np.imag(b))
    if not rounds(a.dtype):
        return a == b
    x, y = a.astype(np.float64), b.astype(np.float64)
    eps = epsilon(a.dtype)
    with np.errstate(all="ignore"):
        allowed = CLOSE * eps * np.abs(x) + 256 * smallest(a.dtype)
        near = np.isfinite(x) & (np.abs(x - y) <= allowed)
    return near | (x == y) | (np.isnan(x) & np.isnan(y))


def smallest(dtype: np.dtype) -> float:
    """The smallest positive number of a float dtype."""
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype).smallest_subnormal)


def ulps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How many floats lie between; infinitely many between 0 and -0, and to infinities and NaNs."""
    bits = np.dtype(f"i{a.dtype.itemsize}")
    # bits without the sign count the floats from zero; subtracted as integers, since a double cannot hold them
    x, y = [v.view(bits) & np.iinfo(bits).max for v in (a, b)]
    same_sign = np.signbit(a) == np.signbit(b)
    between = np.where(same_sign, np.abs(x - y).astype(np.float64), x.astype(np.float64) + y)
    near = np.isfinite(a) & np.isfinite(b) & (same_sign | (a != b))
    return np.where((a == b) & same_sign, 0.0, np.where(near, between, np.inf))


@dataclass(frozen=True)
class Derived:
    """Nearness to derivatives by differences of two steps, which tell how good they are.

    Args:
        other: the results with the other step.
    """

    other: Sequence[np.ndarray]
    tolerance: float = 2.0**-10

    def each(self, k: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Whether each element is as near as differences can tell; `a` is in float64."""
        if not rounds(b.dtype):
            return np.asarray(a) == b
        if b.dtype.kind == "c":
            return np.ones(b.shape, np.bool_)
        with np.errstate(all="ignore"):
            x, y = np.asarray(a, np.float64), b.astype(np.float64)
            unsure = np.abs(x - self.other[k])
            scale = np.max(np.abs(x[np.isfinite(x)]), initial=0.0)
            tolerance = max(self.tolerance, 16 * epsilon(b.dtype))
            allowed = 64 * unsure + tolerance * (np.abs(x) + scale) + 2.0**-20
            return (np.abs(x - y) <= allowed) | ~np.isfinite(x) | ~np.isfinite(y) | ~np.isfinite(unsure)


def first_difference(expected: Sequence[np.ndarray], got: Sequence[np.ndarray], near: Near | Derived) -> int | None:
    """The number of the first result that differs, or None."""
    if len(expected) != len(got):
        return 0
    for k, (a, b) in enumerate(zip(expected, got, strict=True)):
        same_type = isinstance(near, Derived) or a.dtype == b.dtype
        if not same_type or a.shape != b.shape or not np.all(near.each(k, a, b)):
            return k
    return None


def describe_difference(k: int, expected: Sequence[np.ndarray], got: Sequence[np.ndarray], near: Near | Derived) -> str:
    """Where and how result `k` differs, in words."""
    if len(expected) != len(got):
        return f"it gives {len(got)} results, before it was {len(expected)}"
    a, b = expected[k], got[k]
    if (not isinstance(near, Derived) and a.dtype != b.dtype) or a.shape != b.shape:
        return f"result {k} is {b.dtype}{list(b.shape)}, before it was {a.dtype}{list(a.shape)}"
    if a.size <= 16:
        return f"result {k} is {brief(b)}, before it was {brief(a)}"
    wrong = np.argwhere(~near.each(k, a, b))
    at = tuple(wrong[0])
    return f"result {k} at {[int(i) for i in at]} is {b[at]}, before it was {a[at]} ({len(wrong)} of {a.size} elements differ)"


def brief(x: np.ndarray) -> str:
    """A small array whole; of a large one the elements that are not its most frequent value."""
    if x.size <= 16:
        return np.array2string(x, max_line_width=1 << 20).replace("\n", "")
    values, counts = np.unique(x, return_counts=True)
    usual = values[counts.argmax()]
    others = np.argwhere((x != usual) | (np.signbit(x) != np.signbit(usual)) if x.dtype.kind == "f" else x != usual)
    listed = ", ".join(f"{x[tuple(at)]} at {[int(i) for i in at]}" for at in others[:4])
    return f"all {usual}" + (f" but {listed}" if listed else "") + (" ..." if len(others) > 4 else "")

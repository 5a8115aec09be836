"""Derives the polynomial coefficients of `lowering/llvm/math`; run it to print them again (fifteen seconds).

    python tests/lowering/llvm/derive.py [name ...]

Each fit is a weighted minimax polynomial found by the Remez exchange (Remez 1934; the multi-point exchange of Veidinger
1960). The coefficients are then rounded to the target format one after the other, lowest power first, and after each
rounding the remaining ones are fitted again to what is left, so that the rounding errors of the large coefficients
are made good by the small ones (a poor man's version of Brisebarre & Chevillard, "Efficient polynomial
L-infinity approximations", ARITH 2007).
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
from mpmath import mp, mpf

Real = Any  # mpmath.mpf, which type checkers do not know
Function = Callable[[Real], Real]
PRECISION = 160  # bits: differences of nearly equal values lose many


@dataclass(frozen=True)
class Fit:
    """`p(t)` of `degree` close to `target(t)` on `[low, high]`, minimising the largest `|weight * (p - target)|`."""

    target: Function
    weight: Function
    low: object
    high: object
    single: int | None
    double: int | None

    def coefficients(self, degree: int, dtype: str) -> tuple[list[float], Real]:
        """Rounded coefficients, lowest power first, and the weighted error they reach."""
        low, high = mpf(self.low), mpf(self.high)
        rounded: list[float] = []
        for start in range(degree + 1):

            def rest(t: Real) -> Real:
                return self.target(t) - mpmath.polyval(rounded[::-1] or [0], t)

            rounded.append(_round(remez(rest, self.weight, low, high, start, degree)[0], dtype))
        points = [low + (high - low) * i / 500 for i in range(501)]
        error = max(abs(self.weight(t) * (mpmath.polyval(rounded[::-1], t) - self.target(t))) for t in points if t)
        return rounded, error


def remez(target: Function, weight: Function, low: Real, high: Real, start: int, degree: int) -> list[Real]:
    """Minimax coefficients of the powers `start` to `degree`."""
    powers = range(start, degree + 1)
    count = len(powers) + 1
    middle, half = (low + high) / 2, (high - low) / 2
    nodes = [middle - half * mpmath.cos(mpmath.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    grid = [middle - half * mpmath.cos(mpmath.pi * (i + mpf(1) / 3) / (16 * count)) for i in range(16 * count)]

    def signed_weight(t: Real) -> Real:  # an odd first power changes the sign of every basis function at zero
        return -weight(t) if t < 0 and start % 2 else weight(t)

    values = [(t, target(t), signed_weight(t)) for t in grid]
    best: tuple[Real, list[Real]] = (mpf("inf"), [])
    for _ in range(12):
        rows = [[signed_weight(t) * t**k for k in powers] + [(-1) ** i] for i, t in enumerate(nodes)]
        right = [signed_weight(t) * target(t) for t in nodes]
        *coefficients, level = mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix(right))
        extrema: list[tuple[Real, Real]] = []
        for t, v, w in values:  # the largest error of every stretch of one sign
            e = w * (t**start * mpmath.polyval(coefficients[::-1], t) - v)
            if extrema and (e > 0) == (extrema[-1][1] > 0):
                if abs(e) > abs(extrema[-1][1]):
                    extrema[-1] = (t, e)
            else:
                extrema.append((t, e))
        worst = max(abs(e) for _, e in extrema)
        if worst < best[0]:
            best = (worst, coefficients)
        sizes = [abs(e) for _, e in extrema]
        while len(extrema) > count:  # drop the smallest, at an end alone, inside with its smaller neighbour
            at = sizes.index(min(sizes))
            if len(extrema) == count + 1:
                at = 0 if sizes[0] < sizes[-1] else len(sizes) - 1
            gone = [at]
            if 0 < at < len(sizes) - 1:
                gone.append(at + 1 if sizes[at + 1] < sizes[at - 1] else at - 1)
            for i in sorted(gone, reverse=True):
                del extrema[i], sizes[i]
        if len(extrema) < count or worst < abs(level) * mpf("1.01"):
            break
        nodes = [t for t, _ in extrema]
    return best[1]


def _round(value: Real, dtype: str) -> float:
    if dtype == "f64":
        return float(value)
    # through a double is safe enough: a coefficient need not be the nearest, the next ones make it good
    return struct.unpack("<f", struct.pack("<f", float(value)))[0]


def _series(small: Function, direct: Function) -> Function:
    """`direct` away from zero, `small` (its limit) at zero."""
    return lambda t: small(t) if abs(t) < mpf(10) ** -12 else direct(t)


_HALF_LN2 = mpf("0.3466")
_EXP = _series(lambda t: mpf(1) / 2 + t / 6, lambda t: (mpmath.expm1(t) - t) / t**2)
_LOG = _series(lambda t: mpf(1) / 3 - t / 4, lambda t: (mpmath.log1p(t) - t + t * t / 2) / t**3)
_ATANH = _series(lambda s: mpf(2) / 3 + 2 * s / 5, lambda s: (2 * mpmath.atanh(mpmath.sqrt(s)) / mpmath.sqrt(s) - 2) / s)


def _odd(f: Function, first: Real, second: Real) -> Function:
    """`(f(x) / x - 1) / x^2` as a function of `s = x^2`, for `f = x + first x^3 + second x^5 + ...`."""

    def of_square(s: Real) -> Real:
        x = mpmath.sqrt(s)
        return (f(x) / x - 1) / s

    return _series(lambda s: first + second * s, of_square)


_TWO_OVER_ROOT_PI = 2 / mpmath.sqrt(mpmath.pi)


def _erf_weight(x: Real) -> Real:  # of an error of p in erf(x), relatively
    return x * mpmath.erfc(x) / mpmath.erf(x) if x > mpf(10) ** -15 else 1 / _TWO_OVER_ROOT_PI


def _erf(x: Real) -> Real:
    return -mpmath.log(mpmath.erfc(x)) / x - 1 if x > mpf(10) ** -15 else _TWO_OVER_ROOT_PI - 1


def _erfc(center: int) -> Function:
    def of_quotient(q: Real) -> Real:
        x = center * (1 + q) / (1 - q)
        return (1 + 2 * x) * mpmath.exp(x * x) * mpmath.erfc(x)

    return of_quotient


_erf_ratio = _series(lambda s: _TWO_OVER_ROOT_PI * (1 - s / 3), lambda s: mpmath.erf(mpmath.sqrt(s)) / mpmath.sqrt(s))


def _erfc_end(center: int, vanishes: str) -> Real:
    return (mpf(vanishes) - center) / (mpf(vanishes) + center)


def fits() -> dict[str, Fit]:
    one: Function = lambda t: mpf(1)  # noqa: E731
    third = mpf(1) / 3
    return {
        # exp(r) = 1 + r + r^2 p(r)
        "exp": Fit(_EXP, lambda t: t * t, -_HALF_LN2, _HALF_LN2, 4, 9),
        # log(1 + f) = f - f^2 / 2 + f^3 p(f)
        "log": Fit(_LOG, lambda f: abs(f**3 / mpmath.log1p(f)), mpf("-0.29290"), mpf("0.41422"), 7, None),
        # log((1 + s) / (1 - s)) = s (2 + s^2 p(s^2))
        "atanh": Fit(_ATANH, lambda s: s, 0, mpf("0.02945"), None, 6),
        # sin(r) = r + r^3 p(r^2), |r| <= pi / 2 and a little more
        "sin": Fit(_odd(mpmath.sin, -mpf(1) / 6, mpf(1) / 120), lambda s: s, 0, mpf("2.50"), 4, 7),
        # tan(r) = r + r^3 p(r^2), |r| <= pi / 4 and a little more
        "tan": Fit(_odd(mpmath.tan, third, mpf(2) / 15), lambda s: s, 0, mpf("0.622"), 6, 14),
        # tanh(x) = x + x^3 p(x^2), |x| <= 0.55
        "tanh": Fit(_odd(mpmath.tanh, -third, mpf(2) / 15), lambda s: s, 0, mpf("0.3050"), 4, 9),
        # erfc(x) = exp(-x - x p(x)), 0 <= x until erf rounds to 1
        "erf_f32": Fit(_erf, _erf_weight, 0, mpf("3.93"), 8, None),
        "erf_f64": Fit(_erf, _erf_weight, 0, mpf("5.93"), None, 24),
        # (1 + 2 x) exp(x^2) erfc(x) = p((x - k) / (x + k)), 0 <= x until erfc is 0
        "erfc_f32": Fit(_erfc(2), lambda q: 1 / _erfc(2)(q), -1, _erfc_end(2, "10.1"), 10, None),
        "erfc_f64": Fit(_erfc(4), lambda q: 1 / _erfc(4)(q), -1, _erfc_end(4, "27.3"), None, 22),
        # erf(x) = x p(x^2), |x| <= 1/2, for erfc
        "erf_near_0": Fit(_erf_ratio, lambda s: mpmath.sqrt(s) / mpmath.erfc(mpmath.sqrt(s)), 0, mpf("0.2502"), 4, 8),
        # atan(t) = t + t^3 p(t^2), |t| <= 1/2
        "atan": Fit(_odd(mpmath.atan, -third, mpf(1) / 5), lambda s: s, 0, mpf("0.2502"), 5, 13),
        # log2(1 + f) = f p(f) in f64 for powf in f32
        "log2": Fit(_log2, one, mpf("-0.29290"), mpf("0.41422"), None, 12),
        # log2((1 + s) / (1 - s)) = s (2 / ln2 + s^2 (2 / (3 ln2) + s^2 p(s^2))) for powf in f64
        "log2_atanh": Fit(_log2_atanh, lambda s: s * s, 0, mpf("0.02945"), None, 6),
    }


def _log2(f: Real) -> Real:
    return mpmath.log1p(f) / f / mpmath.log(2) if f else 1 / mpmath.log(2)


def _log2_atanh(s: Real) -> Real:
    if s < mpf(10) ** -12:
        return 2 / mpmath.log(2) * (mpf(1) / 5 + s / 7)
    x = mpmath.sqrt(s)
    return 2 / mpmath.log(2) * (mpmath.atanh(x) / x - 1 - s / 3) / s**2


def main() -> None:
    mp.prec = PRECISION
    for name, fit in fits().items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        for dtype, degree in (("f32", fit.single), ("f64", fit.double)):
            if degree is None:
                continue
            coefficients, error = fit.coefficients(degree, dtype)
            print(f"# {name} {dtype}: degree {degree}, error 2^{float(mpmath.log(error, 2)):.1f}")
            print("(" + ", ".join(repr(c) for c in coefficients) + ")", flush=True)


if __name__ == "__main__":
    main()

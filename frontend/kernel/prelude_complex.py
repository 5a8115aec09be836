"""Functions of complex numbers in the language of kernels, of their parts in f64; inlined where a kernel calls them.

Special values are those of C99's Annex G, which NumPy has, where a case below says so; else what the formulas give.
"""

# pyright: basic

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from .prelude import copysign, hypot, sinh

_MOST_EXP = 709.0
_LARGE, _TINY = 1e300, 1e-290
_SPLIT = 134217729.0
"""2^27 + 1: the halves of a product with it have exact squares (Dekker, 1971)."""


def exp(a, b):
    is_high = a > _MOST_EXP
    once = np.exp((a - _MOST_EXP) if is_high else a)
    more = 8.218407461554972e307 if is_high else 1.0
    c, s = np.cos(b), np.sin(b)
    is_odd = not abs(b) < math.inf
    real, imag = once * c * more, (b if b == 0 else once * s * more)
    real = (0.0 if a < 0 else math.inf) if is_odd and abs(a) == math.inf else real
    imag = (copysign(0.0, b) if a < 0 else math.nan) if is_odd and abs(a) == math.inf else imag
    return real, imag


def square_apart(x):
    """`x * x` as a sum of two numbers, exactly."""
    whole = x * x
    upper = _SPLIT * x
    upper = upper - (upper - x)
    lower = x - upper
    return whole, ((upper * upper - whole) + 2 * upper * lower) + lower * lower


def log_of_length(a, b):
    """log |a + ib|; near 1 by the exact sum of squares less 1."""
    x, y = abs(a), abs(b)
    high, low = (x if x > y else y), (y if x > y else x)
    length = hypot(a, b)
    is_near = 0.5 < length < 2.0
    p, q = (high if is_near else 1.0), (low if is_near else 0.0)
    p_whole, p_rest = square_apart(p)
    q_whole, q_rest = square_apart(q)
    first = p_whole - 1
    total = first + q_whole
    lost = (q_whole - (total - first)) if abs(first) > q_whole else (first - (total - q_whole))
    near = 0.5 * np.log1p(total + (lost + (p_rest + q_rest)))
    halves = np.log(hypot(0.5 * a, 0.5 * b)) + 0.6931471805599453  # of parts so large that the length is infinite
    far = halves if length == math.inf else np.log(length)
    return near if is_near else far


def log(a, b):
    return log_of_length(a, b), np.arctan2(b, a)


def log2(a, b):
    return log_of_length(a, b) * 1.4426950408889634, np.arctan2(b, a) * 1.4426950408889634


def log10(a, b):
    return log_of_length(a, b) * 0.4342944819032518, np.arctan2(b, a) * 0.4342944819032518


def sqrt(a, b):
    size = max(abs(a), abs(b))
    is_large, is_small = size > _LARGE, size < _TINY
    scale = 0.0625 if is_large else (4.149515568880993e180 if is_small else 1.0)  # 2^-4 and 2^600
    back = 4.0 if is_large else (4.909093465297727e-91 if is_small else 1.0)
    p, q = a * scale, b * scale
    t = np.sqrt(0.5 * (abs(p) + hypot(p, q)))
    other = abs(q) / (2 * t)
    real, imag = (t if a >= 0 else other) * back, copysign(other if a >= 0 else t, b) * back
    real, imag = (0.0 if size == 0 else real), (b if size == 0 else imag)
    is_infinite = abs(a) == math.inf
    real = a if is_infinite and a > 0 else ((math.nan if b != b else 0.0) if is_infinite else real)
    imag = (b if b != b and a > 0 else copysign(0.0 if a > 0 else math.inf, b)) if is_infinite else imag
    is_b = abs(b) == math.inf
    return (math.inf if is_b else real), (b if is_b else imag)


def cosh_sinh(x):
    """cosh and sinh / e^k with e^k: near the end of the range a factor stands apart, so that products do not overflow."""
    is_high = abs(x) > _MOST_EXP
    t = copysign(abs(x) - _MOST_EXP, x) if is_high and abs(x) < math.inf else x
    grown = 0.5 * np.exp(abs(t))
    return (
        (grown if is_high else np.cosh(t)),
        (copysign(grown, t) if is_high else sinh(t)),
        (8.218407461554972e307 if is_high else 1.0),
    )


def part(x, y, more):
    """x * y * more, and 0 of a y that is 0."""
    return x * y if y == 0 and abs(x) < math.inf else x * y * more


def sinh_of(a, b):
    c, s, more = cosh_sinh(a)
    real = a if (a == 0 or abs(a) == math.inf) and not abs(b) < math.inf else part(s, np.cos(b), more)
    return real, (b if b == 0 else part(c, np.sin(b), more))


def cosh_of(a, b):
    c, s, more = cosh_sinh(a)
    zero = copysign(0.0, a) * copysign(1.0, np.sin(b))
    real = abs(a) if abs(a) == math.inf and not abs(b) < math.inf else part(c, np.cos(b), more)
    return real, (zero if a == 0 or b == 0 else part(s, np.sin(b), more))


def sin(a, b):
    imag, real = sinh_of(b, a)
    return real, imag


def cos(a, b):
    return cosh_of(-b, a)


def tanh(a, b):
    """Kahan, Branch cuts for complex elementary functions (1987)."""
    is_far = abs(a) > 22
    p = 0.0 if is_far else a
    t = np.tan(b)
    beta, s = 1 + t * t, sinh(p)
    rho = np.sqrt(1 + s * s)
    below = 1 + beta * s * s
    small = np.exp(-2 * abs(a))
    imag = 4 * np.sin(b) * np.cos(b) * small
    is_infinite = abs(a) == math.inf
    far = copysign(0.0, b if abs(b) == math.inf else np.sin(2 * b)) if is_infinite else imag
    is_steep = abs(t) > 1e150  # its square is infinite: a quarter turn
    real = rho / s if is_steep else beta * rho * s / below
    side = copysign(1.0, a) if is_infinite or abs(b) < math.inf else math.nan
    return (side if is_far else (a if a == 0 else real)), (far if is_far else (b if b == 0 else t / below))


def tan(a, b):
    imag, real = tanh(-b, a)
    return real, -imag


def power(a, b, c, d):
    is_zero = a == 0 and b == 0
    n = c if d == 0 and c == np.floor(c) and abs(c) < 100 else 0.0
    count = int(abs(n))
    p, q = 1.0, 0.0
    x, y = a, b
    while count > 0:
        if count & 1:
            p, q = p * x - q * y, p * y + q * x
        x, y = x * x - y * y, 2 * x * y
        count >>= 1
    if n < 0:
        z = 1 / complex(p, q)
        p, q = z.real, z.imag
    if n == 0 and not is_zero and not (c == 0 and d == 0):
        size, turn = log(a, b)
        p, q = exp(c * size - d * turn, c * turn + d * size)
    if is_zero and not (c == 0 and d == 0):
        is_plain = c > 0 and d == 0
        p, q = (0.0 if is_plain else math.nan), (0.0 if is_plain else math.nan)
    return p, q


def reciprocal(a, b):
    """Smith's quotient, as in NumPy."""
    is_wide = abs(a) >= abs(b)
    large, small = (a if is_wide else b), (b if is_wide else a)
    ratio = small / large
    below = large + small * ratio
    return (1 if is_wide else ratio) / below, (-ratio if is_wide else -1) / below


def angle(a, b):
    return np.arctan2(b, a)


def isnan(a, b):
    return a != a or b != b


def isinf(a, b):
    return abs(a) == math.inf or abs(b) == math.inf


def isfinite(a, b):
    return abs(a) < math.inf and abs(b) < math.inf


def _functions() -> dict[Any, Any]:
    found: dict[Any, Any] = {
        np.log2: log2,
        abs: hypot,
        np.abs: hypot,
        np.angle: angle,
        cmath.phase: angle,
        np.reciprocal: reciprocal,
    }
    of_both = {exp: "exp", log: "log", log10: "log10", sqrt: "sqrt", sin: "sin", cos: "cos", tan: "tan", sinh_of: "sinh",
               cosh_of: "cosh", tanh: "tanh", isnan: "isnan", isinf: "isinf", isfinite: "isfinite"}  # fmt: skip
    return {**found, **{getattr(module, name): f for f, name in of_both.items() for module in (np, cmath)}}


FUNCTIONS = _functions()
"""Functions of one complex number, by those of NumPy, cmath and Python; they take its parts."""

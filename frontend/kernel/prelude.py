"""Functions of math and NumPy that are written in the language of kernels: they are inlined where a kernel calls them.

Those of floats are for f64; values of f32 are converted to it, and the result back. Where math raises they give what NumPy
gives.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""ln 2 in two parts, the first so short that products with exponents are exact."""
_LOG10_2_HIGH, _LOG10_2_LOW = 0.30102999566361177, 3.694239077158931e-13
_MANTISSA, _SIGN = (1 << 52) - 1, -(1 << 63)
_LARGE = 1e18
"""Beside the square of such a number 1 is not seen."""


def bits_of(x: float) -> int:
    """The bits of an f64 as an i64; the compiler has it."""
    return struct.unpack("<q", struct.pack("<d", x))[0]


def float_of(bits: int) -> float:
    """The f64 with the bits of an i64; the compiler has it."""
    return struct.unpack("<d", struct.pack("<q", bits))[0]


def bits32_of(x: float) -> int:
    """The bits of an f32 as an i32; the compiler has it."""
    return struct.unpack("<i", struct.pack("<f", x))[0]


def float32_of(bits: int) -> float:
    """The f32 with the bits of an i32; the compiler has it."""
    return struct.unpack("<f", struct.pack("<i", bits))[0]


INTRINSICS = {bits_of: ("f64", "i64"), float_of: ("i64", "f64"), bits32_of: ("f32", "i32"), float32_of: ("i32", "f32")}
"""Functions that the compiler has: from the bits of which type to which."""


# -- signs and parts


def copysign(x, y):
    return float_of((bits_of(x) & ~_SIGN) | (bits_of(y) & _SIGN))


def signbit(x):
    return bits_of(x) < 0


def trunc(x):
    return copysign(np.floor(abs(x)), x)


def whole_trunc(x):
    return int(x)


def modf(x):
    whole = trunc(x)
    return copysign(0.0 if abs(x) == math.inf else x - whole, x), whole


def frexp(x):
    is_tiny = abs(x) < 2.2250738585072014e-308
    scaled = x * 18014398509481984.0 if is_tiny else x
    bits = bits_of(scaled)
    exponent = ((bits >> 52) & 2047) - 1022 - (54 if is_tiny else 0)
    fraction = float_of((bits & (_SIGN | _MANTISSA)) | (1022 << 52))
    is_plain = x == 0 or not abs(x) < math.inf
    return (x if is_plain else fraction), (0 if is_plain else exponent)


def power_of_two(n):
    return float_of((n + 1023) << 52)


def ldexp(x, n):
    e = min(max(int(n), -2200), 2200)
    first = min(max(e, -1000), 1000)
    second = min(max(e - first, -1000), 1000)
    return x * power_of_two(first) * power_of_two(second) * power_of_two(e - first - second)


def nextafter(x, y):
    bits = bits_of(x)
    away = (y > x) == (x > 0)
    near = float_of(bits + (1 if away else -1))
    least = copysign(5e-324, y)
    stepped = least if x == 0 else near
    return x + y if x != x or y != y else (y if x == y else stepped)


def spacing(x):
    size = abs(x)
    grown = float_of(bits_of(size) + 1) - size
    return math.nan if not size < math.inf else (-grown if x < 0 else grown)


def nextafter32(x, y):
    bits = bits32_of(x)
    away = (y > x) == (x > 0)
    near = float32_of(bits + (1 if away else -1))
    least = float32_of(1 if y > 0 else -2147483647)
    stepped = least if x == 0 else near
    return x + y if x != x or y != y else (y if x == y else stepped)


def spacing32(x):
    size = abs(x)
    grown = float32_of(bits32_of(size) + 1) - size
    return math.nan if not size < math.inf else (-grown if x < 0 else grown)


def nan_to_num32(x):
    return 0.0 if x != x else min(max(x, -3.4028234663852886e38), 3.4028234663852886e38)


def ulp(x):
    size = abs(x)
    grown = float_of(bits_of(size) + 1)
    return size if not size < math.inf else (grown - size if grown < math.inf else size - float_of(bits_of(size) - 1))


# -- exponentials and logarithms


def exp2(x):
    return np.power(2.0, x)


def log2(x):
    m, e = frexp(x)
    is_low = m < 0.7071067811865476
    m, e = (2 * m if is_low else m), (e - 1 if is_low else e)
    return np.log(x) if not 0 < x < math.inf else e + np.log(m) * 1.4426950408889634


def log10(x):
    m, e = frexp(x)
    is_low = e != 0  # nearer 1 the exponent would cancel
    m, e = (2 * m if is_low else m), (e - 1 if is_low else e)
    low = e * _LOG10_2_LOW + 0.4342944819032518 * np.log(m)
    return np.log(x) if not 0 < x < math.inf else e * _LOG10_2_HIGH + low


def log_to_base(x, base):
    return np.log(x) / np.log(base)


def logaddexp(x, y):
    gap = 0.0 if x == y else abs(x - y)
    return np.maximum(x, y) + np.log1p(np.exp(-gap))


def logaddexp2(x, y):
    gap = 0.0 if x == y else abs(x - y)
    return np.maximum(x, y) + np.log1p(np.exp(-gap * 0.6931471805599453)) * 1.4426950408889634


# -- hyperbolic functions


def half_exp(x):
    """exp(x) / 2 without early overflow, for x >= 0."""
    return np.exp(x - _LN2_HIGH) * 0.9999999998091785


def sinh(x):
    size = abs(x)
    t = size if size < 1 else 0.0
    s = t * t
    series = 1 / 121645100408832000 * s + 1 / 355687428096000
    series = series * s + 1 / 1307674368000
    series = series * s + 1 / 6227020800
    series = series * s + 1 / 39916800
    series = series * s + 1 / 362880
    series = series * s + 1 / 5040
    series = series * s + 1 / 120
    series = series * s + 1 / 6
    grown = half_exp(size)
    far = grown - 0.25 / grown
    return copysign(t + t * (s * series) if size < 1 else far, x)


def cosh(x):
    grown = half_exp(abs(x))
    return grown + 0.25 / grown


def asinh(x):
    size = abs(x)
    s = size if size < _LARGE else 1.0
    near = np.log1p(s + s * s / (1 + np.sqrt(s * s + 1)))
    return copysign(near if size < _LARGE else np.log(size) + 0.6931471805599453, x)


def acosh(x):
    t = (x if x < _LARGE else 2.0) - 1
    near = np.log1p(t + np.sqrt(t * (t + 2)))
    return math.nan if not x >= 1 else (np.log(x) + 0.6931471805599453 if x >= _LARGE else near)


def atanh(x):
    size = abs(x)
    return copysign(0.5 * np.log1p(2 * size / (1 - size)), x)


def asin(x):
    return np.arctan2(x, np.sqrt((1 - x) * (1 + x)))


def acos(x):
    return np.arctan2(np.sqrt((1 - x) * (1 + x)), x)


def cbrt(x):
    m, e = frexp(abs(x))
    third = (e + 3000) // 3 - 1000
    s = ldexp(m, e - 3 * third)
    root = np.exp(np.log(s) * 0.3333333333333333)
    root = root - (root * root * root - s) / (3 * root * root)
    root = root - (root * root * root - s) / (3 * root * root)
    return copysign(ldexp(root, third), x) if 0 < abs(x) < math.inf else x


def hypot(x, y):
    a, b = abs(x), abs(y)
    high, low = (a if a > b else b), (b if a > b else a)
    e = frexp(high)[1]
    u, v = ldexp(high, -e), ldexp(low, -e)
    length = ldexp(np.sqrt(u * u + v * v), e)
    return math.inf if a == math.inf or b == math.inf else (x + y if x != x or y != y else (length if high > 0 else 0.0))


def sinc(x):
    y = math.pi * (x if x != 0 else 1e-20)
    return np.sin(y) / y


def degrees(x):
    return x * 57.29577951308232


def radians(x):
    return x * 0.017453292519943295


# -- gamma functions, by Lanczos' quotient of polynomials as in CPython

_G = 6.024680040776729583740234375
_ABOVE = (
    23531376880.41076, 42919803642.6491, 35711959237.35567, 17921034426.03721, 6039542586.352028, 1439720407.3117217,
    248874557.86205417, 31426415.585400194, 2876370.6289353725, 186056.26539522348, 8071.672002365816, 210.82427775157935,
    2.5066282746310002,
)  # fmt: skip
_BELOW = (
    0.0, 39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0, 2637558.0, 357423.0, 32670.0, 1925.0, 66.0,
    1.0,
)  # fmt: skip


def lanczos(x):
    """The quotient, for x > 0; beyond 5 in 1 / x."""
    is_near = x < 5
    t = x if is_near else 1 / x
    low, high = (0.0, 0.0), (0.0, 0.0)
    for n, d in zip(_ABOVE[::-1], _BELOW[::-1]):  # noqa: B905
        low = (low[0] * t + n, low[1] * t + d)
    for n, d in zip(_ABOVE, _BELOW):  # noqa: B905
        high = (high[0] * t + n, high[1] * t + d)
    return low[0] / low[1] if is_near else high[0] / high[1]


def sine_of_half_turns(x):
    """sin(pi * x) for x >= 0: exact where x is whole."""
    rest = np.fmod(x, 2.0)
    n = np.rint(2.0 * rest)
    turn = math.pi * (rest - 0.5 * n)
    sine, cosine = np.sin(turn), np.cos(turn)
    return sine if n == 0 or n == 4 else (cosine if n == 1 else (-sine if n == 2 else -cosine))


def gamma(x):
    size = abs(x)
    y = size + (_G - 0.5)
    q = (y - size) if size > _G - 0.5 else (y - (_G - 0.5))
    z = (q - (_G - 0.5) if size > _G - 0.5 else q - size) * _G / y
    power = np.power(y, 0.5 * size - 0.25)
    up = lanczos(size) / np.exp(y)
    up = (up + z * up) * power * power
    down = -math.pi / sine_of_half_turns(size) / size * np.exp(y) / lanczos(size)
    down = (down - z * down) / power / power
    near = 1 / x
    far = x if x > 0 else copysign(0.0, -sine_of_half_turns(size))
    middle = near if size < 1e-20 else (up if x > 0 else down)
    whole = x < 0 and x == np.floor(x)
    return x if x == math.inf or x != x else (math.nan if whole else (middle if size < 200 else (math.inf if x > 0 else far)))


def lgamma(x):
    size = abs(x)
    tiny = size < 1e-20
    s = 1.0 if tiny else size
    r = np.log(lanczos(s)) - _G + (s - 0.5) * (np.log(s + _G - 0.5) - 1)
    down = 1.1447298858494002 - np.log(abs(sine_of_half_turns(s))) - np.log(s) - r
    plain = -np.log(size) if tiny else (r if x > 0 else down)
    whole = x <= 0 and x == np.floor(x)
    return x * x if not size < math.inf else (math.inf if whole else (0.0 if x == 1 or x == 2 else plain))


# -- comparisons


def fmax(x, y):
    return y if x != x else (x if y != y else np.maximum(x, y))


def fmin(x, y):
    return y if x != x else (x if y != y else np.minimum(x, y))


def heaviside(x, y):
    return x if x != x else (0.0 if x < 0 else (1.0 if x > 0 else y))


def isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    near = abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)
    return a == b or (near and abs(a) < math.inf and abs(b) < math.inf)


def np_isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    near = abs(a - b) <= atol + rtol * abs(b)
    return a == b or (near and abs(b) < math.inf) or (equal_nan and a != a and b != b)


def real(x):
    return x


def imag(x):
    return 0.0


def isposinf(x):
    return x == math.inf


def isneginf(x):
    return x == -math.inf


def nan_to_num(x):
    return 0.0 if x != x else min(max(x, -1.7976931348623157e308), 1.7976931348623157e308)


def clip(x, a_min, a_max):
    return np.minimum(np.maximum(x, a_min), a_max)


def angle(x):
    return x if x != x else (math.pi if signbit(x) else 0.0)


# -- integers


def gcd(a, b):
    x, y = abs(a), abs(b)
    while y != 0:
        x, y = y, x % y
    return x


def lcm(a, b):
    divisor = gcd(a, b)
    return 0 if divisor == 0 else abs(a // divisor * b)


def factorial(n):
    result = 1
    for k in range(2, n + 1):
        result *= k
    return result


def comb(n, k):
    few = min(k, n - k)
    result = 1
    for i in range(few):
        result = result * (n - i) // (i + 1)
    return 0 if few < 0 else result


def perm(n, k):
    result = 1
    for i in range(k):
        result *= n - i
    return 0 if k > n else result


def isqrt(n):
    root = int(np.sqrt(float(n)))
    root = min(root, 3037000499)
    while root * root > n:
        root -= 1
    while root < 3037000499 and (root + 1) * (root + 1) <= n:
        root += 1
    return root


def integer_power(x, n):
    if n < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")
    result = x * 0 + 1
    base = x
    while n > 0:
        if n & 1:
            result = result * base
        base = base * base
        n >>= 1
    return result


def at_decimals(x, scale):
    return np.rint(x * scale) / scale


# -- tuples and arrays


def dist(p, q):
    total = 0.0
    for a, b in zip(p, q):  # noqa: B905
        total += (a - b) * (a - b)
    return np.sqrt(total)


def sumprod(p, q):
    total = 0
    for a, b in zip(p, q):  # noqa: B905
        total += a * b
    return total


def total(values, start=0):
    result = start
    for value in values:
        result += value
    return result


def product(values, start=1):
    result = start
    for value in values:
        result *= value
    return result


def fsum(values):
    """The sum with the parts that its roundings lost (Neumaier, 1974): within an ulp or so, where math.fsum is exact."""
    result, lost = 0.0, 0.0
    for value in values:
        x = value * 1.0
        after = result + x
        lost += ((result - after) + x) if abs(result) >= abs(x) else ((x - after) + result)
        result = after
    return result + lost if abs(result) < math.inf else result


@dataclass(frozen=True)
class Row:
    """A function here.

    Attributes:
        is_of_floats: whether operands become f64.
        narrow: what it is for f32, if not the same in f64.
    """

    function: Callable[..., Any]
    is_of_floats: bool = True
    narrow: Callable[..., Any] | None = None


def _rows() -> dict[Any, Row]:
    floats = {
        sinh: "sinh", cosh: "cosh", asinh: "asinh arcsinh", acosh: "acosh arccosh", atanh: "atanh arctanh", asin: "asin arcsin",
        acos: "acos arccos", cbrt: "cbrt", hypot: "hypot", exp2: "exp2", log2: "log2", log10: "log10", copysign: "copysign",
        signbit: "signbit", modf: "modf", frexp: "frexp", nextafter: "nextafter", degrees: "degrees rad2deg",
        radians: "radians deg2rad", logaddexp: "logaddexp", logaddexp2: "logaddexp2", fmax: "fmax", fmin: "fmin",
        heaviside: "heaviside", spacing: "spacing", ulp: "ulp", sinc: "sinc", nan_to_num: "nan_to_num", angle: "angle",
        isposinf: "isposinf", isneginf: "isneginf", gamma: "gamma", lgamma: "lgamma",
    }  # fmt: skip
    found: dict[Any, Row] = {}
    for function, names in floats.items():
        for name in names.split():
            for module in (math, np):
                if hasattr(module, name):
                    found[getattr(module, name)] = Row(function)
    found |= {math.isclose: Row(isclose), np.isclose: Row(np_isclose), np.trunc: Row(trunc), math.trunc: Row(whole_trunc)}
    for function, names in {gcd: "gcd", lcm: "lcm", factorial: "factorial", comb: "comb", perm: "perm", isqrt: "isqrt"}.items():
        for module in (math, np):
            if hasattr(module, names):
                found[getattr(module, names)] = Row(function, is_of_floats=False)
    others = {"dist": dist, "sumprod": sumprod, "prod": product, "fsum": fsum}
    found |= {getattr(math, n): Row(f, is_of_floats=False) for n, f in others.items() if hasattr(math, n)}
    found |= {np.real: Row(real, is_of_floats=False), np.imag: Row(imag)}
    for function, narrow in {nextafter: nextafter32, spacing: spacing32, nan_to_num: nan_to_num32}.items():
        found[getattr(np, function.__name__)] = Row(function, narrow=narrow)
    found |= {np.clip: Row(clip, is_of_floats=False), sum: Row(total, is_of_floats=False)}
    return {**found, math.ldexp: Row(ldexp, is_of_floats=False), np.ldexp: Row(ldexp, is_of_floats=False)}


ROWS = _rows()
"""What stands for functions of math and NumPy."""

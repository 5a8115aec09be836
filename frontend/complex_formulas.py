"""Functions of complex tracers that are no ops: composed of functions of their parts and of those that are.

Inverse functions are Kahan's, Branch cuts for complex elementary functions, 1987.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .moves import broadcast_tracer
from .tracer import Tracer
from .tracing import build, lift_as

Real = Callable[[Tracer], Tracer]
"""The inverse hyperbolic sine of real tracers."""


def full(x: Tracer, value: complex) -> Tracer:
    """A tensor of one value with the type of `x`."""
    return broadcast_tracer(lift_as(value, x.dtype), x.shape)


def parts(z: Tracer) -> tuple[Tracer, Tracer]:
    """The real and the imaginary part."""
    return build("real", z), build("imag", z)


def joined(re: Tracer, im: Tracer, weak: bool = False) -> Tracer:
    return build("complex", re, im, weak=weak)


def conjugate(z: Tracer) -> Tracer:
    re, im = parts(z)
    return joined(re, build("neg", im), z.weak)


def magnitude(z: Tracer) -> Tracer:
    return build("magnitude", z, weak=z.weak)


def times_i(z: Tracer) -> Tracer:
    re, im = parts(z)
    return joined(build("neg", im), re)


def over_i(z: Tracer) -> Tracer:
    re, im = parts(z)
    return joined(im, build("neg", re))


def sign(z: Tracer) -> Tracer:
    """`z / |z|`, and 0 at 0: the sign of complex numbers since NumPy 2."""
    size = magnitude(z)
    none = build("cmp", size, full(size, 0), predicate="eq")
    safe = build("select", none, full(size, 1), size)
    re, im = (build("div", part, safe) for part in parts(z))
    return joined(re, im)


def expm1(z: Tracer) -> Tracer:
    a, b = parts(z)
    half = build("sin", build("mul", b, full(b, 0.5)))
    re = build("sub", build("mul", build("expm1", a), build("cos", b)), build("mul", full(b, 2), build("mul", half, half)))
    return joined(re, build("mul", build("exp", a), build("sin", b)))


def log1p(z: Tracer) -> Tracer:
    a, b = parts(z)
    one = full(a, 1)
    near = build("cmp", magnitude(z), full(a, 0.5), predicate="lt")
    zero = full(a, 0)
    x, y = build("select", near, a, zero), build("select", near, b, zero)
    excess = build("add", build("mul", x, build("add", x, full(a, 2))), build("mul", y, y))
    small = build("mul", full(a, 0.5), build("log1p", excess))
    whole = build("add", a, one)
    far = build("real", build("log", joined(whole, b)))
    return joined(build("select", near, small, far), build("atan2", b, whole))


def sinh(z: Tracer) -> Tracer:
    return over_i(build("sin", times_i(z)))


def cosh(z: Tracer) -> Tracer:
    return build("cos", times_i(z))


def tan(z: Tracer) -> Tracer:
    return over_i(build("tanh", times_i(z)))


def _roots(z: Tracer) -> tuple[Tracer, Tracer]:
    """The roots of `1 - z` and `1 + z`."""
    one = full(z, 1)
    return build("sqrt", build("sub", one, z)), build("sqrt", build("add", one, z))


def arcsin(z: Tracer, asinh: Real) -> Tracer:
    low, high = _roots(z)
    re = build("atan2", build("real", z), build("real", build("mul", low, high)))
    return joined(re, asinh(build("imag", build("mul", conjugate(low), high))))


def arccos(z: Tracer, asinh: Real) -> Tracer:
    low, high = _roots(z)
    angle = build("atan2", build("real", low), build("real", high))
    im = asinh(build("imag", build("mul", conjugate(high), low)))
    return joined(build("mul", full(angle, 2), angle), im)


def arcsinh(z: Tracer, asinh: Real) -> Tracer:
    return over_i(arcsin(times_i(z), asinh))


def arccosh(z: Tracer, asinh: Real) -> Tracer:
    one = full(z, 1)
    low, high = build("sqrt", build("sub", z, one)), build("sqrt", build("add", z, one))
    angle = build("atan2", build("imag", low), build("real", high))
    re = asinh(build("real", build("mul", conjugate(low), high)))
    return joined(re, build("mul", full(angle, 2), angle))


def arctanh(z: Tracer) -> Tracer:
    return build("mul", full(z, 0.5), build("sub", log1p(z), log1p(build("neg", z))))


def arctan(z: Tracer) -> Tracer:
    return over_i(arctanh(times_i(z)))


def exp2(z: Tracer) -> Tracer:
    return build("exp", build("mul", z, full(z, math.log(2))))


def compare(predicate: str, x: Tracer, y: Tracer) -> Tracer:
    """Complex numbers in NumPy's order: by the real part, then by the imaginary one."""
    (a, b), (c, d) = parts(x), parts(y)
    first = build("cmp", a, c, predicate=predicate[:1] + "t")
    second = build("and", build("cmp", a, c, predicate="eq"), build("cmp", b, d, predicate=predicate))
    return build("or", first, second)


FORMULAS = {
    "abs": magnitude,
    "sign": sign,
    "expm1": expm1,
    "log1p": log1p,
    "tan": tan,
    "atan": arctan,
}
"""What the ufuncs of these ops do with complex numbers."""

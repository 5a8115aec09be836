"""Functions of complex tracers that are not ops: composed of functions of the real and imaginary parts and of ops.

Inverse functions are Kahan's, Branch cuts for complex elementary functions, 1987.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...api import Tracer, build, full_like_tracer

Real = Callable[[Tracer], Tracer]
"""The inverse hyperbolic sine of real tracers."""


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
    """`z / |z|`, and 0 at 0: the sign of complex numbers since NumPy 2. Of one infinite part it is that part's sign."""
    size = magnitude(z)
    none = build("cmp", size, full_like_tracer(size, 0), predicate="eq")
    safe = build("select", none, full_like_tracer(size, 1), size)
    zero, inf = full_like_tracer(size, 0), full_like_tracer(size, math.inf)

    def direction(part: Tracer, other: Tracer) -> Tracer:
        other_infinite = build("cmp", build("abs", other), inf, predicate="eq")
        of_infinite = build(
            "select", other_infinite, full_like_tracer(part, math.nan), _with_sign(full_like_tracer(part, 1), part)
        )
        quotient = build("select", none, zero, build("div", part, safe))
        of_finite = build("select", other_infinite, zero, quotient)
        return build("select", build("cmp", build("abs", part), inf, predicate="eq"), of_infinite, of_finite)

    a, b = parts(z)
    return joined(direction(a, b), direction(b, a))


def expm1(z: Tracer) -> Tracer:
    a, b = parts(z)
    half = build("sin", build("mul", b, full_like_tracer(b, 0.5)))
    re = build(
        "sub", build("mul", build("expm1", a), build("cos", b)), build("mul", full_like_tracer(b, 2), build("mul", half, half))
    )
    return joined(re, build("mul", build("exp", a), build("sin", b)))


def log1p(z: Tracer) -> Tracer:
    a, b = parts(z)
    one = full_like_tracer(a, 1)
    near = build("cmp", magnitude(z), full_like_tracer(a, 0.5), predicate="lt")
    zero = full_like_tracer(a, 0)
    x, y = build("select", near, a, zero), build("select", near, b, zero)
    excess = build("add", build("mul", x, build("add", x, full_like_tracer(a, 2))), build("mul", y, y))
    small = build("mul", full_like_tracer(a, 0.5), build("log1p", excess))
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
    """The roots of `1 - z` and `1 + z`; the sign of an imaginary part of 0 says on which side of a branch cut they are."""
    a, b = parts(z)
    one = full_like_tracer(a, 1)
    return build("sqrt", joined(build("sub", one, a), build("neg", b))), build("sqrt", joined(build("add", one, a), b))


def arcsin(z: Tracer, asinh: Real) -> Tracer:
    return over_i(arcsinh(times_i(z), asinh))


def arccos(z: Tracer, asinh: Real) -> Tracer:
    low, high = _roots(z)
    angle = build("atan2", build("real", low), build("real", high))
    im = asinh(build("imag", build("mul", conjugate(high), low)))
    re = build("mul", full_like_tracer(angle, 2), angle)

    def limits(a: Tracer, b: Tracer) -> tuple[Tracer, Tracer]:
        return _angle(build("abs", b), a), build("neg", _with_sign(_infinite(a, b), b))

    return _with_limits(z, re, im, limits)


def arcsinh(z: Tracer, asinh: Real) -> Tracer:
    w = times_i(z)
    low, high = _roots(w)
    re = build("neg", asinh(build("imag", build("mul", conjugate(low), high))))
    im = build("atan2", build("real", w), build("real", build("mul", low, high)))
    # asinh(z) is -i asin(iz): both parts of asin(iz) are odd
    re, im = build("neg", re), build("neg", im)

    def limits(a: Tracer, b: Tracer) -> tuple[Tracer, Tracer]:
        zero = build("cmp", b, full_like_tracer(b, 0), predicate="eq")
        return _with_sign(_infinite(a, b), a), build("select", zero, b, build("atan2", b, build("abs", a)))

    return _with_limits(z, re, im, limits)


def arccosh(z: Tracer, asinh: Real) -> Tracer:
    a, b = parts(z)
    one = full_like_tracer(a, 1)
    low, high = build("sqrt", joined(build("sub", a, one), b)), build("sqrt", joined(build("add", a, one), b))
    angle = build("atan2", build("imag", low), build("real", high))
    re = asinh(build("real", build("mul", conjugate(low), high)))

    def limits(a: Tracer, b: Tracer) -> tuple[Tracer, Tracer]:
        return _infinite(a, b), _angle(b, a)

    return _with_limits(z, re, build("mul", full_like_tracer(angle, 2), angle), limits)


def arctanh(z: Tracer) -> Tracer:
    a, b = parts(z)
    one, size = full_like_tracer(a, 1), build("abs", a)
    near = build("sub", one, size)
    distance = magnitude(joined(near, b))  # from 1, as both parts are odd
    ratio = build("div", build("div", build("mul", full_like_tracer(a, 4), size), distance), distance)
    quarter, half = full_like_tracer(a, 0.25), full_like_tracer(a, 0.5)
    # so close to 1 the ratio would overflow, and 1 is nothing beside it
    logs = (build("log", x) for x in (build("mul", full_like_tracer(a, 4), size), distance))
    close = build("sub", *(build("mul", factor, log) for factor, log in zip((quarter, half), logs, strict=True)))
    at_pole = build("cmp", distance, full_like_tracer(a, 1e-9), predicate="lt")
    re = _with_sign(build("select", at_pole, close, build("mul", quarter, build("log1p", ratio))), a)
    across = build("sub", build("mul", near, build("add", one, size)), build("mul", b, b))
    im = build("mul", half, build("atan2", build("add", b, b), across))

    def limits(a: Tracer, b: Tracer) -> tuple[Tracer, Tracer]:
        infinite = _is_infinite(a, b)
        zero = build("cmp", a, full_like_tracer(a, 0), predicate="eq")
        none = build("select", build("or", infinite, zero), full_like_tracer(a, 0), full_like_tracer(a, math.nan))
        there = build("and", infinite, build("cmp", b, b, predicate="eq"))
        return _with_sign(none, a), _with_sign(
            build("select", there, full_like_tracer(b, math.pi / 2), full_like_tracer(b, math.nan)), b
        )

    return _with_limits(z, re, im, limits)


# Inverse functions of infinities and NaN, as C99 has them (annex G.6)


def _with_limits(z: Tracer, re: Tracer, im: Tracer, limits: Callable[[Tracer, Tracer], tuple[Tracer, Tracer]]) -> Tracer:
    """Parts computed by a formula where both parts of `z` are finite, elsewhere those of `limits`."""
    a, b = parts(z)
    finite = build("and", *(build("cmp", build("sub", x, x), full_like_tracer(x, 0), predicate="eq") for x in (a, b)))
    far_re, far_im = limits(a, b)
    return joined(build("select", finite, re, far_re), build("select", finite, im, far_im))


def _is_infinite(a: Tracer, b: Tracer) -> Tracer:
    """Whether a part is infinite."""
    return build("or", *(build("cmp", build("abs", x), full_like_tracer(x, math.inf), predicate="eq") for x in (a, b)))


def _infinite(a: Tracer, b: Tracer) -> Tracer:
    """Infinity where a part is, else NaN."""
    return build("select", _is_infinite(a, b), full_like_tracer(a, math.inf), full_like_tracer(a, math.nan))


def _with_sign(size: Tracer, x: Tracer) -> Tracer:
    """A size of its own sign, or of the opposite one where `x` is negative or -0."""
    below = build("cmp", build("atan2", x, full_like_tracer(x, -1)), full_like_tracer(x, 0), predicate="lt")
    return build("select", below, build("neg", size), size)


def _angle(b: Tracer, a: Tracer) -> Tracer:
    """The angle of `a + ib`; a right one where `b` is NaN and `a` is 0."""
    upright = build("and", build("cmp", a, full_like_tracer(a, 0), predicate="eq"), build("cmp", b, b, predicate="ne"))
    return build("select", upright, full_like_tracer(a, math.pi / 2), build("atan2", b, a))


def arctan(z: Tracer) -> Tracer:
    return over_i(arctanh(times_i(z)))


def scale(z: Tracer, factor: float, weak: bool = False) -> Tracer:
    """The product by a real number: a complex one would make NaN of infinities."""
    re, im = (build("mul", part, full_like_tracer(part, factor)) for part in parts(z))
    return joined(re, im, weak)


def exp2(z: Tracer) -> Tracer:
    return build("exp", scale(z, math.log(2)))


def compare(predicate: str, x: Tracer, y: Tracer) -> Tracer:
    """Complex numbers in NumPy's order: by the real part, then by the imaginary one; false where any part is NaN."""
    (a, b), (c, d) = parts(x), parts(y)
    ordered = build("and", build("cmp", b, b, predicate="eq"), build("cmp", d, d, predicate="eq"))
    first = build("and", ordered, build("cmp", a, c, predicate=predicate[:1] + "t"))
    second = build("and", build("cmp", a, c, predicate="eq"), build("cmp", b, d, predicate=predicate))
    return build("or", first, second)


def maximum(x: Tracer, y: Tracer) -> Tracer:
    """The greater one of two; the first one of those that are NaN."""
    return _the_first_where(compare("ge", x, y), x, y, x)


def minimum(x: Tracer, y: Tracer) -> Tracer:
    """The lesser one of two; the first one of those that are NaN."""
    return _the_first_where(compare("le", x, y), x, y, x)


def fmax(x: Tracer, y: Tracer) -> Tracer:
    """The greater one of two, NaN only where both are."""
    return _the_first_where(compare("ge", x, y), x, y, y)


def fmin(x: Tracer, y: Tracer) -> Tracer:
    """The lesser one of two, NaN only where both are."""
    return _the_first_where(compare("le", x, y), x, y, y)


def _the_first_where(is_first: Tracer, x: Tracer, y: Tracer, unordered: Tracer) -> Tracer:
    """`x` where `is_first` holds or `unordered`, which is one of the two, is NaN; otherwise `y`."""
    return build("select", build("or", build("cmp", unordered, unordered, predicate="ne"), is_first), x, y)

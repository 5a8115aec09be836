"""atan, atan2: one quotient, one odd polynomial.

`|y|` and `|x|` are divided smaller by larger; if the ratio exceeds 1/2 the angle is measured from pi / 4 instead, by
`(small - large) / (small + large)`, whose numerator is exact (Sterbenz). So the polynomial needs only `|t| <= 1/2`, and the
octant adds a multiple of pi / 4, in two parts.
"""

from __future__ import annotations

from ....codegen.text import Builder, Ty
from .common import copysign, fabs, horner, writer

# atan(t) = t + t^3 p(t^2), |t| <= 1/2
_ATAN = {
    "float": (
        -0.333333283662796,
        0.19999556243419647,
        -0.14273148775100708,
        0.10948808491230011,
        -0.08010651916265488,
        0.03906446695327759,
    ),
    "double": (
        -0.3333333333333333,
        0.1999999999999934,
        -0.1428571428563189,
        0.1111111110590027,
        -0.09090908895142921,
        0.0769230291919012,
        -0.066665869757187,
        0.058814110057659984,
        -0.05255120327858014,
        0.047119463964046246,
        -0.041216848731426815,
        0.03261009349503691,
        -0.019877792305752068,
        0.0066022992160372235,
    ),
}
# pi / 4: so short that three times the first part is exact, then the rest
_QUARTER_PI = {
    "float": (0.785398006439209, 1.5695823932524066e-07),
    "double": (0.7853981633974483, 3.061616997868383e-17),
}
_LARGE = {"float": 2.0**126, "double": 2.0**1022}


@writer
def atan(b: Builder, x: str, ty: Ty) -> str:
    """Arc tangent, within pi / 2 of 0."""
    magnitude, one = fabs(b, x, ty), b.const(1.0, ty)
    swap = b.fcmp("ogt", magnitude, one, ty)
    small, large = b.select(swap, one, magnitude, ty), b.select(swap, magnitude, one, ty)
    return copysign(b, _angle(b, small, large, swap, None, ty), x, ty)


@writer
def atan2(b: Builder, y: str, x: str, ty: Ty) -> str:
    """The angle of the point (x, y), within pi of 0; zeros and infinities as in C99 Annex F.9.1.4."""
    one, zero = b.const(1.0, ty), b.const(0.0, ty)
    along, across = fabs(b, x, ty), fabs(b, y, ty)
    swap = b.fcmp("ogt", across, along, ty)
    small, large = b.select(swap, along, across, ty), b.select(swap, across, along, ty)
    # the sum of the two must not overflow; where a quarter of the small one is denormal, the quotient vanishes anyway
    scale = b.select(b.fcmp("ogt", large, b.const(_LARGE[ty.elem], ty), ty), b.const(0.25, ty), one, ty)
    # two zeros or two infinities have no quotient: 0 / 1, 1 / 1
    same = b.fcmp("oeq", small, large, ty)
    ratio = b.select(b.fcmp("oeq", large, zero, ty), zero, one, ty)
    small = b.select(same, ratio, b.fmul(small, scale, ty), ty)
    large = b.select(same, one, b.fmul(large, scale, ty), ty)
    behind = b.icmp("slt", b.bitcast(x, ty, ty.int), b.const(0, ty.int), ty.int)
    return copysign(b, _angle(b, small, large, swap, behind, ty), y, ty)


def _angle(b: Builder, small: str, large: str, swap: str, behind: str | None, ty: Ty) -> str:
    """`atan(small / large)`, mirrored at pi / 4 where `swap` and then at pi / 2 where `behind`."""
    zero, one = b.const(0.0, ty), b.const(1.0, ty)
    steep = b.fcmp("ogt", b.fadd(small, small, ty), large, ty)
    numerator = b.select(steep, b.fsub(small, large, ty), small, ty)
    denominator = b.select(steep, b.fadd(small, large, ty), large, ty)
    t = b.fdiv(numerator, denominator, ty)
    square = b.fmul(t, t, ty)
    angle = b.fma(b.fmul(t, square, ty), horner(b, square, _ATAN[ty.elem], ty), t, ty)
    quarters = b.select(steep, one, zero, ty)
    for mirror, total in ((swap, 2.0), (behind, 4.0)):
        if mirror is not None:
            quarters = b.select(mirror, b.fsub(b.const(total, ty), quarters, ty), quarters, ty)
            angle = b.select(mirror, b.fneg(angle, ty), angle, ty)
    high, low = (b.const(part, ty) for part in _QUARTER_PI[ty.elem])
    return b.fma(quarters, high, b.fma(quarters, low, angle, ty), ty)

"""sqrt and rsqrt: the target's square root, which IEEE 754 requires to be correctly rounded."""

from __future__ import annotations

from ..text import Builder, Ty


def sqrt(b: Builder, x: str, ty: Ty) -> str:
    """Correctly rounded; -0 at -0, NaN below."""
    return b.intrinsic("sqrt", ty, x)


def rsqrt(b: Builder, x: str, ty: Ty) -> str:
    """`1 / sqrt(x)`, two roundings; -inf at -0."""
    return b.fdiv(b.const(1.0, ty), sqrt(b, x, ty), ty)

"""sqrt and rsqrt: the target's square root, which IEEE 754 requires to be correctly rounded."""

from __future__ import annotations

from ....codegen.text import Builder, Ty
from .common import writer

_LEAST = 2.0**-45
"""The greatest argument for which no step of `_by_products` leaves the range of normal numbers."""


@writer
def sqrt(b: Builder, x: str, ty: Ty) -> str:
    """Correctly rounded; -0 at -0, NaN below."""
    return b.intrinsic("sqrt", ty, x)


@writer
def rsqrt(b: Builder, x: str, ty: Ty) -> str:
    """`1 / sqrt(x)`, two roundings; -inf at -0."""
    return b.fdiv(b.const(1.0, ty), sqrt(b, x, ty), ty)


def may_share(b: Builder, ty: Ty) -> bool:
    """Whether `sqrt_shared` supports a type: vectors of f32 of several registers, with AVX-512."""
    return b.module.has_avx512 and ty.elem == "float" and ty.lanes >= 32 and ty.lanes & (ty.lanes - 1) == 0


def sqrt_shared(b: Builder, x: str, ty: Ty) -> str:
    """As `sqrt`, half of the lanes by multiplications: for loops bound by the divider. Ends the current block.

    For those, an estimate of `1 / sqrt(x)` of 14 bits, one step of Newton and Goldschmidt for `g = sqrt(x)` and
    `h = 1 / (2 sqrt(x))`, and `g + h (x - g^2)` with the remainder exact (Markstein, "IA-64 and elementary functions", ch. 9).
    That this rounds correctly has been tested for all `x` in [1, 4), from starts anywhere within 2^-14 of the root. Where a
    lane is 0, negative, tiny or not finite, the divider is used. One comparison detects all of these: at zeros and infinities
    `x` times the estimate is NaN.
    """
    half = ty.with_lanes(ty.lanes // 2)
    first, second = (b.slice(x, start, half.lanes, ty) for start in (0, half.lanes))
    divided = sqrt(b, first, half)
    multiplied, rare, join = (b.fresh_label(hint) for hint in ("multiplied", "rare", "root"))
    start = _estimate(b, second, half)
    rough = b.fmul(second, start, half)
    b.cond_br(b.any(b.fcmp("ult", rough, b.const(_LEAST, half), half), half), rare, multiplied)
    b.label(multiplied)
    common = _by_products(b, second, start, rough, half)
    b.br(join)
    b.label(rare)
    exact = sqrt(b, second, half)
    b.br(join)
    b.label(join)
    return b.joined([divided, b.phi(half, (common, multiplied), (exact, rare))], half)


def _by_products(b: Builder, x: str, start: str, g: str, ty: Ty) -> str:
    """The root of `x` from an estimate `start` of its reciprocal and `g = x start`."""
    half = b.const(0.5, ty)
    h = b.fmul(half, start, ty)
    error = b.fma(b.fneg(g, ty), h, half, ty)
    g, h = b.fma(g, error, g, ty), b.fma(h, error, h, ty)
    return b.fma(b.fma(b.fneg(g, ty), g, x, ty), h, g, ty)


def _estimate(b: Builder, x: str, ty: Ty) -> str:
    """`1 / sqrt(x)` with an error of at most 2^-14 of it, register by register."""
    native = ty.with_lanes(16)
    callee = b.module.declare("llvm.x86.avx512.rsqrt14.ps.512", native, (native, native, "i16"))
    pieces = [b.slice(x, start, 16, ty) for start in range(0, ty.lanes, 16)]
    return b.joined([b.call(callee, native, (native, p), (native, "zeroinitializer"), ("i16", "-1")) for p in pieces], native)

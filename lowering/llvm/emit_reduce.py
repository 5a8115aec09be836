"""Combining values by a monoid: in loops, and across the lanes of a vector in a fixed tree."""

from __future__ import annotations

from ...dialects.loop.memory import ReduceLanesOp
from ...dialects.loop.structure import PAIR_MONOIDS
from .emit_core import Effect, FunctionEmitter
from .emit_scalar import float_limit
from .text import Builder, Ty

_FLOAT = {"add": "fadd", "mul": "fmul"}
_INTEGER = {"add": "add", "mul": "mul", "and": "and", "or": "or"}
_BOOL = {"add": "or", "mul": "and", "max": "or", "min": "and", "and": "and", "or": "or"}


def combine(b: Builder, monoid: str, acc: str, x: str, ty: Ty) -> str:
    """`acc` and then `x` by `add mul max min and or`, as NumPy reduces floats, integers and booleans."""
    if ty.elem == "i1":
        return b.binary(_BOOL[monoid], acc, x, ty)
    if monoid in ("max", "min"):
        if ty.is_float:
            return float_limit(b, "maximum" if monoid == "max" else "minimum", x, acc, ty)
        return b.intrinsic("s" + monoid, ty, acc, x)
    return b.binary((_FLOAT if ty.is_float else _INTEGER)[monoid], acc, x, ty)


def combine_pairs(
    b: Builder, monoid: str, acc: tuple[str, str], x: tuple[str, str], ty: Ty, of_index: Ty, later: bool = False
) -> tuple[str, str]:
    """(value, index) pairs by `argmax` or `argmin` as NumPy has them: the first NaN wins, else the first extreme.

    "First" is the smaller index, so the answer does not depend on the order in which pairs are combined. With `later`, that of
    x is known not to be smaller.
    """
    (a, at_a), (c, at_c) = acc, x
    above = monoid == "argmax"
    if later:
        if ty.is_float:
            take = b.and_(b.fcmp("ugt" if above else "ult", c, a, ty), b.fcmp("ord", a, a, ty), ty.bool)
        else:
            signed = ("ugt" if above else "ult") if ty.elem == "i1" else ("sgt" if above else "slt")
            take = b.icmp(signed, c, a, ty)
        return b.select(take, c, a, ty), b.select(take, at_c, at_a, of_index)
    earlier = b.icmp("slt", at_c, at_a, of_index)
    if ty.is_float:
        # an accumulated NaN yields only to an earlier NaN; a fresh one compares as better through `unordered or`
        fresh_nan, old_nan = b.fcmp("uno", c, c, ty), b.fcmp("uno", a, a, ty)
        better = b.fcmp("ugt" if above else "ult", c, a, ty)
        better = b.select(old_nan, b.const(0, ty.bool), better, ty.bool)
        equal = b.or_(b.fcmp("oeq", c, a, ty), b.and_(fresh_nan, old_nan, ty.bool), ty.bool)
    else:
        signed = ("ugt" if above else "ult") if ty.elem == "i1" else ("sgt" if above else "slt")
        better, equal = b.icmp(signed, c, a, ty), b.icmp("eq", c, a, ty)
    take = b.or_(better, b.and_(equal, earlier, ty.bool), ty.bool)
    return b.select(take, c, a, ty), b.select(take, at_c, at_a, of_index)


def reduce_lanes(e: FunctionEmitter, op: ReduceLanesOp) -> None:
    """Lane `l` with lane `l + lanes / 2`, and so on down to one."""
    b, monoid = e.b, op.monoid.data
    values = [e.value(v, op) for v in op.vectors]
    types = [e.ty(v.type, op) for v in op.vectors]
    while types[0].lanes > 1:
        half = types[0].lanes // 2
        low = [_part(b, x, ty, 0, half) for x, ty in zip(values, types, strict=True)]
        high = [_part(b, x, ty, half, half) for x, ty in zip(values, types, strict=True)]
        types = [ty.with_lanes(half) for ty in types]
        if monoid in PAIR_MONOIDS:
            values = list(combine_pairs(b, monoid, (low[0], low[1]), (high[0], high[1]), types[0], types[1]))
        else:
            values = [combine(b, monoid, low[0], high[0], types[0])]
    for result, x in zip(op.results, values, strict=True):
        e.define(result, x)


def _part(b: Builder, x: str, ty: Ty, start: int, count: int) -> str:
    if count == 1:
        return b.extract(x, start, ty)
    mask = ", ".join([f"i32 {start + k}" for k in range(count)])
    return b.emit(f"shufflevector {ty} {x}, {ty} poison, <{count} x i32> <{mask}>")


EFFECTS: dict[str, Effect] = {"loop.reduce_lanes": reduce_lanes}

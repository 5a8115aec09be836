"""Combining values by a monoid: in loops, and across the lanes of a vector in a fixed tree."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...codegen.text import Builder, Ty
from ...dialects.loop.loops import PAIR_MONOIDS, ForOp
from ...dialects.loop.memory import ReduceLanesOp
from ...dialects.types import is_unsigned, scalar_of
from .emit_core import Effect, FunctionEmitter
from .emit_scalar import float_limit

_FLOAT = {"add": "fadd", "mul": "fmul"}
_INTEGER = {"add": "add", "mul": "mul", "and": "and", "or": "or"}
_BOOL = {"add": "or", "mul": "and", "max": "or", "min": "and", "and": "and", "or": "or"}


def combine(b: Builder, monoid: str, acc: str, x: str, ty: Ty, unsigned: bool = False) -> str:
    """`acc` combined with `x` by `add mul max min and or`, as NumPy reduces floats, integers and booleans."""
    if ty.elem == "i1":
        return b.binary(_BOOL[monoid], acc, x, ty)
    if monoid in ("max", "min"):
        if ty.is_float:
            return float_limit(b, "maximum" if monoid == "max" else "minimum", x, acc, ty)
        return b.intrinsic(("u" if unsigned else "s") + monoid, ty, acc, x)
    return b.binary((_FLOAT if ty.is_float else _INTEGER)[monoid], acc, x, ty)


class Extreme:
    """A running maximum or minimum that passes over NaNs, and mask registers of the lanes that met none.

    A vector then takes two instructions on AVX-512, where an extreme that keeps NaNs takes three. One comparison serves two
    vectors if only their lanes `together` matter.

    Attributes:
        types: the types of the masks, which are carried beside the extreme.
        ordered: the masks: first those at the start of an iteration, after `combine` those at its end.
    """

    def __init__(self, b: Builder, monoid: str, ty: Ty, register: Ty, together: bool):
        self.b, self.ty, self.register = b, ty, register
        self.better = "ogt" if monoid == "max" else "olt"
        self.every = 2 if together and ty.lanes > register.lanes else 1
        self.types = [register.bool] * (ty.lanes // register.lanes // self.every)
        self.ordered = [b.name() for _ in self.types]

    def combine(self, acc: str, x: str) -> str:
        """`acc` combined with `x`."""
        b, parts = self.b, self._parts(x)
        compared = zip(parts[:: self.every], parts[self.every - 1 :: self.every], strict=True)
        self.ordered = [
            b.and_(mask, b.fcmp("ord", u, v, self.register), self.register.bool)
            for mask, (u, v) in zip(self.ordered, compared, strict=True)
        ]
        return b.select(b.fcmp(self.better, x, acc, self.ty), x, acc, self.ty)

    def finish(self, acc: str, ordered: Sequence[str]) -> str:
        """The extreme, with the NaNs restored."""
        parts, nan = self._parts(acc), self.b.const(float("nan"), self.register)
        for k, mask in enumerate(ordered):
            parts[k * self.every] = self.b.select(mask, parts[k * self.every], nan, self.register)
        return self.b.joined(parts, self.register)

    def _parts(self, x: str) -> list[str]:
        return [self.b.slice(x, k, self.register.lanes, self.ty) for k in range(0, self.ty.lanes, self.register.lanes)]


def extremes(e: FunctionEmitter, op: ForOp) -> dict[int, Extreme]:
    """The results of a reduction that are best computed in this way, by their numbers."""
    target, found = e.module.target, dict[int, Extreme]()
    if op.monoid is None or op.monoid.data not in ("max", "min") or not target.has_avx512:
        return found
    for k, result in enumerate(op.results):
        ty = e.ty(result.type, op)
        register = ty.with_lanes(target.lanes(ty.bits))
        whole = ty.lanes >= register.lanes and ty.lanes & (ty.lanes - 1) == 0
        if ty.elem in ("float", "double") and whole:
            found[k] = Extreme(e.b, op.monoid.data, ty, register, meets(result, op.monoid.data))
    return found


def meets(value: SSAValue, monoid: str) -> bool:
    """Whether all lanes of a vector are reduced to one number, and it is used for nothing else."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, ForOp) and user.monoid is not None and user.monoid.data == monoid:
            k = use.index - (len(user.operands) - len(user.inits))
            if k >= 0 and meets(user.results[k], monoid):
                continue
        if not isinstance(user, ReduceLanesOp):
            return False
    return True


def combine_pairs(
    b: Builder,
    monoid: str,
    acc: tuple[str, str],
    x: tuple[str, str],
    ty: Ty,
    of_index: Ty,
    *,
    unsigned: bool = False,
    later: bool = False,
) -> tuple[str, str]:
    """(value, index) pairs by `argmax` or `argmin` as NumPy has them: the first NaN wins, else the first extreme.

    "First" is the smaller index, so the answer does not depend on the order in which pairs are combined. With `later`, the
    index of x is known not to be smaller.
    """
    (a, at_a), (c, at_c) = acc, x
    above = monoid == "argmax"
    predicate = ("u" if unsigned or ty.elem == "i1" else "s") + ("gt" if above else "lt")  # of integers
    if later:
        if ty.is_float:
            take = b.and_(b.fcmp("ugt" if above else "ult", c, a, ty), b.fcmp("ord", a, a, ty), ty.bool)
        else:
            take = b.icmp(predicate, c, a, ty)
        return b.select(take, c, a, ty), b.select(take, at_c, at_a, of_index)
    earlier = b.icmp("slt", at_c, at_a, of_index)
    if ty.is_float:
        # an accumulated NaN yields only to an earlier NaN; a fresh one compares as better through `unordered or`
        fresh_nan, old_nan = b.fcmp("uno", c, c, ty), b.fcmp("uno", a, a, ty)
        better = b.fcmp("ugt" if above else "ult", c, a, ty)
        better = b.select(old_nan, b.const(0, ty.bool), better, ty.bool)
        equal = b.or_(b.fcmp("oeq", c, a, ty), b.and_(fresh_nan, old_nan, ty.bool), ty.bool)
    else:
        better, equal = b.icmp(predicate, c, a, ty), b.icmp("eq", c, a, ty)
    take = b.or_(better, b.and_(equal, earlier, ty.bool), ty.bool)
    return b.select(take, c, a, ty), b.select(take, at_c, at_a, of_index)


def reduce_lanes(e: FunctionEmitter, op: ReduceLanesOp) -> None:
    """Combine lane `l` with lane `l + lanes / 2`, and so on down to one."""
    b, monoid = e.b, op.monoid.data
    values = [e.value(v, op) for v in op.vectors]
    types = [e.ty(v.type, op) for v in op.vectors]
    unsigned = is_unsigned(scalar_of(op.vectors[0].type))
    if types[0].elem == "i1" and _BOOL.get(monoid) == "or":
        e.define(op.results[0], b.any(values[0], types[0]))
        return
    if monoid in ("max", "min") and types[0].elem in ("float", "double") and types[0].lanes > 1 and e.module.target.has_avx512:
        e.define(op.results[0], _extreme_lane(b, monoid, values[0], types[0]))
        return
    while types[0].lanes > 1:
        half = types[0].lanes // 2
        low, high = ([_part(b, x, ty, at, half) for x, ty in zip(values, types, strict=True)] for at in (0, half))
        types = [ty.with_lanes(half) for ty in types]
        if monoid in PAIR_MONOIDS:
            values = list(combine_pairs(b, monoid, (low[0], low[1]), (high[0], high[1]), types[0], types[1], unsigned=unsigned))
        else:
            values = [combine(b, monoid, low[0], high[0], types[0], unsigned)]
    for result, x in zip(op.results, values, strict=True):
        e.define(result, x)


def _extreme_lane(b: Builder, monoid: str, x: str, ty: Ty) -> str:
    """The extreme of all lanes, a NaN if there is one: NaNs are tested separately, so that a step waits for one instruction."""
    better, nan = "ogt" if monoid == "max" else "olt", ""
    while ty.lanes > 1:
        half = ty.lanes // 2
        low, high = (_part(b, x, ty, at, half) for at in (0, half))
        ty = ty.with_lanes(half)
        nan = nan or b.any(b.fcmp("uno", low, high, ty), ty)
        x = b.select(b.fcmp(better, low, high, ty), low, high, ty)
    return b.select(nan, b.const(float("nan"), ty), x, ty)


def _part(b: Builder, x: str, ty: Ty, start: int, count: int) -> str:
    return b.extract(x, start, ty) if count == 1 else b.slice(x, start, count, ty)


EFFECTS: dict[str, Effect] = {"loop.reduce_lanes": reduce_lanes}

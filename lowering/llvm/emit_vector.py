"""`vector` ops: broadcasts, masks, lane numbers, shuffles. A vector of one lane is a scalar in LLVM's terms here."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import vector
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from ...codegen.text import I32, I64, Ty
from ...dialects.types import is_unsigned, scalar_of
from .emit_core import FunctionEmitter, Pure
from .emit_integer import is_number
from .emit_reduce import combine
from .emit_scalar import vector_literal
from .emit_types import fail

_KINDS = {
    "add": "add", "mul": "mul", "maxsi": "max", "minsi": "min", "maximumf": "max", "minimumf": "min", "and": "and", "or": "or",
}  # fmt: skip


def _broadcast(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    source = e.ty(op.operands[0].type, op)
    if source is ty:
        return xs[0]
    if source.lanes != 1:
        raise fail(op, f"cannot broadcast {op.operands[0].type} to {op.results[0].type}")
    x = xs[0]
    if x[0] != "%":
        return f"splat ({ty.elem} {x})"
    return e.b.splat(x, ty)


def _step(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    return vector_literal(list(range(ty.lanes)), ty)


def _create_mask(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    """Lane `l` is on when `l < n`."""
    b, (n,) = e.b, xs
    if is_number(n):
        return vector_literal([lane < int(n) for lane in range(ty.lanes)], ty)
    if ty.lanes == 1:
        return b.icmp("sgt", n, "0", I64)
    # compared as 32 bits, which vector units do well
    held = b.intrinsic("smin", I64, b.intrinsic("smax", I64, n, "0"), str(ty.lanes))
    words = I32.with_lanes(ty.lanes)
    every = b.splat(b.cast("trunc", held, I64, I32), words)
    return b.icmp("sgt", every, vector_literal(list(range(ty.lanes)), words), words)


def _position(op: Any, xs: list[str], skip: int) -> str:
    (static,) = op.static_position.get_values() or (None,)
    return xs[skip] if static == DYNAMIC_INDEX else str(static)


def _extract(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    source = e.ty(op.operands[0].type, op)
    if source.lanes == 1 or ty.lanes != 1:
        return xs[0]
    return e.b.extract(xs[0], _position(op, xs, 1), source)


def _insert(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    if ty.lanes == 1:
        return xs[0]
    return e.b.insert(xs[1], xs[0], _position(op, xs, 2), ty)


def _shuffle(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    assert isinstance(op, vector.ShuffleOp)
    source, other = [e.ty(v.type, op) for v in op.operands]
    if source is not other or source.lanes == 1 or ty.lanes == 1:
        raise fail(op, f"takes two vectors of the same number of lanes above 1, got {source} and {other}")
    mask = ", ".join([f"i32 {'poison' if k < 0 else k}" for k in op.mask.get_values()])
    return e.b.emit(f"shufflevector {source} {xs[0]}, {source} {xs[1]}, <{ty.lanes} x i32> <{mask}>")


def _fma(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    return e.b.fma(xs[0], xs[1], xs[2], ty)


def _bitcast(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    source = e.ty(op.operands[0].type, op)
    return xs[0] if source is ty else e.b.bitcast(xs[0], source, ty)


def _reduction(e: FunctionEmitter, op: Operation, xs: list[str], ty: Ty) -> str:
    """Upstream leaves the order open: the fixed tree of `loop.reduce_lanes`, then the accumulator."""
    kind: Any = op.properties["kind"]
    monoid = _KINDS.get(kind.data.value)
    if monoid is None:
        raise fail(op, f"has no reduction by {kind.data.value}")
    if kind.data.value in ("maxsi", "minsi") and is_unsigned(scalar_of(op.operands[0].type)):
        raise fail(op, f"reduces by {kind.data.value}, which is of signed integers, got {op.operands[0].type}")
    b, x = e.b, xs[0]
    source = e.ty(op.operands[0].type, op)
    if source.lanes & (source.lanes - 1):
        raise fail(op, f"reduces 2^k lanes, got {source.lanes}")
    while source.lanes > 1:
        half = source.with_lanes(source.lanes // 2)
        parts = []
        for start in (0, half.lanes):
            mask = ", ".join([f"i32 {start + k}" for k in range(half.lanes)])
            parts.append(
                b.extract(x, start, source)
                if half.lanes == 1
                else b.emit(f"shufflevector {source} {x}, {source} poison, <{half.lanes} x i32> <{mask}>")
            )
        x, source = combine(b, monoid, parts[0], parts[1], half), half
    return combine(b, monoid, xs[1], x, ty) if len(xs) > 1 else x


PURE: dict[str, Pure] = {
    "vector.broadcast": _broadcast,
    "vector.step": _step,
    "vector.create_mask": _create_mask,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shuffle": _shuffle,
    "vector.fma": _fma,
    "vector.bitcast": _bitcast,
    "vector.reduction": _reduction,
}

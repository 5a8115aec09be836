"""Rules of the ops that move elements: identities, views of views, and movement commuted with broadcasts."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from ..sizes.polynomial import is_at_most
from ..types import DYNAMIC, element_of, shape_of
from .base import ints
from .builder import GraphBuilder
from .rules import made_by, rule, splat


def _row(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """A tensor<3xf32> for the examples."""
    return b.reduce(x, kind="max", dims=(0,))


def _repeated(value: SSAValue) -> Any:
    """The broadcast of a scalar that makes a value, or None."""
    inner = made_by(value, "broadcast")
    return inner if inner and not shape_of(inner.x) else None


# --------------------------------------------------------------------------------------------------------------------
# reshape


@rule("reshape", "reshape(x) -> x, to its own shape", lambda b, x, y, i, j: b.reshape(x, (2, 3)))
def reshape_to_same(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.x if op.x.type == op.y.type else None


@rule("reshape", "reshape(reshape(x)) -> reshape(x)", lambda b, x, y, i, j: b.reshape(b.reshape(x, (6,)), (3, 2)))
def reshape_of_reshape(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "reshape")
    return b.reshape(inner.x, shape_of(op.y)) if inner else None


@rule(
    ("reshape", "transpose", "reverse", "slice"),
    "f(broadcast(scalar)) -> broadcast(scalar), f one of reshape, transpose, reverse, slice",
    lambda b, x, y, i, j: b.reshape(b.full_like(x, 2), (6,)),
)
def move_of_repeated(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = _repeated(op.x)
    if not inner:
        return None
    return b.broadcast(inner.x, (), shape_of(op.y)) if shape_of(op.y) else inner.x


@rule(
    "reshape",
    "reshape(broadcast(x)) -> broadcast(x), the reshape adding or dropping dims of size 1 that x lacks",
    lambda b, x, y, i, j: b.reshape(b.broadcast(_row(b, x), (1,), (2, 3)), (2, 1, 3)),
)
def reshape_of_broadcast(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "broadcast")
    if not inner:
        return None
    old, new = shape_of(op.x), shape_of(op.y)
    dims = ints(inner.dims)
    if any(old[d] == 1 for d in dims):
        return None
    kept_old, kept_new = [d for d, n in enumerate(old) if n != 1], [d for d, n in enumerate(new) if n != 1]
    if [old[d] for d in kept_old] != [new[d] for d in kept_new]:
        return None
    place = dict(zip(kept_old, kept_new, strict=True))
    return b.broadcast(inner.x, tuple(place[d] for d in dims), new)


# --------------------------------------------------------------------------------------------------------------------
# transpose


@rule("transpose", "transpose(x) by the identity -> x", lambda b, x, y, i, j: b.transpose(x, perm=(0, 1)))
def transpose_of_nothing(op: Any, b: GraphBuilder) -> SSAValue | None:
    perm = ints(op.perm)
    return op.x if perm == tuple(range(len(perm))) else None


@rule(
    "transpose",
    "transpose(transpose(x, p), q) -> transpose(x, p[q])",
    lambda b, x, y, i, j: b.transpose(b.transpose(x, perm=(1, 0)), perm=(1, 0)),
)
def transpose_of_transpose(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "transpose")
    if not inner:
        return None
    first = ints(inner.perm)
    return b.transpose(inner.x, perm=tuple(first[q] for q in ints(op.perm)))


@rule(
    "transpose",
    "transpose(broadcast(x)) -> broadcast(transpose(x)), x having fewer elements",
    lambda b, x, y, i, j: b.transpose(b.broadcast(_row(b, x), (1,), (2, 3)), perm=(1, 0)),
)
def transpose_of_broadcast(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "broadcast")
    if not inner:
        return None
    perm, dims = ints(op.perm), ints(inner.dims)
    order = [dims.index(p) for p in perm if p in dims]
    x = inner.x if order == sorted(order) else b.transpose(inner.x, perm=tuple(order))
    return b.broadcast(x, tuple(d for d, p in enumerate(perm) if p in dims), shape_of(op.y))


@rule(
    "transpose",
    "transpose(x) -> reshape(x), where it moves only dims of size 1",
    lambda b, x, y, i, j: b.transpose(b.reshape(x, (2, 1, 3)), perm=(0, 2, 1)),
)
def transpose_of_unit_dims(op: Any, b: GraphBuilder) -> SSAValue | None:
    moved = [p for p in ints(op.perm) if shape_of(op.x)[p] != 1]
    return b.reshape(op.x, shape_of(op.y)) if moved == sorted(moved) else None


# --------------------------------------------------------------------------------------------------------------------
# broadcast


@rule("broadcast", "broadcast(x) -> x, to its own shape", lambda b, x, y, i, j: b.broadcast(x, (0, 1), (2, 3)))
def broadcast_to_same(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.x if op.x.type == op.y.type else None


@rule(
    "broadcast",
    "broadcast(broadcast(x, p), q) -> broadcast(x, q[p])",
    lambda b, x, y, i, j: b.broadcast(b.broadcast(_row(b, x), (1,), (2, 3)), (0, 2), (2, 4, 3)),
)
def broadcast_of_broadcast(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "broadcast")
    if not inner:
        return None
    outer = ints(op.dims)
    return b.broadcast(inner.x, tuple(outer[d] for d in ints(inner.dims)), shape_of(op.y))


@rule(
    "broadcast",
    "broadcast(reshape(x)) -> broadcast(x), the reshape adding dims of size 1",
    lambda b, x, y, i, j: b.broadcast(b.reshape(_row(b, x), (1, 3)), (0, 1), (2, 3)),
)
def broadcast_of_unit_dims(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "reshape")
    if not inner:
        return None
    x, dims = inner.x, ints(op.dims)
    kept = [d for d, n in enumerate(shape_of(op.x)) if n != 1]
    if shape_of(x) != tuple(shape_of(op.x)[d] for d in kept):
        return None  # the squeezed x has no dims of size 1: its dims are the kept ones
    return b.broadcast(x, tuple(dims[d] for d in kept), shape_of(op.y))


# --------------------------------------------------------------------------------------------------------------------
# slice, reverse, concat, pad


@rule("slice", "slice(x) of everything -> x", lambda b, x, y, i, j: b.slice(x, start=(0, 0), stop=(2, 3), step=(1, 1)))
def slice_of_all(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.x if op.x.type == op.y.type else None


@rule(
    "slice",
    "slice(slice(x)) -> slice(x)",
    lambda b, x, y, i, j: b.slice(b.slice(x, start=(0, 1), stop=(2, 3), step=(1, 1)), start=(1, 0), stop=(2, 2), step=(1, 1)),
)
def slice_of_slice(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "slice")
    if not inner or 0 in shape_of(op.y):
        return None
    start, stop, step = [], [], []
    for a, s, c, e, d in zip(ints(inner.start), ints(inner.step), ints(op.start), shape_of(op.y), ints(op.step), strict=True):
        start.append(a + s * c)
        step.append(s * d)
        stop.append(start[-1] + (e - 1) * step[-1] + 1)
    return b.slice(inner.x, start=start, stop=stop, step=step)


@rule(
    "slice",
    "slice(concat(x, y)) -> slice(x), where it takes from one part only",
    lambda b, x, y, i, j: b.slice(b.concat(x, y, dim=0), start=(2, 0), stop=(4, 2), step=(1, 1)),
)
def slice_of_concat(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "concat")
    if not inner or 0 in shape_of(op.y):
        return None
    dim = inner.dim.value.data
    start, stop = list(ints(op.start)), list(ints(op.stop))
    first, last = start[dim], start[dim] + (shape_of(op.y)[dim] - 1) * ints(op.step)[dim]
    offset = 0
    for part in inner.operands:
        size = shape_of(part)[dim]
        if offset <= first and last < offset + size:
            start[dim], stop[dim] = first - offset, last - offset + 1
            return b.slice(part, start=start, stop=stop, step=op.step)
        offset += size
    return None


@rule(
    "reverse",
    "reverse(reverse(x)) -> reverse(x) along the dims that only one of them reverses; x where there are none",
    lambda b, x, y, i, j: b.reverse(b.reverse(x, dims=(0, 1)), dims=(1,)),
)
def reverse_of_reverse(op: Any, b: GraphBuilder) -> SSAValue | None:
    inner = made_by(op.x, "reverse")
    if not inner:
        return None
    dims = sorted({*ints(inner.dims)} ^ {*ints(op.dims)})
    return b.reverse(inner.x, dims=dims) if dims else inner.x


@rule("reverse", "reverse(x) -> x, along dims of size 1", lambda b, x, y, i, j: b.reverse(b.reshape(x, (1, 6)), dims=(0,)))
def reverse_of_unit_dims(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.x if all(shape_of(op.x)[d] == 1 for d in ints(op.dims)) else None


@rule("concat", "concat(x) -> x", lambda b, x, y, i, j: b.concat(x, dim=0))
def concat_of_one(op: Any, b: GraphBuilder) -> SSAValue | None:
    return op.operands[0] if len(op.operands) == 1 else None


def _padded(b: GraphBuilder, x: SSAValue, value: float, low: tuple[int, int], high: tuple[int, int]) -> SSAValue:
    return b.pad(x, b.const(value, element_of(x)), low=low, high=high, interior=(0, 0))


@rule("pad", "pad(x) by nothing -> x", lambda b, x, y, i, j: _padded(b, x, 1.0, (0, 0), (0, 0)))
def pad_of_nothing(op: Any, b: GraphBuilder) -> SSAValue | None:
    unpadded = all(n == 0 for n in (*ints(op.low), *ints(op.high), *ints(op.interior)))
    return op.x if unpadded else None


@rule(
    "pad",
    "pad(x) by negative amounts only -> slice(x)",
    lambda b, x, y, i, j: _padded(b, x, 1.0, (0, -1), (0, -1)),
)
def pad_that_cuts(op: Any, b: GraphBuilder) -> SSAValue | None:
    low, high = ints(op.low), ints(op.high)
    if any(ints(op.interior)) or not all(is_at_most(n, 0) for n in (*low, *high)) or {0, DYNAMIC} & {*shape_of(op.y)}:
        return None
    stop = tuple(n + last for n, last in zip(shape_of(op.x), high, strict=True))
    return b.slice(op.x, start=tuple(-n for n in low), stop=stop, step=(1,) * len(low))


@rule(
    "pad",
    "pad(broadcast(c), c) -> broadcast(c), c a known number",
    lambda b, x, y, i, j: _padded(b, b.full_like(x, 2.0), 2.0, (1, 0), (0, 2)),
)
def pad_by_the_same(op: Any, b: GraphBuilder) -> SSAValue | None:
    inside, outside = splat(op.x), splat(op.value)
    if inside is None or outside is None or inside.tobytes() != outside.tobytes():
        return None
    return b.full(inside, op.y.type)

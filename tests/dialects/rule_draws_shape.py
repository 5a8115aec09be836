"""Draws of the rules in `dialects/graph/rules_shape.py`: movement of movement, and what is close to it."""

from __future__ import annotations

import math
from typing import Any

from lamina.dialects.types import f32, i32
from rule_draws_elementwise import Draw, Drawn
from sketches import ANY, FILLED, STORED, Sketch, element_of, shape_of
from xdsl.ir import SSAValue

MOVED = (*ANY, *STORED)


def _value(d: Sketch, least: int = 0, sizes: Any = None) -> SSAValue:
    return d.arg(d.shape(least) if sizes is None else d.shape(least, sizes=sizes), d.one(MOVED))


def _spread(d: Sketch) -> SSAValue:
    """A broadcast."""
    small, dims, shape = d.stretched()
    return d.b.broadcast(d.arg(small, d.one(MOVED)), dims, shape)


def _other(d: Sketch, x: SSAValue) -> SSAValue:
    """The same type by an op that no rule of movement looks through."""
    return x if d.rarely(0.5) else d.b.stop_gradient(x) if element_of(x) not in STORED else x


# reshape


def reshape_to_same(d: Sketch, root: str) -> Drawn:
    x = _value(d)
    same = d.rarely(0.6)
    target = shape_of(x) if same else d.regrouped(shape_of(x))
    return d.b.reshape(x, target), target == shape_of(x)


def reshape_of_reshape(d: Sketch, root: str) -> Drawn:
    x = _value(d)
    twice = not d.rarely()
    y = d.b.reshape(x, d.regrouped(shape_of(x))) if twice else _other(d, x)
    return d.b.reshape(y, d.regrouped(shape_of(x))), twice


def move_of_repeated(d: Sketch, root: str) -> Drawn:
    element = d.one(MOVED)
    scalar = not d.rarely()
    shape = d.shape()
    if root == "reshape" and d.rarely(0.3):
        x = d.b.broadcast(d.arg((), element), (), (1,) * d.one((1, 2)))
        return d.b.reshape(x, ()), True
    x = (
        d.b.broadcast(d.arg((), element), (), shape)
        if scalar
        else d.b.broadcast(d.arg((1,) * bool(shape), element), (0,) * bool(shape), shape)
    )
    scalar = scalar or not shape
    if root == "reshape":
        return d.b.reshape(x, d.regrouped(shape)), scalar
    if root == "transpose":
        return d.b.transpose(x, perm=d.perm(len(shape))), scalar
    if root == "reverse":
        return d.b.reverse(x, dims=d.some(range(len(shape)))), scalar
    return d.b.slice(x, **d.sliced(shape)), scalar


def reshape_of_broadcast(d: Sketch, root: str) -> Drawn:
    if d.rarely(0.1):
        x = _value(d)
        return d.b.reshape(x, d.respelled(shape_of(x))), False
    y = _spread(d)
    old, dims = shape_of(y), [int(v) for v in y.owner.dims.get_values()]  # pyright: ignore
    new = d.respelled(old) if d.rarely(0.75) else d.regrouped(old)
    fires = all(old[k] != 1 for k in dims) and [n for n in old if n != 1] == [n for n in new if n != 1]
    return d.b.reshape(y, new), fires


# transpose


def transpose_of_nothing(d: Sketch, root: str) -> Drawn:
    x = _value(d)
    rank = len(shape_of(x))
    perm = tuple(range(rank)) if d.rarely(0.6) else d.perm(rank)
    return d.b.transpose(x, perm=perm), perm == tuple(range(rank))


def transpose_of_transpose(d: Sketch, root: str) -> Drawn:
    x = d.arg(d.shape(0, 4, (0, 1, 2, 3, 4, 5)), d.one(MOVED))
    rank, twice = len(shape_of(x)), not d.rarely(0.2)
    y = d.b.transpose(x, perm=d.perm(rank)) if twice else _other(d, x)
    return d.b.transpose(y, perm=d.perm(rank)), twice


def transpose_of_broadcast(d: Sketch, root: str) -> Drawn:
    spread = not d.rarely(0.15)
    x = _spread(d) if spread else _value(d)
    return d.b.transpose(x, perm=d.perm(len(shape_of(x)))), spread


def transpose_of_unit_dims(d: Sketch, root: str) -> Drawn:
    x = d.arg(d.shape(0, 4, (0, 1, 1, 1, 2, 3)), d.one(MOVED))
    perm = d.perm(len(shape_of(x)))
    moved = [p for p in perm if shape_of(x)[p] != 1]
    return d.b.transpose(x, perm=perm), moved == sorted(moved)


# broadcast


def _broadcast_of(d: Sketch, x: SSAValue, keep: bool = False) -> SSAValue:
    """A broadcast of a value to a random shape around its own."""
    shape, dims = [], []
    for n in shape_of(x):
        while not keep and d.rarely(0.3):
            shape.append(d.one((0, 1, 2, 3)))
        dims.append(len(shape))
        shape.append(d.one((1, 2, 3)) if n == 1 and not keep and d.rarely(0.6) else n)
    if not keep and d.rarely(0.3):
        shape.append(d.one((1, 2, 3)))
    return d.b.broadcast(x, dims, shape)


def broadcast_to_same(d: Sketch, root: str) -> Drawn:
    x = _value(d)
    y = _broadcast_of(d, x, keep=d.rarely(0.5))
    return y, shape_of(x) == shape_of(y)


def broadcast_of_broadcast(d: Sketch, root: str) -> Drawn:
    x = _value(d, sizes=(0, 1, 1, 2, 3))
    twice = not d.rarely(0.2)
    return _broadcast_of(d, _broadcast_of(d, x) if twice else _other(d, x)), twice


def broadcast_of_unit_dims(d: Sketch, root: str) -> Drawn:
    x = d.arg(d.shape(sizes=(0, 1, 2, 2, 3)), d.one(MOVED))
    reshaped = not d.rarely(0.15)
    y = d.b.reshape(x, d.respelled(shape_of(x)) if d.rarely(0.8) else d.regrouped(shape_of(x))) if reshaped else _other(d, x)
    added = tuple(n for n in shape_of(y) if n != 1) == shape_of(x)
    return _broadcast_of(d, y), reshaped and added


# slice, reverse, concat, pad


def slice_of_all(d: Sketch, root: str) -> Drawn:
    x = _value(d)
    shape = shape_of(x)
    props: Any = d.sliced(shape)
    if d.rarely(0.5):
        props = {"start": [0] * len(shape), "stop": shape, "step": [d.one((1, 2)) if n < 2 else 1 for n in shape]}
    y = d.b.slice(x, **props)
    return y, shape_of(y) == shape


def slice_of_slice(d: Sketch, root: str) -> Drawn:
    x = d.arg(d.shape(0, 2, (1, 8, 12, 17)) if d.rarely(0.85) else d.shape(), d.one(MOVED))
    twice = not d.rarely(0.15)
    y = d.b.slice(x, **d.sliced(shape_of(x))) if twice else _other(d, x)
    z = d.b.slice(y, **d.sliced(shape_of(y)))
    return z, twice and 0 not in shape_of(z)


def slice_of_concat(d: Sketch, root: str) -> Drawn:
    shape, element = list(d.shape(1, 3)), d.one(MOVED)
    dim = d.random.randrange(len(shape))
    sizes = [d.one((0, 1, 2, 3, 5)) for _ in range(d.one((1, 2, 3)))]
    parts = [d.arg([*shape[:dim], n, *shape[dim + 1 :]], element) for n in sizes]
    joined = not d.rarely(0.1)
    x = d.b.concat(*parts, dim=dim) if joined else parts[0]
    props = d.sliced(shape_of(x))
    y = d.b.slice(x, **props)
    first = props["start"][dim]
    last = first + (shape_of(y)[dim] - 1) * props["step"][dim]
    ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    within = any(end - n <= first and last < end for n, end in zip(sizes, ends, strict=True))
    return y, joined and 0 not in shape_of(y) and within


def reverse_of_reverse(d: Sketch, root: str) -> Drawn:
    x = _value(d)
    dims = range(len(shape_of(x)))
    twice = not d.rarely(0.2)
    y = d.b.reverse(x, dims=d.some(dims)) if twice else _other(d, x)
    same = twice and d.rarely(0.3)
    return d.b.reverse(y, dims=y.owner.dims if same else d.some(dims)), twice  # pyright: ignore


def reverse_of_unit_dims(d: Sketch, root: str) -> Drawn:
    x = d.arg(d.shape(sizes=(0, 1, 1, 1, 2, 3)), d.one(MOVED))
    dims = d.some(range(len(shape_of(x))))
    return d.b.reverse(x, dims=dims), all(shape_of(x)[k] == 1 for k in dims)


def concat_of_one(d: Sketch, root: str) -> Drawn:
    x = _value(d, 1)
    count = d.one((1, 1, 1, 2, 3))
    dim = d.random.randrange(len(shape_of(x)))
    return d.b.concat(*[x] * count, dim=dim), count == 1


def _pad(d: Sketch, x: SSAValue, value: SSAValue, amounts: Any, interior: Any) -> SSAValue | None:
    """A pad by drawn amounts, or None where it would leave less than nothing."""
    n = len(shape_of(x))
    low, high, inner = (
        [d.one(amounts) for _ in range(n)],
        [d.one(amounts) for _ in range(n)],
        [d.one(interior) for _ in range(n)],
    )
    sizes = [a + m + max(0, m - 1) * i + b for m, a, b, i in zip(shape_of(x), low, high, inner, strict=True)]
    return d.b.pad(x, value, low=low, high=high, interior=inner) if all(m >= 0 for m in sizes) else None


def _padded(d: Sketch, x: SSAValue, value: SSAValue, amounts: Any, interior: Any = (0,)) -> SSAValue:
    while (y := _pad(d, x, value, amounts, interior)) is None:
        pass
    return y


def _amounts(y: SSAValue) -> tuple[list[int], list[int]]:
    """Padding outside, and inside."""
    op: Any = y.owner
    low, high, interior = ([int(v) for v in values.get_values()] for values in (op.low, op.high, op.interior))
    return [*low, *high], interior


def pad_of_nothing(d: Sketch, root: str) -> Drawn:
    element = d.one(ANY)
    x = d.arg(d.shape(), element)
    rank = len(shape_of(x))
    rows = {name: [0] * rank for name in ("low", "high", "interior")}
    padded = bool(rank) and d.rarely(0.5)
    if padded:  # one number that is not 0
        rows[d.one([*rows])][d.random.randrange(rank)] = 1
    return d.b.pad(x, d.arg((), element), **rows), not padded


def pad_that_cuts(d: Sketch, root: str) -> Drawn:
    element = d.one(ANY)
    x = d.arg(d.shape(sizes=(0, 1, 3, 4, 6)), element)
    y = _padded(d, x, d.arg((), element), d.one(((0, -1, -2), (0, -1, -2), (0, -1, 1))), d.one(((0,), (0,), (0, 1))))
    outside, inside = _amounts(y)
    return y, not any(inside) and all(n <= 0 for n in outside) and 0 not in shape_of(y)


def pad_by_the_same(d: Sketch, root: str) -> Drawn:
    element = d.one((f32, *ANY))
    numbers = (0.0, -0.0, 1.0, math.nan) if element not in (i32, *ANY[2:]) else (0, 1)
    inside, outside = d.one(numbers), d.one(numbers)
    if d.rarely(0.5):
        outside = inside
    shape = d.shape(sizes=FILLED)
    x = d.number(inside, shape, element) if not d.rarely(0.1) else d.arg(shape, element)
    value = d.number(outside, (), element) if not d.rarely(0.1) else d.arg((), element)
    known = x.owner is not d.block and value.owner is not d.block
    same = str(inside) == str(outside)
    return _padded(d, x, value, (0, 1, 2, -1), (0, 0, 1)), known and same


DRAWS: dict[str, Draw] = {
    draw.__name__: draw
    for draw in (
        reshape_to_same,
        reshape_of_reshape,
        move_of_repeated,
        reshape_of_broadcast,
        transpose_of_nothing,
        transpose_of_transpose,
        transpose_of_broadcast,
        transpose_of_unit_dims,
        broadcast_to_same,
        broadcast_of_broadcast,
        broadcast_of_unit_dims,
        slice_of_all,
        slice_of_slice,
        slice_of_concat,
        reverse_of_reverse,
        reverse_of_unit_dims,
        concat_of_one,
        pad_of_nothing,
        pad_that_cuts,
        pad_by_the_same,
    )
}

"""`sort`: by the keys that its comparator compares, or, of any other comparator, by comparing all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...api import build, lift
from ...api.functions import vmap
from ...compat.jax.lax import namespace as lax
from ...library.numpy import namespace as lnp
from ...library.numpy.axes_and_shapes import reshape_tracer
from .arithmetic import total_order_key


def sort(site: Any, operands: Sequence[Any]) -> Any:
    """Elements along a dim in the order of the comparator, the same for all operands."""
    dim = site.get("dimension", -1) % max(operands[0].ndim, 1)
    if not operands[0].ndim or 0 in operands[0].shape:
        return list(operands)
    comparator = site.region(0)
    keys = _keys(comparator)
    if keys is None:
        order = _by_pairs(comparator, operands, dim)
        return [lnp.take_along_axis(x, order, dim) for x in operands]
    arrays = [_key_array(comparator, key, operands) for key in keys]
    if any(x.dtype.kind == "c" for x in operands):
        places = lax.broadcasted_iota(np.int64, operands[0].shape, dim)
        order = lax.sort((*arrays, places), dim, num_keys=len(arrays))[-1]
        return [lnp.take_along_axis(x, order, dim) for x in operands]
    found = lax.sort((*arrays, *operands), dim, num_keys=len(arrays))
    return list(found[len(arrays) :])


class _Key:
    """A key of a comparator: a value of the first element, the same of the second, and the direction.

    Attributes:
        value: the value in the comparator.
        descending: whether the greatest comes first.
        total: whether floats are in their total order.
    """

    def __init__(self, value: Any, descending: bool, total: bool) -> None:
        self.value, self.descending, self.total = value, descending, total


def _keys(comparator: Any) -> list[_Key] | None:
    """The keys of a comparator, the first one first; None if it is no lexicographic comparison."""
    block = comparator.block
    return _lexicographic(block.last_op.operands[0], block)


def _lexicographic(value: Any, block: Any) -> list[_Key] | None:
    op = value.owner
    name = getattr(op, "name", "")
    if name == "stablehlo.compare":
        key = _compared(op, block)
        return None if key is None else [key]
    if name == "stablehlo.or":
        for first, rest in (op.operands, reversed(op.operands)):
            if (found := _after(first, rest, block)) is not None:
                return found
    if name == "stablehlo.select":
        same, rest, first = op.operands
        return _joined(first, same, rest, block)
    return None


def _after(first: Any, rest: Any, block: Any) -> list[_Key] | None:
    """The keys of `a < b or (a == b and ...)`."""
    if getattr(rest.owner, "name", "") != "stablehlo.and":
        return None
    for same, inner in (rest.owner.operands, reversed(rest.owner.operands)):
        if (found := _joined(first, same, inner, block)) is not None:
            return found
    return None


def _joined(first: Any, same: Any, rest: Any, block: Any) -> list[_Key] | None:
    head, tail = _lexicographic(first, block), _lexicographic(rest, block)
    equal = same.owner
    if head is None or tail is None or len(head) != 1 or getattr(equal, "name", "") != "stablehlo.compare":
        return None
    if equal.get("comparison_direction") != "EQ":
        return None
    values = [_shape(v, block, False) for v in equal.operands]
    key = _shape(head[0].value, block, False)
    return [*head, *tail] if key in values else None


def _compared(op: Any, block: Any) -> _Key | None:
    direction = op.get("comparison_direction")
    if direction not in ("LT", "GT", "LE", "GE"):
        return None
    left, right = op.operands
    total = op.get("compare_type") == "TOTALORDER"
    if _shape(left, block, False) != _shape(right, block, True):
        return None
    sides = _sides(left, block)
    if len(sides) != 1:
        return None
    descending = (direction[0] == "G") != (sides == {1})
    return _Key(left if sides == {0} else right, descending, total)


def _sides(value: Any, block: Any) -> set[int]:
    """Which of the two elements a value is of: 0, 1, or both."""
    if value.owner is block:
        return {value.index % 2}
    if value.owner.parent is not block:
        return set()
    found: set[int] = set()
    for operand in value.owner.operands:
        found |= _sides(operand, block)
    return found


def _shape(value: Any, block: Any, swapped: bool) -> Any:
    """A value of the comparator as a tree that compares equal; `swapped` exchanges the two elements."""
    if value.owner is block:
        return ("argument", value.index ^ swapped)
    op = value.owner
    if op.parent is not block:
        return ("outer", id(value))
    operands = tuple(_shape(operand, block, swapped) for operand in op.operands)
    attributes = tuple(sorted((name, str(a)) for name, a in {**op.attributes, **op.properties}.items()))
    return (op.name, attributes, operands, op.results.index(value))


def _key_array(comparator: Any, key: _Key, operands: Sequence[Any]) -> Any:
    """The key of each element, ascending."""
    block, shape = comparator.block, operands[0].shape
    ops = _needed(key.value, block)

    def value(*elements: Any) -> Any:
        frame = comparator.frame.copy()
        for k, element in enumerate(elements):
            frame.values[block.args[2 * k]] = frame.values[block.args[2 * k + 1]] = element
        for op in ops:
            given = [frame.values[operand] for operand in op.operands]
            frame.values.update(zip(op.results, frame.module.evaluate(op, given, frame), strict=True))
        return frame.values[key.value]

    flat = [reshape_tracer(x, (x.size,)) for x in operands]
    found = lift(vmap(value)(*flat)) if ops else flat[key.value.index // 2]
    found = reshape_tracer(found, shape)
    if key.total and found.dtype.kind == "f":
        found = total_order_key(found)
    if not key.descending:
        return found
    if found.dtype.kind == "f":  # NaN, which come last, first
        found = total_order_key(lift(lnp.where(lnp.isnan(found), np.nan, found + 0.0)))
    return build("not", found)


def _needed(value: Any, block: Any) -> list[Any]:
    """The ops of a block that a value needs, in order."""
    wanted: set[Any] = set()
    pending = [value]
    while pending:
        owner = pending.pop().owner
        if owner is not block and owner.parent is block and owner not in wanted:
            wanted.add(owner)
            pending += owner.operands
    return [op for op in block.ops if op in wanted]


def _by_pairs(comparator: Any, operands: Sequence[Any], dim: int) -> Any:
    """Positions in order: before an element come those that the comparator says, and equal ones that stand before it."""
    rows = [lnp.moveaxis(x, dim, -1) for x in operands]
    n = rows[0].shape[-1]
    shape = (*rows[0].shape[:-1], n, n)
    pairs = []
    for x in rows:
        pairs += [lnp.broadcast_to(x[..., :, None], shape), lnp.broadcast_to(x[..., None, :], shape)]

    def less(*given: Any) -> Any:
        return comparator(*given)[0]

    flat = [lift(lnp.reshape(p, -1)) for p in pairs]
    before = lnp.reshape(vmap(less)(*flat), shape)  # element i before element j
    index = lnp.arange(n)
    earlier = index[:, None] < index[None, :]
    swapped = lnp.swapaxes(before, -1, -2)
    first = lnp.logical_or(before, lnp.logical_and(lnp.logical_not(swapped), earlier))
    rank = lnp.sum(lnp.asarray(first).astype(np.int64), -2)
    return lnp.moveaxis(lnp.argsort(rank, -1), -1, dim)

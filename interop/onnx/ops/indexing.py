"""Ops that read and write elements by index, sort, or search."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....compat.jax.lax import namespace as lax
from ....library.numpy import namespace as lnp
from ..errors import OnnxError
from ..nodes import Node, normalized, op
from ..values import dims, is_constant, known, lifted, namespace, operands, scalar, value_of
from .shapes import int_or_size


def from_front(indices: Any, n: Any) -> Any:
    """Indices counted from the front of a dim of size n."""
    if is_constant(indices) and known(n):
        return np.where(indices < 0, indices + n, indices)
    indices = lifted(indices)
    return lnp.where(indices < 0, indices + lnp.asarray(n, dtype=indices.dtype), indices)


@op("Gather")
def gather(node: Node, x: Any, indices: Any) -> Any:
    axis = normalized(node.get("axis", 0), x.ndim)
    if is_constant(x) and is_constant(indices):
        return np.take(x, np.asarray(indices, np.int64), axis)
    x = lifted(x)
    if is_constant(indices) and indices.ndim == 0:  # one element: a slice
        return x[(*[slice(None)] * axis, int_or_size(scalar(indices, "the index")))]
    return lnp.take(x, from_front(indices, x.shape[axis]), axis)


@op("GatherElements")
def gather_elements(node: Node, x: Any, indices: Any) -> Any:
    axis = normalized(node.get("axis", 0), x.ndim)
    index = _elements_index(indices, axis, x.shape[axis])
    return lifted(x)[index] if not is_constant(x) or not is_constant(indices) else x[tuple(map(np.asarray, index))]


def _elements_index(indices: Any, axis: int, n: Any) -> tuple[Any, ...]:
    """The index of each element of GatherElements and ScatterElements: its own, but along one axis."""
    shape = indices.shape
    own = [lnp.arange(m).reshape(tuple(-1 if i == d else 1 for i in range(len(shape)))) for d, m in enumerate(shape)]
    return tuple(lnp.asarray(from_front(indices, n)) if d == axis else own[d] for d in range(len(shape)))


@op("GatherND")
def gather_nd(node: Node, x: Any, indices: Any) -> Any:
    return lifted(x)[_nd_index(x, indices, node.get("batch_dims", 0))]


def _nd_index(x: Any, indices: Any, batch: int = 0) -> tuple[Any, ...]:
    """The index tuple of indices whose last dim holds one for each dim after those of the batch."""
    indices = lifted(indices)
    depth = indices.shape[-1]
    rank = indices.ndim - 1
    own = [lnp.arange(indices.shape[d]).reshape(tuple(-1 if i == d else 1 for i in range(rank))) for d in range(batch)]
    return (*own, *[from_front(indices[..., i], x.shape[batch + i]) for i in range(depth)])


_WRITES = {"none": "set", "add": "add", "mul": "multiply", "min": "min", "max": "max"}


def _written(node: Node, x: Any, index: Any, updates: Any) -> Any:
    at = lnp.asarray(lifted(x)).at[index]
    how = node.get("reduction", "none")
    if how not in _WRITES:
        raise OnnxError(f"reduction {how!r} is none of {', '.join(_WRITES)}")
    return getattr(at, _WRITES[how])(lnp.asarray(lifted(updates)))


@op("ScatterElements", "Scatter")
def scatter_elements(node: Node, x: Any, indices: Any, updates: Any) -> Any:
    axis = normalized(node.get("axis", 0), x.ndim)
    return _written(node, x, _elements_index(indices, axis, x.shape[axis]), updates)


@op("ScatterND")
def scatter_nd(node: Node, x: Any, indices: Any, updates: Any) -> Any:
    return _written(node, x, _nd_index(x, indices), updates)


@op("TensorScatter")
def tensor_scatter(node: Node, past: Any, update: Any, write: Any = None) -> Any:
    """A cache with new entries at an offset of each sequence; a circular one wraps around."""
    axis = normalized(node.get("axis", -2), past.ndim)
    n, length, batch = past.shape[axis], update.shape[axis], past.shape[0]
    first = lnp.zeros((batch,), dtype=np.int64) if write is None else lnp.asarray(write)
    position = first[:, None] + lnp.arange(length)
    if node.get("mode", "linear") == "circular":
        position = position % n
    cache, new = lnp.moveaxis(past, axis, 1), lnp.moveaxis(update, axis, 1)
    return lnp.moveaxis(cache.at[lnp.arange(batch)[:, None], position].set(new), 1, axis)


@op("OneHot")
def one_hot(node: Node, indices: Any, depth: Any, values: Any) -> Any:
    n = int_or_size(scalar(depth, "the depth"))
    indices, values = lifted(indices), lifted(values)
    axis = normalized(node.get("axis", -1), indices.ndim + 1)
    wanted = from_front(lnp.asarray(indices), n)
    hot = lnp.expand_dims(wanted, axis) == lnp.arange(n).reshape(
        tuple(-1 if d == axis else 1 for d in range(indices.ndim + 1))
    ).astype(wanted.dtype)
    return lnp.where(hot, values[1], values[0])


def _arg(name: str) -> Any:
    def compute(node: Node, x: Any) -> Any:
        xp, x = operands(x)
        axis = normalized(node.get("axis", 0), x.ndim)
        if node.get("select_last_index", 0):
            found = x.shape[axis] - 1 - getattr(xp, name)(xp.flip(x, axis), axis=axis, keepdims=True)
        else:
            found = getattr(xp, name)(x, axis=axis, keepdims=True)
        found = found if node.get("keepdims", 1) else xp.squeeze(found, axis)
        return found.astype(np.int64)

    return compute


op("ArgMax")(_arg("argmax"))
op("ArgMin")(_arg("argmin"))


@op("TopK")
def top_k(node: Node, x: Any, k: Any = None) -> Any:
    """The largest or smallest elements along an axis, sorted, and their indices; among equal ones the first."""
    xp, x = operands(x)
    count = int_or_size(node.need("k") if k is None else scalar(k, "k"))
    axis = normalized(node.get("axis", -1), x.ndim)
    n = x.shape[axis]
    if known(n, count) and not 0 <= count <= n:
        raise OnnxError(f"{count} elements of a dim of size {n}")
    if node.get("largest", 1) and axis == x.ndim - 1 and not is_constant(x):
        values, indices = lax.top_k(x, count)
        return values, indices.astype(np.int64)
    if node.get("largest", 1):
        order = n - 1 - xp.flip(xp.argsort(xp.flip(x, axis), axis=axis, stable=True), axis)
    else:
        order = xp.argsort(x, axis=axis, stable=True)
    order = order[(*[slice(None)] * axis, slice(0, count))]
    return xp.take_along_axis(x, order, axis), order.astype(np.int64)


@op("NonZero")
def nonzero(node: Node, x: Any) -> Any:
    return np.stack(np.nonzero(np.atleast_1d(value_of(x, "the array")))).astype(np.int64)


@op("Compress")
def compress(node: Node, x: Any, condition: Any) -> Any:
    index = np.nonzero(np.asarray(dims(condition, "the condition"), bool))[0]
    if "axis" not in node.attributes:
        return namespace(x).take(x.reshape((-1,)), index, 0)
    return namespace(x).take(x, index, normalized(node.get("axis"), x.ndim))


@op("Unique")
def unique(node: Node, x: Any) -> Any:
    axis = node.get("axis", None)
    values, first, inverse, counts = np.unique(
        value_of(x, "the array"), return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not node.get("sorted", 1):
        order = np.argsort(first)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        values, first, counts, inverse = np.take(values, order, axis or 0), first[order], counts[order], place[inverse]
    return values, first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)


@op("ReverseSequence")
def reverse_sequence(node: Node, x: Any, lengths: Any) -> Any:
    """The first elements along the axis of time reversed, as many as each entry of the batch has."""
    batch, time = node.get("batch_axis", 1), node.get("time_axis", 0)
    moved = lnp.moveaxis(x, (batch, time), (0, 1))
    steps = lnp.arange(moved.shape[1])[None, :]
    lengths = lnp.asarray(lengths)[:, None]
    index = lnp.where(steps < lengths, lengths - 1 - steps, steps)
    return lnp.moveaxis(moved[lnp.arange(moved.shape[0])[:, None], index], (0, 1), (batch, time))


def _cumulative(name: str, start: int) -> Any:
    def compute(node: Node, x: Any, axis: Any) -> Any:
        d = normalized(int(scalar(axis, "the axis")), x.ndim)
        xp = namespace(x)
        x = xp.flip(x, d) if node.get("reverse", 0) else x
        if node.get("exclusive", 0):
            first = xp.full_like(x[(*[slice(None)] * d, slice(0, 1))], start)
            x = xp.concatenate([first, x[(*[slice(None)] * d, slice(0, x.shape[d] - 1))]], d)
        made = getattr(xp, name)(x, axis=d, dtype=x.dtype)
        return xp.flip(made, d) if node.get("reverse", 0) else made

    return compute


op("CumSum")(_cumulative("cumsum", 0))
op("CumProd")(_cumulative("cumprod", 1))

"""Ops that read and write elements by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....library.nn import namespace as nn
from ....library.numpy import namespace as lnp
from ..errors import TorchError, UnknownValue
from ..nodes import Call, along, array, axis_of, is_constant, op
from .reductions import neutral


def _index_of(x: Any, indices: Sequence[Any]) -> tuple[Any, ...]:
    """torch's list of indices: None is a dim that is read whole, which NumPy writes as a slice.

    Raises:
        UnknownValue: one is a mask, which chooses a number of elements that depends on its values.
    """
    made: list[Any] = []
    for index in indices:
        if index is None:
            made.append(slice(None))
            continue
        if index.dtype in (bool, np.uint8):
            if not is_constant(index):
                raise UnknownValue("an index that is a mask has a result whose shape depends on values: use torch.where")
            made.extend(np.nonzero(index))
            continue
        made.append(index)
    return tuple(made)


@op("index", "_unsafe_index")
def index(call: Call, x: Any, indices: Sequence[Any]) -> Any:
    return lnp.asarray(x)[_index_of(x, indices)]


@op("index_put", "_unsafe_index_put", "index_put_")
def index_put(call: Call, x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False, unsafe: bool = False) -> Any:
    """The array with elements replaced, or increased; a mask takes one value for all, or values of its own dims."""
    values = array(values, x.dtype)
    masks = [i for i in indices if i is not None and i.dtype == bool and not is_constant(i)]
    if masks:
        mask = masks[0]
        lone = len(masks) == 1 and sum(i is not None for i in indices) == 1
        rest = x.ndim - mask.ndim - next(k for k, i in enumerate(indices) if i is not None)
        if not lone or (values.ndim > rest and any(n != 1 for n in values.shape[: values.ndim - rest])):
            raise UnknownValue("a mask takes one value for all of its elements here: use torch.where, or masked_scatter")
        shaped = mask.reshape((*mask.shape, *[1] * rest))
        values = values.reshape(values.shape[values.ndim - min(rest, values.ndim) :])
        return lnp.where(shaped, x + values if accumulate else values, x)
    where = _index_of(x, indices)
    if all(isinstance(i, slice) for i in where):
        return x + values if accumulate else lnp.broadcast_to(values, x.shape)
    at = lnp.asarray(x).at[where]
    return at.add(values) if accumulate else at.set(values)


@op("index_select")
def index_select(call: Call, x: Any, dim: int, indices: Any) -> Any:
    if not x.ndim:
        return x
    return lnp.take(x, indices.reshape((-1,)), axis_of(dim, x.ndim))


@op("take")
def take(call: Call, x: Any, indices: Any) -> Any:
    return lnp.take(x.reshape((-1,)), indices)


def elements(indices: Any, axis: int) -> tuple[Any, ...]:
    """The index of each element of gather and scatter: its own, but along one axis."""
    rank = indices.ndim
    own = [lnp.arange(n).reshape(tuple(-1 if i == d else 1 for i in range(rank))) for d, n in enumerate(indices.shape)]
    return tuple(indices if d == axis else own[d] for d in range(rank))


@op("gather")
def gather(call: Call, x: Any, dim: int, indices: Any, *, sparse_grad: bool = False) -> Any:
    if not x.ndim:
        return x if not indices.ndim else lnp.broadcast_to(x, indices.shape)
    if not indices.ndim:
        return x[indices]
    if indices.ndim != x.ndim:  # which torch allows where there are no elements
        return lnp.zeros(indices.shape, x.dtype)
    axis = axis_of(dim, x.ndim)
    if all(n is m or n == m for d, (n, m) in enumerate(zip(x.shape, indices.shape, strict=True)) if d != axis):
        return lnp.take_along_axis(x, indices, axis)
    return lnp.asarray(x)[elements(indices, axis)]


@op("scatter", "scatter_add", "scatter_reduce")
def scatter(call: Call, x: Any, dim: int, indices: Any, source: Any, reduce: Any = None, *, include_self: bool = True) -> Any:
    """The array with elements along a dim replaced, or combined with what is there.

    Without `include_self`, elements that are written begin at what changes nothing.
    """
    if not x.ndim:
        made = scatter(
            call,
            x.reshape((1,)),
            0,
            indices.reshape((-1,)),
            array(source, x.dtype).reshape((-1,)),
            reduce,
            include_self=include_self,
        )
        return made.reshape(())
    axis = axis_of(dim, x.ndim)
    source = array(source, x.dtype)
    if source.ndim:
        source = source[tuple(slice(0, n) for n in indices.shape)]
    where, x = elements(indices, axis), lnp.asarray(x)
    how = {"scatter_add": "sum", "scatter": {"add": "sum", "multiply": "prod"}.get(reduce)}.get(call.op, reduce)
    if how is None:
        return x.at[where].set(source)
    if how not in ("sum", "prod", "mean", "amax", "amin"):
        raise TorchError(f"reduction {how!r} is none of sum, prod, mean, amax, amin")
    if how == "mean":
        one = np.asarray(1).astype(x.dtype)
        count = lnp.full(x.shape, int(include_self), x.dtype).at[where].add(one)
        start = x if include_self else x.at[where].set(neutral("sum", x.dtype))
        added, count = start.at[where].add(source), lnp.maximum(count, 1)
        return added / count if x.dtype.kind not in "iu" else lnp.floor_divide(added, count)
    start = x if include_self else x.at[where].set(neutral(how, x.dtype))
    name = {"sum": "add", "prod": "multiply", "amax": "max", "amin": "min"}[how]
    return getattr(start.at[where], name)(source)


@op("index_add", "index_copy", "index_fill")
def index_write(call: Call, x: Any, dim: int, indices: Any, source: Any, *, alpha: Any = 1) -> Any:
    axis = axis_of(dim, x.ndim)
    source = array(source, x.dtype)
    at = lnp.asarray(x).at[along(x.ndim, axis, indices.reshape((-1,)))]
    return at.add(source * array(alpha, x.dtype)) if call.op == "index_add" else at.set(source)


@op("masked_fill")
def masked_fill(call: Call, x: Any, mask: Any, value: Any) -> Any:
    return lnp.where(mask, array(value, call.dtype), x)


@op("masked_scatter")
def masked_scatter(call: Call, x: Any, mask: Any, source: Any) -> Any:
    """The next element of the source at each place that the mask chooses."""
    x, mask = lnp.broadcast_arrays(x, mask)
    position = lnp.cumsum(mask.reshape((-1,)).astype(np.int64)) - 1
    chosen = lnp.take(source.reshape((-1,)), lnp.maximum(position, 0), 0)
    return lnp.where(mask, chosen.reshape(x.shape), x)


@op("diagonal_scatter")
def diagonal_scatter(call: Call, x: Any, source: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    a, b = axis_of(dim1, x.ndim), axis_of(dim2, x.ndim)
    steps = lnp.arange(source.shape[-1])
    moved = lnp.asarray(lnp.moveaxis(x, (a, b), (-2, -1)))
    made = moved.at[..., steps + max(-offset, 0), steps + max(offset, 0)].set(array(source, x.dtype))
    return lnp.moveaxis(made, (-2, -1), (a, b))


@op("embedding")
def embedding(call: Call, table: Any, ids: Any, *args: Any, **kwargs: Any) -> Any:
    return nn.embedding(ids, table)


@op("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(
    call: Call, table: Any, ids: Any, offsets: Any, scale: bool = False, mode: int = 0, sparse: bool = False,
    weights: Any = None, include_last: bool = False, padding: int = -1,
) -> Any:  # fmt: skip
    """Sums, means or maxima of the rows of each bag, which begins at its offset."""
    starts = offsets[:-1] if include_last else offsets
    count = starts.shape[0]
    bag = lnp.searchsorted(starts, lnp.arange(ids.shape[0]), side="right") - 1
    rows = lnp.take(table, ids, 0)
    keep = ids != padding
    sizes = lnp.zeros((count,), dtype=np.int64).at[bag].add(keep.astype(np.int64))
    if mode == 2:
        rows = lnp.where(keep[:, None], rows, neutral("amax", table.dtype))
        best = lnp.full((count, table.shape[1]), neutral("amax", table.dtype)[()], table.dtype).at[bag].max(rows)
        made = lnp.where((sizes > 0)[:, None], best, lnp.zeros_like(best))
    else:
        rows = rows if weights is None else rows * weights[:, None]
        rows = lnp.where(keep[:, None], rows, lnp.zeros_like(rows))
        made = lnp.zeros((count, table.shape[1]), dtype=table.dtype).at[bag].add(rows)
        made = made / lnp.maximum(sizes, 1).astype(table.dtype)[:, None] if mode == 1 else made
    return made, bag, sizes, lnp.zeros((count,), dtype=np.int64)


@op("embedding_dense_backward")
def embedding_dense_backward(call: Call, slope: Any, ids: Any, rows: Any, padding: Any, scale: bool) -> Any:
    """The sum of the slopes of each row of the table."""
    flat, slopes = ids.reshape((-1,)), slope.reshape((-1, slope.shape[-1]))
    slopes = lnp.where((flat != padding)[:, None], slopes, lnp.zeros_like(slopes))
    if scale:
        count = lnp.zeros((rows,), dtype=slope.dtype).at[flat].add(np.asarray(1).astype(slope.dtype))
        slopes = slopes / lnp.take(count, flat, 0)[:, None]
    return lnp.zeros((rows, slope.shape[-1]), dtype=slope.dtype).at[flat].add(slopes)


@op("one_hot")
def one_hot(call: Call, ids: Any, classes: int = -1) -> Any:
    if classes < 0:
        raise UnknownValue("one_hot needs the number of classes")
    return nn.one_hot(ids, classes, dtype=np.int64)


@op("nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "nonzero_static", "repeat_interleave")
def unknown(call: Call, *args: Any, **kwargs: Any) -> Any:
    raise UnknownValue(f"the shape of the result of {call.op} depends on values: use masks, or torch.topk with a number")

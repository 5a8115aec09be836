"""Sorting and searching."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....library.numpy import namespace as lnp
from ..errors import TorchError
from ..nodes import Call, along, axis_of, known, op


def order_of(x: Any, axis: int, descending: bool) -> Any:
    """Indices that sort along an axis; equal elements stay in order, NaN is the greatest number."""
    if not descending:
        return lnp.argsort(x, axis=axis, stable=True)
    last = lnp.asarray(x.shape[axis] - 1, dtype=np.int64)
    return last - lnp.flip(lnp.argsort(lnp.flip(x, axis), axis=axis, stable=True), axis)


@op("sort", "argsort")
def sort(call: Call, x: Any, *args: Any, stable: Any = None, dim: int = -1, descending: bool = False) -> Any:
    rest = list(args)
    if call.overload == "stable" and rest:  # the overload's second argument is `stable`
        rest.pop(0)
    dim = rest.pop(0) if rest else dim
    descending = rest.pop(0) if rest else descending
    if not x.ndim:
        index = lnp.zeros((), dtype=np.int64)
        return index if call.op == "argsort" else (x, index)
    axis = axis_of(dim, x.ndim)
    order = order_of(x.astype(np.uint8) if x.dtype == bool else x, axis, descending)
    return order if call.op == "argsort" else (lnp.take_along_axis(x, order, axis), order.astype(np.int64))


@op("topk")
def topk(call: Call, x: Any, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The greatest or least elements, in order; the first of equal ones."""
    if not x.ndim:
        return x, lnp.zeros((), dtype=np.int64)
    axis = axis_of(dim, x.ndim)
    if known(k, x.shape[axis]) and not 0 <= k <= x.shape[axis]:
        raise TorchError(f"{k} elements of dim {dim} of size {x.shape[axis]}")
    order = order_of(x, axis, largest)[along(x.ndim, axis, slice(0, k))]
    return lnp.take_along_axis(x, order, axis), order.astype(np.int64)


@op("kthvalue")
def kthvalue(call: Call, x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    if not x.ndim:
        return x, lnp.zeros((), dtype=np.int64)
    axis = axis_of(dim, x.ndim)
    order = order_of(x, axis, False)[along(x.ndim, axis, slice(k - 1, k))]
    values = lnp.take_along_axis(x, order, axis)
    return (values, order) if keepdim else (lnp.squeeze(values, axis), lnp.squeeze(order, axis))


@op("median", "nanmedian")
def median(call: Call, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The lower of the two elements in the middle, NaN if there is one."""
    whole = dim is None
    x, dim = (x.reshape((-1,)), 0) if whole else (x, dim)
    if call.op == "nanmedian":
        raise TorchError("nanmedian is not supported")
    values, order = kthvalue(call, x, (x.shape[axis_of(dim, x.ndim)] + 1) // 2, dim, keepdim)
    if x.dtype.kind == "f":
        axis = axis_of(dim, x.ndim)
        last, at = lnp.max(x, axis=axis, keepdims=keepdim), lnp.argmax(lnp.isnan(x), axis=axis, keepdims=keepdim)
        values, order = lnp.where(lnp.isnan(last), last, values), lnp.where(lnp.isnan(last), at, order)
    return values if whole else (values, order)


@op("searchsorted", "bucketize")
def searchsorted(
    call: Call, first: Any, second: Any, *, out_int32: bool = False, right: bool = False, side: Any = None, sorter: Any = None
) -> Any:
    edges, x = (first, second) if call.op == "searchsorted" else (second, first)
    if edges.ndim != 1 or sorter is not None:
        raise TorchError("edges are a sorted vector here")
    x = lnp.asarray(x)
    return lnp.searchsorted(edges, x, side="right" if right or side == "right" else "left").astype(call.dtype)

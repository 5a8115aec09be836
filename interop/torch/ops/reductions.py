"""Reductions, and cumulative ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....api.dtypes import is_complex_dtype, is_inexact_dtype
from ....library.nn import namespace as nn
from ....library.numpy import namespace as lnp
from ..errors import TorchError
from ..nodes import Call, along, array, axes_of, axis_of, highest, known, lowest, op, vector


@op("sum", "prod", "mean", "nansum")
def total(call: Call, x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Sums, products and means, computed in the element type of the result: int64 for integers."""
    function = {"sum": lnp.sum, "prod": lnp.prod, "mean": lnp.mean, "nansum": lnp.nansum}[call.op]
    return function(array(x, call.dtype), axis=axes_of(dim, x.ndim), keepdims=keepdim)


@op("any", "all")
def anything(call: Call, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return (lnp.any if call.op == "any" else lnp.all)(x.astype(bool), axis=axes_of(dim, x.ndim), keepdims=keepdim)


def _not_empty(x: Any, axes: Any) -> None:
    for a in axes:
        if known(x.shape[a]) and x.shape[a] == 0:
            raise TorchError(f"dim {a} has no elements to reduce")


@op("amax", "amin")
def extreme(call: Call, x: Any, dim: Any = (), keepdim: bool = False) -> Any:
    axes = axes_of(list(dim), x.ndim)
    _not_empty(x, axes)
    return (lnp.max if call.op == "amax" else lnp.min)(x, axis=axes, keepdims=keepdim)


@op("max", "min")
def extreme_and_index(call: Call, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The greatest element; along a dim with its index, the first of equal ones. Of two arrays, the greater elements."""
    if dim is not None and not isinstance(dim, int):
        return (lnp.maximum if call.op == "max" else lnp.minimum)(array(x, call.dtype), array(dim, call.dtype))
    if dim is None:
        return (lnp.max if call.op == "max" else lnp.min)(x)
    if not x.ndim:
        return x, lnp.zeros((), dtype=np.int64)
    axis = axis_of(dim, x.ndim)
    _not_empty(x, [axis])
    wide = x.astype(np.uint8) if x.dtype == bool else x
    index = (lnp.argmax if call.op == "max" else lnp.argmin)(wide, axis=axis, keepdims=keepdim)
    return (lnp.max if call.op == "max" else lnp.min)(x, axis=axis, keepdims=keepdim), index


@op("argmax", "argmin")
def argument(call: Call, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    function = lnp.argmax if call.op == "argmax" else lnp.argmin
    if not x.ndim:
        return lnp.zeros((), dtype=np.int64)
    if dim is None:
        found = function(x.reshape((-1,)))
        return found.reshape((1,) * x.ndim) if keepdim else found
    return function(x, axis=axis_of(dim, x.ndim), keepdims=keepdim)


@op("aminmax")
def aminmax(call: Call, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    axes = axes_of(dim, x.ndim)
    return lnp.min(x, axis=axes, keepdims=keepdim), lnp.max(x, axis=axes, keepdims=keepdim)


def _correction(args: tuple[Any, ...], unbiased: Any, correction: Any) -> float:
    if unbiased is not None:
        return float(unbiased)
    return 1.0 if correction is None else float(correction)


def variance(x: Any, axes: tuple[int, ...], correction: float, keepdim: bool) -> Any:
    """The mean square of the distance from the mean, over `n - correction` elements: 0/0 is NaN, as in torch."""
    count: Any = 1
    for a in axes:
        count = count * x.shape[a]
    middle = lnp.mean(x, axis=axes, keepdims=True)
    distance = lnp.abs(x - middle)
    squares = lnp.sum(distance * distance, axis=axes, keepdims=keepdim)
    if known(count):
        return squares / np.asarray(max(count - correction, 0)).astype(squares.dtype)
    return squares / lnp.maximum(array(count, squares.dtype) - correction, 0)


@op("var", "std", "var_mean", "std_mean")
def var(call: Call, x: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    """Variances; the second argument of the overload without dims is `unbiased`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if call.overload.startswith("correction") and isinstance(unbiased, bool):
        unbiased, keepdim = None, unbiased
    axes = axes_of(dim, x.ndim)
    found = variance(x, axes, _correction((), unbiased, correction), keepdim)
    found = lnp.sqrt(found) if call.op.startswith("std") else found
    return (found, lnp.mean(x, axis=axes, keepdims=keepdim)) if call.op.endswith("mean") else found


@op("logsumexp")
def logsumexp(call: Call, x: Any, dim: Any, keepdim: bool = False) -> Any:
    return nn.logsumexp(array(x, call.dtype), axes_of(dim, x.ndim), keepdims=keepdim)


@op("linalg_vector_norm", "norm")
def vector_norm(call: Call, x: Any, order: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """`sum(abs(x) ** order) ** (1 / order)`, and its limits."""
    axes, order = axes_of(dim, x.ndim), 2 if order is None else order
    size = lnp.abs(x) if is_complex_dtype(x.dtype) or is_inexact_dtype(x.dtype) else lnp.abs(array(x, call.dtype))
    size = array(size, call.dtype)
    if order in (float("inf"), float("-inf")):
        return (lnp.max if order > 0 else lnp.min)(size, axis=axes, keepdims=keepdim)
    if order == 0:
        return lnp.sum(array(size != 0, call.dtype), axis=axes, keepdims=keepdim)
    if order in (1, 2):
        summed = lnp.sum(size * size if order == 2 else size, axis=axes, keepdims=keepdim)
        return lnp.sqrt(summed) if order == 2 else summed
    return lnp.sum(size ** float(order), axis=axes, keepdims=keepdim) ** (1.0 / order)


@op("count_nonzero")
def count_nonzero(call: Call, x: Any, dim: Any = None) -> Any:
    return lnp.sum((x != 0).astype(np.int64), axis=axes_of(dim, x.ndim))


# --------------------------------------------------------------------------------------------------------------------


@op("cumsum", "cumprod")
def cumulative(call: Call, x: Any, dim: int, *, dtype: Any = None) -> Any:
    x = array(x, call.dtype)
    return (lnp.cumsum if call.op == "cumsum" else lnp.cumprod)(x, axis=axis_of(dim, x.ndim), dtype=call.dtype) if x.ndim else x


@op("cummax", "cummin")
def cumulative_extreme(call: Call, x: Any, dim: int) -> Any:
    """The greatest element so far and its index, the last of equal ones."""
    if not x.ndim:
        return x, lnp.zeros((), dtype=np.int64)
    axis = axis_of(dim, x.ndim)
    best = (lnp.cummax if call.op == "cummax" else lnp.cummin)(x, axis=axis)
    steps = vector(lnp.arange(x.shape[axis]), axis, x.ndim)
    new = x == best
    new = new | lnp.isnan(x) if is_inexact_dtype(x.dtype) else new
    return best, lnp.cummax(lnp.where(new, steps, lnp.zeros_like(steps)), axis=axis)


@op("logcumsumexp")
def logcumsumexp(call: Call, x: Any, dim: int) -> Any:
    """Relative to the greatest element so far, so that nothing overflows."""
    if not x.ndim:
        return x
    axis = axis_of(dim, x.ndim)
    top = lnp.max(x, axis=axis, keepdims=True)
    top = lnp.where(lnp.isfinite(top), top, lnp.zeros_like(top))
    return lnp.log(lnp.cumsum(lnp.exp(x - top), axis=axis)) + top


# --------------------------------------------------------------------------------------------------------------------


@op("_softmax", "softmax", "_log_softmax", "log_softmax", "_safe_softmax")
def softmax(call: Call, x: Any, dim: int, half_to_float: Any = False, **kwargs: Any) -> Any:
    x = array(x, call.dtype)
    if not x.ndim:
        return lnp.zeros_like(x) if "log" in call.op else lnp.ones_like(x)
    axis = axis_of(dim, x.ndim)
    made = (nn.log_softmax if "log" in call.op else nn.softmax)(x, axis)
    if call.op == "_safe_softmax":  # rows of -inf are zeros
        return lnp.where(lnp.all(x == lowest(x.dtype), axis=axis, keepdims=True), lnp.zeros_like(x), made)
    return made


def neutral(how: str, dtype: Any) -> Any:
    """What changes nothing in a reduction."""
    if how in ("amax", "amin"):
        return lowest(dtype) if how == "amax" else highest(dtype)
    return np.asarray(1 if how == "prod" else 0).astype(dtype)


def first_along(x: Any, axis: int) -> Any:
    """The first element of a dim."""
    return x[along(x.ndim, axis, 0)]

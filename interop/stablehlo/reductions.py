"""Reductions by regions: of whole dims, of windows, `select_and_scatter`, `map`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...api import broadcast_tracer, lift, lift_as
from ...api.functions import vmap
from ...compat.jax.lax import namespace as lax
from ...compat.jax.lax.indexing import ScatterDimensionNumbers
from ...library.numpy import namespace as lnp
from ...library.numpy.axes_and_shapes import reshape_tracer
from ...library.numpy.elementwise import compare
from ...library.numpy.elementwise import select as select_of
from .faults import UnsupportedError
from .regions import combining, single_op


def _halves(operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    n = len(operands) // 2
    return operands[:n], operands[n:]


_ORDERED, _SUMS = ("stablehlo.maximum", "stablehlo.minimum"), ("stablehlo.add", "stablehlo.multiply")
"""Ops that no reduction, and no window, of complex numbers has."""


def reduce(site: Any, operands: Sequence[Any]) -> Any:
    """All elements along dims, combined by the region."""
    inputs, inits = _halves(operands)
    dims = site.required("dimensions")
    if any(not 0 <= d < x.ndim for d in dims for x in inputs):
        raise UnsupportedError(f"reduces dims {list(dims)} of {inputs[0].ndim}")
    function = combining(site.region(0), len(inputs), _ORDERED if inputs[0].dtype.kind == "c" else ())
    if len(inputs) == 1:
        return [lax.reduce(inputs[0], inits[0], function, dims)]
    return list(lax.reduce(tuple(inputs), tuple(inits), function, dims))


def _window(site: Any, rank: int) -> dict[str, Any]:
    ones = (1,) * rank
    padding = site.get("padding", [(0, 0)] * rank)
    return {
        "window_dimensions": site.required("window_dimensions"),
        "window_strides": site.get("window_strides", ones),
        "padding": [tuple(pair) for pair in padding],
    }


def reduce_window(site: Any, operands: Sequence[Any]) -> Any:
    """The elements of each window, combined by the region."""
    inputs, inits = _halves(operands)
    rank = inputs[0].ndim
    given = _window(site, rank)
    given |= {
        "base_dilation": site.get("base_dilations", (1,) * rank),
        "window_dilation": site.get("window_dilations", (1,) * rank),
    }
    running = _running(site, inputs, inits, given)
    if running is not None:
        return [running]
    function = combining(site.region(0), len(inputs), (*_ORDERED, *_SUMS) if inputs[0].dtype.kind == "c" else ())
    if len(inputs) == 1:
        return [lax.reduce_window(inputs[0], inits[0], function, **given)]
    return list(lax.reduce_window(tuple(inputs), tuple(inits), function, **given))


_RUNNING = {
    "stablehlo.add": lax.cumsum,
    "stablehlo.multiply": lax.cumprod,
    "stablehlo.maximum": lax.cummax,
    "stablehlo.minimum": lax.cummin,
}


def _running(site: Any, inputs: Sequence[Any], inits: Sequence[Any], given: dict[str, Any]) -> Any:
    """Windows of all elements up to each one are running sums, which cost the size and not its square; None for others."""
    x = inputs[0]
    function = _RUNNING.get(single_op(site.region(0)) or "")
    long = [d for d, size in enumerate(given["window_dimensions"]) if size != 1]
    if len(inputs) != 1 or function is None or len(long) != 1 or x.dtype.kind in "bc":
        return None
    (dim,) = long
    size = x.shape[dim]
    ones = [*given["window_strides"], *given["base_dilation"], *given["window_dilation"]]
    others = [pair for d, pair in enumerate(given["padding"]) if d != dim]
    if given["window_dimensions"][dim] != size or set(ones) != {1} or any(pair != (0, 0) for pair in others):
        return None
    reverse = {(size - 1, 0): False, (0, size - 1): True}.get(given["padding"][dim])
    if reverse is None:
        return None
    y = function(x, dim, reverse)
    return combining(site.region(0), 1)(broadcast_tracer(lift_as(inits[0], x.dtype), x.shape), y)


_INTO = {
    "stablehlo.add": lax.scatter_add,
    "stablehlo.or": lax.scatter_max,
    "stablehlo.and": lax.scatter_min,
    "stablehlo.maximum": lax.scatter_max,
    "stablehlo.minimum": lax.scatter_min,
    "stablehlo.multiply": lax.scatter_mul,
}


def select_and_scatter(site: Any, operands: Sequence[Any]) -> Any:
    """Each source added, by the second region, to the element that the first one selects in its window."""
    x, source, init = operands
    given = _window(site, x.ndim)
    index = lift(lnp.reshape(lnp.arange(prod(x.shape)), x.shape))
    select = site.region(0)

    def chosen(a: Any, b: Any) -> Any:
        # an empty place, of the padding, is selected by nothing
        (keep,) = select(a[0], b[0])
        keep = lnp.logical_or(lnp.logical_and(keep, a[1] >= 0), b[1] < 0)
        return lnp.where(keep, a[0], b[0]), lnp.where(keep, a[1], b[1])

    _, at = lax.reduce_window((x, index), (np.zeros((), x.dtype), np.int64(-1)), chosen, **given)
    flat = broadcast_tracer(lift_as(init, x.dtype), (prod(x.shape),))
    rows = reshape_tracer(lift(at), (prod(at.shape), 1))
    numbers = ScatterDimensionNumbers((), (0,), (0,))
    updates = reshape_tracer(source, (prod(source.shape),))
    kind = single_op(site.region(1))
    function = _INTO.get(kind or "")
    if function is None:
        raise UnsupportedError(f"combines sources by {kind or 'a function of several ops'}")
    # an index of -1, of a window of padding alone, is outside and so left out
    outside = select_of(compare("lt", rows, lift(np.int64(0)) + rows * 0), rows * 0 + prod(x.shape), rows)
    return reshape_tracer(lift(function(flat, outside, updates, numbers)), x.shape)


def map(site: Any, operands: Sequence[Any]) -> Any:
    """The region applied to the elements of operands at each index."""
    region, shape = site.region(0), operands[0].shape
    found = vmap(lambda *given: region(*given)[0])(*[reshape_tracer(x, (prod(shape),)) for x in operands])
    return reshape_tracer(lift(found), shape)

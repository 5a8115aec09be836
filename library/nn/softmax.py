"""`lamina.nn`: softmax, its logarithm, and what is computed with them."""

from __future__ import annotations

import math
from typing import Any

from ...api import Tracer, array_function, broadcast_tracer, build, full_like_tracer, lift, lift_as, lift_float
from ...api.dtypes import is_integer_dtype, result_type
from ...api.errors import ShapeError
from ..numpy.axes_and_shapes import normalize_axes, reshape_tracer
from ..numpy.elementwise import broadcast_shapes, compare, select
from ..numpy.index import as_index
from ..numpy.logic import as_bool, isfinite
from ..numpy.reduce import max, mean, sum
from ..numpy.ufuncs import absolute, exp, log, sign


def _along(op: str, x: Any, axis: Any, where: Any = None) -> Tracer:
    x = lift_float(x)
    axes = normalize_axes(axis, x.ndim)
    if not axes:
        raise ShapeError(f"{op} needs at least one axis, got shape {list(x.shape)} and axis={axis}")
    if where is None:
        return build(op, x, dims=axes)
    mask = broadcast_tracer(as_bool(where), x.shape)
    nothing = full_like_tracer(x, -math.inf)
    y = build(op, select(mask, x, nothing), dims=axes)
    return select(mask, y, nothing if op == "log_softmax" else full_like_tracer(x, 0))


@array_function
def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """`exp(x) / sum(exp(x))` along `axis`, without overflow.

    Args:
        x: floats of any shape; integers become float64.
        axis: an axis, a tuple of axes, or None for all.
        where: bools; elements where it is False count as minus infinity, their results are 0.

    >>> import numpy as np, lamina as lm
    >>> lm.nn.softmax(np.zeros(4, np.float32))
    array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    return _along("softmax", x, axis, where)


@array_function
def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """`log(softmax(x, axis))`, accurate where softmax is near 0."""
    return _along("log_softmax", x, axis, where)


@array_function
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False, where: Any = None
) -> Any:
    """`log(sum(b * exp(x)))` along `axis` (all axes by default), without overflow; of elements where `where` is True.

    Args:
        b: factors, 1 by default; where they are 0, the elements of `a` do not count.
        return_sign: return the logarithm of the absolute value, and the sign of the sum.

    Returns:
        The logarithm, NaN of a sum below 0 unless `return_sign`.
    """
    x = lift_float(a)
    if b is not None:
        return _logsumexp_weighted(x, lift_float(b), normalize_axes(axis, x.ndim), keepdims, return_sign, where)
    if where is not None:
        x = select(broadcast_tracer(as_bool(where), x.shape), x, full_like_tracer(x, -math.inf))
    axes = normalize_axes(axis, x.ndim)
    y = build("logsumexp", x, dims=axes) if axes else x
    y = reshape_tracer(y, tuple(1 if k in axes else n for k, n in enumerate(x.shape))) if keepdims else y
    return (y, sign(exp(y))) if return_sign else y


def _logsumexp_weighted(x: Tracer, b: Tracer, axes: tuple[int, ...], keepdims: bool, return_sign: bool, where: Any) -> Any:
    dtype, shape = result_type([x.dtype, b.dtype]), broadcast_shapes([x.shape, b.shape])
    x, b = (broadcast_tracer(lift_as(each, dtype), shape) for each in (x, b))
    counts = compare("ne", b, full_like_tracer(b, 0))
    if where is not None:
        counts = build("and_", counts, broadcast_tracer(as_bool(where), shape))
    x, b = select(counts, x, full_like_tracer(x, -math.inf)), select(counts, b, full_like_tracer(b, 0))
    top = build("stop_gradient", max(x, axes, keepdims=True))
    top = select(isfinite(top), top, full_like_tracer(top, 0))
    total = sum(b * exp(x - top), axes, keepdims=keepdims)
    high = top if keepdims else reshape_tracer(top, total.shape)
    return (log(absolute(total)) + high, sign(total)) if return_sign else log(total) + high


@array_function
def logmeanexp(x: Any, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Any:
    """`log(mean(exp(x)))` along `axis` (all axes by default), without overflow."""
    x = lift_float(x)
    count = log(sum(full_like_tracer(x, 1), axis, keepdims=keepdims, where=where))
    return logsumexp(x, axis, keepdims=keepdims, where=where) - count


@array_function
def cross_entropy(logits: Any, labels: Any) -> Any:
    """The mean over examples of `-log(softmax(logits)[label])`.

    Args:
        logits: floats[..., classes].
        labels: integers[...] (the index of each example's class; one out of range adds 0), or floats[..., classes]
            (probabilities).
    """
    x, y = lift_float(logits), lift(labels)
    if x.ndim == 0:
        raise ShapeError("cross_entropy needs logits with a dim of classes, got a scalar")
    if not is_integer_dtype(y.dtype):
        if y.shape != x.shape:
            raise ShapeError(f"cross_entropy needs labels of the shape of the logits {list(x.shape)}, got {list(y.shape)}")
        return -mean(sum(lift_as(y, x.dtype) * log_softmax(x), -1))
    if y.shape != x.shape[:-1]:
        raise ShapeError(f"cross_entropy needs one label for each example: logits are {list(x.shape)}, labels {list(y.shape)}")
    return build("cross_entropy", reshape_tracer(x, (y.size, x.shape[-1])), reshape_tracer(as_index(y), (y.size,)))

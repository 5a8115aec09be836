"""lamina.numpy: reductions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import DTypeError, ShapeError
from .eager import api
from .elementwise import compare, full_like_tracer, select
from .lnp_logic import as_bool, isclose
from .moves import broadcast_tracer, normalize_axes, normalize_axis, reshape_tracer
from .promotion import BOOL, FLOAT64, canonical
from .tracer import Tracer
from .tracing import build, lift, lift_as

__all__ = [
    "all", "allclose", "amax", "amin", "any", "argmax", "argmin", "array_equal", "average", "count_nonzero", "max", "mean",
    "min", "nanmax", "nanmean", "nanmin", "nansum", "prod", "ptp", "std", "sum", "var",
]  # fmt: skip


def _reduce(x: Tracer, kind: str, axes: tuple[int, ...], keepdims: bool) -> Tracer:
    y = build("reduce", x, kind=kind, dims=axes) if axes else x
    return _keep(y, x, axes, keepdims)


def _keep(y: Tracer, x: Tracer, axes: tuple[int, ...], keepdims: bool) -> Tracer:
    """The result of a reduction over axes, with dims of size 1 in their place if asked for."""
    if not keepdims:
        return y
    return reshape_tracer(y, tuple(1 if k in axes else n for k, n in enumerate(x.shape)))


def accumulated(x: Tracer, dtype: Any) -> Tracer:
    """The operand of a sum or product in the dtype in which NumPy accumulates: integers in 64 bits."""
    if dtype is not None:
        return lift_as(x, canonical(dtype))
    return x if x.dtype.kind == "f" else lift_as(x, canonical(np.uint64 if x.dtype.kind == "u" else np.int64))


@api
def sum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """`np.sum`; bools and int32 are summed in int64."""
    x = accumulated(lift(a), dtype)
    if x.dtype == BOOL:
        return _reduce(x, "or", normalize_axes(axis, x.ndim), keepdims)
    return _reduce(x, "add", normalize_axes(axis, x.ndim), keepdims)


@api
def prod(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """`np.prod`; bools and int32 are multiplied in int64."""
    x = accumulated(lift(a), dtype)
    return _reduce(x, "and" if x.dtype == BOOL else "mul", normalize_axes(axis, x.ndim), keepdims)


def _extreme(a: Any, kind: str, axis: Any, keepdims: bool, initial: Any) -> Tracer:
    x = lift(a)
    axes = normalize_axes(axis, x.ndim)
    if initial is None and math.prod(x.shape[k] for k in axes) == 0:
        raise ShapeError(f"{kind} over no elements has no value: give initial=")
    y = _reduce(x, kind, axes, keepdims)
    return y if initial is None else build(kind, y, broadcast_tracer(lift_as(initial, x.dtype), y.shape))


@api
def max(a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None) -> Any:
    """`np.max`; NaN if any is NaN."""
    return _extreme(a, "max", axis, keepdims, initial)


@api
def min(a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None) -> Any:
    """`np.min`; NaN if any is NaN."""
    return _extreme(a, "min", axis, keepdims, initial)


amax, amin = max, min


@api
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.ptp`: the greatest minus the least."""
    x = lift(a)
    return max(x, axis, keepdims=keepdims) - min(x, axis, keepdims=keepdims)


@api
def any(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.any`."""
    x = as_bool(a)
    return _reduce(x, "or", normalize_axes(axis, x.ndim), keepdims)


@api
def all(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.all`."""
    x = as_bool(a)
    return _reduce(x, "and", normalize_axes(axis, x.ndim), keepdims)


@api
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.count_nonzero`."""
    return sum(as_bool(a), axis, keepdims=keepdims)


def _arg(a: Any, op: str, axis: int | None, keepdims: bool) -> Tracer:
    x = lift(a)
    if axis is None:
        y = build(op, reshape_tracer(x, (x.size,)), dim=0) if x.size else None
        axes = tuple(range(x.ndim))
    else:
        axes = (normalize_axis(axis, x.ndim),)
        y = build(op, x, dim=axes[0]) if x.shape[axes[0]] else None
    if y is None:
        raise ShapeError(f"{op} over no elements has no value")
    return _keep(y, x, axes, keepdims)


@api
def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """`np.argmax`: the index of the first greatest element, int64."""
    return _arg(a, "argmax", axis, keepdims)


@api
def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """`np.argmin`: the index of the first least element, int64."""
    return _arg(a, "argmin", axis, keepdims)


def _as_float(a: Any, dtype: Any) -> Tracer:
    x = lift(a)
    if dtype is not None:
        wanted = canonical(dtype)
        if wanted.kind != "f":
            raise DTypeError(f"a mean is a float, got dtype={wanted}")
        return lift_as(x, wanted)
    return x if x.dtype.kind == "f" else lift_as(x, FLOAT64)


def _composite(op: str, x: Tracer, axes: tuple[int, ...], keepdims: bool, **props: Any) -> Tracer:
    if math.prod(x.shape[k] for k in axes) == 0:
        y = full_like_tracer(build("reduce", x, kind="add", dims=axes), math.nan)
        return _keep(y, x, axes, keepdims)
    if not axes:
        return full_like_tracer(x, 0) if op == "var" else x
    return _keep(build(op, x, dims=axes, **props), x, axes, keepdims)


@api
def mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """`np.mean`; of integers in float64, of no elements NaN."""
    x = _as_float(a, dtype)
    return _composite("mean", x, normalize_axes(axis, x.ndim), keepdims)


@api
def var(a: Any, axis: Any = None, dtype: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    """`np.var`: the mean squared distance from the mean, over `n - ddof`."""
    x = _as_float(a, dtype)
    axes = normalize_axes(axis, x.ndim)
    if int(ddof) != ddof:
        raise DTypeError(f"ddof must be an integer, got {ddof!r}")
    return _composite("var", x, axes, keepdims, correction=int(ddof))


@api
def std(a: Any, axis: Any = None, dtype: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    """`np.std`: the square root of the variance."""
    return build("sqrt", var(lift(a), axis, dtype, ddof=ddof, keepdims=keepdims))


@api
def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    """`np.average`."""
    x = lift(a)
    if weights is None:
        return mean(x, axis, keepdims=keepdims)
    w = lift(weights)
    if w.shape != x.shape:
        if w.ndim != 1 or axis is None:
            raise ShapeError(f"average weights must have the shape of the array or of one axis, got {list(w.shape)}")
        dim = normalize_axis(axis, x.ndim)
        if w.shape[0] != x.shape[dim]:
            raise ShapeError(f"average needs {x.shape[dim]} weights for axis {dim}, got {w.shape[0]}")
        w = reshape_tracer(w, tuple(w.size if k == dim else 1 for k in range(x.ndim)))
    total = sum(broadcast_tracer(w, x.shape), axis, keepdims=keepdims)
    return sum(x * w, axis, keepdims=keepdims) / total


# -- without NaN, and comparisons of whole arrays


def _without_nan(a: Any, value: float) -> Tracer:
    x = lift(a)
    return x if x.dtype.kind != "f" else select(compare("ne", x, x), full_like_tracer(x, value), x)


@api
def nansum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """`np.nansum`: NaN counts as 0."""
    return sum(_without_nan(a, 0), axis, dtype, keepdims=keepdims)


@api
def nanmean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """`np.nanmean`: the mean of what is not NaN."""
    x = _as_float(a, dtype)
    there = compare("eq", x, x)
    return sum(_without_nan(x, 0), axis, keepdims=keepdims) / lift_as(sum(there, axis, keepdims=keepdims), x.dtype)


def _nan_extreme(a: Any, kind: str, axis: Any, keepdims: bool) -> Tracer:
    x = lift(a)
    y = _extreme(_without_nan(x, -math.inf if kind == "max" else math.inf), kind, axis, keepdims, None)
    if x.dtype.kind != "f":
        return y
    nothing = all(compare("ne", x, x), axis, keepdims=keepdims)
    return select(nothing, full_like_tracer(y, math.nan), y)


@api
def nanmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.nanmax`: the greatest of what is not NaN."""
    return _nan_extreme(a, "max", axis, keepdims)


@api
def nanmin(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.nanmin`: the least of what is not NaN."""
    return _nan_extreme(a, "min", axis, keepdims)


@api
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """`np.allclose`."""
    return all(isclose(lift(a), lift(b), rtol, atol, equal_nan))


@api
def array_equal(a1: Any, a2: Any) -> Any:
    """`np.array_equal`: one shape and equal elements."""
    x, y = lift(a1), lift(a2)
    if x.shape != y.shape:
        return lift(np.bool_(False))
    return all(x == y)

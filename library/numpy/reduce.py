"""lamina.numpy: reductions."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import Tracer, array_function, broadcast_tracer, build, full_like_tracer, lift, lift_as
from ...api.dtypes import BOOL, canonical, inexact, is_complex_dtype, is_inexact_dtype, is_integer_dtype
from ...api.errors import DTypeError, ShapeError
from .axes_and_shapes import normalize_axes, normalize_axis, reshape_tracer, transpose_tracer
from .complex_formulas import parts as complex_parts
from .elementwise import broadcast_shapes, compare, select
from .logic import as_bool, isclose
from .ufuncs import maximum, minimum


def _reduce(x: Tracer, kind: str, axes: tuple[int, ...], keepdims: bool) -> Tracer:
    y = build("reduce", x, kind=kind, dims=axes) if axes else x
    return _keep(y, x, axes, keepdims)


def _keep(y: Tracer, x: Tracer, axes: tuple[int, ...], keepdims: bool) -> Tracer:
    """The result of a reduction over axes, with dims of size 1 instead of them if requested."""
    if not keepdims:
        return y
    return reshape_tracer(y, tuple(1 if k in axes else n for k, n in enumerate(x.shape)))


def accumulated(x: Tracer, dtype: Any) -> Tracer:
    """The operand of a sum or product in the dtype in which NumPy accumulates: integers in 64 bits."""
    if dtype is not None:
        return lift_as(x, canonical(dtype))
    return x if x.dtype.kind in "fc" else lift_as(x, canonical(np.uint64 if x.dtype.kind == "u" else np.int64))


def _chosen(x: Tracer, where: Any, other: Any) -> Tracer:
    """`x` where `where` holds (everywhere if it is None), `other` elsewhere; both broadcast together."""
    if where is None:
        return x
    mask = as_bool(where)
    shape = broadcast_shapes([x.shape, mask.shape])
    return select(broadcast_tracer(mask, shape), broadcast_tracer(x, shape), broadcast_tracer(lift_as(other, x.dtype), shape))


def _with_initial(y: Tracer, kind: str, initial: Any) -> Tracer:
    """The result of a reduction that starts from a value."""
    return y if initial is None else build(kind, y, broadcast_tracer(lift_as(initial, y.dtype), y.shape))


def _accumulate(a: Any, kind: str, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Tracer:
    x = _chosen(accumulated(lift(a), dtype), where, 0 if kind in ("add", "or") else 1)
    if x.dtype == BOOL:
        kind = "or" if kind == "add" else "and"
    return _with_initial(_reduce(x, kind, normalize_axes(axis, x.ndim), keepdims), kind, initial)


@array_function
def sum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """`np.sum`; bools and int32 are summed in int64."""
    return _accumulate(a, "add", axis, dtype, keepdims, initial, where)


@array_function
def prod(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """`np.prod`; bools and int32 are multiplied in int64."""
    return _accumulate(a, "mul", axis, dtype, keepdims, initial, where)


def _extreme(a: Any, kind: str, axis: Any, keepdims: bool, initial: Any, where: Any) -> Tracer:
    if where is not None and initial is None:
        raise ShapeError(f"{kind} with where= may have no elements: give initial=")
    x = _chosen(lift(a), where, initial)
    axes = normalize_axes(axis, x.ndim)
    if initial is None and math.prod(x.shape[k] for k in axes) == 0:
        raise ShapeError(f"{kind} over no elements has no value: give initial=")
    if is_complex_dtype(x.dtype):
        y = _keep(_extreme_of_complex(x, kind, axes), x, axes, keepdims)
        return y if initial is None else (maximum if kind == "max" else minimum)(y, initial)
    return _with_initial(_reduce(x, kind, axes, keepdims), kind, initial)


def _lexicographic(x: Tracer, kind: str, axes: tuple[int, ...]) -> tuple[Tracer, Tracer, Tracer, Tracer]:
    """Of complex numbers, which are ordered by their real parts, then by the imaginary ones: whether a part is NaN, where the
    extremes stand among those without, and the two parts of the extreme, repeated along the axes."""

    def along(y: Tracer, kind: str) -> Tracer:
        return broadcast_tracer(_reduce(y, kind, axes, True), x.shape)

    real, imaginary = complex_parts(x)
    worst = full_like_tracer(real, -math.inf if kind == "max" else math.inf)
    is_nan = build("or", compare("ne", real, real), compare("ne", imaginary, imaginary))
    first = along(select(is_nan, worst, real), kind)
    leads = build("and", compare("eq", real, first), build("not", is_nan))
    second = along(select(leads, imaginary, worst), kind)
    return is_nan, build("and", leads, compare("eq", imaginary, second)), first, second


def _extreme_of_complex(x: Tracer, kind: str, axes: tuple[int, ...]) -> Tracer:
    is_nan, _, first, second = _lexicographic(x, kind, axes)
    has_nan = _reduce(is_nan, "or", axes, False)
    found = [_reduce(part, kind, axes, False) for part in (first, second)]
    return build("complex", *(select(has_nan, full_like_tracer(part, math.nan), part) for part in found))


@array_function
def max(a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """`np.max`; NaN if any is NaN. Complex numbers are ordered by their real parts, then by the imaginary ones."""
    return _extreme(a, "max", axis, keepdims, initial, where)


@array_function
def min(a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """`np.min`; NaN if any is NaN; complex numbers as in `max`."""
    return _extreme(a, "min", axis, keepdims, initial, where)


amax, amin = max, min


@array_function
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.ptp`: the greatest minus the least."""
    x = lift(a)
    return max(x, axis, keepdims=keepdims) - min(x, axis, keepdims=keepdims)


@array_function
def any(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Any:
    """`np.any`."""
    x = _chosen(as_bool(a), where, False)
    return _reduce(x, "or", normalize_axes(axis, x.ndim), keepdims)


@array_function
def all(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Any:
    """`np.all`."""
    x = _chosen(as_bool(a), where, True)
    return _reduce(x, "and", normalize_axes(axis, x.ndim), keepdims)


@array_function
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.count_nonzero`."""
    return sum(as_bool(a), axis, keepdims=keepdims)


def _arg(a: Any, op: str, axis: int | None, keepdims: bool) -> Tracer:
    x = lift(a)
    if is_complex_dtype(x.dtype) and x.size:
        dims = tuple(range(x.ndim)) if axis is None else (normalize_axis(axis, x.ndim),)
        is_nan, is_extreme, _, _ = _lexicographic(x, op.removeprefix("arg"), dims)
        has_nan = broadcast_tracer(_reduce(is_nan, "or", dims, True), x.shape)
        x, op = build("or", is_nan, build("and", is_extreme, build("not", has_nan))), "argmax"
    if axis is None:
        y = build(op, reshape_tracer(x, (x.size,)), dim=0) if x.size else None
        axes = tuple(range(x.ndim))
    else:
        axes = (normalize_axis(axis, x.ndim),)
        y = build(op, x, dim=axes[0]) if x.shape[axes[0]] else None
    if y is None:
        raise ShapeError(f"{op} over no elements has no value")
    return _keep(y, x, axes, keepdims)


@array_function
def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """`np.argmax`: the index of the first greatest element, int64."""
    return _arg(a, "argmax", axis, keepdims)


@array_function
def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """`np.argmin`: the index of the first least element, int64."""
    return _arg(a, "argmin", axis, keepdims)


def _as_float(a: Any, dtype: Any) -> Tracer:
    x = lift(a)
    if dtype is not None:
        wanted = canonical(dtype)
        if not is_inexact_dtype(wanted):
            raise DTypeError(f"a variance is a float or a complex number, got dtype={wanted}")
        return lift_as(x, wanted)
    return x if x.dtype.kind in "fc" else lift_as(x, inexact(x.dtype))


def _composite(op: str, x: Tracer, axes: tuple[int, ...], keepdims: bool, **props: Any) -> Tracer:
    if math.prod(x.shape[k] for k in axes) == 0:
        y = full_like_tracer(build("reduce", x, kind="add", dims=axes), math.nan)
        return _keep(y, x, axes, keepdims)
    if not axes:
        if op != "var":
            return x
        # of one element, of which one may not be finite; builtins: max is a function of arrays here
        off = build("sub", x, x)
        return build("div", off, full_like_tracer(off, builtins.max(1 - props["correction"], 0)))
    return _keep(build(op, x, dims=axes, **props), x, axes, keepdims)


@array_function
def mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = None) -> Any:
    """`np.mean`; of integers in float64, of no elements NaN. With an integer `dtype` the quotient is truncated to it."""
    if dtype is not None and is_integer_dtype(canonical(dtype)):
        total = sum(a, axis, dtype, keepdims=keepdims, where=where)
        count = sum(full_like_tracer(lift(a), 1), axis, np.int64, keepdims=keepdims, where=where)
        return lift_as(total / count, total.dtype)
    x = _as_float(a, dtype)
    if where is not None:
        return _mean_where(x, as_bool(where), axis, keepdims)
    return _composite("mean", x, normalize_axes(axis, x.ndim), keepdims)


def _mean_where(x: Tracer, mask: Tracer, axis: Any, keepdims: bool, less: float = 0) -> Tracer:
    """The mean of the elements where a mask holds, whose count is reduced by `less`."""
    shape = broadcast_shapes([x.shape, mask.shape])
    count = lift_as(sum(broadcast_tracer(mask, shape), axis, keepdims=keepdims), x.dtype)
    if less:  # NumPy: no variance of so few elements
        count = build("max", count - less, full_like_tracer(count, 0))
    return sum(x, axis, keepdims=keepdims, where=mask) / count


@array_function
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
    correction: int | None = None,
) -> Any:
    """`np.var`: the mean squared distance from the mean, over `n - ddof` (`correction` is another name).

    Args:
        mean: the mean, with dims of size 1 instead of `axis`, where it is known already.
    """
    x = _as_float(a, dtype)
    less = ddof if correction is None else correction
    if is_complex_dtype(x.dtype):  # a squared distance is that of both parts
        means = (None, None) if mean is None else complex_parts(lift_as(mean, x.dtype))
        re, im = (
            var(p, axis, ddof=less, keepdims=keepdims, where=where, mean=m)
            for p, m in zip(complex_parts(x), means, strict=True)
        )
        return re + im
    axes = normalize_axes(axis, x.ndim)
    center = None if mean is None else lift_as(mean, x.dtype)
    if where is not None:
        mask = as_bool(where)
        off = _chosen(x, mask, 0) - (_mean_where(x, mask, axis, True) if center is None else center)
        return _mean_where(off * off, mask, axis, keepdims, less)
    if center is None and int(less) == less:
        return _composite("var", x, axes, keepdims, correction=int(less))
    off = x - (_composite("mean", x, axes, True) if center is None else center)
    count = math.prod(x.shape[k] for k in axes)
    return sum(off * off, axis, keepdims=keepdims) / builtins.max(count - less, 0.0)


@array_function
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
    correction: int | None = None,
) -> Any:
    """`np.std`: the square root of the variance."""
    spread = var(lift(a), axis, dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction)
    return build("sqrt", spread)


@array_function
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """`np.average`; with `returned` also the sum of the weights, in the shape of the result."""
    x = lift(a)
    if weights is None:
        y = mean(x, axis, keepdims=keepdims)
        return (y, full_like_tracer(y, math.prod(x.shape[k] for k in normalize_axes(axis, x.ndim)))) if returned else y
    w = lift(weights)
    if w.shape != x.shape:
        axes = () if axis is None else [normalize_axis(k, x.ndim) for k in (axis if isinstance(axis, tuple) else (axis,))]
        if axis is None or w.shape != tuple(x.shape[k] for k in axes):
            facts = f"got weights {list(w.shape)} of an array {list(x.shape)}"
            raise ShapeError(f"average weights must have the shape of the array or of the axes {axis}, {facts}")
        w = transpose_tracer(w, sorted(range(w.ndim), key=lambda k: axes[k]))
        w = reshape_tracer(w, tuple(n if k in axes else 1 for k, n in enumerate(x.shape)))
    total = sum(broadcast_tracer(w, x.shape), axis, keepdims=keepdims)
    y = sum(x * w, axis, keepdims=keepdims) / total
    return (y, lift_as(total, y.dtype)) if returned else y


# -- without NaN, and comparisons of whole arrays


def not_nan(x: Tracer) -> Tracer | None:
    """Where elements are not NaN; None of a dtype that has none."""
    return compare("eq", x, x) if x.dtype.kind == "f" else None


def without_nan(a: Any, value: float) -> Tracer:
    """An array with a number instead of each NaN."""
    x = lift(a)
    return _chosen(x, not_nan(x), value)


def _ignoring_nan(function: Callable[..., Any]) -> Callable[..., Any]:
    def ignoring(
        a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = None, **options: Any
    ) -> Any:
        x = lift(a)
        there = not_nan(x)
        if where is not None:
            chosen = broadcast_tracer(as_bool(where), x.shape)
            there = chosen if there is None else build("and", there, chosen)
        return function(x, axis, dtype, keepdims=keepdims, where=there, **options)

    ignoring.__name__ = ignoring.__qualname__ = f"nan{function.__name__}"
    ignoring.__doc__ = f"`np.{ignoring.__name__}`, over the elements that are not NaN."
    return array_function(ignoring)


nansum, nanprod, nanmean, nanvar, nanstd = map(_ignoring_nan, (sum, prod, mean, var, std))


def _nan_extreme(a: Any, kind: str, axis: Any, keepdims: bool, initial: Any, where: Any) -> Tracer:
    x = lift(a)
    y = _extreme(without_nan(x, -math.inf if kind == "max" else math.inf), kind, axis, keepdims, initial, where)
    if x.dtype.kind != "f" or initial is not None:
        return y
    nothing = all(compare("ne", x, x), axis, keepdims=keepdims, where=where)
    return select(nothing, full_like_tracer(y, math.nan), y)


@array_function
def nanmax(a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """`np.nanmax`: the greatest element that is not NaN."""
    return _nan_extreme(a, "max", axis, keepdims, initial, where)


@array_function
def nanmin(a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """`np.nanmin`: the least element that is not NaN."""
    return _nan_extreme(a, "min", axis, keepdims, initial, where)


def _nan_arg(a: Any, op: str, axis: int | None, keepdims: bool) -> Tracer:
    x = lift(a)
    y = _arg(without_nan(x, -math.inf if op == "argmax" else math.inf), op, axis, keepdims)
    if x.dtype.kind != "f":
        return y
    return select(all(compare("ne", x, x), axis, keepdims=keepdims), full_like_tracer(y, -1), y)


@array_function
def nanargmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """`np.nanargmax`: the index of the first greatest element that is not NaN; -1 where all are NaN, as in jax."""
    return _nan_arg(a, "argmax", axis, keepdims)


@array_function
def nanargmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """`np.nanargmin`: the index of the first least element that is not NaN; -1 where all are NaN, as in jax."""
    return _nan_arg(a, "argmin", axis, keepdims)


@array_function
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """`np.allclose`."""
    return all(isclose(lift(a), lift(b), rtol, atol, equal_nan))


@array_function
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """`np.array_equal`: one shape and equal elements; with `equal_nan` NaN equals NaN."""
    x, y = lift(a1), lift(a2)
    if x.shape != y.shape:
        return lift(np.bool_(False))
    same = x == y
    return all(same | ((x != x) & (y != y)) if equal_nan else same)


@array_function
def array_equiv(a1: Any, a2: Any) -> Any:
    """`np.array_equiv`: equal elements after broadcasting."""
    x, y = lift(a1), lift(a2)
    try:
        broadcast_shapes([x.shape, y.shape])
    except ValueError:
        return lift(np.bool_(False))
    return all(x == y)

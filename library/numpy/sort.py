"""lamina.numpy: sorting, and functions of the sorted order.

All sorts are stable; NaN come last, and zeros of either sign are equal.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api import (
    Tracer,
    array_function,
    broadcast_tracer,
    build,
    concrete_array,
    config,
    full_like_tracer,
    is_traced,
    lift,
    lift_as,
    lift_float,
    several,
)
from ...api.dtypes import BOOL, FLOAT64, INT64, is_complex_dtype, is_integer_dtype, narrowed, result_type
from ...api.errors import DTypeError, ShapeError
from ...api.functions import while_loop
from ...api.sizes import Size, require_at_least
from .axes_and_shapes import (
    normalize_axes,
    normalize_axis,
    reshape_tracer,
    reverse_tracer,
    slice_axis,
    static_int,
    transpose_tracer,
)
from .complex_formulas import parts as complex_parts
from .create import full, linspace
from .elementwise import compare, select
from .index import take_along_axis
from .reduce import any as any_of
from .reduce import max as max_of
from .reduce import min as min_of
from .reduce import sum as sum_of
from .scan import cumsum


def _rows(x: Tracer, axis: int | None) -> tuple[Tracer, list[int]]:
    """`x` with an axis last, and the order of dims that undoes this; without an axis its elements in one row."""
    if axis is None:
        x, axis = reshape_tracer(x, (x.size,)), 0
    axis = normalize_axis(axis, x.ndim)
    perm = [*(d for d in range(x.ndim) if d != axis), axis]
    return transpose_tracer(x, perm), [perm.index(d) for d in range(x.ndim)]


def sorted_by(keys: Sequence[Tracer], *others: Tracer) -> Sequence[Tracer]:
    """Rows in the order of some keys, the first of which decides; then others moved along."""
    operands = (*keys, *others)
    one = len(operands) == 1
    return [build("sort", *operands, keys=1)] if one else several("sort", *operands, keys=len(keys))


def sort_together(keys: Sequence[Tracer], others: Sequence[Tracer], axis: int) -> list[Tracer]:
    """Keys, the first of which decides, in their order along an axis, and others of their shape moved along."""
    rows = [_rows(x, axis) for x in (*keys, *others)]
    _, back = rows[0]
    found = sorted_by([x for x, _ in rows[: len(keys)]], *(x for x, _ in rows[len(keys) :]))
    return [transpose_tracer(x, back) for x in found]


@array_function
def sort(
    a: Any, axis: int | None = -1, kind: str | None = None, *, stable: bool | None = None, descending: bool = False
) -> Any:
    """`np.sort`: the elements along an axis in ascending order, NaN last; `descending` from the other end.

    Args:
        a: an array; with `axis=None` its elements in one dim.
        kind, stable: accepted as NumPy's; every sort is stable.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.sort(np.array([3, 1, 2]))
    array([1, 2, 3])
    >>> lm.numpy.sort(np.array([[3., 1.], [np.nan, 2.]]), axis=1, descending=True)
    array([[ 3.,  1.],
           [nan,  2.]])
    """
    x, back = _rows(lift(a), axis)
    if is_complex_dtype(x.dtype):
        y = build("complex", *sorted_by(_keys(x))[1:])
    else:
        (y,) = sorted_by([x])
    return transpose_tracer(reverse_tracer(y, [y.ndim - 1]) if descending else y, back)


def _keys(x: Tracer) -> list[Tracer]:
    """The sort keys of numbers: themselves; of complex ones first which parts are NaN, as in NumPy, then the parts."""
    if not is_complex_dtype(x.dtype):
        return [x]
    real, imaginary = complex_parts(x)
    weights = (lift_as(compare("ne", part, part), np.dtype(np.int8)) for part in (real, imaginary))
    of_real, of_imaginary = weights
    return [of_real + of_real + of_imaginary, real, imaginary]


@array_function
def sort_complex(a: Any, /) -> Any:
    """`np.sort_complex`: numbers as complex ones, sorted along the last axis by real, then by imaginary parts."""
    x = sort(lift(a))
    return x if is_complex_dtype(x.dtype) else lift_as(x, np.result_type(x.dtype, np.complex64))


@array_function
def argsort(
    a: Any, axis: int | None = -1, kind: str | None = None, *, stable: bool | None = None, descending: bool = False
) -> Any:
    """`np.argsort`: the indices that sort along an axis, int64; equal elements keep their order, also where they descend.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.argsort(np.array([30, 10, 20, 10]))
    array([1, 3, 2, 0])
    >>> lm.numpy.argsort(np.array([30, 10, 20, 10]), descending=True)
    array([0, 2, 1, 3])
    """
    x, back = _rows(lift(a), axis)
    last = [x.ndim - 1]
    found = build("argsort", *_keys(reverse_tracer(x, last) if descending else x))
    positions = lift_as(found, INT64)
    if descending:
        positions = lift_as(x.shape[-1] - 1, INT64) - reverse_tracer(positions, last)
    return transpose_tracer(positions, back)


@array_function
def lexsort(keys: Any, axis: int = -1) -> Any:
    """`np.lexsort`: the indices that sort by several keys, of which the last one decides, int64.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.lexsort((np.array([9, 4, 0, 4]), np.array([1, 5, 1, 4])))
    array([2, 0, 3, 1])
    """
    given = [lift(key) for key in keys]
    if not given or any(x.shape != given[0].shape for x in given):
        raise ShapeError(f"lexsort needs keys of one shape, got {', '.join(str(list(x.shape)) for x in given) or 'none'}")
    rows = [_rows(key, axis) for x in reversed(given) for key in _keys(x)]
    return transpose_tracer(lift_as(build("argsort", *(x for x, _ in rows)), INT64), rows[0][1])


@array_function
def partition(a: Any, kth: int | Sequence[int], axis: int | None = -1, kind: str = "introselect") -> Any:
    """`np.partition`: element `kth` where it is when sorted, no greater ones before it. The others are sorted, too.

    Args:
        kth: one index, or several.
        kind: "introselect", NumPy's only one.
    """
    return sort(_checked(lift(a), kth, axis, kind), axis)


@array_function
def argpartition(a: Any, kth: int | Sequence[int], axis: int | None = -1, kind: str = "introselect") -> Any:
    """`np.argpartition`: the indices of `partition`, int64."""
    return argsort(_checked(lift(a), kth, axis, kind), axis)


def _checked(x: Tracer, kth: int | Sequence[int], axis: int | None, kind: str) -> Tracer:
    if kind != "introselect":
        raise ShapeError(f"partition kind must be 'introselect', got {kind!r}")
    size = x.size if axis is None else x.shape[normalize_axis(axis, x.ndim)]
    for position in map(operator.index, np.ravel(kth).tolist()):
        if isinstance(size, Size):
            require_at_least(size, position + 1 if position >= 0 else -position)
        elif not -size <= position < size:
            raise ShapeError(f"kth {position} is out of bounds for {size} elements")
    return x


@array_function
def top_k(a: Any, k: int, axis: int = -1) -> tuple[Any, Any]:
    """The `k` greatest elements along an axis, in descending order, and their indices, int64.

    Of equal elements the first ones are chosen; NaN are the greatest. Cost: one pass over the array where `k` is small.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.top_k(np.array([3, 9, 5, 9]), 2)
    (array([9, 9]), array([1, 3]))
    """
    x, back = _rows(lift(a), axis)
    values, positions = (transpose_tracer(y, back) for y in several("top_k", x, k=static_int(k, "k")))
    return values, positions


# --------------------------------------------------------------------------------------------------------------------
# Quantiles

_PLOTTING_POSITIONS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
"""Alpha and beta of the continuous methods other than linear, which is (1, 1): Hyndman and Fan, Sample Quantiles, 1996."""
_BY_SHARE = "inverted_cdf"
_METHODS = (
    *("linear", "lower", "higher", "nearest", "midpoint", *_PLOTTING_POSITIONS),
    *("averaged_inverted_cdf", "closest_observation", _BY_SHARE),
)
_MEAN = "mean"
"""As midpoint, rounded as a mean, for medians."""


def _quantile(
    a: Any, q: Any, axis: Any, method: str, keepdims: bool, skips_nan: bool, unit: float = 1, *, weights: Any = None
) -> Tracer:
    """Quantiles of the elements along some axes; the dims of `q` come first."""
    if method not in (*_METHODS, _MEAN):
        raise ShapeError(f"method must be one of {', '.join(_METHODS)}, got {method!r}")
    if weights is not None and method != _BY_SHARE:
        raise ShapeError(f"weights need method={_BY_SHARE!r}, got {method!r}")
    x = lift_float(a) if config.promotion == "jax" else lift(a)
    if is_complex_dtype(x.dtype) and method != _MEAN:
        raise DTypeError(f"quantiles are of real numbers, as in NumPy, got {x.dtype}: take .real, .imag or abs()")
    wanted = x.dtype if x.dtype.kind == "f" else FLOAT64
    q = lift_as(q, wanted if type(q) in (int, float) else result_type([wanted, lift(q).dtype]))
    if q.dtype.kind != "f" or q.ndim > 1:
        raise ShapeError(f"quantiles are numbers or one dim of them, got {q.dtype} {list(q.shape)}")
    q = q / unit if unit != 1 else q
    axes = normalize_axes(axis, x.ndim)
    kept = [d for d in range(x.ndim) if d not in axes]
    others = tuple(x.shape[d] for d in kept)
    n = math.prod([x.shape[d] for d in axes])
    if isinstance(n, Size):
        require_at_least(n, 1)
    shape = (*q.shape, *(tuple(1 if d in axes else m for d, m in enumerate(x.shape)) if keepdims else others))
    if not isinstance(n, Size) and n == 0:
        return full(shape, np.nan, result_type([q.dtype, x.dtype]))
    rows = reshape_tracer(transpose_tracer(x, [*kept, *axes]), (*others, n))
    shares = None
    if method == _BY_SHARE:
        weighed = _weights(weights, x, axes, q.dtype)
        shares = reshape_tracer(transpose_tracer(weighed, [*kept, *axes]), rows.shape)
        shares = select(compare("eq", rows, rows), shares, full_like_tracer(shares, 0)) if skips_nan else shares
    rows, *moved = [sort(rows)] if shares is None else sorted_by([rows], shares)
    # one column for each quantile
    points = broadcast_tracer(reshape_tracer(q, (q.size,)), (*others, q.size))
    if moved:
        found = _up_to_share(rows, moved[0], points)
    elif skips_nan:
        count = sum_of(compare("eq", rows, rows), -1, keepdims=True)
        found = _between(rows, _position(points, lift_as(broadcast_tracer(count, points.shape), q.dtype), method), method)
    else:
        found = _between(rows, _position(points, n, method), method)
    if x.dtype.kind in "fc" and not skips_nan:
        greatest = slice_axis(rows, rows.ndim - 1, n - 1, n)
        has_nan = broadcast_tracer(compare("ne", greatest, greatest), found.shape)
        nan = full_like_tracer(found, np.nan) if x.dtype.kind == "f" else broadcast_tracer(greatest, found.shape)
        found = select(has_nan, nan, found)
    found = transpose_tracer(found, [found.ndim - 1, *range(found.ndim - 1)])
    return reshape_tracer(found, shape)


def _weights(weights: Any, x: Tracer, axes: Sequence[int], dtype: np.dtype[Any]) -> Tracer:
    """One weight an element, 1 by default."""
    if weights is None:
        return lift_as(broadcast_tracer(lift_as(1, dtype), x.shape), dtype)
    w = lift_as(weights, dtype)
    if w.shape == x.shape:
        return w
    if len(axes) != 1 or w.shape != (x.shape[axes[0]],):
        raise ShapeError(f"weights are of the shape {list(x.shape)} of the array, or of its one axis, got {list(w.shape)}")
    return broadcast_tracer(reshape_tracer(w, tuple(n if d in axes else 1 for d, n in enumerate(x.shape))), x.shape)


def _up_to_share(rows: Tracer, weights: Tracer, points: Tracer) -> Tracer:
    """The first of sorted elements up to which at least a share of the weights stands; none before the first weight counts."""
    shares = cumsum(weights, -1)
    shares = lift(shares / shares[..., -1:])
    shares = select(compare("eq", shares, full_like_tracer(shares, 0)), full_like_tracer(shares, -1), shares)
    before = sum_of(shares[..., None, :] < points[..., :, None], -1)
    last = build("min", lift_as(before, INT64), lift_as(full_like_tracer(before, rows.shape[-1] - 1), INT64))
    return lift(take_along_axis(rows, last, -1))


def _position(points: Tracer, n: Any, method: str) -> Tracer:
    """Where quantiles are in sorted rows of `n` elements: an index with a fraction, 0 to n - 1; 0 in a row without elements."""
    if method in _PLOTTING_POSITIONS:
        alpha, beta = _PLOTTING_POSITIONS[method]
        position = points * n + (alpha + points * (1 - alpha - beta)) - 1
    elif method == "averaged_inverted_cdf":
        position = points * n - 1
        above = build("ceil", position)
        position = select(compare("eq", position, above), position + 0.5, above)
    elif method == "closest_observation":
        position = build("rint", points * n) - 1  # to the even one, counted from 1, of two as close
    else:
        position = points * (n - 1)
    last = n - 1 if isinstance(n, Tracer) else lift_as(full_like_tracer(position, 1) * (n - 1), position.dtype)
    return build("max", build("min", position, last), full_like_tracer(position, 0))


def _between(rows: Tracer, position: Tracer, method: str) -> Tracer:
    """The values at positions in sorted rows that may lie between two elements."""
    low = build("floor", position)
    if method in ("nearest", "closest_observation"):
        return take_along_axis(rows, lift_as(build("rint", position), INT64), -1)
    if method == "lower":
        return take_along_axis(rows, lift_as(low, INT64), -1)
    high = build("ceil", position)
    if method == "higher":
        return take_along_axis(rows, lift_as(high, INT64), -1)
    dtype = rows.dtype if is_complex_dtype(rows.dtype) else position.dtype
    first, second = (lift_as(take_along_axis(rows, lift_as(at, INT64), -1), dtype) for at in (low, high))
    if method == _MEAN:
        mixed = (first + second) * 0.5
    else:
        share = full_like_tracer(position, 0.5) if method == "midpoint" else position - low
        # from the nearer end, as NumPy: exact at both
        step = second - first
        near, far = first + step * share, second - step * (1 - share)
        mixed = select(compare("ge", share, full_like_tracer(share, 0.5)), far, near)
    return select(compare("eq", first, second), first, mixed)  # inf - inf


def _of_shares(name: str, doc: str, skips_nan: bool, unit: float = 1) -> Callable[..., Any]:
    def function(
        a: Any,
        q: Any,
        axis: Any = None,
        *,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        weights: Any = None,
    ) -> Any:
        return _quantile(a, q, axis, method, keepdims, skips_nan, unit, weights=weights)

    function.__name__, function.__qualname__, function.__doc__ = name, name, doc
    return array_function(function)


quantile = _of_shares(
    "quantile",
    """`np.quantile`; NaN where an element is. The methods are NumPy's: linear, hazen, weibull, nearest ...

    `weights`, of the shape of `a` or of its one `axis`, go with inverted_cdf: the least element up to which at least that share
    of their sum stands. `overwrite_input` allows to change the array, which does not happen. Memory: elements times quantiles.

    >>> import numpy as np, lamina as lm
    >>> float(lm.numpy.quantile(np.array([1., 2., 4., 8.]), 0.5))
    3.0
    """,
    skips_nan=False,
)
percentile = _of_shares("percentile", "`np.percentile`: `quantile` in percent.", skips_nan=False, unit=100)
nanquantile = _of_shares("nanquantile", "`np.nanquantile`, over the elements that are not NaN.", skips_nan=True)
nanpercentile = _of_shares("nanpercentile", "`np.nanpercentile`, over the elements that are not NaN.", skips_nan=True, unit=100)


@array_function
def median(a: Any, axis: Any = None, *, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """`np.median`: the mean of the two elements in the middle, or the one; NaN where an element is."""
    return _quantile(a, 0.5, axis, _MEAN, keepdims, False)


@array_function
def nanmedian(a: Any, axis: Any = None, *, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """`np.nanmedian`: of the elements that are not NaN."""
    return _quantile(a, 0.5, axis, _MEAN, keepdims, True)


# --------------------------------------------------------------------------------------------------------------------
# Indices in sorted arrays

_FEW = 32
"""A sorted array of fewer elements is compared as a whole, a longer one is halved; one of an open size by a loop."""


def _is_less(x: Tracer, y: Tracer) -> Tracer:
    """Whether `x` comes before `y`, NaN last."""
    if is_complex_dtype(x.dtype):  # by the first key that differs; NaN in both is no difference
        (c, p, q), (d, r, s) = _keys(x), _keys(y)
        unknown = build("and_", compare("ne", p, p), compare("ne", r, r))
        less = build("and_", build("or_", compare("eq", p, r), unknown), compare("lt", q, s))
        less = build("and_", compare("eq", c, d), build("or_", compare("lt", p, r), less))
        return build("or_", compare("lt", c, d), less)
    less = compare("lt", x, y)
    if x.dtype.kind != "f":
        return less
    return build("or_", less, build("and_", compare("eq", x, x), compare("ne", y, y)))


def _places(x: Tracer, v: Tracer, side: str) -> Tracer:
    """How many elements of sorted `x` come before each one of `v`, or with side `right` do not come after it."""

    def is_before(element: Tracer, value: Tracer) -> Tracer:
        return _is_less(element, value) if side == "left" else build("not", _is_less(value, element))

    n = x.shape[0]
    if isinstance(n, Size):
        return _halved(x, v, is_before)
    if n < _FEW:
        shape = (*v.shape, n)
        values = broadcast_tracer(reshape_tracer(v, (*v.shape, 1)), shape)
        return sum_of(is_before(broadcast_tracer(x, shape), values), -1)
    count = lift_as(full(v.shape, 0, INT64), INT64)
    step = 1 << (n.bit_length() - 1)
    while step:  # `count` elements come before
        next_one = count + step
        element = build("gather", x, next_one - 1, at=(0,))  # its last element where this is outside, which is excluded
        fits = build("and_", compare("le", next_one, full_like_tracer(next_one, n)), is_before(element, v))
        count = select(fits, next_one, count)
        step //= 2
    return count


def _halved(x: Tracer, v: Tracer, is_before: Callable[[Tracer, Tracer], Tracer]) -> Tracer:
    """`_places` in an array of symbolic size: as many steps as its size has bits."""
    x, v = (build("stop_gradient", z) if z.dtype.kind == "f" else z for z in (x, v))  # a loop over them needs no derivative
    left = lift_as(x.shape[0], INT64)  # the place is among `count` to `count + left`, for all elements alike

    def halve(state: tuple[Tracer, Tracer]) -> tuple[Tracer, Tracer]:
        count, left = state
        half = (left + 1) // 2
        further = count + half
        element = build("gather", x, further - 1, at=(0,))
        return select(is_before(element, v), further, count), left - half

    return while_loop(lambda state: state[1] > 0, halve, (lift_as(full(v.shape, 0, INT64), INT64), left))[0]


@array_function
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """`np.searchsorted`: where elements of `v` go into sorted `a`, int64.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.searchsorted(np.array([1, 3, 5]), np.array([0, 3, 9]))
    array([0, 1, 3])
    """
    if side not in ("left", "right"):
        raise ShapeError(f"side must be left or right, got {side!r}")
    x, v = lift(a), lift(v)
    if x.ndim != 1:
        raise ShapeError(f"searchsorted needs a sorted array of one dim, got {list(x.shape)}")
    if sorter is not None:
        x = take_along_axis(x, sorter, 0)
    dtype = result_type([x.dtype, v.dtype])
    return _places(lift_as(x, dtype), lift_as(v, dtype), side)


@array_function
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """`np.digitize`: the number of the bin that each element is in; bins ascend or descend."""
    edges, side = lift(bins), "left" if right else "right"
    up = searchsorted(edges, x, side)
    down = edges.shape[0] - searchsorted(reverse_tracer(edges, [0]), x, side)
    if edges.shape[0] < 2:
        return up
    ascends = compare("le", *(reshape_tracer(slice_axis(edges, 0, k, k + 1), ()) for k in (0, edges.shape[0] - 1)))
    return select(broadcast_tracer(ascends, up.shape), up, down)


@array_function
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: str | None = None
) -> Any:
    """`np.isin`: which elements are among others. `assume_unique` and `kind`, which may make NumPy faster, change nothing."""
    x, tests = lift(element), lift(test_elements)
    dtype = result_type([x.dtype, tests.dtype])
    x, tests = lift_as(x, dtype), reshape_tracer(lift_as(tests, dtype), (tests.size,))
    if (tests.size.bounds[0] < 1) if isinstance(tests.size, Size) else (tests.size < _FEW):
        shape = (*x.shape, tests.size)
        found = any_of(
            compare("eq", broadcast_tracer(reshape_tracer(x, (*x.shape, 1)), shape), broadcast_tracer(tests, shape)), -1
        )
    else:
        (ordered,) = sorted_by([tests])
        found = compare("eq", build("gather", ordered, _places(ordered, x, "left"), at=(0,)), x)
    return build("not", found) if invert else found


# --------------------------------------------------------------------------------------------------------------------
# Counts


@array_function
def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Any:
    """`np.bincount`: how often each integer occurs, or the sum of its weights.

    Args:
        length: the number of counts, needed while tracing; integers that are no less are left out, negative ones count as 0.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.bincount(np.array([1, 3, 1]), length=5)
    array([0, 2, 0, 1, 0])
    """
    if length is None and isinstance(x, Tracer):
        raise ShapeError("bincount has a result whose size depends on values: give length=")
    if length is None:
        known = np.asarray(x)
        length = max(int(minlength), int(known.max()) + 1 if known.size else 0)
    values = lift(x)
    if not (is_integer_dtype(values.dtype) or values.dtype == BOOL) or values.ndim != 1:
        raise DTypeError(f"bincount needs integers in one dim, got {values.dtype} {list(values.shape)}")
    positions = lift_as(values, INT64)
    positions = build("max", positions, full_like_tracer(positions, 0))
    if weights is None:
        each = full_like_tracer(positions, 1)
    else:
        each = lift(weights) if config.promotion == "jax" else lift_as(weights, FLOAT64)
    each = lift_as(each, narrowed(each.dtype))
    return build("scatter", full((length,), 0, each.dtype), each, positions, kind="add", at=(0,))


@array_function
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """`np.histogram_bin_edges`: of a number of bins of equal width, or of bins that are given; weights change nothing."""
    if (dtype := lift(a).dtype).kind == "c":
        raise DTypeError(f"histograms count real numbers, got {dtype}: take .real, .imag or abs()")
    if isinstance(bins, str):  # as many as a rule says of the elements
        given = None if range is None else (float(range[0]), float(range[1]))
        bins = len(np.histogram_bin_edges(concrete_array(a), bins, given)) - 1
    if not isinstance(bins, int | np.integer):
        edges = lift(bins)
        if edges.ndim != 1 or (not is_traced((bins,)) and (np.diff(concrete_array(bins)) < 0).any()):
            raise ShapeError("edges of bins are one dim of numbers that do not fall")
        return edges
    if bins < 1:
        raise ShapeError(f"a number of bins must be at least 1, got {bins}")
    x = lift(a)
    wanted = x.dtype if x.dtype.kind == "f" else FLOAT64
    if range is None:
        low, high = (lift_as(f(x) if x.size else k, FLOAT64) for k, f in enumerate((min_of, max_of)))
    else:
        low, high = (lift_as(end, FLOAT64) for end in range)
    alike = compare("eq", low, high)
    half = full_like_tracer(low, 0.5)
    return lift_as(linspace(select(alike, low - half, low), select(alike, high + half, high), bins + 1), wanted)


@array_function
def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None) -> tuple[Any, Any]:
    """`np.histogram`: how many elements are in each bin, the last one with its end, and the edges of the bins."""
    edges = histogram_bin_edges(a, bins, range)
    x = lift(a)
    x, n = reshape_tracer(x, (x.size,)), edges.shape[0] - 1
    if not isinstance(n, Size) and n < 0:  # no edges: no bins
        return full((0,), 0, INT64), edges
    position = searchsorted(edges, x, "right") - 1
    last = broadcast_tracer(slice_axis(edges, 0, n, n + 1), x.shape)  # pyright: ignore[reportArgumentType]  a size, too
    position = select(x == last, full_like_tracer(position, n - 1), position)
    each = full_like_tracer(position, 1) if weights is None else reshape_tracer(lift(weights), x.shape)
    counts = build("scatter", full((n,), 0, each.dtype), each, position, kind="add", at=(0,))
    if density:
        counts = counts / (edges[1:] - edges[:-1]) / sum_of(counts)
    return counts, edges

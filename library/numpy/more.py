"""lamina.numpy: packed bits, phases, distances of floats, histograms of several dims."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api import (
    BOOL,
    DTypeError,
    ShapeError,
    TracingError,
    array_function,
    concrete_array,
    is_integer_dtype,
    lift,
    lift_as,
    lift_float,
    normalize_axis,
    slice_axis,
    static_int,
)
from ..linalg.factors import eigvals
from .at import At
from .bits import left_shift, nextafter, require_computed, right_shift
from .create import array, eye, full, full_like
from .grids import ravel_multi_index
from .join import concatenate, stack
from .logic import where
from .pad import pad
from .poly import convolve, diff
from .reduce import sum as sum_of
from .scan import cumsum
from .shape import atleast_1d, expand_dims, moveaxis, ndim, ravel, reshape, shape
from .sort import histogram_bin_edges, searchsorted
from .ufuncs import absolute, copysign, not_equal
from .ufuncs import remainder as mod

__all__ = [
    "apply_over_axes", "histogram2d", "histogramdd", "packbits", "poly", "roots", "spacing", "unpackbits", "unwrap",
]  # fmt: skip


# --------------------------------------------------------------------------------------------------------------------
# Bits


def _shifts(bitorder: str) -> Any:
    if bitorder not in ("big", "little"):
        raise ShapeError(f"bitorder must be 'big' or 'little', got {bitorder!r}")
    return np.arange(8, dtype=np.uint8)[:: -1 if bitorder == "big" else 1]


@array_function
def packbits(a: Any, /, axis: int | None = None, bitorder: str = "big") -> Any:
    """`np.packbits`: eight truth values of an axis in one uint8, zeros behind the last."""
    x = lift(a)
    if not (is_integer_dtype(x.dtype) or x.dtype.kind == "b"):
        raise DTypeError(f"packbits takes integers or bools, got {x.dtype}")
    x, dim = (ravel(x), 0) if axis is None else (x, normalize_axis(axis, x.ndim))
    bits = lift_as(not_equal(moveaxis(x, dim, -1), 0), np.dtype(np.uint8))
    bits = concatenate([bits, full((*bits.shape[:-1], -bits.shape[-1] % 8), 0, bits.dtype)], -1)
    groups = reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    return moveaxis(sum_of(left_shift(groups, _shifts(bitorder)), -1, np.uint8), -1, dim)


@array_function
def unpackbits(a: Any, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Any:
    """`np.unpackbits`: the bits of each uint8 along an axis; `count` of them, zeros where there are fewer."""
    x = lift(a)
    if x.dtype != np.uint8:
        raise DTypeError(f"unpackbits takes uint8, got {x.dtype}")
    x, dim = (ravel(x), 0) if axis is None else (x, normalize_axis(axis, x.ndim))
    x = moveaxis(x, dim, -1)
    bits = right_shift(expand_dims(x, -1), _shifts(bitorder)) & np.uint8(1)
    bits = reshape(bits, (*x.shape[:-1], 8 * x.shape[-1]))
    have = bits.shape[-1]
    wanted = have if count is None else static_int(count, "count")
    wanted = max(0, have + wanted) if wanted < 0 else wanted
    bits = slice_axis(bits, bits.ndim - 1, 0, min(wanted, have))
    return moveaxis(pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, max(0, wanted - have))]), -1, dim)


# --------------------------------------------------------------------------------------------------------------------
# Numbers


@array_function
def spacing(x: Any, /) -> Any:
    """`np.spacing`: the distance to the next float away from zero, with the sign of `x`."""
    require_computed("spacing", x)
    x = lift_float(x)
    size = absolute(x)
    return copysign(nextafter(size, full_like(size, np.inf)) - size, x)


@array_function
def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * np.pi) -> Any:
    """`np.unwrap`: jumps of more than half a period (or `discont`) along an axis made shorter by whole periods."""
    x = lift(p)
    if x.dtype == BOOL or (is_integer_dtype(x.dtype) and isinstance(period, float)):
        x = lift_as(x, np.dtype(float))
    dim = normalize_axis(axis, x.ndim)
    if x.shape[dim] < 2:
        return x
    step = diff(x, axis=dim)
    if is_integer_dtype(x.dtype):
        half, rest = divmod(period, 2)
        on_border = rest == 0
    else:
        half, on_border = period / 2, True
    wrapped = mod(step + half, period) - half
    if on_border:
        wrapped = where((wrapped == -half) & (step > 0), half, wrapped)
    change = where(absolute(step) < max(half, half if discont is None else discont), 0, wrapped - step)
    first = slice_axis(x, dim, 0, 1)
    return concatenate([first, slice_axis(x, dim, 1, x.shape[dim]) + cumsum(change, dim)], dim)


@array_function
def poly(seq_of_zeros: Any) -> Any:
    """`np.poly` of roots: the coefficients of the polynomial that has them, from the highest power down.

    Of a square matrix they are its characteristic polynomial, whose roots are the eigenvalues; complex, as in jax.
    """
    zeros = lift(atleast_1d(seq_of_zeros))
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1]:
        zeros = lift(eigvals(zeros))
    if zeros.ndim != 1:
        raise ShapeError(f"poly takes a vector of roots or a square matrix, got shape {list(zeros.shape)}")
    zeros = zeros if zeros.dtype.kind in "fc" else lift_as(zeros, np.dtype(float))
    result = full((1,), 1, zeros.dtype)
    for k in range(zeros.shape[0]):
        result = convolve(result, stack([full((), 1, zeros.dtype), -zeros[k]]))
    return result if zeros.shape[0] else full((), 1.0)


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """`np.roots`: the roots of a polynomial from its coefficients, from the highest power down; complex numbers, as in jax.

    They are the eigenvalues of its companion matrix. Leading zeros of `p` are no coefficients, and trailing ones roots of 0,
    which needs known values; without `strip_zeros` the first coefficient must not be 0.

    Raises:
        ShapeError: no vector.
        TracingError: zeros are to be stripped of a traced array.
    """
    if not strip_zeros:
        return _companion_roots(p)
    try:
        known = concrete_array(p)
    except TracingError:
        rule = (
            "the number of roots depends on the values of a traced array: strip leading zeros before, and use strip_zeros=False"
        )
        raise TracingError(f"roots {rule}") from None
    if known.ndim != 1:
        raise ShapeError(f"roots takes a vector of coefficients, got shape {list(known.shape)}")
    places = np.flatnonzero(known)
    start, stop = (places[0], places[-1] + 1) if places.size else (0, 0)
    found = _companion_roots(known[start:stop])
    return concatenate([found, np.zeros(known.size - stop if places.size else 0, found.dtype)])


@array_function
def _companion_roots(p: Any) -> Any:
    x = lift(p)
    if x.ndim != 1:
        raise ShapeError(f"roots takes a vector of coefficients, got shape {list(x.shape)}")
    x = x if x.dtype.kind in "fc" else lift_as(x, np.dtype(float))
    n = x.shape[0] - 1
    if n < 1:
        return full((0,), 0, np.result_type(x.dtype, np.complex64))
    first = reshape(-x[1:] / x[0], (1, n))
    return eigvals(concatenate([first, eye(n - 1, n, dtype=x.dtype)]))


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Any, list[Any]]:
    """`np.histogramdd`: how many points are in each box, the last ones with their ends, and the edges along each dim.

    Args:
        sample: points, `[n, d]`, or a sequence of `d` vectors.
        bins: a number, one number a dim, or the edges of each dim.
        range: ends of each dim; those of the points by default.
    """
    points = stack(list(sample), -1) if isinstance(sample, tuple | list) else array(sample)
    points = expand_dims(points, -1) if ndim(points) == 1 else points
    dims = shape(points)[1]
    each = [bins] * dims if isinstance(bins, int) else list(bins)
    ends = [None] * dims if range is None else list(range)
    if len(each) != dims or len(ends) != dims:
        raise ShapeError(f"histogramdd of {dims} dims got {len(each)} bins and {len(ends)} ranges")
    edges = [histogram_bin_edges(points[:, k], each[k], ends[k]) for k in np.arange(dims).tolist()]
    counts = _boxes(points, edges, weights)
    if density:
        counts = counts / sum_of(counts)
        for k, e in enumerate(edges):
            counts = counts / reshape(diff(e), [-1 if j == k else 1 for j in np.arange(dims).tolist()])
    return counts, edges


@array_function
def _boxes(points: Any, edges: Any, weights: Any) -> Any:
    x = lift(points)
    sizes, places, inside = [], [], None
    for k, e in enumerate(edges):
        column, n = x[:, k], shape(e)[0] - 1
        place = searchsorted(e, column, "right") - 1
        place = where(column == lift(e)[n], n - 1, place)
        within = (place >= 0) & (place < n)
        inside = within if inside is None else inside & within
        sizes.append(n)
        places.append(place)
    target = where(inside, ravel_multi_index(tuple(places), tuple(sizes), mode="clip"), math.prod(sizes))
    values = full(target.shape, 1.0) if weights is None else weights
    flat = At(full((math.prod(sizes),), 0.0))[target].add(values, mode="drop")
    return reshape(flat, sizes)


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Any, Any, Any]:
    """`np.histogram2d`: how many of the points `(x[k], y[k])` are in each box, and the edges along both dims."""
    alike = not isinstance(bins, int) and (ndim(bins) == 1 if not isinstance(bins, tuple | list) else len(bins) != 2)
    counts, edges = histogramdd([x, y], [bins, bins] if alike else bins, range, density, weights)
    return counts, *edges


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: int | Sequence[int]) -> Any:
    """`np.apply_over_axes`: a reduction along one axis after the other, which stay as dims of 1."""
    for axis in [axes] if isinstance(axes, int) else axes:
        result = func(a, axis)
        a = result if ndim(result) == ndim(a) else expand_dims(result, axis)
    return a

"""lamina.numpy: polynomials, convolutions, differences, interpolation, covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api import (
    Tracer,
    array_function,
    broadcast_tracer,
    build,
    concrete_array,
    config,
    lift,
    lift_as,
    lift_float,
    operand,
    token,
)
from ...api.dtypes import BOOL, FLOAT64, INT64, canonical, dtype_of, is_complex_dtype, result_type
from ...api.errors import ShapeError
from ...api.sizes import Size, least, positive
from .axes_and_shapes import normalize_axis, reshape_tracer, slice_axis, static_int
from .complex import conjugate, imag, real
from .contract import matmul
from .create import arange, diagonal
from .join import concatenate, flip, stack
from .logic import clip, where
from .pad import pad
from .reduce import average
from .reduce import sum as sum_of
from .scan import cumprod
from .shape import atleast_1d, atleast_2d, expand_dims, ravel, transpose
from .sort import argsort, searchsorted
from .ufuncs import absolute, maximum, not_equal, sqrt


def _of_one_dtype(*xs: Any) -> list[Tracer]:
    dtype = result_type([token(operand(x)) for x in xs])
    return [lift_as(x, dtype) for x in xs]


# --------------------------------------------------------------------------------------------------------------------
# Polynomials: coefficients from the highest power down


@array_function
def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """`np.polyval`: the value of a polynomial, by Horner's rule; coefficients are the first dim of `p`.

    `unroll` is accepted as in jax: every step is an op.
    """
    coefficients, x = _of_one_dtype(p, x)
    y: Any = broadcast_tracer(lift_as(0, x.dtype), x.shape)
    for k in range(coefficients.shape[0] if coefficients.ndim else 0):
        y = y * x + coefficients[k]
    return y


def _aligned(a1: Any, a2: Any) -> list[Tracer]:
    xs = [lift(atleast_1d(x)) for x in _of_one_dtype(a1, a2)]
    n = max(x.shape[0] for x in xs)
    return [pad(x, {0: (n - x.shape[0], 0)}) for x in xs]


@array_function
def polyadd(a1: Any, a2: Any) -> Any:
    """`np.polyadd`."""
    x, y = _aligned(a1, a2)
    return x + y


@array_function
def polysub(a1: Any, a2: Any) -> Any:
    """`np.polysub`."""
    x, y = _aligned(a1, a2)
    return x - y


@array_function
def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """`np.polymul`; leading zeros stay, as in jax, unless `trim_leading_zeros` leaves out those of operands that are known."""
    first, second = (trimmed(x) if trim_leading_zeros else lift(x) for x in (a1, a2))
    zero = lift_as(0, result_type([first.dtype, second.dtype]))  # the value of a polynomial without coefficients
    return convolve(*(atleast_1d(x if x.size else zero) for x in (first, second)))


def trimmed(p: Any) -> Any:
    """The coefficients of a polynomial from the first that is not 0; a polynomial of zeros has one.

    Raises:
        TracingError: the coefficients are traced.
    """
    known = np.atleast_1d(concrete_array(p))
    places = np.flatnonzero(known)
    return known[places[0] if places.size else known.size - 1 :]


@array_function
def polyder(p: Any, m: int = 1) -> Any:
    """`np.polyder`: the `m`-th derivative of a polynomial."""
    x = lift_float(p) if config.promotion == "jax" else lift(p)
    for _ in range(static_int(m, "m")):
        x = slice_axis(x, 0, 0, max(x.size - 1, 0)) * arange(x.size - 1, 0, -1)
    return x


@array_function
def polyint(p: Any, m: int = 1, k: Any = 0) -> Any:
    """`np.polyint`: the `m`-th antiderivative, with integration constants `k` (one, or one each), in float64 or complex128."""
    x, times = lift(p), static_int(m, "m")
    if times == 0:
        return x
    x = lift_as(x, result_type([x.dtype, FLOAT64]))
    constants = broadcast_tracer(lift_as(k, x.dtype), (times,))
    for j in range(times):
        x = concatenate([x / arange(x.size, 0, -1, dtype=x.dtype), constants[j : j + 1]])
    return x


@array_function
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """`np.vander`: the powers of each element, the highest first."""
    x = lift(x)
    if x.ndim != 1:
        raise ShapeError(f"vander needs one dim, got shape {list(x.shape)}")
    wide = lift_as(x, result_type([x.dtype, INT64]))
    count: Any = x.size if N is None else static_int(N, "N")
    if isinstance(count, Size):
        k, shape = arange(count), (*x.shape, count)
        repeated = broadcast_tracer(reshape_tracer(wide, (*x.shape, 1)), shape)  # pyright: ignore[reportArgumentType]
        powers = cumprod(where(k == 0, 1, repeated), -1)
        return powers if increasing else flip(powers, -1)
    columns = [broadcast_tracer(lift_as(1, wide.dtype), x.shape)]
    while len(columns) < count:
        columns.append(columns[-1] * wide)
    if count == 0:
        return broadcast_tracer(lift_as(0, wide.dtype), (x.size, 0))
    return stack(columns if increasing else columns[::-1], -1)


# --------------------------------------------------------------------------------------------------------------------
# Convolutions


def _sliding(a: Tracer, v: Tracer, mode: str, what: str) -> Tracer:
    """The sums of products of `v` with each window of `a`, the longer one, into which it fits at least in part."""
    cut = {"full": (v.size - 1, v.size - 1), "same": ((v.size - 1) - (v.size - 1) // 2, (v.size - 1) // 2), "valid": (0, 0)}
    if mode not in cut:
        raise ShapeError(f"{what} mode must be 'full', 'same' or 'valid', got {mode!r}")
    if is_complex_dtype(a.dtype):
        pairs = [_windows(x, y, cut[mode]) for x in (real(a), imag(a)) for y in (real(v), imag(v))]
        return build("complex", pairs[0] - pairs[3], pairs[1] + pairs[2])
    if a.dtype == BOOL:
        return not_equal(_windows(lift_as(a, INT64), lift_as(v, INT64), cut[mode]), 0)
    return _windows(a, v, cut[mode])


def _windows(a: Tracer, v: Tracer, padding: tuple[int, int]) -> Tracer:
    # features last, of which there is one: long sums are added in groups there
    image, filters = reshape_tracer(a, (1, a.size, 1)), reshape_tracer(v, (v.size, 1, 1))
    low, high, last = padding[:1], padding[1:], (0, 2, 1)
    y = build("conv", image, filters, stride=(1,), low=low, high=high, groups=1, x_dims=last, w_dims=(2, 1, 0), y_dims=last)
    return reshape_tracer(y, (y.size,))


def _vectors(a: Any, v: Any, what: str, dtype: Any) -> list[Tracer]:
    if config.promotion == "jax" and dtype is None:
        a, v = lift_float(a), lift_float(v)
    xs = _of_one_dtype(a, v) if dtype is None else [lift_as(x, canonical(dtype)) for x in (a, v)]
    if any(x.ndim != 1 or x.size == 0 for x in xs):
        raise ShapeError(f"{what} needs two vectors that are not empty, got shapes {[list(x.shape) for x in xs]}")
    return xs


@array_function
def convolve(a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """`np.convolve` of two vectors. Costs `2 * a.size * v.size` flops."""
    x, y = _vectors(a, v, "convolve", preferred_element_type)
    x, y = (x, y) if x.size >= y.size else (y, x)
    return _sliding(x, flip(y), mode, "convolve")


@array_function
def correlate(a: Any, v: Any, mode: str = "valid", *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """`np.correlate` of two vectors; complex numbers of the second are conjugated. Costs `2 * a.size * v.size` flops."""
    x, y = _vectors(a, v, "correlate", preferred_element_type)
    y = conjugate(y) if is_complex_dtype(y.dtype) else y
    return _sliding(x, y, mode, "correlate") if x.size >= y.size else flip(_sliding(y, x, mode, "correlate"))


# --------------------------------------------------------------------------------------------------------------------
# Differences and integrals


@array_function
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """`np.diff`: the differences of neighbours along an axis, `n` times; of bools whether they differ."""
    x = lift(a)
    dim = normalize_axis(axis, x.ndim)
    if static_int(n, "n") < 0:
        raise ShapeError(f"diff order must not be negative, got {n}")
    # numbers have a dtype here, as in NumPy
    ends = [more if more is None or isinstance(more, Tracer) else concrete_array(more) for more in (prepend, append)]
    ends = [end if end is None else lift(end) for end in ends]
    before, after = ([] if end is None else [end if end.ndim else _beside(end, x, dim)] for end in ends)
    x = concatenate([*before, x, *after], dim) if before or after else x
    for _ in range(n):
        size = x.shape[dim]
        last, first = slice_axis(x, dim, least(1, size), size), slice_axis(x, dim, 0, positive(size - 1))
        x = not_equal(last, first) if x.dtype == BOOL else last - first
    return x


def _beside(value: Tracer, x: Tracer, dim: int) -> Tracer:
    return broadcast_tracer(value, (*x.shape[:dim], 1, *x.shape[dim + 1 :]))


@array_function
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """`np.ediff1d`: the differences of neighbours in the flat array, with numbers before and after."""
    y = diff(ravel(ary))
    before, after = ([] if part is None else [ravel(lift_as(part, y.dtype))] for part in (to_begin, to_end))
    return concatenate([*before, y, *after])


@array_function
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """`np.gradient`: slopes by central differences, at the ends by one-sided ones.

    Args:
        f: an array of at least two elements along each axis (three with `edge_order=2`).
        varargs: the distance of neighbours, one for all axes or one an axis; or coordinates.
        axis: the axes; all by default.
        edge_order: 1 or 2.

    Returns:
        an array of the shape of `f`, or a tuple with one an axis.
    """
    x = lift(f)
    x = x if x.dtype.kind in "fc" else lift_as(x, FLOAT64)
    axes = list(range(x.ndim)) if axis is None else [normalize_axis(d, x.ndim) for d in np.atleast_1d(axis)]
    if len(varargs) not in (0, 1, len(axes)):
        raise ShapeError(f"gradient needs one distance, or one for each of {len(axes)} axes, got {len(varargs)}")
    if edge_order not in (1, 2):
        raise ShapeError(f"gradient edge_order must be 1 or 2, got {edge_order}")
    spacing = list(varargs) * (len(axes) if len(varargs) == 1 else 1) or [1.0] * len(axes)
    slopes = tuple(_slope(x, d, h, edge_order) for d, h in zip(axes, spacing, strict=True))
    return slopes[0] if len(slopes) == 1 else slopes


def _slope(x: Tracer, dim: int, spacing: Any, order: int) -> Tracer:
    n = x.shape[dim]
    if n < order + 1:
        raise ShapeError(f"gradient needs at least {order + 1} elements along axis {dim}, got shape {list(x.shape)}")
    h = lift_as(spacing, x.dtype)
    if h.ndim == 0:
        steps: Any = broadcast_tracer(h, (n - 1,))
    elif h.shape == (n,):
        steps = diff(h)
    else:
        raise ShapeError(f"gradient needs {n} coordinates along axis {dim}, got shape {list(h.shape)}")

    def at(start: int, stop: int) -> Any:
        return slice_axis(x, dim, start, stop)

    def along(values: Any) -> Any:
        return values.reshape([-1 if k == dim else 1 for k in range(x.ndim)])

    before, after = along(steps[:-1]), along(steps[1:])
    if h.ndim == 0:
        inner = (at(2, n) - at(0, n - 2)) / (2.0 * h)
    else:
        weights = -after / (before * (before + after)), (after - before) / (before * after), before / (after * (before + after))
        inner = weights[0] * at(0, n - 2) + weights[1] * at(1, n - 1) + weights[2] * at(2, n)
    if order == 1:
        first, last = (at(1, 2) - at(0, 1)) / steps[0], (at(n - 1, n) - at(n - 2, n - 1)) / steps[-1]
    else:
        first = _one_sided([at(k, k + 1) for k in (0, 1, 2)], steps[0], steps[1])
        last = -_one_sided([at(n - 1 - k, n - k) for k in (0, 1, 2)], steps[-1], steps[-2])
    return concatenate([first, inner, last], dim)


def _one_sided(x: list[Any], h: Any, k: Any) -> Any:
    """The slope at the first of three points, by the parabola through them; distances are `h` and `k`."""
    return -(2.0 * h + k) / (h * (h + k)) * x[0] + (h + k) / (h * k) * x[1] - h / (k * (h + k)) * x[2]


@array_function
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """`np.trapezoid`: the integral along an axis by the trapezoidal rule."""
    y = lift(y)
    dim = normalize_axis(axis, y.ndim)
    n = y.shape[dim]
    if x is None:
        steps = dx
    else:
        points = lift(x)
        steps = diff(points, axis=0 if points.ndim == 1 else axis)
        if points.ndim == 1:
            steps = steps.reshape([-1 if k == dim else 1 for k in range(y.ndim)])
    means = (slice_axis(y, dim, min(1, n), n) + slice_axis(y, dim, 0, max(n - 1, 0))) / 2.0
    return sum_of(steps * means, axis)  # of the product, which may have more dims than y


@array_function
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """`np.interp`: linear interpolation between points of increasing `xp`, in float64. Cost: `x.size * log2(xp.size)`.

    Raises:
        ShapeError: `xp` and `fp` are no vectors of one size, or empty.

    Args:
        period: of `xp`, whose points need not be in order then; `left` and `right` say nothing.
    """
    x, xp, fp = lift_as(x, FLOAT64), lift_as(xp, FLOAT64), lift(fp)
    fp = fp if is_complex_dtype(fp.dtype) else lift_as(fp, FLOAT64)
    if xp.ndim != 1 or xp.shape != fp.shape or xp.size == 0:
        raise ShapeError(f"interp needs xp and fp of one dim and size, got {list(xp.shape)} and {list(fp.shape)}")
    if period is not None:
        length = absolute(lift_as(period, FLOAT64))
        x, xp = x % length, xp % length
        order = argsort(xp)
        xp, fp = xp[order], fp[order]
        last = xp.size - 1
        xp = concatenate([xp[last:] - length, xp, xp[:1] + length])
        fp, left, right = concatenate([fp[last:], fp, fp[:1]]), None, None
    low, high = xp[0], xp[xp.size - 1]
    if xp.size == 1:
        y: Any = broadcast_tracer(fp[0], x.shape)
    else:
        k = clip(searchsorted(xp, x, "right"), 1, xp.size - 1)
        step = xp[k] - xp[k - 1]
        flat = step == 0
        y = fp[k - 1] + (x - xp[k - 1]) / where(flat, 1.0, step) * (fp[k] - fp[k - 1])
        y = where(flat, fp[k], y)
    y = where(x < low, fp[0] if left is None else left, y)
    return where(x > high, fp[fp.size - 1] if right is None else right, y)


# --------------------------------------------------------------------------------------------------------------------
# Covariances


@array_function
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """`np.cov`, in float64 or complex128 unless `dtype` is given: of variables in rows, or in columns with `rowvar=False`."""
    given = [dtype_of(token(lift(z))) for z in (m, y) if z is not None]
    wanted = result_type([*given, FLOAT64]) if dtype is None else canonical(dtype)
    x = _variables(m, rowvar, wanted)
    if y is not None:
        x = concatenate([x, _variables(y, rowvar, wanted)], 0)
    less = (0 if bias else 1) if ddof is None else ddof
    weights = None
    for given in (fweights, aweights):
        if given is not None:
            one = lift_as(given, wanted)
            if one.shape != x.shape[1:]:
                raise ShapeError(f"cov needs {x.shape[1]} weights, got shape {list(one.shape)}")
            weights = one if weights is None else weights * one
    if weights is None:
        off, count = x - x.mean(1, keepdims=True), lift_as(x.shape[1] - less, wanted)
        right = off
    else:
        total = sum_of(weights)
        off = x - expand_dims(average(x, 1, weights), 1)
        right = off * weights
        count = total - less if aweights is None else total - less * sum_of(weights * lift_as(aweights, wanted)) / total
    count = maximum(real(count), 0)  # NaN, as in NumPy, where nothing is left to divide by
    c = matmul(off, conjugate(transpose(right))) / count
    return c.reshape(()) if c.shape == (1, 1) else c


def _variables(m: Any, rowvar: bool, dtype: np.dtype[Any]) -> Tracer:
    x = lift_as(m, dtype)
    if x.ndim > 2:
        raise ShapeError(f"cov needs at most two dims, got shape {list(x.shape)}")
    return transpose(x) if not rowvar and x.ndim == 2 and x.shape[0] != 1 else atleast_2d(x)


@array_function
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """`np.corrcoef`, in the dtype of `cov`: covariances over the product of standard deviations."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    d = sqrt(real(diagonal(c)))
    c = c / expand_dims(d, 1) / d
    return c if is_complex_dtype(c.dtype) else clip(c, -1.0, 1.0)

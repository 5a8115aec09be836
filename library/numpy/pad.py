"""lamina.numpy: arrays with more elements around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...api import Tracer, arrays, broadcast_tracer, build, edit, lift, lift_as, lift_into
from ...api.dtypes import FLOAT64, is_integer_dtype
from ...api.errors import ShapeError, SizeError
from ...api.sizes import Size
from .axes_and_shapes import concat_tracers, normalize_axis, reshape_tracer, reverse_tracer, slice_axis
from .index import take
from .shape import expand_dims
from .ufuncs import floor, remainder, rint


@dataclass(frozen=True)
class _Options:
    """The further arguments of modes: two numbers for each dim."""

    constants: Tracer
    ends: Tracer
    lengths: np.ndarray[Any, Any] | None
    is_odd: bool


def pad(
    array: Any,
    pad_width: Any,
    mode: Any = "constant",
    *,
    constant_values: Any = 0,
    end_values: Any = 0,
    stat_length: Any = None,
    reflect_type: str = "even",
    **kwargs: Any,
) -> Any:
    """`np.pad`, in all of its modes.

    Args:
        array: any array.
        pad_width: how many elements before and after: an int, a pair, a pair for each dim, or a dict of these by dim.
        mode: constant, empty (zeros), edge, reflect, symmetric, wrap, linear_ramp, maximum, mean, median, minimum; or a
            function of a vector padded with zeros, its pair of widths, the dim and `kwargs`, that returns the padded vector.
        constant_values, end_values, stat_length: the same forms, for the modes constant, linear_ramp, and those that compute a
            value, from all elements or from that many at an end.
        reflect_type: "even", or "odd" for reflections less than twice the edge.

    Raises:
        ShapeError: a width is negative or does not fit, or the mode is none of these.

    >>> import lamina as lm
    >>> lm.numpy.pad([1, 2, 4], (1, 2), "reflect", reflect_type="odd")
    array([0, 1, 2, 4, 6, 7])
    """
    if callable(mode):
        return _padded_by(mode, array, pad_width, kwargs)
    if kwargs:
        raise TypeError(f"pad() got an unexpected keyword argument {min(kwargs)!r}")
    return _padded(
        array,
        pad_width,
        mode,
        constant_values=constant_values,
        end_values=end_values,
        stat_length=stat_length,
        reflect_type=reflect_type,
    )


@edit
def _padded(
    array: Any, pad_width: Any, mode: str, *, constant_values: Any, end_values: Any, stat_length: Any, reflect_type: str
) -> Any:
    x = lift(array)
    widths = _pairs(pad_width, x.ndim, "pad widths")
    if mode == "empty":
        mode, constant_values = "constant", 0
    if mode == "constant" and lift(constant_values).size == 1 and widths.dtype != object:
        return _padded_by_constant(x, widths, reshape_tracer(lift_into(constant_values, array, x.dtype), ()))
    if mode not in _MODES:
        raise ShapeError(f"pad mode must be one of empty, {', '.join(_MODES)}, got {mode!r}")
    if reflect_type not in ("even", "odd"):
        raise ShapeError(f"pad reflect_type must be 'even' or 'odd', got {reflect_type!r}")
    constants, ends = (broadcast_tracer(lift_into(v, array, x.dtype), (x.ndim, 2)) for v in (constant_values, end_values))
    options = _Options(
        constants,
        ends,
        None if stat_length is None else _pairs(stat_length, x.ndim, "pad stat_length"),
        reflect_type == "odd",
    )
    for dim, (low, high) in enumerate(widths.tolist()):
        if _is_zero(low) and _is_zero(high):
            continue
        if _is_zero(x.shape[dim]) and mode != "constant":
            raise ShapeError(f"pad mode {mode!r} needs an element along dim {dim} of {list(x.shape)}")
        x = _MODES[mode](x, dim, (low, high), mode, options)
    return x


def _pairs(given: Any, ndim: int, what: str) -> np.ndarray[Any, Any]:
    """Two integers for each dim, or symbolic sizes."""
    if isinstance(given, Mapping):
        found = {normalize_axis(dim, ndim): _pairs(pair, 1, what)[0].tolist() for dim, pair in given.items()}
        return np.array([found.get(dim, [0, 0]) for dim in range(ndim)]).reshape(ndim, 2)
    found = np.asarray(given)
    numbers = [w for w in found.ravel().tolist() if not isinstance(w, Size)]
    if not is_integer_dtype(np.asarray(numbers, None if numbers else int).dtype) or min(numbers, default=0) < 0:
        raise ShapeError(f"{what} must be integers that are not negative, got {given!r:.40}")
    try:
        return np.broadcast_to(found, (ndim, 2))
    except ValueError:
        raise ShapeError(f"{what} {given!r:.40} do not fit {ndim} dims") from None


def _is_zero(size: Any) -> bool:
    return not isinstance(size, Size) and size == 0


def _resized(x: Tracer, dim: int, n: int) -> tuple[int, ...]:
    return (*x.shape[:dim], n, *x.shape[dim + 1 :])


def _padded_by_constant(x: Tracer, widths: np.ndarray[Any, Any], value: Tracer) -> Tracer:
    low, high = (tuple(int(w) for w in widths[:, side]) for side in (0, 1))
    if not any(low) and not any(high):
        return x
    return build("pad", x, value, low=low, high=high, interior=(0,) * x.ndim)


def _padded_by(function: Callable[..., Any], array: Any, pad_width: Any, kwargs: Mapping[str, Any]) -> Any:
    """With the result of a function for each vector along each dim in turn."""
    x = pad(array, pad_width)
    for dim, pair in enumerate(_pairs(pad_width, x.ndim, "pad widths").tolist()):

        def padded(row: Any, dim: int = dim, pair: tuple[int, int] = tuple(pair)) -> Any:
            result = function(row, pair, dim, kwargs)
            if result is None:
                raise ShapeError("the function that pads must return the vector: arrays here are not changed in place")
            return result

        x = arrays.apply_along_axis(padded, dim, x)
    return x


# -- modes, each along one dim


def _constant(x: Tracer, dim: int, width: tuple[int, int], mode: str, options: _Options) -> Tracer:
    before, after = (broadcast_tracer(options.constants[dim, side], _resized(x, dim, n)) for side, n in enumerate(width))
    return concat_tracers([before, x, after], dim)


def _by_place(x: Tracer, dim: int, width: tuple[int, int], mode: Any, options: _Options) -> Tracer:
    """Others of the array: NumPy says which."""
    n = x.shape[dim]
    is_odd = options.is_odd and mode in ("reflect", "symmetric")
    if any(isinstance(size, Size) for size in (n, *width)):
        if is_odd:
            raise SizeError(
                f"pad reflect_type='odd' repeats reflections until the widths are reached, so it needs sizes that are known "
                f"while tracing, got {n} elements and widths ({width[0]}, {width[1]}): leave that dim out of dynamic=, "
                f"or use reflect_type='even'"
            )
        return lift(take(x, _places(n, width, mode), dim))
    if is_odd and n > 1:
        return _odd(x, dim, width, int(mode == "reflect"))
    # one copy of the interior, and gathers of the margins
    positions = np.pad(np.arange(n), width, mode)
    before, after = (take(x, part, dim) for part in (positions[: width[0]], positions[width[0] + n :]))
    return concat_tracers([before, x, after], dim)


def _places(n: Any, width: tuple[Any, Any], mode: str) -> Any:
    """What NumPy computes of `arange(n)`, for symbolic sizes."""
    positions = arrays.arange(n + width[0] + width[1]) - width[0]
    if mode == "edge":
        return arrays.clip(positions, 0, n - 1)
    if mode == "wrap":
        return remainder(positions, n)
    skipped = int(mode == "reflect")  # an end is not repeated
    period = arrays.maximum(n + n - 2 * skipped, 1)
    positions = remainder(positions, period)
    return arrays.minimum(positions, period - (1 - skipped) - positions)


def _odd(x: Tracer, dim: int, width: tuple[int, int], skipped: int) -> Tracer:
    """Twice the edge less the reflection, again and again until the widths are reached."""
    (low, high), period = width, x.shape[dim] - skipped
    while low or high:
        n = x.shape[dim]
        most = (n - skipped) // period * period  # whole periods at a time, as in NumPy
        a, b = min(low, most), min(high, most)
        first, last = slice_axis(x, dim, 0, 1), slice_axis(x, dim, n - 1, n)
        before = reverse_tracer(slice_axis(x, dim, skipped, skipped + a), (dim,))
        after = reverse_tracer(slice_axis(x, dim, n - skipped - b, n - skipped), (dim,))
        x = concat_tracers([first + first - before, x, last + last - after], dim)
        low, high = low - a, high - b
    return x


def _by_value(x: Tracer, dim: int, width: tuple[int, int], mode: str, options: _Options) -> Tracer:
    """A value that is computed from all elements along the dim, or from some at an end."""
    n = x.shape[dim]
    lengths = (n, n) if options.lengths is None else [min(int(k), n) for k in options.lengths[dim]]
    if not all(lengths) and any(k == 0 and w for k, w in zip(lengths, width, strict=True)):
        raise ShapeError(f"pad mode {mode!r} needs a stat_length of at least 1, got {list(lengths)} along dim {dim}")
    parts = []
    for k, positions, count in ((lengths[0], (0, lengths[0]), width[0]), (lengths[1], (n - lengths[1], n), width[1])):
        value = _VALUES[mode](x if k == n else slice_axis(x, dim, *positions), dim)
        value = rint(value) if is_integer_dtype(x.dtype) and value.dtype.kind == "f" else value
        parts.append(broadcast_tracer(lift_as(expand_dims(value, dim), x.dtype), _resized(x, dim, count)))
    return concat_tracers([parts[0], x, parts[1]], dim)


_VALUES: dict[str, Callable[..., Any]] = {
    "maximum": lambda x, d: x.max(d),
    "mean": lambda x, d: x.mean(d),
    "median": lambda x, d: arrays.median(x, d),
    "minimum": lambda x, d: x.min(d),
}


def _linear_ramp(x: Tracer, dim: int, width: tuple[int, int], mode: str, options: _Options) -> Tracer:
    n = x.shape[dim]
    before = _ramp(slice_axis(x, dim, 0, 1), options.ends[dim, 0], width[0], dim)
    after = reverse_tracer(_ramp(slice_axis(x, dim, n - 1, n), options.ends[dim, 1], width[1], dim), (dim,))
    return concat_tracers([before, x, after], dim)


def _ramp(edge: Tracer, end: Tracer, count: int, dim: int) -> Tracer:
    """Numbers from `end` on towards an edge, which they do not reach."""
    shape = _resized(edge, dim, count)
    fraction = arrays.arange(count) / count if isinstance(count, Size) else np.arange(count) / max(count, 1)
    fraction = fraction.reshape([-1 if k == dim else 1 for k in range(edge.ndim)])
    wide = edge if edge.dtype.kind == "f" else lift_as(edge, FLOAT64)
    end = lift_as(end, wide.dtype)
    y = broadcast_tracer(end + (wide - end) * lift_as(fraction, wide.dtype), shape)
    return y if edge.dtype.kind == "f" else lift_as(floor(y), edge.dtype)


_MODES: dict[str, Callable[[Tracer, int, tuple[int, int], Any, _Options], Tracer]] = {
    "constant": _constant,
    "linear_ramp": _linear_ramp,
    **dict.fromkeys(("edge", "reflect", "symmetric", "wrap"), _by_place),
    **dict.fromkeys(_VALUES, _by_value),
}

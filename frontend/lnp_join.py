"""lamina.numpy: joining, splitting, reordering and repeating."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dialects.symbolic import Size
from ..dialects.types import element_type, tensor
from ..errors import DTypeError, ShapeError
from ..runtime.scalars import is_a
from .eager import api, operation
from .lnp_index import take
from .lnp_shape import atleast_1d, atleast_2d, atleast_3d, expand_dims, swapaxes
from .lnp_ufuncs import floor, remainder
from .moves import (
    broadcast_tracer,
    concat_tracers,
    nonnegative,
    normalize_axes,
    normalize_axis,
    reshape_tracer,
    reverse_tracer,
    slice_axis,
    static_int,
    static_shape,
)
from .promotion import FLOAT64, INT64, is_integer_dtype, result_type
from .tracer import Tracer
from .tracing import build, current, lift, lift_as, sequence_of_operands, token

__all__ = [
    "array_split", "column_stack", "concat", "concatenate", "dsplit", "dstack", "flip", "fliplr", "flipud", "hsplit", "hstack",
    "pad", "roll", "rot90", "split", "stack", "tile", "vsplit", "vstack",
]  # fmt: skip


# -- joining and splitting


def _common(arrays: Any) -> list[Tracer]:
    if isinstance(arrays, Tracer):
        return [arrays[k] for k in range(len(arrays))]
    operands = sequence_of_operands(arrays)
    if not operands:
        raise ShapeError("need at least one array")
    dtype = result_type([token(a) for a in operands])
    return [lift_as(a, dtype) for a in operands]


@operation
def concatenate(arrays: Any, axis: int | None = 0, *, dtype: Any = None) -> Any:
    """`np.concatenate`; `axis=None` joins the elements of all."""
    xs = _common(arrays)
    if axis is None:
        xs, axis = [reshape_tracer(x, (x.size,)) for x in xs], 0
    if xs[0].ndim == 0:
        raise ShapeError("scalars cannot be concatenated: use stack")
    dim = normalize_axis(axis, xs[0].ndim)
    rest = [x.shape[:dim] + x.shape[dim + 1 :] for x in xs]
    for k, other in enumerate(rest):
        if xs[k].ndim != xs[0].ndim or other != rest[0]:
            raise ShapeError(
                f"concatenate needs equal shapes but for axis {dim}: array 0 is {list(xs[0].shape)}, "
                f"array {k} is {list(xs[k].shape)}"
            )
    y = concat_tracers(xs, dim)
    return y if dtype is None else lift_as(y, np.dtype(dtype))


concat = concatenate


@operation
def stack(arrays: Any, axis: int = 0, *, dtype: Any = None) -> Any:
    """`np.stack`: arrays of one shape along a new dim."""
    xs = _common(arrays)
    for k, x in enumerate(xs):
        if x.shape != xs[0].shape:
            raise ShapeError(f"stack needs equal shapes: array 0 is {list(xs[0].shape)}, array {k} is {list(x.shape)}")
    dim = normalize_axis(axis, xs[0].ndim + 1)
    y = concat_tracers([reshape_tracer(x, (*x.shape[:dim], 1, *x.shape[dim:])) for x in xs], dim)
    return y if dtype is None else lift_as(y, np.dtype(dtype))


@operation
def vstack(tup: Any, *, dtype: Any = None) -> Any:
    """`np.vstack`."""
    return concatenate([atleast_2d(a) for a in _common(tup)], 0, dtype=dtype)


@operation
def hstack(tup: Any, *, dtype: Any = None) -> Any:
    """`np.hstack`."""
    xs = [atleast_1d(a) for a in _common(tup)]
    return concatenate(xs, 0 if xs[0].ndim == 1 else 1, dtype=dtype)


@operation
def dstack(tup: Any) -> Any:
    """`np.dstack`."""
    return concatenate([atleast_3d(a) for a in _common(tup)], 2)


@operation
def column_stack(tup: Any) -> Any:
    """`np.column_stack`."""
    return concatenate([reshape_tracer(x, (x.size, 1)) if x.ndim < 2 else x for x in _common(tup)], 1)


@api
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """`np.array_split`."""
    x = lift(ary)
    dim = normalize_axis(axis, x.ndim)
    n = x.shape[dim]
    if isinstance(indices_or_sections, tuple | list) or is_a(indices_or_sections, np.ndarray):
        cuts = [slice(None, static_int(c, "a split index")).indices(n)[1] for c in indices_or_sections]
    else:
        sections = static_int(indices_or_sections, "sections")
        if sections <= 0:
            raise ShapeError(f"sections must be positive, got {sections}")
        each, extra = np.divmod(n, sections)
        cuts = [int(k * each + min(k, extra)) for k in range(1, sections)]
    edges = zip([0, *cuts], [*cuts, n], strict=True)
    return [slice_axis(x, dim, start, max(start, stop)) for start, stop in edges]


@api
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """`np.split`: equal parts, or parts between indices."""
    x = lift(ary)
    dim = normalize_axis(axis, x.ndim)
    if (
        not (isinstance(indices_or_sections, tuple | list) or is_a(indices_or_sections, np.ndarray))
        and x.shape[dim] % indices_or_sections
    ):
        raise ShapeError(f"split of size {x.shape[dim]} into {indices_or_sections} parts is not equal: use array_split")
    return array_split(x, indices_or_sections, dim)


@api
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """`np.hsplit`."""
    x = lift(ary)
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


@api
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """`np.vsplit`."""
    return split(lift(ary), indices_or_sections, 0)


@api
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """`np.dsplit`: along the third dim."""
    x = lift(ary)
    if x.ndim < 3:
        raise ShapeError(f"dsplit() needs at least 3 dims, got {x.shape}")
    return split(x, indices_or_sections, 2)


# -- order and repetition


@api
def flip(m: Any, axis: Any = None) -> Any:
    """`np.flip`: reversed along axes."""
    x = lift(m)
    return reverse_tracer(x, normalize_axes(axis, x.ndim))


@api
def flipud(m: Any) -> Any:
    """`np.flipud`."""
    return flip(m, 0)


@api
def fliplr(m: Any) -> Any:
    """`np.fliplr`."""
    return flip(m, 1)


@api
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """`np.rot90`."""
    x = lift(m)
    first, second = (normalize_axis(a, x.ndim) for a in axes)
    if first == second:
        raise ShapeError(f"rot90 axes must differ, got {axes}")
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, (first, second))
    return swapaxes(flip(x, second), first, second) if turns == 1 else flip(swapaxes(x, first, second), second)


@api
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """`np.roll`: shifted along axes, what leaves at the end comes back at the start; a shift may be a traced integer."""
    x = lift(a)
    if isinstance(shift, Tracer) and shift.ndim:
        shift = tuple(shift)
    if axis is None:
        return reshape_tracer(roll(reshape_tracer(x, (x.size,)), shift, 0), x.shape)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    shifts = shift if isinstance(shift, tuple | list) else (shift,) * len(axes)
    if len(axes) == 1 and len(shifts) > 1:
        axes = tuple(axes) * len(shifts)
    if len(axes) != len(shifts):
        raise ShapeError(f"roll needs one shift an axis, got shift {shift} for axis {axis}")
    for one, by in zip(axes, shifts, strict=True):
        dim = normalize_axis(one, x.ndim)
        n = x.shape[dim]
        if isinstance(by, Tracer) or isinstance(n, Size):
            x = _rolled(x, dim, n, by if isinstance(by, Tracer) else static_int(by, "shift"))
            continue
        offset = static_int(by, "shift") % n if n else 0
        if offset:
            x = concat_tracers([slice_axis(x, dim, n - offset, n), slice_axis(x, dim, 0, n - offset)], dim)
    return x


def _rolled(x: Tracer, dim: int, n: Any, by: Any) -> Tracer:
    """The same by index, where only a call knows the shift or how many elements there are: as many as the shift goes round."""
    if isinstance(by, Tracer):
        if not is_integer_dtype(by.dtype) or by.ndim:
            raise DTypeError(f"roll needs an integer as shift, got {by.dtype}{list(by.shape)}")
        if isinstance(n, int) and n == 0:
            return x
    trace = current()
    assert trace is not None
    steps = trace.wrap(trace.builder.iota(dim=0, result=tensor(element_type(INT64), (n,))))
    return take(x, remainder(steps - by, n), dim)


@api
def tile(A: Any, reps: Any) -> Any:
    """`np.tile`."""
    x = lift(A)
    counts = nonnegative(static_shape(reps))
    rank = max(len(counts), x.ndim)
    sizes, counts = (1,) * (rank - x.ndim) + x.shape, (1,) * (rank - len(counts)) + counts
    split_dims = tuple(n for pair in zip((1,) * rank, sizes, strict=True) for n in pair)
    full = tuple(n for pair in zip(counts, sizes, strict=True) for n in pair)
    x = broadcast_tracer(reshape_tracer(x, split_dims), full)
    return reshape_tracer(x, tuple(c * n for c, n in zip(counts, sizes, strict=True)))


_BY_PLACE = ("edge", "reflect", "symmetric", "wrap")
"""Modes whose elements are others of the array: NumPy says which."""

_BY_VALUE: dict[str, Callable[..., Any]] = {
    "maximum": lambda x, d: x.max(d),
    "mean": lambda x, d: x.mean(d),
    "minimum": lambda x, d: x.min(d),
}
"""Modes whose elements are computed from all along the axis."""


@api
def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0, end_values: Any = 0) -> Any:
    """`np.pad` in the modes constant, empty (zeros), edge, reflect, symmetric, wrap, linear_ramp, maximum, mean and minimum.

    Args:
        array: any array.
        pad_width: how many elements before and after: an int, a pair, or a pair for each dim.
        constant_values, end_values: the same forms, for the modes constant and linear_ramp.

    Raises:
        ShapeError: a width is negative or does not fit, or the mode is none of these.
    """
    x = lift(array)
    widths = np.asarray(pad_width)
    if not is_integer_dtype(widths.dtype) or (widths < 0).any():
        raise ShapeError(f"pad widths must be integers that are not negative, got {pad_width!r:.40}")
    try:
        widths = np.broadcast_to(widths, (x.ndim, 2))
    except ValueError:
        raise ShapeError(f"pad widths {pad_width!r:.40} do not fit {x.ndim} dims") from None
    if mode == "empty":
        mode, constant_values = "constant", 0
    if mode == "constant" and lift(constant_values).size == 1:
        return _pad_constant(x, widths, reshape_tracer(lift_as(constant_values, x.dtype), ()))
    if mode not in ("constant", "linear_ramp", *_BY_PLACE, *_BY_VALUE):
        raise ShapeError(
            f"pad mode must be one of constant, empty, linear_ramp, {', '.join((*_BY_PLACE, *_BY_VALUE))}, got {mode!r}"
        )
    ends = broadcast_tracer(lift_as(end_values if mode == "linear_ramp" else constant_values, x.dtype), (x.ndim, 2))
    for d in range(x.ndim):
        low, high = (int(n) for n in widths[d])
        if not low and not high:
            continue
        if not x.shape[d] and mode != "constant":
            raise ShapeError(f"pad mode {mode!r} needs an element along dim {d} of {list(x.shape)}")
        if mode in _BY_PLACE:
            x = _pad_by_place(x, d, (low, high), mode)
            continue
        if mode in _BY_VALUE:
            value = lift_as(expand_dims(_BY_VALUE[mode](x, d), d), x.dtype)
            before, after = (broadcast_tracer(value, _resized(x, d, n)) for n in (low, high))
        elif mode == "constant":
            before, after = (broadcast_tracer(ends[d, side], _resized(x, d, n)) for side, n in enumerate((low, high)))
        else:
            n = x.shape[d]
            before = _ramp(slice_axis(x, d, 0, 1), ends[d, 0], low, d)
            after = flip(_ramp(slice_axis(x, d, n - 1, n), ends[d, 1], high, d), d)
        x = concat_tracers([before, x, after], d)
    return x


def _resized(x: Tracer, dim: int, n: int) -> tuple[int, ...]:
    return (*x.shape[:dim], n, *x.shape[dim + 1 :])


def _pad_constant(x: Tracer, widths: np.ndarray[Any, Any], value: Tracer) -> Tracer:
    low, high = (tuple(int(w) for w in widths[:, side]) for side in (0, 1))
    if not any(low) and not any(high):
        return x
    return build("pad", x, value, low=low, high=high, interior=(0,) * x.ndim)


def _pad_by_place(x: Tracer, dim: int, width: tuple[int, int], mode: Any) -> Tracer:
    n = x.shape[dim]
    # one copy of what is inside, and gathers of what is not
    places = np.pad(np.arange(n), width, mode)
    before, after = (take(x, part, dim) for part in (places[: width[0]], places[width[0] + n :]))
    return concat_tracers([before, x, after], dim)


def _ramp(edge: Tracer, end: Tracer, count: int, dim: int) -> Tracer:
    """Numbers from `end` on towards an edge, which they do not reach."""
    shape = _resized(edge, dim, count)
    fraction = (np.arange(count) / max(count, 1)).reshape([-1 if k == dim else 1 for k in range(edge.ndim)])
    wide = edge if edge.dtype.kind == "f" else lift_as(edge, FLOAT64)
    end = lift_as(end, wide.dtype)
    y = broadcast_tracer(end + (wide - end) * lift_as(fraction, wide.dtype), shape)
    return y if edge.dtype.kind == "f" else lift_as(floor(y), edge.dtype)

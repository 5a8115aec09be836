"""lamina.numpy: joining, splitting, reordering and repeating."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api import Tracer, array_function, broadcast_tracer, lift, lift_as, operation, sequence_of_operands, token
from ...api.dtypes import INT64, is_integer_dtype, result_type
from ...api.errors import DTypeError, ShapeError
from ...api.sizes import Size, greatest, least
from ...api.tracing import is_a
from .axes_and_shapes import (
    concat_tracers,
    iota,
    nonnegative,
    normalize_axes,
    normalize_axis,
    reshape_tracer,
    reverse_tracer,
    slice_axis,
    static_int,
    static_shape,
)
from .index import slice_places, take
from .shape import atleast_1d, atleast_2d, atleast_3d, swapaxes
from .ufuncs import remainder

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


@array_function
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """`np.array_split`."""
    x = lift(ary)
    dim = normalize_axis(axis, x.ndim)
    n = x.shape[dim]
    if isinstance(indices_or_sections, tuple | list) or is_a(indices_or_sections, np.ndarray):
        ends = [slice(None, static_int(c, "a split index")) for c in indices_or_sections]
        cuts = [sum(slice_places(end, n)[0:3:2]) for end in ends]
    else:
        sections = static_int(indices_or_sections, "sections")
        if sections <= 0:
            raise ShapeError(f"sections must be positive, got {sections}")
        each, extra = n // sections, n % sections
        cuts = [k * each + least(k, extra) for k in range(1, sections)]
    edges = zip([0, *cuts], [*cuts, n], strict=True)
    return [slice_axis(x, dim, start, greatest(start, stop)) for start, stop in edges]


@array_function
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


@array_function
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """`np.hsplit`."""
    x = lift(ary)
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


@array_function
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """`np.vsplit`."""
    return split(lift(ary), indices_or_sections, 0)


@array_function
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """`np.dsplit`: along the third dim."""
    x = lift(ary)
    if x.ndim < 3:
        raise ShapeError(f"dsplit() needs at least 3 dims, got {x.shape}")
    return split(x, indices_or_sections, 2)


# -- order and repetition


@array_function
def flip(m: Any, axis: Any = None) -> Any:
    """`np.flip`: reversed along axes."""
    x = lift(m)
    return reverse_tracer(x, normalize_axes(axis, x.ndim))


@array_function
def flipud(m: Any) -> Any:
    """`np.flipud`."""
    return flip(m, 0)


@array_function
def fliplr(m: Any) -> Any:
    """`np.fliplr`."""
    return flip(m, 1)


@array_function
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


@array_function
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """`np.roll`: shifted along axes, cyclically; a shift may be a traced integer."""
    x = lift(a)
    if isinstance(shift, Tracer | np.ndarray) and shift.ndim:
        shift = tuple(shift)
    if axis is None:
        return reshape_tracer(roll(reshape_tracer(x, (x.size,)), shift, 0), x.shape)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    shifts = shift if isinstance(shift, tuple | list) else (shift,) * len(axes)
    if len(axes) == 1 and len(shifts) > 1:
        axes = tuple(axes) * len(shifts)
    if len(shifts) == 1:
        shifts = tuple(shifts) * len(axes)
    if len(axes) != len(shifts):
        raise ShapeError(f"roll needs one shift for each axis, got shift {shift} for axis {axis}")
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
    """The same by index, where the shift is traced or the number of elements symbolic, to which the shift is reduced."""
    if isinstance(by, Tracer):
        if not is_integer_dtype(by.dtype) or by.ndim:
            raise DTypeError(f"roll needs an integer as shift, got {by.dtype}{list(by.shape)}")
        if isinstance(n, int) and n == 0:
            return x
    return take(x, remainder(iota((n,), 0, INT64) - by, n), dim)


@array_function
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

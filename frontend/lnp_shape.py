"""lamina.numpy: functions that move elements. All sizes are known while tracing."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError, ShapeError, TracingError
from .promotion import result_type
from .tracer import Tracer
from .tracing import api, build, concrete_array, current, lift, lift_as, sequence_of_operands, token

__all__ = [
    "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_to", "column_stack", "concat",
    "concatenate", "dstack", "expand_dims", "flip", "fliplr", "flipud", "hsplit", "hstack", "matrix_transpose", "moveaxis",
    "ndim", "pad", "permute_dims", "ravel", "repeat", "reshape", "roll", "rollaxis", "rot90", "shape", "size", "split",
    "squeeze", "stack", "swapaxes", "tile", "transpose", "vsplit", "vstack",
]  # fmt: skip


def static_int(value: Any, what: str) -> int:
    """A Python int that must be known while tracing."""
    try:
        return operator.index(value)
    except TracingError:
        raise
    except TypeError:
        raise TypeError(f"{what} must be an integer, got {type(value).__name__}: {value!r:.40}") from None


def normalize_axis(axis: Any, ndim: int) -> int:
    """An axis within [0, ndim)."""
    k = static_int(axis, "axis")
    if not -ndim <= k < ndim:
        raise ShapeError(f"axis {k} is out of bounds for an array of {ndim} dims")
    return k % ndim


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Distinct axes within [0, ndim), sorted; None is all."""
    if axis is None:
        return tuple(range(ndim))
    axes = [normalize_axis(a, ndim) for a in (axis if isinstance(axis, tuple | list) else (axis,))]
    if len(set(axes)) != len(axes):
        raise ShapeError(f"duplicate value in axis {axis}")
    return tuple(sorted(axes))


def static_shape(shape: Any) -> tuple[int, ...]:
    """A shape from an int or a sequence of ints."""
    if isinstance(shape, np.ndarray):
        shape = shape.tolist()
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    return tuple(static_int(n, "a size") for n in sizes)


def _nonnegative(shape: tuple[int, ...]) -> tuple[int, ...]:
    if any(n < 0 for n in shape):
        raise ShapeError(f"sizes must not be negative, got {list(shape)}")
    return shape


# -- on tracers: what the rest of lamina.numpy is made of


def reshape_tracer(x: Tracer, shape: tuple[int, ...]) -> Tracer:
    if x.shape == shape:
        return x
    return x.trace.wrap(x.trace.builder.reshape(x.value, shape), x.weak)


def broadcast_tracer(x: Tracer, shape: tuple[int, ...]) -> Tracer:
    """`x` repeated along new leading dims and dims of size 1, which must fit."""
    if x.shape == shape:
        return x
    offset = len(shape) - len(x.shape)
    if offset < 0 or any(a not in (1, b) for a, b in zip(x.shape, shape[offset:], strict=True)):
        raise ShapeError(f"cannot broadcast shape {list(x.shape)} to {list(shape)}")
    value = x.trace.builder.broadcast(x.value, range(offset, len(shape)), shape)
    return x.trace.wrap(value, x.weak)


def transpose_tracer(x: Tracer, perm: Sequence[int]) -> Tracer:
    if list(perm) == list(range(x.ndim)):
        return x
    return build("transpose", x, perm=tuple(perm), weak=x.weak)


def slice_tracer(x: Tracer, start: Sequence[int], stop: Sequence[int], step: Sequence[int]) -> Tracer:
    if all(a == 0 and b == n and s == 1 for a, b, s, n in zip(start, stop, step, x.shape, strict=True)):
        return x
    return build("slice", x, start=tuple(start), stop=tuple(stop), step=tuple(step), weak=x.weak)


def slice_axis(x: Tracer, axis: int, start: int, stop: int, step: int = 1) -> Tracer:
    starts, stops, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis], stops[axis], steps[axis] = start, stop, step
    return slice_tracer(x, starts, stops, steps)


def reverse_tracer(x: Tracer, dims: Sequence[int]) -> Tracer:
    return build("reverse", x, dims=tuple(dims), weak=x.weak) if dims else x


def concat_tracers(xs: Sequence[Tracer], dim: int) -> Tracer:
    return xs[0] if len(xs) == 1 else build("concat", *xs, dim=dim)


# -- shapes


@api
def reshape(a: Any, shape: Any, *, order: str = "C", copy: Any = None) -> Any:
    """`np.reshape`; one size may be -1."""
    x = lift(a)
    if order not in ("C", "A"):
        raise ShapeError(f"reshape order must be 'C', got {order!r}")
    sizes = static_shape(shape)
    if sizes.count(-1) > 1:
        raise ShapeError(f"reshape can infer only one size, got {list(sizes)}")
    if -1 in sizes:
        known = math.prod(n for n in sizes if n != -1)
        if known == 0 or x.size % known:
            raise ShapeError(f"cannot reshape {list(x.shape)} ({x.size} elements) into {list(sizes)}")
        sizes = tuple(x.size // known if n == -1 else n for n in sizes)
    if math.prod(_nonnegative(sizes)) != x.size:
        raise ShapeError(f"cannot reshape {list(x.shape)} ({x.size} elements) into {list(sizes)}")
    return reshape_tracer(x, sizes)


@api
def ravel(a: Any) -> Any:
    """`np.ravel`: all elements in one dim."""
    x = lift(a)
    return reshape_tracer(x, (x.size,))


@api
def transpose(a: Any, axes: Any = None) -> Any:
    """`np.transpose`; without `axes` the order of all dims is reversed."""
    x = lift(a)
    if axes is None:
        return transpose_tracer(x, range(x.ndim - 1, -1, -1))
    perm = [normalize_axis(a, x.ndim) for a in axes]
    if sorted(perm) != list(range(x.ndim)):
        raise ShapeError(f"axes {list(axes)} are no permutation of the {x.ndim} dims")
    return transpose_tracer(x, perm)


permute_dims = transpose


@api
def matrix_transpose(x: Any, /) -> Any:
    """`np.matrix_transpose`: the last two dims exchanged."""
    x = lift(x)
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose needs two dims, got shape {list(x.shape)}")
    return swapaxes(x, -1, -2)


@api
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """`np.swapaxes`."""
    x = lift(a)
    perm = list(range(x.ndim))
    i, k = normalize_axis(axis1, x.ndim), normalize_axis(axis2, x.ndim)
    perm[i], perm[k] = perm[k], perm[i]
    return transpose_tracer(x, perm)


@api
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """`np.moveaxis`."""
    x = lift(a)
    froms = [normalize_axis(s, x.ndim) for s in (source if isinstance(source, tuple | list) else (source,))]
    tos = [normalize_axis(d, x.ndim) for d in (destination if isinstance(destination, tuple | list) else (destination,))]
    if len(froms) != len(tos) or len(set(froms)) != len(froms) or len(set(tos)) != len(tos):
        raise ShapeError(f"moveaxis source {source} and destination {destination} must pair distinct axes")
    perm = [k for k in range(x.ndim) if k not in froms]
    for to, source_axis in sorted(zip(tos, froms, strict=True)):
        perm.insert(to, source_axis)
    return transpose_tracer(x, perm)


@api
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """`np.rollaxis`."""
    x = lift(a)
    source = normalize_axis(axis, x.ndim)
    target = start + x.ndim if start < 0 else start
    return moveaxis(x, source, target - 1 if target > source else target)


@api
def expand_dims(a: Any, axis: Any) -> Any:
    """`np.expand_dims`: new dims of size 1 at the places `axis` of the result."""
    x = lift(a)
    places = axis if isinstance(axis, tuple | list) else (axis,)
    axes = normalize_axes(tuple(places), x.ndim + len(places))
    sizes = iter(x.shape)
    return reshape_tracer(x, tuple(1 if k in axes else next(sizes) for k in range(x.ndim + len(axes))))


@api
def squeeze(a: Any, axis: Any = None) -> Any:
    """`np.squeeze`: without the dims of size 1, or the given ones."""
    x = lift(a)
    axes = [k for k, n in enumerate(x.shape) if n == 1] if axis is None else normalize_axes(axis, x.ndim)
    for k in axes:
        if x.shape[k] != 1:
            raise ShapeError(f"cannot squeeze axis {k} of size {x.shape[k]}")
    return reshape_tracer(x, tuple(n for k, n in enumerate(x.shape) if k not in axes))


@api
def broadcast_to(array: Any, shape: Any) -> Any:
    """`np.broadcast_to`."""
    return broadcast_tracer(lift(array), _nonnegative(static_shape(shape)))


@api
def broadcast_arrays(*args: Any) -> Any:
    """`np.broadcast_arrays`."""
    xs = [lift(a) for a in args]
    try:
        common = np.broadcast_shapes(*(x.shape for x in xs))
    except ValueError:
        raise ShapeError(f"shapes {', '.join(str(list(x.shape)) for x in xs)} do not broadcast") from None
    return tuple(broadcast_tracer(x, common) for x in xs)


def shape(a: Any) -> tuple[int, ...]:
    """`np.shape`."""
    return a.shape if isinstance(a, Tracer) else np.shape(a)


def ndim(a: Any) -> int:
    """`np.ndim`."""
    return len(shape(a))


def size(a: Any, axis: int | None = None) -> int:
    """`np.size`."""
    return math.prod(shape(a)) if axis is None else shape(a)[axis]


def _at_least(n: int) -> Any:
    def function(*arys: Any) -> Any:
        results = []
        for a in arys:
            x = lift(a)
            sizes = x.shape
            if n == 3 and len(sizes) == 2:
                sizes = (*sizes, 1)
            elif n == 3 and len(sizes) == 1:
                sizes = (1, *sizes, 1)
            results.append(reshape_tracer(x, (1,) * (n - len(sizes)) + sizes))
        return results[0] if len(results) == 1 else tuple(results)

    function.__name__ = f"atleast_{n}d"
    function.__doc__ = f"`np.atleast_{n}d`."
    return api(function)


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


# -- joining and splitting


def _common(arrays: Any) -> list[Tracer]:
    if isinstance(arrays, Tracer):
        return [arrays[k] for k in range(len(arrays))]
    operands = sequence_of_operands(arrays)
    if not operands:
        raise ShapeError("need at least one array")
    dtype = result_type([token(a) for a in operands])
    return [lift_as(a, dtype) for a in operands]


@api
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


@api
def stack(arrays: Any, axis: int = 0) -> Any:
    """`np.stack`: arrays of one shape along a new dim."""
    xs = _common(arrays)
    for k, x in enumerate(xs):
        if x.shape != xs[0].shape:
            raise ShapeError(f"stack needs equal shapes: array 0 is {list(xs[0].shape)}, array {k} is {list(x.shape)}")
    dim = normalize_axis(axis, xs[0].ndim + 1)
    return concat_tracers([reshape_tracer(x, (*x.shape[:dim], 1, *x.shape[dim:])) for x in xs], dim)


@api
def vstack(tup: Any) -> Any:
    """`np.vstack`."""
    return concatenate([atleast_2d(a) for a in _common(tup)], 0)


@api
def hstack(tup: Any) -> Any:
    """`np.hstack`."""
    xs = [atleast_1d(a) for a in _common(tup)]
    return concatenate(xs, 0 if xs[0].ndim == 1 else 1)


@api
def dstack(tup: Any) -> Any:
    """`np.dstack`."""
    return concatenate([atleast_3d(a) for a in _common(tup)], 2)


@api
def column_stack(tup: Any) -> Any:
    """`np.column_stack`."""
    return concatenate([reshape_tracer(x, (x.size, 1)) if x.ndim < 2 else x for x in _common(tup)], 1)


@api
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """`np.array_split`."""
    x = lift(ary)
    dim = normalize_axis(axis, x.ndim)
    n = x.shape[dim]
    if isinstance(indices_or_sections, tuple | list | np.ndarray):
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
    if not isinstance(indices_or_sections, tuple | list | np.ndarray) and x.shape[dim] % indices_or_sections:
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
    """`np.roll`: shifted along axes, what leaves at the end comes back at the start."""
    x = lift(a)
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
        offset = static_int(by, "shift") % n if n else 0
        if offset:
            x = concat_tracers([slice_axis(x, dim, n - offset, n), slice_axis(x, dim, 0, n - offset)], dim)
    return x


@api
def tile(A: Any, reps: Any) -> Any:
    """`np.tile`."""
    x = lift(A)
    counts = _nonnegative(static_shape(reps))
    rank = max(len(counts), x.ndim)
    sizes, counts = (1,) * (rank - x.ndim) + x.shape, (1,) * (rank - len(counts)) + counts
    split_dims = tuple(n for pair in zip((1,) * rank, sizes, strict=True) for n in pair)
    full = tuple(n for pair in zip(counts, sizes, strict=True) for n in pair)
    x = broadcast_tracer(reshape_tracer(x, split_dims), full)
    return reshape_tracer(x, tuple(c * n for c, n in zip(counts, sizes, strict=True)))


@api
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """`np.repeat`: each element a constant number of times along an axis."""
    x = lift(a)
    if axis is None:
        x, axis = reshape_tracer(x, (x.size,)), 0
    dim = normalize_axis(axis, x.ndim)
    counts = concrete_array(repeats) if not isinstance(repeats, Tracer) else None
    if counts is None:
        raise TracingError("repeat needs counts that are known while tracing")
    if counts.dtype.kind != "i" or (counts < 0).any():
        raise DTypeError(f"repeat counts must be integers that are not negative, got {repeats!r:.40}")
    if counts.size == 1:
        n = int(counts.reshape(()))
        wide = (*x.shape[: dim + 1], n, *x.shape[dim + 1 :])
        y = broadcast_tracer(reshape_tracer(x, (*x.shape[: dim + 1], 1, *x.shape[dim + 1 :])), wide)
        return reshape_tracer(y, (*x.shape[:dim], x.shape[dim] * n, *x.shape[dim + 1 :]))
    if counts.shape != (x.shape[dim],):
        raise ShapeError(f"repeat needs {x.shape[dim]} counts for axis {dim}, got shape {list(counts.shape)}")
    parts = [repeat(slice_axis(x, dim, k, k + 1), int(c), dim) for k, c in enumerate(counts)]
    return concat_tracers(parts, dim)


@api
def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    """`np.pad` with `mode="constant"` and one constant."""
    x = lift(array)
    if mode != "constant":
        raise ShapeError(f"pad mode {mode!r} is not available: use 'constant'")
    widths = np.asarray(pad_width)
    if widths.dtype.kind not in "iu" or (widths < 0).any():
        raise ShapeError(f"pad widths must be integers that are not negative, got {pad_width!r:.40}")
    try:
        widths = np.broadcast_to(widths, (x.ndim, 2))
    except ValueError:
        raise ShapeError(f"pad widths {pad_width!r:.40} do not fit {x.ndim} dims") from None
    value = lift_as(constant_values, x.dtype)
    if value.size != 1:
        raise ShapeError("pad takes one constant for all sides")
    value = reshape_tracer(value, ())
    low, high = (tuple(int(w) for w in widths[:, side]) for side in (0, 1))
    if not any(low) and not any(high):
        return x
    trace = current()
    assert trace is not None
    return trace.wrap(trace.builder.pad(x.value, value.value, low=low, high=high, interior=(0,) * x.ndim))

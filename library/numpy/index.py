"""lamina.numpy: indexing by ints, slices, None, Ellipsis and integer arrays, also of traced values.

An index that is known while tracing is checked, as in NumPy. A traced one cannot be: an index that is out of range, after
negative indices are wrapped, is clamped by reads, and skipped by updates (`x.at`). Memory outside of an array is never
accessed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...api import Tracer, array_function, broadcast_tracer, build, full_like_tracer, lift, lift_as
from ...api.dtypes import BOOL, INDICES, INT64, is_integer_dtype, numpy_dtype
from ...api.errors import BoundsError, DTypeError, ShapeError, SizeError, TracingError
from ...api.sizes import Size, ceil_quotient, greatest, least, positive, require_at_least
from ...api.tracing import Derived, Watched, here, is_a
from .axes_and_shapes import iota, normalize_axis, reshape_tracer, reverse_tracer, slice_tracer, static_int, transpose_tracer
from .elementwise import broadcast_shapes, compare, select

_INDICES = tuple(map(numpy_dtype, INDICES))

READ_MODES = ("clip", "fill", "wrap")
"""The treatment of indices out of range by reads."""

NEAREST = "nearest element"
"""As "clip", after negative indices are counted from the end: the default of reads, and of `x.at[index].get(mode="clip")`."""


@array_function
def getitem(x: Any, index: Any) -> Any:
    """`x[index]` with ints, slices, None, Ellipsis and integer arrays, as in NumPy."""
    return indexed(lift(x), index)


def indexed(x: Tracer, index: Any, mode: str | None = None, fill_value: Any = None) -> Tracer:
    """`x[index]`; `mode` and `fill_value` as for `take`."""
    x, index, _ = without_bools(x, index)
    parts, together = expanded(x, index)
    if mode is not None:
        parts = unchecked(parts, x.shape)
    if any(is_array(part) for part in parts):
        return _advanced(x, parts, together, mode, fill_value)
    return _basic(x, parts)


# --------------------------------------------------------------------------------------------------------------------
# Parsing an index


def without_bools(x: Tracer, index: Any) -> tuple[Tracer, Any, list[int]]:
    """An array and an index without known bools: each is a new dim of size 1, indexed by [0] where it is true, else by nothing.

    Also these dims.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    if not any(_is_bool(part) for part in parts):
        return x, index, []
    used = [0 if part is None or part is Ellipsis or _is_bool(part) else _dims(part) for part in parts]
    dim, new, shape = 0, [], list(x.shape)
    for k, part in enumerate(parts):
        if part is Ellipsis:
            dim += x.ndim - sum(used)
        elif _is_bool(part):
            new.append(dim + len(new))
            parts[k] = np.zeros(int(bool(part)), np.int64)
        dim += used[k]
    for place in new:
        shape.insert(place, 1)
    return reshape_tracer(x, tuple(shape)), tuple(parts), new


def _is_bool(part: Any) -> bool:
    """Whether an entry of an index is one bool that is known."""
    return isinstance(part, bool | np.bool_) or (is_a(part, np.ndarray) and not part.ndim and part.dtype == BOOL)


def _dims(part: Any) -> int:
    """How many dims an entry takes."""
    entry = _entry(part)
    return entry.ndim if _is_mask(entry) else 1


def expanded(x: Tracer, index: Any) -> tuple[list[Any], bool]:
    """One entry for each dim and None: ints, slices and index arrays, the Ellipsis written out.

    Also whether ints and arrays stand side by side; an Ellipsis between them parts them even where it stands for no dim.
    """
    parts = [_entry(part) for part in (index if isinstance(index, tuple) else (index,))]
    used = sum(part.ndim if _is_mask(part) else part is not None and part is not Ellipsis for part in parts)
    ellipses = [k for k, part in enumerate(parts) if part is Ellipsis]
    if len(ellipses) > 1:
        raise ShapeError("an index can hold only one ellipsis ('...')")
    if used > x.ndim:
        raise BoundsError(f"too many indices: {used} for an array of {x.ndim} dims, shape {list(x.shape)}")
    k = ellipses[0] if ellipses else len(parts)
    places = [j for j, part in enumerate(parts) if not (part is None or part is Ellipsis or isinstance(part, slice))]
    together = not places or places[-1] - places[0] == len(places) - 1
    return _without_masks([*parts[:k], *[slice(None)] * (x.ndim - used), *parts[k + 1 :]], x.shape), together


def _is_mask(part: Any) -> bool:
    return is_a(part, np.ndarray) and part.dtype == BOOL


def _without_masks(parts: Sequence[Any], shape: Sequence[int]) -> list[Any]:
    """The entries with an index array for each dim of a mask: where it is true."""
    found: list[Any] = []
    for part in parts:
        if not _is_mask(part):
            found.append(part)
            continue
        dim = sum(p is not None for p in found)
        if part.shape != tuple(shape[dim : dim + part.ndim]):
            raise ShapeError(f"a mask of shape {list(part.shape)} does not fit dims {dim} and on of {list(shape)}")
        found += np.nonzero(part)
    return found


def unchecked(parts: Sequence[Any], shape: Sequence[int]) -> list[Any]:
    """The entries of an index, of which those that are known and out of range are as if they were traced."""
    sizes = iter(shape)
    return [part if part is None else _unchecked(part, next(sizes)) for part in parts]


def _unchecked(part: Any, n: int) -> Any:
    if isinstance(part, slice | Tracer):
        return part
    known = np.asarray(part)
    return part if ((known >= -n) & (known < n)).all() else lift(known)


def is_array(part: Any) -> bool:
    """Whether an entry of an index is an array of indices, or a traced index."""
    return isinstance(part, Tracer | np.ndarray)


def _entry(part: Any) -> Any:
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if isinstance(part, tuple):
        part = list(part) if part else np.zeros(0, np.int64)
    if isinstance(part, Tracer | list) or (isinstance(part, np.ndarray) and part.ndim):
        known = part if isinstance(part, Tracer) or _holds_tracer(part) else np.asarray(part)
        return known if _is_mask(known) else index_array(part)
    if isinstance(part, bool | np.bool_) or getattr(part, "dtype", None) == BOOL:
        raise TracingError("indexing by a bool is not available")
    try:
        return static_int(part, "an index")
    except TypeError:
        raise DTypeError(
            f"an index must be an integer, a slice, None, '...' or an array of integers, got {type(part).__name__}: "
            f"{part!r:.40}"
        ) from None


def index_array(indices: Any, checked: bool = False) -> Any:
    """Integer indices: a tracer, or an int64 array whose values are known; or `Derived`.

    `checked`: the caller needs the values for `counted` alone, which may do this in each call of a program.

    Raises:
        TracingError: a boolean mask.
        DTypeError: not integers.
    """
    if checked and isinstance(indices, Watched):
        indices = Derived(indices, lambda x: x if is_integer_dtype(x.dtype) else index_array(x))
        return indices if is_integer_dtype(indices.dtype) else index_array(indices.of)
    if not isinstance(indices, Tracer):
        indices = lift(indices) if _holds_tracer(indices) else np.asarray(indices)
        if indices.size == 0 and indices.dtype.kind == "f":
            indices = np.zeros(indices.shape, np.int64)  # NumPy: an empty list is an index
    if indices.dtype == BOOL:
        raise TracingError(
            "indexing by a boolean mask has a result whose size depends on values: use lnp.where(mask, x, other)"
        )
    if not is_integer_dtype(indices.dtype):
        raise DTypeError(f"indices must be integers, got {indices.dtype}")
    return as_index(indices) if isinstance(indices, Tracer) else indices.astype(np.int64)


def as_index(indices: Tracer) -> Tracer:
    """Traced integers in a dtype that indexes."""
    return indices if indices.dtype in _INDICES else lift_as(indices, INT64)


def _holds_tracer(x: Any) -> bool:
    return isinstance(x, Tracer) or (isinstance(x, list | tuple) and any(map(_holds_tracer, x)))


def _static_slice(part: slice) -> slice:
    limits = (None if v is None else static_int(v, "a slice limit") for v in (part.start, part.stop, part.step))
    result = slice(*limits)
    if result.step == 0:
        raise ShapeError("slice step must not be 0")
    return result


def slice_places(part: slice, size: Any) -> tuple[Any, Any, Any, Any]:
    """The first index that a slice of a dim names, the step, how many there are, and over how many elements they reach.

    Sizes may be symbolic.
    """
    if all(not isinstance(v, Size) for v in (size, part.start, part.stop, part.step)):
        chosen = slice_range(part, size)
        return chosen.start, chosen.step, len(chosen), abs((len(chosen) - 1) * chosen.step) + 1
    part = _static_slice(part)
    step = 1 if part.step is None else part.step
    least_place, most = (0, size) if step > 0 else (-1, size - 1)

    def place(limit: Any, default: Any) -> Any:
        if limit is None:
            return default
        if limit < 0:
            return greatest(limit + size, least_place)
        return least(limit, most)

    start = place(part.start, 0 if step > 0 else most)
    stop = place(part.stop, most if step > 0 else least_place)
    distance = positive(stop - start if step > 0 else start - stop)
    if not isinstance(step, Size):
        return start, step, ceil_quotient(distance, abs(step)), distance
    by = step if step > 0 else -step
    try:
        count = (distance + by - 1) // by
    except SizeError:
        rule = f"a slice of {distance} elements by steps of {step} has a size that cannot be told while tracing"
        raise SizeError(f"{rule}: give the sizes bounds, or index by lnp.arange(count) * step") from None
    return start, step, count, distance


def places_of(start: Any, step: Any, count: Any) -> Any:
    """The indices that a slice names: an array where its sizes are known."""
    if not any(isinstance(v, Size) for v in (start, step, count)):
        return np.arange(count, dtype=np.int64) * step + start
    return lift_as(iota((count,), 0, INT64) * step + start, INT64)


def slice_range(part: slice, size: int) -> range:
    """The indices that a slice of a dim names."""
    return range(*_static_slice(part).indices(size))


# --------------------------------------------------------------------------------------------------------------------
# Static indices


def _basic(x: Tracer, parts: Sequence[Any]) -> Tracer:
    start, stop, step, reverse, shape = [], [], [], [], []
    x, parts = _open_steps(x, parts)
    dim = 0
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        n = x.shape[dim]
        if isinstance(part, slice):
            a, s, count, distance = slice_places(part, n)
            if count == 0:
                a, s, distance = 0, 1, 0
            elif s < 0:
                reverse.append(dim)
                a, s, distance = a + (count - 1) * s, -s, (count - 1) * -s + 1
            start.append(a)
            stop.append(a + distance)
            step.append(s)
            shape.append(count)
        else:
            k = within(part, n, dim)
            start.append(k)
            stop.append(k + 1)
            step.append(1)
        dim += 1
    y = reverse_tracer(slice_tracer(x, start, stop, step), reverse)
    return reshape_tracer(y, tuple(shape))


def _open_steps(x: Tracer, parts: Sequence[Any]) -> tuple[Tracer, list[Any]]:
    """An array and its index where slices have symbolic steps: their elements are gathered."""
    parts, dim = list(parts), 0
    for k, part in enumerate(parts):
        if isinstance(part, slice) and isinstance(part.step, Size):
            a, s, count, _ = slice_places(part, x.shape[dim])
            x, parts[k] = take(x, places_of(a, s, count), dim), slice(None)
        dim += part is not None
    return x, parts


def within(index: Any, n: int, dim: int) -> Any:
    """A known index, or array of them, counted from the start.

    Raises:
        BoundsError: it is out of range.
    """
    if isinstance(n, Size) or isinstance(index, Size):
        return _within_size(index, n, dim)
    wrong = np.asarray(index)[(np.asarray(index) < -n) | (np.asarray(index) >= n)]
    if wrong.size:
        raise BoundsError(f"index {wrong.flat[0]} is out of bounds for dim {dim} of size {n}")
    return index % n if n else index


def _within_size(index: Any, n: Any, dim: int) -> Any:
    """The same for a symbolic size: every call is checked for the index to be in range."""
    if is_a(index, np.ndarray):
        low, high = (int(index.min()), int(index.max())) if index.size else (0, 0)
        if low < 0:
            raise SizeError(f"indices {low} to {high} of dim {dim} of size {n}: count them from the start")
        if index.size:
            require_at_least(n, high + 1)
        return index
    if isinstance(index, int | np.integer) and isinstance(n, Size):
        require_at_least(n, int(index) + 1 if index >= 0 else -int(index))
        return index if index >= 0 else int(index) + n
    if index < 0:
        index = index + n
    if not (index >= 0 and n > index):
        raise BoundsError(f"index {index} is out of bounds for dim {dim} of size {n}")
    return index


# --------------------------------------------------------------------------------------------------------------------
# Index arrays


def counted(index: Any, n: int, dim: int) -> Tracer:
    """Indices of a dim of `n` elements as a tracer, counted from the start; traced ones may still be out of range."""
    if isinstance(index, Derived):
        return lift(index.then(lambda x: np.asarray(within(x.astype(np.int64), n, dim))))
    if not isinstance(index, Tracer):
        return lift(np.asarray(within(index, n, dim), np.int64))
    negative = compare("lt", index, full_like_tracer(index, 0))
    return select(negative, build("add", index, full_like_tracer(index, n)), index)


def common_points(indices: Sequence[Tracer]) -> list[Tracer]:
    """Index arrays broadcast together."""
    try:
        points = broadcast_shapes([i.shape for i in indices])
    except ValueError:
        shapes = ", ".join(str(list(i.shape)) for i in indices)
        raise ShapeError(f"index arrays of shapes {shapes} do not broadcast together") from None
    return [broadcast_tracer(i, points) for i in indices]


def _advanced(x: Tracer, parts: Sequence[Any], together: bool, mode: str | None, fill_value: Any) -> Tracer:
    """Ints count as arrays here. Their common dims come where they stand side by side, and first otherwise, as in NumPy."""
    entries = [part for part in parts if part is not None]
    x = _basic(x, [part if isinstance(part, slice) else slice(None) for part in entries])
    at = [d for d, part in enumerate(entries) if not isinstance(part, slice)]
    first = next(k for k, part in enumerate(parts) if part is not None and not isinstance(part, slice))
    y = gathered(x, [entries[d] for d in at], at, mode, fill_value)
    n_points = y.ndim - (x.ndim - len(at))
    before = sum(isinstance(part, slice) for part in parts[:first]) if together else 0
    y = transpose_tracer(y, [*range(n_points, n_points + before), *range(n_points), *range(n_points + before, y.ndim)])
    sizes, shape = list(y.shape), list[int]()
    if not together:
        shape, sizes = sizes[:n_points], sizes[n_points:]
    for k, part in enumerate(parts):
        if part is None:
            shape.append(1)
        elif isinstance(part, slice):
            shape.append(sizes.pop(0))
        elif together and k == first:
            shape += sizes[:n_points]
            del sizes[:n_points]
    return reshape_tracer(y, tuple(shape))


def gathered(x: Tracer, indices: Sequence[Any], at: Sequence[int], mode: str | None, fill_value: Any = None) -> Tracer:
    """Elements at index arrays of the dims `at`: the dims of the arrays, then the other dims of `x`."""
    if mode not in (None, "raise", NEAREST, *READ_MODES):
        raise ShapeError(f"mode must be one of raise, {', '.join(READ_MODES)}, got {mode!r}")
    if mode == "raise" and any(isinstance(i, Tracer) for i in indices):
        raise TracingError(
            f"traced indices cannot be checked: use mode={', mode='.join(map(repr, READ_MODES))}, or the default"
        )
    given = common_points([_by_mode(i, x.shape[d], d, mode) for i, d in zip(indices, at, strict=True)])
    points = given[0].shape
    rest = tuple(n for d, n in enumerate(x.shape) if d not in at)
    if 0 in (*points, *rest):
        return broadcast_tracer(lift_as(0, x.dtype), (*points, *rest))
    for d in at:
        if x.shape[d] == 0 and mode != "fill":
            raise ShapeError(f"there is no element to take from dim {d} of {list(x.shape)}")
    if mode != "fill":
        return build("gather", x, *given, at=tuple(at), weak=x.weak)
    fill = broadcast_tracer(lift_as(_filling(x) if fill_value is None else fill_value, x.dtype), (*points, *rest))
    if any(x.shape[d] == 0 for d in at):
        return fill
    known = broadcast_points(_inside(given, [x.shape[d] for d in at]), (*points, *rest))
    return select(known, build("gather", x, *given, at=tuple(at)), fill)


def broadcast_points(values: Tracer, shape: tuple[int, ...]) -> Tracer:
    """One value a point, repeated along dims that follow."""
    trace, value = here(values)
    return trace.wrap(trace.builder.broadcast(value, range(values.ndim), shape))


def _by_mode(index: Any, n: int, dim: int, mode: str | None) -> Tracer:
    if mode in (None, "raise"):
        return counted(index, n, dim)
    index = lift(index if isinstance(index, Tracer) else np.asarray(index))
    if mode == "clip":  # negative ones too: the first element, as in NumPy
        return index
    if mode == "wrap":
        return lift_as(index, INT64) % max(n, 1)
    return counted(index, n, dim)


def _inside(indices: Sequence[Tracer], sizes: Sequence[int]) -> Tracer:
    found = [compare("ge", i, full_like_tracer(i, 0)) for i in indices]
    found += [compare("lt", i, full_like_tracer(i, n)) for i, n in zip(indices, sizes, strict=True)]
    result = found[0]
    for one in found[1:]:
        result = build("and_", result, one)
    return result


def _filling(x: Tracer) -> Any:
    """The substitute for an element that does not exist: NaN, the least integer, True."""
    return math.nan if x.dtype.kind == "f" else True if x.dtype == BOOL else int(np.iinfo(x.dtype).min)


@array_function
def take(a: Any, indices: Any, axis: int | None = None, *, mode: str | None = None, fill_value: Any = None) -> Any:
    """`np.take`: the elements of `a` along `axis` at integer indices of any shape.

    Args:
        a: an array; without `axis` its elements in one dim.
        indices: integers, i32 or i64 when traced; negative ones count from the end.
        mode: the treatment of an index out of range. `"raise"`, the default for indices whose values are known; `"clip"`, the
            nearest element, the default for traced ones (given as a word it also takes negative indices for the first
            element, as NumPy's does); `"wrap"`, modulo the size; `"fill"`, `fill_value` (NaN, the least integer or True).

    Raises:
        ShapeError: a known index is out of range, or there are no elements.
        TracingError: a boolean mask, or mode "raise" for traced indices.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.take(np.array([10, 20, 30]), [2, 0, -1])
    array([30, 10, 30])
    >>> lm.jit(lambda x, i: lm.numpy.take(x, i, mode="fill", fill_value=0))(np.array([10, 20, 30]), np.array([1, 7]))
    array([20,  0])
    """
    x = lift(a)
    if axis is None:
        x, axis = reshape_tracer(x, (x.size,)), 0
    axis = normalize_axis(axis, x.ndim)
    index = static_int(indices, "an index") if isinstance(indices, int) else index_array(indices, mode in (None, "raise"))
    y = gathered(x, [index], [axis], mode, fill_value)
    n_points = y.ndim - x.ndim + 1
    return transpose_tracer(y, [*range(n_points, n_points + axis), *range(n_points), *range(n_points + axis, y.ndim)])


@array_function
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1, mode: str | None = None, fill_value: Any = None) -> Any:
    """`np.take_along_axis`: along one axis the elements at indices, the other dims side by side.

    `mode` is the treatment of indices out of range: `"clip"`, the nearest element, `"wrap"`, modulo the size, or `"fill"`,
    `fill_value` (NaN, the least integer or True). Negative ones count from the end.

    >>> import numpy as np, lamina as lm
    >>> x = np.array([[3, 1, 2], [0, 5, 4]])
    >>> lm.numpy.take_along_axis(x, np.argsort(x), axis=1)
    array([[1, 2, 3],
           [0, 4, 5]])
    """
    x, index = lift(arr), index_array(indices, checked=mode is None)
    if axis is None:
        x, axis = reshape_tracer(x, (x.size,)), 0
    axis = normalize_axis(axis, x.ndim)
    if index.ndim != x.ndim:
        raise ShapeError(f"take_along_axis needs indices of {x.ndim} dims, got {index.ndim}")
    if mode is not None:
        return _taken_by_mode(x, lift(index), axis, mode, fill_value)
    index = counted(index, x.shape[axis], axis)
    others = [d for d in range(x.ndim) if d != axis]
    try:
        common = broadcast_shapes([tuple([a.shape[d] for d in others]) for a in (x, index)])
    except ValueError:
        raise ShapeError(f"take_along_axis cannot pair {list(x.shape)} with indices {list(index.shape)}") from None
    perm = [*others, axis]
    index = transpose_tracer(broadcast_tracer(index, _with(common, axis, index.shape[axis])), perm)
    x = broadcast_tracer(x, _with(common, axis, x.shape[axis]))
    if x.shape[axis] == 0 and index.size:
        raise ShapeError(f"there is no element to take from dim {axis} of {list(x.shape)}")
    if index.size == 0:
        return broadcast_tracer(lift_as(0, x.dtype), _with(common, axis, index.shape[-1]))
    y = build("gather", x, index, at=(axis,), batch=tuple(others))
    return transpose_tracer(y, [perm.index(d) for d in range(x.ndim)])


def _taken_by_mode(x: Tracer, index: Tracer, axis: int, mode: str, fill_value: Any) -> Tracer:
    """`take_along_axis` with indices that may be out of range."""
    if mode not in READ_MODES:
        raise ShapeError(f"mode must be one of {', '.join(READ_MODES)}, got {mode!r}")
    n, index = x.shape[axis], lift_as(index, INT64)
    first, last = (full_like_tracer(index, k) for k in (0, n - 1))
    nearest = build("min", build("max", _by_mode(index, n, axis, "wrap" if mode == "wrap" else NEAREST), first), last)
    y = lift(take_along_axis(x, nearest, axis))
    if mode != "fill":
        return y
    limits = [full_like_tracer(index, k) for k in (-n, n)]
    inside = build("and", compare("ge", index, limits[0]), compare("lt", index, limits[1]))
    filling = lift_as(_filling(x) if fill_value is None else fill_value, x.dtype)
    return select(broadcast_tracer(inside, y.shape), y, broadcast_tracer(filling, y.shape))


def _with(common: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
    return (*common[:axis], size, *common[axis:])

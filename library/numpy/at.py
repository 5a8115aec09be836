"""lamina.numpy: arrays with updated elements, `x.at[index].add(values)`; sums over segments; blocks at traced indices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api import (
    Tracer,
    array_function,
    broadcast_tracer,
    build,
    concrete_array,
    edit,
    full_like_tracer,
    lift,
    lift_as,
    lift_into,
)
from ...api.dtypes import BOOL, FLOAT64, INT64, is_integer_dtype
from ...api.errors import DTypeError, ShapeError, TracingError
from .axes_and_shapes import reshape_tracer, static_int, static_shape, transpose_tracer
from .index import (
    NEAREST,
    as_index,
    common_points,
    counted,
    expanded,
    index_array,
    indexed,
    is_array,
    places_of,
    slice_places,
    unchecked,
    within,
    without_bools,
)
from .logic import clip


class At:
    """`x.at`: choose elements with `[index]`."""

    __slots__ = ("x",)

    def __init__(self, x: Any):
        self.x = x

    def __getitem__(self, index: Any) -> Elements:
        return Elements(self.x, index)


class Elements:
    """`x.at[index]`: the array with these elements changed.

    Each method returns a new array; the compiler updates `x` in place where nothing else needs it. `values` broadcast to the
    shape of `x[index]` and are converted to its dtype. Where an index occurs several times, updates are made one after the
    other in the order of the index. Negative indices count from the end. One that is out of range then changes nothing
    (`mode="drop"` or `"fill"`), or the nearest element (`mode="clip"`); without a mode it is an error if it is known while
    tracing, and changes nothing if it is traced. jax's hints `unique_indices` and `indices_are_sorted` are accepted and change
    nothing.
    """

    __slots__ = ("index", "x")

    def __init__(self, x: Any, index: Any):
        self.x = x
        self.index = index

    def get(self, *, mode: str | None = None, fill_value: Any = None, **hints: bool) -> Any:
        """`x[index]`; out of range are the nearest element (`mode="clip"`) or `fill_value` (`"fill"` or `"drop"`)."""
        _require_known(hints)
        return _get(self.x, self.index, mode, fill_value)

    def set(self, values: Any, *, mode: str | None = None, **hints: bool) -> Any:
        """`y = x.copy(); y[index] = values`; the last one stays where several meet."""
        return self._changed(_update, values, mode, hints, "set")

    def add(self, values: Any, *, mode: str | None = None, **hints: bool) -> Any:
        """`np.add.at(x, index, values)`."""
        return self._changed(_update, values, mode, hints, "add")

    def subtract(self, values: Any, *, mode: str | None = None, **hints: bool) -> Any:
        """`np.subtract.at(x, index, values)`."""
        return self._changed(_subtract, values, mode, hints)

    sub = subtract

    def multiply(self, values: Any, *, mode: str | None = None, **hints: bool) -> Any:
        """`np.multiply.at(x, index, values)`."""
        return self._changed(_update, values, mode, hints, "mul")

    mul = multiply

    def divide(self, values: Any, *, mode: str | None = None, **hints: bool) -> Any:
        """`np.divide.at(x, index, values)`; where several meet, the element is divided by their product."""
        return self._changed(_divide, values, mode, hints)

    div = divide

    def power(self, values: Any, *, mode: str | None = None, **hints: bool) -> Any:
        """`np.power.at(x, index, values)` of floats; where several meet, the exponent is their product."""
        return self._changed(_power, values, mode, hints)

    def min(self, values: Any, *, mode: str | None = None, **hints: bool) -> Any:
        """`np.minimum.at(x, index, values)`."""
        return self._changed(_update, values, mode, hints, "min")

    def max(self, values: Any, *, mode: str | None = None, **hints: bool) -> Any:
        """`np.maximum.at(x, index, values)`."""
        return self._changed(_update, values, mode, hints, "max")

    def apply(self, function: Callable[[Any], Any], *, mode: str | None = None, **hints: bool) -> Any:
        """`x` with `function(x[index])` at the index; once, where several meet."""
        return self._changed(_update, function(self.get(mode=mode)), mode, hints, "set")

    def _changed(self, change: Callable[..., Any], values: Any, mode: str | None, hints: dict[str, bool], *kind: str) -> Any:
        _require_known(hints)
        return change(self.x, self.index, values, *kind, mode)


def _require_known(hints: dict[str, bool]) -> None:
    if unknown := hints.keys() - {"unique_indices", "indices_are_sorted"}:
        raise TypeError(f"x.at[index] got an unexpected keyword argument {min(unknown)!r}")


_MODES = ("drop", "fill", "clip", "promise_in_bounds")
_READS = {"drop": "fill", "fill": "fill", "clip": NEAREST, "wrap": "wrap", "promise_in_bounds": None, None: None}


@edit
def _get(x: Any, index: Any, mode: str | None, fill_value: Any) -> Any:
    if mode not in _READS:
        raise ShapeError(f"mode must be one of {', '.join(_MODES)}, wrap, got {mode!r}")
    return indexed(lift(x), index, _READS[mode], fill_value)


@edit
def _update(x: Any, index: Any, values: Any, kind: str, mode: str | None) -> Any:
    given, x = x, lift(x)
    if mode is not None and mode not in _MODES:
        raise ShapeError(f"mode must be one of {', '.join(_MODES)}, got {mode!r}")
    mode = None if mode == "promise_in_bounds" else mode  # checked where known, as without a mode
    if x.dtype == BOOL and kind in ("add", "mul"):
        raise DTypeError(f"cannot {kind} bools: convert with .astype(...)")
    shape = x.shape
    x, index, new = without_bools(x, index)
    if new:
        return reshape_tracer(_update(x, index, lift_into(values, given, x.dtype), kind, mode), shape)
    (parts, together), values = expanded(x, index), lift_into(values, given, x.dtype)
    if mode is not None:
        parts = unchecked(parts, x.shape)
    if not any(map(is_array, parts)) and all(slice_places(p, n)[1] == 1 for p, n in _slices(x, parts)):
        return _update_block(x, parts, values, kind)
    return _update_points(x, parts, together, values, kind, mode)


@edit
def _subtract(x: Any, index: Any, values: Any, mode: str | None) -> Any:
    given, x = x, lift(x)
    if x.dtype == BOOL:
        raise DTypeError("cannot subtract bools: convert with .astype(...)")
    return _update(x, index, build("neg", lift_into(values, given, x.dtype)), "add", mode)


def _floats(x: Any, what: str) -> Tracer:
    x = lift(x)
    if x.dtype.kind != "f":
        raise DTypeError(f"x.at[index].{what} needs floats, got {x.dtype}: convert with .astype(...)")
    return x


@edit
def _divide(x: Any, index: Any, values: Any, mode: str | None) -> Any:
    given, x = x, _floats(x, "divide")
    values = lift_into(values, given, x.dtype)
    return build("div", x, _update(full_like_tracer(x, 1), index, values, "mul", mode))


@edit
def _power(x: Any, index: Any, values: Any, mode: str | None) -> Any:
    given, x = x, _floats(x, "power")
    values = lift_into(values, given, x.dtype)
    exponents = _update(full_like_tracer(x, 1), index, values, "mul", mode)
    chosen = _update(broadcast_tracer(lift(np.False_), x.shape), index, True, "set", mode)
    return build("select", chosen, build("pow", x, exponents), x)


def _slices(x: Tracer, parts: Sequence[Any]) -> list[tuple[slice, int]]:
    entries = [part for part in parts if part is not None]
    return [(part, n) for part, n in zip(entries, x.shape, strict=True) if isinstance(part, slice)]


def _update_block(x: Tracer, parts: Sequence[Any], values: Tracer, kind: str) -> Tracer:
    """One window at a static index."""
    starts, sizes, shape, dim = list[int](), list[int](), list[int](), 0
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        if isinstance(part, slice):
            start, _, count, _ = slice_places(part, x.shape[dim])
            starts.append(0 if count == 0 else start)
            sizes.append(count)
            shape.append(count)
        else:
            starts.append(within(part, x.shape[dim], dim))
            sizes.append(1)
        dim += 1
    values = reshape_tracer(broadcast_tracer(values, tuple(shape)), tuple(sizes))
    if 0 in sizes:
        return x
    if tuple(sizes) == x.shape:
        return values if kind == "set" else build(kind, x, values)
    at = [d for d, n in enumerate(sizes) if n != x.shape[d]]
    indices = [lift_as(starts[d], INT64) for d in at]
    return build("scatter", x, values, *indices, kind=kind, at=tuple(at), window=tuple(sizes[d] for d in at))


def _update_points(x: Tracer, parts: Sequence[Any], together: bool, values: Tracer, kind: str, mode: str | None) -> Tracer:
    """Index arrays for all dims but those that are read whole: a slice is one over a dim of its own."""
    entries = [part for part in parts if part is not None]
    shape = x.shape
    places = {d: slice_places(p, shape[d]) for d, p in enumerate(entries) if isinstance(p, slice)}
    whole = [d for d, (start, step, count, _) in places.items() if (start, step, count) == (0, 1, shape[d])]
    sliced = [d for d, p in enumerate(entries) if isinstance(p, slice) and d not in whole]
    arrays = [d for d, p in enumerate(entries) if not isinstance(p, slice)]
    chosen = common_points([counted(entries[d], shape[d], d) for d in arrays]) if arrays else []
    points = chosen[0].shape if arrays else ()
    lengths = [places[d][2] for d in sliced]
    values = _values_by_points(values, parts, together, shape, points, (*sliced, *whole))
    if 0 in (*points, *lengths) or 0 in shape:
        return x
    indices = {d: reshape_tracer(i, (*points, *(1 for _ in sliced))) for d, i in zip(arrays, chosen, strict=True)}
    for k, d in enumerate(sliced):
        start, step, count, _ = places[d]
        indices[d] = reshape_tracer(lift(places_of(start, step, count)), (count, *(1,) * (len(sliced) - k - 1)))
    at = sorted(indices)
    given = common_points([indices[d] for d in at])
    if mode == "clip":
        given = [
            build("min", build("max", i, full_like_tracer(i, 0)), full_like_tracer(i, shape[d] - 1))
            for i, d in zip(given, at, strict=True)
        ]
    return build("scatter", x, values, *given, kind=kind, at=tuple(at))


def _values_by_points(
    values: Tracer, parts: Sequence[Any], together: bool, shape: tuple[int, ...], points: tuple[int, ...], rest: Sequence[int]
) -> Tracer:
    """Values of the shape of `x[index]` with the dims of the index arrays first, then the dims `rest` of `x`."""
    begin = next((k for k, part in enumerate(parts) if part is not None and not isinstance(part, slice)), None)
    together = together and begin is not None
    order: list[tuple[Any, tuple[int, ...]]] = [] if together else [("points", points)]
    dim = 0
    for k, part in enumerate(parts):
        if part is None:
            order.append((None, (1,)))
            continue
        if isinstance(part, slice):
            order.append((dim, (slice_places(part, shape[dim])[2],)))
        elif together and k == begin:
            order.append(("points", points))
        dim += 1
    values = broadcast_tracer(values, tuple(n for _, sizes in order for n in sizes))
    order = [entry for entry in order if entry[0] is not None]
    values = reshape_tracer(values, tuple(n for _, sizes in order for n in sizes))
    first: dict[Any, int] = {}
    position = 0
    for key, sizes in order:
        first[key] = position
        position += len(sizes)
    start = first["points"]
    return transpose_tracer(values, [*range(start, start + len(points)), *(first[d] for d in rest)])


def _segments(
    data: Any, segment_ids: Any, num_segments: int | None, mode: str | None, what: str, kind: str, start: Any
) -> Tracer:
    """The rows of `data` combined by their ids; a segment without rows has `start`, or a bound of the dtype."""
    x, ids = lift(data), index_array(segment_ids, checked=num_segments is not None)
    if x.ndim == 0 or ids.shape != x.shape[:1]:
        raise ShapeError(f"{what} needs one id for each row, data is {list(x.shape)}, segment_ids {list(ids.shape)}")
    if x.dtype == BOOL:
        raise DTypeError(f"{what} takes numbers, got bool: convert with .astype(...)")
    if num_segments is None:
        if isinstance(ids, Tracer):
            raise TracingError(f"{what} needs num_segments= where the ids are traced: it is the size of the result")
        num_segments = int(ids.max(initial=-1)) + 1
    size = static_int(num_segments, "num_segments")
    if mode not in (None, "clip", "drop", "fill", "promise_in_bounds"):
        raise ShapeError(f"{what} mode must be clip, drop, fill or promise_in_bounds, got {mode!r}")
    if mode == "clip" and size > 0:
        ids = clip(ids, 0, size - 1)
    if start in ("min", "max"):
        limit = math.inf if start == "max" else -math.inf
        start = limit if x.dtype.kind == "f" else int(getattr(np.iinfo(x.dtype), start))
    empty = broadcast_tracer(lift_as(start, x.dtype), (max(size, 0), *x.shape[1:]))
    return build("scatter", empty, x, as_index(lift(ids)), kind=kind, at=(0,)) if size > 0 else empty


def _segment(name: str, kind: str, start: Any, doc: str) -> Callable[..., Any]:
    def function(
        data: Any,
        segment_ids: Any,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: str | None = None,
    ) -> Any:
        return _segments(data, segment_ids, num_segments, mode, name, kind, start)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return array_function(function)


segment_sum = _segment(
    "segment_sum",
    "add",
    0,
    """The sums of the rows of `data` with one id each: `result[s]` is the sum of all `data[k]` with `segment_ids[k] == s`.

    Args:
        data: `[n, ...]`, numbers.
        segment_ids: `[n]`, integers in any order. An id below 0, or not below `num_segments`, adds nothing.
        num_segments: how many sums; by default one more than the greatest id, which must be known then.
        indices_are_sorted, unique_indices, bucket_size: as jax has them; they change nothing here.
        mode: with "clip" an id that is out of range is the nearest one; others are the default.

    Returns:
        `[num_segments, ...]` of the dtype of `data`. Rows are added in their order, so the result does not depend on threads.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.segment_sum(np.array([1., 2., 4., 8.]), np.array([0, 2, 0, 2]))
    array([ 5.,  0., 10.])
    """,
)
segment_prod = _segment("segment_prod", "mul", 1, "As `segment_sum`, products; 1 for an id that no row has.")
segment_max = _segment(
    "segment_max", "max", "min", "As `segment_sum`, the greatest; minus infinity (the least integer) for an id that no row has."
)
segment_min = _segment(
    "segment_min", "min", "max", "As `segment_sum`, the least; infinity (the greatest integer) for an id that no row has."
)


@array_function
def segment_mean(data: Any, segment_ids: Any, num_segments: int | None = None) -> Any:
    """As `segment_sum`, means; NaN for an id that no row has."""
    x = lift(data)
    x = x if x.dtype.kind == "f" else lift_as(x, FLOAT64)
    total = _segments(x, segment_ids, num_segments, None, "segment_mean", "add", 0)
    ones = full_like_tracer(x, 1)
    return build("div", total, _segments(ones, segment_ids, num_segments, None, "segment_mean", "add", 0))


@array_function
def dynamic_slice(x: Any, starts: Any, sizes: Any, allow_negative_indices: bool | Sequence[bool] = True) -> Any:
    """A block of `x`, one start and size a dim; starts may be traced, and are moved so that the block is inside.

    A negative start counts from the end, unless `allow_negative_indices` (of its dim) is false: then it is moved to 0.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.dynamic_slice(np.arange(10), [8], [4])
    array([6, 7, 8, 9])
    """
    x, sizes = lift(x), static_shape(sizes)
    at, indices = _block(x, starts, sizes, "dynamic_slice", allow_negative_indices)
    return build("gather", x, *indices, at=at, window=tuple(sizes[d] for d in at)) if at else x


@edit
def dynamic_update_slice(x: Any, update: Any, starts: Any, allow_negative_indices: bool | Sequence[bool] = True) -> Any:
    """`x` with a block replaced; starts may be traced, and are moved so that the block is inside, as in `dynamic_slice`.

    >>> import numpy as np, lamina as lm
    >>> lm.numpy.dynamic_update_slice(np.zeros(5), np.ones(2), [9])
    array([0., 0., 0., 1., 1.])
    """
    given, x = x, lift(x)
    update = lift_into(update, given, x.dtype)
    if update.ndim != x.ndim:
        raise ShapeError(f"dynamic_update_slice needs an update of {x.ndim} dims, got {list(update.shape)}")
    at, indices = _block(x, starts, update.shape, "dynamic_update_slice", allow_negative_indices)
    if not at:
        return update
    inside = [
        build("min", build("max", i, full_like_tracer(i, 0)), full_like_tracer(i, x.shape[d] - update.shape[d]))
        for i, d in zip(indices, at, strict=True)
    ]
    return build("scatter", x, update, *inside, kind="set", at=at, window=tuple(update.shape[d] for d in at))


def _block(
    x: Tracer, starts: Any, sizes: Sequence[int], name: str, negative: bool | Sequence[bool]
) -> tuple[tuple[int, ...], list[Tracer]]:
    """The dims that a block does not take whole, and its starts there; negative ones count from the end where they may."""
    given = list(starts) if isinstance(starts, tuple | list) or np.ndim(starts) else [starts]
    if len(given) != x.ndim or len(sizes) != x.ndim:
        raise ShapeError(f"{name} needs one start and size a dim of {list(x.shape)}, got {len(given)} and {len(sizes)}")
    wraps = [negative] * x.ndim if isinstance(negative, bool) else list(negative)
    if len(wraps) != x.ndim:
        raise ShapeError(f"{name} needs one allow_negative_indices a dim of {list(x.shape)}, got {len(wraps)}")
    for d, n in enumerate(sizes):
        if not 0 <= n <= x.shape[d]:
            raise ShapeError(f"{name}: a block of {list(sizes)} does not fit in {list(x.shape)}")
    at = tuple(d for d, n in enumerate(sizes) if n != x.shape[d])
    indices: list[Tracer] = []
    for d in at:
        if not wraps[d] and isinstance(given[d], int | np.integer) and given[d] < 0:
            raise ShapeError(f"{name}: start {given[d]} of dim {d} is negative, and allow_negative_indices says that none is")
        start = given[d] if isinstance(given[d], Tracer) else lift(concrete_array(given[d]))
        if start.ndim or not is_integer_dtype(start.dtype):
            raise DTypeError(f"{name}: a start must be an integer, got {start!r}")
        start = as_index(start)
        indices.append(counted(start, x.shape[d], d) if wraps[d] else build("max", start, full_like_tracer(start, 0)))
    return at, indices

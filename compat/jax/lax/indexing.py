"""`lamina.lax`: gather and scatter with dimension numbers, as in jax.lax and StableHLO.

Windows of `slice_sizes` are read from, or combined into, an array at starts that the last dim of an index array holds.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....api import Tracer, array_function, broadcast_tracer, build, full_like_tracer, lift, lift_as
from ....api.dtypes import INT64, is_integer_dtype
from ....api.errors import DTypeError, ShapeError
from ....api.functions import fori_loop
from ....library.numpy.at import dynamic_slice, dynamic_update_slice
from ....library.numpy.axes_and_shapes import reshape_tracer, slice_axis, static_shape, transpose_tracer
from ....library.numpy.elementwise import compare, select
from ....library.numpy.logic import where


class GatherScatterMode(enum.Enum):
    """The treatment of windows out of bounds: moved inside, left out (read as a fill value), or promised not to exist."""

    CLIP = "clip"
    FILL_OR_DROP = "fill"
    PROMISE_IN_BOUNDS = "promise_in_bounds"
    ONE_HOT = "one_hot"

    @staticmethod
    def from_any(mode: GatherScatterMode | str | None) -> GatherScatterMode:
        """A mode by its name; "drop" and None are `FILL_OR_DROP`.

        Raises:
            ShapeError: there is no such mode.
        """
        if isinstance(mode, GatherScatterMode):
            return mode
        if mode in (None, "fill", "drop"):
            return GatherScatterMode.FILL_OR_DROP
        if mode in ("clip", "promise_in_bounds"):
            return GatherScatterMode(mode)
        raise ShapeError(f"mode must be one of fill, drop, clip, promise_in_bounds, got {mode!r}")


class GatherDimensionNumbers(NamedTuple):
    """Which dims a gather means.

    Attributes:
        offset_dims: dims of the result that a window extends over.
        collapsed_slice_dims: dims of the operand of which a window takes one element, left out of the result.
        start_index_map: the dim of the operand that each element of an index vector addresses.
        operand_batching_dims, start_indices_batching_dims: dims of the operand and of the indices that go along.
    """

    offset_dims: Sequence[int]
    collapsed_slice_dims: Sequence[int]
    start_index_map: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    start_indices_batching_dims: Sequence[int] = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which dims a scatter means.

    Attributes:
        update_window_dims: dims of the updates that a window extends over.
        inserted_window_dims: dims of the operand of which a window has one element, left out of the updates.
        scatter_dims_to_operand_dims: the dim of the operand that each element of an index vector addresses.
        operand_batching_dims, scatter_indices_batching_dims: dims of the operand and of the indices that go along.
    """

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


class _Windows:
    """Windows of an operand at starts, as `graph.gather` and `graph.scatter` name them.

    Attributes:
        x: the operand.
        starts: one index tensor an addressed dim, whose first dims are the batching ones.
        props: the properties `at`, `window` and `batch`.
        places: the indices, of shape `[points, window]` in the op's order, batching points first.
        order: the order of these dims in the operand of the user (points in their order, then the window's that are kept).
        points: sizes of the points in the user's order.
    """

    def __init__(
        self,
        what: str,
        x: Tracer,
        indices: Any,
        mapped: Sequence[int],
        batching: Sequence[tuple[int, int]],
        sizes: Sequence[int],
    ):
        vectors = lift(indices)
        if not is_integer_dtype(vectors.dtype) or not vectors.ndim or vectors.shape[-1] != len(mapped):
            shown = f"{vectors.dtype}{list(vectors.shape)}"
            raise ShapeError(f"{what} needs integer indices whose last dim has {len(mapped)} elements, got {shown}")
        if len(sizes) != x.ndim or any(not 0 <= k <= n for k, n in zip(sizes, x.shape, strict=True)):
            raise ShapeError(f"{what} windows of {list(sizes)} do not fit an operand of shape {list(x.shape)}")
        if vectors.dtype == np.uint64:
            vectors = build("min", vectors, full_like_tracer(vectors, np.iinfo(np.int64).max))
        vectors = vectors if vectors.dtype == np.int32 else lift_as(vectors, INT64)
        self.points = vectors.shape[:-1]
        along = [d for _, d in batching]
        perm = [*along, *(d for d in range(len(self.points)) if d not in along)]
        vectors = transpose_tracer(vectors, [*perm, len(self.points)])
        batch = [d for d, _ in batching]
        wanted = {d: k for k, d in enumerate(mapped)}
        at = [d for d, n in enumerate(x.shape) if d not in batch and (d in wanted or sizes[d] != n)]
        shape = vectors.shape[:-1]
        if not at:  # all windows are the whole operand: they are addressed along a dim of one element
            at, sizes, x = [x.ndim], (*sizes, 1), reshape_tracer(x, (*x.shape, 1))
        last = vectors.ndim - 1
        zero = broadcast_tracer(lift_as(0, vectors.dtype), shape)
        self.starts = [
            reshape_tracer(slice_axis(vectors, last, wanted[d], wanted[d] + 1), shape) if d in wanted else zero for d in at
        ]
        self.x, self.at, self.sizes = x, at, tuple(sizes[d] for d in at)
        self.props: dict[str, Any] = {"at": tuple(at), "window": self.sizes, "batch": tuple(batch)}
        self.window = [d for d in range(x.ndim) if d not in batch]
        self.places = (*shape, *(sizes[d] for d in self.window))
        self.perm = perm

    def inside(self) -> Tracer:
        """Which windows are inside, over the points in the op's order."""
        found: Tracer | None = None
        for start, d, size in zip(self.starts, self.at, self.sizes, strict=True):
            last = full_like_tracer(start, self.x.shape[d] - size)
            within = build("and", compare("ge", start, full_like_tracer(start, 0)), compare("le", start, last))
            found = within if found is None else build("and", found, within)
        assert found is not None
        return found

    def moved_inside(self) -> list[Tracer]:
        """The starts, clamped."""
        return [
            build("min", build("max", start, full_like_tracer(start, 0)), full_like_tracer(start, self.x.shape[d] - size))
            for start, d, size in zip(self.starts, self.at, self.sizes, strict=True)
        ]


def _default_fill(dtype: np.dtype[Any]) -> Any:
    """jax's: NaN, the least signed integer, the greatest unsigned one, true."""
    if dtype.kind in "fc":
        return np.nan
    if dtype.kind == "b":
        return True
    return np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max


def _pairs(what: str, x: Tracer, dims: Sequence[int], of_indices: Sequence[int]) -> list[tuple[int, int]]:
    if len(dims) != len(of_indices):
        raise ShapeError(f"{what} needs as many batching dims of the operand as of the indices, got {dims} and {of_indices}")
    return list(zip(static_shape(dims), static_shape(of_indices), strict=True))


@array_function
def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Any,
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: GatherScatterMode | str | None = None,
    fill_value: Any = None,
) -> Any:
    """`jax.lax.gather`: windows of an operand, one for each index vector.

    Args:
        operand: any array.
        start_indices: integers `[..., k]`: where each window starts in the dims `start_index_map`.
        dimension_numbers: `GatherDimensionNumbers`.
        slice_sizes: the size of a window in each dim of the operand.
        mode: "fill": windows that are not inside are `fill_value`; "clip" and "promise_in_bounds" (default): they are moved
            inside.
        fill_value: by default NaN, the least signed or greatest unsigned integer, or true.

    Returns:
        The shape of the indices without their last dim, with the dims of a window at `offset_dims`.

    Raises:
        ShapeError: sizes, indices or dimension numbers do not go together.
    """
    dn = dimension_numbers
    how = GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    x, sizes = lift(operand), static_shape(slice_sizes)
    batching = _pairs("gather", x, dn.operand_batching_dims, dn.start_indices_batching_dims)
    windows = _Windows("gather", x, start_indices, static_shape(dn.start_index_map), batching, sizes)
    y = build("gather", windows.x, *windows.starts, **windows.props)
    if how is GatherScatterMode.FILL_OR_DROP:
        inside = windows.inside()
        spread = reshape_tracer(inside, (*inside.shape, *(1,) * (y.ndim - inside.ndim)))
        fill = full_like_tracer(y, _default_fill(y.dtype) if fill_value is None else fill_value)
        y = select(broadcast_tracer(spread, y.shape), y, fill)
    dropped = {*static_shape(dn.collapsed_slice_dims), *(d for d in windows.window if d >= x.ndim)}
    if any(sizes[d] != 1 for d in dropped if d < x.ndim):
        raise ShapeError(f"gather collapses dims {list(dn.collapsed_slice_dims)}, of which windows {list(sizes)} have more")
    kept = [d for d in windows.window if d not in dropped]
    offset = static_shape(dn.offset_dims)
    rank = len(windows.points) + len(kept)
    if len(offset) != len(kept) or any(not 0 <= d < rank for d in offset):
        raise ShapeError(f"gather needs {len(kept)} offset dims within a result of {rank}, got {list(offset)}")
    y = reshape_tracer(y, (*(windows.points[d] for d in windows.perm), *(sizes[d] for d in kept)))
    sources = {d: len(windows.points) + k for k, d in enumerate(offset)}
    points = iter(windows.perm.index(d) for d in range(len(windows.points)))
    return transpose_tracer(y, [sources[d] if d in sources else next(points) for d in range(rank)])


def _updates(what: str, x: Tracer, indices: Any, updates: Tracer, dn: ScatterDimensionNumbers) -> tuple[_Windows, Tracer]:
    """The windows that updates go to, and the updates in the order of `graph.scatter`."""
    inserted, over = static_shape(dn.inserted_window_dims), static_shape(dn.update_window_dims)
    batching = _pairs(what, x, dn.operand_batching_dims, dn.scatter_indices_batching_dims)
    kept = [d for d in range(x.ndim) if d not in inserted and d not in [b for b, _ in batching]]
    if len(kept) != len(over) or any(not 0 <= d < updates.ndim for d in over):
        raise ShapeError(
            f"{what} needs {len(kept)} update_window_dims within updates of shape {list(updates.shape)}, got {list(over)}"
        )
    sizes = [1] * x.ndim
    for d, of_update in zip(kept, over, strict=True):
        sizes[d] = updates.shape[of_update]
    windows = _Windows(what, x, indices, static_shape(dn.scatter_dims_to_operand_dims), batching, sizes)
    points = [d for d in range(updates.ndim) if d not in over]
    if tuple(updates.shape[d] for d in points) != windows.points:
        raise ShapeError(
            f"{what} needs one update an index vector, of {list(windows.points)} indices, got updates {list(updates.shape)} "
            f"with window dims {list(over)}"
        )
    ordered = transpose_tracer(updates, [*(points[d] for d in windows.perm), *over])
    return windows, reshape_tracer(ordered, windows.places)


def _scatter(what: str, kind: str) -> Callable[..., Any]:
    def function(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: GatherScatterMode | str | None = None,
    ) -> Any:
        x = lift(operand)
        if x.dtype.kind == "b" and kind not in ("set", "max", "min"):
            raise DTypeError(f"{what} takes numbers, got bool: convert with .astype(...)")
        u = lift_as(updates, x.dtype)
        windows, placed = _updates(what, x, scatter_indices, build("neg", u) if what == "scatter_sub" else u, dimension_numbers)
        if 0 in placed.shape:
            return x
        clip = GatherScatterMode.from_any(mode) is GatherScatterMode.CLIP
        starts = windows.moved_inside() if clip else windows.starts
        return reshape_tracer(build("scatter", windows.x, placed, *starts, kind=kind, **windows.props), x.shape)

    function.__name__ = function.__qualname__ = what
    function.__doc__ = f"""`jax.lax.{what}`: `operand` with windows of updates {_VERBS[what]} where indices say.

    Updates are made in the order of the index vectors. One whose window is not inside as a whole is left out; with
    `mode="clip"` it is moved inside.

    Args:
        operand: any array.
        scatter_indices: integers `[..., k]`: where a window starts in the dims `scatter_dims_to_operand_dims`.
        updates: the shape of the indices without their last dim, with the dims of a window at `update_window_dims`.
        dimension_numbers: `ScatterDimensionNumbers`.

    Raises:
        ShapeError: sizes, indices or dimension numbers do not go together.
    """
    return array_function(function)


_VERBS = {
    "scatter": "set", "scatter_add": "added", "scatter_sub": "subtracted", "scatter_mul": "multiplied",
    "scatter_min": "combined by minimum", "scatter_max": "combined by maximum",
}  # fmt: skip
scatter = _scatter("scatter", "set")
scatter_add, scatter_sub = _scatter("scatter_add", "add"), _scatter("scatter_sub", "add")
scatter_mul = _scatter("scatter_mul", "mul")
scatter_min, scatter_max = _scatter("scatter_min", "min"), _scatter("scatter_max", "max")


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Any = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: GatherScatterMode | str | None = None,
) -> Any:
    """`jax.lax.scatter_apply`: `operand` with `func` applied to windows, one index vector after the other.

    Args:
        operand: any array.
        scatter_indices: integers `[..., k]`.
        func: from a window to one of its shape; where several windows meet it is applied as often.
        dimension_numbers: `ScatterDimensionNumbers`.
        update_shape: the shape that updates would have.

    >>> import numpy as np, lamina as lm
    >>> dims = lm.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lm.lax.scatter_apply(np.ones(4), np.array([[1], [1], [2]]), lambda v: 3 * v, dims, update_shape=(3,))
    array([1., 9., 3., 1.])
    """
    x = operand
    shape, sizes, starts, inside = _flat_windows(operand, scatter_indices, dimension_numbers, static_shape(update_shape), mode)

    def step(k: Any, x: Any) -> Any:
        at = [start[k] for start in starts]
        window = dynamic_slice(x, at, sizes)
        changed = func(window.reshape(shape)).reshape(sizes)
        return dynamic_update_slice(x, where(inside[k], changed, window), at)

    return fori_loop(0, inside.shape[0], step, x)


@array_function
def _flat_windows(operand: Any, indices: Any, dn: ScatterDimensionNumbers, shape: Sequence[int], mode: Any) -> Any:
    """The shape of a window's update, its sizes in the operand, the starts of all windows by dim, and which take part."""
    x = lift(operand)
    window = tuple(shape[d] for d in static_shape(dn.update_window_dims))
    batch = dict(_pairs("scatter_apply", x, dn.operand_batching_dims, dn.scatter_indices_batching_dims))
    left_out = {*static_shape(dn.inserted_window_dims), *batch}
    extents = iter(window)
    sizes = tuple(1 if d in left_out else next(extents) for d in range(x.ndim))
    updates = broadcast_tracer(lift_as(0, x.dtype), tuple(shape))
    windows, _ = _updates("scatter_apply", x, indices, updates, dn)
    chosen = windows.moved_inside() if GatherScatterMode.from_any(mode) is GatherScatterMode.CLIP else windows.starts
    points = windows.starts[0].shape
    numbers = {d: _number(points, k) for k, d in enumerate(batch)}
    known = dict(zip(windows.at, chosen, strict=True))
    zero = broadcast_tracer(lift_as(0, INT64), points)
    count = (int(np.prod(points, dtype=int)),)
    starts = [reshape_tracer(lift_as(known.get(d, numbers.get(d, zero)), INT64), count) for d in range(x.ndim)]
    everywhere = compare("eq", zero, zero) if chosen is not windows.starts else windows.inside()
    return window, sizes, starts, reshape_tracer(everywhere, count)


def _number(points: Sequence[int], dim: int) -> Tracer:
    """The index of each point along a dim."""
    column = np.arange(points[dim]).reshape(-1, *(1,) * (len(points) - dim - 1))
    return broadcast_tracer(lift(column), tuple(points))

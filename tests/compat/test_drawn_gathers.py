"""`lax.gather` and the `lax.scatter` family at random options, all at once, against plain NumPy forms."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lamina as lm
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from drawn import Array, Draw, check


class _Windows(NamedTuple):
    """Where windows of an operand are: what the dimension numbers of a gather and of a scatter say alike."""

    shape: list[int]
    sizes: list[int]
    at: list[int]
    left_out: list[int]
    batch: list[int]
    batch_of_indices: list[int]
    offset: list[int]
    indices: Array

    @property
    def points(self) -> tuple[int, ...]:
        return self.indices.shape[:-1]

    @property
    def extent(self) -> list[int]:
        return [n for d, n in enumerate(self.sizes) if d not in (*self.left_out, *self.batch)]

    @property
    def result(self) -> tuple[int, ...]:
        rest, extent = iter(self.points), iter(self.extent)
        rank = len(self.points) + len(self.offset)
        return tuple(next(extent if k in self.offset else rest) for k in range(rank))

    def places(self, clip: bool) -> Iterator[tuple[tuple[Any, ...], tuple[slice, ...] | None]]:
        """For each point where it stands in the result, and its window in the operand; None if that is not inside."""
        for point in np.ndindex(*self.points):
            start = [0] * len(self.shape)
            for k, d in enumerate(self.at):
                start[d] = int(self.indices[(*point, k)])
            for d, k in zip(self.batch, self.batch_of_indices, strict=True):
                start[d] = point[k]
            last = [n - size for n, size in zip(self.shape, self.sizes, strict=True)]
            if clip:
                start = [min(max(k, 0), most) for k, most in zip(start, last, strict=True)]
            rest = iter(point)
            where = tuple(slice(None) if k in self.offset else next(rest) for k in range(len(self.result)))
            is_inside = all(0 <= k <= most for k, most in zip(start, last, strict=True))
            yield where, tuple(slice(k, k + n) for k, n in zip(start, self.sizes, strict=True)) if is_inside else None


def _drawn(d: Draw) -> _Windows:
    rank = d.one(1, 2, 2, 3, 3)
    shape, order = d.some(1, 4, rank), d.order(rank)
    n_batch = d.one(0, 0, 1, 2) if rank > 2 else d.one(0, 0, 1) if rank > 1 else 0
    batch = sorted(order[:n_batch])
    rest = order[n_batch:]
    at = rest[: int(d.rng.integers(1, len(rest) + 1))]
    sizes = [1 if k in batch else int(d.rng.integers(1, n + 1)) for k, n in enumerate(shape)]
    left_out = sorted(k for k in rest if d.one(True, False))
    for k in left_out:
        sizes[k] = 1
    n_points = n_batch + d.one(0, 1, 1, 2)
    batch_of_indices = d.order(n_points)[:n_batch]
    points = d.some(0 if d.one(*[False] * 9, True) else 1, 3, n_points)
    for k, of in zip(batch, batch_of_indices, strict=True):
        points[of] = shape[k]
    n_window = rank - n_batch - len(left_out)
    offset = sorted(d.order(n_points + n_window)[:n_window])
    indices = np.stack([d.rng.integers(-2, shape[k] + 1, points) for k in at], axis=-1)
    return _Windows(shape, sizes, at, left_out, batch, batch_of_indices, offset, indices.astype(d.one(np.int32, np.int64)))


def _flags(w: _Windows) -> dict[str, bool]:
    is_one = int(np.prod(w.points)) <= 1
    return {"indices_are_sorted": is_one, "unique_indices": is_one}


def _check_gather(d: Draw, w: _Windows, drawn: str) -> None:
    mode = d.one("clip", "fill")
    fill = d.one(None, 1.5)
    numbers = lm.lax.GatherDimensionNumbers(w.offset, w.left_out, w.at, w.batch, w.batch_of_indices)

    def plain(x: Array, missing: float = np.nan if fill is None else fill) -> Array:
        y = np.full(w.result, missing)
        for where, window in w.places(mode == "clip"):
            if window is not None:
                y[where] = x[window].reshape(w.extent)
        return y

    def ours(x: Any) -> Any:
        return lm.lax.gather(x, w.indices, numbers, w.sizes, mode=mode, fill_value=fill, **_flags(w))

    check(ours, plain, [d.array(w.shape)], f"{drawn} {mode} {fill}", lambda dx: plain(dx, 0.0))


COMBINED = {
    "scatter": lambda x, u: u,
    "scatter_add": np.add,
    "scatter_sub": np.subtract,
    "scatter_mul": np.multiply,
    "scatter_max": np.maximum,
    "scatter_min": np.minimum,
}


def _check_scatter(d: Draw, w: _Windows, drawn: str) -> None:
    name, mode = d.one(*COMBINED), d.one("clip", "drop")
    numbers = lm.lax.ScatterDimensionNumbers(w.offset, w.left_out, w.at, w.batch, w.batch_of_indices)
    values = d.array([int(np.prod(w.shape)) + int(np.prod(w.result))])  # which all differ: extremes are single
    x, updates = values[: int(np.prod(w.shape))].reshape(w.shape), values[int(np.prod(w.shape)) :].reshape(w.result)

    def plain(x: Array, updates: Array) -> Array:
        y = x.copy()
        for where, window in w.places(mode == "clip"):
            if window is not None:
                y[window] = COMBINED[name](y[window], updates[where].reshape(y[window].shape))
        return y

    def ours(x: Any, updates: Any) -> Any:
        return getattr(lm.lax, name)(x, w.indices, updates, numbers, mode=mode, **_flags(w))

    is_linear = name in ("scatter", "scatter_add", "scatter_sub")
    check(ours, plain, [x, updates], f"{drawn} {name} {mode}", plain if is_linear else None)


def _check(seed: int) -> None:
    d = Draw(seed)
    w = _drawn(d)
    (_check_gather if seed % 2 else _check_scatter)(d, w, f"seed {seed}: {w}")


@pytest.mark.parametrize("seed", range(12))
def test_gathers_and_scatters_at_drawn_options(seed: int):
    _check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_gathers_and_scatters_at_many_drawn_options(block: int):
    for seed in range(100 + 100 * block, 200 + 100 * block):
        _check(seed)

"""Slices of an operand at indices from data: what `gather` reads and `scatter` updates.

Indices are given as one integer tensor for each addressed dim, all of one shape; every point of that shape selects a slice. No
element outside of an array is accessed: `gather` clamps indices, `scatter` leaves out slices that are not in bounds. Negative
indices are out of bounds; the frontend translates NumPy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap, AffineSymExpr

from ...errors import DTypeError, ShapeError
from ..sizes.polynomial import least
from ..types import (
    DYNAMIC,
    INDICES,
    compatible,
    element_of,
    numpy_dtype,
    shape_of,
    show_shape,
    spelled,
    unify,
)
from .base import (
    Props,
    ints,
    normalize_dims,
)

if TYPE_CHECKING:
    from .builder import GraphBuilder

INTS = DenseArrayBase.constr(i64)
"""The constraint of properties that are lists of dims or sizes."""
NONE = DenseArrayBase.from_list(i64, [])
"""The empty list, their default."""


@dataclass(frozen=True)
class Slices:
    """The slices of an operand at given indices, one for each point of the index tensors.

    Attributes:
        shape: sizes of the operand.
        points: sizes of the index tensors.
        at: the addressed dims of the operand, one for each index tensor.
        window: how much of each addressed dim a slice takes; empty: one element, and the dim is dropped.
        batch: operand dim `batch[k]` is paired with point dim `k`: the slice of a point is at its own index there.
    """

    shape: tuple[int, ...]
    points: tuple[int, ...]
    at: tuple[int, ...]
    window: tuple[int, ...]
    batch: tuple[int, ...]

    @property
    def kept(self) -> tuple[int, ...]:
        """The operand dims that a slice has."""
        dropped = (*self.batch, *(() if self.window else self.at))
        return tuple(d for d in range(len(self.shape)) if d not in dropped)

    @property
    def extent(self) -> tuple[int, ...]:
        """Sizes of a slice."""
        windows = dict(zip(self.at, self.window, strict=False))
        return tuple(windows.get(d, self.shape[d]) for d in self.kept)

    @property
    def result(self) -> tuple[int, ...]:
        """Sizes of all slices together: points, then the dims of a slice."""
        return (*self.points, *self.extent)

    @property
    def last(self) -> tuple[int, ...]:
        """The greatest index of each addressed dim at which a slice is in bounds."""
        return tuple(self.shape[d] - (self.window[k] if self.window else 1) for k, d in enumerate(self.at))

    @property
    def map(self) -> AffineMap:
        """Operand index from a result index (dims) and the indices of its point (symbols)."""
        n_points, kept = len(self.points), self.kept
        exprs: list[AffineExpr] = []
        for d in range(len(self.shape)):
            inside: AffineExpr | None = AffineDimExpr(n_points + kept.index(d)) if d in kept else None
            if d in self.batch:
                inside = AffineDimExpr(self.batch.index(d))
            if d in self.at:
                start = AffineSymExpr(self.at.index(d))
                inside = start if inside is None else start + inside
            assert inside is not None
            exprs.append(inside)
        return AffineMap(len(self.result), len(self.at), tuple(exprs))

    def elements(self, points: Sequence[np.ndarray], starts: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """NumPy index arrays of all elements of the slices of some points: one per operand dim, which broadcast together."""
        extent, found = self.extent, []
        for d in range(len(self.shape)):
            where = np.zeros((), np.int64)
            if d in self.batch:
                where = _trailing(points[self.batch.index(d)], len(extent))
            if d in self.at:
                where = _trailing(starts[self.at.index(d)], len(extent))
            if d in self.kept:
                k = self.kept.index(d)
                where = where + np.arange(extent[k]).reshape(-1, *(1,) * (len(extent) - k - 1))
            found.append(where)
        return tuple(found)


def _trailing(a: np.ndarray, n: int) -> np.ndarray:
    """An array with `n` more dims of size 1 at the end."""
    return a.reshape((*a.shape, *(1,) * n))


def find_slices(x: TensorType, indices: Sequence[TensorType], props: Props) -> Slices:
    """The slices that the properties of a gather or scatter describe.

    Raises:
        DTypeError, ShapeError: constraints C1 to C4 of `graph.gather`.
    """
    shape = x.get_shape()
    at, window, batch = (ints(props.get(name, NONE)) for name in ("at", "window", "batch"))
    if not at or len(indices) != len(at):  # C1
        raise ShapeError(f"needs one index tensor for each of the dims {list(at)}, got {len(indices)}")
    points = indices[0].get_shape()
    for k, type in enumerate(indices):
        if type.element_type not in INDICES:  # C1
            raise DTypeError(f"indices must be {spelled(INDICES)}, got {type.element_type}")
        other = type.get_shape()
        if len(other) != len(points) or not all(map(compatible, points, other)):  # C1
            raise ShapeError(f"indices must have one shape, number 0 is {show_shape(points)}, {k} is {show_shape(other)}")
        points = tuple(map(unify, points, other))
    normalize_dims((*at, *batch), len(shape), "addressed and batch")  # C2
    if window and len(window) != len(at):  # C3
        raise ShapeError(f"window needs one size for each of the dims {list(at)}, got {list(window)}")
    for d, size in zip(at, window or (1,) * len(at), strict=True):
        if size < 0 or (shape[d] != DYNAMIC and size > shape[d] and 0 not in points):  # C3
            raise ShapeError(f"a slice takes {size} of dim {d}, which has {shape[d]} of {show_shape(shape)}")
    if len(batch) > len(points) or not all(compatible(shape[d], n) for d, n in zip(batch, points, strict=False)):  # C4
        raise ShapeError(
            f"batch dims {list(batch)} of {show_shape(shape)} must have the sizes of the first dims of the indices, "
            f"{show_shape(points)}"
        )
    points = (*(unify(n, shape[d]) for d, n in zip(batch, points, strict=False)), *points[len(batch) :])
    return Slices(shape, points, at, window, batch)


def slice_props(slices: Slices) -> dict[str, Any]:
    """The properties of a gather or scatter of these slices."""
    return {"at": slices.at, "window": slices.window, "batch": slices.batch}


def _limit(indices: SSAValue, last: int) -> int:
    """The greatest index that the indices' element type can hold."""
    most = int(np.iinfo(numpy_dtype(element_of(indices))).max)
    return last if element_of(indices) == i64 else least(last, most)


def clamped(b: GraphBuilder, indices: Sequence[SSAValue], slices: Slices) -> list[SSAValue]:
    """Indices clamped in bounds, as `gather` does."""
    return [
        b.min(b.max(i, b.full_like(i, 0)), b.full_like(i, _limit(i, last)))
        for i, last in zip(indices, slices.last, strict=True)
    ]


def in_bounds(b: GraphBuilder, indices: Sequence[SSAValue], slices: Slices) -> SSAValue:
    """The mask of points whose slices are in bounds."""
    found = [b.cmp(i, b.full_like(i, 0), predicate="ge") for i in indices]
    found += [b.cmp(i, b.full_like(i, _limit(i, n)), predicate="le") for i, n in zip(indices, slices.last, strict=True)]
    return reduce(b.and_, found)


def over_slices(b: GraphBuilder, value: SSAValue, slices: Slices) -> SSAValue:
    """A value per point, repeated over its slice."""
    return b.broadcast(value, tuple(range(len(slices.points))), slices.result)


def moved_dim(b: GraphBuilder, value: SSAValue, source: int, target: int) -> SSAValue:
    """A value with one of its dims moved."""
    perm = [d for d in range(len(shape_of(value))) if d != source]
    perm.insert(target, source)
    return value if source == target else b.transpose(value, perm=perm)

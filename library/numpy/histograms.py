"""Histograms of points of several dims."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...api import array_function, lift
from ...api.errors import ShapeError
from .at import At
from .create import array, full
from .grids import ravel_multi_index
from .join import stack
from .logic import where
from .poly import diff
from .reduce import sum as sum_of
from .shape import expand_dims, ndim, reshape, shape
from .sort import histogram_bin_edges, searchsorted


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Any, list[Any]]:
    """`np.histogramdd`: how many points are in each box, the last ones with their ends, and the edges along each dim.

    Args:
        sample: points, `[n, d]`, or a sequence of `d` vectors.
        bins: a number, one number for each dim, or the edges of each dim.
        range: ends of each dim; those of the points by default.
    """
    points = stack(list(sample), -1) if isinstance(sample, tuple | list) else array(sample)
    points = expand_dims(points, -1) if ndim(points) == 1 else points
    dims = shape(points)[1]
    each = [bins] * dims if isinstance(bins, int) else list(bins)
    ends = [None] * dims if range is None else list(range)
    if len(each) != dims or len(ends) != dims:
        raise ShapeError(f"histogramdd of {dims} dims got {len(each)} bins and {len(ends)} ranges")
    edges = [histogram_bin_edges(points[:, k], each[k], ends[k]) for k in np.arange(dims).tolist()]
    counts = _boxes(points, edges, weights)
    if density:
        counts = counts / sum_of(counts)
        for k, e in enumerate(edges):
            counts = counts / reshape(diff(e), [-1 if j == k else 1 for j in np.arange(dims).tolist()])
    return counts, edges


@array_function
def _boxes(points: Any, edges: Any, weights: Any) -> Any:
    x = lift(points)
    sizes, places, inside = [], [], None
    for k, e in enumerate(edges):
        column, n = x[:, k], shape(e)[0] - 1
        place = searchsorted(e, column, "right") - 1
        place = where(column == lift(e)[n], n - 1, place)
        within = (place >= 0) & (place < n)
        inside = within if inside is None else inside & within
        sizes.append(n)
        places.append(place)
    target = where(inside, ravel_multi_index(tuple(places), tuple(sizes), mode="clip"), math.prod(sizes))
    values = full(target.shape, 1.0) if weights is None else weights
    flat = At(full((math.prod(sizes),), 0.0))[target].add(values, mode="drop")
    return reshape(flat, sizes)


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Any, Any, Any]:
    """`np.histogram2d`: how many of the points `(x[k], y[k])` are in each box, and the edges along both dims."""
    alike = not isinstance(bins, int) and (ndim(bins) == 1 if not isinstance(bins, tuple | list) else len(bins) != 2)
    counts, edges = histogramdd([x, y], [bins, bins] if alike else bins, range, density, weights)
    return counts, *edges

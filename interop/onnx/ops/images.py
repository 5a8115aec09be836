"""Ops that sample images between their elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np

from ....library.numpy import namespace as lnp
from ...grids import cubic_weights, reflected
from ..errors import OnnxError, UnknownValue
from ..nodes import Node, op, pairs
from ..values import is_constant


@op("GridSample")
def grid_sample(node: Node, x: Any, grid: Any) -> Any:
    """Images read at the points of a grid, whose coordinates are -1 and 1 at the edges, the last dim's first."""
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(node.get("mode", "linear"), node.get("mode", "linear"))
    padding, corners = node.get("padding_mode", "zeros"), bool(node.get("align_corners", 0))
    sizes = x.shape[2:]
    rank = len(sizes)
    taps: list[list[tuple[Any, Any]]] = []  # for each dim, indices and weights
    for d, n in enumerate(sizes):
        g = grid[..., rank - 1 - d]
        points = (g + 1) / 2 * (n - 1) if corners else ((g + 1) * n - 1) / 2
        low, high = (0.0, n - 1.0) if corners else (-0.5, n - 0.5)
        if mode == "nearest":
            points = lnp.rint(points)
        if padding == "border":
            points = lnp.where((points < low) | (points > high), lnp.clip(points, 0, n - 1), points)
        elif padding == "reflection":
            points = lnp.where((points < low) | (points > high), reflected(points, low, high), points)
        base = lnp.floor(points)
        t = points - base
        if mode == "nearest":
            found = [(points, lnp.ones_like(points))]
        elif mode == "linear":
            found = [(base, 1 - t), (base + 1, t)]
        else:
            found = [(base + k - 1, w) for k, w in enumerate(cubic_weights(t))]
        taps.append([(_tap(i, w, n, padding, low, high)) for i, w in found])
    images = lnp.moveaxis(x, 1, -1)  # [batch, spatial..., channels]
    batch = lnp.arange(x.shape[0]).reshape((-1, *[1] * rank))
    total = None
    for chosen in product(*taps):
        weight = chosen[0][1]
        for _, w in chosen[1:]:
            weight = weight * w
        part = images[(batch, *[i for i, _ in chosen])] * weight[..., None].astype(x.dtype)
        total = part if total is None else total + part
    return lnp.moveaxis(total, -1, 1).astype(x.dtype)


def _tap(index: Any, weight: Any, n: int, padding: str, low: float, high: float) -> tuple[Any, Any]:
    """An index within the image, and the weight, zero where the tap lies outside and padding is zeros."""
    if padding == "zeros":
        weight = lnp.where((index >= 0) & (index <= n - 1), weight, lnp.zeros_like(weight))
    elif padding == "reflection":
        index = lnp.trunc(reflected(index, low, high))
    return lnp.clip(index, 0, n - 1).astype(np.int64), weight


# --------------------------------------------------------------------------------------------------------------------
# Regions of interest


def _corners(points: Any, n: int) -> list[tuple[Any, Any]]:
    """The two neighbours of points of a dim of n elements, with weights; both zero far outside."""
    inside = (points >= -1) & (points <= n)
    p = lnp.maximum(points, 0)
    low = lnp.minimum(lnp.floor(p), n - 1)
    t = lnp.where(low >= n - 1, lnp.zeros_like(p), p - low)
    high = lnp.minimum(low + 1, n - 1)
    zero = lnp.zeros_like(p)
    return [(low.astype(np.int64), lnp.where(inside, 1 - t, zero)), (high.astype(np.int64), lnp.where(inside, t, zero))]


def _regions(
    x: Any, rois: Any, batch: Any, shape: Sequence[int], samples: Sequence[int], scale: float, half: bool, mode: str
) -> Any:
    """Means or maxima of `samples` points in each cell of each region."""
    offset = 0.5 if half else 0.0
    first = [rois[:, 1] * scale - offset, rois[:, 0] * scale - offset]
    last = [rois[:, 3] * scale - offset, rois[:, 2] * scale - offset]
    ys = []
    for d in range(2):
        extent = last[d] - first[d]
        extent = extent if half else lnp.maximum(extent, 1.0)
        cell = extent / shape[d]
        steps = (lnp.arange(shape[d])[:, None] + (lnp.arange(samples[d])[None, :] + 0.5) / samples[d]).astype(x.dtype)
        points = first[d][:, None, None] + steps * cell[:, None, None]  # [rois, cells, samples]
        ys.append([(_spread(i, d), _spread(w, d)) for i, w in _corners(points, x.shape[2 + d])])
    images = lnp.moveaxis(x, 1, -1)
    which = lnp.asarray(batch).reshape((-1, 1, 1, 1, 1))
    parts = []
    for (i, wi), (j, wj) in product(*ys):
        parts.append(images[which, i, j] * (wi * wj)[..., None])  # [rois, cells, samples, cells, samples, channels]
    if mode == "avg":
        found = sum(parts[1:], parts[0]).mean((2, 4))
    else:
        found = parts[0]
        for part in parts[1:]:
            found = lnp.maximum(found, part)
        found = found.max((2, 4))
    return lnp.moveaxis(found, -1, 1)


def _spread(x: Any, d: int) -> Any:
    return x[:, :, :, None, None] if d == 0 else x[:, None, None, :, :]


@op("RoiAlign")
def roi_align(node: Node, x: Any, rois: Any, batch: Any) -> Any:
    """He et al., "Mask R-CNN", 2017: cells of regions, sampled between elements."""
    shape = (node.get("output_height", 1), node.get("output_width", 1))
    ratio, scale = node.get("sampling_ratio", 0), node.get("spatial_scale", 1.0)
    half = node.version >= 16 and node.get("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    mode = node.get("mode", "avg")
    if ratio > 0:
        return _regions(x, rois, batch, shape, (ratio, ratio), scale, half, mode)
    if not is_constant(rois):
        raise UnknownValue("with sampling_ratio=0 the number of samples depends on the regions")
    found = []
    for roi, image in zip(np.asarray(rois), np.asarray(batch), strict=True):
        extents = [(roi[3] - roi[1]) * scale, (roi[2] - roi[0]) * scale]
        extents = extents if half else [max(e, 1.0) for e in extents]
        samples = [max(ceil(e / n), 1) for e, n in zip(extents, shape, strict=True)]
        found.append(np.asarray(_regions(x, roi[None], np.asarray([image]), shape, samples, scale, half, mode)))
    return np.concatenate(found) if found else np.zeros((0, x.shape[1], *shape), x.dtype)


@op("MaxRoiPool")
def max_roi_pool(node: Node, x: Any, rois: Any) -> Any:
    """Girshick, "Fast R-CNN", 2015: the maximum of each cell of each region."""
    if not is_constant(rois):
        raise UnknownValue("the cells of a region depend on its coordinates")
    shape, scale = node.need("pooled_shape"), node.get("spatial_scale", 1.0)
    x = np.asarray(x)
    found = np.zeros((len(rois), x.shape[1], *shape), x.dtype)
    for r, roi in enumerate(np.asarray(rois)):
        image, *box = int(roi[0]), *[int(np.floor(v * scale + 0.5)) for v in roi[1:]]
        extents = [max(box[3] - box[1] + 1, 1), max(box[2] - box[0] + 1, 1)]
        for i, j in np.ndindex(*shape):
            span = []
            for d, k, start in ((0, i, box[1]), (1, j, box[0])):
                low = int(np.floor(k * extents[d] / shape[d])) + start
                high = ceil((k + 1) * extents[d] / shape[d]) + start
                span.append(slice(min(max(low, 0), x.shape[2 + d]), min(max(high, 0), x.shape[2 + d])))
            cell = x[image, :, span[0], span[1]]
            found[r, :, i, j] = cell.max((1, 2)) if cell.size else 0
    return found


@op("DeformConv")
def deform_conv(node: Node, x: Any, w: Any, offset: Any, bias: Any = None, mask: Any = None) -> Any:
    """Dai et al., "Deformable convolutional networks", 2017: each tap of a filter is moved by an offset."""
    if x.ndim != 4:
        raise OnnxError(f"DeformConv of {x.ndim - 2} spatial dims is not supported")
    size = list(w.shape[2:])
    strides, dilations = node.get("strides", [1, 1]), node.get("dilations", [1, 1])
    pads, groups, shared = pairs(node.get("pads", [0] * 4)), node.get("group", 1), node.get("offset_group", 1)
    batch, channels = x.shape[:2]
    counts = list(offset.shape[2:])
    offsets = offset.reshape((batch, shared, prod(size), 2, *counts))
    masks = None if mask is None else mask.reshape((batch, shared, prod(size), *counts))
    images = lnp.moveaxis(x.reshape((batch, shared, channels // shared, *x.shape[2:])), 2, -1)
    which = lnp.arange(batch).reshape((-1, 1, 1, 1))
    group = lnp.arange(shared).reshape((1, -1, 1, 1))
    taps = []
    for k, tap in enumerate(np.ndindex(*size)):
        found = []
        for d in range(2):
            own = (np.arange(counts[d]) * strides[d] + tap[d] * dilations[d] - pads[d][0]).astype(np.float64)
            points = offsets[:, :, k, d] + own.reshape((-1, 1) if d == 0 else (1, -1)).astype(x.dtype)
            n = x.shape[2 + d]
            base = lnp.floor(points)
            t = points - base
            found.append([_tap(base, 1 - t, n, "zeros", 0, n - 1), _tap(base + 1, t, n, "zeros", 0, n - 1)])
        total = None
        for (i, wi), (j, wj) in product(*found):
            part = images[which, group, i, j] * (wi * wj)[..., None]
            total = part if total is None else total + part
        taps.append(total if masks is None else total * masks[:, :, k][..., None])
    columns = lnp.moveaxis(lnp.stack(taps, -1), 4, 2)  # [batch, offset groups, channels, rows, columns, taps]
    columns = columns.reshape((batch, groups, channels // groups, *counts, prod(size)))
    filters = w.reshape((groups, w.shape[0] // groups, channels // groups, prod(size)))
    y = lnp.einsum("bgcijk,gock->bgoij", columns, filters).reshape((batch, w.shape[0], *counts))
    return y if bias is None else y + bias.reshape((1, -1, 1, 1))

"""Convolutions and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, prod
from typing import Any

import numpy as np

from ....compat.jax.lax import namespace as lax
from ....library.nn import namespace as nn
from ....library.numpy import namespace as lnp
from ..errors import NeedsSize, OnnxError
from ..nodes import Node, op, pairs
from ..values import dims, known, lowest


class Windows:
    """Windows of a node: sizes, strides, dilations, and elements around the image."""

    def __init__(self, node: Node, spatial: Sequence[Any], size: Sequence[int]):
        rank = len(spatial)
        self.node, self.spatial, self.size = node, list(spatial), list(size)
        self.strides = list(node.get("strides", [1] * rank))
        self.dilations = list(node.get("dilations", [1] * rank))
        if not len(self.size) == len(self.strides) == len(self.dilations) == rank:
            raise OnnxError(
                f"windows {self.size}, strides {self.strides} and dilations {self.dilations} for {rank} spatial dims"
            )
        if min([*self.size, *self.strides, *self.dilations], default=1) < 1:
            raise OnnxError(f"windows {self.size}, strides {self.strides} and dilations {self.dilations} are not all positive")
        self.reach = [(k - 1) * d + 1 for k, d in zip(self.size, self.dilations, strict=True)]
        self.pads = self._pads(node.get("auto_pad", "NOTSET"))

    def _pads(self, auto: str) -> list[tuple[int, int]]:
        rank = len(self.spatial)
        if auto in ("NOTSET", ""):
            return pairs(self.node.get("pads", [0] * (2 * rank)))
        if auto == "VALID":
            return [(0, 0)] * rank
        found = []
        for n, s, r in zip(self.spatial, self.strides, self.reach, strict=True):
            if not known(n) and s != 1:
                raise NeedsSize(f"auto_pad {auto!r} with stride {s} needs a known size, got {n}")
            total = r - 1 if not known(n) else max((-(-n // s) - 1) * s + r - n, 0)
            found.append((total // 2, total - total // 2) if auto == "SAME_UPPER" else (total - total // 2, total // 2))
        return found

    def padded_to_ceil(self) -> list[tuple[int, int]]:
        """The elements around the image, more at the ends where `ceil_mode` has windows that reach over them."""
        if not self.node.get("ceil_mode", 0):
            return self.pads
        found = []
        for n, (before, after), s, r in zip(self.spatial, self.pads, self.strides, self.reach, strict=True):
            if not known(n):
                raise NeedsSize(f"ceil_mode needs a known size, got {n}")
            count = ceil((n + before + after - r) / s) + 1
            if (count - 1) * s >= n + before:
                count -= 1
            found.append((before, max(after, (count - 1) * s + r - n - before)))
        return found


def _convolve(node: Node, x: Any, w: Any, b: Any) -> Any:
    if x.ndim < 3 or w.ndim != x.ndim:
        raise OnnxError(f"images of shape {list(x.shape)} and filters of shape {list(w.shape)}")
    rank, groups = x.ndim - 2, node.get("group", 1)
    windows = Windows(node, x.shape[2:], node.get("kernel_shape", list(w.shape[2:])))
    if list(windows.size) != list(w.shape[2:]):
        raise OnnxError(f"kernel_shape {windows.size} differs from filters of shape {list(w.shape)}")
    if rank <= 3:
        function = (nn.conv1d, nn.conv2d, nn.conv3d)[rank - 1]
        y = function(x, w, tuple(windows.strides), tuple(windows.pads), tuple(windows.dilations), groups)
    else:
        y = lax.conv_general_dilated(
            x, w, windows.strides, windows.pads, rhs_dilation=windows.dilations, feature_group_count=groups
        )
    return y if b is None else y + b.reshape((1, -1, *[1] * rank))


@op("Conv")
def conv(node: Node, x: Any, w: Any, b: Any = None) -> Any:
    return _convolve(node, x, w, b)


@op("ConvTranspose")
def conv_transpose(node: Node, x: Any, w: Any, b: Any = None) -> Any:
    """The transpose of a convolution; `output_shape` decides how much of its edges is left out."""
    rank = x.ndim - 2
    strides = list(node.get("strides", [1] * rank))
    dilations = list(node.get("dilations", [1] * rank))
    extra = list(node.get("output_padding", [0] * rank))
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilations, strict=True)]
    auto = node.get("auto_pad", "NOTSET")
    full = [(n - 1) * s + r + e for n, s, r, e in zip(x.shape[2:], strides, reach, extra, strict=True)]
    wanted = list(node.get("output_shape", []))[-rank:] or (
        [n * s for n, s in zip(x.shape[2:], strides, strict=True)] if "SAME" in auto else []
    )
    if wanted:
        cut = []
        for f, m in zip(full, wanted, strict=True):
            total = f - m
            half = total // 2
            cut.append((0, total) if total < 0 else (half, total - half) if auto == "SAME_UPPER" else (total - half, half))
    else:
        cut = pairs(node.get("pads", [0] * (2 * rank))) if auto in ("NOTSET", "") else [(0, 0)] * rank
    if rank > 3:
        raise OnnxError(f"ConvTranspose of {rank} spatial dims is not supported")
    function = (nn.conv_transpose1d, nn.conv_transpose2d, nn.conv_transpose3d)[rank - 1]
    y = function(x, w, tuple(strides), "VALID", 0, tuple(dilations), node.get("group", 1))
    around = [(0, 0), (0, 0), *[(max(-lo, 0), max(e - hi, 0)) for (lo, hi), e in zip(cut, extra, strict=True)]]
    y = lnp.pad(y, around) if any(p for pair in around for p in pair) else y
    index = [slice(None)] * 2
    for d, ((lo, hi), e) in enumerate(zip(cut, extra, strict=True)):
        end = max(hi - e, 0)
        index.append(slice(max(lo, 0), y.shape[d + 2] - end if end else None))
    y = y[tuple(index)]
    return y if b is None else y + b.reshape((1, -1, *[1] * rank))


# --------------------------------------------------------------------------------------------------------------------
# Pooling


def _pool_windows(node: Node, x: Any) -> Windows:
    return Windows(node, x.shape[2:], node.need("kernel_shape"))


@op("MaxPool")
def max_pool(node: Node, x: Any) -> Any:
    windows = _pool_windows(node, x)
    pads, rank = windows.padded_to_ceil(), x.ndim - 2
    if rank <= 3:
        function = (nn.max_pool1d, nn.max_pool2d, nn.max_pool3d)[rank - 1]
        y = function(x, tuple(windows.size), tuple(windows.strides), tuple(pads), tuple(windows.dilations))
    else:
        y = lax.reduce_window(
            x, lowest(x.dtype), lax.max, (1, 1, *windows.size), (1, 1, *windows.strides), [(0, 0), (0, 0), *pads],
            window_dilation=(1, 1, *windows.dilations),
        )  # fmt: skip
    if not node.wants(1):
        return y
    return y, _pool_indices(x, windows, pads, bool(node.get("storage_order", 0)))


MOST_POSITIONS = 1 << 26
"""Elements of windows whose positions are computed while a program is traced."""


def _require_few(count: int) -> None:
    """Refuse to compute the positions of so many elements of windows."""
    if count > MOST_POSITIONS:
        raise OnnxError(f"windows with {count} elements: at most {MOST_POSITIONS} are computed while tracing")


def _pool_indices(x: Any, windows: Windows, pads: Any, by_columns: bool) -> Any:
    """The index of each window's maximum in the flat array."""
    sizes = x.shape[2:]
    if not known(*x.shape):
        raise NeedsSize("indices of maxima need known sizes")
    padded = lnp.pad(x, [(0, 0), (0, 0), *pads], constant_values=lowest(x.dtype))
    counts = [(n + sum(p) - r) // s + 1 for n, p, r, s in zip(sizes, pads, windows.reach, windows.strides, strict=True)]
    taps, positions = [], []
    _require_few(prod(counts) * prod(windows.size))
    steps = np.cumprod([1, *sizes[:-1]]) if by_columns else np.cumprod([1, *sizes[:0:-1]])[::-1]
    for tap in np.ndindex(*windows.size):
        first = [t * d for t, d in zip(tap, windows.dilations, strict=True)]
        index = [slice(f, f + (m - 1) * s + 1, s) for f, m, s in zip(first, counts, windows.strides, strict=True)]
        taps.append(padded[(slice(None), slice(None), *index)])
        position = np.zeros(counts, np.int64)
        for d, (f, m, s) in enumerate(zip(first, counts, windows.strides, strict=True)):
            along = (f + np.arange(m) * s - pads[d][0]) * int(steps[d])
            position = position + along.reshape([-1 if i == d else 1 for i in range(len(counts))])
        positions.append(position)
    best = lnp.argmax(lnp.stack(taps), axis=0)
    found = lnp.take_along_axis(lnp.asarray(np.stack(positions))[:, None, None], best[None], 0)[0]
    images = np.arange(x.shape[0] * x.shape[1]).reshape(x.shape[0], x.shape[1], *[1] * len(sizes))
    return found + images * prod(sizes)


def _summed(x: Any, windows: Windows, pads: Any) -> Any:
    sizes, strides = (1, 1, *windows.size), (1, 1, *windows.strides)
    zero = np.asarray(0, x.dtype)
    return lax.reduce_window(
        x, zero, lax.add, sizes, strides, [(0, 0), (0, 0), *pads], window_dilation=(1, 1, *windows.dilations)
    )


@op("AveragePool")
def average_pool(node: Node, x: Any) -> Any:
    """Means of windows; elements around the image count where `count_include_pad` says so, those beyond them never."""
    windows = _pool_windows(node, x)
    pads = windows.padded_to_ceil()
    total = _summed(x, windows, pads)
    included = bool(node.get("count_include_pad", 0))
    if all(p == (0, 0) for p in pads):
        return total / np.asarray(prod(windows.size), x.dtype)
    for d, n in enumerate(windows.spatial):
        if not known(n):
            if pads[d] != (0, 0) and not included:
                raise NeedsSize(f"means at the edge of a dim of symbolic size {n}")
            total = total / np.asarray(windows.size[d], x.dtype)
            continue
        before, after = pads[d]
        _require_few((before + n + after) * windows.size[d])
        counted = np.zeros(before + n + after)
        inner = windows.pads[d]
        counted[before - inner[0] if included else before : before + n + (inner[1] if included else 0)] = 1
        m = (before + n + after - windows.reach[d]) // windows.strides[d] + 1
        taps = np.arange(m)[:, None] * windows.strides[d] + np.arange(windows.size[d]) * windows.dilations[d]
        count = np.maximum(counted[taps].sum(1), 1).astype(x.dtype)
        total = total / count.reshape((-1, *[1] * (x.ndim - 3 - d)))
    return total


@op("LpPool")
def lp_pool(node: Node, x: Any) -> Any:
    windows = _pool_windows(node, x)
    p = node.get("p", 2)
    return _rooted(_summed(_powered(x, p), windows, windows.padded_to_ceil()), p).astype(x.dtype)


def _powered(x: Any, p: int) -> Any:
    return x * x if p == 2 else lnp.abs(x) ** p


def _rooted(x: Any, p: int) -> Any:
    return lnp.sqrt(x) if p == 2 else x ** (1.0 / p)


@op("GlobalAveragePool")
def global_average_pool(node: Node, x: Any) -> Any:
    return lnp.mean(x, axis=tuple(range(2, x.ndim)), keepdims=True)


@op("GlobalMaxPool")
def global_max_pool(node: Node, x: Any) -> Any:
    return lnp.max(x, axis=tuple(range(2, x.ndim)), keepdims=True)


@op("GlobalLpPool")
def global_lp_pool(node: Node, x: Any) -> Any:
    p = node.get("p", 2)
    return _rooted(lnp.sum(_powered(x, p), axis=tuple(range(2, x.ndim)), keepdims=True), p).astype(x.dtype)


@op("MaxUnpool")
def max_unpool(node: Node, x: Any, indices: Any, shape: Any = None) -> Any:
    """Zeros with the maxima at the indices that MaxPool returned."""
    windows = Windows(node, x.shape[2:], node.need("kernel_shape"))
    sizes = [
        (n - 1) * s - sum(p) + k for n, s, p, k in zip(x.shape[2:], windows.strides, windows.pads, windows.size, strict=True)
    ]
    made = (*x.shape[:2], *sizes)
    target = made if shape is None else tuple(dims(shape, "the shape"))
    # indices are those of the smaller image: its coordinates, then the index in the larger one
    flat = lnp.asarray(indices).reshape((-1,))
    if target != made:
        coordinates = lnp.unravel_index(flat, made)
        flat = lnp.ravel_multi_index(coordinates, target, mode="clip")
    return lnp.zeros((prod(target),), dtype=x.dtype).at[flat].set(x.reshape((-1,))).reshape(target)


# --------------------------------------------------------------------------------------------------------------------


@op("Col2Im")
def col2im(node: Node, x: Any, image: Any, block: Any) -> Any:
    """Images that are the sum of blocks, each put back where it was cut out."""
    sizes, blocks = dims(image, "the image shape"), dims(block, "the block shape")
    rank = len(sizes)
    strides, dilations = node.get("strides", [1] * rank), node.get("dilations", [1] * rank)
    pads = pairs(node.get("pads", [0] * (2 * rank)))
    counts = [
        floor((n + sum(p) - d * (k - 1) - 1) / s) + 1
        for n, p, d, k, s in zip(sizes, pads, dilations, blocks, strides, strict=True)
    ]
    channels = x.shape[1] // prod(blocks)
    parts = x.reshape((x.shape[0], channels, *blocks, *counts))
    total = lnp.zeros((x.shape[0], channels, *[n + sum(p) for n, p in zip(sizes, pads, strict=True)]), dtype=x.dtype)
    for tap in np.ndindex(*blocks):
        index = [slice(t * d, t * d + (m - 1) * s + 1, s) for t, d, m, s in zip(tap, dilations, counts, strides, strict=True)]
        total = total.at[(slice(None), slice(None), *index)].add(parts[(slice(None), slice(None), *tap)])
    inner = [slice(lo, lo + n) for (lo, _), n in zip(pads, sizes, strict=True)]
    return total[(slice(None), slice(None), *inner)]

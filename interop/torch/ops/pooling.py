"""Pooling of images; those without a dim of examples, too."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ....compat.jax.lax import namespace as lax
from ....library.nn import namespace as nn
from ....library.numpy import namespace as lnp
from ..errors import TorchError
from ..nodes import Call, known, lowest, need_known, op, spread


class Windows:
    """Windows over spatial dims: sizes, strides, dilations, and the elements around the image."""

    def __init__(self, spatial: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool):
        rank = len(spatial)
        self.spatial = list(spatial)
        self.size = spread(kernel, rank)
        self.stride = self.size if stride is None or not _listed(stride) else spread(stride, rank)
        self.padding, self.dilation = spread(padding, rank), spread(dilation, rank)
        if any(p > k // 2 for p, k in zip(self.padding, self.size, strict=True)):
            raise TorchError(f"padding {list(self.padding)} is more than half of the windows {list(self.size)}")
        self.reach = [(k - 1) * d + 1 for k, d in zip(self.size, self.dilation, strict=True)]
        self.pads: list[tuple[Any, Any]] = [(p, p) for p in self.padding]
        if ceil_mode:  # windows that begin in the image or before it may end after it
            need_known("ceil_mode", *self.spatial)
            for d, (n, p, r, s) in enumerate(zip(self.spatial, self.padding, self.reach, self.stride, strict=True)):
                count = -(-(n + 2 * p - r) // s) + 1
                count -= (count - 1) * s >= n + p
                self.pads[d] = (p, max(p, (count - 1) * s + r - n - p))

    def counts(self) -> list[Any]:
        """How many windows there are along each dim."""
        return [
            (n + lo + hi - r) // s + 1
            for n, (lo, hi), r, s in zip(self.spatial, self.pads, self.reach, self.stride, strict=True)
        ]


def _listed(v: Any) -> list[Any]:
    return list(v) if isinstance(v, list | tuple) else [v]


def _whole(x: Any, rank: int) -> tuple[Any, bool]:
    """Images with a dim of examples, and whether it is new."""
    return (x[None], True) if x.ndim == rank + 1 else (x, False)


def _max_pool(rank: int) -> Any:
    def max_pool(
        call: Call, x: Any, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> Any:
        """The greatest element of each window; with indices, where in the image it is."""
        x, lone = _whole(x, rank)
        windows = Windows(x.shape[2:], kernel, stride, padding, dilation, ceil_mode)
        function = (nn.max_pool1d, nn.max_pool2d, nn.max_pool3d)[rank - 1]
        y = function(x, windows.size, windows.stride, tuple(windows.pads), windows.dilation)
        if "indices" not in call.op:
            return y[0] if lone else y
        index = _indices(x, windows) if known(*windows.spatial) else None
        return (y[0], None if index is None else index[0]) if lone else (y, index)

    return max_pool


def _indices(x: Any, windows: Windows) -> Any:
    """The index of each window's maximum in its image, the first of equal ones."""
    sizes, counts = [int(n) for n in windows.spatial], windows.counts()
    padded = lnp.pad(x, [(0, 0), (0, 0), *windows.pads], constant_values=lowest(x.dtype))
    steps = np.cumprod([1, *sizes[:0:-1]])[::-1]
    taps, positions = [], []
    for tap in np.ndindex(*windows.size):
        first = [t * d for t, d in zip(tap, windows.dilation, strict=True)]
        index = [slice(f, f + (m - 1) * s + 1, s) for f, m, s in zip(first, counts, windows.stride, strict=True)]
        taps.append(padded[(slice(None), slice(None), *index)])
        position, inside = np.zeros(counts, np.int64), np.ones(counts, bool)
        for d, (f, m, s) in enumerate(zip(first, counts, windows.stride, strict=True)):
            here = (f + np.arange(m) * s - windows.pads[d][0]).reshape([-1 if i == d else 1 for i in range(len(counts))])
            position = position + here * int(steps[d])
            inside &= (here >= 0) & (here < sizes[d])
        positions.append(np.where(inside, position, -1))
    places = np.stack(positions)
    found = lnp.stack(taps)
    if x.dtype.kind == "f":  # elements of -inf in the image come before those around it
        best = lnp.argmax(lnp.where(lnp.asarray(places)[:, None, None] >= 0, found, lowest(x.dtype)), axis=0)
    else:
        best = lnp.argmax(found, axis=0)
    return lnp.take_along_axis(lnp.asarray(places)[:, None, None], best[None], 0)[0]


def _avg_pool(rank: int) -> Any:
    def avg_pool(
        call: Call, x: Any, kernel: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor: Any = None,
    ) -> Any:  # fmt: skip
        """The mean of each window; elements around the image count where asked for, those beyond them never."""
        x, lone = _whole(x, rank)
        windows = Windows(x.shape[2:], kernel, stride, padding, 1, ceil_mode)
        y = averaged(x, windows, count_include_pad, divisor)
        return y[0] if lone else y

    return avg_pool


def averaged(x: Any, windows: Windows, included: bool, divisor: Any) -> Any:
    """Sums of windows over how many elements each has."""
    rank = len(windows.spatial)
    total = lax.reduce_window(
        x,
        np.asarray(0).astype(x.dtype),
        lax.add,
        (1, 1, *windows.size),
        (1, 1, *windows.stride),
        [(0, 0), (0, 0), *windows.pads],
    )
    if divisor is not None:
        return total / np.asarray(divisor).astype(x.dtype)
    if all(pair == (p, p) and (included or not p) for pair, p in zip(windows.pads, windows.padding, strict=True)):
        return total / np.asarray(prod(windows.size)).astype(x.dtype)
    for d, n in enumerate(windows.spatial):
        need_known("means at the edge", n)
        lo, hi = windows.pads[d]
        counted = np.zeros(lo + n + hi)
        edge = windows.padding[d] if included else 0
        counted[lo - edge : lo + n + edge] = 1
        taps = np.arange(windows.counts()[d])[:, None] * windows.stride[d] + np.arange(windows.size[d])
        count = np.maximum(counted[taps].sum(1), 1).astype(x.dtype)
        total = total / count.reshape((-1, *[1] * (rank - 1 - d)))
    return total


def _adaptive(rank: int) -> Any:
    def adaptive(call: Call, x: Any, size: Any) -> Any:
        x, lone = _whole(x, rank)
        need_known("adaptive pooling", *x.shape[2:])
        y = (nn.adaptive_avg_pool1d, nn.adaptive_avg_pool2d, nn.adaptive_avg_pool3d)[rank - 1](x, spread(size, rank))
        return y[0] if lone else y

    return adaptive


for _rank in (1, 2, 3):
    op(f"max_pool{_rank}d", f"max_pool{_rank}d_with_indices")(_max_pool(_rank))
    op(f"avg_pool{_rank}d")(_avg_pool(_rank))
    op(f"adaptive_avg_pool{_rank}d", f"_adaptive_avg_pool{_rank}d")(_adaptive(_rank))


@op("adaptive_max_pool2d", "adaptive_max_pool3d", "adaptive_max_pool1d")
def adaptive_max_pool(call: Call, x: Any, size: Any) -> Any:
    """The maxima of windows that cover the images evenly, and the index of each."""
    rank = int(call.op[-2])
    x, lone = _whole(x, rank)
    need_known("adaptive pooling", *x.shape[2:])
    sizes = [int(n) for n in x.shape[2:]]
    wanted = spread(size, rank)
    flat = lnp.arange(prod(sizes)).reshape((1, 1, *sizes))
    best, index = x, lnp.broadcast_to(flat, x.shape)
    for d, (n, m) in enumerate(zip(sizes, wanted, strict=True)):
        axis, values, places = d + 2, [], []
        for i in range(m):
            window = [slice(None)] * best.ndim
            window[axis] = slice(i * n // m, -(-(i + 1) * n // m))
            part, at = best[tuple(window)], index[tuple(window)]
            chosen = lnp.argmax(part, axis=axis, keepdims=True)
            values.append(lnp.take_along_axis(part, chosen, axis))
            places.append(lnp.take_along_axis(at, chosen, axis))
        best, index = lnp.concatenate(values, axis), lnp.concatenate(places, axis)
    return (best[0], index[0]) if lone else (best, index)


@op("max_unpool2d", "max_unpool3d")
def max_unpool(call: Call, x: Any, indices: Any, size: Any, *args: Any) -> Any:
    """Zeros with the maxima at their indices."""
    rank = int(call.op[-2])
    x, lone = _whole(x, rank)
    indices, _ = _whole(indices, rank)
    shape = (*x.shape[:2], *size)
    flat = lnp.zeros((*x.shape[:2], prod(size)), dtype=x.dtype)
    n, c = lnp.arange(x.shape[0])[:, None, None], lnp.arange(x.shape[1])[None, :, None]
    made = flat.at[n, c, indices.reshape((*x.shape[:2], -1))].set(x.reshape((*x.shape[:2], -1))).reshape(shape)
    return made[0] if lone else made

"""Convolutions, and windows as columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ....library.nn import namespace as nn
from ....library.numpy import namespace as lnp
from ..errors import UnsupportedOp
from ..nodes import Call, need_known, op, spread


def convolved(
    x: Any, w: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int
) -> Any:
    """The convolution of images [batch, channels, ...] with filters, or its transpose."""
    rank = w.ndim - 2
    if not 1 <= rank <= 3:
        raise UnsupportedOp(f"convolutions of {rank} spatial dims are not supported")
    stride, padding, dilation = (spread(v, rank) for v in (stride, padding, dilation))
    pads = tuple((p, p) for p in padding)
    lone = x.ndim == rank + 1
    x = x[None] if lone else x
    if not transposed:
        y = (nn.conv1d, nn.conv2d, nn.conv3d)[rank - 1](x, w, stride, pads, dilation, groups)
    else:
        function = (nn.conv_transpose1d, nn.conv_transpose2d, nn.conv_transpose3d)[rank - 1]
        y = function(x, w, stride, pads, spread(output_padding, rank), dilation, groups)
    return y[0] if lone else y


@op("convolution", "_convolution")
def convolution(
    call: Call, x: Any, w: Any, b: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any,
    groups: int, *args: Any,
) -> Any:  # fmt: skip
    y = convolved(x, w, stride, padding, dilation, transposed, output_padding, groups)
    return y if b is None else y + b.reshape((-1, *[1] * (w.ndim - 2)))


@op("conv1d", "conv2d", "conv3d")
def conv(
    call: Call, x: Any, w: Any, b: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    rank = w.ndim - 2
    if isinstance(padding, str):
        if padding == "same":
            raise UnsupportedOp("padding 'same' of a convolution that is not decomposed")
        padding = 0
    return convolution(call, x, w, b, stride, padding, dilation, False, [0] * rank, groups)


class Blocks:
    """Windows of an image, as im2col and col2im have them."""

    def __init__(self, size: Sequence[Any], kernel: Any, dilation: Any, padding: Any, stride: Any):
        need_known("windows as columns", *size)
        self.size = [int(n) for n in size]
        rank = len(self.size)
        self.kernel, self.dilation, self.padding, self.stride = (spread(v, rank) for v in (kernel, dilation, padding, stride))
        self.counts = [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, d, p, s in zip(self.size, self.kernel, self.dilation, self.padding, self.stride, strict=True)
        ]

    def index(self, tap: Sequence[int]) -> tuple[Any, ...]:
        """The elements of the image with its padding that windows have at a place of theirs."""
        return tuple(
            slice(t * d, t * d + (m - 1) * s + 1, s)
            for t, d, m, s in zip(tap, self.dilation, self.counts, self.stride, strict=True)
        )


@op("im2col")
def im2col(call: Call, x: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    lone = x.ndim == 3
    x = x[None] if lone else x
    blocks = Blocks(x.shape[2:], kernel, dilation, padding, stride)
    padded = lnp.pad(x, [(0, 0), (0, 0), *[(p, p) for p in blocks.padding]])
    taps = [padded[(slice(None), slice(None), *blocks.index(tap))] for tap in np.ndindex(*blocks.kernel)]
    made = lnp.stack(taps, 2).reshape((x.shape[0], x.shape[1] * prod(blocks.kernel), prod(blocks.counts)))
    return made[0] if lone else made


@op("col2im")
def col2im(call: Call, x: Any, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """Images that are the sum of blocks, each put back where it was cut out."""
    lone = x.ndim == 2
    x = x[None] if lone else x
    blocks = Blocks(size, kernel, dilation, padding, stride)
    features = x.shape[1] // prod(blocks.kernel)
    parts = x.reshape((x.shape[0], features, *blocks.kernel, *blocks.counts))
    around = [n + 2 * p for n, p in zip(blocks.size, blocks.padding, strict=True)]
    total = lnp.zeros((x.shape[0], features, *around), dtype=x.dtype)
    for tap in np.ndindex(*blocks.kernel):
        total = total.at[(slice(None), slice(None), *blocks.index(tap))].add(parts[(slice(None), slice(None), *tap)])
    inner = tuple(slice(p, p + n) for p, n in zip(blocks.padding, blocks.size, strict=True))
    made = total[(slice(None), slice(None), *inner)]
    return made[0] if lone else made

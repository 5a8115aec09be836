"""Pooling functions of `lamina.nn`."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...api import Tracer, broadcast_tracer, build, lift, lift_as, lift_float
from ...api.errors import ShapeError
from ..numpy.axes_and_shapes import normalize_axis, reshape_tracer, transpose_tracer
from ..numpy.contract import contract
from ..numpy.index import take
from ..numpy.reduce import max as maximum
from .windows import Layout, Padding, Sizes, Windows, first_layout, for_ranks


def _pool(x: Tracer, kind: str, layout: Layout, windows: Windows, padding: Any) -> Tracer:
    pads = layout.padding(padding, windows, [x.shape[d] for d in layout.spatial])
    return build(
        "reduce_window",
        x,
        kind=kind,
        window=layout.everywhere(windows.size, 1),
        stride=layout.everywhere(windows.stride, 1),
        low=layout.everywhere([before for before, _ in pads], 0),
        high=layout.everywhere([after for _, after in pads], 0),
        dilation=layout.everywhere(windows.dilation, 1),
    )


def _windows(layout: Layout, window: Any, stride: Any, dilation: Any = 1) -> Windows:
    size = layout.positive(window, "window")
    steps = size if stride is None else layout.positive(stride, "stride")
    return Windows(size, steps, layout.positive(dilation, "dilation"))


@for_ranks
def _max_pool(rank: int) -> Callable[..., Any]:
    def max_pool(
        x: Any,
        window: Sizes,
        stride: Sizes | None = None,
        padding: Padding = "VALID",
        dilation: Sizes = 1,
        layout: str = first_layout(rank),
    ) -> Any:
        """The maximum of every window of images; NaN where one holds a NaN.

        Padding is never a maximum: the result of a window of padding alone is -inf (the least integer). The gradient goes to
        the first maximum of each window. Over whole images it is `x.max((2, 3))`.

        Args:
            x: numbers `[batch, features, height, width]`, or as `layout` says.
            window: its size, a number or (height, width).
            stride: distance of neighbouring windows; None is the size of the window.
            padding: as for `conv2d`.
            dilation: distance of neighbouring elements of a window.
            layout: "NCHW" or "NHWC".

        >>> import numpy as np, lamina as lm
        >>> lm.nn.max_pool2d(np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4), 2)
        array([[[[ 5.,  7.],
                 [13., 15.]]]], dtype=float32)
        """
        dims = Layout.of(layout, rank)
        return _pool(dims.image(x, f"max_pool{rank}d"), "max", dims, _windows(dims, window, stride, dilation), padding)

    return max_pool


@for_ranks
def _avg_pool(rank: int) -> Callable[..., Any]:
    def avg_pool(
        x: Any,
        window: Sizes,
        stride: Sizes | None = None,
        padding: Padding = "VALID",
        count_include_pad: bool = True,
        layout: str = first_layout(rank),
    ) -> Any:
        """The mean of every window of images; over whole images it is `x.mean((2, 3))`.

        Args:
            x: numbers `[batch, features, height, width]`, or as `layout` says; integers become float64.
            window: its size, a number or (height, width).
            stride: distance of neighbouring windows; None is the size of the window.
            padding: as for `conv2d`.
            count_include_pad: whether the zeros of the padding count as elements; if not, a mean is over the elements of the
                image alone, NaN where a window has none.
            layout: "NCHW" or "NHWC".

        >>> import numpy as np, lamina as lm
        >>> lm.nn.avg_pool2d(np.ones((1, 1, 3, 3), np.float32), 2, stride=1, padding=((1, 0), (1, 0)))
        array([[[[0.25, 0.5 , 0.5 ],
                 [0.5 , 1.  , 1.  ],
                 [0.5 , 1.  , 1.  ]]]], dtype=float32)
        """
        dims = Layout.of(layout, rank)
        x = lift_float(dims.image(x, f"avg_pool{rank}d"))
        windows = _windows(dims, window, stride)
        total = _pool(x, "add", dims, windows, padding)
        if count_include_pad:
            return total / prod(windows.size)
        alone = tuple(n if d in dims.spatial else 1 for d, n in enumerate(x.shape))
        ones = broadcast_tracer(reshape_tracer(lift_as(1.0, x.dtype), (1,) * x.ndim), alone)
        return total / _pool(ones, "add", dims, windows, padding)

    return avg_pool


max_pool1d, max_pool2d, max_pool3d = _max_pool
avg_pool1d, avg_pool2d, avg_pool3d = _avg_pool


# --------------------------------------------------------------------------------------------------------------------
# Adaptive: given how many windows there are


def adaptive_ranges(size: int, count: int) -> list[range]:
    """Windows that cover a dim, as even as can be: from `floor(i * size / count)` to `ceil((i + 1) * size / count)`."""
    return [range(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _adaptive(what: str, kind: str, x: Any, size: Any, layout: Layout) -> Tracer:
    x = layout.image(x, what)
    counts = layout.positive(size, "size")
    given = tuple(x.shape[d] for d in layout.spatial)
    if 0 in given:
        raise ShapeError(f"{what} needs images with elements, got shape {list(x.shape)}")
    if all(n % count == 0 for n, count in zip(given, counts, strict=True)):
        windows = tuple(n // count for n, count in zip(given, counts, strict=True))
        pooled = _pool(x, kind, layout, Windows(windows, windows, (1,) * layout.rank), "VALID")
        return lift(pooled / prod(windows)) if kind == "add" else pooled
    along = mean_along if kind == "add" else _max_along
    for d, n, count in zip(layout.spatial, given, counts, strict=True):
        x = along(x, d, adaptive_ranges(n, count))
    return x


def mean_along(x: Tracer, dim: int, windows: list[range]) -> Tracer:
    """The means of windows of a dim, as a product."""
    weights = np.zeros((x.shape[dim], len(windows)))
    for k, window in enumerate(windows):
        weights[window.start : window.stop, k] = 1 / len(window)
    return product_along(x, dim, weights)


def product_along(x: Tracer, dim: int, weights: Any) -> Tracer:
    """`sum over i of x[..., i, ...] * weights[i, k]`, instead of the dim."""
    y = contract(x, lift_as(weights, x.dtype), ((dim,), (0,)))
    last = y.ndim - 1
    return transpose_tracer(y, [*range(dim), last, *range(dim, last)])


def _max_along(x: Tracer, dim: int, windows: list[range]) -> Tracer:
    longest = max(map(len, windows))
    places = [[window[min(k, len(window) - 1)] for k in range(longest)] for window in windows]
    return lift(maximum(take(x, np.array(places), dim), normalize_axis(dim + 1, x.ndim + 1)))


@for_ranks
def _adaptive_avg_pool(rank: int) -> Callable[..., Any]:
    def adaptive_avg_pool(x: Any, size: Sizes, layout: str = first_layout(rank)) -> Any:
        """The means of `size` windows that cover the images, as even as can be: neighbouring ones share elements if need be.

        Args:
            x: numbers `[batch, features, height, width]`, or as `layout` says; integers become float64.
            size: how many windows, a number or (height, width).
            layout: "NCHW" or "NHWC".

        Raises:
            ShapeError: the images have no elements, or other dims.

        >>> import numpy as np, lamina as lm
        >>> lm.nn.adaptive_avg_pool1d(np.arange(5.0).reshape(1, 1, 5), 3)
        array([[[0.5, 2. , 3.5]]])
        """
        return _adaptive(f"adaptive_avg_pool{rank}d", "add", lift_float(x), size, Layout.of(layout, rank))

    return adaptive_avg_pool


@for_ranks
def _adaptive_max_pool(rank: int) -> Callable[..., Any]:
    def adaptive_max_pool(x: Any, size: Sizes, layout: str = first_layout(rank)) -> Any:
        """The maxima of the windows of `adaptive_avg_pool2d`."""
        return _adaptive(f"adaptive_max_pool{rank}d", "max", x, size, Layout.of(layout, rank))

    return adaptive_max_pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = _adaptive_avg_pool
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = _adaptive_max_pool

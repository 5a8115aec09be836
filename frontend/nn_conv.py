"""Convolutions and pooling of `lamina.nn`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dialects.graph.conv import dilated
from ..errors import DTypeError, ShapeError
from .eager import api
from .moves import broadcast_tracer, reshape_tracer, static_int
from .promotion import FLOAT64, result_type
from .tracer import Tracer
from .tracing import build, lift, lift_as, token

__all__ = ["avg_pool2d", "conv2d", "max_pool2d"]

Pair = int | Sequence[int]
Padding = str | int | Sequence[int] | Sequence[Sequence[int]]

_LAYOUTS = {
    # of images and results (batch, features, height, width), of filters (result features, features, height, width)
    "NCHW": ((0, 1, 2, 3), (0, 1, 2, 3)),
    "NHWC": ((0, 3, 1, 2), (3, 2, 0, 1)),
}


def _pair(value: Any, what: str) -> tuple[int, int]:
    """Two sizes: one for both, or one each."""
    values = list(value) if isinstance(value, Sequence) else [value] * 2
    if len(values) != 2:
        raise ShapeError(f"{what} must be a number or a pair of numbers, got {value!r}")
    first, second = (static_int(v, what) for v in values)
    return first, second


def _positive(value: Any, what: str) -> tuple[int, int]:
    pair = _pair(value, what)
    if min(pair) < 1:
        raise ShapeError(f"{what} must be at least 1, got {value!r}")
    return pair


def _layout(layout: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if layout not in _LAYOUTS:
        raise ShapeError(f"layout must be one of {', '.join(_LAYOUTS)}, got {layout!r}")
    return _LAYOUTS[layout]


def _padding(
    padding: Any, sizes: Sequence[int], window: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> list[tuple[int, int]]:
    """(before, after) for height and width."""
    if isinstance(padding, str):
        if padding.upper() == "VALID":
            return [(0, 0), (0, 0)]
        if padding.upper() != "SAME":
            raise ShapeError(f"padding must be 'SAME', 'VALID', numbers or pairs, got {padding!r}")
        found: list[tuple[int, int]] = []
        for size, n, step, by in zip(sizes, window, stride, dilation, strict=True):
            total = max(0, (-(-size // step) - 1) * step + dilated(n, by) - size)
            found.append((total // 2, total - total // 2))
        return found
    values = list(padding) if isinstance(padding, Sequence) else [padding] * 2
    if len(values) != 2:
        raise ShapeError(f"padding needs one entry for height and one for width, got {padding!r}")
    pairs = [_pair(v, "padding") for v in values]
    if min(n for pair in pairs for n in pair) < 0:
        raise ShapeError(f"padding must not be negative, got {padding!r}")
    return pairs


def _image(x: Any, what: str) -> Tracer:
    x = lift(x)
    if x.ndim != 4:
        raise ShapeError(f"{what} needs images of 4 dims (a batch of them), got shape {list(x.shape)}")
    return x


@api
def conv2d(
    x: Any,
    w: Any,
    stride: Pair = 1,
    padding: Padding = "VALID",
    dilation: Pair = 1,
    groups: int = 1,
    layout: str = "NCHW",
    tile: int | None = None,
) -> Any:
    """The convolution of images with filters (without mirroring them, as in torch and jax).

    Cost: `2 * elements of the result * elements of a filter`. Additions and activations that follow run in the same kernel.

    Args:
        x: images `[batch, features, height, width]`; with layout "NHWC" `[batch, height, width, features]`.
        w: filters `[result features, features // groups, height, width]`; with layout "NHWC"
            `[height, width, features // groups, result features]`.
        stride: distance of neighbouring windows, a number or (height, width).
        padding: zeros around the images: "VALID" (none), "SAME" (as many results as there are windows `stride` apart in the
            image, `ceil(size / stride)`; where the zeros are odd in number one more stands behind), a number, (height, width),
            or ((top, bottom), (left, right)).
        dilation: distance of neighbouring elements of a filter, a number or (height, width).
        groups: how many groups the features are divided into; each has filters of its own.
        layout: "NCHW" or "NHWC".
        tile: how results are summed up. 1: directly. 2 or 4, for 3x3 filters of float32 with strides, dilations and groups
            of 1: by Winograd's algorithm, `tile x tile` results at once with 2.25 or 4 times fewer multiplications. By default
            what is fastest. Rounding errors are then relative to the largest elements that a tile of results reads: on average
            they are about as large as the direct form's, their bound is 16 or 158 times as large. What is infinite or NaN
            makes NaN of all results of a tile.

    Returns:
        `[batch, result features, height, width]`, or `[batch, height, width, result features]`. Operands of different dtypes
        are promoted as by `x * w`; integers stay integers.

    Raises:
        ShapeError: shapes, groups or padding do not fit.

    >>> import numpy as np, lamina as lm
    >>> image = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    >>> lm.nn.conv2d(image, np.ones((1, 1, 2, 2), np.float32))
    array([[[[ 8., 12.],
             [20., 24.]]]], dtype=float32)
    """
    x, w = _image(x, "conv2d"), lift(w)
    if w.ndim != 4:
        raise ShapeError(f"conv2d needs filters of 4 dims, got shape {list(w.shape)}")
    if x.dtype != w.dtype:
        common = result_type([token(x), token(w)])
        x, w = lift_as(x, common), lift_as(w, common)
    if x.dtype.kind == "b":
        raise DTypeError("conv2d needs numbers, got bool: convert with .astype")
    x_dims, w_dims = _layout(layout)
    sizes, window = [x.shape[d] for d in x_dims[2:]], [w.shape[d] for d in w_dims[2:]]
    steps, holes = _positive(stride, "stride"), _positive(dilation, "dilation")
    pads = _padding(padding, sizes, window, steps, holes)
    in_order = layout == "NCHW"
    return build(
        "conv",
        x,
        w,
        stride=steps,
        low=[before for before, _ in pads],
        high=[after for _, after in pads],
        base_dilation=(),
        dilation=() if holes == (1, 1) else holes,
        x_dims=() if in_order else x_dims,
        w_dims=() if in_order else w_dims,
        y_dims=() if in_order else x_dims,
        groups=static_int(groups, "groups"),
        tile=() if tile is None else [static_int(tile, "tile")] * 2,
    )


def _pool(x: Tracer, kind: str, window: Any, stride: Any, padding: Any, dilation: Any, layout: str) -> Tracer:
    dims = _layout(layout)[0][2:]
    size = _positive(window, "window")
    steps = size if stride is None else _positive(stride, "stride")
    holes = _positive(dilation, "dilation")
    pads = _padding(padding, [x.shape[d] for d in dims], size, steps, holes)

    def everywhere(values: Sequence[int], otherwise: int) -> list[int]:
        row = [otherwise] * 4
        for d, value in zip(dims, values, strict=True):
            row[d] = value
        return row

    return build(
        "reduce_window",
        x,
        kind=kind,
        window=everywhere(size, 1),
        stride=everywhere(steps, 1),
        low=everywhere([before for before, _ in pads], 0),
        high=everywhere([after for _, after in pads], 0),
        dilation=everywhere(holes, 1),
    )


@api
def max_pool2d(
    x: Any, window: Pair, stride: Pair | None = None, padding: Padding = "VALID", dilation: Pair = 1, layout: str = "NCHW"
) -> Any:
    """The maximum of every window of images; NaN where one holds a NaN.

    Padding never is a maximum: a window of padding alone gives -inf (the least integer). The gradient goes to the first
    maximum of each window.

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
    return _pool(_image(x, "max_pool2d"), "max", window, stride, padding, dilation, layout)


@api
def avg_pool2d(
    x: Any,
    window: Pair,
    stride: Pair | None = None,
    padding: Padding = "VALID",
    count_include_pad: bool = True,
    layout: str = "NCHW",
) -> Any:
    """The mean of every window of images.

    Args:
        x: numbers `[batch, features, height, width]`, or as `layout` says; integers become float64.
        window: its size, a number or (height, width).
        stride: distance of neighbouring windows; None is the size of the window.
        padding: as for `conv2d`.
        count_include_pad: whether the zeros of the padding count as elements; if not, a mean is over the elements of the image
            alone, NaN where a window has none.
        layout: "NCHW" or "NHWC".

    >>> import numpy as np, lamina as lm
    >>> lm.nn.avg_pool2d(np.ones((1, 1, 3, 3), np.float32), 2, stride=1, padding=((1, 0), (1, 0)))
    array([[[[0.25, 0.5 , 0.5 ],
             [0.5 , 1.  , 1.  ],
             [0.5 , 1.  , 1.  ]]]], dtype=float32)
    """
    x = _image(x, "avg_pool2d")
    if x.dtype.kind != "f":
        x = lift_as(x, FLOAT64)
    height, width = _positive(window, "window")
    total = _pool(x, "add", window, stride, padding, 1, layout)
    if count_include_pad:
        return total / (height * width)
    dims = _layout(layout)[0][2:]
    alone = tuple(n if d in dims else 1 for d, n in enumerate(x.shape))
    ones = broadcast_tracer(reshape_tracer(lift_as(1.0, x.dtype), (1,) * 4), alone)
    return total / _pool(ones, "add", window, stride, padding, 1, layout)

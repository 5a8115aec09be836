"""Convolutions and transposed convolutions of `lamina.nn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...api import Tracer, build, lift, lift_as, token
from ...api.dtypes import result_type
from ...api.errors import DTypeError, ShapeError
from ..numpy.axes_and_shapes import reshape_tracer, reverse_tracer, static_int, transpose_tracer
from .windows import Layout, Padding, Sizes, Windows, first_layout, for_ranks


def _operands(what: str, x: Any, w: Any, layout: Layout) -> tuple[Tracer, Tracer]:
    x, w = layout.image(x, what), lift(w)
    if w.ndim != x.ndim:
        raise ShapeError(f"{what} needs filters of {x.ndim} dims, got shape {list(w.shape)}")
    if x.dtype != w.dtype:
        common = result_type([token(x), token(w)])
        x, w = lift_as(x, common), lift_as(w, common)
    if x.dtype.kind == "b":
        raise DTypeError(f"{what} needs numbers, got bool: convert with .astype")
    return x, w


def _windows(layout: Layout, w: Tracer, stride: Any, dilation: Any) -> Windows:
    size = tuple(w.shape[d] for d in layout.w_dims[2:])
    return Windows(size, layout.positive(stride, "stride"), layout.positive(dilation, "dilation"))


def _build(x: Tracer, w: Tracer, layout: Layout, **given: Any) -> Tracer:
    in_order = tuple(range(x.ndim))
    dims = {"x_dims": layout.x_dims, "w_dims": layout.w_dims, "y_dims": layout.x_dims}
    ones = (1,) * layout.rank
    holes = {name: () if given[name] == ones else given[name] for name in ("base_dilation", "dilation")}
    in_full = {name: () if value == in_order else value for name, value in dims.items()}
    return build("conv", x, w, **{"tile": (), **given, **holes, **in_full})


@for_ranks
def _conv(rank: int) -> Callable[..., Any]:
    def conv(
        x: Any,
        w: Any,
        stride: Sizes = 1,
        padding: Padding = "VALID",
        dilation: Sizes = 1,
        groups: int = 1,
        layout: str = first_layout(rank),
        tile: int | None = None,
    ) -> Any:
        """The convolution of images with filters (without mirroring them, as in torch and jax).

        Cost: `2 * elements of the result * elements of a filter`. Additions and activations that follow run in the same kernel.

        Args:
            x: images `[batch, features, height, width]`; with layout "NHWC" `[batch, height, width, features]`.
            w: filters `[result features, features // groups, height, width]`; with layout "NHWC"
                `[height, width, features // groups, result features]`.
            stride: distance of neighbouring windows, a number or (height, width).
            padding: zeros around the images: "VALID" (none), "SAME" (as many results as there are windows at distance `stride`
                in the image, `ceil(size / stride)`; where the zeros are odd in number one more stands behind), a number,
                (height, width), or ((top, bottom), (left, right)).
            dilation: distance of neighbouring elements of a filter, a number or (height, width).
            groups: how many groups the features are divided into; each has filters of its own.
            layout: "NCHW" or "NHWC".
            tile: how results are summed up. 1: directly. 2 or 4, for 3x3 filters of float32 with strides, dilations and groups
                of 1: by Winograd's algorithm, `tile x tile` results at once with 2.25 or 4 times fewer multiplications. By
                default the fastest. Rounding errors are then relative to the largest elements that a tile of results reads:
                on average they are about as large as the direct form's, their bound is 16 or 158 times as large. What is
                infinite or NaN makes NaN of all results of a tile.

        Returns:
            `[batch, result features, height, width]`, or `[batch, height, width, result features]`. Operands of different
            dtypes are promoted as by `x * w`; integers stay integers.

        Raises:
            ShapeError: shapes, groups or padding do not fit.

        >>> import numpy as np, lamina as lm
        >>> image = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
        >>> lm.nn.conv2d(image, np.ones((1, 1, 2, 2), np.float32))
        array([[[[ 8., 12.],
                 [20., 24.]]]], dtype=float32)
        """
        dims = Layout.of(layout, rank)
        x, w = _operands(f"conv{rank}d", x, w, dims)
        windows = _windows(dims, w, stride, dilation)
        pads = dims.padding(padding, windows, [x.shape[d] for d in dims.spatial])
        return _build(
            x,
            w,
            dims,
            stride=windows.stride,
            low=[before for before, _ in pads],
            high=[after for _, after in pads],
            base_dilation=(1,) * rank,
            dilation=windows.dilation,
            groups=static_int(groups, "groups"),
            tile=() if tile is None else [static_int(tile, "tile")] * rank,
        )

    return conv


conv1d, conv2d, conv3d = _conv


# --------------------------------------------------------------------------------------------------------------------
# Transposed


def _exchanged(what: str, w: Tracer, layout: Layout, groups: int) -> Tracer:
    """Filters with their two dims of features exchanged, in each group."""
    out, depth = layout.w_dims[:2]
    if groups < 1 or w.shape[out] % groups:
        raise ShapeError(f"{what} needs features in groups of one size, got {w.shape[out]} features and {groups} groups")
    # the dim of groups replaces the features of the images; the filters of a group then replace it
    split = reshape_tracer(w, (*w.shape[:out], groups, w.shape[out] // groups, *w.shape[out + 1 :]))
    group, inner, other = out, out + 1, depth + (depth > out)
    order = list(range(split.ndim))
    order[inner], order[other] = other, inner
    order.remove(group)
    order.insert(order.index(other), group)
    sizes = list(w.shape)
    sizes[out], sizes[depth] = w.shape[depth] * groups, w.shape[out] // groups
    return reshape_tracer(transpose_tracer(split, order), tuple(sizes))


@for_ranks
def _conv_transpose(rank: int) -> Callable[..., Any]:
    def conv_transpose(
        x: Any,
        w: Any,
        stride: Sizes = 1,
        padding: Padding = "VALID",
        output_padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        layout: str = first_layout(rank),
    ) -> Any:
        """The transpose of `conv2d` by its images, as torch's function of the name: each element of x adds a filter.

        Args:
            x: images `[batch, features, height, width]`, or as `layout` says.
            w: the filters of the convolution that is transposed: `[features, result features // groups, height, width]`; with
                layout "NHWC" `[height, width, result features // groups, features]`.
            stride: distance of the windows of neighbouring elements of x.
            padding: the elements cut off from the result, as for `conv2d`; "SAME" gives `stride` times as many results as
                elements.
            output_padding: further results at the end; less than the stride or the dilation.
            dilation, groups, layout: as for `conv2d`.

        Raises:
            ShapeError: shapes, groups or padding do not fit.

        >>> import numpy as np, lamina as lm
        >>> image = np.array([[[[1, 2], [3, 4]]]], np.float32)
        >>> lm.nn.conv_transpose2d(image, np.ones((1, 1, 2, 2), np.float32))
        array([[[[ 1.,  3.,  2.],
                 [ 4., 10.,  6.],
                 [ 3.,  7.,  4.]]]], dtype=float32)
        """
        # a convolution of elements at distance `stride`, with the filters mirrored and their features exchanged
        name, dims = f"conv_transpose{rank}d", Layout.of(layout, rank)
        x, w = _operands(name, x, w, dims)
        windows = _windows(dims, w, stride, dilation)
        more = dims.sizes(output_padding, "output_padding")
        results = [x.shape[d] * step for d, step in zip(dims.spatial, windows.stride, strict=True)]
        pads = dims.padding(padding, windows, results)
        if isinstance(padding, str) and padding.upper() == "SAME":
            more = tuple(max(0, step - windows.reach(k)) for k, step in enumerate(windows.stride))
        if any(not 0 <= n < max(step, by) for n, step, by in zip(more, windows.stride, windows.dilation, strict=True)):
            raise ShapeError(f"output_padding must be less than the stride or the dilation, got {output_padding!r}")
        reach = [windows.reach(k) - 1 for k in range(dims.rank)]
        return _build(
            x,
            reverse_tracer(_exchanged(name, w, dims, static_int(groups, "groups")), dims.w_dims[2:]),
            dims,
            stride=(1,) * dims.rank,
            low=[r - before for r, (before, _) in zip(reach, pads, strict=True)],
            high=[r - after + n for r, (_, after), n in zip(reach, pads, more, strict=True)],
            base_dilation=windows.stride,
            dilation=windows.dilation,
            groups=static_int(groups, "groups"),
        )

    return conv_transpose


conv_transpose1d, conv_transpose2d, conv_transpose3d = _conv_transpose

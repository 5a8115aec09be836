"""Pooling as layers."""

from __future__ import annotations

from typing import Any

from ...library.nn import namespace as nn
from .module import Module, static

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "MaxPool1d",
    "MaxPool2d", "MaxPool3d",
]  # fmt: skip


class _Pool(Module):
    """Pooling of images `[batch, features, ...]`.

    Args:
        kernel_size: of a window, a number or one a spatial dim.
        stride: distance of neighbouring windows; None is the size of a window.
        padding: as of `lm.nn.conv2d`.
    """

    kernel_size: Any = static()
    stride: Any = static(None)
    padding: Any = static(0)

    function = ""

    def __call__(self, x: Any) -> Any:
        return getattr(nn, self.function)(x, self.kernel_size, self.stride, self.padding)


class _AdaptivePool(Module):
    """The mean of as many windows as `output_size` says, which cover the images `[batch, features, ...]`.

    Args:
        output_size: a number, or one a spatial dim.
    """

    output_size: Any = static()

    rank = 0

    def __call__(self, x: Any) -> Any:
        return getattr(nn, f"adaptive_avg_pool{self.rank}d")(x, self.output_size)


class MaxPool1d(_Pool):
    __doc__ = _Pool.__doc__
    function = "max_pool1d"


class MaxPool2d(_Pool):
    __doc__ = _Pool.__doc__
    function = "max_pool2d"


class MaxPool3d(_Pool):
    __doc__ = _Pool.__doc__
    function = "max_pool3d"


class AvgPool1d(_Pool):
    __doc__ = _Pool.__doc__
    function = "avg_pool1d"


class AvgPool2d(_Pool):
    __doc__ = _Pool.__doc__
    function = "avg_pool2d"


class AvgPool3d(_Pool):
    __doc__ = _Pool.__doc__
    function = "avg_pool3d"


class AdaptiveAvgPool1d(_AdaptivePool):
    __doc__ = _AdaptivePool.__doc__
    rank = 1


class AdaptiveAvgPool2d(_AdaptivePool):
    __doc__ = _AdaptivePool.__doc__
    rank = 2


class AdaptiveAvgPool3d(_AdaptivePool):
    __doc__ = _AdaptivePool.__doc__
    rank = 3

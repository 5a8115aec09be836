"""Convolutions and transposed ones, of 1 to 3 dims, with torch's names and layouts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...api.errors import ShapeError
from ...library.nn import namespace as nn
from ...library.numpy import namespace as lnp
from ...library.random import namespace as random
from .initializers import Initializer, torch_uniform
from .module import Module, static

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

Sizes = int | tuple[int, ...]


def sizes(value: Any, rank: int, name: str) -> tuple[int, ...]:
    """One number a spatial dim, from a number or a sequence."""
    found = (int(value),) * rank if isinstance(value, int | np.integer) else tuple(int(n) for n in value)
    if len(found) != rank:
        raise ShapeError(f"{name} is a number or one of each of {rank} dims, got {value!r}")
    return found


class _Windowed(Module):
    """The base of convolutions."""

    weight: Any
    bias: Any
    stride: tuple[int, ...] = static()
    padding: Any = static()
    dilation: tuple[int, ...] = static()
    groups: int = static()

    rank = 0

    def _set(self, stride: Any, padding: Any, dilation: Any, groups: int) -> None:
        self.stride, self.dilation = sizes(stride, self.rank, "stride"), sizes(dilation, self.rank, "dilation")
        self.padding = padding if isinstance(padding, str) else _hashable(padding)
        self.groups = int(groups)

    def _divided(self, features: int) -> int:
        if self.groups < 1 or features % self.groups:
            raise ShapeError(f"{type(self).__name__} needs features in {self.groups} groups of one size, got {features}")
        return features // self.groups

    def _fill(self, shape: tuple[int, ...], out: int, bias: bool, key: Any, dtype: Any, init: Initializer | None) -> None:
        keys = random.split(key)
        fill = torch_uniform(math.prod(shape[1:]))
        self.weight = (init or fill)(keys[0], shape, dtype)
        self.bias = fill(keys[1], (out,), dtype) if bias else None

    def _with_bias(self, y: Any) -> Any:
        return y if self.bias is None else y + lnp.reshape(self.bias, (-1,) + (1,) * self.rank)


def _hashable(padding: Any) -> Any:
    return tuple(_hashable(part) for part in padding) if isinstance(padding, list | tuple) else int(padding)


class _Conv(_Windowed):
    """The convolution of images `[batch, in_channels, ...]`; a bias for each channel is added.

    Args:
        in_channels, out_channels: features of images and results.
        kernel_size: of the filters: a number, or one a spatial dim.
        stride, padding, dilation, groups: as of `lm.nn.conv2d`; padding is a number, one a dim, pairs, "VALID" or "SAME".
        bias, key, dtype, init: as of `Linear`; the fan-in is `in_channels // groups * elements of a filter`.

    Attributes:
        weight: floats[out_channels, in_channels // groups, *kernel_size].
        bias: floats[out_channels], or None.

    Raises:
        ShapeError: the channels are no groups of one size.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Any = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        key: Any,
        dtype: Any = np.float32,
        init: Initializer | None = None,
    ) -> None:
        self._set(stride, padding, dilation, groups)
        self._divided(out_channels)
        shape = (out_channels, self._divided(in_channels), *sizes(kernel_size, self.rank, "kernel_size"))
        self._fill(shape, out_channels, bias, key, dtype, init)

    def __call__(self, x: Any) -> Any:
        """From floats[batch, in_channels, ...], floats[batch, out_channels, ...]."""
        conv = getattr(nn, f"conv{self.rank}d")
        return self._with_bias(conv(x, self.weight, self.stride, self.padding, self.dilation, self.groups))


class _ConvTranspose(_Windowed):
    """The transpose of a convolution by its images: `lm.nn.conv_transpose2d`, and a bias for each channel.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, key, dtype, init: as of `Conv2d`.
        output_padding: further results at the end; less than the stride or the dilation.

    Attributes:
        weight: floats[in_channels, out_channels // groups, *kernel_size].
        bias: floats[out_channels], or None.

    Raises:
        ShapeError: the channels are no groups of one size.
    """

    output_padding: tuple[int, ...] = static()

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Any = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        *,
        key: Any,
        dtype: Any = np.float32,
        init: Initializer | None = None,
    ) -> None:
        self._set(stride, padding, dilation, groups)
        self._divided(in_channels)
        self.output_padding = sizes(output_padding, self.rank, "output_padding")
        shape = (in_channels, self._divided(out_channels), *sizes(kernel_size, self.rank, "kernel_size"))
        self._fill(shape, out_channels, bias, key, dtype, init)

    def __call__(self, x: Any) -> Any:
        """From floats[batch, in_channels, ...], floats[batch, out_channels, ...]."""
        conv = getattr(nn, f"conv_transpose{self.rank}d")
        return self._with_bias(conv(x, self.weight, self.stride, self.padding, self.output_padding, self.dilation, self.groups))


class Conv1d(_Conv):
    __doc__ = _Conv.__doc__
    rank = 1


class Conv2d(_Conv):
    __doc__ = _Conv.__doc__
    rank = 2


class Conv3d(_Conv):
    __doc__ = _Conv.__doc__
    rank = 3


class ConvTranspose1d(_ConvTranspose):
    __doc__ = _ConvTranspose.__doc__
    rank = 1


class ConvTranspose2d(_ConvTranspose):
    __doc__ = _ConvTranspose.__doc__
    rank = 2


class ConvTranspose3d(_ConvTranspose):
    __doc__ = _ConvTranspose.__doc__
    rank = 3

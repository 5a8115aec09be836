"""Normalizations with parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...api.errors import ShapeError
from ...library.nn import namespace as nn
from ...library.numpy import namespace as lnp
from .module import Module, buffer, static

__all__ = ["BatchNorm", "GroupNorm", "LayerNorm", "RMSNorm"]


class LayerNorm(Module):
    """`lm.nn.layer_norm` over the last dims.

    Args:
        normalized_shape: sizes of the dims that are normalized, a number or several.
        eps: keeps rows of equal elements finite.
        bias: whether there is one.
        dtype: of the parameters.
    """

    weight: Any
    bias: Any
    eps: float = static()

    def __init__(
        self, normalized_shape: int | tuple[int, ...], eps: float = 1e-5, bias: bool = True, dtype: Any = np.float32
    ) -> None:
        shape = _shape(normalized_shape)
        self.weight = np.ones(shape, dtype)
        self.bias = np.zeros(shape, dtype) if bias else None
        self.eps = eps

    def __call__(self, x: Any) -> Any:
        """floats[..., *normalized_shape], normalized."""
        axes = tuple(range(-self.weight.ndim, 0))
        return nn.layer_norm(x, self.weight, self.bias, axis=axes, eps=self.eps)


class RMSNorm(Module):
    """`lm.nn.rms_norm` over the last dims: no mean is subtracted, and there is no bias.

    Args:
        normalized_shape, dtype: as of `LayerNorm`.
        eps: keeps rows of zeros finite.
    """

    weight: Any
    eps: float = static()

    def __init__(self, normalized_shape: int | tuple[int, ...], eps: float = 1e-6, dtype: Any = np.float32) -> None:
        self.weight = np.ones(_shape(normalized_shape), dtype)
        self.eps = eps

    def __call__(self, x: Any) -> Any:
        """floats[..., *normalized_shape], normalized."""
        return nn.rms_norm(x, self.weight, axis=tuple(range(-self.weight.ndim, 0)), eps=self.eps)


class GroupNorm(Module):
    """`lm.nn.group_norm`: each example and group of channels is normalized.

    Args:
        num_groups: how many groups the channels are divided into.
        num_channels: size of dim 1.
        eps, dtype: as of `LayerNorm`.
        affine: whether there are parameters.
    """

    weight: Any
    bias: Any
    num_groups: int = static()
    eps: float = static()

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: Any = np.float32
    ) -> None:
        if num_groups < 1 or num_channels % num_groups:
            raise ShapeError(
                f"GroupNorm needs channels in groups of one size, got {num_channels} channels and {num_groups} groups"
            )
        self.weight = np.ones(num_channels, dtype) if affine else None
        self.bias = np.zeros(num_channels, dtype) if affine else None
        self.num_groups, self.eps = num_groups, eps

    def __call__(self, x: Any) -> Any:
        """floats[batch, num_channels, ...], normalized."""
        return nn.group_norm(x, self.num_groups, self.weight, self.bias, eps=self.eps)


class BatchNorm(Module):
    """Every channel normalized: in training by the batch's statistics, in inference by running averages of these.

    A call returns the result and the module with the next averages; in inference that is the module itself.

    Args:
        num_features: channels, the size of dim `axis`.
        eps: keeps channels without variance finite.
        momentum: the weight of a batch in the averages; None is the mean over all batches so far.
        affine: whether there are parameters.
        axis: the dim of channels.
        dtype: of parameters and averages.

    Attributes:
        weight, bias: floats[num_features], or None.
        running_mean, running_var: floats[num_features], buffers; the variance is unbiased, as torch's.
        num_batches_tracked: an integer, a buffer.

    Ioffe and Szegedy, "Batch normalization", ICML 2015.

    >>> import lamina as lm, numpy as np
    >>> norm = lm.train.modules.BatchNorm(2)
    >>> y, norm = norm(np.array([[1, 10], [3, 30]], np.float32))
    >>> norm.running_mean
    array([0.2, 2. ], dtype=float32)
    """

    weight: Any
    bias: Any
    running_mean: Any = buffer()
    running_var: Any = buffer()
    num_batches_tracked: Any = buffer()
    eps: float = static()
    momentum: float | None = static()
    axis: int = static()

    stateful = True

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        axis: int = 1,
        dtype: Any = np.float32,
    ) -> None:
        self.weight = np.ones(num_features, dtype) if affine else None
        self.bias = np.zeros(num_features, dtype) if affine else None
        self.running_mean, self.running_var = np.zeros(num_features, dtype), np.ones(num_features, dtype)
        self.num_batches_tracked = np.zeros((), np.int64)
        self.eps, self.momentum, self.axis = eps, momentum, axis

    def __call__(self, x: Any) -> tuple[Any, BatchNorm]:
        """From floats[batch, num_features, ...], the same normalized, and the module for the next call.

        Raises:
            ShapeError: in training, a channel has a single element.
        """
        if not self.training:
            y = nn.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, axis=self.axis, eps=self.eps)
            return y, self
        shape = lnp.shape(x)
        y, mean, var = nn.batch_norm_train(x, self.weight, self.bias, axis=self.axis, eps=self.eps)
        count = math.prod(shape) // shape[self.axis]
        if isinstance(count, int) and count < 2:
            raise ShapeError(
                f"BatchNorm in training needs two elements for each channel or more, got shape {list(shape)}: call eval()"
            )
        batches = self.num_batches_tracked + 1
        share = self.momentum if self.momentum is not None else 1 / batches
        return y, self.replace(
            running_mean=_moved(self.running_mean, mean, share),
            running_var=_moved(self.running_var, var * (count / (count - 1)), share),
            num_batches_tracked=batches,
        )


def _moved(average: Any, new: Any, share: Any) -> Any:
    """The average with a share of a new value, which no derivative follows."""
    from ...api.functions import stop_gradient

    return (average * (1 - share) + stop_gradient(new) * share).astype(average.dtype)


def _shape(normalized: int | tuple[int, ...]) -> tuple[int, ...]:
    return (normalized,) if isinstance(normalized, int | np.integer) else tuple(normalized)

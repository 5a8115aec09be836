"""Normalizations of `lamina.nn`."""

from __future__ import annotations

from typing import Any

from ...api import Tracer, array_function, build, lift, lift_as, lift_float
from ...api.errors import ShapeError
from ..numpy.axes_and_shapes import normalize_axes, normalize_axis, reshape_tracer, static_int
from ..numpy.create import full
from ..numpy.reduce import mean as mean_of
from ..numpy.reduce import sum as sum_of
from ..numpy.reduce import var as var_of
from ..numpy.ufuncs import maximum, sqrt


def _affine(op: str, y: Tracer, axes: tuple[int, ...], weight: Any, bias: Any) -> Any:
    """`y * weight + bias`, both of the sizes of y along `axes`."""
    sizes = tuple(y.shape[k] for k in axes)
    given = {"weight": weight, "bias": bias}
    for name, value in given.items():
        if value is None:
            continue
        value = lift_as(lift(value), y.dtype)
        if value.shape != sizes:
            raise ShapeError(
                f"{op} needs a {name} of the sizes that are normalized, {list(sizes)} of {list(y.shape)}, "
                f"got {list(value.shape)}"
            )
        value = reshape_tracer(value, tuple(n if k in axes else 1 for k, n in enumerate(y.shape)))
        y = y * value if name == "weight" else y + value
    return y


def _along(op: str, x: Any, axis: Any, eps: float) -> tuple[Tracer, tuple[int, ...]]:
    x = lift_float(x)
    axes = normalize_axes(axis, x.ndim)
    if not axes:
        raise ShapeError(f"{op} needs at least one axis, got shape {list(x.shape)} and axis={axis}")
    return build(op, x, dims=axes, epsilon=float(eps)), axes


@array_function
def layer_norm(x: Any, weight: Any = None, bias: Any = None, *, axis: Any = -1, eps: float = 1e-5) -> Any:
    """`(x - mean) / sqrt(var + eps) * weight + bias`, mean and variance along `axis`.

    Args:
        x: floats of any shape; integers become float64.
        weight, bias: floats of the sizes of x along `axis`, or None.
        axis: an axis, a tuple of axes, or None for all.
        eps: a number that keeps rows of equal elements finite.

    Raises:
        ShapeError: weight or bias has other sizes, or there is no axis to normalize along.

    One kernel; a row is read once from memory.

    >>> import numpy as np, lamina as lm
    >>> lm.nn.layer_norm(np.array([[1.0, 3.0], [5.0, 5.0]]), eps=0.0625).round(3)
    array([[-0.97,  0.97],
           [ 0.  ,  0.  ]])
    """
    y, axes = _along("layer_norm", x, axis, eps)
    return _affine("layer_norm", y, axes, weight, bias)


@array_function
def rms_norm(x: Any, weight: Any = None, *, axis: Any = -1, eps: float = 1e-6) -> Any:
    """`x / sqrt(mean(x * x) + eps) * weight`, the mean along `axis`.

    Args:
        x: floats of any shape; integers become float64.
        weight: floats of the sizes of x along `axis`, or None.
        axis: an axis, a tuple of axes, or None for all.
        eps: a number that keeps rows of zeros finite.

    Raises:
        ShapeError: the weight has other sizes, or there is no axis to normalize along.

    >>> import numpy as np, lamina as lm
    >>> lm.nn.rms_norm(np.array([3.0, 4.0, 0.0, 0.0]), eps=0.0)
    array([1.2, 1.6, 0. , 0. ])
    """
    y, axes = _along("rms_norm", x, axis, eps)
    return _affine("rms_norm", y, axes, weight, None)


@array_function
def group_norm(x: Any, groups: int, weight: Any = None, bias: Any = None, *, axis: int = 1, eps: float = 1e-5) -> Any:
    """`layer_norm` of each example and group of neighbouring channels, then `weight` and `bias` of each channel.

    Args:
        x: floats[batch, ...] with a dim of channels; integers become float64.
        groups: how many groups the channels are divided into.
        weight, bias: floats[channels], or None.
        axis: the dim of channels.
        eps: a number that keeps groups of equal elements finite.

    Raises:
        ShapeError: the channels are no groups of one size, or weight or bias are not one number for each channel.

    Wu and He, "Group normalization", ECCV 2018.

    >>> import numpy as np, lamina as lm
    >>> lm.nn.group_norm(np.array([[1.0, 3.0, 10.0, 30.0]]), 2, eps=0.0)
    array([[-1.,  1., -1.,  1.]])
    """
    return _group_norm("group_norm", lift_float(x), groups, weight, bias, axis, eps)


@array_function
def instance_norm(x: Any, weight: Any = None, bias: Any = None, *, axis: int = 1, eps: float = 1e-5) -> Any:
    """`group_norm` with a group for each channel."""
    x = lift_float(x)
    return _group_norm("instance_norm", x, x.shape[normalize_axis(axis, x.ndim)], weight, bias, axis, eps)


def _group_norm(what: str, x: Tracer, groups: Any, weight: Any, bias: Any, axis: int, eps: float) -> Any:
    axis, count = normalize_axis(axis, x.ndim), static_int(groups, "groups")
    size = x.shape[axis]
    if axis == 0:
        raise ShapeError(f"{what} needs a dim of examples before that of channels, got axis 0 of {list(x.shape)}")
    if count < 1 or size % count:
        raise ShapeError(f"{what} needs channels in groups of one size, got {size} channels and {count} groups")
    split = reshape_tracer(x, (*x.shape[:axis], count, size // count, *x.shape[axis + 1 :]))
    over = tuple(k for k in range(1, split.ndim) if k != axis)
    y = reshape_tracer(_along("layer_norm", split, over, eps)[0], x.shape)
    return _affine(what, y, (axis,), weight, bias)


@array_function
def normalize(x: Any, *, axis: Any = -1, eps: float = 1e-12) -> Any:
    """`x / max(norm(x), eps)`, the Euclidean norm along `axis`."""
    x = lift_float(x)
    return x / maximum(sqrt(sum_of(x * x, axis, keepdims=True)), eps)


def _channels(x: Tracer, name: str, value: Any, default: float | None, axis: int) -> Tracer:
    """A vector with a number for each channel, of the dtype of x."""
    size = x.shape[axis]
    value = lift(full((size,), default, dtype=x.dtype)) if value is None else lift_as(lift(value), x.dtype)
    if value.shape != (size,):
        raise ShapeError(
            f"batch_norm needs a {name} of one number for each channel: axis {axis} of {list(x.shape)} has {size}, "
            f"the {name} is {list(value.shape)}"
        )
    return value


def _by_statistics(x: Tracer, mean: Any, var: Any, weight: Any, bias: Any, axis: int, eps: float) -> Any:
    given = {"mean": (mean, None), "var": (var, None), "weight": (weight, 1.0), "bias": (bias, 0.0)}
    channels = [_channels(x, name, value, default, axis) for name, (value, default) in given.items()]
    return build("batch_norm", x, *channels, dim=axis, epsilon=float(eps))


@array_function
def batch_norm(x: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, *, axis: int = 1, eps: float = 1e-5) -> Any:
    """`(x - mean) / sqrt(var + eps) * weight + bias` of every channel, by given statistics: the form for inference.

    Args:
        x: floats of any shape with a dim of channels; integers become float64.
        mean, var: floats[channels].
        weight, bias: floats[channels], or None.
        axis: the dim of channels.
        eps: a number that keeps channels without variance finite.

    Raises:
        ShapeError: statistics, weight or bias are not one number for each channel.

    >>> import numpy as np, lamina as lm
    >>> x = np.array([[1.0, 10.0], [3.0, 30.0]])
    >>> lm.nn.batch_norm(x, mean=np.array([2.0, 20.0]), var=np.array([1.0, 100.0]), eps=0.0)
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    x = lift_float(x)
    return _by_statistics(x, mean, var, weight, bias, normalize_axis(axis, x.ndim), eps)


@array_function
def batch_norm_train(x: Any, weight: Any = None, bias: Any = None, *, axis: int = 1, eps: float = 1e-5) -> Any:
    """`batch_norm` by the statistics of x itself: the form for training.

    Args:
        x: floats of any shape with a dim of channels; integers become float64.
        weight, bias: floats[channels], or None.
        axis: the dim of channels.
        eps: a number that keeps channels without variance finite.

    Returns:
        (y, mean, var): the result of `batch_norm`, and the mean and variance (divided by the count) of every channel, for
        running averages of them.

    Raises:
        ShapeError: weight or bias are not one number for each channel.

    >>> import numpy as np, lamina as lm
    >>> y, mean, var = lm.nn.batch_norm_train(np.array([[1.0, 10.0], [3.0, 30.0]]), eps=0.0)
    >>> y, mean, var
    (array([[-1., -1.],
           [ 1.,  1.]]), array([ 2., 20.]), array([  1., 100.]))
    """
    x = lift_float(x)
    axis = normalize_axis(axis, x.ndim)
    others = tuple(k for k in range(x.ndim) if k != axis)
    mean, var = mean_of(x, others), var_of(x, others)
    return _by_statistics(x, mean, var, weight, bias, axis, eps), mean, var

"""`lamina.nn.initializers`: initial values of parameters under jax's names, with its layout and its numbers.

Weights are `[..., inputs, outputs]`: their fan-in is the size of dim -2, their fan-out that of dim -1, each times the elements
of the other dims. Layers of `lamina.train.modules` have torch's layout and initializers of
their own (`lamina.train.modules.initializers`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api.dtypes import is_inexact_dtype
from ...api.errors import DTypeError, ShapeError
from ...names import public
from ..numpy import namespace as lnp
from ..random import namespace as random

__all__ = list(public("nn.initializers"))

Initializer = Callable[..., Any]
"""A function of a key, a shape and a dtype."""

_TRUNCATED = 0.87962566103423978
"""The standard deviation of a normal variable between -2 and 2."""


def _floats(dtype: Any) -> np.dtype[Any]:
    if not is_inexact_dtype(np.dtype(dtype)):
        raise DTypeError(f"parameters that are drawn are floats, got dtype {np.dtype(dtype)}")
    return np.dtype(dtype)


def zeros(key: Any, shape: Sequence[int], dtype: Any = np.float32) -> Any:
    """Zeros."""
    return lnp.zeros(tuple(shape), dtype)


def ones(key: Any, shape: Sequence[int], dtype: Any = np.float32) -> Any:
    """Ones."""
    return lnp.ones(tuple(shape), dtype)


def constant(value: Any, dtype: Any = np.float32) -> Initializer:
    """Every element is `value`."""
    return lambda key, shape, dtype=dtype: lnp.full(tuple(shape), value, dtype)


def uniform(scale: Any = 1e-2, dtype: Any = np.float32) -> Initializer:
    """Uniform numbers from 0 to `scale`."""
    return lambda key, shape, dtype=dtype: random.uniform(key, tuple(shape), _floats(dtype)) * np.dtype(dtype).type(scale)


def normal(stddev: Any = 1e-2, dtype: Any = np.float32) -> Initializer:
    """Normal numbers of mean 0."""
    return lambda key, shape, dtype=dtype: random.normal(key, tuple(shape), _floats(dtype)) * np.dtype(dtype).type(stddev)


def truncated_normal(stddev: Any = 1e-2, dtype: Any = np.float32, lower: float = -2.0, upper: float = 2.0) -> Initializer:
    """Normal numbers between `lower` and `upper`, times `stddev`, which is their deviation before they are cut off."""

    def draw(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        drawn = random.truncated_normal(key, lower, upper, tuple(shape), _floats(dtype))
        return drawn * np.dtype(dtype).type(stddev)

    return draw


Axes = int | Sequence[int]


def fans(shape: Sequence[int], in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = ()) -> tuple[float, float]:
    """Fan-in and fan-out of weights.

    Raises:
        ShapeError: there are less than two dims.
    """
    if len(shape) < 2:
        raise ShapeError(f"fans are of weights of two and more dims, got shape {list(shape)}")
    sizes = [
        math.prod(shape[d] for d in ([axes] if isinstance(axes, int) else axes)) for axes in (in_axis, out_axis, batch_axis)
    ]
    window = math.prod(shape) / max(1, math.prod(sizes))
    return sizes[0] * window, sizes[1] * window


_FANS: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda inputs, outputs: inputs,
    "fan_out": lambda inputs, outputs: outputs,
    "fan_avg": lambda inputs, outputs: (inputs + outputs) / 2,
    "fan_geo_avg": lambda inputs, outputs: math.sqrt(inputs * outputs),
}
_DRAWN = ("normal", "truncated_normal", "uniform")


def variance_scaling(
    scale: float,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = np.float32,
) -> Initializer:
    """Numbers of mean 0 and variance `scale / fan`.

    Args:
        scale: a positive number.
        mode: which fan: "fan_in", "fan_out", "fan_avg" (their mean) or "fan_geo_avg" (their geometric mean).
        distribution: "normal", "uniform", or "truncated_normal", cut off at two deviations.
        in_axis, out_axis: the dims of inputs and outputs.
        batch_axis: dims that are neither these nor a window.

    Raises:
        ValueError: another mode or distribution.

    >>> import lamina as lm
    >>> lm.nn.initializers.variance_scaling(2.0, "fan_in", "normal")(lm.random.key(0), (8, 3)).shape
    (8, 3)
    """
    if mode not in _FANS:
        modes = '", "'.join(_FANS)
        raise ValueError(f'variance_scaling takes the mode "{modes}", got {mode!r}')
    if distribution not in _DRAWN:
        names = '", "'.join(_DRAWN)
        raise ValueError(f'variance_scaling draws from "{names}", got {distribution!r}')

    def draw(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        fan = _FANS[mode](*fans(shape, in_axis, out_axis, batch_axis))
        deviation = math.sqrt(scale / max(1, fan))
        if distribution == "uniform":
            drawn = random.uniform(key, tuple(shape), _floats(dtype), -1)
            return drawn * np.dtype(dtype).type(math.sqrt(3) * deviation)
        if distribution == "normal":
            return normal(deviation, dtype)(key, shape)
        return truncated_normal(deviation / _TRUNCATED, dtype)(key, shape)

    return draw


def _scaled(name: str, scale: float, mode: str, distribution: str, source: str) -> Callable[..., Initializer]:
    def initializer(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = np.float32) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    initializer.__name__ = initializer.__qualname__ = name
    initializer.__doc__ = f'`variance_scaling({scale}, "{mode}", "{distribution}")` ({source}).'
    return initializer


_GLOROT, _HE, _LECUN = "Glorot and Bengio, 2010", "He et al., 2015", "LeCun et al., 1998"
glorot_uniform = xavier_uniform = _scaled("glorot_uniform", 1.0, "fan_avg", "uniform", _GLOROT)
glorot_normal = xavier_normal = _scaled("glorot_normal", 1.0, "fan_avg", "truncated_normal", _GLOROT)
he_uniform = kaiming_uniform = _scaled("he_uniform", 2.0, "fan_in", "uniform", _HE)
he_normal = kaiming_normal = _scaled("he_normal", 2.0, "fan_in", "truncated_normal", _HE)
lecun_uniform = _scaled("lecun_uniform", 1.0, "fan_in", "uniform", _LECUN)
lecun_normal = _scaled("lecun_normal", 1.0, "fan_in", "truncated_normal", _LECUN)


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = np.float32) -> Initializer:
    """`scale` times orthonormal columns, or rows where there are less of these (Saxe et al., 2014); `column_axis` is that of
    columns, all other dims count as rows."""

    def draw(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        if len(shape) < 2:
            raise ShapeError(f"orthogonal needs weights of two and more dims, got shape {list(shape)}")
        columns = shape[column_axis]
        rows = math.prod(shape) // columns
        tall = (max(rows, columns), min(rows, columns))
        q, r = lnp.linalg.qr(random.normal(key, tall, _floats(dtype)))
        q = q * lnp.sign(lnp.diagonal(r))
        q = q.T if rows < columns else q
        q = lnp.reshape(q, (*(n for d, n in enumerate(shape) if d != column_axis % len(shape)), columns))
        return np.dtype(dtype).type(scale) * lnp.moveaxis(q, -1, column_axis)

    return draw


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = np.float32) -> Initializer:
    """An orthogonal matrix in the middle of a window of zeros, `[*window, inputs, outputs]` (Xiao et al., 2018).

    Raises:
        ShapeError: the window has none or more than three dims, or there are more inputs than outputs.
    """

    def draw(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        if len(shape) not in (3, 4, 5) or shape[-1] < shape[-2]:
            raise ShapeError(
                f"delta_orthogonal needs 1 to 3 dims of a window and no more inputs than outputs, got {list(shape)}"
            )
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        middle = tuple((n - 1) // 2 for n in shape[:-2])
        return lnp.zeros(tuple(shape), dtype).at[middle].set(matrix)

    return draw

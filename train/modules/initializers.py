"""Initial values of parameters: functions of a key, a shape and a dtype.

Weights have torch's layout, `[outputs, inputs, *window]`: the fan-in of one is `inputs * elements of a window`, its fan-out
`outputs * elements of a window`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api.dtypes import is_inexact_dtype
from ...api.errors import DTypeError, ShapeError
from ...library.nn import initializers as nn_initializers
from ...library.numpy import namespace as lnp
from ...library.random import namespace as random

Initializer = Callable[[Any, Sequence[int], Any], Any]

__all__ = [
    "Initializer", "constant", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal", "lecun_uniform",
    "normal", "ones", "orthogonal", "truncated_normal", "uniform", "variance_scaling", "zeros",
]  # fmt: skip


def _wide(dtype: Any) -> np.dtype[Any]:
    """The dtype that numbers are drawn in before they are rounded to `dtype`.

    Raises:
        DTypeError: it is no dtype of floats.
    """
    if not is_inexact_dtype(np.dtype(dtype)):
        raise DTypeError(f"parameters that are drawn are floats, got dtype {np.dtype(dtype)}")
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def constant(value: float) -> Initializer:
    """Every element is `value`."""
    return lambda key, shape, dtype=np.float32: np.full(tuple(shape), value, dtype)


zeros: Initializer = constant(0)
ones: Initializer = constant(1)


def normal(stddev: float = 1.0) -> Initializer:
    """Normal numbers of mean 0."""
    return lambda key, shape, dtype=np.float32: (random.normal(key, tuple(shape), _wide(dtype)) * stddev).astype(dtype)


def truncated_normal(stddev: float = 1.0, lower: float = -2.0, upper: float = 2.0) -> Initializer:
    """Normal numbers between `lower` and `upper`, times `stddev`, which is their deviation before they are cut off."""

    def draw(key: Any, shape: Sequence[int], dtype: Any = np.float32) -> Any:
        return (random.truncated_normal(key, lower, upper, tuple(shape), _wide(dtype)) * stddev).astype(dtype)

    return draw


def uniform(scale: float = 1.0) -> Initializer:
    """Uniform numbers from `-scale` to `scale`."""
    return lambda key, shape, dtype=np.float32: random.uniform(key, tuple(shape), _wide(dtype), -scale, scale).astype(dtype)


def variance_scaling(scale: float, mode: str, distribution: str) -> Initializer:
    """Numbers of mean 0 and variance `scale / fan`.

    Args:
        scale: a positive number.
        mode: which fan: "fan_in", "fan_out", "fan_avg" (their mean) or "fan_geo_avg" (their geometric mean).
        distribution: "normal", "uniform", or "truncated_normal", cut off at two deviations.

    Raises:
        ValueError: another mode or distribution.
    """
    drawn = nn_initializers.variance_scaling(scale, mode, distribution, in_axis=1, out_axis=0)
    return lambda key, shape, dtype=np.float32: drawn(key, tuple(shape), _wide(dtype)).astype(dtype)


def _scaled(name: str, scale: float, mode: str, distribution: str, text: str) -> Callable[[], Initializer]:
    def initializer() -> Initializer:
        return variance_scaling(scale, mode, distribution)

    initializer.__name__, initializer.__qualname__, initializer.__doc__ = name, name, text
    return initializer


_GLOROT, _HE = "Variance `2 / (fan_in + fan_out)` (Glorot and Bengio, 2010).", "for layers before a ReLU (He et al., 2015)."
glorot_uniform = _scaled("glorot_uniform", 1.0, "fan_avg", "uniform", _GLOROT)
glorot_normal = _scaled("glorot_normal", 1.0, "fan_avg", "normal", "`glorot_uniform` of normal numbers.")
he_uniform = _scaled("he_uniform", 2.0, "fan_in", "uniform", f"Variance `2 / fan_in`, {_HE}")
he_normal = _scaled("he_normal", 2.0, "fan_in", "normal", "`he_uniform` of normal numbers.")
lecun_uniform = _scaled("lecun_uniform", 1.0, "fan_in", "uniform", "Variance `1 / fan_in` (LeCun et al., 1998).")
lecun_normal = _scaled("lecun_normal", 1.0, "fan_in", "normal", "`lecun_uniform` of normal numbers.")


def orthogonal(scale: float = 1.0) -> Initializer:
    """`scale` times orthonormal rows, or columns where there are less of these (Saxe et al., 2014).

    All dims after the first count as columns.
    """

    def draw(key: Any, shape: Sequence[int], dtype: Any = np.float32) -> Any:
        if len(shape) < 2:
            raise ShapeError(f"orthogonal needs weights [outputs, inputs, ...], got shape {list(shape)}")
        rows, columns = shape[0], math.prod(shape[1:])
        drawn = random.orthogonal(key, max(rows, columns), (), _wide(dtype))[: min(rows, columns)]
        return (lnp.reshape(drawn if rows <= columns else drawn.T, tuple(shape)) * scale).astype(dtype)

    return draw


def torch_uniform(fan_in: int) -> Initializer:
    """torch's default for weights and biases of linear layers and convolutions: uniform within `1 / sqrt(fan_in)`."""
    return uniform(1 / math.sqrt(max(1, fan_in)))

"""Activations of `lamina.nn`: jax.nn's, with its names and its derivatives where formulas change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...api import Tracer, array_function, build, full_like_tracer, lift, lift_float
from ...api.errors import ShapeError
from ...api.functions import with_slopes
from ..numpy.axes_and_shapes import normalize_axis, slice_axis
from ..numpy.elementwise import compare, prepare, select
from ..numpy.logic import where
from ..numpy.math import logaddexp
from ..numpy.reduce import mean as mean_of
from ..numpy.reduce import var as var_of
from ..numpy.ufuncs import absolute, maximum, minimum, sqrt, tanh


def _positive(x: Tracer) -> Tracer:
    return compare("gt", x, full_like_tracer(x, 0))


@array_function
def relu6(x: Any) -> Any:
    """`min(max(x, 0), 6)`."""
    x = lift(x)
    # choices, whose slope is 0 where they are made: NaN stays
    return where(x <= 0, 0, where(x >= 6, 6, x))


@array_function
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """`x` where it is positive, else `alpha * expm1(x)`."""
    x = lift_float(x)
    positive = _positive(x)
    return where(positive, x, alpha * build("expm1", select(positive, full_like_tracer(x, 0), x)))


@array_function
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """`max(x, 0) + alpha * expm1(min(x, 0) / alpha)`."""
    x = lift_float(x)
    return maximum(x, 0) + alpha * build("expm1", lift(minimum(x, 0) / alpha))


@array_function
def selu(x: Any) -> Any:
    """`elu` that keeps mean 0 and variance 1."""
    return 1.0507009873554804934193349852946 * elu(lift_float(x), 1.6732632423543772848170429916717)


@array_function
def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """`x` where it is not negative, else `negative_slope * x`."""
    x = lift_float(x)
    return where(x >= 0, x, negative_slope * x)


@array_function
def hard_tanh(x: Any) -> Any:
    """`x` between -1 and 1, the nearer of both elsewhere."""
    x = lift(x)
    return where(x > 1, 1, x if x.dtype.kind == "u" else where(x < -1, -1, x))


@array_function
def hard_sigmoid(x: Any) -> Any:
    """`relu6(x + 3) / 6`."""
    return relu6(lift_float(x) + 3.0) / 6.0


@array_function
def hard_silu(x: Any) -> Any:
    """`x * hard_sigmoid(x)`."""
    x = lift_float(x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@array_function
def mish(x: Any) -> Any:
    """`x * tanh(softplus(x))`."""
    x = lift_float(x)
    far = compare("gt", absolute(x), full_like_tracer(x, 800))  # from there on `max(x, 0)` to the last bit, also at infinities
    near = select(far, full_like_tracer(x, 0), x)
    return select(far, select(_positive(x), x, full_like_tracer(x, 0)), near * tanh(logaddexp(near, 0.0)))


@array_function
def soft_sign(x: Any) -> Any:
    """`x / (1 + |x|)`."""
    return _soft_sign(lift_float(x))


def _soft_sign_slope(y: Tracer, x: Tracer) -> Any:
    inverse = 1.0 / (absolute(x) + 1.0)
    return inverse * inverse


_soft_sign = with_slopes(lambda x: x / (absolute(x) + 1.0), _soft_sign_slope)


@array_function
def squareplus(x: Any, b: Any = 4) -> Any:
    """`(x + sqrt(x * x + b)) / 2`."""
    x, b = prepare(np.arctan2, (lift_float(x), b))[0]
    return _squareplus(x, b)


def _root(x: Tracer, b: Tracer) -> Tracer:
    square = x * x
    fits = compare("lt", square, full_like_tracer(x, math.inf))  # elsewhere `b` is too small to be seen
    return select(fits, build("sqrt", select(fits, square, full_like_tracer(x, 1)) + b), absolute(x))


def _half_sum(x: Tracer, b: Tracer) -> Tracer:
    root, negative = _root(x, b), compare("lt", x, full_like_tracer(x, 0))  # where the sum cancels
    return select(negative, 0.5 * b / (root - select(negative, x, full_like_tracer(x, -1))), 0.5 * (x + root))


def _finite(x: Tracer) -> tuple[Tracer, Tracer]:
    """Where a number is infinite, and it, 0 there."""
    endless = compare("eq", absolute(x), full_like_tracer(x, math.inf))
    return endless, select(endless, full_like_tracer(x, 0), x)


def _ramp_value(x: Tracer, b: Tracer) -> Tracer:
    """`0.5 + 0.5 x / root`."""
    endless, z = _finite(x)
    end = select(_positive(x), full_like_tracer(x, 1), full_like_tracer(x, 0))
    return select(endless, end, _half_sum(z, b) / _root(z, b))


_ramp = with_slopes(
    _ramp_value,
    lambda y, x, b: 0.5 * b / (x * x + b) / _root(x, b),
    lambda y, x, b: -0.25 * _finite(x)[1] / (x * x + b) / _root(x, b),
)
_squareplus = with_slopes(_half_sum, lambda y, x, b: _ramp(x, b), lambda y, x, b: 0.25 / _root(x, b))


@array_function
def log_sigmoid(x: Any) -> Any:
    """`log(sigmoid(x))`, accurate where the sigmoid is near 0 or 1."""
    return -logaddexp(-lift_float(x), 0.0)


@array_function
def log1mexp(x: Any) -> Any:
    """`log(1 - exp(-x))` of positive numbers, accurate where they are near 0 or large."""
    x = lift_float(x)
    near = compare("lt", x, full_like_tracer(x, math.log(2)))
    one = full_like_tracer(x, 1)
    return select(
        near, build("log", -build("expm1", -select(near, x, one))), build("log1p", -build("exp", -select(near, one, x)))
    )


@array_function
def sparse_plus(x: Any) -> Any:
    """0 below -1, `(x + 1)**2 / 4` up to 1, `x` above."""
    x = lift_float(x)
    return where(x <= -1, 0.0, where(x >= 1, x, (x + 1) ** 2 / 4))


@array_function
def sparse_sigmoid(x: Any) -> Any:
    """`(x + 1) / 2` within [0, 1]."""
    return 0.5 * (minimum(maximum(lift_float(x), -1.0), 1.0) + 1.0)


@array_function
def glu(x: Any, axis: int = -1) -> Any:
    """The first half along an axis times the sigmoid of the second.

    Raises:
        ShapeError: the size is odd.
    """
    x = lift_float(x)
    dim = normalize_axis(axis, x.ndim)
    n = x.shape[dim]
    if n % 2:
        raise ShapeError(f"glu needs an even size along axis {axis}, got shape {list(x.shape)}")
    return slice_axis(x, dim, 0, n // 2) * build("sigmoid", slice_axis(x, dim, n // 2, n))


@array_function
def standardize(x: Any, axis: Any = -1, mean: Any = None, variance: Any = None, epsilon: Any = 1e-5, where: Any = None) -> Any:
    """`(x - mean) / sqrt(variance + epsilon)`, with the mean and the variance along `axis` where they are not given."""
    x = lift_float(x)
    if mean is None:
        mean = mean_of(x, axis, keepdims=True, where=where)
    if variance is None:
        variance = var_of(x, axis, keepdims=True, where=where)
    return (x - mean) / sqrt(lift(variance) + epsilon)


@array_function
def identity(x: Any) -> Any:
    """`x`."""
    return lift(x)


@array_function
def relu(x: Any) -> Any:
    """`max(x, 0)`; NaN stays NaN, the derivative at 0 is 0."""
    x = lift(x)
    return build("relu", x, weak=x.weak)


@array_function
def sigmoid(x: Any) -> Any:
    """`1 / (1 + exp(-x))`."""
    return build("sigmoid", lift_float(x))


@array_function
def erf(x: Any) -> Any:
    """The error function, `2 / sqrt(pi)` times the integral of `exp(-t * t)` from 0 to `x`.

    >>> import numpy as np, lamina as lm
    >>> lm.nn.erf(np.float64(0.5)).round(6)
    np.float64(0.5205)
    """
    return build("erf", lift_float(x))


@array_function
def silu(x: Any) -> Any:
    """`x * sigmoid(x)`."""
    x = lift_float(x)
    return x * build("sigmoid", x)


swish = silu


@array_function
def softplus(x: Any) -> Any:
    """`log(1 + exp(x))`, without overflow."""
    return logaddexp(lift_float(x), 0.0)


@array_function
def gelu(x: Any, approximate: bool = True) -> Any:
    """`x * Phi(x)`; approximated through tanh, or exactly through erf."""
    return build("gelu", lift_float(x), approximate="tanh" if approximate else "none")

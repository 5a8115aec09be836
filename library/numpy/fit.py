"""lamina.numpy: polynomials that fit points, and division of polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api import Tracer, array_function, lift, lift_as, token
from ...api.dtypes import FLOAT64, result_type
from ...api.errors import ShapeError
from ..linalg.factors import inv, lstsq
from .at import At
from .axes_and_shapes import reshape_tracer, static_int
from .contract import matmul, outer
from .create import zeros
from .join import atleast_1d
from .poly import trimmed, vander
from .reduce import sum
from .shape import matrix_transpose
from .ufuncs import sqrt


def _floats(*xs: Any) -> list[Tracer]:
    dtype = result_type([token(x) for x in xs])
    dtype = dtype if dtype.kind in "fc" else FLOAT64
    return [lift_as(x, dtype) for x in xs]


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> Any:
    """`np.polydiv`: quotient and remainder of polynomials; leading zeros of the remainder stay, as in jax.

    Args:
        trim_leading_zeros: leave those out, which needs known values.

    Raises:
        ShapeError: an operand is no vector, or has no elements.
    """
    quotient, rest = _divided(u, v)
    return quotient, trimmed(rest) if trim_leading_zeros else rest


@array_function
def _divided(u: Any, v: Any) -> tuple[Any, Any]:
    rest, divisor = (lift(atleast_1d(x)) for x in _floats(lift(u), lift(v)))
    if rest.ndim != 1 or divisor.ndim != 1 or not rest.size or not divisor.size:
        raise ShapeError(f"polydiv needs vectors with elements, got shapes {list(rest.shape)} and {list(divisor.shape)}")
    steps, n = rest.size - divisor.size + 1, divisor.size
    quotient = lift(zeros((max(steps, 1),), rest.dtype))
    for k in range(max(steps, 0)):
        factor = rest[k] / divisor[0]
        quotient = At(quotient)[k].set(factor)
        rest = lift(At(rest)[k : k + n].add(-(factor * divisor)))
    return quotient, rest


@array_function
def polyfit(x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """`np.polyfit`: the polynomial of a degree with the least sum of squared distances from points.

    Args:
        x: `[m]`, where the points are.
        y: `[m]` or `[m, k]`, their values.
        deg: the degree.
        rcond: singular values relative to the greatest one from which on directions count; by default `m` units in the last
            place.
        full: return also residuals, rank, singular values and `rcond`.
        w: `[m]`, factors of the distances.
        cov: return also the covariance of the coefficients; "unscaled" takes weights as deviations.

    Raises:
        ShapeError: sizes differ, or there are no points, or too few for a covariance.
    """
    points, values = _floats(lift(x), lift(y))
    degree = static_int(deg, "deg")
    if degree < 0 or points.ndim != 1 or not points.size or values.ndim not in (1, 2) or values.shape[0] != points.size:
        shown = f"{list(points.shape)} and {list(values.shape)}"
        raise ShapeError(f"polyfit needs a degree of at least 0, [m] points and [m] or [m, k] values, got {degree}, {shown}")
    least = rcond if rcond is not None else points.size * float(np.finfo(points.dtype).eps)
    left, right = lift(vander(points, degree + 1)), values
    if w is not None:
        weights = lift_as(w, points.dtype)
        if weights.shape != points.shape:
            raise ShapeError(f"polyfit needs one weight for each of {points.size} points, got shape {list(weights.shape)}")
        left = left * reshape_tracer(weights, (points.size, 1))
        right = right * (weights if values.ndim == 1 else reshape_tracer(weights, (points.size, 1)))
    scale = lift(sqrt(sum(left * left, 0)))
    left = left / scale
    c, residuals, rank, s = lstsq(left, right, least)
    c = c / scale if values.ndim == 1 else c / reshape_tracer(scale, (degree + 1, 1))
    if full:
        return c, residuals, rank, s, least
    if not cov:
        return c
    spread = inv(matmul(matrix_transpose(left), left)) / outer(scale, scale)
    if cov == "unscaled":
        return c, spread
    if points.size <= degree + 1:
        raise ShapeError(f"polyfit needs more than {degree + 1} points for a covariance, got {points.size}")
    factor = residuals / (points.size - degree - 1)
    return (c, spread * factor) if values.ndim == 1 else (c, spread[:, :, None] * factor)

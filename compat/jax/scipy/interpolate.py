"""`lamina.scipy.interpolate`: values between points of a grid, and piecewise cubic polynomials through points of a line."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....api.errors import ShapeError
from ....library.numpy import namespace as lnp
from ....names import public
from ..lax.linalg import tridiagonal_solve

__all__ = list(public("scipy.interpolate"))


def _cells(points: Any, x: Any) -> Any:
    """The index of the point before `x`; of the first or the last cell where `x` is outside."""
    return lnp.clip(lnp.searchsorted(points, x, side="right") - 1, 0, points.shape[0] - 2)


class RegularGridInterpolator:
    """`scipy.interpolate.RegularGridInterpolator`: a function that is known at the points of a grid.

    Args:
        points: for each of the first dims of `values` its coordinates, ascending, two or more.
        values: [n1, ..., nk, ...], real or complex.
        method: "linear" or "nearest".
        bounds_error: must be False, as in jax: whether points are outside is not known while tracing.
        fill_value: the value of points outside; None extrapolates.

    Raises:
        ShapeError: sizes that do not go together, or another method.
        ValueError: `bounds_error`.

    >>> import numpy as np, lamina as lm
    >>> f = lm.scipy.interpolate.RegularGridInterpolator((np.arange(3.0), np.arange(2.0)), np.arange(6.0).reshape(3, 2))
    >>> f(np.array([[0.5, 0.5], [2.0, 1.0], [9.0, 0.0]]))
    array([1.5, 5. , nan])
    """

    def __init__(
        self, points: Sequence[Any], values: Any, method: str = "linear", bounds_error: bool = False, fill_value: Any = np.nan
    ):
        if method not in ("linear", "nearest"):
            raise ShapeError(f"RegularGridInterpolator has the methods linear and nearest, got {method!r}")
        if bounds_error:
            raise ValueError("RegularGridInterpolator(bounds_error=True) cannot raise while tracing: give fill_value")
        values = lnp.asarray(values)
        self.values = values if lnp.issubdtype(values.dtype, lnp.inexact) else values.astype(float)
        self.grid = tuple(lnp.asarray(p) for p in points)
        self.method, self.fill_value = method, fill_value
        sizes = [p.shape for p in self.grid]
        wanted = [(n,) for n in self.values.shape[: len(self.grid)]]
        if sizes != wanted or any(s[0] < 2 for s in sizes):
            raise ShapeError(f"a grid of {sizes} points does not fit values of shape {list(self.values.shape)}")

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The values at points, [..., k], or a tuple of k arrays of coordinates that broadcast."""
        method = self.method if method is None else method
        if method not in ("linear", "nearest"):
            raise ShapeError(f"RegularGridInterpolator has the methods linear and nearest, got {method!r}")
        xi = lnp.stack(lnp.broadcast_arrays(*xi), -1) if isinstance(xi, tuple) else lnp.asarray(xi)
        k = len(self.grid)
        if xi.shape[-1:] != (k,):
            if k != 1:
                raise ShapeError(f"points need {k} coordinates, the last dim, got shape {list(xi.shape)}")
            xi = xi[..., None]
        xs = [xi[..., d] for d in range(k)]
        cells = [_cells(g, x) for g, x in zip(self.grid, xs, strict=True)]
        parts = [(x - g[i]) / (g[i + 1] - g[i]) for g, x, i in zip(self.grid, xs, cells, strict=True)]
        rest = (1,) * (self.values.ndim - k)
        if method == "nearest":
            found = self.values[tuple(lnp.where(t <= 0.5, i, i + 1) for t, i in zip(parts, cells, strict=True))]
        else:
            found: Any = 0.0
            for corner in itertools.product((0, 1), repeat=k):
                weight: Any = 1.0
                for t, side in zip(parts, corner, strict=True):
                    weight = weight * (t if side else 1.0 - t)
                at = self.values[tuple(i + side for i, side in zip(cells, corner, strict=True))]
                found = found + at * lnp.reshape(weight, (*weight.shape, *rest))
        if self.fill_value is None:
            return found
        outside: Any = False
        for g, x in zip(self.grid, xs, strict=True):
            outside = outside | (x < g[0]) | (x > g[-1])
        return lnp.where(lnp.reshape(outside, (*outside.shape, *rest)), self.fill_value, found)


def interpn(
    points: Sequence[Any], values: Any, xi: Any, method: str = "linear", bounds_error: bool = False, fill_value: Any = np.nan
) -> Any:
    """`scipy.interpolate.interpn`: `RegularGridInterpolator(points, values, ...)(xi)`."""
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


class CubicHermiteSpline:
    """`scipy.interpolate.CubicHermiteSpline`: the cubic polynomials between points with these values and slopes there.

    Args:
        x: [n], ascending, two or more.
        y, dydx: [n, ...].
        extrapolate: whether the outer polynomials go on; else NaN outside.

    `c[k]` are the coefficients of `(t - x[i])**(3 - k)`. The call takes the order of a derivative, too.

    >>> import numpy as np, lamina as lm
    >>> lm.scipy.interpolate.CubicHermiteSpline(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([0.0, 3.0]))(0.5)
    array(0.125)
    """

    def __init__(self, x: Any, y: Any, dydx: Any, extrapolate: bool = True):
        self.x, y, slope = _points(x, y, dydx)
        self.extrapolate = extrapolate
        h = _across(self.x[1:] - self.x[:-1], y)
        chord = (y[1:] - y[:-1]) / h
        bend = (slope[:-1] + slope[1:] - 2 * chord) / h
        self.c = lnp.stack([bend / h, (chord - slope[:-1]) / h - bend, slope[:-1], y[:-1]])

    def __call__(self, x: Any, nu: int = 0) -> Any:
        """The values, or derivatives of order `nu`, at points of any shape; [..., the trailing dims of `y`]."""
        at = lnp.asarray(x)
        i = _cells(self.x, at)
        c = self.c[:, i]
        t = _across(at - self.x[i], c[0])
        total = lnp.zeros_like(c[0])
        for k in range(4 - nu):
            factor = float(np.prod(np.arange(3 - k, 3 - k - nu, -1)))
            total = total * t + factor * c[k]
        if self.extrapolate:
            return total
        outside = (at < self.x[0]) | (at > self.x[-1])
        return lnp.where(_across(outside, total), np.nan, total)

    def derivative(self, nu: int = 1) -> Callable[[Any], Any]:
        """The function of the derivatives of order `nu`."""
        return lambda x: self(x, nu)


def _points(x: Any, *ys: Any) -> list[Any]:
    """Points and values as floats of one dtype."""
    arrays = [lnp.asarray(v) for v in (x, *ys)]
    dtype = lnp.result_type(*arrays)
    arrays = [v.astype(dtype if lnp.issubdtype(dtype, lnp.inexact) else float) for v in arrays]
    n = arrays[0].shape[0] if arrays[0].ndim == 1 else 0
    if n < 2 or any(v.ndim < 1 or v.shape[0] != n for v in arrays[1:]):
        shown = ", ".join(str(list(v.shape)) for v in arrays)
        raise ShapeError(f"a spline needs two points or more, and as many values, the first dim, got shapes {shown}")
    return arrays


def _across(v: Any, like: Any) -> Any:
    """A value for each of the leading dims, with ones for the others."""
    return lnp.reshape(v, (*v.shape, *(1,) * (like.ndim - v.ndim)))


class CubicSpline(CubicHermiteSpline):
    """`scipy.interpolate.CubicSpline`: cubic polynomials with two continuous derivatives, from a tridiagonal system.

    Args:
        x: [n], ascending.
        y: [n, ...].
        bc_type: "not-a-knot" (three points or more), "natural" or "clamped": the condition at the ends.
        extrapolate: whether the outer polynomials go on; else NaN outside.

    >>> import numpy as np, lamina as lm
    >>> x = np.arange(5.0)
    >>> lm.scipy.interpolate.CubicSpline(x, x**3)(np.array([0.5, 3.5]))
    array([ 0.125, 42.875])
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: str = "not-a-knot", extrapolate: bool = True):
        points, values = _points(x, lnp.moveaxis(lnp.asarray(y), axis, 0))
        super().__init__(points, values, _smooth_slopes(points, values, bc_type), extrapolate)


def _smooth_slopes(x: Any, y: Any, ends: str) -> Any:
    """The slopes at points with which second derivatives agree: de Boor, A Practical Guide to Splines, 1978, chapter 4."""
    if ends not in ("not-a-knot", "natural", "clamped"):
        raise ShapeError(f"CubicSpline has the ends not-a-knot, natural and clamped, got {ends!r}")
    n, shape = x.shape[0], y.shape
    y = y.reshape(n, -1)
    h = x[1:] - x[:-1]
    chord = (y[1:] - y[:-1]) / h[:, None]
    if n == 2 and ends != "clamped":
        return lnp.concatenate([chord, chord]).reshape(shape)
    if n == 3 and ends == "not-a-knot":  # one parabola
        bend = (chord[1] - chord[0]) / (h[0] + h[1])
        slopes = [chord[0] - bend * h[0], chord[0] + bend * h[0], chord[1] + bend * h[1]]
        return lnp.stack(slopes).reshape(shape)
    inner = 3 * (h[1:, None] * chord[:-1] + h[:-1, None] * chord[1:])
    first, last = _end(h, chord, ends), _end(h[::-1], chord[::-1], ends)
    diagonal = lnp.concatenate([first[0][None], 2 * (h[:-1] + h[1:]), last[0][None]])
    above = lnp.concatenate([first[1][None], h[:-1]])
    below = lnp.concatenate([h[1:], last[1][None]])
    right = lnp.concatenate([first[2][None], inner, last[2][None]])
    zero = lnp.zeros(1, x.dtype)
    return tridiagonal_solve(lnp.concatenate([zero, below]), diagonal, lnp.concatenate([above, zero]), right).reshape(shape)


def _end(h: Any, chord: Any, ends: str) -> tuple[Any, Any, Any]:
    """The equation at an end: the factor of its slope, that of the next one, and the right side."""
    if ends == "clamped":
        return lnp.ones_like(h[0]), lnp.zeros_like(h[0]), lnp.zeros_like(chord[0])
    if ends == "natural":
        return 2 * h[0], h[0], 3 * h[0] * chord[0]
    both = h[0] + h[1]
    return h[1], both, ((h[0] + 2 * both) * h[1] * chord[0] + h[0] ** 2 * chord[1]) / both


class PchipInterpolator(CubicHermiteSpline):
    """`scipy.interpolate.PchipInterpolator`: cubic polynomials that are monotone where the values are.

    Slopes are weighted harmonic means of those of the chords (Fritsch and Butland, 1984).

    >>> import numpy as np, lamina as lm
    >>> lm.scipy.interpolate.PchipInterpolator(np.arange(4.0), np.array([0.0, 0.0, 1.0, 1.0]))(np.array([0.5, 1.5]))
    array([0. , 0.5])
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: bool = True):
        points, values = _points(x, lnp.moveaxis(lnp.asarray(y), axis, 0))
        super().__init__(points, values, _monotone_slopes(points, values), extrapolate)


def _monotone_slopes(x: Any, y: Any) -> Any:
    h = _across(x[1:] - x[:-1], y)
    chord = (y[1:] - y[:-1]) / h
    if x.shape[0] == 2:
        return lnp.concatenate([chord, chord])
    left, right = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    agree = chord[:-1] * chord[1:] > 0
    a, b = (lnp.where(agree, c, 1.0) for c in (chord[:-1], chord[1:]))
    inner = lnp.where(agree, (left + right) / (left / a + right / b), 0.0)

    def end(h: Any, chord: Any) -> Any:
        slope = ((2 * h[0] + h[1]) * chord[0] - h[0] * chord[1]) / (h[0] + h[1])
        slope = lnp.where((lnp.sign(chord[0]) != lnp.sign(chord[1])) & (abs(slope) > 3 * abs(chord[0])), 3 * chord[0], slope)
        return lnp.where(lnp.sign(slope) == lnp.sign(chord[0]), slope, 0.0)[None]

    return lnp.concatenate([end(h, chord), inner, end(h[::-1], chord[::-1])])

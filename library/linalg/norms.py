"""lamina.linalg: norms, products, powers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...api import Tracer, array_function, broadcast_tracer, lift, lift_as
from ...api.dtypes import inexact
from ...api.errors import ShapeError
from ..numpy.axes_and_shapes import normalize_axes, normalize_axis, static_int, transpose_tracer
from ..numpy.contract import matmul
from ..numpy.contract import outer as outer_of
from ..numpy.create import diagonal as diagonal_of
from ..numpy.create import eye
from ..numpy.math import power
from ..numpy.reduce import count_nonzero
from ..numpy.reduce import max as max_of
from ..numpy.reduce import min as min_of
from ..numpy.reduce import sum as sum_of
from ..numpy.shape import expand_dims
from ..numpy.ufuncs import absolute, sqrt
from .factors import inv, matrices, svd


def _float(x: Any) -> Tracer:
    """Numbers of the same magnitudes, as floats."""
    x = lift(x)
    if x.dtype.kind == "c":
        return lift(absolute(x))
    return x if x.dtype.kind == "f" else lift_as(x, inexact(x.dtype))


@array_function
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """`np.linalg.vector_norm`: of the elements along axes, `sum(|x|**ord)**(1/ord)`; `ord` may be infinite, or 0 (a count)."""
    x = _float(x)
    axes = normalize_axes(axis, x.ndim)
    if ord == 2:
        return sqrt(sum_of(x * x, axes, keepdims=keepdims))
    size = absolute(x)
    if ord == math.inf:
        return max_of(size, axes, keepdims=keepdims)
    if ord == -math.inf:
        return min_of(size, axes, keepdims=keepdims)
    if ord == 0:
        return lift_as(count_nonzero(x, axes, keepdims=keepdims), x.dtype)
    if ord == 1:
        return sum_of(size, axes, keepdims=keepdims)
    return power(sum_of(power(size, ord), axes, keepdims=keepdims), 1 / ord)


@array_function
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """`np.linalg.matrix_norm` of the last two dims: "fro", 1, -1, inf or -inf; "nuc", 2 or -2 of the singular values.

    Raises:
        ShapeError: fewer than two dims, or another order.
    """
    x = lift(x)
    if x.ndim < 2:
        raise ShapeError(f"matrix_norm needs two dims, got shape {list(x.shape)}")
    return _matrix_norm(x, (x.ndim - 2, x.ndim - 1), ord, keepdims)


def _matrix_norm(x: Tracer, axes: tuple[int, int], ord: Any, keepdims: bool) -> Any:
    if ord in ("fro", None):
        return vector_norm(x, axis=axes, keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        values = svd(transpose_tracer(x, [*(d for d in range(x.ndim) if d not in axes), *axes]), False, False)
        y = (sum_of if ord == "nuc" else max_of if ord == 2 else min_of)(values, -1)
        return expand_dims(y, axes) if keepdims else y
    if ord not in (1, -1, math.inf, -math.inf):
        raise ShapeError(f"there is no norm {ord!r} of a matrix: use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    over, along = axes if abs(ord) == 1 else axes[::-1]
    sums = sum_of(absolute(_float(x)), over, keepdims=True)
    y = (max_of if ord > 0 else min_of)(sums, along, keepdims=True)
    return y if keepdims else y.reshape([n for k, n in enumerate(x.shape) if k not in axes])


@array_function
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """`np.linalg.norm`: of all elements, of vectors along an axis, or of matrices along two.

    Raises:
        ShapeError: an order without axes for other than one or two dims, or one that there is not.
    """
    x = lift(x)
    if axis is None:
        if ord is None:
            return vector_norm(x, keepdims=keepdims)
        if x.ndim not in (1, 2):
            raise ShapeError(f"norm with ord={ord!r} needs one or two dims, or axis=, got shape {list(x.shape)}")
        axis = tuple(range(x.ndim))
    axes = [normalize_axis(d, x.ndim) for d in (axis if isinstance(axis, tuple | list) else (axis,))]
    if len(axes) == 1:
        return vector_norm(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ShapeError(f"norm needs one axis or two different ones, got axis={axis}")
    return _matrix_norm(x, (axes[0], axes[1]), ord, keepdims)


@array_function
def cond(x: Any, p: Any = None) -> Any:
    """`np.linalg.cond`: the norm of a matrix times that of its inverse; by default the ratio of extreme singular values."""
    a = matrices(x, "cond")
    if p in (None, 2, -2):
        s = lift(svd(a, False, False))
        extremes = lift(max_of(s, -1)), lift(min_of(s, -1))
        return extremes[0] / extremes[1] if p != -2 else extremes[1] / extremes[0]
    a = matrices(a, "cond", square=True)
    return norm(a, p, (-2, -1)) * norm(inv(a), p, (-2, -1))


@array_function
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """`np.linalg.diagonal`: of the last two dims."""
    return diagonal_of(x, offset, -2, -1)


@array_function
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """`np.linalg.trace`: the sum of a diagonal of the last two dims."""
    return sum_of(diagonal(x, offset=offset), -1, dtype)


@array_function
def outer(x1: Any, x2: Any, /) -> Any:
    """`np.linalg.outer` of two vectors."""
    x, y = lift(x1), lift(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(f"outer needs two vectors, got shapes {list(x.shape)} and {list(y.shape)}")
    return outer_of(x, y)


@array_function
def matrix_power(a: Any, n: int) -> Any:
    """`np.linalg.matrix_power`, by squaring: about `2 * log2(n)` products of matrices; for n < 0 of the inverse.

    Raises:
        ShapeError: no square matrices.
    """
    x, n = lift(a), static_int(n, "n")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"matrix_power needs square matrices, got shape {list(x.shape)}")
    if n < 0:
        return matrix_power(inv(x), -n)
    if n == 0:
        return broadcast_tracer(lift(eye(x.shape[-1], dtype=x.dtype)), x.shape)
    result: Any = None
    while True:
        if n & 1:
            result = x if result is None else matmul(result, x)
        n >>= 1
        if not n:
            return result
        x = matmul(x, x)


@array_function
def multi_dot(arrays: Any) -> Any:
    """`np.linalg.multi_dot`: the product of matrices in the order that takes the fewest flops; the ends may be vectors."""
    xs = [lift(x) for x in arrays]
    if len(xs) < 2:
        raise ShapeError(f"multi_dot needs two arrays or more, got {len(xs)}")
    row, column = xs[0].ndim == 1, xs[-1].ndim == 1
    xs[0] = expand_dims(xs[0], 0) if row else xs[0]
    xs[-1] = expand_dims(xs[-1], 1) if column else xs[-1]
    if any(x.ndim != 2 for x in xs):
        raise ShapeError(f"multi_dot needs matrices between its ends, got shapes {', '.join(str(list(x.shape)) for x in xs)}")
    y = _product(xs, _splits([x.shape[0] for x in xs] + [xs[-1].shape[1]]), 0, len(xs) - 1)
    return y.reshape([n for n, gone in zip(y.shape, (row, column), strict=True) if not gone])


def _splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to part each run of matrices: the classic dynamic program over chains."""
    count = len(sizes) - 1
    cost = {(k, k): 0 for k in range(count)}
    best: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            best[i, j] = min(options, key=lambda k: options[k])
            cost[i, j] = options[best[i, j]]
    return best


def _product(xs: Sequence[Tracer], splits: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return xs[i]
    k = splits[i, j]
    return matmul(_product(xs, splits, i, k), _product(xs, splits, k + 1, j))

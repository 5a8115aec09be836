"""Resizing of images for `lamina.nn`: `resize` as jax.image has it, `interpolate` as torch has it.

Each dim is resized by a product with a matrix of weights, which is made when the program is traced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api import Tracer, array_function, arrays, lift, lift_float
from ...api.errors import ShapeError, SizeError
from ...api.sizes import Size
from ..numpy.axes_and_shapes import nonnegative, static_shape
from ..numpy.index import take
from .pool import adaptive_ranges, mean_along, product_along
from .windows import Layout

Array = np.ndarray[Any, Any]

# --------------------------------------------------------------------------------------------------------------------
# Kernels, by the distance from the point that is read; `xp` is the namespace of arrays


def _triangle(x: Any, xp: Any = np) -> Any:
    return xp.maximum(0, 1 - xp.abs(x))


def _cubic(a: float) -> Callable[..., Any]:
    """Keys, "Cubic convolution interpolation for digital image processing", 1981."""

    def kernel(x: Any, xp: Any = np) -> Any:
        x = xp.abs(x)
        near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return xp.where(x <= 1, near, xp.where(x < 2, far, 0))

    return kernel


def _lanczos(radius: int) -> Callable[..., Any]:
    def kernel(x: Any, xp: Any = np) -> Any:
        return xp.where(xp.abs(x) < radius, xp.sinc(x) * xp.sinc(x / radius), 0)

    return kernel


KERNELS = {"linear": _triangle, "cubic": _cubic(-0.5), "lanczos3": _lanczos(3), "lanczos5": _lanczos(5)}
SAME = {"bilinear": "linear", "trilinear": "linear", "triangle": "linear", "bicubic": "cubic", "tricubic": "cubic"}


def _sampled(kernel: Callable[..., Any], size: Any, points: Any, wide: Any, xp: Any) -> Any:
    """`[i, k]`: the weight of element i for point k, by a kernel that is `wide` times as wide; they sum up to 1."""
    weights = kernel((points - xp.arange(size)[:, None]) / wide, xp)
    total = weights.sum(0)
    some = xp.abs(total) > 1000 * np.finfo(np.float32).eps
    return xp.where(some, weights / xp.where(some, total, 1.0), 0.0)


def _namespace(*sizes: Any) -> Any:
    """NumPy, or our functions where a size is known to a call alone: then the weights are computed when the program runs."""
    return arrays if any(isinstance(n, Size) for n in sizes) else np


def _chosen(methods: Sequence[str], method: str, what: str) -> str:
    if method not in methods:
        raise ShapeError(f"{what} must be one of {', '.join(methods)}, got {method!r}")
    return method


# --------------------------------------------------------------------------------------------------------------------
# jax.image


@array_function
def resize(image: Any, shape: Any, method: str = "linear", antialias: bool = True) -> Any:
    """An array of another shape, of the same rank, as if its elements were samples of a function.

    Args:
        image: numbers of any shape; integers become float64 unless the method is "nearest".
        shape: the sizes of the result; a dim whose size stays is left alone.
        method: "nearest", "linear" (also "bilinear", "trilinear", "triangle"), "cubic" ("bicubic", "tricubic"; Keys' with
            a = -0.5), "lanczos3" or "lanczos5".
        antialias: whether the kernel is made wider where there are fewer elements than before.

    Raises:
        ShapeError: the rank differs, a size is negative, a dim without elements should get some, or the method is unknown.

    Cost: a product with an `n x m` matrix for each dim that changes; "nearest" moves elements only.

    >>> import numpy as np, lamina as lm
    >>> lm.nn.resize(np.array([0.0, 4.0]), (4,))
    array([0., 1., 3., 4.])
    """
    sizes = nonnegative(static_shape(shape))
    method = _chosen(("nearest", *KERNELS), SAME.get(method, method), "method")
    x = lift(image) if method == "nearest" else lift_float(image)
    _fitting(x, sizes)
    for d, (n, m) in enumerate(zip(x.shape, sizes, strict=True)):
        xp = _namespace(n, m)
        if n is m or (xp is np and n == m):
            continue
        points = (xp.arange(m) + 0.5) * n / m
        if method == "nearest":
            x = _at(x, d, xp.floor(points))
        else:
            points = points - 0.5
            narrows = antialias and (xp is not np or m > 0)
            weights = _sampled(KERNELS[method], n, points, xp.maximum(1.0, n / m) if narrows else 1.0, xp)
            x = product_along(x, d, xp.where((points >= -0.5) & (points <= n - 0.5), weights, 0.0))
    return x


def _fitting(x: Tracer, sizes: tuple[int, ...]) -> None:
    if len(sizes) != x.ndim:
        raise ShapeError(f"resize needs a shape of {x.ndim} sizes, for an array of shape {list(x.shape)}, got {list(sizes)}")
    if any(_namespace(n, m) is np and n == 0 and m > 0 for n, m in zip(x.shape, sizes, strict=True)):
        raise ShapeError(f"a dim without elements cannot get some: {list(x.shape)} to {list(sizes)}")


def _at(x: Tracer, dim: int, points: Any) -> Tracer:
    xp = np if isinstance(points, np.ndarray) else arrays
    return lift(take(x, xp.clip(points, 0, x.shape[dim] - 1).astype(np.int64), dim))


# --------------------------------------------------------------------------------------------------------------------
# torch

_MODES = ("nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "area")
_RANKS = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}


@array_function
def interpolate(
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    layout: str | None = None,
) -> Any:
    """Images of another size, as torch.nn.functional.interpolate has them.

    Args:
        x: floats `[batch, features, spatial ...]` of one to three spatial dims, or as `layout` says; integers become float64.
        size: of the result, a number or one for each spatial dim.
        scale_factor: instead of a size, how many times as large.
        mode: "nearest", "nearest-exact", "linear" (one spatial dim), "bilinear" (two), "trilinear" (three), "bicubic" (two;
            Keys' with a = -0.75), or "area" (means).
        align_corners: of the linear and cubic modes, whether the first and last elements stay where they are, rather than the
            outer edges of the image.
        layout: "NCHW", "NHWC" and so on; by default features come first.

    Raises:
        ShapeError: not one of size and scale_factor is given, or the mode does not fit.

    >>> import numpy as np, lamina as lm
    >>> lm.nn.interpolate(np.array([[[0.0, 3.0]]]), size=4, mode="linear", align_corners=True)
    array([[[0., 1., 2., 3.]]])
    """
    x = lift_float(x)
    if x.ndim not in (3, 4, 5):
        raise ShapeError(f"interpolate needs images of 3 to 5 dims, got shape {list(x.shape)}")
    places = Layout.of(layout, x.ndim - 2)
    _chosen(_MODES, mode, "mode")
    if _RANKS.get(mode, places.rank) != places.rank:
        raise ShapeError(f"mode {mode!r} needs images of {_RANKS[mode] + 2} dims, got shape {list(x.shape)}")
    if align_corners and mode not in _RANKS:
        raise ShapeError(f"align_corners is of the modes {', '.join(_RANKS)}, got {mode!r}")
    given = [x.shape[d] for d in places.spatial]
    sizes, steps = _sizes(places, given, size, scale_factor)
    if any(not isinstance(n, Size) and n == 0 for n in given):
        raise ShapeError(f"interpolate needs images with elements, got shape {list(x.shape)}")
    for d, n, m, step in zip(places.spatial, given, sizes, steps, strict=True):
        x = _along(x, d, n, m, step, mode, align_corners)
    return x


def _sizes(places: Layout, given: Sequence[int], size: Any, scale: Any) -> tuple[tuple[int, ...], list[float]]:
    """The sizes of the result, and the distances of its points in the image."""
    if (size is None) == (scale is None):
        raise ShapeError(f"interpolate needs either a size or a scale_factor, got {size!r} and {scale!r}")
    if size is not None:
        sizes = places.positive(size, "size")
        return sizes, [n / m for n, m in zip(given, sizes, strict=True)]
    factors = list(scale) if isinstance(scale, Sequence) else [scale] * places.rank
    if len(factors) != places.rank or not all(isinstance(f, int | float) and f > 0 and math.isfinite(f) for f in factors):
        raise ShapeError(f"scale_factor must be a positive number or {places.rank} of them, got {scale!r}")
    if any(isinstance(n, Size) and f != int(f) for n, f in zip(given, factors, strict=True)):
        raise SizeError(
            f"interpolate rounds the product of a size and scale_factor, so it needs known sizes for other factors than "
            f"integers, got sizes {list(given)} and {scale!r}: give size=, or leave that dim out of dynamic="
        )
    sizes = tuple(n * int(f) if isinstance(n, Size) else math.floor(n * f) for n, f in zip(given, factors, strict=True))
    if min((m for m in sizes if not isinstance(m, Size)), default=1) < 1:
        raise ShapeError(f"images of {list(given)} times {scale!r} have no elements")
    return sizes, [1 / f for f in factors]


def _along(x: Tracer, dim: int, n: int, m: int, step: float, mode: str, align_corners: bool) -> Tracer:
    xp = _namespace(n, m)
    if mode.startswith("nearest"):
        return _at(x, dim, xp.floor((xp.arange(m) + (0.5 if mode == "nearest-exact" else 0.0)) * step))
    if mode == "area":
        if xp is not np:
            raise SizeError(
                f"interpolate mode 'area' has a window for each element, so it needs sizes that are known while tracing, got "
                f"{n} to {m}: take another mode, or leave that dim out of dynamic="
            )
        return mean_along(x, dim, adaptive_ranges(n, m))
    if align_corners:
        gaps = arrays.maximum(m - 1, 1) if isinstance(m, Size) else max(m - 1, 1)
        points = xp.arange(m) * ((n - 1) / gaps)  # one point is at 0
    else:
        points = (xp.arange(m) + 0.5) * step - 0.5
    elements = xp.arange(n)[:, None]
    if mode != "bicubic":
        return product_along(x, dim, _triangle(xp.clip(points, 0, n - 1) - elements, xp))
    kernel, taps = _cubic(-0.75), [xp.floor(points) + k for k in range(-1, 3)]
    each = [xp.where(elements == xp.clip(tap, 0, n - 1), kernel(points - tap, xp), 0.0) for tap in taps]
    return product_along(x, dim, sum(each[1:], each[0]))

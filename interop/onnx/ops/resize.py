"""Resize and Upsample: all coordinate transformations and filters of ONNX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor
from typing import Any

import numpy as np

from ....library.numpy import namespace as lnp
from ..errors import NeedsSize, OnnxError
from ..nodes import Node, normalized, op
from ..values import dims, is_constant, known, lifted


def _points(mode: str, n: int, m: int, scale: float, window: tuple[float, float]) -> np.ndarray:
    """Where in the input each element of the output lies, along a dim of n and m elements."""
    i = np.arange(m, dtype=np.float64)
    length = scale * n  # not a whole number where m was rounded
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and m > 1):
        return (i + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        return n / 2 * (1 - m / (scale * n)) + (i + 0.5) / scale - 0.5
    if mode == "align_corners":
        return i * (n - 1) / (length - 1) if length != 1 else np.zeros(m)
    if mode == "asymmetric":
        return i / scale
    if mode == "tf_half_pixel_for_nn":
        return (i + 0.5) / scale
    if mode == "tf_crop_and_resize":
        start, end = window
        if length == 1:
            return np.full(m, 0.5 * (start + end) * (n - 1))
        return start * (n - 1) + i * (end - start) * (n - 1) / (length - 1)
    if mode == "pytorch_half_pixel":
        return np.zeros(m)
    raise OnnxError(f"coordinate_transformation_mode {mode!r} is unknown")


_NEAREST: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _cubic(a: float) -> Callable[[np.ndarray], np.ndarray]:
    """Keys' kernel (1981)."""

    def kernel(x: np.ndarray) -> np.ndarray:
        x = np.abs(x)
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return np.where(x <= 1, near, np.where(x < 2, far, 0))

    return kernel


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.clip(1 - np.abs(x), 0, 1)


def _taps(points: np.ndarray, n: int, kernel: Any, radius: int, scale: float, exclude: bool) -> tuple[np.ndarray, np.ndarray]:
    """The elements that each point is a mean of, [m, taps], and their weights."""
    first = floor(-radius / scale) + 1
    steps = np.arange(first, first + 2 * radius - 2 * (first + radius - 1))
    base = np.floor(points)
    index = base[:, None] + steps
    weights = kernel((index - points[:, None]) * scale)
    if exclude:
        weights = np.where((index < 0) | (index >= n), 0, weights)
    if exclude or scale < 1:
        weights = weights / weights.sum(1, keepdims=True)
    return np.clip(index, 0, n - 1).astype(np.int64), weights


def _sampled(x: Any, d: int, index: np.ndarray, weights: np.ndarray) -> Any:
    """The means along one dim: of few taps by reading each, of many as a product with a matrix."""
    if index.shape[1] <= 4:
        total = None
        for t in range(index.shape[1]):
            part = lnp.take(x, index[:, t], d) * weights[:, t].astype(x.dtype).reshape((-1, *[1] * (x.ndim - 1 - d)))
            total = part if total is None else total + part
        return total
    matrix = np.zeros((index.shape[0], x.shape[d]))
    np.add.at(matrix, (np.arange(index.shape[0])[:, None], index), weights)
    return lnp.moveaxis(lnp.matmul(lnp.moveaxis(x, d, -1), matrix.T.astype(x.dtype)), -1, d)


def _sizes(node: Node, x: Any, axes: Sequence[int], scales: Any, sizes: Any) -> tuple[dict[int, Any], dict[int, float]]:
    """The size and the scale of each resized dim."""
    if sizes is not None and len(sizes):
        wanted = dict(zip(axes, sizes, strict=True))
        policy = node.get("keep_aspect_ratio_policy", "stretch")
        ratios: dict[int, float] = {d: m / x.shape[d] for d, m in wanted.items() if known(m, x.shape[d]) and x.shape[d]}
        if policy != "stretch":
            scale = (min if policy == "not_larger" else max)(ratios.values())
            return {d: floor(scale * x.shape[d] + 0.5) for d in wanted}, dict.fromkeys(wanted, scale)
        return wanted, {d: ratios[d] if d in ratios else 1.0 for d in wanted}
    factors = dict(zip(axes, map(float, scales), strict=True))
    return {d: x.shape[d] if f == 1 else _times(x.shape[d], f) for d, f in factors.items()}, factors


def _times(n: Any, factor: float) -> Any:
    if known(n):
        return floor(n * factor)
    if factor != int(factor):
        raise NeedsSize(f"a dim of symbolic size {n} times {factor} is no size")
    return n * int(factor)


@op("Resize")
def resize(node: Node, x: Any, roi: Any = None, scales: Any = None, sizes: Any = None) -> Any:
    if node.version < 11:  # opset 10 has the scales in the second place
        roi, scales = None, roi
    axes = [normalized(a, x.ndim) for a in node.get("axes", range(x.ndim))]
    scales = None if scales is None or not np.size(scales) else _floats(scales, "the scales")
    sizes = None if sizes is None else dims(sizes, "the sizes")
    if (scales is None) == (sizes is None):
        raise OnnxError("one of scales and sizes is needed")
    mode = node.get("mode", "nearest")
    coordinates = node.get("coordinate_transformation_mode", "half_pixel" if node.version >= 11 else "asymmetric")
    rounding = node.get("nearest_mode", "round_prefer_floor" if node.version >= 11 else "floor")
    return _resized(node, lifted(x), axes, scales, sizes, roi, mode, coordinates, rounding)


@op("Upsample")
def upsample(node: Node, x: Any, scales: Any = None) -> Any:
    if scales is None:
        one = [node.get("height_scale", 1.0), node.get("width_scale", 1.0)]
        scales = node.get("scales", [1.0, 1.0, *one])
    else:
        scales = _floats(scales, "the scales")
    return _resized(
        node, lifted(x), list(range(x.ndim)), scales, None, None, node.get("mode", "nearest"), "asymmetric", "floor"
    )


def _floats(x: Any, what: str) -> list[float]:
    if not is_constant(x):
        dims(x, what)
    return [float(v) for v in np.asarray(x).reshape(-1)]


def _resized(
    node: Node, x: Any, axes: Sequence[int], scales: Any, sizes: Any, roi: Any, mode: str, coordinates: str, rounding: str
) -> Any:
    wanted, factors = _sizes(node, x, axes, scales, sizes)
    windows = [0.0] * len(axes) + [1.0] * len(axes)
    if coordinates == "tf_crop_and_resize":
        windows = _floats(roi, "the region") if roi is not None and np.size(roi) else windows
    dtype, outside = x.dtype, {}
    if mode != "nearest" and np.dtype(dtype).kind in "iu":
        x = x.astype(np.float32)
    for k, d in enumerate(axes):
        n, m, scale = x.shape[d], wanted[d], factors[d]
        crop = (windows[k], windows[k + len(axes)])
        if n is m or (known(n, m) and n == m and scale == 1 and coordinates != "tf_crop_and_resize"):
            continue
        if not known(n, m):
            if mode != "nearest" or coordinates != "asymmetric":
                raise NeedsSize(f"resizing a dim of symbolic size {n} needs mode 'nearest' with 'asymmetric'")
            x = lnp.repeat(x, int(scale), d)
            continue
        points = _points(coordinates, n, m, scale, crop)
        if coordinates == "tf_crop_and_resize":
            outside[d] = (points < 0) | (points > n - 1)
        if mode == "nearest":
            index = np.clip(_NEAREST[rounding](points), 0, n - 1).astype(np.int64)
            x = lnp.take(x, index, d)
            continue
        narrow = min(scale, 1.0) if node.get("antialias", 0) else 1.0
        cubic = mode == "cubic"
        kernel = _cubic(node.get("cubic_coeff_a", -0.75)) if cubic else _triangle
        index, weights = _taps(points, n, kernel, 2 if cubic else 1, narrow, bool(node.get("exclude_outside", 0)))
        x = _sampled(x, d, index, weights)
    for d, mask in outside.items():
        if mask.any():
            shaped = mask.reshape((-1, *[1] * (x.ndim - 1 - d)))
            x = lnp.where(shaped, np.asarray(node.get("extrapolation_value", 0.0), x.dtype), x)
    return lnp.clip(lnp.rint(x), np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype) if x.dtype != dtype else x

"""`lamina.image`: the names of jax.image."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import numpy as np

from ...api.errors import ShapeError
from ...library.nn.resize import KERNELS, SAME
from ...library.nn.resize import resize as resize
from ...library.numpy import namespace as lnp
from ...names import public

__all__ = list(public("image"))


class ResizeMethod(StrEnum):
    """The methods of `resize` and `scale_and_translate`."""

    NEAREST = "nearest"
    LINEAR = "linear"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    CUBIC = "cubic"

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method that a name means."""
        return ResizeMethod(SAME.get(s, s))


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod = "linear",
    antialias: bool = True,
    precision: Any = None,
) -> Any:
    """`jax.image.scale_and_translate`: point `x` of an image goes to `x * scale + translation`, in coordinates of edges.

    Args:
        image: [...] numbers; integers become floats.
        shape: the sizes of the result; dims that are not spatial keep theirs.
        spatial_dims: the dims that are scaled, `k` of them.
        scale, translation: [k], they may be traced and differentiated by.
        method: "linear", "cubic", "lanczos3" or "lanczos5", and their other names.
        antialias: whether the kernel is made wider where there are fewer elements than before.

    Raises:
        ShapeError: a method or dim that there is not, or sizes that do not go together.

    Cost: a product with an `n x m` matrix for each spatial dim. Points outside of the image are 0.

    >>> import numpy as np, lamina as lm
    >>> lm.image.scale_and_translate(np.array([1.0, 3.0]), (4,), (0,), np.array([1.0]), np.array([1.0]), "linear")
    array([0., 1., 3., 0.])
    """
    name = SAME.get(str(getattr(method, "value", method)), str(getattr(method, "value", method)))
    if name not in KERNELS:
        raise ShapeError(f"scale_and_translate takes one of the methods {', '.join(KERNELS)}, got {method!r}")
    x = lnp.asarray(image)
    x = x if lnp.issubdtype(x.dtype, lnp.inexact) else x.astype(float)
    dims = [d % x.ndim if -x.ndim <= d < x.ndim else -1 for d in spatial_dims]
    scales, moves = (lnp.asarray(v) for v in (scale, translation))
    kept = all(n is m or n == m for d, (n, m) in enumerate(zip(x.shape, shape, strict=False)) if d not in dims)
    if len(shape) != x.ndim or not kept or -1 in dims or scales.shape != (len(dims),) or moves.shape != (len(dims),):
        facts = f"{list(x.shape)} to {list(shape)}, dims {list(spatial_dims)}"
        rule = "scale_and_translate needs a shape of the rank of the image, and a scale and a translation for each spatial dim"
        raise ShapeError(f"{rule}, got {facts}, {list(scales.shape)} and {list(moves.shape)}")
    for k, d in enumerate(dims):
        weights = _weights(name, x.shape[d], shape[d], scales[k], moves[k], antialias)
        x = lnp.moveaxis(lnp.tensordot(x, weights.astype(x.dtype), (d, 0)), -1, d)
    return x


def _weights(name: str, n: int, m: int, scale: Any, move: Any, antialias: bool) -> Any:
    """`[i, k]`: the weight of element `i` for point `k`; of points within the image they sum up to 1."""
    inverse = 1.0 / scale
    points = (lnp.arange(m) + 0.5) * inverse - move * inverse - 0.5
    wide = lnp.maximum(inverse, 1.0) if antialias else 1.0
    weights = KERNELS[name]((points - lnp.arange(n)[:, None]) / wide, lnp)
    total = weights.sum(0)
    some = lnp.abs(total) > 1000 * np.finfo(np.float32).eps
    weights = lnp.where(some, weights / lnp.where(some, total, 1.0), 0.0)
    return lnp.where((points >= -0.5) & (points <= n - 0.5), weights, 0.0)

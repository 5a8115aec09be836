"""Images of other sizes, and images read at points between their elements."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ....library.nn import namespace as nn
from ....library.numpy import namespace as lnp
from ...grids import cubic_weights, reflected
from ..errors import UnsupportedOp
from ..nodes import Call, known, need_known, op

_MODES = {
    "nearest": "nearest",
    "_nearest_exact": "nearest-exact",
    "linear": "linear",
    "bilinear": "bilinear",
    "bicubic": "bicubic",
    "trilinear": "trilinear",
}


def _upsample(mode: str, corners: bool) -> Any:
    def upsample(call: Call, x: Any, size: Any, *args: Any) -> Any:
        """A size, and for the overload `vec` factors instead; other factors than those of the sizes are what points are by."""
        rest = list(args)
        align = bool(rest.pop(0)) if corners else False
        if call.overload == "vec":
            factors = (rest.pop(0) if rest else None) or []
            if size is None:
                if any(not known(n) and f != int(f) for n, f in zip(x.shape[2:], factors, strict=True)):
                    need_known("resizing by a fraction", *x.shape[2:])
                return nn.interpolate(x, scale_factor=[float(f) for f in factors], mode=mode, align_corners=align)
            return nn.interpolate(x, tuple(size), mode=mode, align_corners=align)
        factors = [f for f in rest if f is not None]
        if factors and len(factors) == len(size) and not align:
            wanted = [int(n * f) if known(n) else n * int(f) for n, f in zip(x.shape[2:], factors, strict=True)]
            if wanted == list(size):
                return nn.interpolate(x, scale_factor=[float(f) for f in factors], mode=mode)
        return nn.interpolate(x, tuple(size), mode=mode, align_corners=align)

    return upsample


for _name, _mode in _MODES.items():
    for _rank in (1, 2, 3):
        _corners = "nearest" not in _name
        op(f"_upsample{_name}{_rank}d" if _name.startswith("_") else f"upsample_{_name}{_rank}d")(_upsample(_mode, _corners))


# --------------------------------------------------------------------------------------------------------------------


def _inside(x: Any, n: int, padding: int, corners: bool) -> Any:
    """Coordinates that lie outside of a dim, brought into it as the padding mode says."""
    if padding == 0:
        return x
    if padding == 2:
        x = reflected(x, 0.0, n - 1.0) if corners else reflected(x, -0.5, n - 0.5)
    return lnp.clip(x, 0, n - 1)


@op("grid_sampler_2d", "grid_sampler_3d", "grid_sampler")
def grid_sampler(call: Call, x: Any, grid: Any, mode: int, padding: int, corners: bool) -> Any:
    """Images read at the points of a grid, whose coordinates are -1 and 1 at the edges, the last dim's first."""
    sizes, rank = x.shape[2:], x.ndim - 2
    need_known("sampling", *sizes)
    if mode == 2 and rank != 2:
        raise UnsupportedOp("bicubic sampling is of images with two dims")
    taps: list[list[tuple[Any, Any]]] = []
    for d, n in enumerate(sizes):
        g = grid[..., rank - 1 - d]
        points = (g + 1) / 2 * (n - 1) if corners else ((g + 1) * n - 1) / 2
        if mode != 2:  # bicubic sampling brings each neighbour inside, not the point
            points = _inside(points, n, padding, corners)
        base = lnp.floor(points)
        t = points - base
        if mode == 1:
            found = [(lnp.rint(points), lnp.ones_like(points))]
        elif mode == 0:
            found = [(base, 1 - t), (base + 1, t)]
        else:
            found = [(_inside(base + k - 1, n, padding, corners), w) for k, w in enumerate(cubic_weights(t))]
        taps.append([_tap(i, w, n) for i, w in found])
    images = lnp.moveaxis(x, 1, -1)
    batch = lnp.arange(x.shape[0]).reshape((-1, *[1] * rank))
    total = None
    for chosen in product(*taps):
        weight = chosen[0][1]
        for _, w in chosen[1:]:
            weight = weight * w
        part = images[(batch, *[i for i, _ in chosen])] * weight[..., None]
        total = part if total is None else total + part
    return lnp.moveaxis(total, -1, 1)


def _tap(index: Any, weight: Any, n: int) -> tuple[Any, Any]:
    """An index inside of a dim, and its weight: 0 outside."""
    inside = (index >= 0) & (index <= n - 1)
    return lnp.clip(index, 0, n - 1).astype(np.int64), lnp.where(inside, weight, lnp.zeros_like(weight))

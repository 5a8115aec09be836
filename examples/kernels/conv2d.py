"""A convolution of images with 3 x 3 filters: `C` channels in, `O` channels out, added to what `out` holds before.

For each output and point it is a sum over channels and filter: a product of matrices in disguise, scheduled as one.
"""

from __future__ import annotations

import lamina as lm
import numpy as np
from show import show


@lm.kernel
def conv2d(image: lm.f32["C", "H + 2", "W + 2"], filters: lm.f32["O", "C", 3, 3], out: lm.f32["O", "H", "W"]):
    for o, y, x in lm.grid(O, H, W):
        for c, r, s in lm.grid(C, 3, 3):
            out[o, y, x] += filters[o, c, r, s] * image[c, y + r, x + s]


def reference(image: np.ndarray, filters: np.ndarray, out: np.ndarray) -> np.ndarray:
    (_, H, W), out = out.shape, out.copy()
    for r, s in np.ndindex(3, 3):
        out += np.tensordot(filters[:, :, r, s], image[:, r : r + H, s : s + W], 1)
    return out


def schedule(s) -> None:
    """A tile of outputs by points in registers, to which each weight and each vector of points adds."""
    target = lm.target()
    outputs, points = target.tile_of(32)
    co, c = s.split("c", 32)
    oo, o = s.split("o", outputs)
    xo, x = s.split("x", points)
    s.reorder((co, oo, "y", xo, c, "r", "s", o, x))
    s.stage("filters", at=oo, order=(c, "r", "s", o), pad=o)
    o_in, x_in, o_out, x_out = s.accumulate("out", at=c)
    s.pad(o, outputs)
    for loop in (x, x_in, x_out):
        s.unroll(s.vectorize(loop, target.lanes(32), tail="predicated"))
    for loop in (o, o_in, o_out, "s"):
        s.unroll(loop)
    s.parallelize("y")


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    channels, outputs = 37, 20
    image = rng.standard_normal((channels, n + 2, n + 6), dtype=np.float32)
    filters = rng.standard_normal((outputs, channels, 3, 3), dtype=np.float32)
    return [image, filters, rng.standard_normal((outputs, n, n + 4), dtype=np.float32)]


def main() -> None:
    show(conv2d, schedule, reference, arguments(100))


if __name__ == "__main__":
    main()

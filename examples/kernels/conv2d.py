"""A convolution of images with 3 x 3 filters: `C` channels in, `O` channels out."""

from __future__ import annotations

import lamina as lm
import numpy as np
from show import show


@lm.kernel
def conv2d(image: lm.f32["C", "H + 2", "W + 2"], filters: lm.f32["O", "C", 3, 3], out: lm.f32["O", "H", "W"]):
    for o, y, x in lm.grid(O, H, W):
        out[o, y, x] = 0.0
        for c, r, s in lm.grid(C, 3, 3):
            out[o, y, x] += filters[o, c, r, s] * image[c, y + r, x + s]


def reference(image: np.ndarray, filters: np.ndarray, out: np.ndarray) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (1, 2))
    return np.einsum("ocrs,cyxrs->oyx", filters, windows, optimize=True)


def schedule(s) -> None:
    lanes = lm.target().lanes(32)


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    channels, outputs = 5, 7
    image = rng.standard_normal((channels, n + 2, n + 6), dtype=np.float32)
    filters = rng.standard_normal((outputs, channels, 3, 3), dtype=np.float32)
    return [image, filters, np.zeros((outputs, n, n + 4), np.float32)]


def main() -> None:
    show(conv2d, schedule, reference, arguments(100))


if __name__ == "__main__":
    main()

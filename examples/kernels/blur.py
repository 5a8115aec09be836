"""A blur in two passes, down the columns and along the rows, as in every introduction to Halide.

As written, the first pass fills an image that the second one reads: it travels to memory and back. The schedule computes the
few rows that a strip of the result needs just before they are needed.
"""

from __future__ import annotations

import lamina as lm
import numpy as np
from show import show


@lm.kernel
def blur(image: lm.f32["H + 2", "W + 2"], out: lm.f32["H", "W"]):
    down = lm.empty((H, W + 2))
    for i in range(H):
        for j in range(W + 2):
            down[i, j] = (image[i, j] + image[i + 1, j] + image[i + 2, j]) / 3
    for y in range(H):
        for x in range(W):
            out[y, x] = (down[y, x] + down[y, x + 1] + down[y, x + 2]) / 3


def reference(image: np.ndarray, out: np.ndarray) -> np.ndarray:
    down = (image[:-2] + image[1:-1] + image[2:]) / 3
    return (down[:, :-2] + down[:, 1:-1] + down[:, 2:]) / 3


def schedule(s) -> None:
    """Strips of rows on threads, each with its own part of the first pass; vectors along the rows."""
    lanes = lm.target().lanes(32)
    strip, _ = s.split("y", 16)
    s.compute_at("down", strip)
    s.vectorize("j", lanes)
    s.vectorize("x", lanes)
    s.parallelize(strip)


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    height, width = n, n + n // 2
    return [rng.standard_normal((height + 2, width + 2), dtype=np.float32), np.zeros((height, width), np.float32)]


def main() -> None:
    show(blur, schedule, reference, arguments(2000))


if __name__ == "__main__":
    main()

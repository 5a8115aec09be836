"""After how many steps `z = z * z + c` leaves the circle of radius 2, for each point `c` of an image.

A `while` for each point. On vectors it runs until the last of its points has left; points that have are masked.
"""

from __future__ import annotations

import lamina as lm
import numpy as np
from show import show


@lm.kernel
def mandelbrot(left: lm.f64, bottom: lm.f64, size: lm.f64, limit: lm.i32, steps: lm.i32["M", "N"]):
    for i in lm.parallel(M):
        for j in range(N):
            cx, cy = left + size * j / N, bottom + size * i / M
            x, y = 0.0, 0.0
            n = lm.i32(0)
            while n < limit and x * x + y * y <= 4.0:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                n += 1
            steps[i, j] = n


def reference(left: float, bottom: float, size: float, limit: int, steps: np.ndarray) -> np.ndarray:
    rows, columns = steps.shape
    c = left + size * np.arange(columns) / columns + 1j * (bottom + size * np.arange(rows)[:, None] / rows)
    z, n = np.zeros_like(c), np.zeros(c.shape, np.int32)
    for _ in range(limit):
        inside = z.real**2 + z.imag**2 <= 4
        z, n = np.where(inside, z * z + c, z), n + inside
    return n.astype(np.int32)


def schedule(s) -> None:
    """Two vectors of neighbours at once: each step waits for the one before it."""
    s.vectorize("j", 2 * lm.target().lanes(64))


def arguments(n: int) -> list:
    return [-2.0, -1.25, 2.5, 60, np.zeros((n, n + 3), np.int32)]


def main() -> None:
    show(mandelbrot, schedule, reference, arguments(400))


if __name__ == "__main__":
    main()

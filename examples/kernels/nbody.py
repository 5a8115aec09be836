"""How the masses of `N` bodies accelerate each other: a sum of `N` terms for each body."""

from __future__ import annotations

import lamina as lm
import numpy as np
from show import show

SOFTENING = 1e-3


@lm.kernel
def nbody(x: lm.f32[3, "N"], mass: lm.f32["N"], a: lm.f32[3, "N"]):
    for i in range(N):
        ax, ay, az = 0.0, 0.0, 0.0
        for j in range(N):
            dx, dy, dz = x[0, j] - x[0, i], x[1, j] - x[1, i], x[2, j] - x[2, i]
            square = dx * dx + dy * dy + dz * dz + SOFTENING
            pull = mass[j] / (square * np.sqrt(square))
            ax += pull * dx
            ay += pull * dy
            az += pull * dz
        a[0, i], a[1, i], a[2, i] = ax, ay, az


def reference(x: np.ndarray, mass: np.ndarray, a: np.ndarray) -> np.ndarray:
    d = x[:, None, :] - x[:, :, None]
    square = (d * d).sum(0) + np.float32(SOFTENING)
    return (mass / (square * np.sqrt(square)) * d).sum(2)


def schedule(s) -> None:
    """A vector of bodies feels one body after the other: every sum keeps its order."""
    s.vectorize("i", lm.target().lanes(32))
    block, _ = s.split("i", 64)
    s.parallelize(block)


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((3, n), dtype=np.float32), rng.random(n, dtype=np.float32), np.zeros((3, n), np.float32)]


def main() -> None:
    show(nbody, schedule, reference, arguments(2000))


if __name__ == "__main__":
    main()

"""y += a * x: the smallest kernel there is.

One loop over memory. Vectors and threads are all that a schedule can add; blocks keep the threads apart.
"""

from __future__ import annotations

import lamina as lm
import numpy as np
from show import show


@lm.kernel
def saxpy(a: lm.f32, x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(N):
        y[i] += a * x[i]


def reference(a: float, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return y + np.float32(a) * x


def schedule(s) -> None:
    """Blocks of 4096 elements on threads; full blocks in vectors, four of them an iteration."""
    lanes = lm.target().lanes(32)
    block, i = s.split("i", 4096)
    s.peel(block, 0)
    s.vectorize(i, 4 * lanes)
    s.vectorize("ii_rest", lanes)
    s.parallelize(block)


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    return [0.5, *(rng.standard_normal(n, dtype=np.float32) for _ in range(2))]


def main() -> None:
    show(saxpy, schedule, reference, arguments(1_000_000))


if __name__ == "__main__":
    main()

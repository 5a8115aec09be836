"""A step of a bitonic sort: elements `D` apart are compared, and exchanged when they are in the wrong order.

Seen as an array of pairs of runs, [pairs, 2, D], a step has no index arithmetic: it is a `min` and a `max` of two rows. Of
`period` pairs the first ones sort upwards, the next ones downwards.
"""

from __future__ import annotations

import lamina as lm
import numpy as np
from show import show


@lm.kernel
def bitonic(x: lm.f32["B", 2, "D"], period: lm.i64):
    for b in range(B):
        up = b // period % 2 == 0
        for d in range(D):
            low, high = min(x[b, 0, d], x[b, 1, d]), max(x[b, 0, d], x[b, 1, d])
            x[b, 0, d] = low if up else high
            x[b, 1, d] = high if up else low


def reference(x: np.ndarray, period: int) -> np.ndarray:
    up = (np.arange(len(x)) // period % 2 == 0)[:, None]
    low, high = x.min(1), x.max(1)
    return np.stack([np.where(up, low, high), np.where(up, high, low)], 1)


def sort(x: np.ndarray, **options: int) -> np.ndarray:
    """All steps; missing elements are infinite."""
    size = 1 << max(0, len(x) - 1).bit_length()
    out = np.full(size, np.inf, np.float32)
    out[: len(x)] = x
    for run in (1 << k for k in range(1, size.bit_length())):
        for distance in (run >> k for k in range(1, run.bit_length())):
            bitonic(out.reshape(-1, 2, distance), run // (2 * distance), **options)
    return out[: len(x)]


def schedule(s) -> None:
    """Vectors along the runs, pairs of runs on threads."""
    s.vectorize("d", lm.target().lanes(32))
    s.parallelize("b")


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((n, 2, 32), dtype=np.float32), 4]


def main() -> None:
    show(bitonic, schedule, reference, arguments(10_000))


if __name__ == "__main__":
    main()

"""How many values fall into each of `K` bins of equal width between 0 and 1.

Threads must not count into one array. Each of a fixed number of blocks has a row of counts of its own; the rows are added at
the end.
"""

from __future__ import annotations

import lamina as lm
import numpy as np
from show import show

BLOCKS = 16


@lm.kernel
def histogram(x: lm.f32["N"], counts: lm.i64["K"]):
    rows = lm.zeros((BLOCKS, K), lm.i64)
    for block in lm.parallel(BLOCKS):
        for i in range(block * N // BLOCKS, (block + 1) * N // BLOCKS):
            rows[block, max(0, min(int(x[i] * K), K - 1))] += 1
    for k in range(K):
        total = 0
        for b in range(BLOCKS):
            total += rows[b, k]
        counts[k] = total


def reference(x: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.histogram(np.clip(x, 0, 1), len(counts), (0, 1))[0]


def schedule(s) -> None:
    """Vectors over the bins when rows are cleared and added."""
    lanes = lm.target().lanes(64)
    s.vectorize("k", lanes)


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    return [rng.random(n, dtype=np.float32) * 1.25, np.zeros(64, np.int64)]


def main() -> None:
    show(histogram, schedule, reference, arguments(1_000_000))


if __name__ == "__main__":
    main()

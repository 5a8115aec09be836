"""How many values fall into each of `K` bins of equal width between 0 and 1; what is outside counts in the first or last one.

Threads must not count into one array: each of a fixed number of blocks has a row of counts of its own, and the rows are added
at the end. Inside a block, elements stay one after the other, as two of them may fall into one bin.
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
            bin = min(max(int(x[i] * K), 0), K - 1)
            rows[block, bin] += 1
    for k in range(K):
        total = 0
        for b in range(BLOCKS):
            total += rows[b, k]
        counts[k] = total


def reference(x: np.ndarray, counts: np.ndarray) -> np.ndarray:
    bins = (x * np.float32(len(counts))).astype(np.int64)
    return np.bincount(np.clip(bins, 0, len(counts) - 1), minlength=len(counts))


def schedule(s) -> None:
    """Four elements an iteration; vectors along the rows where they are cleared and added."""
    lanes = lm.target().lanes(64)
    s.unroll("i", 4)
    s.vectorize("rowsy", lanes)
    s.vectorize("k", lanes)


def arguments(n: int) -> list:
    rng = np.random.default_rng(0)
    return [rng.random(n, dtype=np.float32) * 1.25 - 0.125, np.zeros(100, np.int64)]


def main() -> None:
    show(histogram, schedule, reference, arguments(1_000_000))


if __name__ == "__main__":
    main()
